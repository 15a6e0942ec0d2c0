"""Text, tables, plain data and HTML without scripts, safe for any class name."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any, NamedTuple

import numpy as np

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def clean_text(value: object) -> str:
    """Text without control characters and lone surrogates."""
    return _CONTROL.sub("\ufffd", str(value).encode("utf-8", "replace").decode("utf-8"))


def number(value: float, digits: int = 3) -> str:
    """A number for readers: significant digits, a real minus, ∞, and – for NaN."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        mantissa, power = f"{value:.1e}".split("e")
        raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"{mantissa} × 10{raised}".replace("-", "−")
    size = 0 if value == 0 else math.floor(math.log10(abs(value)))
    text = f"{value:,.{max(0, digits - 1 - size)}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def percent(share: float, digits: int = 2) -> str:
    """A share in percent; values below 100 % are not rounded up to it."""
    if 0.9995 <= share < 1:
        return "over 99.9 %"
    return f"{number(100 * share, 3 if 0.99 < share < 1 else digits)} %"


def shorten(value: object, most: int = 18) -> str:
    """A name in one line, cut to ``most`` characters."""
    whole = " ".join(clean_text(value).split()) or "(no name)"
    return whole if len(whole) <= most else whole[: most - 1].rstrip() + "…"


def count_by_class(classes: Sequence[object], counts: Sequence[int], most: int = 6) -> str:
    """Class counts: "class no: 1,710; class yes: 60"."""
    pairs = [f"class {shorten(k, 40)}: {n:,}" for k, n in zip(classes, counts, strict=True)]
    left = len(pairs) - most
    return "; ".join(pairs[:most] + [f"{left:,} more classes"] * (left > 0))


def in_unit(value: float, unit: str) -> str:
    """A number without its unit; a fraction in percent."""
    return percent(value, 3) if unit == "fraction" and value == value else number(value)


def align_cells(rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table with aligned columns."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    padded = ([cell.ljust(n) for cell in c] for c, n in zip(columns, widths, strict=True))
    return ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]


def to_plain(value: Any) -> Any:
    """Plain data for JSON: NaN is None, infinities are "inf" and "-inf"."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: to_plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value if isinstance(value, str | bool | int | float) or value is None else str(value)


_STYLE = """\
.deciban-html { font: 13px/1.5 system-ui, sans-serif; color: inherit; max-width: 62rem; }
.deciban-html .deciban-scroll { overflow-x: auto; }
.deciban-html :is(p, ul) { margin: .3em 0; padding: 0; } .deciban-html ul { padding-left: 1.3em; }
.deciban-html .deciban-table { border-collapse: collapse; margin: .3em 0; font-size: 1em;
  font-variant-numeric: tabular-nums; color: inherit; background: none; }
.deciban-html .deciban-table :is(th, td) { text-align: left; vertical-align: baseline;
  color: inherit; padding: .2em .7em; white-space: nowrap; border: 0;
  border-bottom: 1px solid rgb(128 128 128 / 35%); }
.deciban-html .deciban-table thead th { white-space: normal; vertical-align: bottom; }
.deciban-html .deciban-table tbody tr { background: none; }
.deciban-html .deciban-table tbody th { font-weight: 500; }
.deciban-html .deciban-table .deciban-text { white-space: normal; min-width: 16em; }
.deciban-html .deciban-tone { border-left: 4px solid gray; padding-left: .7em; }
.deciban-html .deciban-good { border-color: #00875f; }
.deciban-html .deciban-fair { border-color: #c47a00; }
.deciban-html .deciban-poor { border-color: #d1440c; }
"""


class Shaded(NamedTuple):
    """A cell with a bar or a tint from 0 to 1 behind its text."""

    text: str
    bar: float | None = None
    tint: float = 0.0


Cell = str | Shaded


def represent(*parts: str) -> str:
    return f'<div class="deciban-html"><style>\n{_STYLE}</style>\n' + "\n".join(parts) + "\n</div>"


def paragraph(text: str, *, lead: str = "", tone: str | None = None) -> str:
    kind = "" if tone is None else f' class="deciban-tone deciban-{html.escape(tone)}"'
    strong = f"<strong>{escape(lead)}</strong> " if lead else ""
    return f"<p{kind}>{strong}{escape(text)}</p>"


def listing(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"


def table(label: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """A table that scrolls if it is wide; the first column names the rows."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    body = "\n".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(map(_cell, others))}</tr>'
        for first, *others in rows
    )
    return (
        f'<div class="deciban-scroll" role="region" tabindex="0" aria-label="{escape(label)}">'
        f'<table class="deciban-table"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def escape(value: object) -> str:
    return html.escape(clean_text(value), quote=True)


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        kind = ' class="deciban-text"' if len(cell) > 40 else ""  # a sentence, which wraps
        return f"<td{kind}>{escape(cell)}</td>"
    ground = f"rgb(0 114 178 / {45 * min(max(cell.tint, 0.0), 1.0):.3g}%)"
    if cell.bar is not None:
        end = f"{100 * min(max(cell.bar, 0.0), 1.0):.3g}%"
        ground = f"linear-gradient(to right, rgb(0 114 178 / 35%) {end}, transparent {end})"
    return f'<td style="background: {ground}">{escape(cell.text)}</td>'
