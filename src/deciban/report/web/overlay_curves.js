// Curves of several systems: Tippett, detection error trade-off, empirical cross-entropy and PAV.

import { make } from "./dom.js";
import {
  chart, diagonal, fill, fitNames, frameMark, formatNumber, formatPercent, llrLabel, llrRange, misleadingShares, note,
  pavBlocks, remember,
} from "./drawing.js";
import { axis, axisEnds, curvePoints as detPoints, operatingPoint, place } from "./figure_det.js";
import { domainOf, stepPoints, wedgeNames, wedges } from "./figure_pav.js";
import { curvePoints as tippettPoints } from "./figure_tippett.js";
import { crossEntropyCurve, detCurve, eer, tippettCurve } from "./statistics.js";
import { line, missing, sampleLine, sayEach, shareRange, systemLegend } from "./systems.js";

/** Share of each class at or above every LLR: thick lines for the target, thin ones for the other. */
export function drawTippetts(box, view) {
  const why = missing(view);
  if (why) return fill(box, note(why));
  const {
      systems,
      unit: { factor },
    } = view,
    [low, high] = shareRange(systems.map(llrRange));
  const curves = systems.map((one) => {
    const curve = remember(one, "tippett", () => tippettCurve(one.target, one.other, one.weights));
    return { one, points: tippettPoints(curve, low, high, factor, Math.round(view.width)) };
  });
  const svg = chart(view, {
    label: `Tippett plots of ${systems.map((one) => one.name).join(", ")}: share of each class at or above each LLR.`,
    x: { label: llrLabel(view), domain: [factor * low, factor * high] },
    y: { label: "share at or above (%)", domain: [0, 100] },
    marks: [
      frameMark(),
      low < 0 && high > 0 && Plot.ruleX([0], { stroke: "var(--soft)", strokeDasharray: "2 3" }),
      ...curves.flatMap(({ one, points }) => [
        line(points, one, { x: "x", y: "other", strokeWidth: 1.4, curve: "step-before" }),
        line(points, one, { x: "x", y: "target", strokeWidth: 2.8, curve: "step-before" }),
      ]),
    ],
  });
  fill(
    box,
    systemLegend(systems),
    svg,
    note(
      `Thick: samples of ${view.names[1]}; thin: samples of ${view.names[0]}. ${sayEach(systems, sayMisleading)} ` +
        `The wider the gap between a system's two lines, the more it says.`
    )
  );
}

function sayMisleading(one) {
  const { name, names } = one;
  const [misses, alarms] = misleadingShares(one);
  return `${name} misleads for ${formatPercent(misses)} of ${names[1]} and ${formatPercent(alarms)} of ${names[0]}.`;
}

/** Misses against false alarms over all thresholds, and where each system is at this prior and these costs. */
export function drawDets(box, view) {
  const why = missing(view);
  if (why) return fill(box, note(why));
  const rates = view.systems.map((one) => ({ one, rate: eer(one.target, one.other, pavBlocks(one)) }));
  const drawn = rates.filter(({ rate }) => rate > 0);
  const without = rates.filter(({ rate }) => rate === 0).map(({ one }) => one.name);
  const none = without.length
    ? note(
        `A threshold tells all samples apart with ${without.join(", ")}: there is no curve to draw, and too few samples to know the error rates.`
      )
    : null;
  if (drawn.length === 0) return fill(box, none);
  const worst = d3.max(drawn, ({ rate }) => rate);
  const [x, y] = [view.other, view.target].map((values) => axisEnds(values.length, worst));
  const inside = (share, ends) => Math.max(ends[0], Math.min(ends[1], place(share, ends)));
  const side = Math.round(Math.min(420, view.width));
  const label = (write) => fitNames(view.names, side - 40, write);
  const points = drawn.map(({ one }) => ({ one, at: operatingPoint(one) }));
  const svg = chart(view, {
    width: side,
    height: side,
    marginLeft: 56,
    label: `Detection error trade-off. Equal-error rates: ${sayRates(drawn)}.`,
    x: { ...axis(x), label: label((other, target) => `false alarms: ${other} taken for ${target}`) },
    y: { ...axis(y), label: label((other, target) => `misses: ${target} taken for ${other}`) },
    marks: [
      frameMark(),
      diagonal(Math.max(x[0], y[0]), Math.min(x[1], y[1])),
      ...drawn.map(({ one }) =>
        line(
          detPoints(remember(one, "det", () => detCurve(one.target, one.other, one.weights)), x, y),
          one,
          { x: "x", y: "y" }
        )
      ),
      Plot.dot(points, {
        x: (p) => inside(p.at.falseAlarm, x), y: (p) => inside(p.at.miss, y), r: 6, symbol: "diamond",
        fill: (p) => p.one.color, stroke: "var(--card)",
      }),
    ],
  });
  fill(
    box,
    systemLegend(drawn.map(({ one }) => one)),
    svg,
    note(
      `Equal-error rates: ${sayRates(drawn)}. Diamonds: errors at this prior and these costs. The nearer to the lower left corner, the better.`
    ),
    none
  );
}

