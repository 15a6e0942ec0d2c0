"""The pages of a run: index.html to open, README.md for a repository, results.json for machines.

All are made from the record that each experiment left in the folder, so that experiments may be run
one at a time, on different days.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deciban._files import write_whole
from deciban.paper.forms import as_html, as_markdown
from deciban.paper.verdicts import VERDICTS, printed_numbers

_TITLE = "The paper, reproduced"
_HEADLINES = ("table1.circles.cda.cllr", "mnist40.cda.c_mc", "mnist40.cda.accuracy",
              "mnist784.cda.c_mc")  # fmt: skip
_MEANING = {
    "beaten": "our whole interval is on the better side of the printed number",
    "matched": "the printed number lies in our interval",
    "worse": "our whole interval is on the worse side",
    "not comparable": "an erratum, or a parameter of which neither more nor less is better",
    "not run": "the experiment was not run here",
}


def write_pages(folder: Path, quick: bool) -> None:
    """Write the three files from the records in the folder."""
    records = read_records(folder)
    numbers = all_numbers(records)
    shown = blocks_of_page(records, numbers)
    write_whole(folder / "index.html", as_html(shown, _TITLE))
    write_whole(folder / "README.md", as_markdown(shown))
    table = {"quick": quick, "numbers": numbers, "runs": [_run_of(r) for r in records]}
    write_whole(folder / "results.json", json.dumps(table, indent=1, ensure_ascii=False) + "\n")


def read_records(folder: Path) -> list[dict[str, Any]]:
    """What the experiments left, in the order of the paper."""
    from deciban.paper.experiments import EXPERIMENTS

    paths = (folder / "results" / f"{e.name}.json" for e in EXPERIMENTS)
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.is_file()]


def _run_of(record: dict[str, Any]) -> dict[str, Any]:
    """How an experiment was run: its settings and seeds, versions, processors and times."""
    names = ("name", "quick", "minutes", "error", "settings", "steps")
    return {name: record[name] for name in names if name in record}


def all_numbers(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every printed number with ours and the verdict, then what the paper has not."""
    found = {n["key"]: n for record in records for n in record.get("numbers", [])}
    out: list[dict[str, Any]] = []
    for key, theirs in printed_numbers().items():
        about = {"key": key, "what": theirs.what, "where": theirs.where, "unit": theirs.unit,
                 "printed": theirs.text, "better": theirs.better}  # fmt: skip
        ours = found.pop(key, {"verdict": "not run"})
        why = theirs.not_comparable or theirs.remark
        out.append(about | ours | ({"remark": why} if why else {}))
    return out + list(found.values())


# --- what the page says -----------------------------------------------------------------


