// Multinomial logistic regression with one scale and an offset for each class, each class counted alike.

const STEPS = 200;
const MOST_WORK = 2e7; // multiplications of a step; more samples are thinned
const FEWEST = 10; // samples of a class that are left
const SINGULAR = 1e-13; // information, relative to its size, that counts as none
const LEAST = 1e-14; // smallest damping

/**
 * Scale a and offsets b (summing to zero) that minimize the cross-entropy of a l + b under an even prior.
 *
 * Few samples would make it overconfident, so it has Jeffreys' prior, as AffineCalibrator has. Newton's method with
 * damped steps, whose curvature lacks that of the prior.
 */
export function fitAffine(logLikelihoods, truth, n, D) {
  const problem = makeProblem(logLikelihoods, truth, n, D);
  let theta = new Float64Array(D); // scale, then offsets of all classes but the last
  let here = evaluate(problem, theta);
  for (let step = 0, damping = LEAST; step < STEPS; step++) {
    const move = solve(here.curvature, here.slope, D, damping);
    const promise = move.reduce((sum, value, k) => sum + value * here.slope[k], 0);
    if (promise < 1e-14) break;
    const next = theta.map((value, k) => value - move[k]);
    const there = evaluate(problem, next);
    const gain = here.value - there.value;
    if (gain >= 1e-4 * promise || (promise < 1e-6 && gain >= -1e-15 * Math.abs(here.value))) {
      [theta, here] = [next, there];
    }
    if (gain > 0.25 * promise) damping = Math.max(damping / 10, LEAST);
    else if (!(gain >= 1e-4 * promise)) damping = Math.max(10 * damping, 1e-8);
  }
  const { size, center } = problem;
  const scale = theta[0] / size;
  const offsets = Array.from(center, (middle, k) => (k < D - 1 ? theta[k + 1] : 0) - scale * middle);
  const mean = offsets.reduce((sum, b) => sum + b, 0) / D;
  return { scale, offsets: offsets.map((b) => b - mean) };
}

/** Scores about their mean, in units of their typical size, of at most so many samples of each class. */
function makeProblem(logLikelihoods, truth, n, D) {
  const [all, seen, counts, center] = Array.from({ length: 4 }, () => new Float64Array(D));
  for (let i = 0; i < n; i++) all[truth[i]]++;
  const stride = Math.max(1, Math.ceil((n * D * (D + 20)) / MOST_WORK));
  const rows = [];
  for (let i = 0; i < n; i++) {
    const step = Math.min(stride, Math.max(1, Math.floor(all[truth[i]] / FEWEST)));
    if (seen[truth[i]]++ % step) continue; // by class: tables often have classes in turns
    rows.push(i);
    counts[truth[i]]++;
  }
  const empty = counts.findIndex((count) => count === 0);
  if (empty >= 0) throw new RangeError(`every class must have samples; class ${empty + 1} has none.`);
  const weights = counts.map((count) => 1 / (count * D));
  for (const i of rows) for (let j = 0; j < D; j++) center[j] += weights[truth[i]] * logLikelihoods[i * D + j];
  const scores = new Float64Array(rows.length * D);
  const sizes = new Float64Array(rows.length);
  rows.forEach((i, m) => {
    let mean = 0;
    for (let j = 0; j < D; j++) mean += (scores[m * D + j] = logLikelihoods[i * D + j] - center[j]) / D;
    for (let j = 0; j < D; j++) sizes[m] += Math.abs((scores[m * D + j] -= mean)) / D; // a constant says nothing
  });
  const typical = sizes.reduce((sum, value) => sum + value, 0) / sizes.length;
  const size = sizes.slice().sort()[sizes.length >> 1] || typical || 1;
  return {
    D,
    weights,
    size,
    center,
    scores: scores.map((value) => value / size),
    truth: Uint16Array.from(rows, (i) => truth[i]),
    jeffreys: all.reduce((sum, count) => sum + 1 / count, 0) / (D * D),
  };
}

/** Cross-entropy less Jeffreys' prior, its slope, and the curvature of the cross-entropy. */
function evaluate(problem, theta) {
  const { D, scores, truth, weights, jeffreys } = problem;
  const p = new Float64Array(scores.length);
  const [slope, curvature] = [new Float64Array(D), new Float64Array(D * D)];
  let value = 0;
  for (let i = 0, at = 0; i < truth.length; i++, at += D) {
    const k = truth[i];
    const w = weights[k];
    value += w * fillPosteriors(p, scores, at, D, theta, k);
    let mean = 0;
    for (let j = 0; j < D; j++) mean += p[at + j] * scores[at + j];
    for (let j = 0; j < D; j++) curvature[0] += w * p[at + j] * (scores[at + j] - mean) * (scores[at + j] - mean);
    slope[0] += w * (mean - scores[at + k]);
    for (let j = 0; j < D - 1; j++) {
      const share = w * p[at + j];
      slope[j + 1] += share - (j === k ? w : 0);
      curvature[j + 1] += share * (scores[at + j] - mean);
      curvature[(j + 1) * (D + 1)] += share;
      for (let m = 0; m <= j; m++) curvature[(j + 1) * D + m + 1] -= share * p[at + m];
    }
  }
  for (let j = 1; j < D; j++) curvature[j * D] = curvature[j];
  for (let j = 1; j < D; j++) for (let m = 1; m < j; m++) curvature[m * D + j] = curvature[j * D + m];
  const { inverse, logDeterminant } = invert(curvature, D);
  addJeffreys(slope, p, problem, inverse);
  return { value: value - (jeffreys / 2) * logDeterminant, slope, curvature };
}

