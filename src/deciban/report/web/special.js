// Special functions that JavaScript lacks: the normal distribution, and intervals of a rate.

/** erfc(x), to about 1e-14 relative where it does not underflow. */
function erfc(x) {
  if (x < 0) return 2 - erfc(-x);
  if (x > 27.3) return 0;
  if (x < 2) {
    let term = x;
    let sum = x;
    for (let k = 1; term > 1e-17 * sum; k++) {
      term *= (2 * x * x) / (2 * k + 1);
      sum += term;
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }
  // Laplace's continued fraction, from the far end.
  let fraction = 0;
  for (let k = 150; k > 0; k--) fraction = k / 2 / (x + fraction);
  return Math.exp(-x * x) / (Math.sqrt(Math.PI) * (x + fraction));
}

/** Probability that a standard normal variable is below x. */
export function normalProbability(x) {
  return erfc(-x / Math.SQRT2) / 2;
}

/** The x below which a standard normal variable lies with this probability. */
export function normalQuantile(probability) {
  if (!(probability > 0 && probability < 1)) {
    throw new RangeError(`probability must lie between 0 and 1; got ${probability}.`);
  }
  if (probability > 0.5) return -normalQuantile(1 - probability);
  // The logarithm is concave, so that Newton's method converges from any start.
  const target = Math.log(probability);
  let x = -Math.sqrt(Math.max(0, -2 * target - 1.8));
  for (let step = 1, k = 0; Math.abs(step) > 1e-15 * Math.abs(x) && k < 60; k++) {
    const p = normalProbability(x);
    step = ((target - Math.log(p)) * p * Math.sqrt(2 * Math.PI)) / Math.exp((-x * x) / 2);
    x += step;
  }
  return x;
}

/** Mean of a Poisson number that reaches a count with this probability. */
function poissonMean(count, probability) {
  let mean = 0;
  for (let k = 0; k < 200; k++) {
    let term = 1;
    let below = 0;
    for (let j = 0; j < count; j++) {
      below += term;
      term *= mean / (j + 1);
    }
    // term is now mean^count / count!; the density of the mean is count / mean times it.
    const reached = 1 - Math.exp(-mean) * below;
    const density = mean === 0 ? Number(count === 1) : (Math.exp(-mean) * term * count) / mean;
    const step = density > 0 ? (probability - reached) / density : 0.1;
    mean = Math.max(mean + step, mean / 2);
    if (Math.abs(step) <= 1e-15 * mean) break;
  }
  return mean;
}

/**
 * Wilson's score interval of a rate, for k events in n samples.
 *
 * Where few events were seen, or few samples without one, the end towards that side is a Poisson number's.
 */
export function wilsonInterval(k, n, confidence) {
  const z2 = normalQuantile((1 - confidence) / 2) ** 2;
  const rate = k / n;
  const middle = rate + z2 / (2 * n);
  const half = Math.sqrt((z2 * (rate * (1 - rate) + z2 / (4 * n))) / n);
  let low = (middle - half) / (1 + z2 / n);
  let high = (middle + half) / (1 + z2 / n);
  const few = n <= 50 ? 2 : 3;
  const tail = (1 - confidence) / 2;
  if (k <= few && k > 0) low = Math.min(low, poissonMean(k, tail) / n);
  if (n - k <= few && k < n) high = Math.max(high, 1 - poissonMean(n - k, tail) / n);
  return [k === 0 ? 0 : low, k === n ? 1 : high]; // rounding must not shut out a rate of zero or one
}
