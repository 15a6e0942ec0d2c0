// One case: its ratio on a scale, beside samples whose class is known, and what it does to a prior.

import { makeDownloads } from "./downloads.js";
import { make } from "./dom.js";
import { fill, formatPercent } from "./drawing.js";
import { drawScale } from "./figure_scale.js";
import { keepDrawn } from "./page.js";
import { readData, readSamples } from "./samples.js";
import { createState } from "./state.js";
import { makeView } from "./view.js";

async function main() {
  const data = readData(), n = data.questions.length;
  const samples = data.samples ? await readSamples(data.samples, data.classes) : null;
  const isFine = { question: (k) => Number.isInteger(k) && k >= 0 && k < n, prior: (p) => Number.isFinite(p) && p > 0 && p < 1 };
  const state = createState({ question: 0, prior: 0.5 }, (name, value) => isFine[name](value));
  const select = document.getElementById("question");
  select?.addEventListener("change", () => state.set({ question: Number(select.value) }));
  keepDrawn({ scale: drawScale, prior: drawPrior }, state, (values) => {
    if (select) select.value = values.question;
    for (const block of document.querySelectorAll("[data-question]"))
      block.hidden = Number(block.dataset.question) !== values.question;
    const question = data.questions[values.question];
    return { ...values, data, set: state.set, ask: question, known: samples && knownSamples(data, samples, question) };
  });
  makeDownloads(data);
  document.documentElement.dataset.ready = "true";
}

/** LLRs of samples whose class is known, and the colors of the two sides. */
function knownSamples(data, samples, { groups }) {
  const D = data.classes.length;
  const costs = d3.range(D).map((i) => d3.range(D).map((j) => Number(i !== j)));
  return makeView(data, samples, { pair: { groups }, prior: data.weights, costs, unit: "nat" });
}

/** A slider of what was thought before, and what follows. */
function drawPrior(box, view) {
  const { ask, prior } = view;
  const slider = box.querySelector("input") ?? makeSlider(box, view.set);
  const odds = Math.exp(Math.log(prior / (1 - prior)) + ask.usable);
  const p = odds === Infinity ? 1 : odds / (1 + odds);
  const after = p > 0.9995 && ask.usable < Infinity ? "over 99.9 %" : formatPercent(p);
  const least = ask.usable < ask.llr ? "at least " : "";
  slider.value = 10 * Math.log10(prior / (1 - prior));
  slider.setAttribute("aria-valuetext", `${formatPercent(prior)} before, ${least}${after} after`);
  box.querySelector("label > span").textContent =
    `Before this evidence, how probable did you think ${ask.target} was, rather than ${ask.other}?`;
  box
    .querySelector(".said")
    .replaceChildren(
      "If you thought before: ",
      make("strong", { textContent: formatPercent(prior) }),
      ", then after: ",
      make("strong", { textContent: `${least}${after}` }),
      ` for ${ask.target}.`
    );
}

/** A slider of log-odds in steps of a deciban; it stays while its words change, so that it can be dragged. */
function makeSlider(box, set) {
  const slider = make("input", { type: "range", min: -40, max: 40, step: 1 });
  slider.addEventListener("input", () => set({ prior: 1 / (1 + 10 ** (-slider.value / 10)) }));
  fill(
    box,
    make("label", { className: "before" }, make("span"), slider),
    make("p", { className: "said", "aria-live": "polite" })
  );
  return slider;
}

main();
