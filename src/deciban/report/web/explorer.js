// The explorer: five parts that share one state, each drawn while it is seen.

import { copyLink, hasAddress } from "./address.js";
import { onNewColors } from "./colors.js";
import { forgetRefusals, make, makeSelect } from "./dom.js";
import { calibrateSamples, fitCalibration } from "./explore_calibrate.js";
import { makeFamily } from "./explore_family.js";
import { makeSample } from "./explore_sample.js";
import { makeScores } from "./explore_scores.js";
import { checkExplorer, firstState, isConsistent } from "./explore_state.js";
import { makeStory } from "./explore_story.js";
import { makeWalk } from "./explore_walk.js";
import { UNITS } from "./geometry.js";
import { readData, readSamples } from "./samples.js";
import { createState } from "./state.js";

const PARTS = { walk: makeWalk, family: makeFamily, scores: makeScores, sample: makeSample };

/** Choose part, unit and link at the top of the page. */
function makeTop(state) {
  const unit = document.getElementById("unit");
  unit.append(...makeSelect(Object.entries(UNITS).map(([name, { label }]) => [name, label])).children);
  unit.addEventListener("change", () => state.set({ unit: unit.value }));
  document.getElementById("reset").addEventListener("click", () => {
    forgetRefusals();
    state.reset();
  });
  const copy = document.getElementById("copy");
  copy.hidden = !hasAddress;
  copy.addEventListener("click", () => copyLink(copy));
  const tabs = [...document.querySelectorAll("[data-part]")];
  for (const tab of tabs) tab.addEventListener("click", () => state.set({ part: tab.dataset.part }));
  return ({ part, alone, unit: chosen }) => {
    unit.value = chosen;
    document.querySelector(".explorer").classList.toggle("alone", alone);
    for (const tab of tabs) tab.setAttribute("aria-current", tab.dataset.part === part ? "page" : "false");
    for (const section of document.querySelectorAll("[data-section]"))
      section.hidden = section.dataset.section !== part;
  };
}

/** Names of the hypotheses, where no table fixes them. */
function editNames(box, state, stock) {
  const input = make("input", { type: "text", "aria-label": "Hypotheses, separated by commas" });
  input.addEventListener("change", () => {
    const names = [...new Set(input.value.split(",").map((name) => name.trim()).filter(Boolean))].slice(0, 12);
    const { unit, alone } = state.get();
    if (names.length >= 2) state.set(firstState(names, unit, { alone, pair: [0, 1] }));
    input.value = state.get().names.join(", ");
  });
  box.replaceChildren(
    make("label", { className: "names" }, make("span", { textContent: "Hypotheses, separated by commas" }), input)
  );
  return ({ names }) => {
    box.hidden = Boolean(stock.original());
    if (document.activeElement !== input) input.value = names.join(", ");
  };
}

/** The samples of the page: as they came, and calibrated where a reader has asked for it. */
function makeStock(state, given) {
  let original = given, calibration = null, calibrated = null;
  const stock = {
    original: () => original,
    calibration: () => (calibration ??= fitCalibration(original)),
    samples: () =>
      original && state.get().calibrated ? (calibrated ??= calibrateSamples(original, stock.calibration())) : original,
    /** Take other samples; their classes are the hypotheses from now on. */
    open(samples) {
      [original, calibration, calibrated] = [samples, null, null];
      const { unit, part, alone, step, divergences, by } = state.get();
      state.set(firstState(samples.classes, unit, { part, alone, step, divergences, by }));
    },
  };
  return stock;
}

async function main() {
  const data = readData();
  data.given = data.samples ? await readSamples(data.samples, data.classes) : null;
  const first = firstState(data.classes ?? ["A", "B", "C"]);
  const state = createState(first, checkExplorer(first.names, Boolean(data.given)));
  const stock = makeStock(state, data.given);
  let waiting = false;
  const renew = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  };
  const app = { data, state, first, renew, units: UNITS, ...stock };
  const top = makeTop(state), story = makeStory(document.getElementById("story"), app);
  const names = editNames(document.querySelector("[data-box=names]"), state, stock);
  const parts = Object.fromEntries(
    Object.entries(PARTS).map(([name, makePart]) => [
      name,
      makePart(document.querySelector(`[data-section=${name}]`), app),
    ])
  );
  function draw() {
    const values = state.get();
    const { classes } = stock.original() ?? {};
    if (!isConsistent(values) || (classes && values.names !== classes)) {
      const { part, alone, step, unit } = values; // the classes of the table stay the hypotheses
      return state.set(firstState(classes ?? values.names, unit, { part, alone, step }));
    }
    top(values);
    story(values);
    names(values);
    return parts[values.part](values);
  }
  state.subscribe(renew);
  addEventListener("resize", renew);
  onNewColors(draw);
  document.documentElement.dataset.ready = "true";
}

main();
