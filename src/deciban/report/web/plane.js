// Two drawings of three classes: the plane of ILR coordinates, and the triangle of posteriors. A point is a vector
// of three log-posteriors (or log-likelihoods) up to a constant; each drawing places it, and finds it again.

import { classColor, isDark, themeColor } from "./colors.js";
import { set } from "./dom.js";
import { decide, fromIlr, ilrBasis, toIlr } from "./geometry.js";

const UNIFORM = [1 / 3, 1 / 3, 1 / 3];
const LEAST = 1e-4; // probability that the edge of the triangle stands for while a handle is dragged
const CELL = 1; // pixels of a cell of the decision regions
const SVG = "http://www.w3.org/2000/svg";
const MARGIN = {
  plane: { top: 8, right: 10, bottom: 34, left: 48 },
  triangle: { top: 26, right: 20, bottom: 26, left: 20 },
};

/** A canvas below an SVG in a box; kind is "plane" or "triangle". */
export function makePlane(box, kind, title) {
  const canvas = document.createElement("canvas");
  const svg = d3.select(document.createElementNS(SVG, "svg")).attr("role", "group").attr("aria-label", title);
  const layers = Object.fromEntries(["axes", "marks", "handles"].map((name) => [name, svg.append("g")]));
  box.classList.add("plane");
  box.replaceChildren(canvas, svg.node());
  const plane = { kind, box, canvas, svg, ...layers, size: 0, width: 0, limit: 0, grid: null, image: null };
  // The width is read when it changes, since reading it in each frame would make the browser lay out the page.
  new ResizeObserver(() => (plane.width = box.clientWidth)).observe(box);
  return Object.assign(plane, {
    resize: (limit) => resize(plane, limit), place: (v) => place(plane, v), find: (x, y) => find(plane, x, y),
  });
}

/** Take the width of the box and the limit of the axes (nats); true where either is new. */
function resize(plane, limit) {
  plane.width ||= plane.box.clientWidth;
  const size = Math.max(220, Math.min(560, Math.floor(plane.width)));
  if (size === plane.size && limit === plane.limit) return false;
  const margin = MARGIN[plane.kind], ratio = window.devicePixelRatio || 1;
  const inner = size - margin.left - margin.right;
  const height = plane.kind === "plane" ? inner : Math.round((inner * Math.sqrt(3)) / 2);
  Object.assign(plane, { size, limit, margin, inner, height, ratio, grid: null, image: null });
  const whole = height + margin.top + margin.bottom;
  plane.svg.attr("width", size).attr("height", whole).attr("viewBox", `0 0 ${size} ${whole}`);
  Object.assign(plane.canvas, { width: size * ratio, height: whole * ratio });
  Object.assign(plane.canvas.style, { width: `${size}px`, height: `${whole}px` });
  return true;
}

/** Pixels of a point. */
function place(plane, v) {
  if (plane.kind === "plane") return placeIlr(plane, ...toIlr(Float64Array.from(v), 1, 3));
  const top = Math.max(v[0], v[1], v[2]);
  return placeShares(plane, Math.exp(v[0] - top), Math.exp(v[1] - top), Math.exp(v[2] - top));
}

/** Pixels of ILR coordinates. */
export function placeIlr(plane, x, y) {
  const { margin, inner, limit } = plane, scale = inner / (2 * limit);
  return [margin.left + (x + limit) * scale, margin.top + (limit - y) * scale];
}

/** Pixels of shares of three classes: the first above, the second left, the third right. */
export function placeShares(plane, a, b, c) {
  const { margin, inner, height } = plane, total = a + b + c;
  return [margin.left + ((a / 2 + c) / total) * inner, margin.top + (1 - a / total) * height];
}

/** The point at a pixel, or the nearest one inside. */
function find(plane, px, py) {
  const { margin, inner, height, limit } = plane;
  if (plane.kind === "plane") {
    const scale = (2 * limit) / inner, bound = (t) => Math.max(-limit, Math.min(limit, t));
    return Array.from(
      fromIlr([bound((px - margin.left) * scale - limit), bound(limit - (py - margin.top) * scale)], 1, 3)
    );
  }
  const a = 1 - (py - margin.top) / height;
  const c = (px - margin.left) / inner - a / 2;
  return [a, 1 - a - c, c].map((p) => Math.log(Math.max(LEAST, p)));
}

/** Decision regions as an image, made anew where costs, size or colors changed. */
export function drawRegions(plane, costs, reject) {
  const key = JSON.stringify([costs, reject, isDark()]);
  if (plane.image?.key !== key) plane.image = { key, ...paintRegions(plane, costs, reject) };
  const context = plane.canvas.getContext("2d");
  context.setTransform(plane.ratio, 0, 0, plane.ratio, 0, 0);
  context.clearRect(0, 0, plane.size, plane.canvas.height);
  context.save();
  clip(plane, context);
  context.drawImage(plane.image.canvas, plane.margin.left, plane.margin.top, plane.image.width, plane.image.height);
  context.restore();
  return context;
}

function clip(plane, context) {
  const { margin, inner, height } = plane;
  context.beginPath();
  if (plane.kind === "plane") context.rect(margin.left, margin.top, inner, height);
  else {
    for (const corner of corners(plane)) context.lineTo(...corner);
    context.closePath();
  }
  context.clip();
}

