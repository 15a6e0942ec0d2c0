// Three classes in a triangle: posteriors under the prior.

import { set } from "./dom.js";
import { fill, formatCount, formatPercent, legend, note, shorten } from "./drawing.js";
import { describeRow } from "./figure_plane.js";
import { decide, posterior } from "./geometry.js";
import { missingThree, pointKeys, samplesOfThree, sayDrawn, scatter, settingOfThree, threeChooser } from "./scatter.js";

const SHARES = [0.2, 0.4, 0.6, 0.8];

export function drawTernary(box, view) {
  const missing = missingThree(view);
  if (missing) return fill(box, note(missing));
  const three = samplesOfThree(view);
  if (three.n === 0)
    return fill(box, threeChooser(view), note("None of these three classes has samples: choose others."));
  const setting = settingOfThree(view);
  const width = Math.min(520, view.width), side = width - 60;
  const height = Math.round(side * Math.sqrt(0.75) + 74);
  const corners = [[width / 2, 30], [30, height - 44], [width - 30, height - 44]];
  const p = posterior(three.values, three.n, 3, setting.prior);
  const points = {
    x: new Float64Array(three.n), y: new Float64Array(three.n), truth: three.truth, isBeyond: new Uint8Array(three.n),
  };
  for (let i = 0; i < three.n; i++) {
    points.x[i] = p[3 * i] * corners[0][0] + p[3 * i + 1] * corners[1][0] + p[3 * i + 2] * corners[2][0];
    points.y[i] = p[3 * i] * corners[0][1] + p[3 * i + 1] * corners[1][1] + p[3 * i + 2] * corners[2][1];
  }
  const figure = scatter({
    width,
    height,
    points,
    colors: setting.colors,
    decideAt: (xs, ys) => decideInTriangle(xs, ys, corners, setting),
    describe: (row) => describeRow(view, three, setting, row),
    label: `Triangle of the posteriors of ${setting.names.join(", ")} for ${formatCount(three.n)} samples.`,
  });
  addTriangle(figure.svg, corners);
  addCorners(figure.svg, corners, setting.names, width);
  const choice = decide(three.values, three.n, 3, setting.prior, setting.costs);
  const rates = d3.range(3).map((k) => d3.mean(choice.filter((_, i) => three.truth[i] === k), (j) => Number(j === k)));
  const right = d3.sum(rates, (rate, k) => rate * setting.prior[k]); // the mix of the samples does not matter
  const known = rates.every((rate) => rate !== undefined);
  fill(
    box,
    threeChooser(view),
    legend(pointKeys(setting.names, setting.colors)),
    figure.box,
    note(
      "The nearer a sample to a corner, the more probable that class under the prior. The ground shows " +
        "the decision under these costs" +
        (known ? `; ${formatPercent(right)} of decisions are right if classes are as frequent as the prior says.` : ".") +
        sayDrawn(three.n)
    )
  );
}

/** Decisions at pixels, from the posteriors that they stand for. */
function decideInTriangle(xs, ys, [[ax, ay], [bx, by], [cx]], setting) {
  const logs = new Float64Array(3 * xs.length);
  const isOutside = new Uint8Array(xs.length);
  for (let i = 0; i < xs.length; i++) {
    const top = (by - ys[i]) / (by - ay);
    const right = (xs[i] - bx - top * (ax - bx)) / (cx - bx);
    const p = [top, 1 - top - right, right];
    isOutside[i] = p.some((share) => share < 0) ? 1 : 0;
    p.forEach((share, k) => (logs[3 * i + k] = isOutside[i] ? 0 : Math.log(share)));
  }
  const choice = decide(logs, xs.length, 3, [1, 1, 1], setting.costs);
  return choice.map((k, i) => (isOutside[i] ? 255 : k));
}

function addTriangle(svg, corners) {
  const path = (points, closed) => `M${points.map((p) => p.join()).join("L")}${closed ? "Z" : ""}`;
  const between = (a, b, share) => a.map((v, k) => (1 - share) * v + share * b[k]);
  corners.forEach((corner, k) => {
    const [first, second] = [corners[(k + 1) % 3], corners[(k + 2) % 3]];
    for (const share of SHARES) {
      svg
        .append("path")
        .call(set, {
          d: path([between(first, corner, share), between(second, corner, share)]), stroke: "var(--edge)", fill: "none",
        });
    }
  });
  svg.append("path").attr("d", path(corners, true)).attr("stroke", "var(--soft)").attr("fill", "none");
  for (const share of SHARES) {
    const [x, y] = between(corners[1], corners[2], share);
    svg.append("text").call(set, { x, y: y + 15, "text-anchor": "middle", class: "soft" }).text(d3.format("~p")(share));
  }
}

function addCorners(svg, corners, names, width) {
  const most = Math.floor(width / 18);
  const places = [["middle", 0, -12], ["start", -26, 34], ["end", 26, 34]];
  places.forEach(([anchor, dx, dy], k) => {
    svg
      .append("text")
      .call(set, { class: "halo", x: corners[k][0] + dx, y: corners[k][1] + dy, "text-anchor": anchor })
      .text(shorten(names[k], most))
      .append("title")
      .text(names[k]);
  });
}
