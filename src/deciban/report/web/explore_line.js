// Bayes' walk between two hypotheses: log-odds on a line.

import { classColor } from "./colors.js";
import { make, percent, set } from "./dom.js";
import { center, priorOf, sidesOf } from "./explore_edit.js";
import { UNITS, decide } from "./geometry.js";

const FRAME = 110, // lower end of the handles; samples are below it
  LANE = 22,
  SIDE = 26,
  CELLS = 600;
const KEYS = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1 };
const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** Draw the walk on a line of log-odds, in favor of the first of the pair to the right, above the samples. */
export function drawLine(box, values, points, app, groups) {
  const { names, unit } = values, { factor, label } = UNITS[unit];
  const width = Math.max(260, box.clientWidth);
  const [a, b] = sidesOf(values), odds = points.map((v) => v[a] - v[b]);
  const line = (box.line ??= { limit: 0, dragging: false });
  line.lanes = laneSamples(groups ?? [], [a, b], odds[0]);
  if (!line.dragging) line.limit = Math.max(7, 1.2 * d3.max(odds, Math.abs), reachOf(line.lanes));
  line.x = d3.scaleLinear([-line.limit, line.limit], [SIDE, width - SIDE]);
  const { x } = line;
  if (!line.svg || !box.contains(line.svg.node())) {
    line.svg = d3.create("svg");
    line.note = make("p", { className: "note" });
    box.replaceChildren(line.svg.node(), line.note);
    line.svg.on("click", (event) => openSample(event, line, app.state));
  }
  line.note.textContent = line.lanes.length
    ? "Each point is a sample, at its posterior under the prior; those beside the axis lie beyond it."
    : "";
  const bottom = FRAME + LANE * line.lanes.length;
  const svg = line.svg
    .call(set, {
      width, height: bottom + 42, role: "group", "aria-label": "Log-odds of the two hypotheses, with decision regions",
    });
  drawFrame(svg, values, [a, b], x, width, bottom, factor, label);
  drawSamples(svg, line, names);
  const level = (i) => 96 - 16 * Math.min(i, 4);
  svg
    .selectAll("path.walk-arrow")
    .data(values.pieces)
    .join("path")
    .call(set, {
      class: "walk-arrow", "marker-end": "url(#arrow-head)",
      d: (_, i) => `M${x(odds[i])},${level(i)}L${x(odds[i])},${level(i + 1)}L${x(odds[i + 1])},${level(i + 1)}`,
    });
  const last = odds.length - 1, isLeft = (v, i) => x(v) > width - 90 || (i > 0 && v < odds[i - 1] && x(v) > 90);
  const handles = svg.selectAll("g.handle").data(odds).join((enter) => addHandles(enter, line, app)).raise();
  handles
    .attr("transform", (v, i) => `translate(${x(v)},${level(i)})`)
    .classed("is-prior", (_, i) => i === 0)
    .classed("is-posterior", (_, i) => i > 0 && i === last)
    .call(set, {
      "aria-label": (_, i) => i === 0 ? "Prior" : `${i === last ? "Posterior, end" : "End"} of evidence ${i}`,
      "aria-valuenow": (v) => Math.round(100 * sigmoid(v)),
      "aria-valuetext": (v) => `${names[a]} ${percent(sigmoid(v))}`,
    });
  handles
    .select("text")
    .text((_, i) => (i === 0 ? "prior" : i === last ? "posterior" : `${i}`))
    .attr("x", (v, i) => (isLeft(v, i) ? -13 : 13))
    .attr("text-anchor", (v, i) => (isLeft(v, i) ? "end" : "start"));
}

