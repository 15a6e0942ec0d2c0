// What the evidence costs, and why: discrimination, calibration, and what it gains over no evidence.

import {
  chart, cllrCalOf, cllrOf, fill, fitNames, formatNumber, formatPercent, legend, missingSide, note, readNumber,
} from "./drawing.js";

const PARTS = [
  { name: "discrimination", text: "discrimination: what it cannot tell apart", color: "var(--accent)", opacity: 1 },
  { name: "calibration", text: "calibration: what recalibration would save", color: "var(--fair)", opacity: 1 },
  { name: "gained", text: "gained over no evidence", color: "var(--good)", opacity: 0.22 },
];

export function drawCost(box, view) {
  const rows = [overall(view), missingSide(view) ? null : pairCost(view)].filter((row) => row);
  const drawn = rows.filter((row) => Number.isFinite(row.total) && Number.isFinite(row.calibration));
  const words = rows.map(say).join(" ");
  if (drawn.length === 0) return fill(box, note(words || missingSide(view)));
  const svg = drawBars(view, drawn, words);
  fill(
    box,
    legend(
      PARTS.map((part) => ({
        ...part,
        shape: "solid",
        color: part.name === "gained" ? "color-mix(in srgb, var(--good) 22%, var(--card))" : part.color,
      }))
    ),
    svg,
    note(`${words} The broken line is the cost of no evidence.`)
  );
}

/** The parts of each cost, in percent of the cost of no evidence. */
function spansOf(drawn) {
  return drawn.flatMap((row) => {
    const ends = [0, row.total - row.calibration, row.total, Math.max(row.total, row.nothing)].map(
      (x) => (100 * x) / row.nothing
    );
    return PARTS.map((part, k) => ({ ...part, low: ends[k], high: ends[k + 1], ...row })).filter((s) => s.high > s.low);
  });
}

function drawBars(view, drawn, words) {
  const spans = spansOf(drawn);
  const most = d3.max(drawn, (row) => (100 * row.total) / row.nothing);
  return chart(view, {
    height: 56 + 62 * drawn.length,
    marginTop: 8,
    marginLeft: 12,
    label: words,
    x: { label: "share of the cost of no evidence (%)", domain: [0, Math.max(110, 1.05 * most)], grid: true },
    y: { axis: null, domain: drawn.map((row) => row.name), paddingInner: 0.55, paddingOuter: 0.4 },
    marks: [
      Plot.barX(spans, { y: "name", x1: "low", x2: "high", fill: "color", fillOpacity: "opacity" }),
      Plot.ruleX([100], { stroke: "currentColor", strokeDasharray: "4 3", strokeWidth: 1.5 }),
      Plot.text(drawn, {
        y: "name",
        x: 0,
        dy: -24,
        textAnchor: "start",
        fontWeight: 600,
        text: (row) => {
          const cost = `${formatNumber(row.total)} of ${formatNumber(row.nothing)} ${row.unit}`;
          return fitNames([row.name], view.width - 16, (name) => `${name}: ${cost}`, 600);
        },
        stroke: "var(--card)",
        strokeWidth: 4,
        paintOrder: "stroke",
        fill: "currentColor",
      }),
      Plot.tip(spans, Plot.pointer({ y: "name", x: (s) => (s.low + s.high) / 2, title: tip })),
    ],
  });
}

const tip = (s) => `${s.text}\n${formatNumber(((s.high - s.low) * s.nothing) / 100)} ${s.unit}`;

/** The live pair: Cllr, of which PAV tells what recalibration would save. */
function pairCost(view) {
  const [other, target] = view.names;
  return {
    name: `${target} against ${other}`, about: `Between ${target} and ${other}`, total: cllrOf(view),
    calibration: cllrCalOf(view), nothing: 1, unit: "bit",
  };
}

/** All classes, from the assessment, which judges recalibration on samples that it was not fitted to. */
function overall(view) {
  const { numbers } = view.data;
  if (!numbers || view.samples.D === 2) return null;
  const find = (key) => numbers.quantities.find((one) => one.key === key);
  const [cost, calibration] = ["cross_entropy", "calibration"].map(find);
  if (!cost) return null;
  const total = readNumber(cost.value);
  return {
    name: `all ${view.samples.D} classes`,
    about: `For all ${view.samples.D} classes together, at the prior of the summary,`,
    total,
    calibration: readNumber(calibration?.corrected ?? calibration?.value),
    nothing: -d3.sum(numbers.prior, (p) => p * Math.log(p)),
    unit: "nat",
  };
}

function say({ about, total, calibration, nothing, unit }) {
  if (total === Infinity)
    return `${about} the cost is infinite: the evidence ruled out a class that was true.`;
  if (!Number.isFinite(calibration))
    return `${about} the evidence costs ${formatNumber(total)} ${unit}, whose parts are not known.`;
  const harm = total > nothing ? " That is more than no evidence costs: it does harm as it is." : "";
  return (
    `${about} the evidence costs ${formatNumber(total)} ${unit}, ${formatPercent(total / nothing)} of what no ` +
    `evidence costs; recalibration would save ${formatNumber(calibration)} ${unit}.${harm}`
  );
}
