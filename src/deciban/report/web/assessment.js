// What an assessment holds without its samples: the cost of each pair of classes, and downloads.

import { makeDownloads } from "./downloads.js";
import { formatNumber, readNumber } from "./drawing.js";
import { drawPairMatrix } from "./figure_pairs.js";
import { keepDrawn } from "./page.js";
import { readData } from "./samples.js";
import { createState } from "./state.js";

function describePair({ classes, numbers }, [a, b]) {
  const cost = (table) => `${formatNumber(readNumber(table[a][b]))} bit`;
  const { pairwise_cllr: asItIs, pairwise_cllr_min: recalibrated } = numbers;
  return `${classes[a]} and ${classes[b]}: Cllr ${cost(asItIs)}, recalibrated ${cost(recalibrated)}.`;
}

function main() {
  const data = readData(), D = data.classes.length;
  const isPair = (v) => Array.isArray(v) && v.length === 2 && v[0] !== v[1] && v.every((k) => Number.isInteger(k) && k in data.classes);
  const state = createState(data.state, (name, value) => name === "pair" && isPair(value));
  const chosen = document.getElementById("chosen");
  keepDrawn({ pairs: drawPairMatrix }, state, ({ pair }) => {
    if (chosen) chosen.textContent = describePair(data, pair);
    return { data, samples: { classes: data.classes, D, n: 0 }, pair, set: state.set };
  });
  makeDownloads(data);
  document.documentElement.dataset.ready = "true";
}

main();
