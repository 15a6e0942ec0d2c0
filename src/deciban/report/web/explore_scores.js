// Your scores: every figure of a table, before and after calibration.

import { makeControls } from "./controls.js";
import { make } from "./dom.js";
import { calibrateSamples, everyFewSamples } from "./explore_calibrate.js";
import { UNKNOWN } from "./explore_cloud.js";
import { cllrCalOf, cllrOf, note, pavBlocks } from "./drawing.js";
import { attempt, makeOpener } from "./explore_open.js";
import { FIGURES } from "./figures.js";
import { keepDrawn } from "./page.js";
import { cllrMin, eer } from "./statistics.js";
import { makeQuestion, makeView } from "./view.js";

const SHOWN = [
  ["pav", "Too strong, or too weak?"],
  ["cost", "What the evidence costs, and why"],
  ["histogram", "Histogram of the log-likelihood ratios", "wide"],
  ["selected", "Samples of a range", "wide"],
  ["tippett", "Tippett plot"],
  ["det", "Detection error trade-off"],
  ["cross_entropy", "Empirical cross-entropy", "wide"],
  ["reliability", "Reliability"],
  ["idempotence", "Evidence of the evidence"],
  ["meaning", "What one likelihood ratio means", "wide"],
  ["ranges", "Ranges of the likelihood ratio", "wide"],
];
const SHOWN_OF_MANY = [
  ["plane", "Evidence in the plane of its log-ratios"], ["ternary", "Posteriors in the triangle"],
  ["pairs", "Each pair of classes", "wide"], ["worst", "The hardest pairs", "wide"],
];
const MOVING = 700; // milliseconds from before to after
const MOST_MOVING = 4000; // samples drawn on the way
const MANY = 1e5; // samples whose answer may wait until a control rests
const SLOW = 100; // milliseconds of the last answer from which on it does
const REST = 150; // milliseconds

/** Part 3 in a section; the function that is returned draws the state. */
export function makeScores(section, app) {
  const boxes = Object.fromEntries(
    ["open", "columns", "message", "live"].map((name) => [name, make("div", { "data-role": name })])
  );
  section.querySelector("[data-box=scores]").replaceChildren(...Object.values(boxes));
  boxes.message.setAttribute("role", "status");
  const scores = { app, boxes, table: null, choice: null, share: app.state.get().calibrated ? 1 : 0, drawn: null };
  makeOpener(scores);
  return function draw(values) {
    const samples = app.original();
    if (samples !== scores.samples) {
      scores.samples = samples;
      makeLive(scores);
    }
    if (samples) moveTo(scores, values);
  };
}

/** Controls, numbers and figures of the samples. */
function makeLive(scores) {
  const { samples, app, boxes } = scores;
  scores.show = null;
  if (!samples) return boxes.live.replaceChildren();
  if (!samples.truth.some((k) => k !== UNKNOWN)) {
    return boxes.live.replaceChildren(
      note("The true classes of these samples are not known, and the figures need them. Give them (y_true in Python, --truth on the command line), or drop a table that has them.")
    );
  }
  const controls = make("form", { className: "controls", "aria-label": "What the figures show" });
  controls.addEventListener("submit", (event) => event.preventDefault());
  const toggle = make("input", { type: "checkbox", role: "switch" });
  toggle.addEventListener("change", () => app.state.set({ calibrated: toggle.checked }));
  const fit = make("span", { className: "note" });
  const numbers = make("div", { className: "tiles" });
  const shown = samples.D < 3 ? SHOWN : [...SHOWN, ...SHOWN_OF_MANY];
  boxes.live.replaceChildren(
    controls,
    make(
      "div",
      { className: "edit-line card" },
      make("label", { className: "check" }, toggle, make("b", { textContent: "Calibrate" })),
      fit
    ),
    samples.n < samples.total
      ? note(`Numbers and figures are of ${samples.n.toLocaleString("en")} samples, chosen at random, of the ${samples.total.toLocaleString("en")} of the table.`)
      : "",
    numbers,
    make(
      "div",
      { className: "figures" },
      shown.map(([name, title, kind = ""]) =>
        make(
          "figure",
          { className: `figure ${kind}` },
          make("figcaption", {}, make("h3", { textContent: title })),
          make("div", { className: "figure-body", "data-figure": name })
        )
      )
    )
  );
  Object.assign(scores, {
    show: makeControls(controls, samples.classes, app.state),
    toggle,
    fit,
    numbers,
    redraw: null,
  });
  return undefined;
}

