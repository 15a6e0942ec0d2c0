// The calibrated Gaussian family of D classes: ILR coordinates that are Gaussian under every class, with one
// covariance that fixes every mean and every divergence. Matrices are row-major Float64Arrays; divergences and
// EERs are D by D, a covariance (D - 1) by (D - 1).

import { ilrBasis } from "./geometry.js";
import { normalProbability, normalQuantile } from "./special.js";

const NEAREST_FLOOR = 1e-8; // smallest over largest eigenvalue of the nearest family

/**
 * The family with these divergences (nats): its covariance, means (D rows of D - 1), divergences and EERs.
 *
 * possible tells whether a family has them, which is so where smallestEigenvalue is above zero; if none has,
 * the family is the nearest one, whose divergences differ. It is null where all divergences are zero.
 */
export function calibratedFamily(divergences, D) {
  const d = requireDivergences(divergences, D);
  let covariance = covarianceOf(d, D);
  const { values, vectors } = eigenOf(covariance, D - 1);
  const possible = arePositive(values);
  const [smallestEigenvalue, largest] = [values[0], values[D - 2]];
  if (!possible && !(largest > 0)) return { possible, smallestEigenvalue, family: null };
  if (!possible) {
    covariance = composeMatrix(values.map((value) => Math.max(value, NEAREST_FLOOR * largest)), vectors, D - 1);
  }
  const found = possible ? d : divergencesOf(covariance, D);
  const family = { D, covariance, means: meansOf(covariance, D), divergences: found, eers: eersOf(found) };
  return { possible, smallestEigenvalue, family };
}

function requireDivergences(divergences, D) {
  const d = Float64Array.from(divergences);
  if (!(D >= 2) || d.length !== D * D) {
    throw new RangeError(`divergences must be ${D} rows of ${D}, two or more; got ${d.length} numbers.`);
  }
  for (let i = 0; i < D; i++) {
    if (d[i * D + i] !== 0) throw new RangeError("a class must not diverge from itself; got a diagonal above zero.");
    for (let j = 0; j < i; j++) {
      if (!(d[i * D + j] >= 0 && d[i * D + j] < Infinity) || d[i * D + j] !== d[j * D + i]) {
        throw new RangeError(`divergences must be symmetric, finite and not negative; got ${d[i * D + j]}.`);
      }
    }
  }
  return d;
}

/** A symmetric D by D matrix with a zero diagonal, from its upper triangle row by row. */
export function fromUpperTriangle(upper, D) {
  const matrix = new Float64Array(D * D);
  let k = 0;
  for (let i = 0; i < D; i++) for (let j = i + 1; j < D; j++) matrix[i * D + j] = matrix[j * D + i] = upper[k++];
  return matrix;
}

/** Covariance -V'ΔV of the family with these divergences; positive definite where there is one. */
export function covarianceOf(divergences, D) {
  const V = ilrBasis(D);
  const product = multiply(divergences, V, D, D, D - 1);
  const sigma = multiply(transpose(V, D, D - 1), product, D - 1, D, D - 1);
  const m = D - 1;
  return sigma.map((value, k) => -(value + sigma[(k % m) * m + Math.floor(k / m)]) / 2);
}

/** Whether rising eigenvalues are all above zero by more than rounding. */
function arePositive(values) {
  return values[0] > 16 * Number.EPSILON * values.length * Math.abs(values[values.length - 1]);
}

/** Mean of the ILR coordinates under each class, D rows of D - 1: Σ v_i - V' diag(V Σ V') / 2. */
export function meansOf(covariance, D) {
  const V = ilrBasis(D);
  const m = D - 1;
  const means = multiply(V, covariance, D, m, m);
  const center = new Float64Array(m);
  for (let i = 0; i < D; i++) {
    let variance = 0; // of the log-likelihood of class i
    for (let k = 0; k < m; k++) variance += means[i * m + k] * V[i * m + k];
    for (let k = 0; k < m; k++) center[k] += V[i * m + k] * variance;
  }
  return means.map((value, k) => value - center[k % m] / 2);
}

/** Divergences (nats) between the classes of the family with this covariance. */
export function divergencesOf(covariance, D) {
  const m = D - 1;
  const { values, vectors } = eigenOf(covariance, m);
  const rows = multiply(ilrBasis(D), vectors, D, m, m); // differences of rows do not cancel
  const divergences = new Float64Array(D * D);
  for (let i = 0; i < D; i++) {
    for (let j = 0; j < i; j++) {
      let square = 0;
      for (let k = 0; k < m; k++) square += values[k] * (rows[i * m + k] - rows[j * m + k]) ** 2;
      divergences[i * D + j] = divergences[j * D + i] = square / 2;
    }
  }
  return divergences;
}

