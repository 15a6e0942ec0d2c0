// Several systems in one figure: each has one color and one dash in all of them.

import { classColor } from "./colors.js";
import { make, set } from "./dom.js";
import { missingSide } from "./drawing.js";

const DASHES = [null, "8 3", "2 3", "9 3 2 3", "5 2", "12 3 2 3 2 3"];
const MOST_SAID = 4; // systems
const WIDEST = 3; // times the narrowest range of LLRs, so that no system squeezes the others

/** Color and dash of system k of n. */
export function systemStyle(k, n) {
  return { color: classColor(k, n), dash: DASHES[k % DASHES.length] };
}

/** A short line in the color and the dash of a system. */
export function sampleLine({ color, dash }) {
  const svg = d3.create("svg").attr("width", 34).attr("height", 10).attr("aria-hidden", "true");
  svg
    .append("line")
    .call(set, { x1: 1, x2: 33, y1: 5, y2: 5, stroke: color, "stroke-width": 2.6, "stroke-dasharray": dash });
  return svg.node();
}

/** What is said of each system, where they are few enough to be read. */
export function sayEach(systems, say) {
  return systems.length <= MOST_SAID ? systems.map(say).join(" ") : "";
}

export function systemLegend(systems, ...more) {
  const items = systems.map((one) => make("li", {}, sampleLine(one), make("span", { textContent: one.name })));
  return make("ul", { className: "legend" }, ...items, ...more);
}

/** Ends of an axis for all systems: each has its own ends [low, high], around zero or on one side of it. */
export function shareRange(ends) {
  const [lows, highs] = d3.transpose(ends);
  const [low, high] = [d3.max(lows), d3.min(highs)];
  return [
    Math.max(d3.min(lows), low < 0 ? WIDEST * low : low),
    Math.min(d3.max(highs), high > 0 ? WIDEST * high : high),
  ];
}

/** Why the figures cannot be drawn, or null. */
export function missing(view) {
  return view.systems.length === 0 ? "No system is chosen: tick one above." : missingSide(view.systems[0]);
}

export function line(points, one, options) {
  return Plot.line(points, { stroke: one.color, strokeDasharray: one.dash, strokeWidth: 2.2, clip: true, ...options });
}
