// Histogram of the LLRs: one class upwards, the other downwards, as shares of either.

import { make } from "./dom.js";
import {
  chart, countSamples, describeMix, describeThreshold, fill, formatCount, formatLlr, formatNumber,
  formatPercent, legend, llrBins, llrLabel, misleadingShares, missingSide, note, sideKeys, threshold,
} from "./drawing.js";

export function drawHistogram(box, view) {
  const missing = missingSide(view);
  if (missing) return fill(box, note(missing));
  const { factor } = view.unit;
  const bins = llrBins(view);
  const sides = [
    { side: 1, sign: 1, counts: bins.target, n: view.target.length },
    { side: 0, sign: -1, counts: bins.nonTarget, n: view.other.length },
  ];
  const bars = sides
    .flatMap(({ side, sign, counts, n }) =>
      Array.from(counts, (count, k) => ({
        x1: factor * bins.edges[k], x2: factor * bins.edges[k + 1], share: (sign * 100 * count) / n, count, side, n,
      }))
    )
    .filter((bar) => bar.count);
  const ends = [bins.edges[0], bins.edges[bins.edges.length - 1]].map((x) => factor * x);
  const svg = chart(view, {
    label: describe(view),
    marginTop: 38,
    x: { label: llrLabel(view), domain: ends },
    y: { label: "share of each class (%)", tickFormat: (y) => formatNumber(Math.abs(y)), ticks: 6 },
    marks: [
      view.range &&
        Plot.rect([view.range.map((x) => Math.max(ends[0], Math.min(ends[1], factor * x)))], {
          x1: "0", x2: "1", fill: "var(--accent)", fillOpacity: 0.14, stroke: "var(--accent)",
        }),
      Plot.rect(bars, {
        x1: "x1", x2: "x2", y1: 0, y2: "share", fill: (bar) => view.colors[bar.side], fillOpacity: 0.6, inset: 0.3,
      }),
      Plot.ruleY([0], { stroke: "currentColor" }),
      ends[0] <= 0 && ends[1] >= 0 && Plot.ruleX([0], { stroke: "var(--soft)", strokeDasharray: "2 3" }),
      ...thresholdMarks(view, ends),
      ...beyondMarks(view, bins),
      Plot.tip(bars, Plot.pointerX({ x: (bar) => (bar.x1 + bar.x2) / 2, y: "share", title: (bar) => tip(view, bar) })),
    ],
  });
  addBrush(svg, view, factor);
  fill(box, legend(sideKeys(view)), svg, rangeInputs(view), note(explain(view, bins)));
}

const outside = (view, bins) => [
  { side: 1, ends: [bins.below.target, bins.above.target] },
  { side: 0, ends: [bins.below.nonTarget, bins.above.nonTarget] },
];

/** Arrows and counts of what lies beyond the axis. */
function beyondMarks(view, bins) {
  return outside(view, bins).flatMap(({ side, ends }) =>
    ends.map(
      (count, end) =>
        count > 0 &&
        Plot.text([0], {
          frameAnchor: `${side ? "top" : "bottom"}-${end ? "right" : "left"}`,
          dx: end ? -4 : 4,
          dy: side ? 6 : -6,
          text: () => (end ? `${formatCount(count)} ▶` : `◀ ${formatCount(count)}`),
          title: () => `${countSamples(count)} of ${view.names[side]} beyond this end`,
          fill: "currentColor",
          stroke: "var(--card)",
          strokeWidth: 4,
          paintOrder: "stroke",
          fontWeight: 600,
        })
    )
  );
}

function thresholdMarks(view, [low, high]) {
  const at = view.unit.factor * threshold(view);
  if (!(at >= low && at <= high)) return [];
  const share = (at - low) / (high - low);
  return [
    Plot.ruleX([at], { stroke: "currentColor", strokeWidth: 1.5, strokeDasharray: "6 3" }),
    Plot.text([at], {
      x: (x) => x,
      frameAnchor: "top",
      dy: -14,
      text: () => "decision threshold",
      textAnchor: share < 0.25 ? "start" : share > 0.75 ? "end" : "middle",
    }),
  ];
}

