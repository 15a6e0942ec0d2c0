// Evidence of n samples over D classes: units, ILR coordinates, posteriors and decisions. Log-likelihoods are
// natural logarithms in a Float64Array of n rows of D, each row up to a constant; -Infinity rules a class out.

/** Units of evidence: how many of them one nat is, and the name to print. */
export const UNITS = {
  nat: { factor: 1, label: "nat" }, bit: { factor: 1 / Math.LN2, label: "bit" },
  log10: { factor: 1 / Math.LN10, label: "log10" }, deciban: { factor: 10 / Math.LN10, label: "deciban" },
};

const UNDERFLOW = 1e-280; // below this, products have lost digits
const TIE = 1e-12; // relative difference of expected costs that is rounding
const BLOCK = 2048; // rows whose intermediate results stay in the cache

/** Log of the sum of exponentials; -Infinity where every value is. */
export function logSumExp(values) {
  let top = -Infinity;
  for (let k = 0; k < values.length; k++) if (values[k] > top) top = values[k];
  if (top === -Infinity || top === Infinity) return top;
  let total = 0;
  for (let k = 0; k < values.length; k++) total += Math.exp(values[k] - top);
  return top + Math.log(total);
}

/** Contrast matrix V, D rows of D - 1: coordinate i compares classes 0 to i with class i + 1. */
export function ilrBasis(D) {
  const V = new Float64Array(D * (D - 1));
  for (let i = 0; i < D - 1; i++) {
    for (let k = 0; k <= i; k++) V[k * (D - 1) + i] = 1 / Math.sqrt((i + 1) * (i + 2));
    V[(i + 1) * (D - 1) + i] = -Math.sqrt((i + 1) / (i + 2));
  }
  return V;
}

/** ILR coordinates, n rows of D - 1; NaN in the rows that rule a class out. */
export function toIlr(logLikelihoods, n, D) {
  const l = new Float64Array(n * (D - 1));
  for (let row = 0; row < n; row++) {
    const at = row * D;
    const top = rowMaximum(logLikelihoods, at, D);
    let sum = 0;
    let finite = true;
    for (let i = 0; i < D - 1; i++) {
      sum += logLikelihoods[at + i] - top;
      const next = logLikelihoods[at + i + 1] - top;
      finite &&= sum > -Infinity && next > -Infinity;
      l[row * (D - 1) + i] = (sum - (i + 1) * next) / Math.sqrt((i + 1) * (i + 2));
    }
    if (!finite) l.fill(NaN, row * (D - 1), (row + 1) * (D - 1));
  }
  return l;
}

/** Log-likelihoods with a largest of 0 in each row, from ILR coordinates. */
export function fromIlr(l, n, D) {
  const values = new Float64Array(n * D);
  for (let row = 0; row < n; row++) {
    let tail = 0;
    let top = -Infinity;
    for (let k = D - 1; k >= 0; k--) {
      if (k < D - 1) tail += l[row * (D - 1) + k] / Math.sqrt((k + 1) * (k + 2));
      const own = k > 0 ? l[row * (D - 1) + k - 1] * Math.sqrt(k / (k + 1)) : 0;
      values[row * D + k] = tail - own;
      if (tail - own > top) top = tail - own;
    }
    for (let k = 0; k < D; k++) values[row * D + k] -= top;
  }
  return values;
}

function rowMaximum(values, at, D) {
  let top = values[at];
  for (let k = 1; k < D; k++) if (values[at + k] > top) top = values[at + k];
  return top;
}

function normalizePrior(prior, D) {
  if (prior.length !== D) {
    throw new RangeError(`prior must hold ${D} probabilities, one for each class; got ${prior.length}.`);
  }
  let total = 0;
  for (const p of prior) {
    if (!(p > 0 && p < Infinity)) {
      throw new RangeError(`prior must be positive for every class (Cromwell's rule); got ${p}.`);
    }
    total += p;
  }
  return Float64Array.from(prior, (p) => p / total);
}

// Exponentials take most of the time of a frame, and do not change with the prior.
const likelihoodsOf = new WeakMap();

