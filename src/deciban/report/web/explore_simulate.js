// Scores of a system that could do better: samples of a calibrated family, made too bold and biased.

import { calibratedFamily, eigenOf, fromUpperTriangle } from "./family.js";
import { fromIlr } from "./geometry.js";

const EACH = 500,
  TOO_BOLD = 2.2,
  BIAS = [1.5, -0.5, -1]; // nats

/** Samples of three classes, the same at each call. */
export function simulateSamples(divergences, classes) {
  const { family } = calibratedFamily(fromUpperTriangle(divergences, 3), 3);
  if (!family) throw new Error("the family must tell classes apart; all of its divergences are zero.");
  const { values, vectors } = eigenOf(family.covariance, 2);
  const normal = d3.randomNormal.source(d3.randomLcg(0.16))(0, 1);
  const n = 3 * EACH, ilr = new Float64Array(2 * n), truth = new Uint16Array(n);
  for (let i = 0; i < n; i++) {
    const k = i % 3, u = Math.sqrt(values[0]) * normal(), v = Math.sqrt(values[1]) * normal();
    truth[i] = k;
    ilr[2 * i] = family.means[2 * k] + vectors[0] * u + vectors[1] * v;
    ilr[2 * i + 1] = family.means[2 * k + 1] + vectors[2] * u + vectors[3] * v;
  }
  const logLikelihoods = fromIlr(ilr, n, 3);
  for (let at = 0; at < 3 * n; at += 3) {
    for (let k = 0; k < 3; k++) logLikelihoods[at + k] = TOO_BOLD * logLikelihoods[at + k] + BIAS[k];
    const top = Math.max(...logLikelihoods.subarray(at, at + 3));
    for (let k = 0; k < 3; k++) logLikelihoods[at + k] -= top;
  }
  return { classes, truth, logLikelihoods, rows: Int32Array.from({ length: n }, (_, i) => i + 1), n, D: 3, total: n };
}
