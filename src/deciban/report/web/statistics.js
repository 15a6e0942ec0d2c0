// How good LLRs are. Targets are the samples that a positive LLR supports, non-targets the others; LLRs are
// natural logarithms in Float64Arrays and may be infinite. Costs are in bits, or as their function says.
// Weights { target, nonTarget }, where samples do not count alike, are arrays with a mean of one beside sorted LLRs.

import { binsOfEqualCounts, commonRange, countBelow, partOf } from "./bins.js";
import { posterior } from "./geometry.js";
import { groupCosts, meanCost } from "./mean_cost.js";
import { wilsonInterval } from "./special.js";

/** log(1 + e^x), which neither overflows nor is clipped. */
function softplus(x) {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}

/** A sorted copy, or the values themselves where they are in order. */
function sortValues(values) {
  for (let k = 1; k < values.length; k++) if (!(values[k - 1] <= values[k])) return values.slice().sort();
  return values;
}

/** Cost of LLRs in bits: 0 is perfect, 1 is the cost of saying nothing. */
export function cllr(target, nonTarget, weights = {}) {
  const mean = (llr, sign, weight) => {
    let sum = 0;
    for (let k = 0; k < llr.length; k++) sum += (weight ? weight[k] : 1) * softplus(sign * llr[k]);
    return sum / llr.length;
  };
  return (mean(target, -1, weights.target) + mean(nonTarget, 1, weights.nonTarget)) / (2 * Math.LN2);
}

/** How much the first k of sorted samples count, for every k: (k) => mass. */
function cumulate(weight, n) {
  if (!weight) return (k) => k;
  const sums = new Float64Array(n + 1);
  for (let k = 0; k < n; k++) sums[k + 1] = sums[k] + weight[k];
  sums[n] = n; // what the sum is but for rounding
  return (k) => sums[k];
}

/** Share of sorted samples between two positions. */
export function shareBetween(from, to, n, weight) {
  return weight ? weight.subarray(from, to).reduce((sum, w) => sum + w, 0) / n : (to - from) / n;
}

/**
 * Pool adjacent violators: blocks of samples that share one recalibrated LLR, by rising LLR.
 *
 * Each block has its lowest and highest LLR, the fraction of each class that lies in it, and the recalibrated
 * LLR: -Infinity or Infinity where one class is absent.
 */
export function pav(target, nonTarget, weights = {}) {
  const runs = runsOfOneClass(sortValues(target), sortValues(nonTarget), weights);
  const { low, high, targets, others } = runs;
  let last = -1; // blocks so far, kept in the same arrays
  for (let run = 0; run < runs.count; run++) {
    let [p, q, from] = [targets[run], others[run], low[run]];
    // Counts without weights are whole numbers, so that ratios are compared without rounding.
    while (last >= 0 && targets[last] * q >= p * others[last]) {
      p += targets[last];
      q += others[last];
      from = low[last--];
    }
    last++;
    [targets[last], others[last], low[last], high[last]] = [p, q, from, high[run]];
  }
  const count = last + 1;
  const shares = (values, n) => values.slice(0, count).map((value) => value / n);
  const blocks = {
    low: low.slice(0, count), high: high.slice(0, count), target: shares(targets, target.length),
    nonTarget: shares(others, nonTarget.length),
  };
  blocks.llr = blocks.target.map((p, k) => Math.log(p) - Math.log(blocks.nonTarget[k]));
  return blocks;
}

/** Runs of samples of one class in the order of their LLRs; tied targets come before the others. */
function runsOfOneClass(target, nonTarget, weights) {
  const below = cumulate(weights.target, target.length);
  const belowOther = cumulate(weights.nonTarget, nonTarget.length);
  const most = 2 * Math.min(target.length, nonTarget.length) + 1;
  const [low, high, targets, others] = Array.from({ length: 4 }, () => new Float64Array(most));
  let [i, j, count] = [0, 0, 0];
  while (i < target.length || j < nonTarget.length) {
    const limit = j < nonTarget.length ? nonTarget[j] : Infinity;
    const first = i;
    while (i < target.length && target[i] <= limit) i++;
    if (i > first) {
      [low[count], high[count], targets[count]] = [target[first], target[i - 1], below(i) - below(first)];
      count++;
    }
    const start = j;
    const end = i < target.length ? target[i] : NaN;
    while (j < nonTarget.length && !(nonTarget[j] >= end)) j++;
    if (j > start) {
      others[count] = belowOther(j) - belowOther(start);
      [low[count], high[count]] = [nonTarget[start], nonTarget[j - 1]];
      count++;
    }
  }
  return { low, high, targets, others, count };
}

