// What a reader of the explorer has chosen, and which values an address may set.

import { UNITS } from "./geometry.js";

/** The state in which a page opens, or starts anew with other hypotheses. */
export function firstState(names, unit = "deciban", more = {}) {
  const D = names.length;
  return {
    part: "walk",
    alone: false, // without the rest of the page, as a frame in a text shows it
    step: 0,
    names,
    prior: names.map(() => 1 / D),
    pieces: D === 3 ? [[1.4, -0.2, -1.2]] : [],
    costs: names.map((_, i) => names.map((_, j) => Number(i !== j))),
    reject: null,
    divergences: [5, 4, 7],
    by: "divergence",
    unit,
    pair: D === 2 ? [1, 0] : [0, 1],
    range: null,
    three: D >= 3 ? [0, 1, 2] : null,
    calibrated: false,
    row: 0,
    ...more,
  };
}

const isNumber = (x) => typeof x === "number" && Number.isFinite(x);
const areNumbers = (v, length) => Array.isArray(v) && v.length === length && v.every(isNumber);

/** Check of a value from an address: names first, since others must fit their number. */
export function checkExplorer(known, areFixed) {
  const D = () => (areFixed ? known : namesInAddress(known)).length;
  const isClass = (k) => Number.isInteger(k) && k >= 0 && k < D();
  const checks = {
    part: (v) => ["walk", "family", "scores", "sample"].includes(v),
    alone: (v) => typeof v === "boolean",
    step: (v) => Number.isInteger(v) && v >= 0 && v <= 6,
    names: (v) =>
      !areFixed &&
      Array.isArray(v) &&
      v.length >= 2 &&
      v.length <= 12 &&
      v.every((name) => typeof name === "string"),
    prior: (v) => areNumbers(v, D()) && v.every((p) => p > 0 && p < 1) && Math.abs(d3.sum(v) - 1) < 1e-4,
    pieces: (v) => Array.isArray(v) && v.length <= 50 && v.every((piece) => areNumbers(piece, D()) && piece.every((x) => Math.abs(x) <= 1e6)),
    costs: (v) =>
      Array.isArray(v) &&
      v.length === D() &&
      v.every((row) => areNumbers(row, D()) && row.every((c) => c >= 0)),
    reject: (v) => v === null || (isNumber(v) && v >= 0),
    divergences: (v) => areNumbers(v, 3) && v.every((d) => d >= 0 && d <= 100),
    by: (v) => v === "divergence" || v === "eer",
    unit: (v) => Object.hasOwn(UNITS, v),
    pair: (v) => (Array.isArray(v) ? v.length === 2 && v.every(isClass) && v[0] !== v[1] : isClass(v?.one)),
    range: (v) => v === null || (areNumbers(v, 2) && v[0] < v[1]),
    three: (v) => v === null || (Array.isArray(v) && v.length === 3 && v.every(isClass) && new Set(v).size === 3),
    calibrated: (v) => typeof v === "boolean",
    row: (v) => Number.isInteger(v) && v >= 0,
  };
  return (name, value) => Object.hasOwn(checks, name) && checks[name](value);
}

/** Whether all values are of as many hypotheses as there are names, which a link cut short may break. */
export function isConsistent({ names, prior, pieces, costs, pair, three }) {
  const D = names.length;
  return (
    prior.length === D &&
    costs.length === D &&
    pieces.every((piece) => piece.length === D) &&
    d3.max(Array.isArray(pair) ? pair : [pair.one]) < D &&
    (three === null ? D < 3 : d3.max(three) < D)
  );
}

/** Names in the address, else those of the page. */
function namesInAddress(known) {
  const found = /(?:^#|&)names=([^&]*)/.exec(location.hash);
  try {
    const names = found ? JSON.parse(decodeURIComponent(found[1])) : known;
    return Array.isArray(names) && names.length >= 2 ? names : known;
  } catch {
    return known; // cut off or edited by hand
  }
}