/** Go to the samples before or after calibration, in steps that a reader can follow. */
function moveTo(scores, values) {
  const goal = values.calibrated ? 1 : 0;
  if (!scores.show || scores.moving) return;
  if (values.calibrated) {
    const failed = attempt(scores, () => (scores.app.calibration(), true)) === undefined;
    if (failed) return scores.app.state.set({ calibrated: false });
  }
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (scores.share === goal || still || scores.settled !== scores.samples) {
    scores.share = goal;
    scores.settled = scores.samples;
    return answer(scores, values);
  }
  const from = scores.share,
    some = everyFewSamples(scores.samples, MOST_MOVING),
    calibration = scores.app.calibration();
  const start = performance.now();
  scores.moving = true;
  const step = (now) => {
    const t = Math.min(1, (now - start) / MOVING);
    scores.share = from + (goal - from) * d3.easeCubicInOut(t);
    if (t < 1) {
      present(scores, scores.app.state.get(), calibrateSamples(some, calibration, scores.share));
      return requestAnimationFrame(step);
    }
    Object.assign(scores, { share: goal, moving: false });
    return scores.app.renew();
  };
  return requestAnimationFrame(step);
}

/** Let the controls follow at once, and figures of very many samples when a reader no longer moves them. */
function answer(scores, values) {
  const { app } = scores, start = performance.now();
  clearTimeout(scores.waiting);
  if (scores.samples.n > MANY && scores.took > SLOW && !scores.isDue) {
    scores.show(makeQuestion(scores.samples, values));
    scores.waiting = setTimeout(() => {
      scores.isDue = true;
      app.renew();
    }, REST);
    return;
  }
  scores.isDue = false;
  present(scores, values, app.samples());
  // Figures are drawn in the next frame.
  requestAnimationFrame(() => setTimeout(() => (scores.took = performance.now() - start - 1000 / 60)));
}

function present(scores, values, samples) {
  const { app } = scores;
  const view = makeView(app.data, samples, values, app.state.set);
  scores.view = view;
  scores.show(view);
  scores.toggle.checked = values.calibrated;
  showNumbers(scores, view, values);
  if (scores.redraw) return scores.redraw();
  // The page draws figures when a store tells; here that is each step of the way to calibrated scores.
  const store = { subscribe: (listener) => (scores.redraw = listener), set: app.state.set };
  keepDrawn(FIGURES, store, () => scores.view);
  return scores.redraw();
}

/** Cllr, what calibration costs of it, and the EER of the pair. */
function showNumbers({ numbers, fit, app }, view, { calibrated, unit }) {
  const { target, other, names } = view;
  const tile = (what, value, word) =>
    make(
      "div",
      { className: "tile" },
      make("span", { className: "what", textContent: what }),
      make("span", { className: "big", textContent: value }),
      make("span", { className: "range", textContent: word })
    );
  if (!target.length || !other.length) {
    numbers.replaceChildren(note(`There are no samples of ${target.length ? names[0] : names[1]}.`));
    return;
  }
  const blocks = pavBlocks(view), total = cllrOf(view), least = cllrMin(target, other, blocks);
  const number = d3.format(".3f");
  numbers.replaceChildren(
    tile("Cllr", `${number(total)} bit`, "0 is perfect, 1 is no evidence"),
    tile("of it, discrimination", `${number(least)} bit`, "what remains after the best recalibration"),
    tile("of it, calibration", `${number(cllrCalOf(view))} bit`, "what recalibration takes away"),
    tile("EER", d3.format(".3~p")(eer(target, other, blocks)), `${names[1]} against ${names[0]}`)
  );
  if (!calibrated) {
    fit.textContent = "Switch it on to see the scores after the best scale and offsets.";
    return;
  }
  const { scale, offsets } = app.calibration(), { factor, label } = app.units[unit];
  fit.textContent = `Scores times ${d3.format(".3~g")(scale)}; offsets ${offsets
    .map((b, k) => `${app.samples().classes[k]} ${d3.format("+.2f")(b * factor)}`)
    .slice(0, 6)
    .join(", ")} ${label}. Fitted to these samples.`;
}
