// The figures of the report and the explorer by name.

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
import { drawSelected } from "./selected.js";

export const FIGURES = {
  cost: drawCost, cross_entropy: drawCrossEntropy, det: drawDet, histogram: drawHistogram,
  idempotence: drawIdempotence, meaning: drawMeaning, pairs: drawPairMatrix, pav: drawPav,
  plane: drawPlane, ranges: drawRanges, reliability: drawReliability, selected: drawSelected,
  ternary: drawTernary, tippett: drawTippett, training: drawTraining, worst: drawWorstPairs,
};
