// One sample: its evidence in words and bars, the prior at which the decision flips, its neighbors and counterfactuals.

import { classColor } from "./colors.js";
import { bindNumber, labeled, make, makeButton, makeCard, makeTable, percent, scroller, signed } from "./dom.js";
import { note } from "./drawing.js";
import { UNKNOWN } from "./explore_cloud.js";
import { center } from "./explore_edit.js";
import { UNITS, decide, flipPrior, posterior } from "./geometry.js";

/** Part 4 in a section; the function that is returned draws the state. */
export function makeSample(section, app) {
  const box = section.querySelector("[data-box=sample]");
  const input = make("input", { type: "number", min: 1, step: 1 });
  const shown = () => rowNumber(app.samples(), app.state.get().row);
  const show = bindNumber(input, shown, (x) => app.state.set({ row: findRow(app.samples(), x) }));
  const step = (by) => () => {
    const { n } = app.samples();
    app.state.set({ row: (app.state.get().row + by + n) % n });
  };
  const chooser = make(
    "div",
    { className: "edit-line" },
    labeled("Row", input, "inline"),
    makeButton("Previous", step(-1), { className: "plain" }),
    makeButton("Next", step(1), { className: "plain" }),
    makeButton("Next wrong decision", () => findWrong(app), { className: "plain" })
  );
  const body = make("div", {});
  box.replaceChildren(chooser, body);
  return function draw(values) {
    const samples = app.samples(), D = values.names.length;
    chooser.hidden = !samples;
    show();
    const row = samples ? Math.min(values.row, samples.n - 1) : 0;
    const evidence = samples ? samples.logLikelihoods.slice(row * D, (row + 1) * D) : sumOf(values);
    const cards = [
      drawEvidence(evidence, values), drawWords(evidence, values, app.data.scale), drawFlip(evidence, values, app),
    ];
    body.replaceChildren(
      make("p", { className: "lead", textContent: describeSample(samples, row, values) }),
      make("div", { className: "walk-grid" }, cards, drawCase(app, row, samples))
    );
  };
}

const rowNumber = (samples, i) => samples ? samples.rows[Math.min(i, samples.n - 1)] : 1;

/** The sample of a row number of the table, or the one before it where that row was left out. */
function findRow(samples, number) {
  return Math.max(0, Math.min(samples.n - 1, d3.bisectRight(samples.rows, number) - 1));
}

/** Without a table, the evidence is what the pieces of Bayes' walk add up to. */
function sumOf({ names, pieces }) {
  const sums = names.map((_, k) => d3.sum(pieces, (piece) => piece[k])), top = d3.max(sums);
  return Float64Array.from(sums, (v) => v - top);
}

function describeSample(samples, row, { names, pieces }) {
  if (!samples)
    return `No table is open. This is the evidence of Bayes’ walk, ${pieces.length} ${pieces.length === 1 ? "piece" : "pieces"} in all; open a table in part three to see its samples.`;
  const truth = samples.truth[row],
    known = truth === UNKNOWN ? "its true class is not known" : `true class ${names[truth]}`;
  return `Row ${rowNumber(samples, row)} of ${samples.total.toLocaleString("en")}: ${known}.`;
}

function findWrong({ samples: read, state }) {
  const { logLikelihoods, truth, n, D } = read(), { prior, costs, reject, row } = state.get();
  const choice = decide(logLikelihoods, n, D, prior, costs, reject);
  for (let by = 1; by <= n; by++) {
    const i = (row + by) % n;
    if (truth[i] !== UNKNOWN && choice[i] !== truth[i] && choice[i] < D) return state.set({ row: i });
  }
  return undefined;
}

/** Log-likelihoods as bars around their mean, and posteriors. */
function drawEvidence(evidence, { names, prior, unit }) {
  const D = names.length, { factor, label } = UNITS[unit], finite = Array.from(evidence).filter(Number.isFinite);
  const middle = d3.mean(finite), values = Array.from(evidence, (v) => (v - middle) * factor);
  const most = d3.max(values.filter(Number.isFinite), Math.abs) || 1, shares = posterior(evidence, 1, D, prior);
  const order = d3.range(D).sort((a, b) => evidence[b] - evidence[a]).slice(0, 20);
  const rows = order.map((k) => {
    const bar = make("i", {}), length = Number.isFinite(values[k]) ? (50 * Math.abs(values[k])) / most : 50;
    Object.assign(bar.style, {
      background: classColor(k, D), width: `${length}%`, left: values[k] < 0 ? `${50 - length}%` : "50%",
    });
    return make(
      "div",
      { className: "bar-row evidence" },
      make("span", { className: "name", textContent: names[k] }),
      make("span", { className: "bar-track" }, bar),
      make("span", { className: "bar-number", textContent: `${signed(values[k])} · ${percent(shares[k])}` })
    );
  });
  return makeCard(
    "Evidence",
    ...rows,
    note(`Log-likelihoods in ${label}, around their mean · posterior under the prior${D > 20 ? "; the 20 likeliest classes" : ""}.`)
  );
}