/** Likelihoods over the largest of their row, kept for as long as the log-likelihoods, which must not change. */
function likelihoods(logLikelihoods, n, D) {
  let found = likelihoodsOf.get(logLikelihoods);
  if (!found || found.n !== n || found.D !== D) {
    const values = new Float64Array(n * D);
    for (let at = 0; at < n * D; at += D) {
      const top = rowMaximum(logLikelihoods, at, D);
      for (let k = 0; k < D; k++) values[at + k] = Math.exp(logLikelihoods[at + k] - top);
    }
    found = { n, D, values };
    likelihoodsOf.set(logLikelihoods, found);
  }
  return found.values;
}

/**
 * Posteriors under a prior, n rows of D. Log-likelihoods of -800 and of -Infinity lose nothing.
 *
 * Results that are made anew for each frame can go into the array of the last one (into).
 */
export function posterior(logLikelihoods, n, D, prior, into = new Float64Array(n * D)) {
  const p = normalizePrior(prior, D);
  const w = likelihoods(logLikelihoods, n, D);
  const totals = new Float64Array(BLOCK);
  for (let start = 0; start < n; start += BLOCK) {
    const rows = Math.min(BLOCK, n - start);
    totals.fill(0);
    for (let k = 0; k < D; k++) {
      const share = p[k];
      for (let r = 0, at = start * D + k; r < rows; r++, at += D) totals[r] += w[at] * share;
    }
    for (let k = 0; k < D; k++) {
      const share = p[k];
      for (let r = 0, at = start * D + k; r < rows; r++, at += D) into[at] = (w[at] * share) / totals[r];
    }
    for (let r = 0; r < rows; r++) {
      if (totals[r] < 1e-20) fillByLogs(into, logLikelihoods, (start + r) * D, D, p);
    }
  }
  return into;
}

/** Posteriors of a row whose likeliest classes have priors next to zero: products of theirs lose digits. */
function fillByLogs(result, logLikelihoods, at, D, prior) {
  const logs = logJoint(logLikelihoods, at, D, prior);
  const total = logSumExp(logs);
  for (let k = 0; k < D; k++) result[at + k] = Math.exp(logs[k] - total);
}

function logJoint(logLikelihoods, at, D, prior) {
  const top = rowMaximum(logLikelihoods, at, D);
  return Float64Array.from(prior, (p, k) => logLikelihoods[at + k] - top + Math.log(p));
}

/**
 * Class of least expected cost for each sample; D stands for "not decided" where that has a cost.
 *
 * costs[i][j] is what it costs to decide for class j when class i is true; by default every error costs 1.
 * Ties go to the first class, and to a class before no decision.
 */
export function decide(logLikelihoods, n, D, prior, costs = null, rejectCost = null) {
  const p = normalizePrior(prior, D);
  if (!costs && rejectCost === null) return decideByPosterior(logLikelihoods, n, D, p);
  const regret = regrets(D, costs, rejectCost);
  const actions = regret.length / D;
  const w = likelihoods(logLikelihoods, n, D);
  const choice = new Uint16Array(n);
  const expected = Array.from({ length: actions }, () => new Float64Array(BLOCK));
  for (let start = 0; start < n; start += BLOCK) {
    const rows = Math.min(BLOCK, n - start);
    expected.forEach((column, j) => sumRegrets(column, w, start, rows, D, p, regret, j));
    findVanishing(expected, rows, (r) => scaleRegrets(expected, r, logLikelihoods, (start + r) * D, D, p, regret));
    chooseLeast(choice, start, rows, expected);
  }
  return choice;
}

function decideByPosterior(logLikelihoods, n, D, prior) {
  const logPrior = prior.map(Math.log);
  const choice = new Uint16Array(n);
  for (let row = 0, at = 0; row < n; row++, at += D) {
    let best = 0;
    let top = logLikelihoods[at] + logPrior[0];
    for (let k = 1; k < D; k++) {
      const value = logLikelihoods[at + k] + logPrior[k];
      const better = -(value > top); // all bits or none: a branch could not be predicted
      best = (best & ~better) | (k & better);
      top = Math.max(top, value);
    }
    choice[row] = best;
  }
  return choice;
}

/** Expected regret of action j for a block of rows, over the largest likelihood of each. */
function sumRegrets(column, w, start, rows, D, prior, regret, j) {
  column.fill(0);
  const actions = regret.length / D;
  for (let i = 0; i < D; i++) {
    const factor = prior[i] * regret[i * actions + j];
    if (factor === 0) continue;
    for (let r = 0, at = start * D + i; r < rows; r++, at += D) column[r] += w[at] * factor;
  }
}

