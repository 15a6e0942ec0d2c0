// Files to download: every table as CSV, and all numbers as JSON.

/** Give each button of a download its file. */
export function makeDownloads(data) {
  for (const button of document.querySelectorAll("button[data-download]")) {
    button.addEventListener("click", () => {
      if (button.dataset.download === "json") return save("assessment.json", "application/json", JSON.stringify(data.numbers, null, 1));
      const table = button.closest(".card, .figure").querySelector("table");
      return save(`${button.dataset.download}.csv`, "text/csv", toCsv(table));
    });
  }
}

function toCsv(table) {
  const quote = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const rows = [...table.rows].map((row) => [...row.cells].map((cell) => quote(cell.dataset.value ?? cell.textContent.trim())));
  return `${rows.map((cells) => cells.join(",")).join("\r\n")}\r\n`;
}

function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
