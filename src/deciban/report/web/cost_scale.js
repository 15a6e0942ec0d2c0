// Colors of costs on a fixed scale from 0 to 1 bit, and the key to it.

import { isDark } from "./colors.js";
import { set } from "./dom.js";

const tones = () =>
  isDark()
    ? { low: "#222a33", high: "#8fd0fa", harm: "#f08a3c", none: "#1b2027" }
    : { low: "#f3f7fa", high: "#08467a", harm: "#c85200", none: "#ffffff" };

/** Color of a cost in bits, on a fixed scale from 0 to 1; above 1 the evidence does harm. */
export function costColor(cost) {
  const { low, high, harm, none } = tones();
  if (Number.isNaN(cost)) return none;
  return cost > 1 ? harm : d3.interpolateLab(low, high)(Math.max(0, cost));
}

/** Black or white, whichever can be read on a color. */
export function inkOn(color) {
  const { r, g, b } = d3.rgb(color);
  const linear = [r, g, b].map((v) => v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179 ? "#000" : "#fff";
}

/** The scale: from 0 to 1 bit, and what is worse than no evidence. */
export function costKey(width) {
  const length = Math.min(240, width - 150);
  const svg = d3
    .create("svg")
    .call(set, {
      viewBox: `0 0 ${length + 140} 34`, width: length + 140, role: "img",
      "aria-label": "Scale of colors from 0 to 1 bit; above 1 bit the evidence does harm.",
    });
  d3.range(40).forEach((k) =>
    svg
      .append("rect")
      .call(set, { x: 8 + (k * length) / 40, width: length / 40 + 0.5, height: 12, fill: costColor((k + 0.5) / 40) })
  );
  [0, 0.5, 1].forEach((tick) =>
    svg
      .append("text")
      .call(set, {
        x: 8 + tick * length, y: 28, class: "soft", "text-anchor": tick === 0 ? "start" : tick === 1 ? "end" : "middle",
      })
      .text(tick === 1 ? "1 bit" : tick)
  );
  svg.append("rect").attr("x", length + 24).attr("width", 24).attr("height", 12).attr("fill", costColor(2));
  svg.append("text").attr("x", length + 24).attr("y", 28).attr("class", "soft").text("above 1: harm");
  return svg.node();
}
