"""Priors and costs as they are typed: ``a=0.9,b=0.1`` and ``a>b=5``."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deciban.cli.tables import nearest, read_table
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np


def parsed_prior(
    text: str | None,
    option: str,
    classes: Sequence[Hashable],
    counts: Sequence[int] | None = None,
) -> dict[Hashable, float] | None:
    """Probabilities from ``a=0.5,b=0.5``, ``uniform`` (None) or ``empirical`` (from the counts)."""
    if text is None or text == "uniform":
        return None
    if text == "empirical" and counts is not None:
        total = sum(counts)
        return {label: count / total for label, count in zip(classes, counts, strict=True)}
    found: dict[Hashable, float] = {}
    for part in text.split(","):
        name, equals, number = part.rpartition("=")
        if not equals:
            mix = "" if counts is None else ", or 'empirical'"
            raise InputError(
                f"{option} must be like '{_example(classes)}', or 'uniform'{mix}; got {text!r}. "
                f"Write a probability for each class."
            )
        label = named_class(name, option, classes)
        if label in found:
            raise InputError(f"{option} must name each class once; it names {label} twice.")
        found[label] = _number(number, option, text)
    missing = [str(label) for label in classes if label not in found]
    if missing:
        raise InputError(
            f"{option} must name every class; it lacks {', '.join(missing[:5])}. Write "
            f"'{_example(classes)}'."
        )
    _require_distribution(found, option)
    return found


def _require_distribution(found: dict[Hashable, float], option: str) -> None:
    smallest, total = min(found.values()), sum(found.values())
    if smallest <= 0 or abs(total - 1) > 2e-3:
        what = f"one of them is {smallest:g}" if smallest <= 0 else f"they sum to {total:g}"
        raise InputError(
            f"{option} must be probabilities above zero that sum to one; {what}. Change them."
        )


def parsed_costs(text: str | None, option: str, classes: Sequence[Hashable]) -> np.ndarray | None:
    """Costs, the truth on rows, from ``a>b=5,b>a=1`` or a table.

    ``a>b=5``: to decide for b when a is true costs 5. Errors that are not named cost 1, right
    decisions nothing. A table has the true class in its first column and a column for each
    decision.
    """
    import numpy as np

    if text is None:
        return None
    if ">" not in text:
        return _costs_from_table(text, option, classes)
    C = 1 - np.eye(len(classes))
    seen: set[tuple[int, ...]] = set()
    for part in text.split(","):
        pair, equals, number = part.rpartition("=")
        truth, arrow, decision = pair.partition(">")
        if not equals or not arrow:
            raise InputError(
                f"{option} must be like '{classes[0]}>{classes[1]}=5', or a table; got {text!r}. "
                f"Write true class > decided class = cost."
            )
        rows = [list(classes).index(named_class(one, option, classes)) for one in (truth, decision)]
        if tuple(rows) in seen:
            raise InputError(f"{option} must name each error once; it names {pair} twice.")
        seen.add(tuple(rows))
        C[rows[0], rows[1]] = _number(number, option, text)
    return C


def _costs_from_table(text: str, option: str, classes: Sequence[Hashable]) -> np.ndarray:
    import numpy as np

    if not Path(text).is_file():
        raise InputError(
            f"{option} must be like '{classes[0]}>{classes[1]}=5', or a table that exists; got "
            f"{text!r}. Write true class > decided class = cost."
        )
    frame = read_table(text)
    rows = [named_class(str(one), option, classes) for one in frame.to_series(0).to_list()]
    names = [named_class(name, option, classes) for name in frame.columns[1:]]
    if sorted(map(str, rows)) != sorted(map(str, classes)) or set(names) != set(classes):
        raise InputError(
            f"{option} must be a table with one row and one column for each class; {text} has rows "
            f"{', '.join(map(str, rows[:5]))} and columns {', '.join(map(str, names[:5]))}. "
            f"Add what is missing."
        )
    C = np.empty((len(classes), len(classes)))
    for i, values in zip(rows, frame.rows(), strict=True):
        for j, value in zip(names, values[1:], strict=True):
            C[list(classes).index(i), list(classes).index(j)] = _number(value, option, text)
    return C


def named_class(text: str, option: str, classes: Sequence[Hashable]) -> Hashable:
    """The class that is written so."""
    wanted = text.strip()
    for label in classes:
        if str(label) == wanted or (isinstance(label, bool) and str(label).lower() == wanted):
            return label
    names = [str(label) for label in classes]
    raise InputError(
        f"{option} must name the classes {', '.join(names[:10])}; got {wanted!r}."
        f"{nearest(wanted, names) or ' Check its spelling.'}"
    )


def _number(value: object, option: str, text: str) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = float("nan")
    if not -1e300 < number < 1e300:
        raise InputError(f"{option} must hold finite numbers; got {value!r} in {text!r}. Fix it.")
    return number


def _example(classes: Sequence[Hashable]) -> str:
    return ",".join(f"{label}={1 / len(classes):.3g}" for label in classes[:4])
