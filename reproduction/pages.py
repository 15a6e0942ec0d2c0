"""The pages of a run: index.html to open, README.md for a repository, results.json for programs.

They are made from the records that experiments left in the folder, so that experiments can be run
one at a time, on different days.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from reproduction.files import write_atomically
from reproduction.markup import as_html, as_markdown
from reproduction.results import (
    Record,
    compare_numbers,
    extra_numbers,
    read_records,
    summarize_run,
)
from reproduction.verdicts import VERDICTS, printed_numbers

_TITLE = "The paper, reproduced"
_ABOUT = (
    "Every number, table and figure of Noé, Nautsch, Matrouf, Bousquet and Bonastre, *The "
    "distribution of calibrated likelihood functions on the probability-likelihood Aitchison "
    "simplex*, run again with deciban by `python -m reproduction`. CDA is compositional "
    "discriminant analysis, the paper's method; LDA and QDA are linear and quadratic discriminant "
    "analysis. Cllr is the cost of log-likelihood ratios in bits (0 is perfect, and evidence that "
    "says nothing costs 1), and Cllr_min is the cost after the best calibration; C_mc is the cost "
    "of likelihood functions over several classes in nats. Lower is better for all three. The "
    "paper's errata are listed in `docs/ideas/closed-form.md`."
)
_TWO_CDAS = (
    "*As described* is a CDA with the paper's loss and initialization; the paper does not give the "
    "size of its flow, so the size is ours. *Ours* is deciban's default, a different method: it "
    "adds the cross-entropy to the loss, regularizes, and adds dimensions to small tables."
)
_HEADLINES = ("table1.moons.cda.cllr", "table1.circles.cda.cllr", "mnist40.cda.c_mc",
              "mnist40.cda.accuracy", "mnist784.cda.c_mc", "mnist784.cda.accuracy")  # fmt: skip
_GROUPS = {
    "formulas": "Results of formulas",
    "baselines": "LDA and QDA",
    "cda": "CDA",
    "parameters": "Learned parameters (no better or worse)",
}
_MEANING = (
    "Beaten: our whole interval is on the better side of the printed number. Matched: the printed "
    "number lies in our interval, to its last digit. Worse: our whole interval is on the worse "
    "side. Not comparable: an erratum, unknown data or an unknown size of the test set, a learned "
    "parameter, or a result of LDA or QDA that is better than printed, which means that the data "
    "or the code differ."
)
_TILES = {
    "matched": "the printed number lies in our interval",
    "beaten": "our whole interval is better",
    "worse": "our whole interval is worse",
    "unknown": "cannot be compared, or was not run",
}
_COUNTS = "How many of the paper's numbers were matched, beaten or missed."
_QUICK = (
    "This is a quick run with small samples and short fits. Its numbers are not meant for "
    "comparison, and have no verdicts."
)


def write_pages(folder: Path, quick: bool) -> None:
    """Write the three files from the records in the folder."""
    records = read_records(folder)
    numbers = compare_numbers(records)
    shown = blocks_of_page(records, numbers, quick)
    write_atomically(folder / "index.html", as_html(shown, _TITLE, folder))
    write_atomically(folder / "README.md", as_markdown(shown))
    source = {"quick": quick, "numbers": numbers, "others": extra_numbers(records)}
    table = source | {"runs": [summarize_run(record) for record in records]}
    write_atomically(
        folder / "results.json", json.dumps(table, indent=1, ensure_ascii=False) + "\n"
    )


def blocks_of_page(
    records: Sequence[Record], numbers: Sequence[dict[str, Any]], quick: bool
) -> list[dict[str, Any]]:
    """The page as blocks: a summary, then each experiment, then how it was computed."""
    head = [_heading(1, _TITLE), _text(_ABOUT)]
    if quick:
        head.append({"kind": "error", "text": _QUICK})
    blocks = [] if quick else [_tiles(numbers)]
    blocks += _headlines(numbers)
    if not quick:
        blocks += _summary(numbers)
    for record in records:
        blocks += _section(record, numbers, quick)
    blocks += _computation(records)
    headings = [block["text"] for block in blocks if block["kind"] == "heading"]
    return [*head, {"kind": "contents", "headings": headings}, *blocks]


def _section(
    record: Record, numbers: Sequence[dict[str, Any]], quick: bool
) -> list[dict[str, Any]]:
    keys = {n["key"] for n in record.get("numbers", [])}
    mine = [n for n in numbers if n["key"] in keys]
    counts = {} if quick else _count_verdicts(mine)
    heading = _heading(2, f"{record['title']} ({record['paper']})")
    blocks = [heading | {"short": record["title"], "note": record["paper"], "fold": True,
                         "counts": counts}]  # fmt: skip
    if "error" in record:
        blocks.append({"kind": "error", "text": f"Not run: {record['error']}"})
    blocks += record.get("blocks", [])
    # Learned parameters have their own tables.
    mine = [n for n in mine if n["group"] != "parameters"]
    return [*blocks, _table_of(mine)] if mine else blocks


# --- summary ------------------------------------------------------------------------------


def _count_verdicts(numbers: Sequence[dict[str, Any]]) -> dict[str, int]:
    """How many of the numbers have each verdict; the last is unknown."""
    counts = Counter(_verdict(n, "ours", n["group"]) for n in numbers)
    known = {word: counts.pop(word, 0) for word in _TILES if word != "unknown"}
    return known | {"unknown": counts.total()}


def _tiles(numbers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How many numbers were matched, beaten, worse, or cannot be compared."""
    tiles = [
        {"verdict": word, "count": count, "text": _TILES[word]}
        for word, count in _count_verdicts(numbers).items()
    ]
    return {"kind": "tiles", "tiles": tiles}