/** Call for each row in which several regrets have underflowed. */
function findVanishing(expected, rows, call) {
  const count = new Uint16Array(rows);
  for (const column of expected) for (let r = 0; r < rows; r++) count[r] += Number(column[r] < UNDERFLOW);
  for (let r = 0; r < rows; r++) if (count[r] > 1) call(r);
}

/** The first of the actions that tie for the least regret, for a block of rows. */
function chooseLeast(choice, start, rows, expected) {
  const limit = new Float64Array(rows).fill(Infinity);
  for (const column of expected) for (let r = 0; r < rows; r++) limit[r] = Math.min(limit[r], column[r]);
  for (let r = 0; r < rows; r++) limit[r] *= 1 + TIE;
  for (let j = expected.length - 1; j >= 0; j--) {
    const column = expected[j];
    for (let r = 0; r < rows; r++) {
      const least = -(column[r] <= limit[r]);
      choice[start + r] = (choice[start + r] & ~least) | (j & least);
    }
  }
}

/** Costs beyond those of the best decision for each truth, D rows; the largest cost is scaled to one. */
function regrets(D, costs, rejectCost) {
  const rows = [];
  for (let i = 0; i < D; i++) {
    const row = costs ? Array.from(costs[i]) : Array.from({ length: D }, (_, j) => (i === j ? 0 : 1));
    if (rejectCost !== null) row.push(rejectCost);
    if (row.some((cost) => !Number.isFinite(cost))) {
      throw new RangeError(`costs must be finite numbers; got ${row.join(", ")} for class ${i + 1}.`);
    }
    rows.push(row);
  }
  const largest = Math.max(Number.MIN_VALUE / Number.EPSILON, ...rows.flat().map(Math.abs));
  return Float64Array.from(rows.flatMap((row) => row.map((cost) => (cost - Math.min(...row)) / largest)));
}

/** Expected regrets of one row where several underflow: a posterior of e^-800 may decide. */
function scaleRegrets(expected, r, logLikelihoods, at, D, prior, regret) {
  const logs = logRegrets(logLikelihoods, at, D, prior, regret);
  let least = Infinity;
  for (const value of logs) if (value > -Infinity && value < least) least = value;
  logs.forEach((value, j) => (expected[j][r] = value === -Infinity ? 0 : Math.exp(value - least)));
}

function logRegrets(logLikelihoods, at, D, prior, regret) {
  const joint = logJoint(logLikelihoods, at, D, prior);
  const actions = regret.length / D;
  const terms = (j) => joint.map((value, i) => value + Math.log(regret[i * actions + j]));
  return Float64Array.from({ length: actions }, (_, j) => logSumExp(terms(j)));
}

/** LLR of class a against class b, in nats; NaN where both are ruled out. */
export function pairLlr(logLikelihoods, n, D, a, b) {
  const llr = new Float64Array(n);
  for (let row = 0; row < n; row++) llr[row] = logLikelihoods[row * D + a] - logLikelihoods[row * D + b];
  return llr;
}

/** LLR of class k against all others together, weighted among themselves by the prior. */
export function oneAgainstRestLlr(logLikelihoods, n, D, k, prior) {
  const rest = Array.from({ length: D }, (_, j) => j).filter((j) => j !== k);
  return groupsLlr(logLikelihoods, n, D, [k], rest, prior);
}

/**
 * LLR of one group of classes against another; NaN where both are ruled out.
 *
 * The likelihood of a group is the mean of its members' likelihoods, weighted by their prior within the group.
 */
export function groupsLlr(logLikelihoods, n, D, first, second, prior) {
  const p = normalizePrior(prior, D);
  const llr = poolMembers(logLikelihoods, n, D, first, p);
  const against = poolMembers(logLikelihoods, n, D, second, p);
  for (let row = 0; row < n; row++) llr[row] -= against[row];
  return llr;
}

function poolMembers(logLikelihoods, n, D, members, prior) {
  const mass = members.reduce((total, k) => total + prior[k], 0);
  const shares = members.map((k) => prior[k] / mass);
  const pooled = new Float64Array(n);
  for (let row = 0, at = 0; row < n; row++, at += D) {
    let top = -Infinity;
    for (const k of members) if (logLikelihoods[at + k] > top) top = logLikelihoods[at + k];
    let sum = 0;
    for (let m = 0; m < members.length; m++) sum += shares[m] * Math.exp(logLikelihoods[at + members[m]] - top);
    pooled[row] = members.length === 1 || top === -Infinity ? top : top + Math.log(sum);
  }
  return pooled;
}

