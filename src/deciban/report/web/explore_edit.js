// Editors of the prior, of pieces of evidence and of costs, for any number of hypotheses.

import { classColor } from "./colors.js";
import { bindNumber, labeled, make, makeButton, makeTable, percent } from "./dom.js";
import { note } from "./drawing.js";
import { UNITS } from "./geometry.js";

const MOST_COSTS = 10; // hypotheses for which a matrix of costs is readable
const round = (x) => Math.round(x * 1e4) / 1e4;

/** Log-likelihoods that sum to zero. */
export function center(values) {
  const mean = d3.mean(values);
  return Array.from(values, (v) => round(v - mean));
}

/** A prior from its logarithms, away from 0 and 1. */
export function priorOf(logs) {
  const top = Math.max(...logs), shares = logs.map((v) => Math.max(1e-6, Math.exp(v - top)));
  const total = d3.sum(shares);
  return shares.map((p) => +(p / total).toPrecision(8));
}

/** The prior with another probability of one hypothesis; the others keep their proportions. */
export function withProbability(prior, k, p) {
  const rest = (1 - p) / (1 - prior[k]);
  return prior.map((q, j) => (j === k ? p : q * rest));
}

/** Of two hypotheses, the one that positive LLRs favor and the other. */
export const sidesOf = ({ pair }) => (Array.isArray(pair) ? pair : [pair.one, 1 - pair.one]);

const swatch = (k, D) => {
  const element = make("i", { className: "dot-swatch" });
  element.style.background = classColor(k, D);
  return element;
};

/** A slider and a number for the prior probability of each hypothesis. */
export function editPrior(box, names, state) {
  const shows = [];
  const rows = names.map((name, k) => {
    const slider = make("input", {
      type: "range",
      min: -40,
      max: 40,
      step: 0.5,
      "aria-label": `Prior log-odds of ${name}, in deciban`,
    });
    const number = make("input", {
      type: "number",
      min: 0.0001,
      max: 99.9999,
      step: "any",
      "aria-label": `Prior probability of ${name}, in percent`,
    });
    const set = (p) => state.set({ prior: withProbability(state.get().prior, k, p) });
    const p = () => state.get().prior[k];
    shows.push(bindNumber(slider, () => 10 * Math.log10(p() / (1 - p())), (x) => set(1 / (1 + 10 ** (-x / 10)))));
    shows.push(bindNumber(number, () => +(100 * p()).toPrecision(4), (x) => set(x / 100)));
    shows.push(() => slider.setAttribute("aria-valuetext", percent(p())));
    return make(
      "div",
      { className: "edit-row" },
      make("span", { className: "name" }, swatch(k, names.length), name),
      slider,
      make("span", { className: "with-unit" }, number, "%")
    );
  });
  const even = makeButton("Even prior", () => state.set({ prior: names.map(() => 1 / names.length) }), {
    className: "plain",
  });
  box.replaceChildren(...rows, even);
  return () => shows.forEach((show) => show());
}

/** Log-likelihoods of each piece of evidence, with buttons to add and to remove one. */
export function editPieces(box, names, state) {
  const D = names.length,
    { pieces, unit } = state.get(),
    { factor, label } = UNITS[unit],
    [a, b] = sidesOf(state.get());
  const shows = [];
  const change = (i, piece) => state.set({ pieces: state.get().pieces.map((one, j) => (j === i ? piece : one)) });
  const inputOf = (i, read, write, text) => {
    const input = make("input", { type: "number", step: "any", "aria-label": text });
    shows.push(
      bindNumber(input, () => +(read(state.get().pieces[i]) * factor).toFixed(2), (x) => change(i, write(x / factor)))
    );
    return make("td", {}, input);
  };
  const cellsOf = (i) =>
    D === 2
      ? [
          inputOf(
            i,
            (v) => v[a] - v[b],
            (x) => center(a === 0 ? [x, 0] : [0, x]),
            `LLR of evidence ${i + 1} for ${names[a]} against ${names[b]}, in ${label}`
          ),
        ]
      : names.map((name, k) =>
          inputOf(
            i,
            (v) => v[k],
            (x) => center(state.get().pieces[i].map((v, j) => (j === k ? x : v))),
            `Log-likelihood of ${name} in evidence ${i + 1}, in ${label}`
          )
        );
  const rows = pieces.map((_, i) => {
    const name = `Remove evidence ${i + 1}`;
    const remove = makeButton("×", () => state.set({ pieces: state.get().pieces.filter((_, j) => j !== i) }), {
      className: "plain", title: name, "aria-label": name,
    });
    return [`Evidence ${i + 1}`, ...cellsOf(i), make("td", {}, remove)];
  });
  const heads = D === 2 ? [`for ${names[a]} against ${names[b]}`] : names;
  const caption = D === 2 ? `LLRs in ${label}` : `Log-likelihoods in ${label}, which sum to zero`;
  const table = makeTable(["", ...heads, ""], rows, { className: "numbers", caption });
  const add = makeButton("Add evidence", () => {
    const { pieces: now } = state.get(), favored = now.length % D;
    state.set({ pieces: [...now, center(names.map((_, k) => (k === favored ? Math.LN10 : 0)))] });
  });
  const none = note("No evidence yet: the posterior is the prior.");
  box.replaceChildren(pieces.length ? make("div", { className: "scroll whole" }, table) : none, add);
  return () => shows.forEach((show) => show());
}

/** The matrix of costs, and what it costs to leave a case undecided. */
export function editCosts(box, names, state) {
  const shows = [], D = names.length;
  const cell = (i, j) => {
    const input = make("input", {
      type: "number",
      min: 0,
      max: 1e6,
      step: "any",
      "aria-label": `Cost of deciding ${names[j]} when ${names[i]} is true`,
    });
    shows.push(
      bindNumber(
        input,
        () => state.get().costs[i][j],
        (x) => state.set({ costs: state.get().costs.map((row, a) => row.map((c, b) => (a === i && b === j ? x : c))) })
      )
    );
    return make("td", {}, input);
  };
  const table = () => makeTable(["true \\ decided", ...names], names.map((name, i) => [name, ...names.map((_, j) => cell(i, j))]), {
    className: "numbers", caption: "Cost of each decision (columns) for each truth (rows)",
  });
  const allow = make("input", { type: "checkbox" });
  const price = make("input", { type: "number", min: 0, max: 1e6, step: "any" });
  allow.addEventListener("change", () => state.set({ reject: allow.checked ? 0.3 : null }));
  shows.push(bindNumber(price, () => state.get().reject ?? "", (x) => state.set({ reject: x })));
  shows.push(() => {
    allow.checked = state.get().reject !== null;
    price.disabled = !allow.checked;
  });
  box.replaceChildren(
    D <= MOST_COSTS
      ? make("div", { className: "scroll whole" }, table())
      : note(`Every error costs 1: a matrix of ${D} hypotheses is too large to edit here.`),
    make(
      "div",
      { className: "edit-line" },
      make("label", { className: "check" }, allow, make("span", { textContent: "Allow no decision" })),
      labeled("at a cost of", price, "inline")
    )
  );
  return () => shows.forEach((show) => show());
}
