"""How things look: colours that every kind of eye tells apart, and lines that print grey."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from deciban.evidence import NATS_PER_UNIT, Unit
from deciban.exceptions import InputError

#: Okabe and Ito (2008), without yellow, which is lost on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1, 1)),
    (0, (6, 1.5, 1, 1.5)),
    (0, (6, 1.5, 1, 1.5, 1, 1.5)),
    (0, (3, 3)),
    (0, (10, 2)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
REFERENCE = "0.45"  # the grey of identities, boundaries and neutral systems
LONG = 34  # characters of a label that fit along an axis at the width of a column


def colour_of(k: int) -> str:
    """Colour of class or system k."""
    return COLOURS[k % len(COLOURS)]


def marker_of(k: int) -> str:
    """Marker of class k; colour and marker together repeat only after 49 classes."""
    return MARKERS[(k + k // len(COLOURS)) % len(MARKERS)]


def dashes_of(k: int) -> Any:
    """Line style of class k."""
    return DASHES[(k + k // len(COLOURS)) % len(DASHES)]


def named(name: str | None, what: str) -> str:
    """A label of the legend, with the name of the system before it where it has one."""
    return what if name is None else f"{name}: {what}"


def infinite_part(minus: float, plus: float) -> str:
    """What a legend says of infinite LLRs, in percent."""
    parts = [f"{share:.2g} % at {sign}" for share, sign in ((minus, "−∞"), (plus, "+∞")) if share]
    return f" ({', '.join(parts)})" if parts else ""


def llr_label(a: Hashable, b: Hashable, unit: Unit) -> str:
    """Axis label of an LLR, on two lines where one would not fit."""
    gap = "\n" if len(f"LLR of {a} against {b} ({unit})") > LONG else " "
    return f"LLR of {a}{gap}against {b} ({unit})"


def require_unit(unit: object) -> None:
    """Refuse a unit that there is not, before anything is drawn."""
    if unit not in NATS_PER_UNIT:
        raise InputError(
            f"unit must be one of {', '.join(NATS_PER_UNIT)}; got {unit!r}. Choose one of them."
        )
