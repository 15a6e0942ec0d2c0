// What it costs to tell each pair of classes apart: a matrix on a fixed scale, and a list of the worst pairs.

import { clusterOrder } from "./cluster.js";
import { isDark } from "./colors.js";
import { costColor, costKey, inkOn } from "./cost_scale.js";
import { make, scroller, set } from "./dom.js";
import { fill, formatNumber, formatPercent, isDrawn, note, numberOf, readNumber, shorten } from "./drawing.js";
import { pairLlr, splitByTruth } from "./geometry.js";
import { cllrMin, eer, pairMatrix, pav } from "./statistics.js";

const MOST_CLASSES = 100; // of the matrix
const MOST_IN_ORDER = 20; // more are ordered by how alike they are
const MOST_PAIRS = 100; // of the list
const NARROW = 11; // pixels that a name needs

const cache = new WeakMap();

/** Matrices of Cllr and Cllr_min (rows of arrays, bits): the assessment's, or those of the samples. */
function pairCosts(view) {
  const { samples, data } = view;
  if (cache.has(samples)) return cache.get(samples);
  const given = data.numbers;
  const read = (table) => table.map((row) => row.map(readNumber));
  let costs;
  if (given?.pairwise_cllr) {
    costs = { cllr: read(given.pairwise_cllr), least: read(given.pairwise_cllr_min) };
  } else {
    const { D, n, truth, logLikelihoods } = samples;
    const flat = pairMatrix(logLikelihoods, truth, n, D);
    costs = { cllr: d3.range(D).map((i) => Array.from(flat.slice(i * D, (i + 1) * D))), least: null };
  }
  cache.set(samples, costs);
  return costs;
}

export function drawPairMatrix(box, view) {
  if (isDrawn(box, view.width, isDark(), view.pair, numberOf(view.samples))) return;
  const { cllr, least } = pairCosts(view);
  const { classes, D } = view.samples;
  const order = chooseOrder(cllr, least);
  const size = layOut(view.width, order.map((k) => classes[k]));
  const svg = d3
    .create("svg")
    .call(set, {
      width: size.width, height: size.height, viewBox: `0 0 ${size.width} ${size.height}`, class: "pairs",
      role: "group",
      "aria-label": `Cost of telling each pair of ${D} classes apart; arrow keys move, Enter chooses a pair.`,
    });
  addLabels(svg, size, order.map((k) => classes[k]));
  addCells(svg, size, order, { cllr, least }, view);
  fill(box, costKey(view.width), svg.node(), note(explain(view, cllr, least, order)));
}

/** The classes drawn: in their order, or with like beside like where there are many. */
function chooseOrder(cllr, least) {
  const D = cllr.length;
  const cost = cllr.map((row) => row.map((value) => (Number.isNaN(value) ? 0 : Math.min(value, 10))));
  const hardest = d3.sort(d3.range(D), (k) => -d3.max(cost[k])).slice(0, MOST_CLASSES);
  const kept = d3.sort(hardest);
  if (D <= MOST_IN_ORDER) return kept;
  const likeness = least ?? cost;
  return clusterOrder(kept.map((i) => kept.map((j) => (i === j ? 0 : likeness[i][j])))).map((k) => kept[k]);
}

function layOut(width, names) {
  const D = names.length;
  const longest = Math.min(16, d3.max(names, (name) => name.length));
  const left = 10 + 6.7 * longest;
  const cell = Math.min(64, (Math.min(width, 760) - left - 8) / D);
  const turned = d3.max(names, (name) => Math.min(16, name.length)) * 7 > cell;
  const bottom = turned ? left : 24;
  return { left, cell, turned, longest, top: 6, width: left + cell * D + 8, height: 6 + cell * D + bottom };
}

