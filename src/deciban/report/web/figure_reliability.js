// Posteriors beside the frequencies of what they predict.

import { make } from "./dom.js";
import {
  chart, diagonal, fill, fitNames, formatCount, formatNumber, frameMark, legend, note, shorten,
} from "./drawing.js";
import { reliability } from "./statistics.js";

export function drawReliability(box, view) {
  const { classes, D, n, truth, logLikelihoods } = view.samples;
  const counts = new Uint32Array(D);
  for (const k of truth) counts[k]++;
  const empty = counts.indexOf(0);
  if (empty >= 0)
    return fill(box, note(`Every class must have samples for reliability; ${classes[empty]} has none.`));
  const asked = Number(box.dataset.event ?? -1);
  const event = asked >= 0 && asked < D ? asked : D === 2 ? 1 : -1;
  const of = event < 0 ? "the decided class" : classes[event];
  const bins = reliability(logLikelihoods, truth, n, D, view.prior, { event: event < 0 ? null : event });
  const points = pointsOf(bins);
  const off = points.filter((p) => p.x < p.low - 1e-9 || p.x > p.high + 1e-9);
  const svg = drawPoints(view, points, off, of);
  fill(
    box,
    D > 2 && chooser(box, view, event),
    legend([
      { color: "var(--accent)", text: "agrees: the interval holds the posterior", shape: "dot" },
      { color: "var(--poor)", text: "does not agree", shape: "diamond" },
    ]),
    svg,
    note(explain(points, off, of))
  );
}

/** Bins in percent. */
function pointsOf(bins) {
  return Array.from(bins.predicted, (x, k) => ({
    x: 100 * x, y: 100 * bins.observed[k], low: 100 * bins.low[k], high: 100 * bins.high[k], count: bins.count[k],
  })).filter((p) => p.count > 0);
}

function drawPoints(view, points, off, of) {
  const color = (p) => (off.includes(p) ? "var(--poor)" : "var(--accent)");
  const side = Math.round(Math.min(420, view.width));
  return chart(view, {
    width: side,
    height: side,
    marginBottom: 46,
    label:
      `Reliability of the posteriors of ${of}: predicted probability against observed frequency in ` +
      `${points.length} bins.`,
    x: { label: fitNames([of], side - 32, (name) => `posterior of ${name} (%)`), domain: [0, 100] },
    y: { label: "how often it was true (%)", domain: [0, 100] },
    marks: [
      frameMark(),
      diagonal(0, 100),
      Plot.ruleX(points, { x: "x", y1: "low", y2: "high", stroke: color, strokeWidth: 1.6 }),
      Plot.dot(points, {
        x: "x",
        y: "y",
        r: 4.5,
        fill: color,
        symbol: (p) => (off.includes(p) ? "diamond" : "circle"),
      }),
      Plot.text(spread(points, side), {
        x: "x",
        y: "label",
        text: (p) => d3.format(p.count < 1000 ? "d" : ".2~s")(p.count),
        fontSize: 11,
        fill: "var(--soft)",
        stroke: "var(--card)",
        strokeWidth: 3,
        paintOrder: "stroke",
        textAnchor: "start",
        dx: 6,
      }),
      Plot.tip(points, Plot.pointer({ x: "x", y: "y", title: tip })),
    ],
  });
}

/** Counts beside their points, left out where two would overlap; the tip has them all. */
function spread(points, side) {
  const reach = (100 * 34) / side, height = (100 * 13) / side;
  const placed = [];
  for (const p of points) {
    const clash = placed.some((q) => Math.abs(q.x - p.x) < reach && Math.abs(q.y - p.y) < height);
    if (!clash && p.x < 100 - reach) placed.push({ ...p, label: p.y });
  }
  return placed;
}

function tip(p) {
  return (
    `predicted ${formatNumber(p.x)} %\nobserved ${formatNumber(p.y)} % (${formatNumber(p.low)} to ` +
    `${formatNumber(p.high)})\n${formatCount(p.count)} samples`
  );
}

/** Whose posterior is looked at: the decided class, or one of them. */
function chooser(box, view, event) {
  const option = (value, text) => make("option", { value, textContent: text, selected: value === event });
  const select = make(
    "select",
    { "data-focus": "event" },
    option(-1, "the decided class"),
    ...view.samples.classes.map((name, k) => option(k, shorten(name, 40)))
  );
  select.addEventListener("change", () => {
    box.dataset.event = select.value;
    drawReliability(box, view);
  });
  return make("label", { className: "choice" }, "Posterior of ", select);
}

function explain(points, off, of) {
  const total = d3.sum(points, (p) => p.count);
  const verdict =
    off.length === 0
      ? "Every interval holds its posterior: no sign of poor calibration."
      : `In ${off.length} of ${points.length} groups the interval does not hold the posterior: there ` +
        "the posteriors promise more or less than they keep.";
  return (
    `The ${formatCount(total)} samples in groups of equal size, by their posterior of ${of} under the prior; numbers ` +
    `are counts of samples, lines 95 % intervals. ${verdict}`
  );
}
