// The samples of a brushed range of LLRs, as a table.

import { make } from "./dom.js";
import { countSamples, fill, formatNumber, llrLabel, scrollTable, note } from "./drawing.js";

const MOST = 200;

/** A table of the samples in the range, the most misleading first. */
export function drawSelected(box, view) {
  const { range, llr, isTarget, index, samples, unit } = view;
  if (!range) return fill(box, note("Drag across the histogram to list the samples of a range here."));
  const inside = d3.range(llr.length).filter((i) => llr[i] >= range[0] && llr[i] <= range[1]);
  const misleads = (i) => (isTarget[i] ? -llr[i] : llr[i]);
  inside.sort((i, j) => misleads(j) - misleads(i));
  const rows = inside.slice(0, MOST).map((i) => [
    samples.rows[index[i]], samples.classes[samples.truth[index[i]]], formatNumber(unit.factor * llr[i]),
    misleads(i) > 0 ? "misleading" : "",
  ]);
  const clear = make("button", { type: "button", className: "plain", textContent: "Clear the range" });
  clear.addEventListener("click", () => view.set({ range: null }));
  const ends = range.map((x) => formatNumber(unit.factor * x)).join(" to ");
  const more = inside.length > MOST ? ` The ${MOST} most misleading are listed.` : "";
  const said = note(`${countSamples(inside.length)} with LLRs from ${ends} ${unit.label}.${more}`);
  return fill(box, said, clear, scrollTable("Samples of the range", ["row", "true class", llrLabel(view), ""], rows));
}
