// Samples of three classes as points on a canvas, over a ground colored by decisions; hover tells the sample.

import { classColor, themeColor } from "./colors.js";
import { make } from "./dom.js";

const CELL = 3; // pixels of the ground that are decided as one
const REACH = 14; // pixels within which a point is found
const MOST = 40_000; // points that are drawn, and more of classes that are rare
const FEWEST = 500; // points of a class that are drawn, where it has them

/** Why there are no three classes to draw, or null. */
export function missingThree(view) {
  if (view.samples.D < 3) return "This figure needs three classes; there are two.";
  if (!view.three) return "Choose three classes for this figure.";
  return null;
}

const found = new WeakMap();

/** Samples of the three classes: positions, log-likelihoods (n rows of 3), and places of their true class. */
export function samplesOfThree(view) {
  const { samples, three } = view;
  const key = three.join();
  const before = found.get(samples);
  if (before?.key === key) return before;
  const { D, n, truth, logLikelihoods } = samples;
  const place = new Int8Array(D).fill(-1);
  three.forEach((k, t) => (place[k] = t));
  const index = [];
  for (let i = 0; i < n; i++) {
    const at = i * D;
    // Evidence that rules out all three says nothing about them.
    if (place[truth[i]] >= 0 && three.some((k) => logLikelihoods[at + k] > -Infinity)) index.push(i);
  }
  const values = new Float64Array(3 * index.length);
  index.forEach((i, row) => three.forEach((k, t) => (values[3 * row + t] = logLikelihoods[i * D + k])));
  const result = {
    key, index: Int32Array.from(index), values, truth: Uint8Array.from(index, (i) => place[truth[i]]), n: index.length,
  };
  found.set(samples, result);
  return result;
}

/** Prior and costs among the three classes alone. */
export function settingOfThree(view) {
  const mass = d3.sum(view.three, (k) => view.prior[k]);
  return {
    names: view.three.map((k) => view.samples.classes[k]),
    colors: view.three.map((k) => classColor(k, view.samples.D)),
    prior: view.three.map((k) => view.prior[k] / mass),
    costs: view.three.map((i) => view.three.map((j) => view.costs[i][j])),
  };
}

/**
 * A canvas of points under an SVG of the same size.
 *
 * @param points { x, y (pixels), truth, isBeyond }
 * @param decideAt (xs, ys) => the classes at pixels, 255 for none
 * @param describe (row) => text
 */
export function scatter({ width, height, points, colors, decideAt, describe, label }) {
  const density = Math.max(2, window.devicePixelRatio || 1); // sharp in print, too
  const canvas = make("canvas", { width: width * density, height: height * density, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  context.scale(density, density);
  paintGround(context, width, height, colors, decideAt);
  paintPoints(context, points, colors);
  const svg = d3.create("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("role", "img").attr("aria-label", label);
  const tip = make("div", { className: "tip" });
  const box = make("div", { className: "scatter" }, canvas, svg.node(), tip);
  Object.assign(box.style, { width: `${width}px`, aspectRatio: `${width} / ${height}` });
  addHover(box, tip, points, describe, width);
  return { box, svg };
}

function paintGround(context, width, height, colors, decideAt) {
  const [columns, rows] = [Math.ceil(width / CELL), Math.ceil(height / CELL)];
  const [xs, ys] = [new Float64Array(columns * rows), new Float64Array(columns * rows)];
  for (let r = 0, at = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++, at++) [xs[at], ys[at]] = [(c + 0.5) * CELL, (r + 0.5) * CELL];
  }
  const choice = decideAt(xs, ys);
  const image = new ImageData(columns, rows);
  const tones = colors.map((color) => d3.rgb(color));
  choice.forEach((k, at) => {
    if (k < tones.length) image.data.set([tones[k].r, tones[k].g, tones[k].b, 46], 4 * at);
  });
  const small = new OffscreenCanvas(columns, rows);
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = true;
  context.drawImage(small, 0, 0, columns * CELL, rows * CELL);
}

/** Points in rounds of mixed classes, so that no class hides another and colors rarely change. */
function paintPoints(context, { x, y, truth, isBeyond }, colors) {
  const n = x.length, step = stride(n), round = Math.max(300, Math.ceil(n / 40));
  const size = n > 20_000 ? 1.2 : n > 3000 ? 1.8 : 3;
  context.globalAlpha = n > 20_000 ? 0.35 : n > 3000 ? 0.55 : 0.85;
  context.strokeStyle = themeColor("card");
  context.lineWidth = 0.7;
  const left = new Float64Array(colors.length);
  for (const k of truth) left[k]++;
  if (n > MOST) for (let k = 0; k < left.length; k++) left[k] = Math.max(FEWEST, (MOST * left[k]) / n);
  for (let start = 0; start < n; start += round) {
    colors.forEach((color, k) => {
      context.fillStyle = color;
      for (let i = start; i < Math.min(n, start + round); i++) {
        const at = (i * step) % n;
        if (truth[at] !== k || left[k] < 1) continue;
        left[k]--;
        if (n > 20_000 || isBeyond[at]) {
          context.fillRect(x[at] - size, y[at] - size, 2 * size, 2 * size);
          continue;
        }
        context.beginPath();
        context.arc(x[at], y[at], size, 0, 7);
        context.fill();
        if (n <= 3000) context.stroke();
      }
    });
  }
  context.globalAlpha = 1;
}

/** What to add where not all samples are drawn. */
export function sayDrawn(n) {
  return n > MOST ? ` About ${d3.format(",")(MOST)} of ${d3.format(",")(n)} samples are drawn.` : "";
}

/** A number without a common factor with n, near its golden section. */
function stride(n) {
  const divisor = (a, b) => (b ? divisor(b, a % b) : a);
  let step = Math.max(1, Math.round(n * 0.618));
  while (divisor(step, n) !== 1) step++;
  return step;
}

function addHover(box, tip, { x, y }, describe, width) {
  let frame = 0;
  box.addEventListener("pointermove", (event) => {
    const bounds = box.getBoundingClientRect();
    const scale = width / bounds.width; // a narrow page shrinks the figure
    const [px, py] = [(event.clientX - bounds.left) * scale, (event.clientY - bounds.top) * scale];
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      let best = -1, least = REACH * REACH;
      for (let i = 0; i < x.length; i++) {
        const away = (x[i] - px) ** 2 + (y[i] - py) ** 2;
        if (away < least) [best, least] = [i, away];
      }
      box.classList.toggle("active", best >= 0);
      if (best < 0) return;
      tip.textContent = describe(best);
      tip.style.left = `${Math.max(0, Math.min(x[best] / scale + 12, bounds.width - tip.offsetWidth))}px`;
      tip.style.top = `${y[best] / scale + 14}px`;
    });
  });
  box.addEventListener("pointerleave", () => box.classList.remove("active"));
}

export function pointKeys(names, colors) {
  return names.map((text, k) => ({ color: colors[k], text, shape: "dot" }));
}

/** Three selects, where there are more classes than three. */
export function threeChooser(view) {
  if (view.samples.D < 4) return null;
  const selects = view.three.map((chosen, place) => {
    const options = view.samples.classes.map((name, k) =>
      make("option", {
        value: k, textContent: name, selected: k === chosen, disabled: k !== chosen && view.three.includes(k),
      })
    );
    const select = make(
      "select",
      { "aria-label": `Class ${place + 1} of three`, "data-focus": `three-${place}` },
      ...options
    );
    select.addEventListener("change", () => view.set({ three: view.three.with(place, Number(select.value)) }));
    return select;
  });
  return make("div", { className: "choice" }, "Classes ", ...selects);
}
