"""Provenance and acceptance criteria for a signed report."""

from __future__ import annotations

import hashlib
import operator
import os
import re
import shlex
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from deciban.cli.words import join_words, quote, split, suggest
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from deciban.assessment import Assessment
    from deciban.cli.score_parts import ScoreParts
    from deciban.cli.scores import LabelledScores

COMMAND: list[str] = []  # the words that were typed after deciban
UNMET = 3  # exit status where a criterion is not met
_PACKAGES = ("deciban", "numpy", "scipy", "scikit-learn", "polars")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?inf"
_CRITERION = re.compile(
    rf"\s*([^<>=,]+?)(?:\.(low|high))?\s*(<=|>=|<|>)\s*({_NUMBER})\s*(%?)\s*", re.IGNORECASE
)
_OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def hash_inputs(sources: Iterable[str | None]) -> list[dict[str, Any]]:
    """Name, SHA-256 and size for each file."""
    from deciban.cli.files import file_errors, locate

    found = []
    for source in filter(None, dict.fromkeys(sources)):
        path, name = locate(source)
        with file_errors(name, "cannot be read"), open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            found.append({"file": name, "sha256": digest, "bytes": file.tell()})
    return found


def describe_run(
    inputs: list[dict[str, Any]],
    scored: Iterable[tuple[str, LabelledScores | ScoreParts]] = (),
    **settings: Any,
) -> dict[str, Any]:
    """The command, versions, inputs, scores and settings as plain data."""
    import platform
    from importlib.metadata import version

    from deciban._markup import to_plain

    # with a date that is given, a result can be reproduced bit for bit
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
    return {
        "command": shlex.join(["deciban", *COMMAND]),
        "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "versions": {"python": platform.python_version()} | {p: version(p) for p in _PACKAGES},
        "inputs": inputs,
        "scores": [
            {"file": source, "kind": one.columns.kind, "columns": list(one.columns.columns),
             "base": one.columns.base,
             "in_favor_of": to_plain(one.classes[1]) if one.columns.is_llr else None,
             "rows_used": one.n_samples, "rows_left_out": getattr(one, "left_out", {}),
             "notes": list(one.notes)}
            for source, one in scored
        ],
        "settings": {name: to_plain(value) for name, value in settings.items()},
    }  # fmt: skip


class Criterion(NamedTuple):
    """A limit for a quantity or an end of its interval."""

    text: str  # as it was typed
    key: str
    end: str  # "low", "high", or "" for the value
    relation: str
    limit: float

    def judge(self, assessment: Assessment) -> dict[str, Any]:
        from deciban._markup import to_plain
        from deciban.assessment.quantities import hint_replacement

        found = {q.key: q for q in assessment.quantities}
        if self.key not in found:
            hint = hint_replacement(self.key, found) or suggest(self.key, found)
            hint = hint or " Choose one of them."
            raise InputError(
                f"--require {quote(self.key)} is not a quantity of this assessment "
                f"({join_words(found, 40)}).{hint}"
            )
        value = getattr(found[self.key], self.end or "value")
        if value != value:
            problem = "is not defined for these samples. Leave it out"
            if self.end:
                problem = "has no interval for these samples. Require its value"
            raise InputError(f"--require {quote(self.text)}: {self.key} {problem}.")
        if found[self.key].unit == "fraction" and not 0 <= self.limit <= 1:
            raise InputError(
                f"--require {quote(self.text)}: {self.key}, a fraction, is from 0 to 1. Write "
                f"{self.key}{self.relation}{self.limit:g}% for percent."
            )
        level = f"{100 * assessment.confidence:g} % interval"
        ends = {"": "value", "low": f"lower end of {level}", "high": f"upper end of {level}"}
        return {
            "criterion": self.text, "judged_on": ends[self.end], "found": to_plain(value),
            "passed": bool(_OPERATORS[self.relation](value, self.limit)),
        }  # fmt: skip


def parse_criteria(texts: Iterable[str]) -> list[Criterion]:
    """Criteria such as ``cllr<0.1`` or ``eer.high<2%``, separated by commas."""
    criteria = []
    for text in (part for several in texts for part in split(several)):
        found = _CRITERION.fullmatch(text)
        if found is None:
            raise InputError(
                f"--require {quote(text)} is not a criterion. Write a quantity, <, <=, > or >=, "
                "and a number: 'cllr<0.1', or 'cllr.high<0.1' for the upper end of the interval."
            )
        limit = float(found[4]) / (100 if found[5] else 1)
        end = (found[2] or "").lower()
        criteria.append(Criterion(text.strip(), found[1], end, found[3], limit))
    return criteria
