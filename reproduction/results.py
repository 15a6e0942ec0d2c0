"""Records that experiments left in a folder, and each printed number beside ours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reproduction.verdicts import printed_numbers

Record = dict[str, Any]


def read_records(folder: Path) -> list[Record]:
    """Records of the experiments, in the order of the paper, without those that cannot be read."""
    from reproduction.experiments import EXPERIMENTS

    found = (_read(folder / "results" / f"{e.name}.json") for e in EXPERIMENTS)
    return [record for record in found if record is not None]


def _read(path: Path) -> Record | None:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        complete = {"name", "title", "paper", "quick"} <= set(record)
    except (OSError, ValueError, TypeError):
        return None
    return record if complete else None


def compare_numbers(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Each printed number with ours, and with that of the method as the paper describes it.

    ``ours`` and ``described`` have value, low, high, how and verdict; they are None if the
    experiment was not run or has no such number.
    """
    found: dict[tuple[str, bool], dict[str, Any]] = {}
    for record in records:
        for n in record.get("numbers", []):
            found[n["key"], n["described"]] = {
                name: n[name] for name in ("value", "low", "high", "how", "verdict") if name in n
            }
    return [
        {
            "key": key,
            "what": printed.what,
            "where": printed.where,
            "unit": printed.unit,
            "better": printed.better,
            "group": printed.group,
            "printed": printed.text,
            "described": found.get((key, True)),
            "ours": found.get((key, False)),
            "remark": printed.not_comparable or printed.remark,
        }
        for key, printed in printed_numbers().items()
    ]


def extra_numbers(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Numbers of ours that the paper does not have."""
    known = printed_numbers()
    return [n for r in records for n in r.get("numbers", []) if n["key"] not in known]


def summarize_run(record: Record) -> dict[str, Any]:
    """How an experiment was run: its settings and seeds, versions, processors and times."""
    names = ("name", "quick", "error", "settings", "steps")
    return {name: record[name] for name in names if name in record}
