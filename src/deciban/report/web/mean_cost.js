// The mean of softplus(x + shift) over many x, for many shifts: what LLRs cost over all priors.

const CELL = 1 / 16; // nats: over this width six derivatives of a cost are exact to 1e-14

/**
 * Groups of neighbors, at most CELL wide, of sorted values x of which the mean of softplus(x + shift) is wanted
 * for many shifts: their middle, and the sums of the powers of the distances from it over k!. Weights have a mean of
 * one.
 */
export function groupCosts(sorted, weight = null) {
  let end = sorted.length;
  while (end > 0 && sorted[end - 1] === Infinity) end--;
  if (end < sorted.length) return { infinite: true };
  const [middles, moments] = [[], []];
  let start = 0;
  while (start < end && sorted[start] === -Infinity) start++; // they cost nothing
  while (start < end) {
    let next = start + 1;
    while (next < end && sorted[next] - sorted[start] <= CELL) next++;
    const middle = sorted[start] + (sorted[next - 1] - sorted[start]) / 2;
    const sums = [0, 0, 0, 0, 0, 0, 0];
    for (let k = start; k < next; k++) {
      const step = sorted[k] - middle;
      for (let power = 0, term = weight ? weight[k] : 1; power < 7; term *= step / ++power) sums[power] += term;
    }
    middles.push(middle);
    moments.push(...sums);
    start = next;
  }
  return { middles: Float64Array.from(middles), moments: Float64Array.from(moments), n: sorted.length };
}

/** Mean of softplus(x + shift) over all x, by its Taylor series about the middle of each group. */
export function meanCost({ middles, moments, n, infinite }, shift) {
  if (infinite) return Infinity;
  let total = 0;
  for (let k = 0, at = 0; k < middles.length; k++, at += 7) {
    const x = middles[k] + shift;
    const small = Math.exp(-Math.abs(x));
    const slope = (x >= 0 ? 1 : small) / (1 + small);
    const bend = small / ((1 + small) * (1 + small));
    const odd = ((x >= 0 ? -1 : 1) * (1 - small)) / (1 + small); // 1 - 2 slope
    total += moments[at] * (Math.max(x, 0) + Math.log1p(small)) + moments[at + 1] * slope;
    total += bend * (moments[at + 2] + moments[at + 3] * odd + moments[at + 4] * (1 - 6 * bend));
    total += bend * (moments[at + 5] * odd * (1 - 12 * bend) + moments[at + 6] * (1 - 30 * bend * (1 - 4 * bend)));
  }
  return total / n;
}
