// The samples of a table under the prior: some of them as points, all of them in the counts.

import { classColor, themeColor } from "./colors.js";
import { toIlr } from "./geometry.js";
import { placeIlr, placeShares } from "./plane.js";

export const UNKNOWN = 65535; // true class of a sample whose class is not known
const DRAWN = 4000;
const FEWEST = 200; // drawn samples of each class, where it has them

/** Samples to draw, as evenly spread over each class as they come, by class. */
export function thinSamples(samples) {
  const { truth, n, D } = samples;
  const kind = (i) => (truth[i] === UNKNOWN ? D : truth[i]);
  const counts = new Uint32Array(D + 1), seen = new Uint32Array(D + 1);
  for (let i = 0; i < n; i++) counts[kind(i)]++;
  const strides = Array.from(counts, (count) => Math.max(1, count / Math.max(FEWEST, (DRAWN * count) / n)));
  const picked = Array.from(counts, () => []);
  for (let i = 0; i < n; i++) {
    const k = kind(i), before = seen[k]++;
    if (Math.floor(before / strides[k]) !== Math.floor((before - 1) / strides[k])) picked[k].push(i);
  }
  return picked.map((index, k) => thinned(samples, index, k));
}

function thinned({ logLikelihoods, D }, index, k) {
  const values = new Float64Array(index.length * D);
  index.forEach((i, m) => values.set(logLikelihoods.subarray(i * D, (i + 1) * D), m * D));
  const likelihoods = values.map(Math.exp);
  return { k, index, values, likelihoods, ilr: D === 3 ? toIlr(values, index.length, 3) : null };
}

/** Where all finite samples are but a few: a limit for the axes, in nats. */
export function reachOf(groups) {
  const lengths = groups.flatMap(({ ilr }) =>
    Array.from({ length: ilr.length / 2 }, (_, i) =>
      Math.max(Math.abs(ilr[2 * i]), Math.abs(ilr[2 * i + 1]))
    ).filter(Number.isFinite)
  );
  return lengths.length ? d3.quantile(lengths, 0.98) : 0;
}

/** Posteriors of the drawn samples in one of the planes, as points in the color of the true class. */
export function drawCloud(plane, context, groups, prior) {
  const D = prior.length;
  const [sx, sy] = toIlr(Float64Array.from(prior, Math.log), 1, D);
  const total = d3.sum(groups, ({ index }) => index.length);
  const size = total > 1000 ? 2.2 : 3.2;
  for (const { k, index, ilr, likelihoods } of groups) {
    context.fillStyle = k === D ? themeColor("soft") : classColor(k, D);
    context.globalAlpha = 0.75;
    for (let m = 0; m < index.length; m++) {
      const [x, y] =
        plane.kind === "plane"
          ? placeIlr(plane, ilr[2 * m] + sx, ilr[2 * m + 1] + sy)
          : placeShares(plane, ...prior.map((p, j) => p * likelihoods[3 * m + j]));
      if (isInside(plane, x, y)) context.fillRect(x - size / 2, y - size / 2, size, size);
    }
  }
  context.globalAlpha = 1;
}

function isInside({ kind, margin, inner, height }, x, y) {
  if (kind === "triangle") return true;
  return x >= margin.left && x <= margin.left + inner && y >= margin.top && y <= margin.top + height;
}

/** Index of the drawn sample at a pixel, or -1. */
export function findSample(plane, groups, prior, px, py) {
  const [sx, sy] = toIlr(Float64Array.from(prior, Math.log), 1, 3);
  let found = -1, nearest = 8 ** 2;
  for (const { index, ilr, likelihoods } of groups) {
    for (let m = 0; m < index.length; m++) {
      const [x, y] =
        plane.kind === "plane"
          ? placeIlr(plane, ilr[2 * m] + sx, ilr[2 * m + 1] + sy)
          : placeShares(plane, ...prior.map((p, j) => p * likelihoods[3 * m + j]));
      const distance = (x - px) ** 2 + (y - py) ** 2;
      if (distance < nearest) [found, nearest] = [index[m], distance];
    }
  }
  return found;
}
