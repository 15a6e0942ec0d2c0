// What the figures share: filling a box, labels, formats, charts, and a memory of what was computed.

import { make, makeTable, numberCell, scroller } from "./dom.js";
import { cllr, cllrMin, histogramBins, pav } from "./statistics.js";

/** Put a figure into its box; what had the focus keeps it, by its data-focus. */
export function fill(box, ...children) {
  const focused = box.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
  box.replaceChildren(...children.filter((child) => child));
  if (focused) box.querySelector(`[data-focus="${focused}"]`)?.focus({ preventScroll: true });
}

/** A table that scrolls where it is too wide; the first cell of a row is its name. */
export function scrollTable(label, head, rows, kind = "") {
  const cell = (text) => (String(text).length < 10 ? numberCell(text) : text);
  return scroller(label, makeTable(head, rows.map(([name, ...cells]) => [name, ...cells.map(cell)])), kind);
}

export function note(text) {
  return make("p", { className: "note", textContent: text });
}

/** Keys of what is drawn: [{ color, text, shape }] with a shape of the style sheet, "box" or "line". */
export function legend(keys) {
  const items = keys.map(({ color, text, shape = "box" }) => {
    const swatch = make("span", { className: `key ${shape}`, "aria-hidden": "true" });
    swatch.style.setProperty("--c", color);
    return make("li", {}, swatch, make("span", { textContent: text, title: text }));
  });
  return make("ul", { className: "legend" }, ...items);
}

export function sideKeys(view, shape = "box") {
  return [1, 0].map((side) => ({ color: view.colors[side], text: `${view.names[side]} is true`, shape }));
}

/** A chart of Plot as wide as the box, in the colors of the page. */
export function chart(view, { label, height, marks, x, y, ...options }) {
  const svg = Plot.plot({
    width: view.width,
    height: height ?? Math.round(Math.min(380, Math.max(260, view.width * 0.62))),
    marginTop: 20,
    marginLeft: 48,
    marginBottom: 42,
    marginRight: 16,
    style: { fontSize: "12px", fontFamily: "inherit", background: "none", overflow: "visible" },
    x: { labelAnchor: "center", labelArrow: "none", ...x },
    y: { labelArrow: "none", grid: true, ...y },
    ariaLabel: label,
    marks: marks.filter((mark) => mark),
    ...options,
  });
  svg.setAttribute("role", "img");
  // Plot labels marks, which have no role that a label could name.
  for (const mark of svg.querySelectorAll("[aria-label]:not([role])")) mark.removeAttribute("aria-label");
  return svg;
}

export function frameMark() {
  return Plot.frame({ stroke: "var(--edge)" });
}

/** A dotted line on which two numbers are equal. */
export function diagonal(low, high) {
  const same = (v) => v;
  return Plot.line([low, high], { x: same, y: same, stroke: "currentColor", strokeDasharray: "2 3", clip: true });
}

/** A text of at most so many characters; its start and its end stay, as long names often begin alike. */
export function shorten(text, most) {
  const all = [...String(text)];
  if (all.length <= most) return String(text);
  const end = Math.floor((most - 1) * 0.4);
  return `${all
    .slice(0, Math.max(1, Math.floor(most) - 1 - end))
    .join("")
    .trimEnd()}…${end > 0 ? all.slice(-end).join("").trimStart() : ""}`;
}

let pen = null;

/** What is written with names, which are shortened until the text is at most so many pixels wide. */
export function fitNames(names, pixels, write, weight = 400) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = `${weight} 12px ${getComputedStyle(document.body).fontFamily}`;
  for (let most = Math.ceil(pixels / 3); ; most--) {
    const text = write(...names.map((name) => shorten(name, most)));
    if (most <= 4 || pen.measureText(text).width <= pixels) return text;
  }
}

const minus = (text) => text.replace("-", "−");

/** A number for readers: three digits, without an exponent where that is readable. */
export function formatNumber(x) {
  if (Number.isNaN(x)) return "unknown";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  const size = Math.abs(x);
  return minus(size >= 1e6 || size < 1e-4 ? d3.format(".2~e")(x) : d3.format(size >= 1000 ? ",.0f" : ".3~r")(x));
}

export const formatCount = d3.format(",");

export function countSamples(n) {
  return `${formatCount(n)} ${n === 1 ? "sample" : "samples"}`;
}

/** A share in percent; one below 100 % is not rounded up to it. */
export function formatPercent(share) {
  if (share >= 0.9995 && share < 1 - 1e-12) return "over 99.9 %";
  return `${formatNumber(100 * share)} %`;
}

