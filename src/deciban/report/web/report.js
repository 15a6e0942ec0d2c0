// The report: controls, figures that obey them, the samples of a brushed range, and downloads.

import { makeControls } from "./controls.js";
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

async function main() {
  const data = readData();
  const samples = await readSamples(data.samples, data.classes);
  const state = createState(data.state, checkState(data.classes.length));
  const show = makeControls(document.getElementById("controls"), data.classes, state);
  keepDrawn(FIGURES, state, (values) => {
    const view = makeView(data, samples, values, state.set);
    show(view);
    return view;
  });
  makeDownloads(data);
  document.documentElement.dataset.ready = "true";
}

main();
