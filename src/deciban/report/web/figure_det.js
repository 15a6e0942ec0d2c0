// Detection error trade-off on probit axes.

import { make } from "./dom.js";
import {
  chart, describeThreshold, diagonal, fill, fitNames, formatCount, formatLlr, formatPercent, frameMark, legend,
  missingSide, note, pavBlocks, remember, threshold,
} from "./drawing.js";
import { normalQuantile as probit } from "./special.js";
import { detCurve, eer } from "./statistics.js";

const TICKS = [1e-6, 1e-5, 1e-4, 0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.98];
const RULE_OF_THREE = "with 95 % confidence (rule of three)";

export function drawDet(box, view) {
  const missing = missingSide(view);
  if (missing) return fill(box, note(missing));
  const blocks = pavBlocks(view);
  const rate = eer(view.target, view.other, blocks);
  if (rate === 0) return fill(box, ...explainNoErrors(view));
  const [x, y] = [view.other, view.target].map((values) => axisEnds(values.length, rate));
  const points = remember(view, "det points", () => curvePoints(detCurve(view.target, view.other, view.weights), x, y));
  const at = operatingPoint(view);
  const inside = (share, ends) => Math.max(ends[0], Math.min(ends[1], place(share, ends)));
  const side = Math.round(Math.min(420, view.width));
  const label = (write) => fitNames(view.names, side - 40, write);
  const svg = chart(view, {
    width: side,
    height: side,
    marginLeft: 56,
    label: `Detection error trade-off: equal-error rate ${formatPercent(rate)}.`,
    x: { ...axis(x), label: label((other, target) => `false alarms: ${other} taken for ${target}`) },
    y: { ...axis(y), label: label((other, target) => `misses: ${target} taken for ${other}`) },
    marks: [
      frameMark(),
      diagonal(Math.max(x[0], y[0]), Math.min(x[1], y[1])),
      Plot.line(points, { x: "x", y: "y", stroke: "var(--accent)", strokeWidth: 2.4, clip: true }),
      Plot.dot([rate], { x: probit, y: probit, r: 5, fill: "var(--card)", stroke: "var(--accent)", strokeWidth: 2 }),
      Plot.dot([at], {
        x: (p) => inside(p.falseAlarm, x), y: (p) => inside(p.miss, y), r: 6, symbol: "diamond", fill: "var(--fair)",
      }),
      Plot.tip(points, Plot.pointer({ x: "x", y: "y", title: (p) => tip(view, p) })),
    ],
  });
  fill(
    box,
    legend([
      { color: "var(--accent)", text: "error rates over all thresholds", shape: "line" },
      { color: "var(--accent)", text: `equal-error rate: ${formatPercent(rate)}`, shape: "ring" },
      { color: "var(--fair)", text: "at this prior and these costs", shape: "diamond" },
    ]),
    svg,
    note(
      `${describeThreshold(view)}: ${formatPercent(at.miss)} misses, ${formatPercent(at.falseAlarm)} false alarms. ` +
        "The nearer the curve to the lower left corner, the better."
    )
  );
}

export function axis([low, high]) {
  const apart = (high - low) / 7; // so that labels do not touch
  const ticks = [];
  for (const tick of TICKS.map(probit).reverse()) {
    if (tick >= low && tick <= high && !(ticks.at(-1) - tick < apart)) ticks.push(tick);
  }
  const names = new Map(TICKS.map((share) => [probit(share), `${d3.format("~r")(100 * share)} %`]));
  return { domain: [low, high], ticks, tickFormat: (tick) => names.get(tick), grid: true };
}

/** From half of one sample to even odds, or past it where the evidence is poor. */
export function axisEnds(n, rate) {
  return [probit(Math.max(2e-7, Math.min(0.02, 0.5 / n))), probit(rate > 0.3 ? 0.95 : 0.5)];
}

/** The place of a rate on a probit axis; those of zero and one lie beyond its ends. */
export function place(share, [low, high]) {
  return share <= 0 ? low - 1 : share >= 1 ? high + 2 : probit(share);
}

/** The curve as steps; rates of zero run along the frame. */
export function curvePoints(curve, x, y) {
  const points = [];
  let seen = -1;
  for (let k = 0; k < curve.pMiss.length; k++) {
    if (seen >= 0 && isNear(curve, seen, k)) continue;
    seen = k;
    const last = points[points.length - 1];
    const point = { x: place(curve.pFalseAlarm[k], x), y: place(curve.pMiss[k], y), k, curve };
    if (point.x > x[1] + 1 || point.y > y[1] + 1) continue;
    if (last && point.x !== last.x && point.y !== last.y) points.push({ ...point, y: last.y });
    points.push(point);
  }
  return points;
}

/** Whether two points of the curve are too near to see apart. */
function isNear({ pMiss, pFalseAlarm }, j, k) {
  const near = (a, b) => Math.abs(a - b) <= 0.01 * Math.min(a, 1 - a);
  return near(pMiss[j], pMiss[k]) && near(pFalseAlarm[j], pFalseAlarm[k]);
}

export function operatingPoint(view) {
  const at = threshold(view);
  return { miss: view.shareBelow(1, at), falseAlarm: 1 - view.shareBelow(0, at) };
}

function tip(view, { k, curve }) {
  return (
    `from ${formatLlr(view, curve.threshold[k])} on:\n${formatPercent(curve.pMiss[k])} misses\n` +
    `${formatPercent(curve.pFalseAlarm[k])} false alarms`
  );
}

/** Without errors there is no curve: the rates that these samples cannot exclude. */
function explainNoErrors(view) {
  const [other, target] = view.names;
  const [n, m] = [view.target.length, view.other.length];
  const bound = (count) => formatPercent(Math.min(1, 3 / count));
  return [
    make("p", { className: "big-word", textContent: "No errors" }),
    note(
      `A threshold tells all ${formatCount(n)} samples of ${target} from all ${formatCount(m)} of ${other}: the ` +
        `lowest LLR of ${target} is ${formatLlr(view, view.target[0])}, the highest of ${other} ` +
        `${formatLlr(view, view.other[m - 1])}. There is no trade-off to draw.`
    ),
    note(
      `That is not an error rate of zero: these samples exclude miss rates above ${bound(n)} and false-alarm rates ` +
        `above ${bound(m)}, each ${RULE_OF_THREE}.`
    ),
  ];
}
