// What one likelihood ratio of this system means, for a reader who is no statistician.

import { make } from "./dom.js";
import { describeMix, formatCount, formatPercent } from "./drawing.js";

const NEAR = Math.LN10 / 2; // nats: ratios within a factor of about three count as alike

const format = (x) => d3.format(x < 1e7 ? ",.3~r" : ".2~e")(x);

/** A slider of ratios with what such a ratio says, and what was true of samples like it. */
export function drawMeaning(box, view) {
  const slider = box.querySelector("input") ?? make("input", { type: "range", min: -60, max: 60, step: 1, value: 20 });
  const said = box.querySelector("div") ?? make("div", { "aria-live": "polite" });
  if (!slider.isConnected) box.append(make("label", {}, "Move the likelihood ratio", slider), said);
  slider.oninput = () => {
    const llr = (slider.value / 10) * Math.LN10;
    slider.setAttribute("aria-valuetext", `ratio of ${format(Math.exp(Math.abs(llr)))}`);
    said.replaceChildren(...sentences(llr, view).map((text) => make("p", { textContent: text })));
  };
  slider.oninput();
}

function sentences(llr, view) {
  const [other, target] = view.names;
  const [likelier, unlikelier] = llr >= 0 ? [target, other] : [other, target];
  const ratio = format(Math.exp(Math.abs(llr)));
  const { priorTarget: prior } = view;
  const odds = (prior / (1 - prior)) * Math.exp(llr);
  const near = [view.other, view.target].map((values) => [d3.bisectLeft(values, llr - NEAR), d3.bisectRight(values, llr + NEAR)]);
  const counts = near.map(([from, to]) => to - from);
  const count = (side) => `${formatCount(counts[side])} of the ${formatCount([view.other, view.target][side].length)} samples of ${view.names[side]}`;
  const found = counts[0] + counts[1] === 0
    ? "No sample of this validation has a ratio like it: what such ratios are worth was not tested."
    : `In this validation, ${count(1)} and ${count(0)} had a ratio like it, within a factor of three`
      + `${observed(near, view)}.${describeMix(view)}`;
  return [
    llr === 0 ? "A likelihood ratio of 1 says nothing: the evidence is as probable under one class as under the other."
      : `A likelihood ratio of ${ratio} for ${likelier} says: this evidence is ${ratio} times as probable if `
        + `${likelier} is true as if ${unlikelier} is.`,
    `If you thought ${target} was ${formatPercent(prior)} probable before (the prior above), it is `
      + `${formatPercent(odds / (1 + odds))} probable after. The prior is not the system's to give.`,
    found,
  ];
}

/** The ratio that the samples near by amount to. */
function observed(near, view) {
  const [other, target] = near.map(([from, to], side) => view.shareOf(side, from, to));
  if (!target || !other) return "";
  const ratio = target / other;
  const side = ratio >= 1 ? view.names[1] : view.names[0];
  return `: a ratio of ${format(ratio >= 1 ? ratio : 1 / ratio)} for ${side}`;
}
