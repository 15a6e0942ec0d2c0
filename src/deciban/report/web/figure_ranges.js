// A table of likelihood-ratio ranges: words, and how many samples of either side fall in each.

import { make } from "./dom.js";
import {
  describeMix, fill, formatCount, formatNumber, formatPercent, legend, missingSide, note, shorten, sideKeys,
} from "./drawing.js";

/** ENFSI guideline for evaluative reporting in forensic science, version 3.0 (2015). */
const ENFSI = {
  name: "ENFSI",
  neutral: "no",
  cuts: [2, 10, 100, 1_000, 10_000, 1_000_000],
  words: ["weak", "moderate", "moderately strong", "strong", "very strong", "extremely strong"],
};
const SLACK = 1e-12; // so that log(100) falls where the table has it

export function drawRanges(box, view) {
  const missing = missingSide(view);
  if (missing) return fill(box, note(missing));
  const scale = view.data.verbal ?? ENFSI;
  const rows = rangesOf(scale, view.names);
  for (const row of rows) {
    const inside = [view.other, view.target].map((values) => findInside(values, row));
    row.counts = inside.map(([from, to]) => to - from);
    row.shares = inside.map(([from, to], side) => view.shareOf(side, from, to));
  }
  const n = [view.other.length, view.target.length];
  const table = make(
    "table",
    { className: "ranges" },
    make("caption", { textContent: `Words of the scale of ${scale.name}` }),
    head(view),
    ...[1, null, 0].map((side) => section(view, rows.filter((row) => row.side === side).reverse(), side))
  );
  const wrong = rows
    .filter((row) => row.side !== null)
    .map((row) => ({ row, count: row.counts[1 - row.side] }))
    .filter((one) => one.count);
  const worst = d3.greatest(wrong, (one) => Math.abs(Math.log(one.row.lowRatio)));
  fill(
    box,
    legend(sideKeys(view)),
    make("div", { className: "scroll whole", tabIndex: 0, role: "region", "aria-label": "Table of ranges" }, table),
    note(
      (worst
        ? `The strongest words that were wrong: ${worst.row.words}, ${formatCount(worst.count)} of ` +
            `${formatCount(n[1 - worst.row.side])} samples of ${view.names[1 - worst.row.side]}.`
        : "No sample has words for the wrong side.") + describeMix(view)
    )
  );
}

/** Ranges by rising LLR: ends in nats and as ratios, the words, and the side they are for. */
function rangesOf({ cuts, words, neutral }, names) {
  const ends = cuts.map(Math.log);
  const grades = ends.map((low, k) => ({
    low, high: ends[k + 1] ?? Infinity, lowRatio: cuts[k], highRatio: cuts[k + 1], word: words[k],
  }));
  const sayRatio = ({ lowRatio, highRatio }) =>
    `${formatCount(lowRatio)} ${highRatio ? `to ${formatCount(highRatio)}` : "or more"}`;
  const side = (k) =>
    grades.map((grade) => ({
      ...grade, side: k, ratio: sayRatio(grade), words: `${grade.word} support for ${names[k]}`,
      low: k ? grade.low : -grade.high, high: k ? grade.high : -grade.low,
    }));
  const middle = {
    low: -ends[0], high: ends[0], side: null, lowRatio: 1, ratio: `below ${formatNumber(cuts[0])}`, word: neutral,
    words: `${neutral} support for either`,
  };
  return [...side(0).reverse(), middle, ...side(1)];
}

/** Positions between which sorted values fall in a range; a bound belongs to the stronger words. */
function findInside(values, { low, high, side }) {
  const ease = (x) => (Number.isFinite(x) ? Math.abs(x) * SLACK : 0);
  const before = (x) => d3.bisectLeft(values, x - ease(x));
  const upTo = (x) => d3.bisectRight(values, x + ease(x));
  if (side === 1) return [before(low), high === Infinity ? values.length : before(high)];
  if (side === 0) return [low === -Infinity ? 0 : upTo(low), upTo(high)];
  return [upTo(low), before(high)];
}

function head(view) {
  const cells = [
    `ratio, and LLR (${view.unit.label})`,
    "in words",
    ...[1, 0].map((side) => `${shorten(view.names[side], 22)} is true`),
  ];
  return make("thead", {}, make("tr", {}, ...cells.map((text) => make("th", { textContent: text, scope: "col" }))));
}

/** The ranges in favor of one side, under a heading. */
function section(view, rows, side) {
  const text = side === null ? "Support for neither" : `Support for ${view.names[side]}`;
  return make(
    "tbody",
    {},
    make("tr", {}, make("th", { colSpan: 4, scope: "rowgroup", className: "group", textContent: text })),
    ...rows.map((row) => tableRow(view, row))
  );
}

function tableRow(view, row) {
  const { factor } = view.unit;
  const ends = [row.low, row.high].map((x) => formatNumber(factor * x));
  const llr =
    row.low === -Infinity
      ? `${ends[1]} or less`
      : row.high === Infinity ? `${ends[0]} or more` : `${ends[0]} to ${ends[1]}`;
  const list = make("button", {
    type: "button", className: "plain", textContent: llr, title: "List these samples", "data-focus": `range${row.low}`,
  });
  const extent = [Math.max(row.low, -1e300), Math.min(row.high, 1e300)];
  list.addEventListener("click", () => view.set({ range: extent }));
  const counts = [1, 0].map((side) => {
    const count = row.counts[side];
    const bar = make("i");
    bar.style.width = `${100 * row.shares[side]}%`;
    bar.style.background = view.colors[side];
    const misleads = row.side !== null && row.side !== side && count > 0;
    return make(
      "td",
      { className: "number" },
      `${formatCount(count)} (${formatPercent(row.shares[side])})`,
      misleads ? make("span", { className: "poor-word", textContent: " misleading" }) : "",
      make("span", { className: "track", "aria-hidden": "true" }, bar)
    );
  });
  const isChosen = view.range && view.range[0] === extent[0] && view.range[1] === extent[1];
  return make(
    "tr",
    { className: isChosen ? "chosen" : "" },
    make("th", { scope: "row" }, row.ratio, make("br"), list),
    make("td", { textContent: row.word }),
    ...counts
  );
}
