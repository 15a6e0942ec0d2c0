"""How things look and what they are called: colors, dashes, markers, labels."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable
from typing import Any

from deciban.evidence import Unit

#: Okabe and Ito (2008): color-blind safe; without yellow, which is lost on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
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
REFERENCE = "0.45"  # the gray of identities, boundaries and neutral systems
LONG = 34  # characters of a label that fit along an axis at the width of a column
_SHORT = 12  # characters of a line of a name within the axes


def color_of(k: int) -> str:
    """Color of class or system k."""
    return COLORS[k % len(COLORS)]


def marker_of(k: int) -> str:
    """Marker of class k; color and marker together repeat only after 49 classes."""
    return MARKERS[(k + k // len(COLORS)) % len(MARKERS)]


def dashes_of(k: int) -> Any:
    """Line style of class k."""
    return DASHES[(k + k // len(COLORS)) % len(DASHES)]


def look_of(k: int, known: bool = True) -> dict[str, Any]:
    """Color and marker of the samples of class k; gray where their class is not known."""
    return {"color": color_of(k) if known else REFERENCE, "marker": marker_of(k)}


def literal(name: object) -> str:
    """A user's name as text that matplotlib draws as it is; a dollar sign starts no formula."""
    text = str(name).replace("$", r"\$")
    return f"\u200b{text}" if text.startswith("_") else text  # else legends leave it out


def wrap_name(name: object) -> str:
    """A long name on several short lines."""
    return "\n".join(textwrap.wrap(literal(name), _SHORT, break_long_words=False)) or literal(name)


def infinite_note(minus: float, plus: float, form: str, head: str = "") -> str:
    """Remark in a legend on how many LLRs, or what share of them, are infinite."""
    parts = [f"{form.format(n)} at {sign}" for n, sign in ((minus, "−∞"), (plus, "+∞")) if n]
    return f" ({head}{', '.join(parts)})" if parts else ""


def llr_label(a: Hashable, b: Hashable, unit: Unit) -> str:
    """Axis label of an LLR."""
    return fold(f"LLR of {literal(a)}", f"against {literal(b)} ({unit})")


def fold(first: str, second: str) -> str:
    """Two parts of an axis label, on two lines where one would not fit."""
    return first + ("\n" if len(first) + 1 + len(second) > LONG else " ") + second
