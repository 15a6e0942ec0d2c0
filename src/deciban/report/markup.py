"""Text, numbers and tables that are safe in a page, whatever a class is called."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

_SHOWN = 60  # rows of a table that stand in the page; the file to download has all
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def plain(value: object) -> str:
    """A value as text that any page can hold: no control characters, no half characters.

    >>> plain("a" + chr(0) + "b")
    'a�b'
    """
    whole = str(value).encode("utf-8", "replace").decode("utf-8")
    return _CONTROL.sub("\ufffd", whole)


def text(value: object) -> str:
    """A value as text of a page, in an element or in an attribute.

    >>> text('<b>"x"</b>')
    '&lt;b&gt;&quot;x&quot;&lt;/b&gt;'
    """
    # A percent sign stays with its number.
    return html.escape(plain(value), quote=True).replace(" %", "&nbsp;%")


def short(value: object, most: int = 18) -> str:
    """The beginning of a long name, not yet escaped.

    >>> short("a very long name of a class", 12)
    'a very long…'
    """
    whole = " ".join(plain(value).split()) or "(no name)"
    return whole if len(whole) <= most else whole[: most - 1].rstrip() + "…"


def number(value: float, digits: int = 3) -> str:
    """A number for readers: figures that matter, a real minus, ∞, and – where there is none.

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
    said = f"{value:,.{max(0, digits - 1 - size)}f}"
    return (said.rstrip("0").rstrip(".") if "." in said else said).replace("-", "−")


def _power(value: float) -> str:
    mantissa, power = f"{value:.1e}".split("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa} × 10{raised}".replace("-", "−")


def percent(share: float, digits: int = 2) -> str:
    """A share in percent; one so close to 0 or 1 that rounding hides it says so.

    >>> percent(0.1234), percent(0.99999), percent(0.0)
    ('12 %', 'over 99.9 %', '0 %')
    """
    if math.isfinite(share) and 0.9995 < share < 1:
        return "over 99.9 %"
    if math.isfinite(share) and 0.99 < share < 1:
        digits = 3
    return f"{number(100 * share, digits)} %"


def cell(value: object) -> str:
    """What stands in a table: a number for readers, or the text itself."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return plain(value)
    return f"{value:,}".replace("-", "−") if isinstance(value, int) else number(value, 4)


def table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table whose first column names its rows; long ones end early and say so."""
    head = "".join(f'<th scope="col">{text(column)}</th>' for column in columns)
    body = "".join(f"<tr>{_row(row)}</tr>" for row in rows[:_SHOWN])
    if len(rows) > _SHOWN:
        caption += f" The first {_SHOWN} of {len(rows):,} rows; the file has all."
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{text(caption)}"><table>'
        f"<caption>{text(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _row(row: Sequence[Any]) -> str:
    first, *others = row
    cells = (
        f"<td{' class=number' if isinstance(x, int | float) else ''}>{text(cell(x))}</td>"
        for x in others
    )
    return f'<th scope="row">{text(cell(first))}</th>' + "".join(cells)


def download(name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A link that holds the numbers themselves, as CSV at full precision."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_field(column) for column in columns])
    writer.writerows([_field(value) for value in row] for row in rows)
    return _link(f"{name}.csv", "text/csv", out.getvalue(), "Download as CSV")


def download_json(name: str, content: Any, label: str) -> str:
    """A link that holds a JSON file."""
    whole = json.dumps(content, ensure_ascii=False, default=str)
    return _link(f"{name}.json", "application/json", plain(whole), label)


def _link(file: str, kind: str, content: str, label: str) -> str:
    # Base64 grows by a third; percent-encoding would treble every comma and line break.
    data = b64encode(content.encode("utf-8")).decode("ascii")
    return (
        f'<a class="download" download="{text(file)}" '
        f'href="data:{kind};charset=utf-8;base64,{data}">{text(label)}</a>'
    )


def _field(value: Any) -> Any:
    """A number with the figures it has; text that no spreadsheet takes for a formula."""
    if isinstance(value, float):
        return f"{value:.8g}"
    if isinstance(value, str):
        return f"'{plain(value)}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else plain(value)
    return value


def script_data(content: Any) -> str:
    """JSON for an element of a page: nothing in it can close the element."""
    whole = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return whole.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
