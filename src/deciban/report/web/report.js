// The report: controls, figures that obey them, the samples of a brushed range, and downloads.

import { makeControls } from "./controls.js";
import { formatNumber, readNumber } from "./drawing.js";
import { drawCost } from "./figure_cost.js";
import { drawCrossEntropy } from "./figure_cross_entropy.js";
import { drawDet } from "./figure_det.js";
import { drawHistogram } from "./figure_histogram.js";
import { drawIdempotence } from "./figure_idempotence.js";
import { drawPairMatrix, drawWorstPairs } from "./figure_pairs.js";
import { drawPav } from "./figure_pav.js";
import { drawPlane } from "./figure_plane.js";
import { drawRanges } from "./figure_ranges.js";
import { drawReliability } from "./figure_reliability.js";
import { drawTernary } from "./figure_ternary.js";
import { drawTippett } from "./figure_tippett.js";
import { drawTraining } from "./figure_training.js";
import { drawMeaning } from "./meaning.js";
import { keepDrawn } from "./page.js";
import { readData, readSamples } from "./samples.js";
import { drawSelected } from "./selected.js";
import { createState } from "./state.js";
import { makeDownloads } from "./downloads.js";
import { checkState, makeView } from "./view.js";

const FIGURES = {
  cost: drawCost, cross_entropy: drawCrossEntropy, det: drawDet, histogram: drawHistogram,
  idempotence: drawIdempotence, meaning: drawMeaning, pairs: drawPairMatrix, pav: drawPav,
  plane: drawPlane, ranges: drawRanges, reliability: drawReliability, selected: drawSelected,
  ternary: drawTernary, tippett: drawTippett, training: drawTraining, worst: drawWorstPairs,
};

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