const sayRates = (rates) => rates.map(({ one, rate }) => `${one.name} ${formatPercent(rate)}`).join(", ");

/** What the evidence of each system leaves open at each prior. */
export function drawCrossEntropies(box, view) {
  const why = missing(view);
  if (why) return fill(box, note(why));
  const { systems, unit: { factor, label: unit } } = view;
  const curves = systems.map((one) =>
    remember(one, "cross-entropy", () => crossEntropyCurve(one.target, one.other, undefined, pavBlocks(one), one.weights))
  );
  const points = (curve, name) =>
    Array.from(curve.logOdds, (lo, k) => ({ x: factor * lo, y: curve[name][k] })).filter((p) => Number.isFinite(p.y));
  const top =
    1.04 *
    Math.max(1, Math.min(2, d3.max(curves, (curve) => d3.max(points(curve, "actual"), (p) => p.y)) ?? 1));
  const at = Math.log(view.priorTarget / (1 - view.priorTarget));
  const ends = [curves[0].logOdds[0], curves[0].logOdds.at(-1)];
  const svg = chart(view, {
    label: `Empirical cross-entropy of ${systems.map((one) => one.name).join(", ")} over prior log-odds of ${view.names[1]}.`,
    x: { label: fitNames([view.names[1]], view.width - 32, (name) => `prior log-odds of ${name} (${unit})`) },
    y: { label: "cost (bit)", domain: [0, top] },
    marks: [
      frameMark(),
      Plot.line(points(curves[0], "neutral"), {
        x: "x", y: "y", stroke: "var(--soft)", strokeDasharray: "1 4", strokeWidth: 2, clip: true,
      }),
      ...curves.map((curve, k) => line(points(curve, "actual"), systems[k], { x: "x", y: "y" })),
      Plot.ruleX([factor * Math.max(ends[0], Math.min(ends[1], at))], { stroke: "currentColor", strokeWidth: 1.5 }),
    ],
  });
  const costs = systems.map((one) => {
    const { actual } = crossEntropyCurve(one.target, one.other, Float64Array.of(at), pavBlocks(one), one.weights);
    return `${one.name} ${formatNumber(actual[0])}${actual[0] > top ? " (above the frame)" : ""}`;
  });
  fill(
    box,
    systemLegend(
      systems,
      make("li", {}, sampleLine({ color: "var(--soft)", dash: "1 4" }), make("span", { textContent: "no evidence" }))
    ),
    svg,
    note(
      `The vertical line is the prior of the page, ${formatPercent(view.priorTarget)}. Uncertainty left there, in bits: ${costs.join(", ")}. ` +
        "Above the dotted line a system does harm."
    )
  );
}

/** The LLRs that the samples support against those that each system gives. */
export function drawPavs(box, view) {
  const why = missing(view);
  if (why) return fill(box, note(why));
  const { systems, unit: { factor, label: unit } } = view;
  const x = shareRange(systems.map((one) => domainOf(pavBlocks(one), llrRange(one)))).map((end) => factor * end);
  const y = x;
  const svg = chart(view, {
    height: Math.round(Math.min(420, Math.max(290, view.width * 0.75))),
    label: `LLR that the samples support against the LLR given, for ${systems.map((one) => one.name).join(", ")}; calibrated evidence lies on the diagonal.`,
    x: { label: llrLabel(view), domain: x },
    y: { label: `LLR that the samples support (${unit})`, domain: y },
    marks: [
      ...wedges(x, y),
      frameMark(),
      diagonal(Math.max(x[0], y[0]), Math.min(x[1], y[1])),
      ...systems.map((one) => line(stepPoints(pavBlocks(one), x, y, factor), one, { x: "0", y: "1" })),
      ...wedgeNames(x, y),
    ],
  });
  fill(
    box,
    systemLegend(systems),
    svg,
    note(
      "On the dotted diagonal the evidence means what it says. In the shaded wedges a system claims more than the samples support " +
        "(too strong), in the others less (too weak). A line along the frame goes on to infinity."
    )
  );
}
