// Colors of the classes: the same class has the same color on every page.

const OKABE_ITO = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const BRIGHT = ["#56b4e9", "#f08a3c", "#2cc79a", "#e39bc4", "#f2bc45", "#9ad4f7"]; // on dark ground

const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");

/** Whether colors are for dark ground: where the reader prefers it, but never on paper. */
export const isDark = () => dark.matches && !root.classList.contains("print");

const listeners = [];

/** Call a function (isPrint) => void when colors change: with the reader's preference, and for print. */
export const onNewColors = (listener) => listeners.push(listener);

function change(isPrint) {
  if (root.classList.contains("print") === isPrint) return; // told before, and the pages are laid out by now
  root.classList.toggle("print", isPrint);
  for (const listener of listeners) listener(isPrint);
}

dark.addEventListener("change", () => listeners.forEach((listener) => listener(false)));
matchMedia("print").addEventListener("change", (event) => change(event.matches));
addEventListener("beforeprint", () => change(true));
addEventListener("afterprint", () => change(false));

/** The color of class k of D. */
export function classColor(k, D) {
  const first = isDark() ? BRIGHT : OKABE_ITO;
  if (k < first.length) return first[k];
  // Further hues by the golden angle, in two lightnesses, so that neighbors differ.
  const hue = (47 + 137.508 * (k - first.length)) % 360;
  const lightness = (isDark() ? 62 : 38) + (k % 2 ? 8 : 0);
  return d3.hcl(hue, D > 12 ? 45 : 55, lightness).formatHex();
}

/** A value of the style sheet, such as themeColor("ink"). */
export function themeColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
