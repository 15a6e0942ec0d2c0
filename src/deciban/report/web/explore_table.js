// A table that a reader opens: which of its columns hold the truth and the scores, and the samples in them.

const LABELS = [
  "truth",
  "class",
  "label",
  "y_true",
  "true_class",
  "target",
  "key",
  "targettype",
  "same",
  "species",
  "y",
];
const LLRS = ["calibrated_llr", "calibrated_score", "llr", "score", "scores", "log_lr", "loglr"];
const TARGETS = [
  "1",
  "1.0",
  "true",
  "t",
  "yes",
  "y",
  "target",
  "tar",
  "tgt",
  "genuine",
  "same",
  "samesource",
  "samespeaker",
  "ss",
  "mated",
  "match",
  "hp",
  "bonafide",
];
const MOST_CLASSES = 200;
const MOST_BYTES = 2 ** 29;
const SOME = 20000; // rows by which columns are recognized
const NUMBERS = {
  inf: Infinity,
  "+inf": Infinity,
  "-inf": -Infinity,
  infinity: Infinity,
  "-infinity": -Infinity,
};

/** Text of a file, or an error that says which files are read. */
export async function readFile(file) {
  if (/\.(parquet|pq|arrow|feather|ipc|xlsx?|gz|zip|jsonl|ndjson)$/i.test(file.name)) {
    throw new Error(
      `${file.name} must be a CSV or TSV file to be opened here. Others are opened by the command line: deciban explore ${file.name}`
    );
  }
  if (file.size > MOST_BYTES)
    throw new Error(
      `${file.name} must be smaller than 512 MB to be opened in a browser; it has ${Math.round(file.size / 2 ** 20)} MB.`
    );
  return file.text();
}

/** Columns and rows of a table in text; commas, semicolons or tabs separate the cells. */
export function parseTable(text, name) {
  const first = text.slice(0, text.indexOf("\n") >= 0 ? text.indexOf("\n") : text.length);
  const separator = d3.greatest(["\t", ";", ","], (s) => first.split(s).length);
  // Rows, not objects: those would be made by code that the policy of the page forbids.
  const rows = d3.dsvFormat(separator).parseRows(text.replace(/^\uFEFF/, ""));
  const columns = (rows.shift() ?? []).map((column) => column.trim());
  while (rows.length && rows.at(-1).length === 1 && rows.at(-1)[0].trim() === "") rows.pop();
  if (columns.length < 2 || !rows.length)
    throw new Error(
      `${name} must have a header and rows of two columns or more, separated by commas, semicolons or tabs; it does not.`
    );
  const bad = rows.findIndex((row) => row.length !== columns.length);
  if (bad >= 0)
    throw new Error(
      `${name} must have ${columns.length} cells in each row; row ${bad + 1} has ${rows[bad].length}.`
    );
  return { name, columns, rows };
}

export function parseNumber(text) {
  const word = text.trim().toLowerCase();
  return word in NUMBERS ? NUMBERS[word] : word === "" ? NaN : Number(word);
}

/** What each column seems to hold: whether all of its cells are numbers, and its distinct values. */
function describeColumns({ columns, rows }) {
  const some = rows.slice(0, SOME);
  return columns.map((name, c) => {
    const values = new Set();
    let numeric = true;
    for (const row of some) {
      if (values.size <= MOST_CLASSES) values.add(row[c].trim());
      numeric &&= !Number.isNaN(parseNumber(row[c]));
    }
    values.delete("");
    return { name, numeric, values };
  });
}

/** The columns as they seem to be meant: { label, kind, columns, llr, positive, base }. */
export function recognizeColumns(table) {
  const described = describeColumns(table);
  const few = (d) =>
    d.values.size >= 2 && d.values.size <= Math.min(MOST_CLASSES, Math.max(2, table.rows.length / 2));
  const isNamed = (d) => LABELS.includes(d.name.toLowerCase());
  const label =
    described.find((d) => isNamed(d) && few(d)) ??
    described.find((d) => !d.numeric && few(d)) ??
    described.find(isNamed) ??
    described.find((d) => d.values.size === 2) ??
    described[0];
  return recognizeScores(table, label.name, described);
}

/** Columns of the scores, given the one of the true class. */
export function recognizeScores(table, label, described = describeColumns(table)) {
  const classes = classesOf(table, label);
  const numeric = described.filter((d) => d.numeric && d.name !== label).map((d) => d.name);
  const byClass = columnsOfClasses(classes, numeric);
  const named = LLRS.map((word) =>
    table.columns.find((name) => name.toLowerCase() === word && name !== label)
  ).find(Boolean);
  const positive =
    classes.find((c) => TARGETS.includes(c.toLowerCase().replace(/[-_ ]/g, ""))) ?? classes.at(-1);
  const choice = {
    label,
    kind: "llr",
    llr: named ?? numeric[0] ?? null,
    columns: byClass ?? {},
    positive,
    base: "e",
    prior: "even",
  };
  if (byClass && !(named && classes.length === 2))
    choice.kind = sumToOne(table, Object.values(byClass)) ? "posteriors" : "log-likelihoods";
  return choice;
}

