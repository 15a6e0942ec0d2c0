// Bayes' walk: from the prior, along each piece of evidence, to the posterior and the decision.

import { classColor, isDark } from "./colors.js";
import { make, makeTable, numberCell, percent, set } from "./dom.js";
import { drawCloud, findSample, reachOf, thinSamples } from "./explore_cloud.js";
import { countDecisions } from "./explore_counts.js";
import { center, editCosts, editPieces, editPrior, priorOf } from "./explore_edit.js";
import { drawLine } from "./explore_line.js";
import { drawTree } from "./explore_tree.js";
import { UNITS, decide, posterior } from "./geometry.js";
import { arrowPath, drawAxes, drawRegions, makePlane } from "./plane.js";

const STEP = 4,
  LEAP = 20; // pixels that an arrow key moves a handle, without and with shift
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Points of the walk: the logarithms of the prior, and those after each piece. */
export function walkPoints({ prior, pieces }) {
  const points = [Array.from(prior, Math.log)];
  for (const piece of pieces) points.push(points.at(-1).map((v, k) => v + piece[k]));
  return points;
}

/** Part 1 in a section; the function that is returned draws the state. */
export function makeWalk(section, app) {
  const find = (name) => section.querySelector(`[data-box=${name}]`);
  const parts = { planes: find("planes"), bars: find("bars"), counts: find("counts"), verdict: find("verdict") };
  const planes = ["plane", "triangle"].map((kind) =>
    makePlane(
      find(kind),
      kind,
      kind === "plane"
        ? "Plane of ILR coordinates with decision regions"
        : "Triangle of posteriors with decision regions"
    )
  );
  const walk = { app, planes, dragging: false, limit: 0, groups: null, samples: null, shows: [], structure: "" };
  for (const plane of planes) makeClickable(plane, walk);

  return function draw(values) {
    takeSamples(walk, values);
    renewEditors(walk, values, find);
    const points = walkPoints(values), D = values.names.length;
    section.dataset.hypotheses = D === 3 ? "three" : D === 2 ? "two" : "many";
    if (D === 3) drawPlanes(walk, values, points);
    else if (D === 2) drawLine(find("other"), values, points, app, walk.groups);
    else drawTree(find("other"), values, points);
    const result = posterior(
      Float64Array.from(points.at(-1), (v) => v - d3.max(points.at(-1))),
      1,
      D,
      values.names.map(() => 1 / D)
    );
    drawBars(parts.bars, values, result);
    parts.verdict.textContent = describeDecision(values, points.at(-1), result);
    drawCounts(parts.counts, walk.samples, values);
  };
}

function takeSamples(walk, values) {
  const samples = walk.app.samples();
  if (samples === walk.samples) return;
  walk.samples = samples;
  walk.groups = samples && values.names.length <= 3 ? thinSamples(samples) : null;
}

/** Inputs stay while a reader moves them, and are made anew where there are more or fewer. */
function renewEditors(walk, { names, pieces, unit }, find) {
  const structure = JSON.stringify([names, pieces.length, unit, isDark()]), { state } = walk.app;
  if (structure !== walk.structure) {
    walk.structure = structure;
    walk.shows = [
      editPrior(find("prior"), names, state), editPieces(find("pieces"), names, state),
      editCosts(find("costs"), names, state),
    ];
  }
  walk.shows.forEach((show) => show());
}

function drawPlanes(walk, values, points) {
  if (!walk.dragging) {
    const farthest = d3.max(points, (point) => d3.max(center(point), Math.abs));
    walk.limit = Math.ceil(Math.max(6, 1.25 * farthest, walk.groups ? reachOf(walk.groups) : 0));
  }
  const unit = UNITS[values.unit];
  for (const plane of walk.planes) {
    const look = JSON.stringify([values.names, values.unit, isDark()]);
    if (plane.resize(walk.limit) || plane.look !== look) drawAxes(plane, values.names, unit);
    plane.look = look;
    const context = drawRegions(plane, values.costs, values.reject);
    if (walk.groups) drawCloud(plane, context, walk.groups, values.prior);
    drawArrows(plane, values, points);
    drawHandles(plane, walk, values, points);
  }
}

