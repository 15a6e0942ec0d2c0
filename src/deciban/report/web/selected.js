// The samples of a brushed range of LLRs, as a table.

const MOST = 200;

/** A table of the samples in the range, the most misleading first. */
export function drawSelected(box, view) {
  const { range, llr, isTarget, index, samples, unit } = view;
  if (!range) {
    box.replaceChildren(note("Drag across the histogram to list the samples of a range here."));
    return;
  }
  const inside = d3.range(llr.length).filter((i) => llr[i] >= range[0] && llr[i] <= range[1]);
  const misleads = (i) => (isTarget[i] ? -llr[i] : llr[i]);
  inside.sort((i, j) => misleads(j) - misleads(i));
  const format = d3.format("+.2f");
  const rows = inside.slice(0, MOST).map((i) => [
    samples.rows ? samples.rows[index[i]] : index[i], samples.classes[samples.truth[index[i]]],
    format(unit.factor * llr[i]).replace("-", "−"), misleads(i) > 0 ? "misleading" : "",
  ]);
  const clear = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: "Clear the range" });
  clear.addEventListener("click", () => view.set({ range: null }));
  const ends = range.map((x) => format(unit.factor * x).replace("-", "−")).join(" to ");
  const more = inside.length > MOST ? ` The ${MOST} most misleading are listed.` : "";
  box.replaceChildren(
    note(`${inside.length.toLocaleString("en")} samples have LLRs from ${ends} ${unit.label}.${more}`), clear,
    makeTable(["row", "true class", `LLR for ${view.names[1]} (${unit.label})`, ""], rows),
  );
}

function note(text) {
  return Object.assign(document.createElement("p"), { className: "note", textContent: text });
}

function makeTable(head, rows) {
  const table = document.createElement("table");
  const row = (cells, tag) => {
    const tr = document.createElement("tr");
    tr.append(...cells.map((text) => Object.assign(document.createElement(tag), { textContent: text })));
    return tr;
  };
  table.createTHead().append(row(head, "th"));
  table.createTBody().append(...rows.map((cells) => row(cells, "td")));
  const scroll = Object.assign(document.createElement("div"), { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Samples of the range" });
  scroll.append(table);
  return scroll;
}
