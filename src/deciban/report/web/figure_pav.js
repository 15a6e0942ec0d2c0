// The LLRs that the samples support (PAV) against the LLRs that were given.

import {
  chart, cllrCalOf, diagonal, fill, formatNumber, formatPercent, frameMark, legend, llrLabel, llrRange, missingSide,
  note, pavBlocks, shorten, sideKeys,
} from "./drawing.js";

const MOST_TICKS = 300;

export function drawPav(box, view) {
  const missing = missingSide(view);
  if (missing) return fill(box, note(missing));
  const { factor, label: unit } = view.unit;
  const blocks = pavBlocks(view);
  const ends = domainOf(blocks, llrRange(view)).map((end) => factor * end);
  const [x, y] = [ends, ends];
  const height = Math.round(Math.min(420, Math.max(290, view.width * 0.75)));
  const svg = chart(view, {
    height,
    label: describe(view),
    x: { label: llrLabel(view), domain: x },
    y: { label: `LLR that the samples support (${unit})`, domain: y },
    marks: [
      ...wedges(x, y),
      frameMark(),
      diagonal(Math.max(x[0], y[0]), Math.min(x[1], y[1])),
      ...sampleTicks(view, x, y, factor),
      Plot.line(stepPoints(blocks, x, y, factor), { x: "0", y: "1", stroke: "currentColor", strokeWidth: 2.4 }),
      ...wedgeNames(x, y),
      ...infiniteEnds(view, blocks, y),
      Plot.tip(tipPoints(view, blocks, x, y, factor), Plot.pointer({ x: "x", y: "y", title: "text" })),
    ],
  });
  fill(
    box,
    legend([
      { color: "var(--ink)", text: "supported by the samples (PAV)", shape: "line" },
      { color: "var(--ink)", text: "calibrated", shape: "dots" },
      ...sideKeys(view, "tick"),
    ]),
    svg,
    note(explain(view))
  );
}

/** One range for both axes: where the samples support finite LLRs, and some room for the infinite ends. */
export function domainOf(blocks, [low, high]) {
  const finite = d3.range(blocks.llr.length).filter((k) => Number.isFinite(blocks.llr[k]));
  if (finite.length === 0) return [Math.min(low, -1), Math.max(high, 1)];
  const inside = (value) => Math.max(low, Math.min(high, value));
  const [from, to] = d3.extent([
    0,
    ...finite.flatMap((k) => [blocks.llr[k], inside(blocks.low[k]), inside(blocks.high[k])]),
  ]);
  const room = 0.2 * (to - from) || 1;
  return [from - room, to + room];
}

/** Ground of the LLRs that claim more than the samples support. */
export function wedges([xLow, xHigh], [yLow, yHigh]) {
  const areas = [];
  if (xHigh > 0)
    areas.push([[0, 0], [xHigh, xHigh], [xHigh, yLow], [0, yLow]]);
  if (xLow < 0)
    areas.push([[0, 0], [xLow, xLow], [xLow, yHigh], [0, yHigh]]);
  return areas.map((corners) =>
    Plot.line(corners, {
      x: "0", y: "1", fill: "var(--poor)", fillOpacity: 0.1, stroke: "none", curve: "linear-closed", clip: true,
    })
  );
}

export function wedgeNames([xLow, xHigh], [yLow, yHigh]) {
  const places = [];
  const width = xHigh - xLow;
  if (xHigh > 0.3 * width) {
    places.push([xHigh - 0.02 * width, 0.16 * Math.min(xHigh, yHigh), "too strong", "end"]);
    places.push([0.02 * width, 0.5 * yHigh, "too weak", "start"]);
  }
  if (-xLow > 0.3 * width) {
    places.push([xLow + 0.02 * width, 0.16 * Math.max(xLow, yLow), "too strong", "start"]);
    places.push([-0.02 * width, 0.5 * yLow, "too weak", "end"]);
  }
  const mark = (anchor) =>
    Plot.text(
      places.filter((place) => place[3] === anchor),
      {
        x: "0", y: "1", text: "2", textAnchor: anchor, fill: "var(--soft)", fontStyle: "italic", fontSize: 13,
        stroke: "var(--card)", strokeWidth: 3, paintOrder: "stroke",
      }
    );
  return [mark("start"), mark("end")];
}

