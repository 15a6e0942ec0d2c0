// Empirical cross-entropy over all priors, with a cursor of the prior.

import { set } from "./dom.js";
import {
  chart, dragAlong, fill, fitNames, formatNumber, formatPercent, frameMark, legend, missingSide, note, pavBlocks,
  remember,
} from "./drawing.js";
import { crossEntropyAt, defaultLogOdds, groupBySide } from "./statistics.js";
import { withShare } from "./view.js";

const CURVES = [
  { name: "neutral", text: "no evidence", color: "var(--soft)", shape: "dots", dashes: "2 4" },
  { name: "minimum", text: "after recalibration (PAV)", color: "var(--fair)", shape: "dashes", dashes: "7 3" },
  { name: "actual", text: "this evidence", color: "var(--accent)", shape: "line", dashes: null },
];

export function drawCrossEntropy(box, view) {
  const missing = missingSide(view);
  if (missing) return fill(box, note(missing));
  const { factor, label: unit } = view.unit;
  const curve = remember(view, "cross-entropy", () => costsAt(view, defaultLogOdds()));
  const points = Array.from(curve.logOdds, (x, k) => ({
    x: factor * x, actual: curve.actual[k], minimum: curve.minimum[k], neutral: curve.neutral[k],
  }));
  const top = Math.max(1, Math.min(2, d3.max(points, (p) => (Number.isFinite(p.actual) ? p.actual : 0))));
  const svg = chart(view, {
    label:
      `Empirical cross-entropy over prior log-odds of ${view.names[1]}, for this evidence, after ` +
      `recalibration and without evidence.`,
    x: { label: fitNames([view.names[1]], view.width - 32, (name) => `prior log-odds of ${name} (${unit})`) },
    y: { label: "cost (bit)", domain: [0, 1.04 * top] },
    marks: [
      frameMark(),
      ...CURVES.map(({ name, color, dashes }) =>
        Plot.line(
          points.filter((p) => Number.isFinite(p[name])),
          { x: "x", y: name, stroke: color, strokeWidth: 2.2, strokeDasharray: dashes, clip: true }
        )
      ),
    ],
  });
  addCursor(svg, box, view, curve, 1.04 * top);
  const order = [CURVES[2], CURVES[1], CURVES[0]];
  fill(box, legend(order), svg, note(explain(view, curve, top)));
}

const logit = (p) => Math.log(p / (1 - p));

function costsAt(view, logOdds) {
  const groups = remember(view, "cost groups", () => groupBySide(view.target, view.other, view.weights));
  return crossEntropyAt(logOdds, groups, pavBlocks(view));
}

/** The costs at the prior of the page. */
function costsNow(view) {
  const { actual, minimum, neutral } = costsAt(view, Float64Array.of(logit(view.priorTarget)));
  return { actual: actual[0], minimum: minimum[0], neutral: neutral[0] };
}

/** A line that is dragged, or moved by the arrow keys, to another prior. */
function addCursor(svg, box, view, curve, top) {
  const { factor, label: unit } = view.unit;
  const [x, y] = [svg.scale("x"), svg.scale("y")];
  const [low, high] = [curve.logOdds[0], curve.logOdds[curve.logOdds.length - 1]];
  const at = Math.max(low, Math.min(high, logit(view.priorTarget)));
  const move = (logOdds) => {
    const share = 1 / (1 + Math.exp(-Math.max(low, Math.min(high, logOdds))));
    view.set({ prior: withShare(view.prior, view.pair, share) });
  };
  const value = formatNumber(factor * at);
  const cursor = d3
    .select(svg)
    .attr("role", "group")
    .append("g")
    .call(set, {
      class: "cursor-of-prior", tabindex: 0, role: "slider", "data-focus": "prior",
      "aria-label": `Prior log-odds of ${view.names[1]} (${unit})`, "aria-valuemin": factor * low,
      "aria-valuemax": factor * high, "aria-valuenow": factor * at,
      "aria-valuetext": `${value} ${unit}, a prior of ${formatPercent(view.priorTarget)}`,
      transform: `translate(${x.apply(factor * at)},0)`,
    })
    .on("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 10, PageDown: -10 }[event.key];
      if (!step) return;
      event.preventDefault();
      move(at + (step * (high - low)) / 60);
    });
  addHandle(cursor, view, y, top);
  dragAlong(cursor.node(), box, (place) => move(x.invert(place) / factor));
}

/** What is seen of the cursor: its line, and the costs where it crosses the curves. */
function addHandle(cursor, view, y, top) {
  const [bottom, upper] = y.range;
  cursor.append("rect").call(set, { x: -12, width: 24, y: upper, height: bottom - upper, fill: "transparent" });
  cursor.append("line").attr("y1", bottom).attr("y2", upper).attr("stroke", "currentColor").attr("stroke-width", 1.5);
  cursor
    .append("path")
    .call(set, { d: "M-7,0H7L0,10Z", transform: `translate(0,${upper - 10})`, fill: "currentColor" });
  const costs = costsNow(view);
  for (const { name, color } of CURVES) {
    if (costs[name] > top) continue;
    cursor.append("circle").call(set, { r: 4.5, cy: y.apply(costs[name]), fill: color, stroke: "var(--card)" });
  }
}

function explain(view, curve, top) {
  const { actual, minimum, neutral } = costsNow(view);
  const harm = actual > neutral ? " That is more than without it: at this prior the evidence does harm." : "";
  const leaves = d3.some(curve.actual, (cost) => cost > top)
    ? " Where the curve leaves the frame it costs more still."
    : "";
  return (
    `At a prior of ${formatPercent(view.priorTarget)} the evidence leaves ${formatNumber(actual)} bit of ` +
    `uncertainty, of ${formatNumber(neutral)} bit without it; recalibrated it would leave ${formatNumber(minimum)} ` +
    `bit.${harm}${leaves} Drag the line, or use the arrow keys on it, to move the prior of the whole page.`
  );
}
