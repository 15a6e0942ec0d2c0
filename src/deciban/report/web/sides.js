// The samples of one side of a question, a class or a group: LLRs in order, and how much each counts.

/**
 * Sorted LLRs of several classes (sorted, of one class each) as one, and weights with a mean of one beside them.
 *
 * The LLR of a group mixes its classes by their prior, so that its samples must be mixed likewise: where they are not,
 * each class gets its share by weight, or figures would find fault with calibrated evidence. Weights are null where
 * all samples count alike.
 */
export function makeSide(llrs, members, prior) {
  const present = members.map((k, m) => ({ k, llr: llrs[m] })).filter((part) => part.llr.length);
  const total = (measure) => present.reduce((sum, part) => sum + measure(part), 0);
  const [n, mass] = [total((part) => part.llr.length), total((part) => prior[part.k])];
  const shares = present.map((part) => (prior[part.k] / mass) * (n / part.llr.length));
  if (shares.every((weight) => Math.abs(weight - 1) < 1e-9)) {
    const all = new Float64Array(n);
    present.reduce((at, part) => (all.set(part.llr, at), at + part.llr.length), 0);
    return { llr: present.length > 1 ? all.sort() : all, weights: null };
  }
  return mergeAll(present.map((part, m) => ({ llr: part.llr, weights: new Float64Array(part.llr.length).fill(shares[m]) })));
}

/** Sorted parts as one. */
function mergeAll(parts) {
  if (parts.length === 1) return parts[0];
  const middle = parts.length >> 1;
  return merge(mergeAll(parts.slice(0, middle)), mergeAll(parts.slice(middle)));
}

function merge(a, b) {
  const n = a.llr.length + b.llr.length;
  const both = { llr: new Float64Array(n), weights: new Float64Array(n) };
  for (let i = 0, j = 0; i + j < n; ) {
    const first = j === b.llr.length || (i < a.llr.length && a.llr[i] <= b.llr[j]);
    both.llr[i + j] = first ? a.llr[i] : b.llr[j];
    both.weights[i + j] = first ? a.weights[i] : b.weights[j];
    if (first) i++;
    else j++;
  }
  return both;
}
