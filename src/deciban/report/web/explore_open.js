// Opening a table: a file that is dropped or chosen, and what its columns hold.

import { labeled, make, makeButton, makeSelect } from "./dom.js";
import { simulateSamples } from "./explore_simulate.js";
import { buildSamples, classesOf, parseTable, readFile, recognizeColumns, recognizeScores } from "./explore_table.js";

const KINDS = [
  ["llr", "LLRs (one column)"],
  ["log-likelihoods", "log-likelihoods (a column for each class)"],
  ["posteriors", "posteriors (a column for each class)"],
];

/** A place to drop a file, a button to choose one, and an example. */
export function makeOpener(scores) {
  const input = make("input", { type: "file", accept: ".csv,.tsv,.txt", "aria-label": "Table of scores" });
  input.addEventListener("click", () => (input.value = "")); // so that a corrected file can be opened again
  input.addEventListener("change", () => input.files[0] && openFile(scores, input.files[0]));
  const example = makeButton(
    "Use simulated scores",
    () =>
      attempt(scores, () => {
        const { divergences, names } = scores.app.state.get();
        const samples = simulateSamples(divergences, names.length === 3 ? names : ["A", "B", "C"]);
        scores.boxes.columns.replaceChildren();
        say(
          scores,
          "1,500 simulated samples of the family in part two, from a system that is too bold and leans to one class."
        );
        scores.app.open(samples);
      }),
    { className: "plain" }
  );
  const zone = make(
    "div",
    { className: "drop" },
    make(
      "p",
      {},
      make("b", { textContent: "Drop a CSV file here" }),
      ", or choose one: a column with the true class, and LLRs or one score for each class. It is read in this page and sent nowhere."
    ),
    make("div", { className: "edit-line" }, input, example)
  );
  takeDrops(zone, (file) => {
    scores.app.state.set({ part: "scores" });
    openFile(scores, file);
  });
  scores.boxes.open.replaceChildren(zone);
}

/** Take files wherever they are dropped: beside the zone, the browser would leave the page for the file. */
function takeDrops(zone, take) {
  const onFiles = (name, listener) =>
    addEventListener(name, (event) => event.dataTransfer?.types.includes("Files") && listener(event));
  const mark = (event) => {
    event.preventDefault();
    zone.classList.toggle("over", event.type === "dragover");
  };
  onFiles("dragover", mark);
  onFiles("dragleave", (event) => event.relatedTarget || mark(event));
  onFiles("drop", (event) => {
    mark(event);
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
}

function say({ boxes }, text, isWrong = false) {
  boxes.message.replaceChildren(make("p", { className: isWrong ? "alarm" : "note", textContent: text }));
}

/** Do what may fail on a reader's table, and say why where it does. */
export function attempt(scores, action) {
  try {
    return action();
  } catch (error) {
    say(scores, error.message, true);
    return undefined;
  }
}

async function openFile(scores, file) {
  try {
    const text = await readFile(file);
    attempt(scores, () => {
      scores.table = parseTable(text, file.name);
      scores.choice = recognizeColumns(scores.table);
      editColumns(scores);
      useColumns(scores);
    });
  } catch (error) {
    say(scores, error.message, true);
  }
}

function useColumns(scores) {
  attempt(scores, () => {
    const samples = buildSamples(scores.table, scores.choice);
    const { length, 0: first } = samples.leftOut,
      left = length
        ? ` Left out: ${length.toLocaleString("en")} ${length === 1 ? "row" : "rows"} without a class (${length === 1 ? "" : "first "}row ${first + 1}).`
        : "";
    say(scores, `${scores.table.name}: ${samples.n.toLocaleString("en")} samples of ${samples.D} classes.${left}`);
    scores.app.open(samples);
  });
}

/** Selects for the columns, so that a reader can correct what was recognized. */
function editColumns(scores) {
  const { table, choice, boxes } = scores;
  const names = table.columns.map((name) => [name, name]), classes = classesOf(table, choice.label).slice(0, 30);
  const select = (text, options, value, set) => {
    const input = makeSelect(options);
    input.value = value;
    input.addEventListener("change", () => {
      set(input.value);
      editColumns(scores);
      useColumns(scores);
    });
    return labeled(text, input);
  };
  const own = (key) => (value) => (scores.choice = { ...scores.choice, [key]: value });
  const at = table.columns.indexOf(choice.label);
  const fields = [
    select("True class", names, choice.label, (value) => (scores.choice = recognizeScores(table, value))),
    table.rows.some((row) => row[at].trim() === "")
      ? select(
          "Rows without a class",
          [["refuse", "are refused"], ["leave", "are left out"]],
          choice.unlabeled,
          own("unlabeled")
        )
      : null,
    select("Scores are", KINDS, choice.kind, own("kind")),
  ];
  if (choice.kind === "llr") {
    fields.push(
      select("LLRs", names, choice.llr, own("llr")),
      select("in favor of", classes.map((c) => [c, c]), choice.positive, own("positive"))
    );
  } else {
    fields.push(
      ...classes.map((c) =>
        select(
          c,
          [["", "(choose)"], ...names],
          choice.columns[c] ?? "",
          (value) => (scores.choice = { ...scores.choice, columns: { ...scores.choice.columns, [c]: value } })
        )
      )
    );
  }
  if (choice.kind === "posteriors")
    fields.push(
      select(
        "They contain",
        [["even", "an even prior"], ["mix", "the class mix of this table"]],
        choice.prior,
        own("prior")
      )
    );
  else
    fields.push(select("Logarithms", [["e", "natural"], ["2", "base 2"], ["10", "base 10"]], choice.base, own("base")));
  boxes.columns.replaceChildren(
    make("fieldset", { className: "columns" }, make("legend", { textContent: "Columns, as recognized" }), fields)
  );
}