def blocks_of_page(
    records: Sequence[dict[str, Any]], numbers: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The page as blocks: a minute's reading, then each experiment, then how it was made."""
    blocks = [_heading(1, _TITLE), *_minute(records, numbers)]
    for record in records:
        blocks.append(_heading(2, f"{record['title']} ({record['paper']})"))
        if "error" in record:
            blocks.append({"kind": "error", "text": f"Not run: {record['error']}"})
        blocks += record.get("blocks", [])
        keys = {n["key"] for n in record.get("numbers", [])}
        # What is learnt and no aim has tables of its own.
        mine = [n for n in numbers if n["key"] in keys and n.get("better", "neither") != "neither"]
        if mine:
            blocks.append(_table_of(mine))
    return [*blocks, *_making(records)]


def _minute(
    records: Sequence[dict[str, Any]], numbers: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """What was reproduced, what was beaten, and what could not be known."""
    theirs = [n for n in numbers if "printed" in n]
    counts = Counter(n["verdict"] for n in theirs)
    derived = sum(printed_numbers()[n["key"]].derived for n in theirs)
    blocks = _headlines(numbers)
    if any(record["quick"] for record in records):
        said = (
            "A quick run: small samples and short fits. It shows that everything works; its "
            "numbers are not for comparison."
        )
        blocks.append({"kind": "error", "text": said})
    blocks.append(_text(
        f"The paper prints {len(theirs) - derived} numbers; {derived} quotients of them are "
        f"compared as well. Each verdict is computed from the printed number, its last digit, and "
        f"our number with its interval."
    ))  # fmt: skip
    rows = [[v, str(counts[v]), _MEANING[v]] for v in VERDICTS if counts[v]]
    blocks.append(_table("Verdicts.", ["verdict", "numbers", "meaning"], rows))
    for word, caption in (("beaten", "What was beaten."), ("worse", "What is worse, and why.")):
        some = [n for n in theirs if n["verdict"] == word]
        if some:
            blocks.append(_in_short(some, caption))
    rows = _not_comparable(theirs)
    if rows:
        caption = "What cannot be compared, and why."
        blocks.append(_table(caption, ["where", "what", "numbers", "why"], rows))
    return blocks


def _headlines(numbers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What most readers come for, in a sentence each."""
    said = []
    for n in numbers:
        if n["key"] in _HEADLINES and "ours" in n:
            ours, span = _ours(n)
            said.append(f"{n['what']}: {n['printed']} {n['unit']} in the paper, **{ours}** here "
                        f"({span}).")  # fmt: skip
    return [_text(" ".join(said))] if said else []


def _not_comparable(numbers: Sequence[dict[str, Any]]) -> list[list[str]]:
    """A row for each reason."""
    reasons: dict[str, list[dict[str, Any]]] = {}
    for n in numbers:
        if n["verdict"] == "not comparable":
            reasons.setdefault(n["where"] + n.get("remark", ""), []).append(n)
    return [
        [some[0]["where"], some[0]["what"] + (" and others" if len(some) > 1 else ""),
         str(len(some)), some[0].get("remark", "")]
        for some in reasons.values()
    ]  # fmt: skip


def _making(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Versions, processors and times."""
    rows = []
    for record in records:
        steps = record.get("steps", {}).values()
        seconds = sum(step["seconds"] for step in steps)
        where = ", ".join(sorted({step["processor"] for step in steps}))
        rows.append([record["name"], f"{seconds:.0f}", where or "–"])
    used = {
        f"{name} {version}"
        for record in records
        for step in record.get("steps", {}).values()
        for name, version in step["versions"].items()
    }
    return [
        _heading(2, "How it was made"),
        _table("Seconds of computing, on what.", ["experiment", "seconds", "processor"], rows),
        _text(f"Made with {', '.join(sorted(used)) or 'nothing yet'}. Seeds and settings of each "
              f"step stand in `results.json`."),
    ]  # fmt: skip


def _heading(level: int, text: str) -> dict[str, Any]:
    return {"kind": "heading", "level": level, "text": text}


def _text(text: str) -> dict[str, Any]:
    return {"kind": "paragraph", "text": text}


def _table(caption: str, header: Sequence[str], rows: Sequence[Any]) -> dict[str, Any]:
    return {"kind": "table", "caption": caption, "header": list(header), "rows": list(rows)}


def _table_of(numbers: Sequence[dict[str, Any]]) -> Any:
    """All that is known of each number."""
    header = ["where", "what", "unit", "printed", "ours", "interval", "of", "verdict"]
    rows = []
    for n in numbers:
        ours, span = _ours(n)
        row = [n["where"], n["what"], n["unit"], n["printed"], ours, span]
        rows.append([*row, n.get("how", "–"), n["verdict"]])
    return _table("Each printed number, and ours.", header, rows)


def _in_short(numbers: Sequence[dict[str, Any]], caption: str) -> Any:
    """What a minute's reading needs of each number."""
    rows = []
    for n in numbers:
        unit = "" if n["unit"] == "–" else f" {n['unit']}"
        what = f"{n['what']} ({n['where']})"
        rows.append([what, n["printed"] + unit, *_ours(n), n.get("remark", "")])
    return _table(caption, ["what", "printed", "ours", "interval", "remark"], rows)


def _ours(n: dict[str, Any]) -> tuple[str, str]:
    """Our number and its interval, to as many figures as the printed one has."""
    if "ours" not in n:
        return "–", "–"
    digits = max(4, len(re.sub(r"e.*|\D", "", n["printed"]).lstrip("0")))
    ours, low, high = (short(n[name], digits) for name in ("ours", "low", "high"))
    return ours, "–" if low == high else f"{low} to {high}"


def short(value: float, digits: int = 4) -> str:
    """A number with so many figures.

    >>> short(0.11832), short(2.3e-7), short(96.2412), short(0.0)
    ('0.1183', '2.3e-07', '96.24', '0')
    """
    return f"{value:.{digits}g}"