export function classesOf(table, label) {
  const c = table.columns.indexOf(label);
  const found = new Set(table.rows.map((row) => row[c].trim()));
  found.delete("");
  return [...found].sort((a, b) => (Number.isNaN(a - b) ? d3.ascending(a, b) : a - b));
}

/** The column of each class: named after it, behind a prefix that all share; null where one is missing. */
function columnsOfClasses(classes, names) {
  const prefixes = new Set([
    "calibrated_",
    "",
    ...names.filter((name) => name.endsWith(classes[0])).map((name) => name.slice(0, -classes[0].length)),
  ]);
  for (const prefix of prefixes) {
    if (classes.every((c) => names.includes(prefix + c)))
      return Object.fromEntries(classes.map((c) => [c, prefix + c]));
  }
  return null;
}

function sumToOne(table, names) {
  const places = names.map((name) => table.columns.indexOf(name));
  return table.rows.slice(0, 200).every((row) => {
    const values = places.map((c) => parseNumber(row[c]));
    return values.every((v) => v >= 0) && Math.abs(d3.sum(values) - 1) < 0.02;
  });
}

/** Samples of a table with the columns that were chosen, and how many rows have no label. */
export function buildSamples(table, choice) {
  const classes = classesOf(table, choice.label);
  if (classes.length < 2 || classes.length > MOST_CLASSES) {
    throw new Error(
      `the column ${choice.label} must hold from two to ${MOST_CLASSES} classes; it holds ${classes.length}. Choose the column of the true class.`
    );
  }
  const at = table.columns.indexOf(choice.label);
  const rows = d3.range(table.rows.length).filter((i) => table.rows[i][at].trim() !== "");
  if (choice.kind === "llr" && classes.length === 2 && choice.positive === classes[0]) classes.reverse();
  const D = classes.length,
    place = new Map(classes.map((c, k) => [c, k]));
  const truth = Uint16Array.from(rows, (i) => place.get(table.rows[i][at].trim()));
  const logLikelihoods =
    choice.kind === "llr"
      ? readLlrs(table, choice, rows, D)
      : readClasses(table, choice, rows, classes, truth);
  return {
    classes,
    truth,
    logLikelihoods,
    rows: Int32Array.from(rows, (i) => i + 1),
    n: rows.length,
    D,
    total: rows.length,
    leftOut: table.rows.length - rows.length,
  };
}

const nats = ({ base }) => (base === "e" ? 1 : Math.log(Number(base)));

function cellOf(table, c, i) {
  const value = parseNumber(table.rows[i][c]);
  if (Number.isNaN(value))
    throw new Error(
      `the column ${table.columns[c]} must hold numbers; row ${i + 1} holds "${table.rows[i][c].slice(0, 40)}". Choose another column, or correct the table.`
    );
  return value;
}

function readLlrs(table, choice, rows, D) {
  if (D !== 2)
    throw new Error(
      `LLRs must be of two classes; the column ${choice.label} holds ${D}. Choose one column for each class.`
    );
  const c = table.columns.indexOf(choice.llr),
    factor = nats(choice);
  if (c < 0)
    throw new Error("a column of LLRs must be chosen; the table has no column of numbers beside the label.");
  const values = new Float64Array(2 * rows.length);
  rows.forEach((i, m) => {
    const llr = cellOf(table, c, i) * factor;
    values[2 * m] = Math.min(0, -llr);
    values[2 * m + 1] = Math.min(0, llr);
  });
  return values;
}

function readClasses(table, choice, rows, classes, truth) {
  const D = classes.length,
    factor = nats(choice),
    isPosterior = choice.kind === "posteriors";
  const places = classes.map((name) => table.columns.indexOf(choice.columns[name]));
  const missing = classes.filter((_, k) => places[k] < 0);
  if (missing.length)
    throw new Error(
      `every class must have a column; ${missing.slice(0, 5).join(", ")} has none. Choose it below.`
    );
  const counts = new Float64Array(D);
  for (const k of truth) counts[k]++;
  const logPrior = Array.from(counts, (count) =>
    choice.prior === "mix" ? Math.log(count / rows.length) : 0
  );
  const values = new Float64Array(D * rows.length);
  rows.forEach((i, m) => {
    let top = -Infinity;
    for (let k = 0; k < D; k++) {
      const cell = cellOf(table, places[k], i);
      if (isPosterior && cell < 0)
        throw new Error(
          `posteriors must not be negative; row ${i + 1} of ${table.columns[places[k]]} holds ${cell}.`
        );
      values[m * D + k] = isPosterior ? Math.log(cell) - logPrior[k] : cell * factor;
      top = Math.max(top, values[m * D + k]);
    }
    if (!Number.isFinite(top))
      throw new Error(
        `each row must have a class that is not ruled out, and none may be certain beyond number; row ${i + 1} does not.`
      );
    for (let k = 0; k < D; k++) values[m * D + k] -= top;
  });
  return values;
}
