// A table that a reader opens: which of its columns hold the truth and the scores, and the samples in them.

const LABELS = [
  "truth", "class", "label", "y_true", "true_class", "target", "key", "targettype", "same", "species", "y",
];
const LLRS = ["calibrated_llr", "calibrated_score", "llr", "score", "scores", "log_lr", "loglr"];
const TARGETS = [
  "1", "1.0", "true", "t", "yes", "y", "target", "tar", "tgt", "genuine", "same", "samesource", "samespeaker", "ss",
  "mated", "match", "hp", "bonafide",
];
const MISSING = ["", "na", "n/a", "#n/a", "nan", "null"]; // what people write for a missing value
const DECIMAL_COMMA = /^\s*[-+]?\d+,\d+(e[-+]?\d+)?\s*$/i;
const MOST_CLASSES = 200;
const MOST_BYTES = 2 ** 29;
const SOME = 20000; // rows by which columns are recognized
const NUMBERS = { inf: Infinity, "+inf": Infinity, "-inf": -Infinity, infinity: Infinity, "-infinity": -Infinity };

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
  return decodeText(await file.arrayBuffer(), file.name);
}

/** UTF-8 text, or an error that says that it is none: a browser would put marks in place of what it cannot read. */
function decodeText(bytes, name) {
  const decode = (fatal) => new TextDecoder("utf-8", { fatal }).decode(bytes);
  const lineOf = (text, mark) => text.slice(0, text.indexOf(mark)).split("\n").length;
  let text = null;
  try {
    text = decode(true);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  const shown = text ?? decode(false);
  if (shown.includes("\0"))
    throw new Error(
      `${name} must be text; line ${lineOf(shown, "\0")} has a NUL byte, as binary files and UTF-16 have. Save it as UTF-8 text.`
    );
  if (text === null)
    throw new Error(
      `${name} must be UTF-8 text; line ${lineOf(shown, "\uFFFD")} is not. Save it as UTF-8 (it may be Latin-1).`
    );
  return text;
}

/** Columns and rows of a table in text; commas, semicolons or tabs separate the cells. */
export function parseTable(text, name) {
  const [first] = text.match(/[^\r\n]+/) ?? [""];
  const separator = d3.greatest(["\t", ";", ","], (s) => first.split(s).length);
  // Rows, not objects: those would be made by code that the policy of the page forbids.
  const lines = d3.dsvFormat(separator).parseRows(text.replace(/^\uFEFF/, ""));
  const [header = [], ...rows] = lines.filter((cells) => cells.length > 1 || cells[0].trim() !== "");
  const columns = header.map((column) => column.trim());
  if (columns.length < 2 || !rows.length)
    throw new Error(
      `${name} must have a header and rows of two columns or more, separated by commas, semicolons or tabs; it does not.`
    );
  const bad = rows.findIndex((row) => row.length !== columns.length);
  if (bad >= 0)
    throw new Error(
      `${name} must have ${columns.length} cells in each row; row ${bad + 1} has ${rows[bad].length}. Quote cells that hold the separator, and write numbers with decimal points.`
    );
  return { name, columns, rows };
}

export function parseNumber(text) {
  const word = text.trim().toLowerCase();
  return Object.hasOwn(NUMBERS, word) ? NUMBERS[word] : word === "" ? NaN : Number(word);
}

const isMissing = (cell) => MISSING.includes(cell.trim().toLowerCase());
const isNumber = (cell) => !Number.isNaN(parseNumber(cell)) || DECIMAL_COMMA.test(cell);

/** What each column seems to hold: whether its cells are numbers, and its distinct values; missing ones say nothing. */
function describeColumns({ columns, rows }) {
  const some = rows.slice(0, SOME);
  return columns.map((name, c) => {
    const values = new Set();
    let numeric = true;
    for (const row of some) {
      if (isMissing(row[c])) continue;
      if (values.size <= MOST_CLASSES) values.add(row[c].trim());
      numeric &&= isNumber(row[c]);
    }
    return { name, numeric: numeric && values.size > 0, values };
  });
}

/** The columns as they seem to be meant: { label, kind, columns, llr, positive, base }. */
export function recognizeColumns(table) {
  const described = describeColumns(table);
  const few = (d) => d.values.size >= 2 && d.values.size <= Math.min(MOST_CLASSES, Math.max(2, table.rows.length / 2));
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
  const positive = classes.find((c) => TARGETS.includes(c.toLowerCase().replace(/[-_ ]/g, ""))) ?? classes.at(-1);
  const choice = {
    label, kind: "llr", llr: named ?? numeric[0] ?? null, columns: byClass ?? {}, positive, base: "e", prior: "even",
    unlabeled: "refuse",
  };
  if (byClass && !(named && classes.length === 2))
    choice.kind = sumToOne(table, Object.values(byClass)) ? "posteriors" : "log-likelihoods";
  return choice;
}

export function classesOf(table, label) {
  const c = table.columns.indexOf(label);
  const found = new Set(table.rows.map((row) => row[c].trim()));
  return [...found].filter((name) => !isMissing(name)).sort((a, b) => (Number.isNaN(a - b) ? d3.ascending(a, b) : a - b));
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
  const whole = table.rows.slice(0, 200).filter((row) => !places.some((c) => isMissing(row[c])));
  return whole.every((row) => {
    const values = places.map((c) => parseNumber(row[c]));
    return values.every((v) => v >= 0) && Math.abs(d3.sum(values) - 1) < 0.02;
  });
}

/** Rows that have a class; an error in the words of the command line where others are not to be left out. */
function labeledRows(table, { label, unlabeled }) {
  const at = table.columns.indexOf(label), every = d3.range(table.rows.length);
  const empty = every.filter((i) => table.rows[i][at].trim() === "");
  if (empty.length && unlabeled === "refuse")
    throw new Error(
      `${label} in ${table.name} must have no empty cells; ${firstOf(empty)}. Fill it in, or choose above that rows without a class are left out.`
    );
  const rows = empty.length ? every.filter((i) => table.rows[i][at].trim() !== "") : every;
  const unclear = rows.find((i) => isMissing(table.rows[i][at]));
  if (unclear !== undefined)
    throw new Error(
      `${label} in ${table.name} must hold the class of every row; row ${unclear + 1} holds '${table.rows[unclear][at]}'. Fill it in, or give a copy of the table without such rows; if it is a class, write another word.`
    );
  return { rows, empty };
}

const firstOf = (empty) =>
  `row ${empty[0] + 1} has one${empty.length > 1 ? ` (${empty.length.toLocaleString("en")} in all)` : ""}`;

/** Samples of a table with the columns that were chosen, and which rows have no class (from 0) and are left out. */
export function buildSamples(table, choice) {
  const classes = classesOf(table, choice.label);
  if (classes.length < 2 || classes.length > MOST_CLASSES) {
    throw new Error(
      `${choice.label} in ${table.name} must hold from two to ${MOST_CLASSES} classes; it holds ${classes.length}. Choose the column of the true class.`
    );
  }
  const { rows, empty } = labeledRows(table, choice), at = table.columns.indexOf(choice.label);
  if (choice.kind === "llr" && classes.length === 2 && choice.positive === classes[0]) classes.reverse();
  const D = classes.length, place = new Map(classes.map((c, k) => [c, k]));
  const truth = Uint16Array.from(rows, (i) => place.get(table.rows[i][at].trim()));
  const logLikelihoods =
    choice.kind === "llr" ? readLlrs(table, choice, rows, D) : readClasses(table, choice, rows, classes, truth);
  return {
    classes, truth, logLikelihoods, rows: Int32Array.from(rows, (i) => i + 1), n: rows.length, D, total: rows.length,
    leftOut: empty,
  };
}

const nats = ({ base }) => (base === "e" ? 1 : Math.log(Number(base)));

/** Numbers of a column in some rows, or an error in the words of the command line. */
function readNumbers(table, c, rows) {
  const values = Float64Array.from(rows, (i) => parseNumber(table.rows[i][c]));
  const bad = rows.filter((_, m) => Number.isNaN(values[m]));
  if (!bad.length) return values;
  const column = `${table.columns[c]} in ${table.name}`;
  const empty = bad.filter((i) => table.rows[i][c].trim() === "");
  if (empty.length)
    throw new Error(
      `${column} must have no empty cells; ${firstOf(empty)}. Correct it, or give a copy of the table without such rows.`
    );
  const cell = table.rows[bad[0]][c], such = bad.length > 1 ? `, one of ${bad.length.toLocaleString("en")} such` : "";
  const remedy = DECIMAL_COMMA.test(cell)
    ? "It has decimal commas: save it with decimal points."
    : "Choose another column, or correct the table.";
  throw new Error(`${column} must hold numbers; row ${bad[0] + 1} holds '${cell.slice(0, 40)}'${such}. ${remedy}`);
}

function readLlrs(table, choice, rows, D) {
  if (D !== 2)
    throw new Error(
      `LLRs must be of two classes; the column ${choice.label} holds ${D}. Choose one column for each class.`
    );
  const c = table.columns.indexOf(choice.llr), factor = nats(choice);
  if (c < 0)
    throw new Error(
      `${table.name} must have a column of LLRs; it has no column of numbers beside ${choice.label}. Choose the column of the true class.`
    );
  const values = new Float64Array(2 * rows.length);
  readNumbers(table, c, rows).forEach((number, m) => {
    const llr = number * factor;
    values[2 * m] = Math.min(0, -llr);
    values[2 * m + 1] = Math.min(0, llr);
  });
  return values;
}

function readClasses(table, choice, rows, classes, truth) {
  const D = classes.length, factor = nats(choice), isPosterior = choice.kind === "posteriors";
  const places = classes.map((name) => table.columns.indexOf(choice.columns[name]));
  const missing = classes.filter((_, k) => places[k] < 0);
  if (missing.length)
    throw new Error(
      `${table.name} must have a column for every class; ${missing.slice(0, 5).join(", ")} has none. Choose it above.`
    );
  const counts = new Float64Array(D);
  for (const k of truth) counts[k]++;
  const logPrior = Array.from(counts, (count) => choice.prior === "mix" ? Math.log(count / rows.length) : 0);
  const values = new Float64Array(D * rows.length), cells = places.map((c) => readNumbers(table, c, rows));
  rows.forEach((i, m) => {
    let top = -Infinity;
    for (let k = 0; k < D; k++) {
      const cell = cells[k][m];
      if (isPosterior && cell < 0)
        throw new Error(
          `${table.columns[places[k]]} in ${table.name} must hold posteriors of zero or more; row ${i + 1} holds ${cell}. Correct it, or choose log-likelihoods.`
        );
      values[m * D + k] = isPosterior ? Math.log(cell) - logPrior[k] : cell * factor;
      top = Math.max(top, values[m * D + k]);
    }
    if (!Number.isFinite(top))
      throw new Error(
        `${table.name} must hold log-likelihoods below +inf, and one above -inf in each row; row ${i + 1} does not. Correct it.`
      );
    for (let k = 0; k < D; k++) values[m * D + k] -= top;
  });
  return values;
}
