// Calibration of all samples by one scale and an offset for each class.

import { fitAffine } from "./multiclass.js";

const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** The scale and the offsets (nats, summing to zero) that calibrate samples, or an error that says why not. */
export function fitCalibration({ logLikelihoods, truth, n, D }) {
  if (logLikelihoods.includes(-Infinity)) {
    throw new Error("scores must be finite to be calibrated; some rule a class out.");
  }
  return fitAffine(logLikelihoods, truth, n, D);
}

/** The samples on the way from before (0) to after (1) the calibration. */
export function calibrateSamples(samples, { scale, offsets }, share = 1) {
  const { logLikelihoods, n, D } = samples, values = new Float64Array(n * D);
  const factor = 1 + share * (scale - 1);
  for (let at = 0; at < n * D; at += D) {
    let top = -Infinity;
    for (let k = 0; k < D; k++) {
      values[at + k] = factor * logLikelihoods[at + k] + share * offsets[k];
      if (values[at + k] > top) top = values[at + k];
    }
    for (let k = 0; k < D; k++) values[at + k] -= top;
  }
  return { ...samples, logLikelihoods: values };
}

/** At most so many samples, spread over all: steps of one length would miss classes that come in turns. */
export function everyFewSamples(samples, most) {
  if (samples.n <= most) return samples;
  const { D, n } = samples,
    index = Int32Array.from({ length: most }, (_, m) => Math.floor(((m * GOLDEN) % 1) * n)).sort();
  const logLikelihoods = new Float64Array(most * D);
  index.forEach((i, m) => logLikelihoods.set(samples.logLikelihoods.subarray(i * D, (i + 1) * D), m * D));
  return {
    ...samples,
    n: most,
    logLikelihoods,
    truth: Uint16Array.from(index, (i) => samples.truth[i]),
    rows: Int32Array.from(index, (i) => samples.rows[i]),
  };
}