export function corners(plane) {
  return [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map((shares) => placeShares(plane, ...shares));
}

/** One point for each cell; they stay until the size changes. */
function cells(plane) {
  const across = Math.ceil(plane.inner / CELL), down = Math.ceil(plane.height / CELL);
  const points = new Float64Array(across * down * 3);
  for (let row = 0, at = 0; row < down; row++) {
    for (let column = 0; column < across; column++, at += 3) {
      const x = plane.margin.left + (column + 0.5) * CELL, y = plane.margin.top + (row + 0.5) * CELL;
      points.set(find(plane, x, y), at);
    }
  }
  return { across, down, points };
}

function paintRegions(plane, costs, reject) {
  plane.grid ??= cells(plane);
  const { across, down, points } = plane.grid;
  const choice = decide(points, across * down, 3, UNIFORM, costs, reject);
  const tints = [...[0, 1, 2].map((k) => classColor(k, 3)), themeColor("soft")].map((color) => d3.rgb(color));
  const edge = d3.rgb(themeColor("ink"));
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: across, height: down });
  const image = new ImageData(across, down);
  for (let at = 0; at < choice.length; at++) {
    const isEdge =
      (at % across && choice[at] !== choice[at - 1]) || (at >= across && choice[at] !== choice[at - across]);
    const { r, g, b } = isEdge ? edge : tints[choice[at]];
    // No decision is hatched, so that it is not told by its color alone.
    const hatched = choice[at] === 3 && ((at % across) + Math.floor(at / across)) % 8 < 2;
    image.data.set([r, g, b, isEdge ? 150 : hatched ? 90 : 34], 4 * at);
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
  return { canvas, width: across * CELL, height: down * CELL };
}

/** Axes of the plane or sides of the triangle, with the classes where they are. */
export function drawAxes(plane, names, unit) {
  plane.axes.selectChildren().remove();
  if (plane.kind === "plane") drawPlaneAxes(plane, names, unit);
  else drawTriangle(plane, names);
}

function drawPlaneAxes(plane, names, unit) {
  const { axes, margin, inner, height, limit } = plane;
  const domain = [-limit * unit.factor, limit * unit.factor];
  const x = d3.scaleLinear(domain, [0, inner]), y = d3.scaleLinear(domain, [height, 0]);
  axes
    .append("g")
    .attr("class", "axis")
    .attr("transform", `translate(${margin.left},${margin.top + height})`)
    .call(d3.axisBottom(x).ticks(5));
  axes
    .append("g")
    .attr("class", "axis")
    .attr("transform", `translate(${margin.left},${margin.top})`)
    .call(d3.axisLeft(y).ticks(5));
  axes.append("rect").call(set, { class: "frame", x: margin.left, y: margin.top, width: inner, height });
  axes
    .append("text")
    .call(set, { class: "axis-name", "text-anchor": "end", x: margin.left + inner, y: margin.top + height + 30 })
    .text(`first ILR coordinate (${unit.label})`);
  axes
    .append("text")
    .call(set, { class: "axis-name", "text-anchor": "end", transform: "rotate(-90)", x: -margin.top, y: 11 })
    .text(`second ILR coordinate (${unit.label})`);
  const V = ilrBasis(3);
  names.forEach((name, k) => {
    const length = Math.max(Math.abs(V[2 * k]), Math.abs(V[2 * k + 1]));
    const [px, py] = placeIlr(plane, ...[0, 1].map((i) => (V[2 * k + i] / length) * limit * 0.9));
    writeName(
      axes,
      name,
      k,
      px,
      py,
      px > margin.left + 0.7 * inner ? "end" : px < margin.left + 0.3 * inner ? "start" : "middle"
    );
  });
}

function writeName(axes, name, k, x, y, anchor) {
  const shown = name.length > 18 ? `${name.slice(0, 17)}…` : name;
  axes
    .append("text")
    .call(set, { class: "class-name", x, y, "text-anchor": anchor })
    .style("fill", classColor(k, 3))
    .text(shown)
    .append("title")
    .text(name);
}

function drawTriangle(plane, names) {
  const { axes, size, margin, height } = plane;
  axes.append("path").attr("class", "frame").attr("d", `M${corners(plane).join("L")}Z`);
  const lines = [0.25, 0.5, 0.75].flatMap((p) => [
    [[p, 1 - p, 0], [p, 0, 1 - p]], [[1 - p, p, 0], [0, p, 1 - p]], [[1 - p, 0, p], [0, 1 - p, p]],
  ]);
  axes
    .append("path")
    .attr("class", "grid")
    .attr("d", lines.map(([a, b]) => `M${placeShares(plane, ...a)}L${placeShares(plane, ...b)}`).join(""));
  const below = margin.top + height + 18;
  const places = [[size / 2, 16, "middle"], [2, below, "start"], [size - 2, below, "end"]];
  names.forEach((name, k) => writeName(axes, name, k, ...places[k]));
}

/** The path from a point along a vector, which is curved in the triangle. */
export function arrowPath(plane, from, vector) {
  const steps = plane.kind === "plane" ? 1 : 32;
  return d3.line()(d3.range(steps + 1).map((s) => plane.place(from.map((v, k) => v + (vector[k] * s) / steps))));
}
