// Bayes' walk among more than three hypotheses: a tree that sets one group of them against another.

import { classColor } from "./colors.js";
import { make, percent, set, signed } from "./dom.js";
import { note } from "./drawing.js";
import { UNITS, groupsLlr, posterior } from "./geometry.js";

const ROW = 30;

/** Halves of the hypotheses, and halves of these, down to single ones. */
function split(members) {
  if (members.length === 1) return { members };
  const middle = Math.ceil(members.length / 2);
  return { members, children: [split(members.slice(0, middle)), split(members.slice(middle))] };
}

/** Draw the tree: branches as thick as their posterior, and at each node the LLR of all evidence. */
export function drawTree(box, values, points) {
  const { names, prior, unit } = values, D = names.length, { factor, label } = UNITS[unit];
  const width = Math.max(280, box.clientWidth), height = D * ROW + 18;
  const root = d3.cluster().size([D * ROW, width - 190])(d3.hierarchy(split(d3.range(D))));
  const last = points.at(-1);
  const shares = posterior(Float64Array.from(last, (v) => v - d3.max(last)), 1, D, names.map(() => 1 / D));
  const mass = (node) => d3.sum(node.data.members, (k) => shares[k]);
  const evidence = Float64Array.from(last, (v, k) => v - Math.log(prior[k]));
  const llrOf = ({ children: [a, b] }) => groupsLlr(evidence, 1, D, a.data.members, b.data.members, prior)[0] * factor;
  const svg = d3
    .create("svg")
    .call(set, { width, height, role: "img" })
    .attr(
      "aria-label",
      `Tree of the hypotheses. Posteriors: ${names.map((name, k) => `${name} ${percent(shares[k])}`).join(", ")}.`
    );
  const g = svg.append("g").attr("transform", "translate(14,14)");
  g.selectAll("path")
    .data(root.links())
    .join("path")
    .attr("class", "branch")
    .attr("stroke-width", ({ target }) => 1 + 11 * mass(target))
    .style("stroke", ({ target }) => target.children ? "var(--soft)" : classColor(target.data.members[0], D))
    .attr("d", d3.linkHorizontal().x((d) => d.y).y((d) => d.x));
  const inner = root.descendants().filter((node) => node.children);
  g.selectAll("text.llr")
    .data(inner)
    .join("text")
    .call(set, { class: "llr", x: (d) => d.y + 2, y: (d) => d.x - 5 - 5.5 * mass(d) })
    .text((d) => signed(llrOf(d)))
    .append("title")
    .text((d) => {
      const [a, b] = d.children.map((child) => child.data.members.map((k) => names[k]).join(", "));
      return `${a} against ${b}: ${signed(llrOf(d))} ${label}`;
    });
  const short = (name) => (name.length > 16 ? `${name.slice(0, 15)}…` : name);
  g.selectAll("text.leaf")
    .data(root.leaves())
    .join("text")
    .call(set, { class: "leaf", x: (d) => d.y + 10, y: (d) => d.x + 4 })
    .text((d) => `${short(names[d.data.members[0]])} ${percent(shares[d.data.members[0]])}`)
    .append("title")
    .text((d) => names[d.data.members[0]]);
  box.replaceChildren(
    svg.node(),
    note(`Branches are as thick as their posterior. At each node: the LLR of the evidence for the upper group against the lower one, in ${label}.`)
  );
}
