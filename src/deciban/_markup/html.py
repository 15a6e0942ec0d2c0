"""Small pieces of HTML for notebooks: no script, and the colors of the notebook, light or dark."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from deciban._markup.text import clean_text

_STYLE = """\
.deciban-html { font: 13px/1.5 system-ui, sans-serif; color: inherit; max-width: 62rem; }
.deciban-html .deciban-scroll { overflow-x: auto; }
.deciban-html p, .deciban-html ul { margin: .3em 0; padding: 0; }
.deciban-html ul { padding-left: 1.3em; }
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


class Bar(NamedTuple):
    """A cell with a bar behind its text, whose length is a share of the cell's width."""

    text: str
    share: float


class Tint(NamedTuple):
    """A cell whose ground is the darker the larger a share is."""

    text: str
    share: float


class Words(NamedTuple):
    """A cell with a sentence, which may take several lines."""

    text: str


Cell = str | Bar | Tint | Words


def represent(*parts: str) -> str:
    """Pieces of HTML as one representation, with the styles that they need."""
    return f'<div class="deciban-html"><style>\n{_STYLE}</style>\n' + "\n".join(parts) + "\n</div>"


def paragraph(text: str, *, lead: str = "", tone: str | None = None) -> str:
    """A paragraph that begins with strong words; a tone ("good", "fair" or "poor") marks it."""
    kind = "" if tone is None else f' class="deciban-tone deciban-{html.escape(tone)}"'
    strong = f"<strong>{escape(lead)}</strong> " if lead else ""
    return f"<p{kind}>{strong}{escape(text)}</p>"


def listing(items: Iterable[str]) -> str:
    """A list of sentences."""
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"


def table(label: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """A table whose first column names its rows; where it is wide, it scrolls within itself.

    Parameters
    ----------
    label : str
        What the table shows, for a screen reader.
    columns : sequence of str
    rows : iterable of sequences of cells
    """
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
    """A value as text of an element or an attribute.

    >>> escape('<b>"x"</b>')
    '&lt;b&gt;&quot;x&quot;&lt;/b&gt;'
    """
    return html.escape(clean_text(value), quote=True)


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return f"<td>{escape(cell)}</td>"
    if isinstance(cell, Words):
        return f'<td class="deciban-text">{escape(cell.text)}</td>'
    share = min(max(cell.share, 0.0), 1.0)
    if isinstance(cell, Bar):
        end = f"{100 * share:.3g}%"
        ground = f"linear-gradient(to right, rgb(0 114 178 / 35%) {end}, transparent {end})"
    else:
        ground = f"rgb(0 114 178 / {45 * share:.3g}%)"
    return f'<td style="background: {ground}">{escape(cell.text)}</td>'