/** Cost in bits that the best monotone recalibration leaves: the discrimination of the LLRs. */
export function cllrMin(target, nonTarget, blocks = pav(target, nonTarget)) {
  let nats = 0;
  for (let k = 0; k < blocks.llr.length; k++) {
    const [p, q] = [blocks.target[k], blocks.nonTarget[k]];
    if (p > 0 && q > 0) nats += p * Math.log1p(q / p) + q * Math.log1p(p / q);
  }
  return nats / (2 * Math.LN2);
}

/** Corners of the convex hull of the ROC curve, by rising threshold. */
function rocHull(blocks) {
  const n = blocks.llr.length;
  const pMiss = new Float64Array(n + 1);
  const pFalseAlarm = new Float64Array(n + 1);
  for (let k = 0; k < n; k++) pMiss[k + 1] = pMiss[k] + blocks.target[k];
  for (let k = n - 1; k >= 0; k--) pFalseAlarm[k] = pFalseAlarm[k + 1] + blocks.nonTarget[k];
  pMiss[n] = pFalseAlarm[0] = 1; // what the sums are but for rounding
  return { pMiss, pFalseAlarm };
}

/** Equal-error rate, where the hull of the ROC curve has as many misses as false alarms. */
export function eer(target, nonTarget, blocks = pav(target, nonTarget)) {
  const { pMiss, pFalseAlarm } = rocHull(blocks);
  let k = 1;
  while (k < pMiss.length - 1 && pMiss[k] <= pFalseAlarm[k]) k++;
  const before = pMiss[k - 1] - pFalseAlarm[k - 1];
  const share = -before / (pMiss[k] - pFalseAlarm[k] - before);
  return pMiss[k - 1] + share * (pMiss[k] - pMiss[k - 1]);
}

/** Error rates at each LLR that occurs, a sample being accepted from there on, and at Infinity for none. */
export function detCurve(target, nonTarget, weights = {}) {
  const { llr, below, belowOther } = stepCurve(target, nonTarget, weights);
  const n = llr.length + 1;
  const curve = { pMiss: new Float64Array(n), pFalseAlarm: new Float64Array(n), threshold: new Float64Array(n) };
  for (let k = 0; k < n - 1; k++) {
    curve.threshold[k] = llr[k];
    curve.pMiss[k] = below[k] / target.length;
    curve.pFalseAlarm[k] = 1 - belowOther[k] / nonTarget.length;
  }
  [curve.threshold[n - 1], curve.pMiss[n - 1], curve.pFalseAlarm[n - 1]] = [Infinity, 1, 0];
  return curve;
}

/** Fraction of each class at or above each LLR that occurs. */
export function tippettCurve(target, nonTarget, weights = {}) {
  const { llr, below, belowOther } = stepCurve(target, nonTarget, weights);
  return {
    llr,
    target: below.map((count) => 1 - count / target.length),
    nonTarget: belowOther.map((count) => 1 - count / nonTarget.length),
  };
}

/** Each LLR that occurs, rising, and how many samples of each class lie below. */
function stepCurve(target, nonTarget, weights) {
  const [a, b] = [sortValues(target), sortValues(nonTarget)];
  const [massA, massB] = [cumulate(weights.target, a.length), cumulate(weights.nonTarget, b.length)];
  const [llr, below, belowOther] = Array.from({ length: 3 }, () => new Float64Array(a.length + b.length));
  let [i, j, count] = [0, 0, 0];
  while (i < a.length || j < b.length) {
    const value = j >= b.length || (i < a.length && a[i] <= b[j]) ? a[i] : b[j];
    [llr[count], below[count], belowOther[count]] = [value, massA(i), massB(j)];
    count++;
    while (i < a.length && a[i] === value) i++;
    while (j < b.length && b[j] === value) j++;
  }
  return { llr: llr.slice(0, count), below: below.slice(0, count), belowOther: belowOther.slice(0, count) };
}

/** Prior log-odds from -3 to 3 bans, in nats. */
export function defaultLogOdds(count = 101) {
  return Float64Array.from({ length: count }, (_, k) => ((6 * k) / (count - 1) - 3) * Math.LN10);
}

const sigmoid = (x) => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x)));

/**
 * Empirical cross-entropy in bits over prior log-odds (nats): with the LLRs as they are, after PAV (minimum),
 * and without evidence (neutral).
 */
export function crossEntropyCurve(
  target, nonTarget, logOdds = defaultLogOdds(), blocks = pav(target, nonTarget), weights = {}
) {
  return crossEntropyAt(logOdds, groupBySide(target, nonTarget, weights), blocks);
}

/** What the cross-entropy of LLRs at any prior is computed from. */
export function groupBySide(target, nonTarget, weights = {}) {
  return {
    misses: groupCosts(sortValues(target).map((llr) => -llr).reverse(), weights.target?.toReversed()),
    alarms: groupCosts(sortValues(nonTarget), weights.nonTarget),
  };
}