def _headlines(numbers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The numbers that most readers come for."""
    rows = []
    for n in numbers:
        if n["key"] in _HEADLINES and n["ours"]:
            cells = [_value(n, name) for name in ("described", "ours")]
            better = f"{n['unit']}, {n['better']} is better"
            rows.append([n["what"], better, f"{float(n['printed']):g}", *cells])
    if not rows:
        return []
    header = ["quantity", "unit", "paper", "as described", "ours"]
    table = _table("The main results, with 95 % intervals.", header, rows)
    return [_heading(2, "Main results"), table, _text(_TWO_CDAS)]


def _summary(numbers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was reproduced, what was beaten, and what cannot be compared."""
    source = sum(one.in_source for one in printed_numbers().values())
    blocks = [
        _heading(2, "Verdicts"),
        _text(
            f"The paper prints {len(numbers) - source} numbers, and its source contains {source} "
            f"more. Each verdict is computed from the printed number, its last digit, and our "
            f"number with its interval. {_MEANING}"
        ),
        _table(_COUNTS, ["", *VERDICTS], _overview(numbers)),
    ]
    letters: dict[str, str] = {}  # of remarks, which are written out once
    rows = _rows(numbers, "worse", ("described", "ours"), letters)
    if rows:
        header = ["quantity", "printed", "here", "interval", "method", "why"]
        blocks.append(_table("Where we are worse, and why.", header, rows))
        blocks += [_text(f"{letter} {remark}") for remark, letter in letters.items()]
    rows = _rows(numbers, "beaten", ("ours",))
    if rows:
        header = ["quantity", "printed", "here", "interval"]
        blocks.append(_table("Where our CDA is better.", header, rows) | {"fold": True})
    rows = _not_comparable(numbers, letters)
    if rows:
        caption = "Numbers that cannot be compared, and why."
        header = ["place", "quantity", "count", "reason"]
        blocks.append(_table(caption, header, rows) | {"fold": True})
    return blocks


def _overview(numbers: Sequence[dict[str, Any]]) -> list[list[str]]:
    rows = []
    for group, title in _GROUPS.items():
        some = [n for n in numbers if n["group"] == group]
        for name in ("described", "ours") if group == "cda" else ("ours",):
            counts = Counter(_verdict(n, name, group) for n in some)
            label = f"{title}, {'as described' if name == 'described' else 'ours'}"
            first = label if group == "cda" else title
            rows.append([first, *(str(counts[v]) if counts[v] else "–" for v in VERDICTS)])
    return rows


def _verdict(n: dict[str, Any], name: str, group: str) -> str:
    """Learned parameters are those of the CDA as described, if there is one."""
    one = (n["described"] or n["ours"]) if group == "parameters" else n[name]
    return one["verdict"] if one else "not run"


def _rows(
    numbers: Sequence[dict[str, Any]], word: str, names: Sequence[str],
    letters: dict[str, str] | None = None,
) -> list[list[str]]:  # fmt: skip
    """Rows of the numbers with a verdict; with `letters`, the method and the letter of a remark."""
    rows = []
    for n in numbers:
        for name in names:
            if n[name] and n[name].get("verdict") == word:
                unit = "" if n["unit"] == "–" else f" {n['unit']}"
                row = [f"{n['what']} ({n['where']})", n["printed"] + unit, *_parts(n, name)]
                if letters is not None:
                    letter = letters.setdefault(n["remark"], f"({ascii_lowercase[len(letters)]})")
                    row += ["as described" if name == "described" else "ours", letter]
                rows.append(row)
    return rows


def _not_comparable(numbers: Sequence[dict[str, Any]], letters: dict[str, str]) -> list[list[str]]:
    """A row for each reason; one that has a letter is not repeated."""
    reasons: dict[str, list[dict[str, Any]]] = {}
    for n in numbers:
        if _verdict(n, "ours", n["group"]) == "not comparable":
            reasons.setdefault(n["remark"], []).append(n)
    rows = []
    for why, some in reasons.items():
        where = ", ".join(dict.fromkeys(n["where"] for n in some))
        what = some[0]["what"] + (f", and {len(some) - 1} more" if len(some) > 1 else "")
        reason = f"{letters[why]}, above." if why in letters else why
        rows.append([where, what, str(len(some)), reason])
    return rows


# --- each number, and how it was computed ---------------------------------------------------


def _table_of(numbers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A table of numbers with their intervals and verdicts."""
    described = any(n["described"] for n in numbers)
    header = ["place", "quantity", "unit", "printed"]
    header += ["as described", "verdict"] if described else []
    rows = []
    for n in numbers:
        row = [n["where"], n["what"], n["unit"], n["printed"]]
        for name in ("described", "ours") if described else ("ours",):
            row += [_value(n, name), (n[name] or {}).get("verdict", "–")]
        rows.append(row)
    hows = dict.fromkeys(n["ours"]["how"] for n in numbers if n["ours"])
    caption = f"Each printed number and ours. Intervals: {'; '.join(hows)}."
    return _table(caption, [*header, "ours", "verdict"], rows)


def _value(n: dict[str, Any], name: str) -> str:
    if not n[name]:
        return "–"
    value, span = _parts(n, name)
    return value if span == "–" else f"{value} ({span})"


def _parts(n: dict[str, Any], name: str) -> tuple[str, str]:
    """Our number and its interval, with as many digits as the printed one, at least 3."""
    digits = max(3, len(re.sub(r"e.*|\D", "", n["printed"]).lstrip("0")))
    one = n[name]
    value, low, high = (f"{one[part]:.{digits}g}" for part in ("value", "low", "high"))
    exact = one["low"] == one["value"] == one["high"]
    return value, "–" if exact else f"{low} to {high}"


def _computation(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Versions, processors and times of each experiment."""
    rows = []
    letters: dict[str, str] = {}  # of sets of versions, which are written out once
    for record in records:
        steps = list(record.get("steps", {}).values())
        places = {json.dumps([s["processor"], s["versions"]], sort_keys=True): s for s in steps}
        for step in places.values():
            same = [s for s in steps if s["versions"] == step["versions"]
                    and s["processor"] == step["processor"]]  # fmt: skip
            seconds = sum(s["seconds"] for s in same)
            used = ", ".join(f"{name} {version}" for name, version in step["versions"].items())
            letter = letters.setdefault(used, f"({ascii_lowercase[len(letters)]})")
            rows.append([record["name"], f"{seconds:.0f}", step["processor"], letter])
    header = ["experiment", "seconds", "processor", "versions"]
    note = "Seeds and settings of each step are in `results.json`."
    table = _table("Computing time and versions.", header, rows) | {"fold": True}
    versions = [_text(f"Versions {letter}: {used}.") for used, letter in letters.items()]
    return [_heading(2, "How it was computed"), table, *versions, _text(note)]


def _heading(level: int, text: str) -> dict[str, Any]:
    return {"kind": "heading", "level": level, "text": text}


def _text(text: str) -> dict[str, Any]:
    return {"kind": "paragraph", "text": text}


def _table(caption: str, header: Sequence[str], rows: Sequence[Any]) -> dict[str, Any]:
    return {"kind": "table", "caption": caption, "header": list(header), "rows": list(rows)}
