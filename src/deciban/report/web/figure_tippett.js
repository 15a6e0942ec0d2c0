// Tippett plot: the share of each class at or above every LLR.

import {
  chart, fill, formatLlr, formatNumber, formatPercent, frameMark, legend, llrLabel, llrRange, misleadingShares,
  missingSide, note, onePerPixel, remember, sideKeys,
} from "./drawing.js";
import { tippettCurve } from "./statistics.js";

export function drawTippett(box, view) {
  const missing = missingSide(view);
  if (missing) return fill(box, note(missing));
  const { factor } = view.unit;
  const curve = remember(view, "tippett", () => tippettCurve(view.target, view.other, view.weights));
  const [low, high] = llrRange(view);
  const points = curvePoints(curve, low, high, factor, Math.round(view.width));
  const wrong = misleadingShares(view);
  const svg = chart(view, {
    label:
      `Tippett plot: share of the samples of ${view.names[1]} and of ${view.names[0]} at or above each LLR.`,
    x: { label: llrLabel(view), domain: [factor * low, factor * high] },
    y: { label: "share at or above (%)", domain: [0, 100] },
    marks: [
      frameMark(),
      low < 0 && high > 0 && Plot.ruleX([0], { stroke: "var(--soft)", strokeDasharray: "2 3" }),
      ...["other", "target"].map((name, side) =>
        Plot.line(points, {
          x: "x", y: name, stroke: view.colors[side], strokeWidth: 2.2, curve: "step-before", clip: true,
          strokeDasharray: side ? null : "7 3",
        })
      ),
      Plot.ruleX(points, Plot.pointerX({ x: "x", stroke: "var(--soft)" })),
      Plot.tip(points, Plot.pointerX({ x: "x", y: "target", title: (d) => tip(view, d) })),
    ],
  });
  const keys = sideKeys(view, "line");
  keys[1].shape = "dashes";
  fill(
    box,
    legend(keys),
    svg,
    note(
      `At zero the curves show misleading evidence: ${formatPercent(wrong[0])} of ${view.names[1]} lie below it, ` +
        `${formatPercent(wrong[1])} of ${view.names[0]} above it. The wider the gap between the curves, the more the ` +
        `evidence says. LLRs reach from ${formatNumber(factor * curve.llr[0])} to ` +
        `${formatLlr(view, curve.llr[curve.llr.length - 1])}.`
    )
  );
}

/** The curve where it changes, one point for each pixel at most. */
export function curvePoints(curve, low, high, factor, pixels) {
  const points = onePerPixel(curve.llr, low, high, pixels).map((k) => ({
    x: factor * Math.max(low, Math.min(high, curve.llr[k])),
    target: 100 * curve.target[k],
    other: 100 * curve.nonTarget[k],
  }));
  const first = d3.bisectLeft(curve.llr, low);
  const at = (k) =>
    k < curve.llr.length ? { target: 100 * curve.target[k], other: 100 * curve.nonTarget[k] } : { target: 0, other: 0 };
  points.unshift({ x: factor * low, ...at(first) });
  points.push({ x: factor * high, ...at(d3.bisectLeft(curve.llr, high)) });
  return points.sort((a, b) => a.x - b.x || b.target - a.target || b.other - a.other);
}

function tip(view, { x, target, other }) {
  return (
    `at or above ${formatNumber(x)} ${view.unit.label}:\n${formatNumber(target)} % of ${view.names[1]}\n` +
    `${formatNumber(other)} % of ${view.names[0]}`
  );
}
