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

/** A table of texts or elements; the first cell of a row is its name. */
export function makeTable(heads, rows, { caption = null, ...properties } = {}) {
  const cell = (tag, scope) => (one) => (one instanceof Element ? one : make(tag, { ...scope, textContent: one }));
  const row = ([name, ...cells]) => make("tr", {}, cell("th", { scope: "row" })(name), cells.map(cell("td")));
  return make(
    "table",
    properties,
    caption && make("caption", { textContent: caption }),
    make("thead", {}, make("tr", {}, heads.map(cell("th", { scope: "col" })))),
    make("tbody", {}, rows.map(row))
  );
}

/** What scrolls if it is too wide. */
export function scroller(label, content, kind = "") {
  return make("div", { className: `scroll ${kind}`.trim(), tabIndex: 0, role: "region", "aria-label": label }, content);
}

/** A cell of a number, which is not broken. */
export const numberCell = (textContent, kind = "") => make("td", { className: `number ${kind}`.trim(), textContent });

export function makeCard(title, ...children) {
  return make("div", { className: "card" }, make("h3", { textContent: title }), ...children);
}

let labels = 0;

/** A label around an input; its name is the text alone, without the options of a select. */
export function labeled(text, input, className = "") {
  const id = `label-${++labels}`;
  input.setAttribute("aria-labelledby", id);
  return make("label", { className }, make("span", { id, textContent: text }), input);
}

export function makeSelect(options, properties = {}) {
  return make("select", properties, options.map(([value, text]) => make("option", { value, textContent: text })));
}

export function makeButton(text, onClick, properties = {}) {
  const button = make("button", { type: "button", textContent: text, ...properties });
  button.addEventListener("click", onClick);
  return button;
}

/**
 * Let an input show a value, unless a reader is typing, and hand on what is entered, or say why it is refused.
 *
 * @param read () => value to show
 * @param write (number) => void, for values that the input allows; a sentence that it returns refuses the value
 * @returns function that shows the value anew
 */
export function bindNumber(input, read, write) {
  const isSlider = input.type === "range";
  let kept = null; // value that still holds where another one was refused
  input.addEventListener(isSlider ? "input" : "change", () => {
    const isFine = input.value !== "" && input.validity.valid && Number.isFinite(Number(input.value));
    const refusal = isFine ? write(Number(input.value)) : `This must be ${describeNumber(input)}`;
    kept = refusal ? read() : null;
    if (refusal) refuse(input, `${refusal}; got ${input.value || "none"}. It is still ${kept}.`);
    else accept(input);
  });
  return function show() {
    const isTyping = !isSlider && document.activeElement === input,
      isRefused = input.hasAttribute("aria-invalid") && read() === kept;
    if (isTyping || isRefused) return;
    accept(input);
    input.value = read();
  };
}

/** Which numbers an input allows, in words. */
function describeNumber({ min, max, step }) {
  const kind = step === "any" ? "a number" : "a whole number";
  const short = (text) => Number(text).toLocaleString("en", { maximumSignificantDigits: 9 });
  return min && max ? `${kind} from ${short(min)} to ${short(max)}` : min ? `${kind} of ${short(min)} or more` : kind;
}

/** Mark an input as wrong, and say why at the end of the box that it is in. */
function refuse(input, sentence) {
  accept(input);
  const note = make("p", {
    className: "alarm refusal", role: "alert", id: `refusal-${++labels}`, textContent: sentence,
  });
  input.closest(".edit-line, .controls, [data-box]").append(note);
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-errormessage", note.id);
}

/** Take back what was said about inputs, which then show what holds. */
export function forgetRefusals() {
  for (const input of document.querySelectorAll("[aria-invalid]")) accept(input);
}

function accept(input) {
  if (!input.hasAttribute("aria-invalid")) return;
  document.getElementById(input.getAttribute("aria-errormessage"))?.remove();
  input.removeAttribute("aria-invalid");
  input.removeAttribute("aria-errormessage");
}

const COARSE = d3.format(".1%"), FINE = d3.format(".2%"), SIGNED = [0, 1, 2].map((digits) => d3.format(`+.${digits}f`));

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

/** Attributes of a selection of D3, for its call. */
export function set(selection, attributes) {
  for (const [name, value] of Object.entries(attributes)) selection.attr(name, value);
}
