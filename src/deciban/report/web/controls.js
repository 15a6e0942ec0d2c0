// Controls at the top of a page, which every figure obeys: pair, prior, costs, unit.

import { copyLink, hasAddress } from "./address.js";
import { bindNumber, forgetRefusals, make } from "./dom.js";
import { UNITS } from "./geometry.js";
import { groupsOf, namesOf, withCosts, withShare } from "./view.js";

const REST = "rest";

/** Fill the box of the controls and keep it in step with the state. */
export function makeControls(box, classes, state) {
  const options = classes.map((name, k) => [k, name]);
  const target = makeSelect("For", options);
  const other = makeSelect("against", classes.length > 2 ? [...options, [REST, "all others"]] : options);
  const prior = makePrior();
  const miss = makeNumber("Miss costs", { min: 0, step: "any" });
  const falseAlarm = makeNumber("False alarm costs", { min: 0, step: "any" });
  const unit = makeSelect("Unit", Object.entries(UNITS).map(([name, { label }]) => [name, label]));
  const reset = make("button", { type: "button", className: "plain", textContent: "Reset" });
  const link = make("button", { type: "button", className: "plain", textContent: "Copy link", hidden: !hasAddress });
  keepClear(box);
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
  let shown = null; // the view
  const showPrior = prior.bind(() => shown.priorTarget, (share) => {
    const { prior: before, pair } = state.get();
    state.set({ prior: withShare(before, pair, share) });
  });
  const bindCost = ({ input }, name) => bindNumber(input, () => +shown.pairCosts[name].toPrecision(6), (cost) => {
    const values = { ...shown.pairCosts, [name]: cost };
    if (values.miss + values.falseAlarm === 0) return "One of the two costs must be above 0";
    return state.set({ costs: withCosts(state.get().costs, state.get().pair, values) });
  });
  const showCosts = [bindCost(miss, "miss"), bindCost(falseAlarm, "falseAlarm")];
  unit.input.addEventListener("change", () => state.set({ unit: unit.input.value }));
  reset.addEventListener("click", () => {
    forgetRefusals();
    state.reset();
  });
  link.addEventListener("click", () => copyLink(link));

  /** Show what a view holds. */
  return function show(view) {
    shown = view;
    const { pair } = view, [[a], [b]] = groupsOf(pair, classes.length);
    target.input.value = a;
    other.input.value = Array.isArray(pair) ? b : REST;
    showPrior(namesOf(pair, classes)[1]);
    for (const showCost of showCosts) showCost();
    unit.input.value = view.unit.name;
  };
}

/** Keep what a link leads to, and what has the focus, clear of controls that stay at the top. */
function keepClear(box) {
  new ResizeObserver(() => {
    const covered = getComputedStyle(box).position === "sticky" ? box.offsetHeight : 0;
    document.documentElement.style.scrollPaddingTop = `${covered + 16}px`;
  }).observe(box);
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
  const number = make("input", { type: "number", min: 1e-9, max: 1 - 1e-9, step: "any" });
  number.setAttribute("aria-label", "Prior probability");
  const box = make("label", { className: "wide" }, name, make("span", { className: "both" }, slider, number));
  return {
    box,
    bind(read, write) {
      const showOdds = bindNumber(slider, () => 10 * Math.log10(read() / (1 - read())), (x) => write(1 / (1 + 10 ** (-x / 10))));
      const showShare = bindNumber(number, () => +read().toPrecision(4), write);
      return function show(target) {
        name.textContent = name.title = `Prior of ${target}`;
        slider.setAttribute("aria-valuetext", d3.format(".3~g")(read()));
        showOdds();
        showShare();
      };
    },
  };
}
