// Evidence of the evidence: the LLR of the LLR, from kernel densities of both sides, against the LLR.

import {
  chart, diagonal, fill, formatCount, formatNumber, frameMark, legend, llrLabel, llrRange, missingSide, note, remember,
} from "./drawing.js";
import { logSumExp } from "./geometry.js";

const FEWEST = 10; // samples of a side for a density
const MOST = 2000; // samples of a side; more change nothing that can be seen
const STEPS = 160;

export function drawIdempotence(box, view) {
  const missing = missingSide(view);
  if (missing) return fill(box, note(missing));
  const [other, target] = finiteSides(view);
  const fewest = Math.min(other.llr.length, target.llr.length);
  if (fewest < FEWEST) {
    return fill(
      box,
      note(`Both classes must have ${FEWEST} samples with finite LLRs for this figure; one has ${fewest}.`)
    );
  }
  const { factor, label: unit } = view.unit;
  const range = llrRange(view);
  const curve = remember(view, "idempotence", () => llrOfLlr(target, other, range));
  const points = curve.map(({ x, y, limited }) => ({ x: factor * x, y: factor * y, limited }));
  const ends = range.map((end) => factor * end);
  const y = d3.extent([...points.map((p) => p.y), ends[0] / 4, ends[1] / 4]);
  const shown = { x: "x", y: "y", stroke: "var(--accent)", clip: true };
  const svg = chart(view, {
    height: Math.round(Math.min(400, Math.max(280, view.width * 0.7))),
    label:
      `LLR of the LLR for ${view.names[1]} against ${view.names[0]}, by kernel densities; ` +
      `calibrated evidence lies on the diagonal.`,
    x: { label: llrLabel(view), domain: ends },
    y: { label: `LLR of the LLR (${unit})`, domain: y, nice: true },
    marks: [
      frameMark(),
      diagonal(...ends),
      Plot.line(points, { ...shown, strokeWidth: 1.4, strokeDasharray: "4 4", strokeOpacity: 0.8 }),
      Plot.line(points.map((p) => (p.limited ? { ...p, y: NaN } : p)), { ...shown, strokeWidth: 2.6 }),
      Plot.tip(points, Plot.pointerX({ x: "x", y: "y", title: (p) => tip(p, unit) })),
    ],
  });
  fill(
    box,
    legend([
      { color: "var(--accent)", text: "LLR of the LLR", shape: "line" },
      { color: "var(--accent)", text: "at the limit of what the samples show", shape: "dashes" },
      { color: "var(--ink)", text: "calibrated", shape: "dots" },
    ]),
    svg,
    note(
      "If an LLR is treated as a score, which LLR does that score deserve? For calibrated evidence the same one. A " +
        `curve flatter than the diagonal says that LLRs are too strong. ${formatCount(target.llr.length)} and ` +
        `${formatCount(other.llr.length)} samples cannot show stronger evidence than where the line is broken.`
    )
  );
}

const tip = (p, unit) =>
  `LLR ${formatNumber(p.x)} ${unit}\ndeserves ${formatNumber(p.y)} ${unit}` +
  (p.limited ? "\n(or more: the samples do not show it)" : "");

/** Sorted LLRs of either side without the infinite ones, and their weights: [other, target]. */
function finiteSides({ other, target, weights }) {
  return [[other, weights.nonTarget], [target, weights.target]].map(([llr, weight]) => {
    const ends = [d3.bisectRight(llr, -Infinity), d3.bisectLeft(llr, Infinity)];
    return { llr: llr.subarray(...ends), weight: weight?.subarray(...ends) };
  });
}

/**
 * The LLR of the LLR on a grid. Kernels have Silverman's width, in units of the spread within the two sides,
 * after long tails are drawn in: ratios of densities do not depend on the coordinate.
 */
function llrOfLlr(target, other, [low, high]) {
  const middle = d3.median([...target.llr, ...other.llr].map(Math.abs)) || 1;
  const draw = (x) => Math.asinh(x / middle);
  const sides = [target, other].map((side) => Float64Array.from(thin(side), draw));
  const squares = d3.sum(sides, (values) => d3.variance(values) * (values.length - 1));
  const spread = Math.sqrt(squares / d3.sum(sides, (values) => values.length)) || 1e-9;
  const densities = sides.map((values) => logDensity(values, spread * (4 / 3 / values.length) ** 0.2));
  const limits = [Math.log(other.llr.length + 1), -Math.log(target.llr.length + 1)];
  return d3.range(STEPS + 1).map((k) => {
    const x = low + ((high - low) * k) / STEPS;
    const ratio = densities[0](draw(x)) - densities[1](draw(x));
    const y = Math.max(limits[1], Math.min(limits[0], ratio));
    return { x, y, limited: y !== ratio };
  });
}

/** As many of sorted values as are needed, which count alike: those at equal steps of their weight. */
function thin({ llr, weight }) {
  const count = Math.min(llr.length, MOST);
  const step = (weight ? d3.sum(weight) : llr.length) / count;
  const weigh = (k) => (weight ? weight[k] : 1);
  let [at, mass] = [0, weigh(0)]; // mass up to this value
  return d3.range(count).map((k) => {
    while (mass <= (k + 0.5) * step && at < llr.length - 1) mass += weigh(++at);
    return llr[at];
  });
}

function logDensity(values, width) {
  const terms = new Float64Array(values.length);
  return (x) => {
    for (let k = 0; k < values.length; k++) terms[k] = -0.5 * ((x - values[k]) / width) ** 2;
    return logSumExp(terms) - Math.log(values.length * width);
  };
}
