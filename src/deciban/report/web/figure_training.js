// How the model was trained: what it minimized, and the score on samples that it did not learn from.

import { chart, fill, formatNumber, frameMark, isDrawn, note } from "./drawing.js";
import { isDark } from "./colors.js";

const CURVES = [
  { name: "loss", label: "training loss (nat per sample)", what: "training loss" },
  { name: "score", label: "held-out cross-entropy (nat)", what: "cross-entropy of held-out samples" },
];

export function drawTraining(box, view) {
  const epochs = view.data.training ?? [];
  if (isDrawn(box, view.width, isDark(), epochs.length)) return;
  if (epochs.length === 0)
    return fill(box, note("This model was not trained in epochs, or its history was not kept."));
  const drawn = CURVES.filter(({ name }) => epochs.some((epoch) => Number.isFinite(epoch[name])));
  fill(box, ...drawn.map((curve) => drawCurve(view, epochs, curve)), note(explain(epochs)));
}

function drawCurve(view, epochs, { name, label, what }) {
  const points = epochs
    .map((epoch, k) => ({ x: epoch.epoch ?? k + 1, y: epoch[name] }))
    .filter((p) => Number.isFinite(p.y));
  const best = d3.least(points, (p) => p.y);
  return chart(view, {
    height: 210,
    marginTop: 22,
    label: `${what} over ${points.length} epochs; lowest ${formatNumber(best.y)} at epoch ${best.x}.`,
    x: { label: "epoch", tickFormat: "d" },
    y: { label, domain: limits(points), ticks: 5 },
    marks: [
      frameMark(),
      Plot.line(points, { x: "x", y: "y", stroke: "var(--accent)", strokeWidth: 2, clip: true }),
      points.length < 40 && Plot.dot(points, { x: "x", y: "y", r: 2.5, fill: "var(--accent)", clip: true }),
      Plot.dot([best], { x: "x", y: "y", r: 5, fill: "var(--card)", stroke: "var(--fair)", strokeWidth: 2.5 }),
      Plot.tip(points, Plot.pointerX({ x: "x", y: "y", title: (p) => `epoch ${p.x}\n${formatNumber(p.y)} nat` })),
    ],
  });
}

/** All values, but for the first ones where these are so large that the rest would be flat. */
function limits(points) {
  const values = points.map((p) => p.y).sort(d3.ascending);
  const [low, inner, high] = [values[0], d3.quantileSorted(values, 0.9), values[values.length - 1]];
  const top = high - low > 4 * (inner - low) && inner > low ? low + 2 * (inner - low) : high;
  const pad = 0.06 * (top - low) || 0.5;
  return [low - pad, top + pad];
}

function explain(epochs) {
  const scored = epochs.filter((epoch) => Number.isFinite(epoch.score));
  const best = d3.least(scored, (epoch) => epoch.score);
  const seconds = d3.max(epochs, (epoch) => epoch.seconds);
  const time = Number.isFinite(seconds) ? ` Training took ${formatNumber(seconds)} s.` : "";
  const kept = best
    ? ` The ring is the epoch with the lowest value; held-out samples are told best after epoch ` + `${best.epoch}.`
    : "";
  return (
    `${epochs.length} epochs. Where the held-out curve rises while the loss falls, the model overfits.${kept}${time}`
  );
}