/** Empirical cross-entropy, as crossEntropyCurve has it, from the groups of both sides and the blocks of PAV. */
export function crossEntropyAt(logOdds, { misses, alarms }, blocks) {
  const [actual, minimum, neutral] = Array.from({ length: 3 }, () => new Float64Array(logOdds.length));
  for (let k = 0; k < logOdds.length; k++) {
    const lo = logOdds[k];
    const [p, q] = [sigmoid(lo), sigmoid(-lo)];
    const [miss, alarm] = [meanCost(misses, -lo), meanCost(alarms, lo)];
    const certain = miss === Infinity || alarm === Infinity; // a prior is only rounded to zero
    actual[k] = certain ? Infinity : (p * miss + q * alarm) / Math.LN2;
    let nats = 0;
    for (let block = 0; block < blocks.llr.length; block++) {
      const llr = blocks.llr[block];
      if (!Number.isFinite(llr)) continue; // blocks of one class cost nothing at any prior
      nats += p * blocks.target[block] * softplus(-(llr + lo)) + q * blocks.nonTarget[block] * softplus(llr + lo);
    }
    minimum[k] = nats / Math.LN2;
    neutral[k] = (p * softplus(-lo) + q * softplus(lo)) / Math.LN2;
  }
  return { logOdds, actual, minimum, neutral };
}

/** Cllr of each pair of classes in bits, D rows of D; NaN on the diagonal and where a class has no sample. */
export function pairMatrix(logLikelihoods, truth, n, D) {
  const [nats, counts] = [new Float64Array(D * D), new Float64Array(D)];
  for (let row = 0; row < n; row++) {
    const k = truth[row];
    const own = logLikelihoods[row * D + k];
    counts[k]++;
    for (let j = 0; j < D; j++) {
      // A sample that rules out its true class, and the other one too, misleads without limit.
      nats[k * D + j] += own === -Infinity ? Infinity : softplus(logLikelihoods[row * D + j] - own);
    }
  }
  const cost = new Float64Array(D * D).fill(NaN);
  for (let i = 0; i < D; i++) {
    for (let j = 0; j < i; j++) {
      const both = nats[i * D + j] / counts[i] + nats[j * D + i] / counts[j];
      cost[i * D + j] = cost[j * D + i] = both / (2 * Math.LN2);
    }
  }
  return cost;
}

/**
 * Mean posteriors of an event in bins of equally many samples, beside its relative frequencies and their
 * intervals; odds are shifted from the mix of the samples to the prior, so that the mix does not matter.
 *
 * The event is that a class is true: the last one of two classes, or the one given; else that the class with
 * the largest posterior is. The histogram holds the share of the posteriors in each of 20 parts of 0 to 1.
 */
export function reliability(logLikelihoods, truth, n, D, prior, options = {}) {
  const { nBins = 10, confidence = 0.95, event = D === 2 ? 1 : null } = options;
  const posteriors = posterior(logLikelihoods, n, D, prior);
  const { p, happened, code } = predictedEvent(posteriors, truth, n, D, event);
  const weights = balanceWeights(truth, n, D, prior);
  const { binOf, count: size } = binsOfEqualCounts(p, nBins);
  const [count, events, yes, no, sums] = Array.from({ length: 5 }, () => new Float64Array(size));
  const histogram = new Float64Array(20);
  for (let row = 0; row < n; row++) {
    const [bin, w] = [binOf[row], weights[truth[row]]];
    count[bin]++;
    events[bin] += happened[row];
    (happened[row] ? yes : no)[bin] += w;
    sums[bin] += w * p[row];
    histogram[partOf(p[row], 20)] += w;
  }
  const all = histogram.reduce((sum, w) => sum + w, 0);
  const ratio = ratioOfWeights(count, events, yes, no);
  if (D > 2) {
    const shift = shiftOfOdds(posteriors, truth, n, D, prior, { code, binOf, weights, size });
    shift.forEach((value, bin) => (ratio[bin] = Number.isFinite(value) && value > 0 ? value : ratio[bin]));
  }
  const reweigh = (rate, bin) => (ratio[bin] * rate) / (ratio[bin] * rate + 1 - rate);
  const intervals = Array.from(count, (m, bin) => wilsonInterval(events[bin], m, confidence));
  return {
    predicted: sums.map((sum, k) => sum / (yes[k] + no[k])),
    observed: events.map((k, bin) => reweigh(k / count[bin], bin)),
    low: Float64Array.from(intervals, ([low], bin) => reweigh(low, bin)),
    high: Float64Array.from(intervals, ([, high], bin) => reweigh(high, bin)),
    count,
    events,
    histogram: histogram.map((w) => w / all),
  };
}