function drawArrows(plane, { pieces }, points) {
  plane.marks
    .selectAll("path")
    .data(pieces)
    .join("path")
    .call(set, {
      class: "walk-arrow", d: (piece, i) => arrowPath(plane, points[i], piece), "marker-end": "url(#arrow-head)",
    });
}

function drawHandles(plane, walk, values, points) {
  const last = points.length - 1;
  const nameOf = (i) => (i === 0 ? "Prior" : `${i === last ? "Posterior, end" : "End"} of evidence ${i}`);
  const shares = (v) => posterior(Float64Array.from(v, (x) => x - d3.max(v)), 1, 3, [1, 1, 1]);
  const told = (v) => values.names.map((name, k) => `${name} ${percent(shares(v)[k])}`).join(", ");
  const handles = plane.handles.selectAll("g.handle").data(points).join((enter) => addHandles(enter, plane, walk));
  handles
    .attr("transform", (v) => `translate(${plane.place(v)})`)
    .classed("is-prior", (_, i) => i === 0)
    .classed("is-posterior", (_, i) => i === last && last > 0)
    .call(set, {
      "aria-label": (_, i) => nameOf(i), "aria-valuenow": (v) => Math.round(100 * shares(v)[0]), "aria-valuetext": told,
    });
  handles
    .select("text")
    .text((_, i) => (i === 0 ? "prior" : i === last ? "posterior" : `${i}`))
    .attr("x", (v) => (plane.place(v)[0] > plane.size - 90 ? -13 : 13))
    .attr("text-anchor", (v) => (plane.place(v)[0] > plane.size - 90 ? "end" : "start"));
}

function addHandles(enter, plane, walk) {
  const handle = enter
    .append("g")
    .call(set, { class: "handle", tabindex: 0, role: "slider", "aria-valuemin": 0, "aria-valuemax": 100 });
  handle.append("circle").attr("class", "grip").attr("r", 18);
  handle.append("circle").attr("class", "knob").attr("r", 7);
  handle.append("text").attr("y", 4);
  const indexOf = (node) => plane.handles.selectAll("g.handle").nodes().indexOf(node);
  handle.call(
    d3
      .drag()
      .container(plane.svg.node())
      .on("start", () => (walk.dragging = true))
      .on("drag", function (event) {
        move(walk, indexOf(this), plane.find(event.x, event.y));
      })
      .on("end", () => {
        walk.dragging = false;
        walk.app.renew();
      })
  );
  handle.on("keydown", function (event) {
    const i = indexOf(this);
    if (event.key === "Delete" && i > 0) return removePiece(walk, i);
    if (!(event.key in KEYS)) return undefined;
    event.preventDefault();
    const points = walkPoints(walk.app.state.get()), [x, y] = plane.place(points[i]);
    const [dx, dy] = KEYS[event.key].map((d) => d * (event.shiftKey ? LEAP : STEP));
    return move(walk, i, plane.find(x + dx, y + dy));
  });
  return handle;
}

/** Put a point of the walk elsewhere: the prior, or the piece of evidence that ends there. */
function move(walk, i, point) {
  const { state } = walk.app, values = state.get();
  if (i === 0) return state.set({ prior: priorOf(point) });
  const from = walkPoints(values)[i - 1];
  const piece = center(point.map((v, k) => v - from[k]));
  return state.set({ pieces: values.pieces.map((one, j) => (j === i - 1 ? piece : one)) });
}

function removePiece({ app: { state } }, i) {
  state.set({ pieces: state.get().pieces.filter((_, j) => j !== i - 1) });
}

/** A click on a sample opens it. */
function makeClickable(plane, walk) {
  plane.svg.on("click", (event) => {
    if (!walk.groups || event.defaultPrevented || event.target.closest(".handle")) return;
    const row = findSample(plane, walk.groups, walk.app.state.get().prior, ...d3.pointer(event));
    if (row >= 0) walk.app.state.set({ part: "sample", row });
  });
}

