// Logistic regression of two classes on one score, with Jeffreys' prior (Firth, 1993), by damped Newton steps.

const SINGULAR = 1e-13; // information, relative to its size, that counts as none
const LEAST = 1e-14; // smallest damping
const STEPS = 500;

/**
 * Slope and intercept that minimize the cross-entropy less Jeffreys' prior: { slope, intercept }.
 *
 * The problem holds scores of targets and nonTargets, the weight of a sample of each, the prior logOdds and the
 * weight of half the log-determinant of the information (jeffreys).
 */
export function minimizeCrossEntropy(problem, start = [0, 0]) {
  const size = sizes(problem);
  let theta = start;
  let here = evaluate(problem, theta, size);
  let damping = LEAST;
  for (let k = 0; k < STEPS; k++) {
    const step = newtonStep(here, size, damping);
    const promise = -(step[0] * here.slope[0] + step[1] * here.slope[1]);
    if (promise < 1e-15) return { slope: theta[0], intercept: theta[1] };
    const next = [theta[0] + step[0], theta[1] + step[1]];
    const there = evaluate(problem, next, size);
    const gain = here.value - there.value;
    if (gain >= 1e-4 * promise || (promise < 1e-6 && gain >= -1e-15 * Math.abs(here.value))) {
      [theta, here] = [next, there];
    }
    if (gain > 0.25 * promise) damping = Math.max(damping / 10, LEAST);
    else if (!(gain >= 1e-4 * promise)) damping = Math.max(10 * damping, 1e-8);
  }
  throw new Error(`the recalibration must reach its optimum; it did not in ${STEPS} steps. Check for outliers.`);
}

/** Upper bounds on the roots of the second derivatives by slope and intercept. */
function sizes({ target, nonTarget, weights }) {
  const some = [...everyFew(target, 2000), ...everyFew(nonTarget, 2000)].map(Math.abs);
  const sorted = Float64Array.from(some).sort();
  const middle = sorted[sorted.length >> 1];
  const typical = middle > 0 ? middle : sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  const total = weights[0] * target.length + weights[1] * nonTarget.length;
  return [Math.sqrt((typical * typical * total) / 2 + 1e-20), Math.SQRT1_2];
}

/** At most about so many of the values, evenly spaced. */
export function everyFew(values, most) {
  const stride = Math.max(1, Math.floor(values.length / most));
  return stride === 1 ? values : values.filter((_, k) => k % stride === 0);
}

/** Value, slope and information at one point, in one pass over the scores. */
function evaluate({ target, nonTarget, weights, logOdds, jeffreys }, [a, c], size) {
  const sums = new Float64Array(10); // value, two slopes, three of the information, four of its slope
  addClass(sums, target, weights[0], 1, a, c + logOdds);
  addClass(sums, nonTarget, weights[1], 0, a, c + logOdds);
  const information = [sums[3], sums[4], sums[5]];
  const [s, t] = size;
  const [A, B, C] = [sums[3] / (s * s) + SINGULAR, sums[4] / (s * t), sums[5] / (t * t) + SINGULAR];
  const determinant = A * C - B * B;
  const [P, Q, R] = [C / determinant / (s * s), -B / determinant / (s * t), A / determinant / (t * t)];
  const slope = [
    sums[1] - (jeffreys / 2) * (P * sums[9] + 2 * Q * sums[8] + R * sums[7]),
    sums[2] - (jeffreys / 2) * (P * sums[8] + 2 * Q * sums[7] + R * sums[6]),
  ];
  const value = determinant > 0 ? sums[0] - (jeffreys / 2) * Math.log(determinant) : Infinity;
  return { value, slope, information };
}

function addClass(sums, scores, weight, label, a, shift) {
  for (let k = 0; k < scores.length; k++) {
    const s = scores[k];
    const z = a * s + shift;
    const small = Math.exp(-Math.abs(z));
    const p = (z >= 0 ? 1 : small) / (1 + small);
    const q = (z >= 0 ? small : 1) / (1 + small);
    const bend = weight * p * q;
    const turn = bend * (q - p);
    const away = weight * (label ? -q : p);
    sums[0] += weight * (Math.log1p(small) + Math.max(label ? -z : z, 0));
    sums[1] += away * s;
    sums[2] += away;
    sums[3] += bend * s * s;
    sums[4] += bend * s;
    sums[5] += bend;
    sums[6] += turn;
    sums[7] += turn * s;
    sums[8] += turn * s * s;
    sums[9] += turn * s * s * s;
  }
}

function newtonStep({ slope, information }, [s, t], damping) {
  const A = information[0] / (s * s) + damping;
  const B = information[1] / (s * t);
  const C = information[2] / (t * t) + damping;
  const determinant = A * C - B * B;
  const [g, h] = [slope[0] / s, slope[1] / t];
  return [-(C * g - B * h) / determinant / s, -(A * h - B * g) / determinant / t];
}
