// What the figures of a page are drawn from: the samples and what a reader has chosen.

import { classColor, themeColor } from "./colors.js";
import { remember } from "./drawing.js";
import { UNITS, groupsLlr, oneAgainstRestLlr, pairLlr } from "./geometry.js";
import { makeSide } from "./sides.js";
import { shareBetween } from "./statistics.js";

/** The two groups of classes that a pair stands for: [targets, others]. */
export function groupsOf(pair, D) {
  if (Array.isArray(pair)) return [[pair[0]], [pair[1]]];
  if ("one" in pair) return [[pair.one], d3.range(D).filter((k) => k !== pair.one)];
  return pair.groups;
}

/** Values of the state that an address may set. */
export function checkState(D) {
  const isClass = (k) => Number.isInteger(k) && k >= 0 && k < D;
  const isGroup = (g) => Array.isArray(g) && g.length > 0 && g.every(isClass);
  const differ = (...ks) => new Set(ks).size === ks.length;
  const isCost = (x) => Number.isFinite(x) && x >= 0;
  const checks = {
    pair: (v) => Array.isArray(v) ? v.length === 2 && v.every(isClass) && differ(...v)
      : v !== null && typeof v === "object" && ("one" in v ? isClass(v.one)
        : Array.isArray(v.groups) && v.groups.length === 2 && v.groups.every(isGroup) && differ(...v.groups.flat())),
    prior: (v) => Array.isArray(v) && v.length === D && v.every((p) => Number.isFinite(p) && p > 0 && p < 1) && Math.abs(d3.sum(v) - 1) < 1e-6,
    costs: (v) => Array.isArray(v) && v.length === D && v.every((row) => Array.isArray(row) && row.length === D && row.every(isCost)),
    unit: (v) => Object.hasOwn(UNITS, v),
    range: (v) => v === null || (Array.isArray(v) && v.length === 2 && v.every(Number.isFinite) && v[0] < v[1]),
    three: (v) => v === null || (Array.isArray(v) && v.length === 3 && v.every(isClass) && differ(...v)),
  };
  return (name, value) => Object.hasOwn(checks, name) && checks[name](value);
}

/** What a reader asks: the pair, with names and colors, and the prior and the costs of its two sides. */
export function makeQuestion({ D, classes }, state) {
  const { pair, prior, costs } = state;
  const [targets, others] = groupsOf(pair, D);
  const mass = [others, targets].map((group) => d3.sum(group, (k) => prior[k]));
  return {
    ...state,
    names: namesOf(pair, classes), colors: colorsOf(pair, D),
    priorTarget: mass[1] / (mass[0] + mass[1]),
    pairCosts: { miss: meanCost(costs, targets, others, prior), falseAlarm: meanCost(costs, others, targets, prior) },
    unit: { name: state.unit, ...UNITS[state.unit] },
  };
}

/** The question, and the LLRs of its pair, split by what is true; see the fields below. */
export function makeView(data, samples, state, set) {
  const { truth, classes } = samples, { pair, prior } = state;
  const { target, other, ...split } = remember({ samples, pair, prior }, "split", () => splitSamples(samples, pair, prior));
  return {
    data, samples, ...makeQuestion(samples, state), set, ...split,
    target: target.llr, other: other.llr, weights: { target: target.weights, nonTarget: other.weights },
    isWeighted: Boolean(target.weights || other.weights),
    shareOf: (side, from, to) => shareBetween(from, to, (side ? target : other).llr.length, (side ? target : other).weights),
    shareBelow(side, at, inclusive = false) {
      return this.shareOf(side, 0, (inclusive ? d3.bisectRight : d3.bisectLeft)(side ? this.target : this.other, at));
    },
    label: (i) => `row ${samples.rows[i]}: ${classes[truth[i]]}`,
  };
}

/** The samples of both sides: their index, LLR and side as they come, and the LLRs of each side in order. */
function splitSamples({ D, n, logLikelihoods, truth }, pair, prior) {
  const [targets, others] = groupsOf(pair, D);
  const every = Array.isArray(pair) ? pairLlr(logLikelihoods, n, D, pair[0], pair[1])
    : "one" in pair ? oneAgainstRestLlr(logLikelihoods, n, D, pair.one, prior)
      : groupsLlr(logLikelihoods, n, D, targets, others, prior);
  const side = new Int8Array(D).fill(-1);
  for (const k of targets) side[k] = 1;
  for (const k of others) side[k] = 0;
  const counts = new Uint32Array(D);
  let size = 0;
  for (let i = 0; i < n; i++) {
    if (!(side[truth[i]] >= 0)) continue;
    counts[truth[i]]++;
    size++;
  }
  const [index, llr, isTarget] = [new Int32Array(size), new Float64Array(size), new Uint8Array(size)];
  const parts = Array.from(counts, (count) => new Float64Array(count)), filled = new Uint32Array(D);
  for (let i = 0, m = 0; i < n; i++) {
    const k = truth[i], own = side[k];
    if (!(own >= 0)) continue;
    // A sample that rules out both sides, the true one too, misleads without limit.
    const value = Number.isNaN(every[i]) ? (own ? -Infinity : Infinity) : every[i];
    index[m] = i;
    llr[m] = value;
    isTarget[m++] = own;
    parts[k][filled[k]++] = value;
  }
  const [target, other] = [targets, others].map((group) => makeSide(group.map((k) => parts[k].sort()), group, prior));
  return { index, llr, isTarget, target, other };
}

/** Names of the two sides: [other, target]. */
export function namesOf(pair, classes) {
  if (Array.isArray(pair)) return [classes[pair[1]], classes[pair[0]]];
  if ("one" in pair) return [`not ${classes[pair.one]}`, classes[pair.one]];
  return [pair.groups[1], pair.groups[0]].map((group) => group.map((k) => classes[k]).join(" or "));
}

function colorsOf(pair, D) {
  if (Array.isArray(pair)) return [classColor(pair[1], D), classColor(pair[0], D)];
  const target = "one" in pair ? pair.one : pair.groups[0][0];
  return ["one" in pair ? themeColor("soft") : classColor(pair.groups[1][0], D), classColor(target, D)];
}

/** What it costs to decide for one side when the other is true, on average over its classes. */
function meanCost(costs, truths, decisions, prior) {
  const mass = d3.sum(truths, (k) => prior[k]);
  return d3.sum(truths, (k) => (prior[k] / mass) * d3.mean(decisions, (j) => costs[k][j]));
}

/** The prior with another share of the targets among the two sides. */
export function withShare(prior, pair, share) {
  const D = prior.length, [targets, others] = groupsOf(pair, D);
  const mass = [targets, others].map((group) => d3.sum(group, (k) => prior[k]));
  const total = mass[0] + mass[1], next = [...prior];
  for (const k of targets) next[k] *= (share * total) / mass[0];
  for (const k of others) next[k] *= ((1 - share) * total) / mass[1];
  return next;
}

/** The costs with other costs of a miss and a false alarm between the two sides. */
export function withCosts(costs, pair, { miss, falseAlarm }) {
  const next = costs.map((row) => [...row]), [targets, others] = groupsOf(pair, costs.length);
  for (const k of targets) for (const j of others) [next[k][j], next[j][k]] = [miss, falseAlarm];
  return next;
}