/** A number that Assessment.to_dict wrote: null is unknown, "inf" is infinite. */
export function readNumber(value) {
  if (value === null || value === undefined) return NaN;
  return value === "inf" ? Infinity : value === "-inf" ? -Infinity : Number(value);
}

export function formatLlr(view, nats) {
  return `${formatNumber(view.unit.factor * nats)} ${view.unit.label}`;
}

/** The label of an axis of LLRs, with names as long as the axis allows. */
export function llrLabel({ names, unit, width }) {
  return fitNames(names, width - 32, (other, target) => `LLR for ${target} against ${other} (${unit.label})`);
}

/** The LLR from which deciding for the target costs less, in nats. */
export function threshold(view) {
  const { miss, falseAlarm } = view.pairCosts;
  return Math.log(falseAlarm / miss) - Math.log(view.priorTarget / (1 - view.priorTarget));
}

/** From which LLR on the target is decided, as a sentence without its full stop. */
export function describeThreshold(view) {
  const at = threshold(view);
  const target = view.names[1];
  if (Number.isNaN(at)) return "With these costs it does not matter which one is decided";
  const when = at === -Infinity ? "always decided" : at === Infinity ? "never decided" : `decided from ${formatLlr(view, at)} on`;
  return `With this prior and these costs, ${target} is ${when}`;
}

const memory = new WeakMap();

/** What was computed from the LLRs of this pair, kept until another pair is chosen. */
export function remember(view, name, compute) {
  const pooled = Array.isArray(view.pair) ? "" : JSON.stringify(view.prior); // groups are mixed by the prior
  const key = JSON.stringify(view.pair) + pooled;
  let found = memory.get(view.samples);
  if (found?.key !== key) memory.set(view.samples, (found = { key, values: new Map() }));
  if (!found.values.has(name)) found.values.set(name, compute());
  return found.values.get(name);
}

const numbers = new WeakMap();
let last = 0;

/** A number that stands for an object, such as a set of samples, for isDrawn. */
export function numberOf(object) {
  if (!numbers.has(object)) numbers.set(object, ++last);
  return numbers.get(object);
}

/** Whether a box shows just this already: what does not depend on the prior is not drawn again. */
export function isDrawn(box, ...values) {
  const key = values.map((value) => JSON.stringify(value)).join();
  if (box.firstChild && box.drawn === key) return true;
  box.drawn = key;
  return false;
}

/** Bins of the LLRs where the samples of both classes are. */
export function llrBins(view) {
  return remember(view, "bins", () => histogramBins(view.target, view.other, undefined, view.weights));
}

/** Blocks of PAV for this pair. */
export function pavBlocks(view) {
  return remember(view, "pav", () => pav(view.target, view.other, view.weights));
}

/** Cllr of this pair, in bits. */
export function cllrOf(view) {
  return remember(view, "cllr", () => cllr(view.target, view.other, view.weights));
}

/** What PAV would take away of Cllr, in bits; less than nothing is rounding. */
export function cllrCalOf(view) {
  return Math.max(0, cllrOf(view) - cllrMin(view.target, view.other, pavBlocks(view)));
}

/** Share of misleading evidence on either side: [target, other]. */
export function misleadingShares(view) {
  return [view.shareBelow(1, 0), 1 - view.shareBelow(0, 0, true)];
}

/** How samples count where a group is not mixed as the prior has it, or nothing. */
export function describeMix(view) {
  return view.isWeighted ? " Classes of a group count by their prior, however many samples they have." : "";
}

/** Ends of an axis of LLRs, in nats. */
export function llrRange(view) {
  const { edges } = llrBins(view);
  return [edges[0], edges[edges.length - 1]];
}

/** Why a figure of LLRs cannot be drawn, or null. */
export function missingSide(view) {
  const empty = [view.other, view.target].findIndex((values) => values.length === 0);
  return empty < 0 ? null : `No sample of ${view.names[empty]} is among these: choose another pair.`;
}

/** Positions in sorted values between two ends, one for each pixel at most. */
export function onePerPixel(values, low, high, pixels) {
  const positions = new Set();
  for (let p = 0; p <= pixels; p++) {
    positions.add(d3.bisectRight(values, low + ((high - low) * p) / pixels));
  }
  return [...positions].filter((k) => k < values.length).sort((a, b) => a - b);
}

/** Call a function with a place along the width of the box while a node is dragged, once a frame at most. */
export function dragAlong(node, box, listener) {
  let frame = 0, x = 0;
  const move = (event) => {
    x = event.x;
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      listener(x);
    });
  };
  // The box stays when the figure in it is drawn again; the node does not.
  d3.select(node).call(d3.drag().container(() => box).on("start drag", move));
}