/** Equal-error rates of pairs at these divergences: Φ(-√(d / 2)). */
export function eersOf(divergences) {
  return Float64Array.from(divergences, (d) => normalProbability(-Math.sqrt(d / 2)));
}

/** Divergences of pairs with these equal-error rates, above 0 and up to 0.5: 2 Φ⁻¹(EER)². */
export function divergencesFromEers(eers) {
  return Float64Array.from(eers, (eer) => {
    if (!(eer > 0 && eer <= 0.5)) throw new RangeError(`an EER must lie above 0 and up to 0.5; got ${eer}.`);
    return 2 * normalQuantile(eer) ** 2;
  });
}

/**
 * Expected Cllr of two classes at divergence d (nats), in bits, to about 1e-14.
 *
 * The density of the LLR is e^(-d/4) e^(l/2 - l²/4d) / √(4πd). The trapezoidal rule converges geometrically
 * on what is left when the first factor is set apart.
 */
export function expectedCllr(d) {
  if (d === 0) return 1;
  if (d > 3200) return 0; // less than the smallest number
  const step = Math.min(0.5, 0.7 * Math.sqrt(2 * d));
  const count = Math.ceil(Math.sqrt(180 * d) / step); // the integrand has fallen by e^-45 there
  const logs = Float64Array.from({ length: 2 * count + 1 }, (_, k) => {
    const l = step * (k - count);
    return l / 2 - (l * l) / (4 * d) + logSoftplus(-l);
  });
  const top = logs.reduce((most, value) => Math.max(most, value));
  const sum = logs.reduce((total, value) => total + Math.exp(value - top), 0);
  return Math.exp(top + Math.log(sum * step) - d / 4 - 0.5 * Math.log(4 * Math.PI * d)) / Math.LN2;
}

/** log(log(1 + e^x)), also where e^x underflows. */
function logSoftplus(x) {
  if (x < -30) return x - Math.exp(x) / 2;
  return Math.log(Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))));
}

function multiply(a, b, rows, inner, columns) {
  const product = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++) {
    for (let k = 0; k < inner; k++) {
      const factor = a[i * inner + k];
      for (let j = 0; j < columns; j++) product[i * columns + j] += factor * b[k * columns + j];
    }
  }
  return product;
}

function transpose(a, rows, columns) {
  return Float64Array.from(a, (_, k) => a[(k % rows) * columns + Math.floor(k / rows)]);
}

/** The symmetric matrix with these eigenvalues and eigenvectors, which are columns. */
function composeMatrix(values, vectors, m) {
  const scaled = vectors.map((entry, k) => entry * values[k % m]);
  return multiply(scaled, transpose(vectors, m, m), m, m, m);
}

/** Rising eigenvalues of a symmetric m by m matrix, and eigenvectors in columns, by Jacobi's rotations. */
export function eigenOf(matrix, m) {
  const A = Float64Array.from(matrix);
  const U = Float64Array.from(A, (_, k) => Number(k % (m + 1) === 0));
  let size = 0;
  for (const entry of A) size += entry * entry;
  for (let sweep = 0; sweep < 60; sweep++) {
    let off = 0;
    for (let i = 0; i < m; i++) for (let j = 0; j < i; j++) off += A[i * m + j] ** 2;
    if (off <= 1e-36 * size) break;
    for (let i = 1; i < m; i++) for (let j = 0; j < i; j++) rotate(A, U, m, i, j);
  }
  const order = Array.from({ length: m }, (_, k) => k).sort((i, j) => A[i * m + i] - A[j * m + j]);
  return {
    values: Float64Array.from(order, (k) => A[k * m + k]),
    vectors: U.map((_, k) => U[Math.floor(k / m) * m + order[k % m]]),
  };
}

/** Make the entry of rows i and j zero by a rotation of the two. */
function rotate(A, U, m, i, j) {
  if (A[i * m + j] === 0) return;
  const half = (A[j * m + j] - A[i * m + i]) / (2 * A[i * m + j]);
  const t = (half >= 0 ? 1 : -1) / (Math.abs(half) + Math.hypot(half, 1));
  const c = 1 / Math.hypot(t, 1);
  const s = t * c;
  const turn = (X, p, q) => ([X[p], X[q]] = [c * X[p] - s * X[q], s * X[p] + c * X[q]]);
  for (let k = 0; k < m; k++) turn(A, i * m + k, j * m + k);
  for (let k = 0; k < m; k++) turn(A, k * m + i, k * m + j);
  for (let k = 0; k < m; k++) turn(U, k * m + i, k * m + j);
}
