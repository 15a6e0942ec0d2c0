// The calibrated family of three classes: move the divergences, and everything else follows.

import { classColor, isDark } from "./colors.js";
import { bindNumber, make, makeButton, makeTable, numberCell, percent, set } from "./dom.js";
import { note } from "./drawing.js";
import { calibratedFamily, divergencesFromEers, eersOf, eigenOf, expectedCllr, fromUpperTriangle } from "./family.js";
import { UNITS, fromIlr } from "./geometry.js";
import { drawAxes, drawRegions, makePlane } from "./plane.js";

const PAIRS = [[0, 1], [0, 2], [1, 2]];
const MASSES = [0.5, 0.9]; // of the ellipses
const MOST = 30; // nats: an EER of 0.005 %
const COSTS = [[0, 1, 1], [1, 0, 1], [1, 1, 0]];

/** Part 2 in a section; the function that is returned draws the state. */
export function makeFamily(section, app) {
  const find = (name) => section.querySelector(`[data-box=${name}]`);
  const planes = ["plane", "triangle"].map((kind) =>
    makePlane(
      find(`family-${kind}`),
      kind,
      kind === "plane"
        ? "Ellipses of the three classes in the plane of ILR coordinates"
        : "The same ellipses as posteriors under an even prior"
    )
  );
  const family = { structure: "", shows: [], limit: 0 };
  return function draw(values) {
    const names = values.names.length === 3 ? values.names : ["A", "B", "C"];
    const structure = JSON.stringify([names, values.by, values.unit, isDark()]);
    if (structure !== family.structure) {
      family.structure = structure;
      family.shows = editDivergences(find("divergences"), names, values, app.state);
    }
    family.shows.forEach((show) => show());
    const found = calibratedFamily(fromUpperTriangle(values.divergences, 3), 3);
    showPossible(find("possible"), found, values, names, app.state);
    section.classList.toggle("impossible", !found.possible);
    if (found.family) drawFamily(planes, found, names, values);
    fillTable(find("family-table"), found, names, values);
  };
}

/** A slider and a number for each pair, of divergences or of EERs. */
function editDivergences(box, names, { by, unit }, state) {
  const { factor, label } = UNITS[unit], shows = [];
  const isEer = by === "eer";
  const rows = PAIRS.map(([a, b], i) => {
    const pair = `${names[a]} and ${names[b]}`;
    const what = isEer ? `EER of ${pair}, in percent` : `Divergence of ${pair}, in ${label}`;
    const read = () => {
      const d = state.get().divergences[i];
      return isEer ? 100 * eersOf([d])[0] : d * factor;
    };
    const write = (x) => {
      const d = isEer ? divergencesFromEers([Math.min(0.5, x / 100)])[0] : x / factor;
      state.set({
        divergences: state.get().divergences.map((old, j) => (j === i ? +Math.min(MOST, d).toPrecision(8) : old)),
      });
    };
    const range = isEer ? { min: 0.01, max: 50 } : { min: 0, max: MOST * factor };
    const slider = make("input", { type: "range", ...range, step: "any", "aria-label": what });
    const number = make("input", { type: "number", ...range, step: "any", "aria-label": `${what}, as a number` });
    shows.push(bindNumber(slider, read, write), bindNumber(number, () => +read().toPrecision(4), write));
    return make(
      "div",
      { className: "edit-row" },
      make("span", { className: "name", textContent: pair }),
      slider,
      make("span", { className: "with-unit" }, number, isEer ? "%" : label)
    );
  });
  const radio = (value, text) => {
    const input = make("input", { type: "radio", name: "family-by", value, checked: by === value });
    input.addEventListener("change", () => state.set({ by: value }));
    return make("label", { className: "check" }, input, make("span", { textContent: text }));
  };
  box.replaceChildren(
    make(
      "div",
      { className: "edit-line", role: "radiogroup", "aria-label": "What to move" },
      radio("divergence", "Divergences"),
      radio("eer", "Equal-error rates")
    ),
    ...rows
  );
  return shows;
}

