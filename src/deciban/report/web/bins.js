// Where values lie: quantiles, bins of equally many values, and a range that shows most of two classes.

/** A quantile of sorted values, interpolated. */
export function quantile(sorted, q) {
  const at = q * (sorted.length - 1);
  const k = Math.min(Math.floor(at), sorted.length - 2);
  if (k < 0) return sorted[0];
  const share = at - k;
  const step = sorted[k + 1] - sorted[k];
  return share < 0.5 ? sorted[k] + step * share : sorted[k + 1] - step * (1 - share);
}

/** How many of sorted values lie below a point. */
export function countBelow(values, point) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < point) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The part, of equal parts of 0 to 1, in which a value lies; 1 is in the last. */
export function partOf(value, parts) {
  let k = Math.min(Math.floor(value * parts), parts - 1);
  if (value < k / parts) k--;
  else if (k < parts - 1 && value >= (k + 1) / parts) k++;
  return k;
}

/**
 * The bin of each value where bins hold equally many, and the number of bins; none is empty.
 *
 * Where many values are the same, quantiles coincide, and there are fewer bins.
 */
export function binsOfEqualCounts(values, nBins) {
  const sorted = Float64Array.from(values).sort();
  const quantiles = Array.from({ length: nBins + 1 }, (_, k) => quantile(sorted, k === nBins ? 1 : k * (1 / nBins)));
  const edges = Float64Array.from(quantiles.filter((edge, k) => k === 0 || edge > quantiles[k - 1]));
  // The largest values fill a bin where they are more than a bin's share.
  const last = edges.length - (quantiles[nBins - 1] === quantiles[nBins] ? 1 : 2);
  const binOf = new Uint16Array(values.length);
  const used = new Uint16Array(edges.length + 1);
  for (let row = 0; row < values.length; row++) {
    let k = 0;
    while (k < last && edges[k + 1] <= values[row]) k++;
    binOf[row] = k;
    used[k] = 1;
  }
  let count = 0;
  for (let k = 0; k < used.length; k++) used[k] = used[k] ? count++ : 0;
  for (let row = 0; row < values.length; row++) binOf[row] = used[binOf[row]];
  return { binOf, count };
}

const SOME = 20000; // values enough for quantiles that choose a range
const REACH = 3; // how far the range goes beyond the narrower class, in widths of that class

/**
 * A range that shows where the values of two classes are, whatever their tails.
 *
 * It holds nearly all of the class that is narrower, and of the other what lies within three widths of it, at
 * least three quarters. Zero is in it unless it is further off than the range is wide.
 */
export function commonRange(first, second) {
  const spans = [first, second].map(spanOf).filter((span) => span !== null);
  if (spans.length === 0) return [-1, 1];
  let low = Math.min(...spans.map((span) => span.low));
  let high = Math.max(...spans.map((span) => span.high));
  const narrow = spans.reduce((least, span) => (span.high - span.low < least.high - least.low ? span : least));
  const room = REACH * Math.max(narrow.high - narrow.low, 1);
  low = Math.max(low, Math.min(narrow.low - room, ...spans.map((span) => span.quartiles[0])));
  high = Math.min(high, Math.max(narrow.high + room, ...spans.map((span) => span.quartiles[1])));
  const width = high - low || 1;
  if (low > 0 && low <= width) low = 0;
  if (high < 0 && -high <= width) high = 0;
  return high > low ? [low, high] : [low - 0.5, low + 0.5];
}

/** Where nearly all finite values of a class lie, and half of them; null where none is finite. */
function spanOf(values) {
  const stride = Math.max(1, Math.floor(values.length / SOME));
  const some = [];
  let least = Infinity;
  let most = -Infinity;
  for (let k = 0; k < values.length; k++) {
    const value = values[k];
    if (value - value !== 0) continue; // infinite
    if (value < least) least = value;
    if (value > most) most = value;
    if (k % stride === 0) some.push(value);
  }
  if (least === Infinity) return null;
  const sorted = Float64Array.from(some.length ? some : [least, most]).sort();
  const [inner, outer] = [quantile(sorted, 0.005), quantile(sorted, 0.995)];
  const reach = (outer - inner) / 4;
  return {
    low: Math.max(least, inner - reach),
    high: Math.min(most, outer + reach),
    quartiles: [quantile(sorted, 0.25), quantile(sorted, 0.75)],
  };
}