/**
 * LLRs by true class: those of the samples of the first classes (targets) and of the second (non-targets).
 *
 * A sample that rules out both its true class and the other misleads without limit.
 */
export function splitByTruth(llr, truth, first, second) {
  const side = new Uint8Array(1 + Math.max(...first, ...second));
  for (const k of second) side[k] = 2;
  for (const k of first) side[k] = 1;
  const counts = [0, 0, 0];
  for (let row = 0; row < llr.length; row++) counts[side[truth[row]] ?? 0]++;
  const target = new Float64Array(counts[1]);
  const nonTarget = new Float64Array(counts[2]);
  for (let row = 0, i = 0, j = 0; row < llr.length; row++) {
    const value = llr[row];
    if (side[truth[row]] === 1) target[i++] = value === value ? value : -Infinity; // only NaN is not itself
    else if (side[truth[row]] === 2) nonTarget[j++] = value === value ? value : Infinity;
  }
  return { target, nonTarget };
}

/**
 * The prior at which the decision of one sample changes as probability moves from its best class to the runner-up;
 * the other classes keep theirs.
 *
 * Returns the two classes, the decision that is next (to: mostly the runner-up, but with some costs a third class, and D
 * for none where that has a cost), that prior and the log-odds between the two classes in it (nats), which say more
 * where it rounds to 0; prior is null where no such shift changes the decision.
 */
export function flipPrior(logLikelihoods, prior, costs = null, rejectCost = null) {
  const D = logLikelihoods.length;
  const p = normalizePrior(prior, D);
  const [best, next] = twoBest(logLikelihoods, p, costs);
  const both = p[best] + p[next];
  let [to, logOdds] = [next, NaN];
  for (let j = 0; j < D + Number(rejectCost !== null); j++) {
    const cost = (i, k) => (k === D ? rejectCost : costs ? costs[i][k] : Number(i !== k));
    const found = j === best ? NaN : oddsOfChange(logLikelihoods, p, cost, best, next, j);
    if (Number.isFinite(found) && !(found <= logOdds)) [to, logOdds] = [j, found]; // the first on the way down
  }
  if (Number.isNaN(logOdds)) return { best, next, to: null, logOdds, prior: null };
  const flipped = p.slice();
  flipped[best] = both / (1 + Math.exp(-logOdds));
  flipped[next] = both / (1 + Math.exp(logOdds));
  return { best, next, to, logOdds, prior: flipped };
}

/** Log-odds of two classes, whose probability is fixed, at which another decision costs as little as the best class. */
function oddsOfChange(logLikelihoods, p, cost, best, next, to) {
  const gain = cost(best, to) - cost(best, best); // of the best class's decision where that class is true
  const loss = cost(next, best) - cost(next, to);
  const others = Array.from(p, (_, i) => i).filter((i) => i !== best);
  const top = Math.max(...others.map((i) => logLikelihoods[i])); // where it flips, the best counts no more than these
  let rest = 0; // what further classes add to the cost of deciding for the best, over this pair's probability
  for (const i of others) {
    const odds = (p[i] / (p[best] + p[next])) * Math.exp(logLikelihoods[i] - top);
    if (i !== next) rest += odds * (cost(i, best) - cost(i, to));
  }
  const ahead = logLikelihoods[best] - top;
  const logGain = rest === 0 || ahead > 700 ? ahead + Math.log(gain) : Math.log(Math.exp(ahead) * gain - rest);
  const behind = logLikelihoods[next] - top;
  return (rest === 0 ? behind + Math.log(loss) : Math.log(Math.exp(behind) * loss + rest)) - logGain;
}

/** The class that is decided for, and the one that would be if that decision were not allowed. */
function twoBest(logLikelihoods, prior, costs) {
  const D = prior.length;
  const [best] = decide(Float64Array.from(logLikelihoods), 1, D, prior, costs);
  const logs = logRegrets(logLikelihoods, 0, D, prior, regrets(D, costs, null));
  const others = Array.from({ length: D }, (_, j) => j).filter((j) => j !== best);
  return [best, others.reduce((least, j) => (logs[j] < logs[least] ? j : least))];
}