/** Posteriors of an event, its class, and whether it is true: a class, or (null) the class of largest posterior. */
function predictedEvent(posteriors, truth, n, D, event) {
  const p = new Float64Array(n);
  const happened = new Uint8Array(n);
  const code = new Uint16Array(n);
  for (let row = 0; row < n; row++) {
    let k = event ?? 0;
    if (event === null) for (let j = 1; j < D; j++) if (posteriors[row * D + j] > posteriors[row * D + k]) k = j;
    p[row] = posteriors[row * D + k];
    happened[row] = Number(truth[row] === k);
    code[row] = k;
  }
  return { p, happened, code };
}

/** Weight of a sample of each class that gives each class that occurs its prior probability. */
function balanceWeights(truth, n, D, prior) {
  const counts = new Float64Array(D);
  for (let row = 0; row < n; row++) counts[truth[row]]++;
  const present = counts.reduce((sum, count, k) => sum + (count > 0 ? prior[k] : 0), 0);
  return counts.map((count, k) => (count > 0 ? prior[k] / count / present : 0));
}

/** Weight of a sample with the event, relative to one without, in each bin; that over all bins where it has none. */
function ratioOfWeights(count, events, yes, no) {
  const total = (values) => values.reduce((sum, value) => sum + value, 0);
  const [n, k] = [total(count), total(events)];
  const mean = (total(yes) + total(no)) / n;
  const meanYes = k > 0 ? total(yes) / k : mean;
  const meanNo = n > k ? total(no) / (n - k) : mean;
  return count.map((m, bin) => {
    const a = events[bin] > 0 ? yes[bin] / events[bin] : meanYes;
    return a / (m > events[bin] ? no[bin] / (m - events[bin]) : meanNo);
  });
}

/**
 * Odds of an event under the prior over those in the mix of the samples, in each bin, as the posteriors say.
 *
 * The weights of the samples in a bin would not do: it happens to have more or fewer of the heavy samples of a rare
 * class. NaN where all posteriors are 0 or 1.
 */
function shiftOfOdds(posteriors, truth, n, D, prior, { code, binOf, weights, size }) {
  const counts = new Float64Array(D);
  for (let row = 0; row < n; row++) counts[truth[row]]++;
  const [yes, no, ownYes, ownNo] = Array.from({ length: 4 }, () => new Float64Array(size));
  for (let row = 0, at = 0; row < n; row++, at += D) {
    const [bin, k, w] = [binOf[row], code[row], weights[truth[row]]];
    let [others, ownOthers] = [0, 0];
    for (let j = 0; j < D; j++) {
      if (j === k) continue;
      others += posteriors[at + j];
      ownOthers += (posteriors[at + j] * counts[j]) / prior[j];
    }
    const own = (posteriors[at + k] * counts[k]) / prior[k];
    const total = Math.max(own + ownOthers, Number.MIN_VALUE);
    yes[bin] += w * posteriors[at + k];
    no[bin] += w * others;
    ownYes[bin] += own / total;
    ownNo[bin] += ownOthers / total;
  }
  return yes.map((sum, bin) => (sum / no[bin]) * (ownNo[bin] / ownYes[bin]));
}

/**
 * Counts of the LLRs of both classes in common bins; zero is an edge, and belongs to the bin above it.
 *
 * The range follows where the samples of both classes are (see commonRange); how many lie beyond it, infinite
 * ones included, is in below and above. Samples count by their weights.
 */
export function histogramBins(target, nonTarget, nBins = binCount(target.length + nonTarget.length), weights = {}) {
  const [low, high] = commonRange(target, nonTarget);
  const width = (high - low) / Math.max(1, nBins - 1); // whole bins on either side of zero take up to one more
  const first = Math.floor(low / width + 1e-9);
  const last = Math.max(first + 1, Math.ceil(high / width - 1e-9));
  const edges = Float64Array.from({ length: last - first + 1 }, (_, k) => (first + k) * width);
  const [below, above] = [{}, {}];
  const counts = (llr, name) => {
    const bins = new Float64Array(edges.length - 1);
    const weight = weights[name];
    [below[name], above[name]] = [0, 0];
    for (let k = 0; k < llr.length; k++) {
      if (llr[k] < edges[0]) below[name]++;
      else if (llr[k] > edges[bins.length]) above[name]++;
      else bins[binOf(llr[k], edges, width)] += weight ? weight[k] : 1;
    }
    return bins;
  };
  return { edges, target: counts(target, "target"), nonTarget: counts(nonTarget, "nonTarget"), below, above };
}

/** The bin of a value between the first and the last edge; the last bin has its upper edge, too. */
function binOf(value, edges, width) {
  const last = edges.length - 2;
  let k = Math.min(Math.floor((value - edges[0]) / width), last);
  if (value < edges[k]) k--;
  else if (k < last && value >= edges[k + 1]) k++;
  return k;
}

/** Number of bins for so many samples, from 10 to 60. */
export function binCount(n) {
  return Math.min(60, Math.max(10, Math.ceil(3 * Math.cbrt(n / 2))));
}
