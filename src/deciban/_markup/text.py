"""Numbers and names in plain text, for readers."""

from __future__ import annotations

import math
import re

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def clean_text(value: object) -> str:
    """A value as text that any page can hold: no control characters, no lone surrogates.

    >>> clean_text("a" + chr(0) + "b")
    'a�b'
    """
    whole = str(value).encode("utf-8", "replace").decode("utf-8")
    return _CONTROL.sub("\ufffd", whole)


def number(value: float, digits: int = 3) -> str:
    """A number for readers: significant digits, a real minus, ∞, and – where there is none.

    >>> number(0.12345), number(-1234567.0), number(float("inf")), number(float("nan"))
    ('0.123', '−1,234,567', '∞', '–')
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        return _power(value)
    size = 0 if value == 0 else math.floor(math.log10(abs(value)))
    text = f"{value:,.{max(0, digits - 1 - size)}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def _power(value: float) -> str:
    mantissa, power = f"{value:.1e}".split("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa} × 10{raised}".replace("-", "−")


def percent(share: float, digits: int = 2) -> str:
    """A share in percent; one below 100 % is not rounded up to it.

    >>> percent(0.1234), percent(0.99999), percent(0.0)
    ('12 %', 'over 99.9 %', '0 %')
    """
    if 0.9995 <= share < 1:
        return "over 99.9 %"
    return f"{number(100 * share, 3 if 0.99 < share < 1 else digits)} %"


def shorten(value: object, most: int = 18) -> str:
    """A name in one line, cut where it is long.

    >>> shorten("a very long name of a class", 12)
    'a very long…'
    """
    whole = " ".join(clean_text(value).split()) or "(no name)"
    return whole if len(whole) <= most else whole[: most - 1].rstrip() + "…"