/** Decision regions, the axis and the names. */
function drawFrame(svg, { names, costs, reject }, [a, b], x, width, bottom, factor, label) {
  svg
    .selectAll("rect.region")
    .data(findRegions(x.domain()[1], a, costs, reject))
    .join("rect")
    .call(set, { class: "region", y: 10, height: bottom - 10, x: (d) => x(d.from), width: (d) => x(d.to) - x(d.from) })
    .style("fill", (d) => (d.k === 2 ? "var(--soft)" : classColor(d.k, 2)));
  const axis = d3.scaleLinear(x.domain().map((v) => v * factor), x.range());
  svg
    .selectAll("g.axis")
    .data([0])
    .join("g")
    .attr("class", "axis")
    .attr("transform", `translate(0,${bottom})`)
    .call(d3.axisBottom(axis).ticks(width < 500 ? 5 : 9));
  const texts = [[`← ${names[b]}`, SIDE, "start", b], [`${names[a]} →`, width - SIDE, "end", a]];
  svg
    .selectAll("text.class-name")
    .data(texts)
    .join("text")
    .call(set, { class: "class-name", y: 24, x: (d) => d[1], "text-anchor": (d) => d[2] })
    .style("fill", (d) => classColor(d[3], 2))
    .text((d) => d[0]);
  svg
    .selectAll("text.axis-name")
    .data([0])
    .join("text")
    .call(set, { class: "axis-name", x: width - SIDE, y: bottom + 37, "text-anchor": "end" })
    .text(`log-odds (${label})`);
}

/** Posterior log-odds of the drawn samples, a lane for each class that has some. */
function laneSamples(groups, [a, b], prior) {
  return groups
    .filter(({ index }) => index.length)
    .map(({ k, index, values }) => ({
      k,
      index,
      odds: Float64Array.from(index, (_, m) => values[2 * m + a] - values[2 * m + b] + prior),
    }));
}

/** Where all finite samples are but a few: a limit for the axis, in nats. */
function reachOf(lanes) {
  const lengths = lanes.flatMap(({ odds }) => Array.from(odds, Math.abs).filter(Number.isFinite));
  return lengths.length ? d3.quantile(lengths, 0.98) : 0;
}

/** Place of a drawn sample; beside the axis where it lies beyond, spread out across its lane. */
function placeSample({ x, limit }, lane, odds, m) {
  const beyond = odds > limit ? 8 : odds < -limit ? -8 : 0;
  const spread = (m * 0.618034) % 1;
  return [x(Math.max(-limit, Math.min(limit, odds))) + beyond, FRAME + LANE * lane + 3 + (LANE - 6) * spread];
}

function drawSamples(svg, line, names) {
  const size = d3.sum(line.lanes, ({ index }) => index.length) > 1000 ? 2.2 : 3.2;
  svg
    .selectAll("path.samples")
    .data(line.lanes)
    .join((enter) => enter.append("path").attr("class", "samples").call((path) => path.append("title")))
    .style("fill", ({ k }) => (k === 2 ? "var(--soft)" : classColor(k, 2)))
    .attr("d", ({ odds }, lane) => {
      const squares = Array.from(odds, (value, m) => {
        const [px, py] = placeSample(line, lane, value, m);
        return `M${(px - size / 2).toFixed(1)},${(py - size / 2).toFixed(1)}h${size}v${size}h${-size}z`;
      });
      return squares.join("");
    })
    .select("title")
    .text(({ k }) => (k === 2 ? "Samples whose class is not known" : `Samples of ${names[k]}`));
}

/** A click on a sample opens it. */
function openSample(event, line, state) {
  if (event.defaultPrevented || event.target.closest(".handle")) return;
  const [px, py] = d3.pointer(event, line.svg.node());
  let row = -1, nearest = 8 ** 2;
  line.lanes.forEach(({ index, odds }, lane) => {
    for (let m = 0; m < index.length; m++) {
      const [x, y] = placeSample(line, lane, odds[m], m), distance = (x - px) ** 2 + (y - py) ** 2;
      if (distance < nearest) [row, nearest] = [index[m], distance];
    }
  });
  if (row >= 0) state.set({ part: "sample", row });
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
    .call(set, { class: "handle", tabindex: 0, role: "slider", "aria-valuemin": 0, "aria-valuemax": 100 });
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
  const { prior, pieces } = state.get(), [a, b] = sidesOf(state.get());
  const logs = (llr) => (a === 0 ? [llr, 0] : [0, llr]);
  if (i === 0) return state.set({ prior: priorOf(logs(odds)) });
  let before = Math.log(prior[a] / prior[b]);
  for (const piece of pieces.slice(0, i - 1)) before += piece[a] - piece[b];
  return state.set({ pieces: pieces.map((one, j) => (j === i - 1 ? center(logs(odds - before)) : one)) });
}
