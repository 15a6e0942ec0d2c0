// Costs of several systems: bars for the parts of each, and a table of the chosen pair.

import { make } from "./dom.js";
import { chart, cllrCalOf, cllrOf, fill, formatNumber, formatPercent, scrollTable, note, pavBlocks, shorten } from "./drawing.js";
import { operatingPoint } from "./figure_det.js";
import { cllrMin, eer } from "./statistics.js";
import { missing, sayEach, systemLegend } from "./systems.js";

/** Costs of each system as bars: what it cannot tell apart, and what recalibration would save. */
export function drawCosts(box, view) {
  const why = missing(view);
  if (why) return fill(box, note(why));
  const [other, target] = view.systems[0].names;
  const groups = [{ title: `${target} against ${other}: Cllr`, rows: view.systems.map(pairCost) }];
  if (view.data.costs)
    groups.unshift({
      title: `All ${view.samples.D} classes, at the prior of the summary: cross-entropy`,
      rows: view.systems.map((one) => overallCost(one, view)),
    });
  fill(
    box,
    systemLegend(view.systems),
    ...groups.flatMap((group) => [
      make("h4", { textContent: group.title }), barChart(view, group), note(sayEach(group.rows, sayCost)),
    ]),
    note(
      "Pale: what the system cannot tell apart. Solid: poor calibration, which recalibration would save. The broken line is the cost of no evidence."
    )
  );
}

function pairCost(one) {
  const total = cllrOf(one);
  return { ...one, total, least: cllrMin(one.target, one.other, pavBlocks(one)), nothing: 1, unit: "bit" };
}

function overallCost(one, view) {
  const { total, calibration, nothing } = view.data.costs[one.k];
  return { ...one, total, least: Number.isFinite(calibration) ? total - calibration : NaN, nothing, unit: "nat" };
}

function barChart(view, { title, rows }) {
  const percent = (x, row) => (100 * x) / row.nothing;
  const end = Math.max(
    105,
    Math.min(200, 1.12 * d3.max(rows, (row) => percent(Number.isFinite(row.total) ? row.total : 0, row)))
  );
  const inside = (x, row) => Math.min(end, percent(x, row));
  const parts = rows.flatMap((row) => {
    const least = Number.isFinite(row.least) ? row.least : 0;
    return [
      { row, low: 0, high: inside(least, row), opacity: 0.35 },
      { row, low: inside(least, row), high: inside(row.total, row), opacity: 1 },
    ];
  });
  const label = (row) =>
    `${shorten(row.name, 24)}: ${formatNumber(row.total)} ${row.unit}${percent(row.total, row) > end ? " ▸" : ""}`;
  return chart(view, {
    height: 52 + 44 * rows.length,
    marginTop: 6,
    marginLeft: 12,
    label: `${title}. ${rows.map(sayCost).join(" ")}`,
    x: { label: "share of the cost of no evidence (%)", domain: [0, end], grid: true },
    y: { axis: null, grid: false, domain: rows.map((row) => row.k), paddingInner: 0.6, paddingOuter: 0.5 },
    marks: [
      Plot.barX(parts, { y: (p) => p.row.k, x1: "low", x2: "high", fill: (p) => p.row.color, fillOpacity: "opacity" }),
      Plot.ruleX([100], { stroke: "currentColor", strokeDasharray: "4 3", strokeWidth: 1.5 }),
      Plot.text(rows, {
        y: "k", x: 0, dy: -17, textAnchor: "start", fontWeight: 600, text: label, fill: "currentColor",
        stroke: "var(--card)", strokeWidth: 4, paintOrder: "stroke",
      }),
    ],
  });
}

function sayCost({ name, total, least, nothing, unit }) {
  const share = `${formatPercent(total / nothing)} of the cost of no evidence`;
  const cost =
    total === Infinity
      ? `${name} costs without limit, as it ruled out a class that was true`
      : `${name} costs ${formatNumber(total)} ${unit}, ${share}`;
  return Number.isFinite(least) && Number.isFinite(total)
    ? `${cost}; recalibrated, ${formatNumber(least)} ${unit}.`
    : `${cost}.`;
}

/** The numbers behind the figures, for the chosen pair. */
export function drawNumbers(box, view) {
  const why = missing(view);
  if (why) return fill(box, note(why));
  const { miss, falseAlarm } = view.pairCosts, prior = view.priorTarget;
  const nothing = Math.min(prior * miss, (1 - prior) * falseAlarm);
  const head = [
    "system", "Cllr (bit)", "after PAV (bit)", "calibration (bit)", "equal-error rate", "misses", "false alarms",
    "cost of decisions",
  ];
  const rows = view.systems.map((one) => {
    const total = cllrOf(one), least = cllrMin(one.target, one.other, pavBlocks(one));
    const at = operatingPoint(one);
    const cost = (prior * miss * at.miss + (1 - prior) * falseAlarm * at.falseAlarm) / nothing;
    return [
      one.name,
      ...[total, least, cllrCalOf(one)].map(formatNumber),
      formatPercent(eer(one.target, one.other, pavBlocks(one))),
      formatPercent(at.miss),
      formatPercent(at.falseAlarm),
      formatNumber(cost),
    ];
  });
  fill(
    box,
    scrollTable("Numbers of the chosen pair", head, rows, "whole"),
    note(
      `Misses, false alarms and costs are those of Bayes decisions at a prior of ${formatPercent(prior)} and the costs above; ` +
        "a cost of 1 is that of deciding without evidence."
    )
  );
}