function addLabels(svg, { left, cell, turned, longest, top }, names) {
  const step = Math.ceil(NARROW / cell);
  const font = Math.min(12, Math.max(9.5, cell * step * 0.9));
  const bottom = top + cell * names.length;
  names.forEach((name, k) => {
    if (k % step) return;
    const at = (k + 0.5) * cell;
    const text = () => svg.append("text").attr("font-size", font).attr("class", "soft");
    const row = text().attr("x", left - 6).attr("y", top + at + font * 0.35).attr("text-anchor", "end");
    const column = turned
      ? text()
          .attr("transform", `translate(${left + at + font * 0.35},${bottom + 6}) rotate(-90)`)
          .attr("text-anchor", "end")
      : text().attr("x", left + at).attr("y", bottom + 16).attr("text-anchor", "middle");
    for (const label of [row, column]) label.text(shorten(name, longest)).append("title").text(name);
  });
}

/** A cost as a cell shows it, and a screen reader says it. */
function formatCost(cost) {
  return Number.isNaN(cost) ? "–" : cost < 9.995 ? cost.toFixed(2) : formatNumber(cost);
}

/** Above the diagonal Cllr, below it Cllr_min where it is known; each cell chooses its pair. */
function addCells(svg, { left, cell, top }, order, costs, view) {
  const { classes } = view.samples;
  const cells = order.flatMap((i, r) => order.map((j, c) => ({ i, j, r, c })).filter(({ i: a, j: b }) => a !== b));
  const chosen = Array.isArray(view.pair) ? view.pair : [];
  const isChosen = ({ i, j }) => chosen.includes(i) && chosen.includes(j);
  const value = ({ i, j, r, c }) => (c < r && costs.least ? costs.least : costs.cllr)[i][j];
  const say = (d) =>
    `${classes[d.i]} and ${classes[d.j]}: Cllr ${formatCost(costs.cllr[d.i][d.j])} bit` +
    (costs.least ? `, recalibrated ${formatCost(costs.least[d.i][d.j])} bit` : "");
  const start = cells.find(isChosen) ?? cells[0];
  const group = svg
    .append("g")
    .selectAll("g")
    .data(cells)
    .join("g")
    .call(set, {
      class: (d) => (isChosen(d) ? "cell chosen" : "cell"), role: "button", "aria-label": say,
      "aria-pressed": (d) => String(isChosen(d)), tabindex: (d) => (d === start ? 0 : -1),
      "data-focus": (d) => `cell-${d.i}-${d.j}`,
      transform: (d) => `translate(${left + d.c * cell},${top + d.r * cell})`,
    })
    .on("click", (event, d) => view.set({ pair: [d.i, d.j], range: null }))
    .on("keydown", (event, d) => handleKey(event, d, svg, order, view));
  const gap = cell > 8 ? 1 : 0;
  group.append("rect").attr("width", cell - gap).attr("height", cell - gap).attr("fill", (d) => costColor(value(d)));
  group.append("title").text(say);
  if (cell >= 30) {
    group
      .append("text")
      .call(set, {
        x: cell / 2, y: cell / 2 + 4, "text-anchor": "middle", "font-size": 11, fill: (d) => inkOn(costColor(value(d))),
      })
      .text((d) => formatCost(value(d)));
  }
}

function handleKey(event, d, svg, order, view) {
  const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[
    event.key
  ] ?? [0, 0];
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    view.set({ pair: [d.i, d.j], range: null });
  } else if (down || right) {
    event.preventDefault();
    let [r, c] = [d.r + down, d.c + right];
    if (r === c) [r, c] = [r + down, c + right]; // past the diagonal
    const next = svg.node().querySelector(`[data-focus="cell-${order[r]}-${order[c]}"]`);
    if (!next) return;
    svg.selectAll(".cell").attr("tabindex", -1);
    next.setAttribute("tabindex", 0);
    next.focus();
  }
}

function explain(view, cllr, least, order) {
  const { D } = view.samples;
  const parts = [
    least ? "Above the diagonal the cost as it is, below it after recalibration." : "Cost of each pair as it is.",
    "0 is perfect, 1 bit is the cost of no evidence.",
    "Choose a cell to see that pair.",
  ];
  if (order.length < D) parts.push(`Of ${D} classes the ${order.length} hardest are drawn.`);
  if (D > MOST_IN_ORDER)
    parts.push("Classes that are hard to tell apart stand side by side; hover or focus tells full names.");
  if (cllr.some((row) => row.some((cost) => cost > 1)))
    parts.push("Orange pairs cost more than no evidence.");
  return parts.join(" ");
}

