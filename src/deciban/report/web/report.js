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

/** Draw a figure, or say why it cannot be drawn, so that the others stand. */
function draw(box, view) {
  try {
    FIGURES[box.dataset.figure](box, { ...view, width: Math.max(240, box.clientWidth) });
  } catch (error) {
    console.error(error);
    box.replaceChildren(Object.assign(document.createElement("p"), { className: "missing", textContent: `Not drawn: ${error.message}` }));
  }
}

async function main() {
  const data = readData();
  const samples = await readSamples(data.samples, data.classes);
  const state = createState(data.state, checkState(data.classes.length));
  const show = makeControls(document.getElementById("controls"), data.classes, state);
  const boxes = [...document.querySelectorAll("[data-figure]")];
  let view = null, seen = new Set(), stale = new Set(boxes);

  // Only what a reader sees is drawn; the rest when it comes into sight.
  const refresh = () => {
    for (const box of boxes) if (seen.has(box) && stale.delete(box)) draw(box, view);
  };
  const renew = (which = boxes) => {
    stale = new Set([...stale, ...which]);
    requestAnimationFrame(refresh);
  };
  state.subscribe((values) => {
    view = makeView(data, samples, values, state.set);
    show(view);
    renew();
  });
  observeSight(boxes, (box, isSeen) => {
    seen[isSeen ? "add" : "delete"](box);
    refresh();
  });
  observeWidths(boxes, renew);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => state.set({}));
  addEventListener("beforeprint", () => {
    seen = new Set(boxes);
    refresh();
  });
  makeDownloads(data);
  document.documentElement.dataset.ready = "true";
}

function observeSight(boxes, listener) {
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) listener(target, isIntersecting);
  }, { rootMargin: "600px" });
  for (const box of boxes) observer.observe(box);
}

function observeWidths(boxes, renew) {
  const widths = new Map(boxes.map((box) => [box, box.clientWidth]));
  const observer = new ResizeObserver((entries) => {
    const changed = entries.map((e) => e.target).filter((box) => Math.abs(box.clientWidth - widths.get(box)) > 4);
    for (const box of changed) widths.set(box, box.clientWidth);
    if (changed.length) renew(changed);
  });
  for (const box of boxes) observer.observe(box);
}

main();