function tip(view, bar) {
  const { label } = view.unit;
  return (
    `${formatNumber(bar.x1)} to ${formatNumber(bar.x2)} ${label}\n` +
    (view.isWeighted
      ? `${formatPercent(bar.count / bar.n)} of ${view.names[bar.side]}`
      : `${formatCount(bar.count)} of ${formatCount(bar.n)} samples of ${view.names[bar.side]}`)
  );
}

function addBrush(svg, view, factor) {
  const scale = svg.scale("x");
  const [left, right] = scale.range;
  const [top, bottom] = d3.extent(svg.scale("y").range);
  const brush = d3
    .brushX()
    .extent([[left, top], [right, bottom]])
    .on("end", (event) => {
      if (!event.sourceEvent) return;
      view.set({ range: event.selection && event.selection.map((x) => scale.invert(x) / factor) });
    });
  d3.select(svg).append("g").attr("class", "brush").call(brush);
}

/** The range as numbers, for the keyboard. */
function rangeInputs(view) {
  const { factor, label } = view.unit;
  const digits = (x) => Number(x.toPrecision(6)); // a number field takes no typographic minus
  const inputs = ["from", "to"].map((word, end) =>
    make("input", {
      type: "number",
      step: "any",
      value: view.range ? digits(view.range[end] * factor) : "",
      "aria-label": `List samples with LLRs ${word} (${label})`,
      "data-focus": `range-${word}`,
    })
  );
  const change = () => {
    const [low, high] = inputs.map((input) => (input.value === "" ? NaN : Number(input.value) / factor));
    const isWrong = !Number.isNaN(low) && !Number.isNaN(high) && !(low < high);
    inputs[1].setCustomValidity(isWrong ? "The second number must be above the first." : "");
    if (isWrong) inputs[1].reportValidity();
    else if (low < high) view.set({ range: [low, high] });
  };
  for (const input of inputs) input.addEventListener("change", change);
  const clear = make("button", {
    type: "button", className: "plain", textContent: "Clear", "data-focus": "range-clear",
  });
  clear.addEventListener("click", () => view.set({ range: null }));
  return make(
    "div",
    { className: "range-inputs" },
    "List samples from ",
    inputs[0],
    " to ",
    inputs[1],
    ` ${label} `,
    view.range ? clear : ""
  );
}

function describe(view) {
  const [other, target] = view.names;
  return (
    `Histogram of the log-likelihood ratios of ${formatCount(view.target.length)} samples of ${target}, ` +
    `upwards, and ${formatCount(view.other.length)} of ${other}, downwards.`
  );
}

function explain(view, bins) {
  const [other, target] = view.names;
  const wrong = misleadingShares(view);
  const beyond = d3.sum(outside(view, bins), ({ ends }) => d3.sum(ends));
  const infinite = d3.sum([view.target, view.other], (llr) => {
    return d3.bisectRight(llr, -Infinity) + llr.length - d3.bisectLeft(llr, Infinity);
  });
  const parts = [
    `Right of zero the evidence supports ${target}, left of it ${other}. It misleads in ${formatPercent(wrong[0])} ` +
      `of the samples of ${target} and ${formatPercent(wrong[1])} of those of ${other}.${describeMix(view)}`,
    `${describeThreshold(view)}.`,
  ];
  if (beyond) {
    const least = d3.min([view.target[0], view.other[0]]);
    const most = d3.max([view.target[view.target.length - 1], view.other[view.other.length - 1]]);
    parts.push(
      `${countSamples(beyond)} ${beyond === 1 ? "lies" : "lie"} beyond the axis (arrows); the LLRs ` +
        `reach from ` +
        `${formatNumber(view.unit.factor * least)} to ${formatLlr(view, most)}` +
        `${infinite ? `, and ${formatCount(infinite)} are infinite` : ""}.`
    );
  }
  return parts.join(" ");
}
