// Three classes in the plane of their ILR coordinates, where Bayes' rule is a sum.

import { set } from "./dom.js";
import { countSamples, fill, fitNames, formatCount, formatPercent, legend, note, shorten } from "./drawing.js";
import { decide, fromIlr, ilrBasis, posterior, toIlr } from "./geometry.js";
import { missingThree, pointKeys, samplesOfThree, sayDrawn, scatter, settingOfThree, threeChooser } from "./scatter.js";

const MARGIN = { left: 42, right: 14, top: 24, bottom: 44 };

export function drawPlane(box, view) {
  const missing = missingThree(view);
  if (missing) return fill(box, note(missing));
  const three = samplesOfThree(view);
  if (three.n === 0)
    return fill(box, threeChooser(view), note("None of these three classes has samples: choose others."));
  const setting = settingOfThree(view);
  const { width, height } = sizeOf(view);
  const { factor } = view.unit;
  const { frame, points } = pointsOf(three, width, height, factor);
  const { x, y } = frame;
  const decideAt = (xs, ys) => {
    const at = new Float64Array(2 * xs.length);
    xs.forEach((px, i) => at.set([x.invert(px) / factor, y.invert(ys[i]) / factor], 2 * i));
    const choice = decide(fromIlr(at, xs.length, 3), xs.length, 3, setting.prior, setting.costs);
    return choice.map((k, i) => (isInside(xs[i], ys[i], x.range(), y.range()) ? k : 255));
  };
  const figure = scatter({
    width,
    height,
    points,
    colors: setting.colors,
    decideAt,
    describe: (row) => describeRow(view, three, setting, row),
    label:
      `ILR plane of ${setting.names.join(", ")}: ${formatCount(three.n)} samples, decision regions ` +
      `under the prior and costs.`,
  });
  addAxes(figure.svg, frame, view, setting.names);
  addNames(figure.svg, frame, setting.names);
  fill(
    box,
    threeChooser(view),
    legend(pointKeys(setting.names, setting.colors)),
    figure.box,
    note(
      "Each point is a sample: evidence at zero says nothing, further out it is stronger. The ground shows " +
        `the decision under this prior and these costs.${sayBeyond(d3.sum(points.isBeyond))}${sayDrawn(three.n)}`
    )
  );
}

const sayBeyond = (n) =>
  n ? ` ${countSamples(n)} further out, or infinite, ${n === 1 ? "is a square" : "are squares"} on the frame.` : "";

function sizeOf(view) {
  const width = Math.min(560, view.width);
  return { width, height: Math.round(Math.min(width, Math.max(300, 0.85 * width))) };
}

const isInside = (px, py, [left, right], [bottom, top]) => px >= left && px <= right && py <= bottom && py >= top;

/** Points and scales, which do not depend on the prior. */
function pointsOf(three, width, height, factor) {
  const key = [width, factor].join();
  if (three.plane?.key !== key) {
    const l = towardsInfinity(toIlr(three.values, three.n, 3), three);
    const frame = frameOf(l, width, height, factor);
    three.plane = { key, frame, points: placePoints(l, three.truth, frame, factor) };
  }
  return three.plane;
}

/** Coordinates far out, in the right direction, for samples that rule a class out. */
function towardsInfinity(l, { values, n }) {
  const V = ilrBasis(3);
  for (let i = 0; i < n; i++) {
    if (!Number.isNaN(l[2 * i])) continue;
    for (let c = 0; c < 2; c++) {
      l[2 * i + c] = 1e6 * d3.sum([0, 1, 2], (k) => (values[3 * i + k] === -Infinity ? -V[2 * k + c] : 0));
    }
  }
  return l;
}

