// Controls at the top of a page, which every figure obeys: pair, prior, costs, unit.

import { copyLink, hasAddress } from "./address.js";
import { make } from "./dom.js";
import { UNITS } from "./geometry.js";
import { groupsOf, namesOf, withCosts, withShare } from "./view.js";

const REST = "rest";

/** Fill the box of the controls and keep it in step with the state. */
export function makeControls(box, classes, state) {
  const options = classes.map((name, k) => [k, name]);
  const target = makeSelect("For", options);
  const other = makeSelect("against", classes.length > 2 ? [...options, [REST, "all others"]] : options);
  const prior = makePrior();
  const miss = makeNumber("Cost of a miss", { min: 0, step: "any" });
  const falseAlarm = makeNumber("Cost of a false alarm", { min: 0, step: "any" });
  const unit = makeSelect("Unit", Object.entries(UNITS).map(([name, { label }]) => [name, label]));
  const reset = make("button", { type: "button", className: "plain", textContent: "Reset" });
  const link = make("button", { type: "button", className: "plain", textContent: "Copy link", hidden: !hasAddress });
  box.replaceChildren(target.box, other.box, prior.box, miss.box, falseAlarm.box, unit.box, reset, link);

  const choosePair = (changed) => {
    const a = Number(target.input.value), b = other.input.value;
    if (b === REST) return state.set({ pair: { one: a }, range: null });
    if (Number(b) !== a) return state.set({ pair: [a, Number(b)], range: null });
    // The two sides change places, rather than be the same class.
    const [[was], [than]] = groupsOf(state.get().pair, classes.length);
    return state.set({ pair: changed === "target" ? [a, was] : [than, a], range: null });
  };
  target.input.addEventListener("change", () => choosePair("target"));
  other.input.addEventListener("change", () => choosePair("other"));
  prior.onChange((share) => {
    const { prior: before, pair } = state.get();
    state.set({ prior: withShare(before, pair, share) });
  });
  const chooseCosts = () => {
    const values = { miss: Number(miss.input.value), falseAlarm: Number(falseAlarm.input.value) };
    const fine = Object.values(values).every((x) => x >= 0 && Number.isFinite(x)) && values.miss + values.falseAlarm > 0;
    if (fine) state.set({ costs: withCosts(state.get().costs, state.get().pair, values) });
  };
  miss.input.addEventListener("change", chooseCosts);
  falseAlarm.input.addEventListener("change", chooseCosts);
  unit.input.addEventListener("change", () => state.set({ unit: unit.input.value }));
  reset.addEventListener("click", () => state.reset());
  link.addEventListener("click", () => copyLink(link));

  /** Show what a view holds. */
  return function show(view) {
    const { pair } = view, [[a], [b]] = groupsOf(pair, classes.length);
    target.input.value = a;
    other.input.value = Array.isArray(pair) ? b : REST;
    prior.show(view.priorTarget, namesOf(pair, classes)[1]);
    miss.input.value = +view.pairCosts.miss.toPrecision(6);
    falseAlarm.input.value = +view.pairCosts.falseAlarm.toPrecision(6);
    unit.input.value = view.unit.name;
  };
}

function makeSelect(name, options) {
  const input = make("select", {}, ...options.map(([value, text]) => make("option", { value, textContent: text })));
  return { input, box: make("label", {}, make("span", { textContent: name }), input) };
}

function makeNumber(name, properties) {
  const input = make("input", { type: "number", ...properties });
  return { input, box: make("label", {}, make("span", { textContent: name }), input) };
}

/** A slider of log-odds in steps of a deciban, beside the probability as a number. */
function makePrior() {
  const name = make("span");
  const slider = make("input", { type: "range", min: -40, max: 40, step: 1 });
  const number = make("input", { type: "number", min: 1e-6, max: 1 - 1e-6, step: "any" });
  number.setAttribute("aria-label", "Prior probability");
  const box = make("label", { className: "wide" }, name, make("span", { className: "both" }, slider, number));
  return {
    box,
    onChange(listener) {
      slider.addEventListener("input", () => listener(1 / (1 + 10 ** (-slider.value / 10))));
      number.addEventListener("change", () => {
        const share = Number(number.value);
        if (share > 0 && share < 1) listener(share);
      });
    },
    show(share, target) {
      name.textContent = `Prior probability of ${target}`;
      slider.value = 10 * Math.log10(share / (1 - share));
      slider.setAttribute("aria-valuetext", d3.format(".3~g")(share));
      number.value = +share.toPrecision(4);
    },
  };
}
