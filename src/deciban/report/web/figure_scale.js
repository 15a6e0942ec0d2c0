// The ratio of one case on a scale of words, beside samples whose class is known.

import { make } from "./dom.js";
import { chart, fill, formatCount, legend, note, shorten } from "./drawing.js";

const END = 7.25 * Math.LN10; // ratios beyond ten million are all the same to a reader
const BIN = Math.LN10 / 4;

const inside = (x) => Math.max(-END, Math.min(END, x));

/** The ratio of the case on a scale of words, with the samples of each side above and below. */
export function drawScale(box, view) {
  const { ask, known, data } = view;
  const bars = known ? [...bins(known, 1), ...bins(known, 0)] : [];
  const top = known ? 1.3 : 0.3;
  const at = inside(ask.llr);
  const ratio = (x) =>
    Math.abs(x) < 1e-9 ? "1" : (x > 0 ? "" : "1/") + d3.format(",")(Math.round(10 ** Math.abs(x / Math.LN10)));
  const few = view.width < 640;
  const [marginTop, marginLeft] = few ? [24, 16] : [60, 30];
  const svg = chart(view, {
    height: (known ? 250 : 120) + marginTop,
    marginTop,
    marginLeft,
    marginRight: marginLeft,
    label: describe(ask, known),
    x: {
      domain: [-END, END],
      label: "likelihood ratio",
      ticks: (few ? [-4, 0, 4] : [-6, -4, -2, 0, 2, 4, 6]).map((k) => k * Math.LN10),
      tickFormat: ratio,
    },
    y: { axis: null, grid: false, domain: [-top, top] },
    marks: [
      bands(data, top),
      Plot.rectY(bars, { x1: "x1", x2: "x2", y1: 0, y2: "y", fill: "color", fillOpacity: 0.75 }),
      Plot.ruleY([0], { stroke: "var(--soft)" }),
      Plot.ruleX([0], { stroke: "var(--soft)", strokeDasharray: "2 3" }),
      ...supported(ask, top, at, view.width),
      ask.interval &&
        Plot.ruleY([0], {
          x1: inside(ask.interval[0]), x2: inside(ask.interval[1]), stroke: "currentColor", strokeWidth: 5,
          strokeOpacity: 0.6,
        }),
      Plot.ruleX([at], { stroke: "currentColor", strokeWidth: 3, insetTop: 14 - marginTop }),
      !few && words(data),
      Plot.text([at], {
        x: (d) => d,
        frameAnchor: "top",
        dy: 6 - marginTop,
        text: () => (Math.abs(ask.llr) > END ? "this case ▸" : "this case"),
        fontWeight: 700,
        fontSize: 13,
        fill: "currentColor",
        textAnchor: at > END / 2 ? "end" : "middle",
      }),
    ],
  });
  fill(
    box,
    known &&
      legend([
        {
          color: known.colors[1],
          text: `tested samples of ${ask.target} (${formatCount(ask.support.n_target)}), above the line`,
        },
        {
          color: known.colors[0],
          text: `tested samples of ${ask.other} (${formatCount(ask.support.n_other)}), below it`,
        },
      ]),
    make(
      "div",
      { className: "ends" },
      make("span", { textContent: `◂ far more probable if ${shorten(ask.other, 60)}` }),
      make("span", { textContent: `far more probable if ${shorten(ask.target, 60)} ▸` })
    ),
    svg,
    note(describe(ask, known))
  );
}

/** Shares of the samples in bins of the scale; what lies beyond it is in the last bins. */
function bins(known, side) {
  const edges = d3.range(-29, 30).map((k) => k * BIN);
  const shares = d3.range(edges.length - 1).map((k) => {
    const low = k === 0 ? 0 : known.shareBelow(side, edges[k]);
    return { k, share: (k === edges.length - 2 ? 1 : known.shareBelow(side, edges[k + 1])) - low };
  });
  const filled = shares.filter(({ share }) => share > 0);
  const most = d3.max(filled, ({ share }) => share);
  return filled.map(({ k, share }) => ({
    x1: edges[k], x2: edges[k + 1], y: ((side ? 1 : -1) * share) / most, color: known.colors[side],
  }));
}

/** Each word of the scale and where it applies, on both sides. */
function areas({ cuts, words: all }) {
  return all.flatMap((word, k) =>
    [1, -1].map((sign) => ({ x1: sign * cuts[k], x2: sign * Math.min(END, cuts[k + 1] ?? END), word, k }))
  );
}

/** Grounds that get darker as the words get stronger. */
function bands(data, top) {
  return Plot.rect(areas(data), {
    x1: "x1", x2: "x2", y1: -top, y2: top, fill: "var(--accent)", fillOpacity: (d) => 0.03 + 0.035 * d.k,
    title: (d) => `${d.word} support`,
  });
}

/** The words above their grounds, by turns in two lines, so that they do not touch. */
function words(data) {
  return [0, 1].map((line) =>
    Plot.text(
      areas(data).filter((d) => d.k % 2 === line),
      {
        x: (d) => (d.x1 + d.x2) / 2, frameAnchor: "top", dy: line ? -12 : -28, text: "word", fontSize: 11,
        fill: "var(--soft)", stroke: "var(--card)", strokeWidth: 5,
      }
    )
  );
}

/** A broken line at the largest ratio that the tested samples support. */
function supported(ask, top, at, width) {
  const bound = ask.support?.bound;
  if (bound === null || !(bound < END)) return [];
  const toLeft = at > bound || ((END - bound) / (2 * END)) * width < 128; // clear of the case, and of the end
  return [
    Plot.ruleX([bound], { y1: -top, y2: top, stroke: "var(--poor)", strokeDasharray: "5 3", strokeWidth: 2 }),
    Plot.text([bound], {
      x: (d) => d, y: -top, dy: -8, dx: toLeft ? -5 : 5, textAnchor: toLeft ? "end" : "start",
      text: () => "supported up to here", fill: "var(--poor)", stroke: "var(--card)", strokeWidth: 4,
      paintOrder: "stroke",
    }),
  ];
}

function describe(ask, known) {
  const words = `This case lies ${ask.llr === 0 ? "in the middle, where the evidence says nothing" : `on the side of ${ask.target}: ${ask.words}`}.`;
  const tested = known
    ? " The bars show where tested samples of either kind lie; a good system has them on their own sides."
    : "";
  return `${words} The words get stronger away from the middle.${tested}`;
}
