"""What experiments left in a folder, and each printed number beside ours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reproduction.verdicts import Printed, printed_numbers

Record = dict[str, Any]


def read_records(folder: Path) -> list[Record]:
    """What the experiments left, in the order of the paper; what cannot be read is left out."""
    from reproduction.experiments import EXPERIMENTS

    found = (_read(folder / "results" / f"{e.name}.json") for e in EXPERIMENTS)
    return [record for record in found if record is not None]


def _read(path: Path) -> Record | None:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        whole = {"name", "title", "paper", "quick"} <= set(record)
    except (OSError, ValueError, TypeError):
        return None
    return record if whole else None


def compared(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Each printed number with ours, and with the paper's method as it describes it.

    ``ours`` and ``described`` have value, low, high, how and verdict; they are None where the
    experiment was not run or has no such number.
    """
    found: dict[tuple[str, bool], dict[str, Any]] = {}
    for record in records:
        for n in record.get("numbers", []):
            found[n["key"], n["described"]] = {
                name: n[name] for name in ("value", "low", "high", "how", "verdict") if name in n
            }
    return [_beside(theirs, found) for theirs in printed_numbers().values()]


def _beside(theirs: Printed, found: dict[tuple[str, bool], dict[str, Any]]) -> dict[str, Any]:
    described = found.get((theirs.key, True))
    ours = found.get((theirs.key, False))
    return {
        "key": theirs.key,
        "what": theirs.what,
        "where": theirs.where,
        "unit": theirs.unit,
        "better": theirs.better,
        "group": theirs.group,
        "printed": theirs.text,
        "described": described,
        "ours": ours,
        "remark": theirs.not_comparable or theirs.remark,
    }


def others(records: Sequence[Record]) -> list[dict[str, Any]]:
    """What we measured and the paper did not."""
    known = printed_numbers()
    return [n for r in records for n in r.get("numbers", []) if n["key"] not in known]


def run_of(record: Record) -> dict[str, Any]:
    """How an experiment was run: its settings and seeds, versions, processors and times."""
    names = ("name", "quick", "error", "settings", "steps")
    return {name: record[name] for name in names if name in record}
