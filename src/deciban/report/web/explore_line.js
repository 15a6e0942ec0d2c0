// Bayes' walk between two hypotheses: log-odds on a line.

import { classColor } from "./colors.js";
import { percent } from "./dom.js";
import { center, priorOf, sidesOf } from "./explore_edit.js";
import { UNITS, decide } from "./geometry.js";

const HEIGHT = 152,
  SIDE = 26,
  CELLS = 600;
const KEYS = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1 };
const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** Draw the walk on a line of log-odds, in favor of the first of the pair to the right. */
export function drawLine(box, values, points, app) {
  const { names, unit } = values,
    { factor, label } = UNITS[unit];
  const width = Math.max(260, box.clientWidth);
  const [a, b] = sidesOf(values),
    odds = points.map((v) => v[a] - v[b]);
  const line = (box.line ??= { limit: 0, dragging: false });
  if (!line.dragging) line.limit = Math.max(7, 1.2 * d3.max(odds, Math.abs));
  line.x = d3.scaleLinear([-line.limit, line.limit], [SIDE, width - SIDE]);
  const { x } = line;
  if (!line.svg || !box.contains(line.svg.node())) {
    line.svg = d3.select(box.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "svg")));
    box.replaceChildren(line.svg.node());
  }
  const svg = line.svg
    .attr("width", width)
    .attr("height", HEIGHT)
    .attr("role", "group")
    .attr("aria-label", "Log-odds of the two hypotheses, with decision regions");
  drawFrame(svg, values, [a, b], x, width, factor, label);
  const level = (i) => 96 - 16 * Math.min(i, 4);
  svg
    .selectAll("path.walk-arrow")
    .data(values.pieces)
    .join("path")
    .attr("class", "walk-arrow")
    .attr("marker-end", "url(#arrow-head)")
    .attr(
      "d",
      (_, i) => `M${x(odds[i])},${level(i)}L${x(odds[i])},${level(i + 1)}L${x(odds[i + 1])},${level(i + 1)}`
    );
  const last = odds.length - 1,
    isLeft = (v, i) => x(v) > width - 90 || (i > 0 && v < odds[i - 1] && x(v) > 90);
  const handles = svg
    .selectAll("g.handle")
    .data(odds)
    .join((enter) => addHandles(enter, line, app))
    .raise();
  handles
    .attr("transform", (v, i) => `translate(${x(v)},${level(i)})`)
    .classed("is-prior", (_, i) => i === 0)
    .classed("is-posterior", (_, i) => i > 0 && i === last)
    .attr("aria-label", (_, i) =>
      i === 0 ? "Prior" : `${i === last ? "Posterior, end" : "End"} of evidence ${i}`
    )
    .attr("aria-valuenow", (v) => Math.round(100 * sigmoid(v)))
    .attr("aria-valuetext", (v) => `${names[a]} ${percent(sigmoid(v))}`);
  handles
    .select("text")
    .text((_, i) => (i === 0 ? "prior" : i === last ? "posterior" : `${i}`))
    .attr("x", (v, i) => (isLeft(v, i) ? -13 : 13))
    .attr("text-anchor", (v, i) => (isLeft(v, i) ? "end" : "start"));
}

/** Decision regions, the axis and the names. */
function drawFrame(svg, { names, costs, reject }, [a, b], x, width, factor, label) {
  svg
    .selectAll("rect.region")
    .data(findRegions(x.domain()[1], a, costs, reject))
    .join("rect")
    .attr("class", "region")
    .attr("y", 10)
    .attr("height", 100)
    .attr("x", (d) => x(d.from))
    .attr("width", (d) => x(d.to) - x(d.from))
    .style("fill", (d) => (d.k === 2 ? "var(--soft)" : classColor(d.k, 2)));
  const axis = d3.scaleLinear(
    x.domain().map((v) => v * factor),
    x.range()
  );
  svg
    .selectAll("g.axis")
    .data([0])
    .join("g")
    .attr("class", "axis")
    .attr("transform", "translate(0,110)")
    .call(d3.axisBottom(axis).ticks(width < 500 ? 5 : 9));
  const texts = [
    [`← ${names[b]}`, SIDE, "start", b],
    [`${names[a]} →`, width - SIDE, "end", a],
  ];
  svg
    .selectAll("text.class-name")
    .data(texts)
    .join("text")
    .attr("class", "class-name")
    .attr("y", 24)
    .attr("x", (d) => d[1])
    .attr("text-anchor", (d) => d[2])
    .style("fill", (d) => classColor(d[3], 2))
    .text((d) => d[0]);
  svg
    .selectAll("text.axis-name")
    .data([0])
    .join("text")
    .attr("class", "axis-name")
    .attr("x", width - SIDE)
    .attr("y", 147)
    .attr("text-anchor", "end")
    .text(`log-odds (${label})`);
}

/** Stretches of log-odds with one decision each. */
function findRegions(limit, favored, costs, reject) {
  const ends = d3.range(CELLS + 1).map((c) => -limit + (2 * limit * c) / CELLS);
  const middles = Float64Array.from({ length: 2 * CELLS }, (_, i) =>
    i % 2 === favored ? (ends[i >> 1] + ends[(i >> 1) + 1]) / 2 : 0
  );
  const choice = decide(middles, CELLS, 2, [0.5, 0.5], costs, reject);
  const found = [];
  choice.forEach((k, c) => {
    if (found.at(-1)?.k === k) found.at(-1).to = ends[c + 1];
    else found.push({ k, from: ends[c], to: ends[c + 1] });
  });
  return found;
}

function addHandles(enter, line, { state, renew }) {
  const handle = enter
    .append("g")
    .attr("class", "handle")
    .attr("tabindex", 0)
    .attr("role", "slider")
    .attr("aria-valuemin", 0)
    .attr("aria-valuemax", 100);
  handle.append("circle").attr("class", "grip").attr("r", 18);
  handle.append("circle").attr("class", "knob").attr("r", 7);
  handle.append("text").attr("y", 4);
  const indexOf = (node) => line.svg.selectAll("g.handle").nodes().indexOf(node);
  handle.call(
    d3
      .drag()
      .container(() => line.svg.node())
      .on("start", () => (line.dragging = true))
      .on("drag", function (event) {
        move(state, indexOf(this), Math.max(-line.limit, Math.min(line.limit, line.x.invert(event.x))));
      })
      .on("end", () => {
        line.dragging = false;
        renew();
      })
  );
  handle.on("keydown", function (event) {
    if (!(event.key in KEYS)) return;
    event.preventDefault();
    const step = (KEYS[event.key] * (event.shiftKey ? 10 : 1) * Math.LN10) / 10; // a deciban, or ten
    move(state, indexOf(this), d3.select(this).datum() + step);
  });
  return handle;
}

function move(state, i, odds) {
  const { prior, pieces } = state.get(),
    [a, b] = sidesOf(state.get());
  const logs = (llr) => (a === 0 ? [llr, 0] : [0, llr]);
  if (i === 0) return state.set({ prior: priorOf(logs(odds)) });
  let before = Math.log(prior[a] / prior[b]);
  for (const piece of pieces.slice(0, i - 1)) before += piece[a] - piece[b];
  return state.set({ pieces: pieces.map((one, j) => (j === i - 1 ? center(logs(odds - before)) : one)) });
}
