"""Text, numbers and tables that are safe in a page, whatever a class is called."""

from __future__ import annotations

import csv
import html
import io
import json
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from deciban.assessment.wording import clean_text, number

_SHOWN = 60  # rows of a table that stand in the page; the file to download has all


def text(value: object) -> str:
    """A value as text of a page, in an element or in an attribute.

    >>> text('<b>"x"</b>')
    '&lt;b&gt;&quot;x&quot;&lt;/b&gt;'
    """
    # A percent sign stays with its number.
    return html.escape(clean_text(value), quote=True).replace(" %", "&nbsp;%")


def cell(value: object) -> str:
    """A number for readers, or the text itself, as a table shows it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return clean_text(value)
    return f"{value:,}".replace("-", "−") if isinstance(value, int) else number(value, 4)


def table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table whose first column names its rows; long ones end early and say so."""
    head = "".join(f'<th scope="col">{text(column)}</th>' for column in columns)
    body = "".join(f"<tr>{_row(row)}</tr>" for row in rows[:_SHOWN])
    if len(rows) > _SHOWN:
        caption += f" The first {_SHOWN} of {len(rows):,} rows; the file has all."
    return scrolling_table(caption, f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>")


def scrolling_table(caption: str, content: str, look: str = "scroll") -> str:
    """A table that scrolls within itself."""
    return (
        f'<div class="{look}" role="region" tabindex="0" aria-label="{text(caption)}"><table>'
        f"<caption>{text(caption)}</caption>{content}</table></div>"
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
    csv.writer(out, lineterminator="\n").writerows(
        [_field(value) for value in row] for row in (columns, *rows)
    )
    return _link(f"{name}.csv", "text/csv", out.getvalue(), "Download as CSV")


def download_json(name: str, content: Any, label: str) -> str:
    """A link that holds a JSON file."""
    whole = json.dumps(content, ensure_ascii=False, default=str)
    return _link(f"{name}.json", "application/json", clean_text(whole), label)


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
        quote = "'" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else ""
        return quote + clean_text(value)
    return value


def script_data(content: Any) -> str:
    """JSON for an element of a page: nothing in it can close the element."""
    whole = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return whole.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