function drawBars(box, { names, prior }, result) {
  const D = names.length;
  const row = d3
    .select(box)
    .selectAll("div.bar-row")
    .data(names)
    .join((enter) => {
      const added = enter.append("div").attr("class", "bar-row");
      added.append("span").attr("class", "name");
      const track = added.append("span").attr("class", "bar-track");
      track.append("i").attr("class", "posterior");
      track.append("i").attr("class", "prior");
      added.append("span").attr("class", "bar-number");
      return added;
    });
  row.select(".name").text((name) => name);
  row
    .select(".posterior")
    .style("width", (_, k) => `${100 * result[k]}%`)
    .style("background", (_, k) => classColor(k, D));
  row.select(".prior").style("left", (_, k) => `${100 * prior[k]}%`);
  row.select(".bar-number").text((_, k) => `${percent(prior[k])} → ${percent(result[k])}`);
}

/** What the posterior is, and what to decide. */
function describeDecision({ names, costs, reject, pieces }, point, result) {
  const D = names.length, likeliest = tiesOf(names, (k) => -result[k]);
  const [choice] = decide(
    Float64Array.from(point, (v) => v - d3.max(point)),
    1,
    D,
    names.map(() => 1 / D),
    costs,
    reject
  );
  const expected = names.map((_, j) => d3.sum(names, (_, i) => result[i] * costs[i][j]));
  const cost = d3.format(".3~g")(choice === D ? reject : expected[choice]);
  const cheapest = tiesOf(names, (k) => expected[k]);
  const decision =
    choice === D
      ? `no decision, which costs ${cost}`
      : cheapest.length > 1
        ? `${join(cheapest, "or")}, at the same expected cost of ${cost}`
        : `${names[choice]}, at an expected cost of ${cost}`;
  const after = pieces.length
    ? `After ${pieces.length} ${pieces.length === 1 ? "piece" : "pieces"} of evidence`
    : "By the prior alone";
  const most = percent(d3.max(result));
  const state =
    likeliest.length > 1
      ? `${join(likeliest, "and")} are equally probable (${most} each)`
      : `${likeliest[0]} is the most probable (${most})`;
  return `${after}, ${state}. Decision: ${decision}.`;
}

/** Names of those with the least value, or one that is less than a millionth of it larger. */
function tiesOf(names, value) {
  const least = d3.min(names, (_, k) => value(k));
  return names.filter((_, k) => value(k) - least <= 1e-6 * Math.abs(least));
}

const join = (names, word) =>
  names.length > 5 ? `${names.length} hypotheses` : `${names.slice(0, -1).join(", ")} ${word} ${names.at(-1)}`;

/** Decisions on all samples of the table. */
function drawCounts(box, samples, { names, prior, costs, reject }) {
  box.hidden = !samples;
  if (!samples) return;
  const D = names.length, counts = countDecisions(samples, prior, costs, reject);
  const at = (i, j) => counts[i * (D + 1) + j];
  const right = d3.sum(names, (_, k) => at(k, k)), known = samples.n - d3.sum(d3.range(D + 1), (j) => at(D, j));
  const share = known
    ? `${d3.format(",")(right)} of ${d3.format(",")(known)} are right (${percent(right / known)}). `
    : "";
  const none = d3.sum(d3.range(D + 1), (i) => at(i, D));
  const undecided = reject === null ? "" : `${d3.format(",")(none)} are left undecided.`;
  const thinned = samples.n < samples.total ? ` of ${d3.format(",")(samples.total)}` : "";
  const summary = make(
    "p",
    {},
    make("b", { textContent: `Decisions on ${d3.format(",")(samples.n)}${thinned} samples. ` }),
    share + undecided
  );
  if (D > 10) return box.replaceChildren(summary);
  const heads = [...names, ...(reject === null ? [] : ["no decision"])];
  const truths = [...names.map((name, k) => [name, k]), ...(known < samples.n ? [["not known", D]] : [])];
  const rows = truths.map(([name, i]) => [
    name,
    ...heads.map((_, j) => numberCell(d3.format(",")(at(i, j)), i === j ? "own" : "")),
  ]);
  const table = makeTable(["true \\ decided", ...heads], rows, { className: "counts" });
  return box.replaceChildren(summary, make("div", { className: "scroll whole" }, table));
}