/** The blocks as one rising line of steps; blocks with infinite values run along the frame. */
export function stepPoints(blocks, x, y, factor) {
  const inside = (value, [low, high]) => Math.max(low, Math.min(high, value));
  const points = [];
  for (let k = 0; k < blocks.llr.length; k++) {
    const [low, high] = [blocks.low[k], blocks.high[k]].map((end) => inside(factor * end, x));
    const level = inside(factor * blocks.llr[k], y);
    const last = points[points.length - 1];
    if (last) {
      const middle = (last[0] + low) / 2;
      points.push([middle, last[1]], [middle, level]);
    }
    points.push([low, level], [high, level]);
  }
  return points;
}

function infiniteEnds(view, blocks, y) {
  const last = blocks.llr.length - 1;
  const marks = [];
  const text = (share, side, frameAnchor, dx, dy, arrow) =>
    Plot.text([0], {
      frameAnchor,
      dx,
      dy,
      text: () => `${arrow}∞: ${formatPercent(share)} of ${shorten(view.names[side], view.width / 20)}`,
      stroke: "var(--card)",
      strokeWidth: 4,
      paintOrder: "stroke",
      fill: "currentColor",
    });
  if (blocks.llr[last] === Infinity) marks.push(text(blocks.target[last], 1, "top-right", -8, 14, "▲ "));
  if (blocks.llr[0] === -Infinity) marks.push(text(blocks.nonTarget[0], 0, "bottom-left", 8, -14, "▼ −"));
  return marks;
}

/** Ticks of the samples: one class along the top, the other along the floor. */
function sampleTicks(view, x, [yLow, yHigh], factor) {
  const reach = 0.025 * (yHigh - yLow);
  return [view.other, view.target].map((values, side) => {
    const step = Math.max(1, Math.ceil(values.length / MOST_TICKS));
    const ticks = d3.range(0, values.length, step).map((k) => factor * values[k]);
    return Plot.ruleX(
      ticks.filter((v) => v >= x[0] && v <= x[1]),
      {
        x: (v) => v, y1: side ? yHigh - reach : yLow, y2: side ? yHigh : yLow + reach, stroke: view.colors[side],
        strokeOpacity: 0.7,
      }
    );
  });
}

function tipPoints(view, blocks, x, y, factor) {
  return Array.from(blocks.llr, (llr, k) => {
    const ends = [blocks.low[k], blocks.high[k]].map((end) => factor * end);
    const middle = d3.mean(ends.map((end) => Math.max(x[0], Math.min(x[1], end))));
    return {
      x: middle,
      y: Math.max(y[0], Math.min(y[1], factor * llr)),
      text:
        `LLRs from ${formatNumber(ends[0])} to ${formatNumber(ends[1])}\nhold ${formatPercent(blocks.target[k])} of ` +
        `${view.names[1]}\nand ${formatPercent(blocks.nonTarget[k])} of ${view.names[0]}:\nthey support ` +
        `${formatNumber(factor * llr)} ${view.unit.label}`,
    };
  });
}

function describe(view) {
  return (
    `LLR that the samples support, by pool adjacent violators, against the LLR given, for ${view.names[1]} ` +
    `against ${view.names[0]}; calibrated evidence lies on the diagonal.`
  );
}

function explain(view) {
  const loss = cllrCalOf(view);
  const lost = Number.isFinite(loss)
    ? `Poor calibration costs ${formatNumber(loss)} bit here.`
    : "Some infinite LLRs are wrong: their cost is infinite.";
  return (
    "On the dotted line the evidence means what it says. In the shaded wedges it claims more than the samples " +
    `support (too strong), in the others less (too weak). ${lost} Ends that run to infinity hold samples of one ` +
    "class only."
  );
}
