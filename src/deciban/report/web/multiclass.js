// Multinomial logistic regression with one scale and an offset for each class, each class counted alike.

const STEPS = 60;
const MOST_WORK = 2e7; // multiplications of a step; more samples are thinned

/**
 * Scale a and offsets b (summing to zero) that minimize the cross-entropy of a l + b under an even prior.
 *
 * Newton's method with a damped step. A weak pull of the scale toward 1 (the weight of one sample) keeps it finite
 * where no sample is on the wrong side.
 */
export function fitAffine(logLikelihoods, truth, n, D) {
  const stride = Math.max(1, Math.ceil((n * D * D) / MOST_WORK));
  const counts = new Float64Array(D);
  for (let i = 0; i < n; i += stride) counts[truth[i]]++;
  const empty = counts.findIndex((count) => count === 0);
  if (empty >= 0) throw new RangeError(`every class must have samples; class ${empty + 1} has none.`);
  const problem = {
    logLikelihoods,
    truth,
    n,
    D,
    stride,
    weights: counts.map((count) => 1 / (count * D)),
    pull: 1 / Math.ceil(n / stride),
  };
  let theta = Float64Array.from({ length: D }, (_, k) => Number(k === 0)); // scale, then offsets of all classes but the last
  let here = evaluate(problem, theta);
  for (let step = 0, damping = 1e-9; step < STEPS; step++) {
    const move = solve(here.curvature, here.slope, D, damping);
    const next = theta.map((value, k) => value - move[k]);
    const there = evaluate(problem, next);
    if (there.value <= here.value) {
      const gain = here.value - there.value;
      [theta, here, damping] = [next, there, Math.max(1e-9, damping / 10)];
      if (gain < 1e-12 * Math.max(1, here.value)) break;
    } else if (damping > 1e6) break;
    else damping *= 10;
  }
  const offsets = [...theta.subarray(1), 0],
    mean = offsets.reduce((sum, b) => sum + b, 0) / D;
  return { scale: theta[0], offsets: offsets.map((b) => b - mean) };
}

/** Cross-entropy with its slope and curvature, in one pass over the samples. */
function evaluate({ logLikelihoods, truth, n, D, stride, weights, pull }, theta) {
  const slope = new Float64Array(D),
    curvature = new Float64Array(D * D),
    p = new Float64Array(D);
  let value = (pull * (theta[0] - 1) ** 2) / 2;
  slope[0] = pull * (theta[0] - 1);
  curvature[0] = pull;
  for (let i = 0; i < n; i += stride) {
    const at = i * D,
      k = truth[i],
      w = weights[k];
    let top = -Infinity,
      total = 0,
      mean = 0,
      square = 0;
    for (let j = 0; j < D; j++) {
      p[j] = theta[0] * logLikelihoods[at + j] + (j < D - 1 ? theta[j + 1] : 0);
      if (p[j] > top) top = p[j];
    }
    value -= w * (p[k] - top);
    for (let j = 0; j < D; j++) total += p[j] = Math.exp(p[j] - top);
    value += w * Math.log(total);
    for (let j = 0; j < D; j++) {
      p[j] /= total;
      mean += p[j] * logLikelihoods[at + j];
      square += p[j] * logLikelihoods[at + j] ** 2;
    }
    slope[0] += w * (mean - logLikelihoods[at + k]);
    curvature[0] += w * (square - mean * mean);
    for (let j = 0; j < D - 1; j++) {
      slope[j + 1] += w * (p[j] - Number(j === k));
      curvature[j + 1] += w * p[j] * (logLikelihoods[at + j] - mean);
      for (let m = 0; m <= j; m++) curvature[(j + 1) * D + m + 1] += w * p[j] * (Number(j === m) - p[m]);
    }
  }
  for (let j = 0; j < D; j++)
    for (let m = 0; m < j; m++) curvature[m === 0 ? j * D : m * D + j] = curvature[m === 0 ? j : j * D + m];
  return { value, slope, curvature };
}

/** Solution of (A + damping) x = b by Gaussian elimination with pivots. */
function solve(A, b, D, damping) {
  const rows = Array.from({ length: D }, (_, i) => [
    ...A.subarray(i * D, (i + 1) * D).map((v, j) => (i === j ? v * (1 + damping) + 1e-12 : v)),
    b[i],
  ]);
  for (let c = 0; c < D; c++) {
    let best = c;
    for (let r = c + 1; r < D; r++) if (Math.abs(rows[r][c]) > Math.abs(rows[best][c])) best = r;
    [rows[c], rows[best]] = [rows[best], rows[c]];
    for (let r = 0; r < D; r++) {
      if (r === c) continue;
      const factor = rows[r][c] / rows[c][c];
      for (let j = c; j <= D; j++) rows[r][j] -= factor * rows[c][j];
    }
  }
  return rows.map((row, i) => row[D] / row[i]);
}