const COLUMNS = [
  { name: "pair", text: "pair" }, { name: "cllr", text: "Cllr (bit)" }, { name: "least", text: "Cllr_min (bit)" },
  { name: "eer", text: "EER" },
];

/** The pairs that cost most, which a reader sorts and chooses from. */
export function drawWorstPairs(box, view) {
  const [by, descending] = (box.dataset.order ?? "cllr true").split(" ");
  if (isDrawn(box, by, descending, view.pair, numberOf(view.samples))) return;
  const pairs = worstPairs(view);
  const value = (pair) => pair[by];
  const sorted = d3.sort(pairs, (a, b) => (descending === "true" ? d3.descending : d3.ascending)(value(a), value(b)));
  const heads = COLUMNS.map(({ name, text }) => {
    const button = make("button", {
      type: "button", className: "plain", textContent: text, "data-focus": `sort-${name}`,
    });
    button.addEventListener("click", () => {
      box.dataset.order = `${name} ${by === name ? descending !== "true" : name !== "pair"}`;
      drawWorstPairs(box, view);
    });
    const sort = by === name ? { "aria-sort": descending === "true" ? "descending" : "ascending" } : {};
    return make("th", { scope: "col", ...sort }, button);
  });
  const rows = sorted.map((pair) => pairRow(pair, view));
  const table = make(
    "table",
    { className: "worst" },
    make("thead", {}, make("tr", {}, ...heads)),
    make("tbody", {}, ...rows)
  );
  const all = (view.samples.D * (view.samples.D - 1)) / 2;
  fill(
    box,
    scroller("Worst pairs", table),
    note(
      (pairs.length < all
        ? `The ${pairs.length} pairs that cost most, of ${all.toLocaleString("en")}. `
        : "") + "Cllr is the cost as it is, Cllr_min after the best recalibration, EER the equal-error rate."
    )
  );
}

function pairRow(pair, view) {
  const chosen = Array.isArray(view.pair) && view.pair.includes(pair.a) && view.pair.includes(pair.b);
  const button = make("button", {
    type: "button",
    className: "plain",
    textContent: [pair.a, pair.b].map((k) => shorten(view.samples.classes[k], 32)).join(" / "),
    title: pair.pair,
    "data-focus": `pair-${pair.a}-${pair.b}`,
  });
  button.addEventListener("click", () => view.set({ pair: [pair.a, pair.b], range: null }));
  return make(
    "tr",
    chosen ? { className: "chosen", "aria-current": "true" } : {},
    make("th", { scope: "row" }, button),
    ...[formatNumber(pair.cllr), formatNumber(pair.least), formatPercent(pair.eer)].map((textContent) =>
      make("td", { className: "number", textContent })
    )
  );
}

const worst = new WeakMap();

function worstPairs(view) {
  const { samples } = view;
  if (worst.has(samples)) return worst.get(samples);
  const { cllr } = pairCosts(view);
  const { D, n, truth, logLikelihoods, classes } = samples;
  const all = d3.cross(d3.range(D), d3.range(D)).filter(([a, b]) => a < b && !Number.isNaN(cllr[a][b]));
  const hardest = d3.sort(all, ([a, b]) => -cllr[a][b]).slice(0, MOST_PAIRS);
  const rowsOf = d3.group(d3.range(n), (i) => truth[i]);
  const pairs = hardest.map(([a, b]) => {
    const rows = [...(rowsOf.get(a) ?? []), ...(rowsOf.get(b) ?? [])];
    const values = Float64Array.from(rows.flatMap((i) => [logLikelihoods[i * D + a], logLikelihoods[i * D + b]]));
    const { target, nonTarget } = splitByTruth(
      pairLlr(values, rows.length, 2, 0, 1),
      rows.map((i) => truth[i]),
      [a],
      [b]
    );
    const blocks = pav(target, nonTarget);
    return {
      a, b, pair: `${classes[a]} / ${classes[b]}`, cllr: cllr[a][b], least: cllrMin(target, nonTarget, blocks),
      eer: eer(target, nonTarget, blocks),
    };
  });
  worst.set(samples, pairs);
  return pairs;
}