/** Put the posteriors of one sample into place; the cross-entropy of its true class is returned. */
function fillPosteriors(p, scores, at, D, theta, k) {
  let top = -Infinity;
  for (let j = 0; j < D; j++) {
    p[at + j] = theta[0] * scores[at + j] + (j < D - 1 ? theta[j + 1] : 0);
    if (p[at + j] > top) top = p[at + j];
  }
  const own = p[at + k] - top;
  let total = 0;
  for (let j = 0; j < D; j++) total += p[at + j] = Math.exp(p[at + j] - top);
  for (let j = 0; j < D; j++) p[at + j] /= total;
  return Math.log(total) - own;
}

/**
 * Take half of the slope of the log-determinant of the information from the slope: with M the covariance of the
 * recalibrated scores by it, it changes with these scores by p (g - p.g), g = diag M - 2 M p.
 */
function addJeffreys(slope, p, { D, scores, truth, weights, jeffreys }, inverse) {
  const [mean, product, g] = Array.from({ length: 3 }, () => new Float64Array(D));
  for (let i = 0, at = 0; i < truth.length; i++, at += D) {
    mean.fill(0); // of the slopes of the scores by the parameters
    for (let j = 0; j < D; j++) {
      mean[0] += p[at + j] * scores[at + j];
      if (j < D - 1) mean[j + 1] = p[at + j];
    }
    product.fill(0); // of the inverse and this mean
    for (let r = 0; r < D; r++) for (let m = 0; m < D; m++) product[r] += inverse[r * D + m] * mean[m];
    let middle = 0;
    for (let j = 0; j < D; j++) {
      const s = scores[at + j];
      g[j] = s * s * inverse[0] - 2 * s * product[0];
      if (j < D - 1) g[j] += 2 * s * inverse[j + 1] + inverse[(j + 1) * (D + 1)] - 2 * product[j + 1];
      middle += p[at + j] * g[j];
    }
    const w = (jeffreys / 2) * weights[truth[i]];
    for (let j = 0; j < D; j++) {
      const change = w * p[at + j] * (g[j] - middle);
      slope[0] -= change * scores[at + j];
      if (j < D - 1) slope[j + 1] -= change;
    }
  }
}

/** Inverse and log-determinant of a symmetric matrix that may be singular. */
function invert(A, D) {
  const rows = augment(A, D, SINGULAR, D, (row, i) => (row[D + i] = 1));
  const logDeterminant = eliminate(rows, D);
  const inverse = new Float64Array(D * D);
  rows.forEach((row, i) => inverse.set(row.subarray(D).map((value) => value / row[i]), i * D));
  return { inverse, logDeterminant };
}

/** Solution of (A + damping) x = b. */
function solve(A, b, D, damping) {
  const rows = augment(A, D, damping, 1, (row, i) => (row[D] = b[i]));
  eliminate(rows, D);
  return rows.map((row, i) => row[D] / row[i]);
}

/** Rows of a matrix with something added to its diagonal, and of further columns to their right. */
function augment(A, D, ridge, columns, fill) {
  return Array.from({ length: D }, (_, i) => {
    const row = new Float64Array(D + columns);
    row.set(A.subarray(i * D, (i + 1) * D));
    row[i] += ridge;
    fill(row, i);
    return row;
  });
}

/** Gaussian elimination with pivots, down to a diagonal; the log of the size of the determinant is returned. */
function eliminate(rows, D) {
  let log = 0;
  for (let c = 0; c < D; c++) {
    let best = c;
    for (let r = c + 1; r < D; r++) if (Math.abs(rows[r][c]) > Math.abs(rows[best][c])) best = r;
    [rows[c], rows[best]] = [rows[best], rows[c]];
    const pivot = rows[c];
    log += Math.log(Math.abs(pivot[c]));
    for (let r = 0; r < D; r++) {
      const row = rows[r];
      const factor = row[c] / pivot[c];
      if (r !== c && factor !== 0) for (let j = c; j < row.length; j++) row[j] -= factor * pivot[j];
    }
  }
  return log;
}