/** Scales with one measure for both axes, over where the points and zero are. */
function frameOf(l, width, height, factor) {
  const finite = [0, 1].map((c) => Float64Array.from(l.filter((v, at) => at % 2 === c && Math.abs(v) < 1e5)).sort());
  const spans = finite.map((values) => {
    if (values.length === 0) return [-1, 1];
    const [low, inner, upper, high] = [0, 0.01, 0.99, 1].map((q) => d3.quantileSorted(values, q));
    const room = 0.25 * (upper - inner) + 0.5;
    return [Math.min(0, Math.max(low, inner - room)) - 0.4, Math.max(0, Math.min(high, upper + room)) + 0.4];
  });
  const [right, bottom] = [width - MARGIN.right, height - MARGIN.bottom];
  const scale = Math.max(
    (spans[0][1] - spans[0][0]) / (right - MARGIN.left),
    (spans[1][1] - spans[1][0]) / (bottom - MARGIN.top)
  );
  const grow = ([low, high], pixels) => {
    const half = (scale * pixels) / 2, middle = (low + high) / 2;
    return [factor * (middle - half), factor * (middle + half)];
  };
  return {
    x: d3.scaleLinear(grow(spans[0], right - MARGIN.left), [MARGIN.left, right]),
    y: d3.scaleLinear(grow(spans[1], bottom - MARGIN.top), [bottom, MARGIN.top]),
  };
}

/** Points in pixels; those outside of the frame are drawn on it, on their way from zero. */
function placePoints(l, truth, { x, y }, factor) {
  const n = truth.length;
  const points = { x: new Float64Array(n), y: new Float64Array(n), truth, isBeyond: new Uint8Array(n) };
  const [[left, right], [bottom, top]] = [x.range(), y.range()];
  const [ox, oy] = [x(0), y(0)];
  for (let i = 0; i < n; i++) {
    const [px, py] = [x(factor * l[2 * i]), y(factor * l[2 * i + 1])];
    const limit = (p, o, low, high) => (p > high ? (high - o) / (p - o) : p < low ? (low - o) / (p - o) : 1);
    const share = Math.min(limit(px, ox, left, right), limit(py, oy, top, bottom));
    points.isBeyond[i] = share < 1 ? 1 : 0;
    points.x[i] = ox + share * (px - ox);
    points.y[i] = oy + share * (py - oy);
  }
  return points;
}

function addAxes(svg, { x, y }, view, names) {
  const [bottom, top] = y.range(), [left, right] = x.range();
  const label = (write) => fitNames(names, right - left, (...all) => `${write(...all)} (ILR, ${view.unit.label})`);
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${bottom})`).call(d3.axisBottom(x).ticks(6));
  svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`).call(d3.axisLeft(y).ticks(6));
  svg
    .append("rect")
    .call(set, { x: left, y: top, width: right - left, height: bottom - top, fill: "none", stroke: "var(--edge)" });
  for (const [x1, y1, x2, y2] of [[x(0), top, x(0), bottom], [left, y(0), right, y(0)]]) {
    svg.append("line").call(set, { x1, y1, x2, y2, stroke: "var(--soft)", "stroke-dasharray": "2 3" });
  }
  svg
    .append("text")
    .call(set, { x: (left + right) / 2, y: bottom + 36, "text-anchor": "middle" })
    .text(label((a, b) => `${a} against ${b}`));
  svg.append("text").attr("x", 4).attr("y", 12).text(label((a, b, c) => `${a}, ${b} against ${c}`));
}

/** The names of the classes in the directions in which evidence supports them. */
function addNames(svg, { x, y }, names) {
  const V = ilrBasis(3);
  const [[left, right], [bottom, top]] = [x.range(), y.range()];
  names.forEach((name, k) => {
    const [dx, dy] = [V[2 * k], -V[2 * k + 1]];
    const [ox, oy] = [x(0), y(0)];
    const reach = Math.min(
      dx > 0 ? (right - 10 - ox) / dx : dx < 0 ? (left + 10 - ox) / dx : Infinity,
      dy > 0 ? (bottom - 12 - oy) / dy : dy < 0 ? (top + 16 - oy) / dy : Infinity
    );
    const [px, py] = [ox + reach * dx, oy + reach * dy];
    const anchor = px > (left + 2 * right) / 3 ? "end" : px < (2 * left + right) / 3 ? "start" : "middle";
    svg
      .append("text")
      .call(set, { class: "halo", x: px, y: py, "text-anchor": anchor })
      .text(shorten(name, (right - left) / 24));
  });
}

/** Row, true class and posteriors of a sample. */
export function describeRow(view, three, setting, row) {
  const p = posterior(three.values.slice(3 * row, 3 * row + 3), 1, 3, setting.prior);
  const lines = setting.names.map((name, k) => `posterior of ${shorten(name, 24)}: ${formatPercent(p[k])}`);
  return [view.label(three.index[row]), ...lines].join("\n");
}