/** A sentence on whether there is such a family, and a button to the nearest one. */
function showPossible(box, { possible, family }, { divergences }, names, state) {
  if (possible) {
    return box.replaceChildren(
      note("There is such a family: recognizers that tell the classes apart this well can be calibrated and Gaussian.")
    );
  }
  const most = d3.maxIndex(divergences), [a, b] = PAIRS[most];
  const sentence = family
    ? `No calibrated Gaussian family has these values: ${names[a]} and ${names[b]} are farther apart than the other two pairs allow. The square roots of the divergences must be the sides of a triangle.`
    : "No calibrated Gaussian family has these values: all divergences are zero, so no class can be told from another.";
  const take =
    family &&
    makeButton("Take the nearest family", () => {
      const d = family.divergences;
      // The nearest one lies on the edge of what is possible; a step inside keeps it there after rounding.
      state.set({
        divergences: PAIRS.map(([i, j], k) => +(d[3 * i + j] * (k === most ? 1 - 1e-6 : 1)).toPrecision(8)),
      });
    });
  return box.replaceChildren(make("p", { className: "alarm", role: "alert" }, sentence), ...(take ? [take] : []));
}

function drawFamily(planes, { family, possible }, names, values) {
  const { means, covariance } = family, { values: sizes, vectors } = eigenOf(covariance, 2);
  const radius = Math.sqrt(-2 * Math.log(1 - MASSES.at(-1)));
  const reach = d3.max(means, Math.abs) + radius * Math.sqrt(sizes[1]);
  const limit = [3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 27, 32, 40, 50].find((one) => one >= reach) ?? reach;
  const curve = (k, mass) =>
    d3.range(0, 121).map((s) => {
      const r = Math.sqrt(-2 * Math.log(1 - mass)), turn = (2 * Math.PI * s) / 120;
      const [u, v] = [r * Math.sqrt(Math.max(0, sizes[0])) * Math.cos(turn), r * Math.sqrt(sizes[1]) * Math.sin(turn)];
      return Array.from(
        fromIlr(
          [means[2 * k] + vectors[0] * u + vectors[1] * v, means[2 * k + 1] + vectors[2] * u + vectors[3] * v],
          1,
          3
        )
      );
    });
  const shapes = d3.range(3).flatMap((k) => MASSES.map((mass) => ({ k, mass, points: curve(k, mass) })));
  for (const plane of planes) {
    plane.resize(limit);
    drawAxes(plane, names, UNITS[values.unit]);
    drawRegions(plane, COSTS, null);
    plane.marks.classed("broken", !possible);
    plane.marks
      .selectAll("path")
      .data(shapes)
      .join("path")
      .attr("class", "ellipse")
      .attr("d", ({ points }) => d3.line()(points.map(plane.place)))
      .style("stroke", ({ k }) => classColor(k, 3))
      .style("fill", ({ k }) => classColor(k, 3))
      .attr("fill-opacity", ({ mass }) => (mass < 0.9 ? 0.3 : 0.12));
    const centers = d3.range(3).map((k) => Array.from(fromIlr([means[2 * k], means[2 * k + 1]], 1, 3)));
    plane.marks
      .selectAll("circle")
      .data(centers)
      .join("circle")
      .call(set, { class: "mean", r: 4, transform: (v) => `translate(${plane.place(v)})` })
      .style("fill", (_, k) => classColor(k, 3));
  }
}

/** Divergence, EER, Cllr and the distribution of the LLR of each pair. */
function fillTable(box, { family, possible }, names, { unit }) {
  if (!family) return box.replaceChildren();
  const { factor, label } = UNITS[unit], { divergences, eers } = family;
  const rows = PAIRS.map(([a, b]) => {
    const d = divergences[3 * a + b];
    const cells = [
      (d * factor).toPrecision(4),
      percent(eers[3 * a + b]),
      d3.format(".3f")(expectedCllr(d)),
      `±${(d * factor).toPrecision(3)}, sd ${(Math.sqrt(2 * d) * factor).toPrecision(3)}`,
    ];
    return [`${names[a]}, ${names[b]}`, ...cells.map((text) => numberCell(text))];
  });
  const heads = ["pair", `divergence (${label})`, "EER", "Cllr (bit)", `LLR (${label})`];
  return box.replaceChildren(makeTable(heads, rows, { caption: possible ? "The family" : "The nearest family" }));
}