/** Words for an LLR on the verbal scale that Python hands over. */
export function wordsFor(llr, { cuts, words, neutral }) {
  const grade = d3.bisectRight(cuts.map(Math.log), Math.abs(llr) * (1 + 1e-12));
  return grade === 0 ? neutral : words[grade - 1];
}

function drawWords(evidence, { names, unit }, scale) {
  const { factor, label } = UNITS[unit], order = d3.range(names.length).sort((a, b) => evidence[b] - evidence[a]);
  const best = order[0],
    items = order.slice(1, 13).map((k) => {
      const llr = evidence[best] - evidence[k], word = wordsFor(llr, scale);
      const text =
        word === scale.neutral
          ? `${word} support for ${names[best]} or ${names[k]} over the other`
          : `${word} support for ${names[best]} over ${names[k]}`;
      return make("li", {}, make("b", { textContent: text }), ` (${signed(llr * factor)} ${label})`);
    });
  return makeCard("In words", make("ul", {}, items), note(scale.source));
}

/** The prior at which the decision flips, and a way to go there. */
function drawFlip(evidence, { names, prior, costs, reject }, app) {
  const D = names.length, [choice] = decide(evidence, 1, D, prior, costs, reject);
  const isOpen = choice === D; // what would be decided if a decision had to be made, then
  const { best, next, to, prior: flipped } = flipPrior(evidence, prior, costs, isOpen ? null : reject);
  const say = (k) => (k === D ? "no decision" : names[k]);
  const sentences = [
    `Under the prior (${names
      .map((name, k) => `${name} ${percent(prior[k])}`)
      .slice(0, 6)
      .join(", ")}) and the costs, the decision is: ${say(choice)}.`,
  ];
  if (flipped) {
    const both = prior[best] + prior[next];
    sentences.push(
      `${isOpen ? "If one had to be made, it would flip" : "It flips"} from ${names[best]} to ${say(to)} where the prior of ${names[best]} falls to ${tiny(flipped[best])} and that of ${names[next]} rises to ${tiny(flipped[next])}${D > 2 ? `, of ${percent(both)} that the two share` : ""}.`,
      `Whoever believed less than that in ${names[best]} beforehand, and more in ${names[next]}, should ${to === D ? "not decide" : `decide for ${names[to]}`}.`
    );
  } else
    sentences.push(`No shift of the prior from ${names[best]} to ${names[next]} changes the decision.`);
  const usable = flipped && flipped.every((p) => p > 1e-9);
  const walk = makeButton(
    "See it in Bayes’ walk",
    () => app.state.set({ part: "walk", pieces: [center(Array.from(evidence, (v) => Math.max(v, -700)))] }),
    { className: "plain" }
  );
  const flip = usable ? makeButton("Set this prior", () => app.state.set({ prior: Array.from(flipped) })) : null;
  return makeCard(
    "Where the decision flips",
    sentences.map((text) => make("p", { textContent: text })),
    make("div", { className: "edit-line" }, flip, walk)
  );
}

/** A probability in words where a percentage would be all zeros. */
function tiny(p) {
  if (!(p > 0) || p >= 1e-4) return percent(p);
  return p > 1e-9 ? `1 in ${d3.format(",.2r")(1 / p)}` : "less than 1 in a thousand million";
}

/** Neighbors and counterfactuals that Python computed for some of the rows. */
function drawCase({ data, samples, original }, row, shown) {
  const { cases } = data;
  if (!cases || !shown || original() !== data.given) return [];
  const at = cases.rows.indexOf(row);
  if (at < 0) {
    const nearest = cases.rows[Math.min(cases.rows.length - 1, d3.bisectLeft(cases.rows, row))];
    return [
      note(`Neighbors and counterfactuals were computed for ${cases.rows.length} rows; the nearest is row ${rowNumber(shown, nearest)}.`),
    ];
  }
  const { classes, truth } = samples();
  const known = (i) => (truth[i] === UNKNOWN ? "not known" : classes[truth[i]]);
  const cell = (value) => value === null ? "missing" : typeof value === "number" ? d3.format(".4~g")(value) : value;
  const neighbors = makeTable(
    ["row", "true class", "distance"],
    cases.neighbors[at].map(([i, distance]) => [rowNumber(shown, i), known(i), d3.format(".3~g")(distance)])
  );
  const others = classes.map((name, k) => [name, cases.counterfactuals[k][at]]);
  const heads = ["feature", "this sample", ...others.map(([name]) => `as ${name}`)];
  const rows = cases.columns.map((name, c) => [
    name,
    cell(cases.features[at][c]),
    ...others.map(([, values]) => (values ? cell(values[c]) : "not reached")),
  ]);
  const counterfactuals = scroller("Counterfactuals", makeTable(heads, rows));
  return [
    makeCard("Nearest samples", neighbors, note("Distance in the base space of the model: evidence and residual.")),
    make(
      "div",
      { className: "card wide" },
      make("h3", { textContent: "The same sample as of another class" }),
      counterfactuals,
      note("The evidence is moved to the center of each class; the residual, which does not bear on it, is kept.")
    ),
  ];
}
