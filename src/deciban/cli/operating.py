"""Priors and costs as they are typed: ``a=0.9,b=0.1`` and ``a>b=5``."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deciban.cli.io.formats import quoted, split, unquoted
from deciban.cli.io.tables import nearest, read_table
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np


def parsed_prior(
    text: str | None,
    option: str,
    classes: Sequence[Hashable],
    counts: Sequence[int] | None = None,
) -> dict[Hashable, float] | None:
    """Probabilities from ``a=0.5,b=0.5``, ``uniform`` (None), ``empirical`` (from the counts).

    A name with a comma is written in double quotes. Or a table with the class in its first column
    and its probability in the second.
    """
    if text is None or text == "uniform":
        return None
    if text == "empirical" and counts is not None:
        total = sum(counts)
        return {label: count / total for label, count in zip(classes, counts, strict=True)}
    from_table = "=" not in text and is_file(text)
    pairs = _pairs_of_table(text, option) if from_table else _pairs(text, option, classes, counts)
    found: dict[Hashable, float] = {}
    for name, number in pairs:
        label = named_class(name, option, classes)
        if label in found:
            raise InputError(f"{option} must name each class once; it names {label} twice.")
        found[label] = _number(number, option, text)
    missing = [str(label) for label in classes if label not in found]
    if missing:
        lacking = ", ".join(map(quoted, missing[:5]))
        raise InputError(
            f"{option} must name every class; it lacks {lacking}. Write '{_example(classes)}'."
        )
    _require_distribution(found, option)
    return found


def is_file(text: str) -> bool:
    """Whether there is such a file; what cannot be a name of one is none."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def _pairs(
    text: str, option: str, classes: Sequence[Hashable], counts: Sequence[int] | None
) -> list[tuple[str, str]]:
    pairs = []
    for part in split(text):
        name, equals, number = unquoted(part).rpartition("=")
        if not equals:
            mix = "" if counts is None else ", 'empirical'"
            raise InputError(
                f"{option} must be like '{_example(classes)}', 'uniform'{mix} or a table of "
                f"classes and probabilities; got {text!r}. Write a probability for each class, "
                f"names with commas in double quotes."
            )
        pairs.append((unquoted(name), number))
    return pairs


def _pairs_of_table(text: str, option: str) -> list[tuple[str, object]]:
    frame = read_table(text)
    if frame.width != 2:
        raise InputError(
            f"{option} must be a table of two columns, classes and probabilities; {text} has "
            f"{frame.width}. Leave out the others."
        )
    return [(str(name), number) for name, number in frame.iter_rows()]


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
    seen: set[tuple[int, int]] = set()
    for part in split(text):
        pair, equals, number = unquoted(part).rpartition("=")
        if not equals or ">" not in pair:
            raise InputError(
                f"{option} must be like '{_example_of_cost(classes)}', or a table; got {text!r}. "
                f"Write true class > decided class = cost, names with commas or > in double quotes."
            )
        cell = _error_of(pair, option, classes)
        if cell in seen:
            raise InputError(f"{option} must name each error once; it names {pair} twice.")
        seen.add(cell)
        C[cell] = _number(number, option, text)
    return C


def _error_of(pair: str, option: str, classes: Sequence[Hashable]) -> tuple[int, int]:
    """The places of the true and the decided class; classes may have > in their names."""
    words = split(pair, ">")
    sides = [
        (unquoted(">".join(words[:k])), unquoted(">".join(words[k:]))) for k in range(1, len(words))
    ]
    if not sides and unquoted(pair) != pair:  # all of it in quotes
        return _error_of(unquoted(pair), option, classes)
    if not sides:
        raise InputError(
            f"{option} must have quotes that are closed; got {pair!r}. Write true class > decided "
            f"class = cost."
        )
    names = {str(label) for label in classes}
    known = [both for both in sides if all(side.strip() in names for side in both)]
    if len(known) > 1:
        raise InputError(
            f"{option} must be clear; {pair!r} can be read in {len(known)} ways. Give a table of "
            f"costs."
        )
    truth, decision = (named_class(one, option, classes) for one in (known or sides)[0])
    return list(classes).index(truth), list(classes).index(decision)


def _costs_from_table(text: str, option: str, classes: Sequence[Hashable]) -> np.ndarray:
    import numpy as np

    if not is_file(text):
        raise InputError(
            f"{option} must be like '{_example_of_cost(classes)}', or a table that exists; got "
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
        f"{option} must name one of the classes {', '.join(map(quoted, names[:10]))}; got "
        f"{wanted!r}."
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
    """A prior as it could be written; all of it where the classes are few."""
    each = round(1 / len(classes), 3)
    shares = [each] * (len(classes) - 1)
    shares.append(1 - sum(shares))
    said = [f"{quoted(label)}={share:.3g}" for label, share in zip(classes, shares, strict=True)]
    return ",".join(said if len(said) <= 5 else [*said[:4], "…"])


def _example_of_cost(classes: Sequence[Hashable]) -> str:
    return f"{quoted(classes[0])}>{quoted(classes[1])}=5"
