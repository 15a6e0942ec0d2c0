// How many samples are decided for each class. Of very many samples of three classes, most are decided by the cell of
// the plane in which they lie, and only those near a boundary one by one; the counts are exact.

import { UNKNOWN } from "./explore_cloud.js";
import { decide, fromIlr, ilrBasis, toIlr } from "./geometry.js";

const MANY = 1e5; // samples from which cells are faster
const ACROSS = 512,
  WIDTH = 0.125; // cells on each side, and nats of each
const SAFE = 1 - 1e-9; // beyond rounding

/** Counts of each decision (D for none) by true class (D for not known): D + 1 rows of D + 1. */
export function countDecisions(samples, prior, costs, reject) {
  if (samples.D === 3 && samples.n >= MANY) return countByCells(samples, prior, costs, reject);
  const { truth, logLikelihoods, n, D } = samples;
  const counts = new Uint32Array((D + 1) * (D + 1));
  const choice = decide(logLikelihoods, n, D, prior, costs, reject);
  for (let i = 0; i < n; i++) counts[(truth[i] === UNKNOWN ? D : truth[i]) * (D + 1) + choice[i]]++;
  return counts;
}

const made = new WeakMap();

function countByCells(samples, prior, costs, reject) {
  if (!made.has(samples)) made.set(samples, sortIntoCells(samples));
  const { starts, classCounts, shares, logLikelihoods, truth, cells } = made.get(samples);
  const counts = new Uint32Array(16), bounds = regretBounds(prior, costs, reject);
  let near = 0;
  const chosen = made.get(samples).room; // values of the samples near a boundary, one after the other
  for (let c = 0; c < cells; c++) {
    const action = c === cells - 1 ? -1 : chooseForCell(shares, 3 * c, bounds);
    if (action >= 0) for (let k = 0; k < 4; k++) counts[4 * k + action] += classCounts[4 * c + k];
    else {
      const from = starts[c], to = starts[c + 1];
      chosen.values.set(logLikelihoods.subarray(3 * from, 3 * to), 3 * near);
      chosen.truth.set(truth.subarray(from, to), near);
      near += to - from;
    }
  }
  // A copy, since what is known about values is kept with their array.
  const choice = decide(chosen.values.slice(0, 3 * near), near, 3, prior, costs, reject);
  for (let i = 0; i < near; i++) counts[4 * chosen.truth[i] + choice[i]]++;
  return counts;
}

/** Samples in the order of their cells; the last cell has those outside the plane. Empty cells are left out. */
function sortIntoCells({ logLikelihoods, truth, n }) {
  const ilr = toIlr(logLikelihoods, n, 3), half = (ACROSS * WIDTH) / 2, last = ACROSS * ACROSS;
  const cellOf = new Int32Array(n), sizes = new Uint32Array(last + 1);
  for (let i = 0; i < n; i++) {
    const x = Math.floor((ilr[2 * i] + half) / WIDTH), y = Math.floor((ilr[2 * i + 1] + half) / WIDTH);
    cellOf[i] = x >= 0 && x < ACROSS && y >= 0 && y < ACROSS ? y * ACROSS + x : last;
    sizes[cellOf[i]]++;
  }
  const kept = [...d3.range(last).filter((cell) => sizes[cell]), last], place = new Int32Array(last + 1);
  const starts = new Uint32Array(kept.length + 1);
  kept.forEach((cell, c) => ([place[cell], starts[c + 1]] = [c, starts[c] + sizes[cell]]));
  const sorted = { values: new Float64Array(3 * n), truth: new Uint8Array(n) }, next = starts.slice();
  const classCounts = new Uint32Array(4 * kept.length);
  for (let i = 0; i < n; i++) {
    const c = place[cellOf[i]], at = next[c]++, k = truth[i] === UNKNOWN ? 3 : truth[i];
    for (let j = 0; j < 3; j++) sorted.values[3 * at + j] = logLikelihoods[3 * i + j];
    sorted.truth[at] = k;
    classCounts[4 * c + k]++;
  }
  const middles = Float64Array.from({ length: 2 * kept.length }, (_, m) => {
    const cell = kept[m >> 1], t = m % 2 ? Math.floor(cell / ACROSS) : cell % ACROSS;
    return (t + 0.5) * WIDTH - half;
  });
  return {
    cells: kept.length,
    starts,
    classCounts,
    logLikelihoods: sorted.values,
    truth: sorted.truth,
    shares: fromIlr(middles, kept.length, 3).map(Math.exp),
    room: { values: new Float64Array(3 * n), truth: new Uint8Array(n) },
  };
}

/** Factors for the least and the largest regret of each action in a cell: how far likelihoods are from its middle. */
function regretBounds(prior, costs, reject) {
  const V = ilrBasis(3), actions = reject === null ? 3 : 4;
  const low = new Float64Array(12), high = new Float64Array(12);
  for (let i = 0; i < 3; i++) {
    const row = reject === null ? costs[i] : [...costs[i], reject], least = Math.min(...row);
    const reach = Math.exp((WIDTH / 2) * (Math.abs(V[2 * i]) + Math.abs(V[2 * i + 1])));
    row.forEach((cost, j) => {
      low[3 * j + i] = (prior[i] * (cost - least)) / reach;
      high[3 * j + i] = prior[i] * (cost - least) * reach;
    });
  }
  return { low, high, actions };
}

/** The action that is best everywhere in a cell, or -1. */
function chooseForCell(shares, at, { low, high, actions }) {
  const a = shares[at], b = shares[at + 1], c = shares[at + 2];
  let best = 0, worst = Infinity;
  for (let j = 0; j < actions; j++) {
    const most = a * high[3 * j] + b * high[3 * j + 1] + c * high[3 * j + 2];
    if (most < worst) [best, worst] = [j, most];
  }
  for (let j = 0; j < actions; j++) {
    if (j !== best && !(worst < SAFE * (a * low[3 * j] + b * low[3 * j + 1] + c * low[3 * j + 2]))) return -1;
  }
  return best;
}
