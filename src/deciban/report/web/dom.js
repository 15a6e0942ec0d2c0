// Elements, and inputs that follow a value.

/** An element with properties ("aria-..." and "data-..." are attributes) and children. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-")) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

let labels = 0;

/** A label around an input; its name is the text alone, without the options of a select. */
export function labeled(text, input, className = "") {
  const id = `label-${++labels}`;
  input.setAttribute("aria-labelledby", id);
  return make("label", { className }, make("span", { id, textContent: text }), input);
}

export function makeSelect(options, properties = {}) {
  return make(
    "select",
    properties,
    options.map(([value, text]) => make("option", { value, textContent: text }))
  );
}

export function makeButton(text, onClick, properties = {}) {
  const button = make("button", { type: "button", textContent: text, ...properties });
  button.addEventListener("click", onClick);
  return button;
}

/**
 * Let an input show a value, unless a reader is typing, and hand on what is entered.
 *
 * @param read () => value to show
 * @param write (number) => void, for values that the input allows
 * @returns function that shows the value anew
 */
export function bindNumber(input, read, write) {
  const isSlider = input.type === "range";
  input.addEventListener(isSlider ? "input" : "change", () => {
    const value = Number(input.value);
    if (input.value !== "" && input.validity.valid && Number.isFinite(value)) write(value);
    else show(true);
  });
  function show(force = false) {
    if (force || isSlider || document.activeElement !== input) input.value = read();
  }
  return show;
}

const COARSE = d3.format(".1%"),
  FINE = d3.format(".2%"),
  SIGNED = [0, 1, 2].map((digits) => d3.format(`+.${digits}f`));

/** A probability as a percentage, with digits where it is near to 0 or 1. */
export function percent(p) {
  if (!(p > 0)) return "0%";
  if (p >= 1) return "100%";
  if (p < 0.0001 || p > 0.9999) return p < 0.5 ? "<0.01%" : ">99.99%";
  return (p < 0.001 || p > 0.999 ? FINE : COARSE)(p);
}

/** A signed number with a real minus, short. */
export function signed(x, digits = 1) {
  if (!Number.isFinite(x)) return x > 0 ? "+∞" : x < 0 ? "−∞" : "undefined";
  return SIGNED[digits](x);
}
