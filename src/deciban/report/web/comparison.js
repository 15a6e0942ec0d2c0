// The comparison: every curve of several systems in one figure each.

import { makeControls } from "./controls.js";
import { makeDownloads } from "./downloads.js";
import { drawCosts, drawNumbers } from "./overlay_costs.js";
import { drawCrossEntropies, drawDets, drawPavs, drawTippetts } from "./overlay_curves.js";
import { keepDrawn } from "./page.js";
import { readData, readSamples } from "./samples.js";
import { createState } from "./state.js";
import { sampleLine, systemStyle } from "./systems.js";
import { checkState, makeView } from "./view.js";

const FIGURES = {
  costs: drawCosts, cross_entropy: drawCrossEntropies, det: drawDets, numbers: drawNumbers, pav: drawPavs,
  tippett: drawTippetts,
};

async function main() {
  const data = readData(), n = data.systems.length;
  const samples = await Promise.all(
    data.systems.map(({ evidence }) => readSamples({ ...data.samples, evidence }, data.classes))
  );
  const check = checkState(data.classes.length);
  const isHidden = (v) => Array.isArray(v) && v.every((k) => Number.isInteger(k) && k >= 0 && k < n);
  const state = createState({ ...data.state, hidden: [] }, (name, value) =>
    name === "hidden" ? isHidden(value) : check(name, value)
  );
  const show = makeControls(document.getElementById("controls"), data.classes, state);
  const mark = makeChoice(document.getElementById("systems"), n, state);
  keepDrawn(FIGURES, state, (values) => {
    const systems = samples.map((one, k) => ({
      ...makeView(data, one, values, state.set), k, name: data.systems[k].name, ...systemStyle(k, n),
    }));
    show(systems[0]);
    mark(values.hidden);
    return { ...systems[0], systems: systems.filter(({ k }) => !values.hidden.includes(k)) };
  });
  makeDownloads(data);
  document.documentElement.dataset.ready = "true";
}

/** Boxes to tick for each system; they are the legend of the whole page, too. */
function makeChoice(box, n, state) {
  const inputs = [...box.querySelectorAll("input")];
  box.addEventListener("change", () => {
    state.set({ hidden: inputs.flatMap((input, k) => (input.checked ? [] : [k])) });
  });
  return function mark(hidden) {
    inputs.forEach((input, k) => (input.checked = !hidden.includes(k)));
    for (const place of box.querySelectorAll("[data-system]")) {
      place.replaceChildren(sampleLine(systemStyle(Number(place.dataset.system), n)));
    }
  };
}

main();
