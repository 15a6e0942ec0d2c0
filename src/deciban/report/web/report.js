// The report: controls, figures that obey them, the samples of a brushed range, and downloads.

import { makeControls } from "./controls.js";
import { formatNumber, readNumber } from "./drawing.js";
import { FIGURES } from "./figures.js";
import { keepDrawn } from "./page.js";
import { readData, readSamples } from "./samples.js";
import { createState } from "./state.js";
import { makeDownloads } from "./downloads.js";
import { checkState, makeView } from "./view.js";

/** Without samples, all that a reader can choose is a pair of classes. */
function namePair({ data: { classes, numbers }, pair: [a, b] }) {
  const chosen = document.getElementById("chosen");
  if (!chosen) return;
  const [asItIs, recalibrated] = [numbers.pairwise_cllr, numbers.pairwise_cllr_min].map((table) => formatNumber(readNumber(table[a][b])));
  chosen.textContent = `${classes[a]} and ${classes[b]}: Cllr ${asItIs} bit, recalibrated ${recalibrated} bit.`;
}

async function main() {
  const data = readData();
  const { classes } = data;
  const samples = data.samples ? await readSamples(data.samples, classes) : { classes, D: classes.length, n: 0 };
  const state = createState(data.state, checkState(classes.length));
  const show = data.samples ? makeControls(document.getElementById("controls"), classes, state) : namePair;
  keepDrawn(FIGURES, state, (values) => {
    const view = data.samples ? makeView(data, samples, values, state.set) : { data, samples, ...values, set: state.set };
    show(view);
    return view;
  });
  makeDownloads(data);
  document.documentElement.dataset.ready = "true";
}

main();
