"""Check single values: whole numbers, numbers in a range, options, sources of randomness.

Each check returns a plain Python value or raises an error with the argument, the rule, the value
and the fix.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Collection, Iterable
from typing import Any, TypeGuard

import numpy as np

from deciban.exceptions import InputError

Rng = np.random.Generator | int | None  # a generator, a seed, or None for fresh randomness

_QUOTES = reprlib.Repr()
_QUOTES.maxstring = _QUOTES.maxother = _QUOTES.maxlong = 80


def quote(value: object) -> str:
    """The repr of a value on one line, shortened in the middle, for error messages.

    A NumPy scalar is shown as its Python value.
    """
    try:
        shown = value.item() if isinstance(value, np.generic) else value
        return " ".join(_QUOTES.repr(shown).splitlines())
    except Exception:  # a broken __repr__ must not hide the error that quotes it
        return f"<{type(value).__name__}>"


def quote_each(values: Iterable[object], most: int = 10) -> str:
    """Several values for an error message, or "none"; at most the first ``most``."""
    values = list(values)
    if not values:
        return "none"
    return ", ".join(map(quote, values[:most])) + ", ..." * (len(values) > most)


def is_whole(value: object) -> TypeGuard[int]:
    """True for Python and NumPy integers, not for booleans."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """True for Python and NumPy real numbers, not for booleans."""
    return is_whole(value) or isinstance(value, float | np.floating)


def require_whole(
    value: Any, name: str, least: int = 0, most: int | None = None, *, remedy: str = ""
) -> int:
    if is_whole(value) and least <= value and (most is None or value <= most):
        return int(value)
    limits = f", {least} or more" if most is None else f" from {least} to {most}"
    raise InputError(
        f"{name} must be a whole number{limits}; got {quote(value)}. "
        f"{remedy or f'Give {name}={least}, for instance.'}"
    )


def require_number(value: Any, name: str, *, remedy: str = "Give a finite number.") -> float:
    if is_number(value) and math.isfinite(value):
        return float(value)
    raise InputError(f"{name} must be a finite number; got {quote(value)}. {remedy}")


def require_positive_number(
    value: Any, name: str, *, or_zero: bool = False, remedy: str = ""
) -> float:
    """Require a finite number above zero, or zero if ``or_zero``."""
    if is_number(value) and math.isfinite(value) and (value > 0 or (or_zero and value == 0)):
        return float(value)
    must = "a finite number, 0 or more" if or_zero else "a finite number above 0"
    raise InputError(
        f"{name} must be {must}; got {quote(value)}. {remedy or f'Give {name}=1.0, for instance.'}"
    )


def require_fraction(
    value: Any, name: str, *, inclusive: bool = False, remedy: str = "Give 0.95, for instance."
) -> float:
    """Require a number between 0 and 1, including them if ``inclusive``."""
    if is_number(value) and (0 <= value <= 1 if inclusive else 0 < value < 1):
        return float(value)
    limits = "" if inclusive else ", exclusive"
    raise InputError(f"{name} must lie between 0 and 1{limits}; got {quote(value)}. {remedy}")


def require_one_of(value: Any, name: str, options: Collection[str]) -> str:
    if isinstance(value, str) and value in options:
        return value
    raise InputError(
        f"{name} must be one of {', '.join(options)}; got {quote(value)}. Choose one of them."
    )


def require_bool(value: Any, name: str) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InputError(
        f"{name} must be True or False; got {quote(value)}. Pass later arguments by name."
    )


def as_generator(rng: Rng, name: str = "rng") -> np.random.Generator:
    """A random generator from one, from a seed, or from None for a fresh one."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} must be a NumPy Generator, a seed or None; got {quote(rng)}. "
            f"Give a whole number, 0 or more."
        ) from None
