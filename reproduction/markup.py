"""Blocks of a page as HTML to open, and as Markdown for a repository."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:.5rem 0 1.5rem;font-size:.9rem}.wide{overflow-x:auto}
th,td{border-bottom:1px solid #ddd;padding:.25rem .7rem;text-align:left;vertical-align:top}
caption{text-align:left;font-weight:600;padding:.3rem 0}
img{max-width:100%;height:auto}figure{margin:1.5rem 0}figcaption{font-size:.9rem;color:#444}
code{background:#f3f3f3;padding:0 .2em}.error{background:#fff3e0;padding:.5rem 1rem}
"""


def as_markdown(blocks: Sequence[dict[str, Any]]) -> str:
    """The page as Markdown in GitHub's dialect."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: dict[str, Any]) -> str:
    kind = block["kind"]
    if kind == "heading":
        return f"{'#' * block['level']} {block['text']}"
    if kind == "figure":
        beside = f"*{block['paper']} of the paper.* " if block["paper"] else ""
        return (
            f"![{_first_sentence(block['caption'])}]({block['file']})\n\n{beside}{block['caption']}"
        )
    if kind == "table":
        rows = [block["header"], ["---"] * len(block["header"]), *block["rows"]]
        lines = ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
        return "\n".join([f"**{block['caption']}**", "", *lines])
    return f"> {_line(block['text'])}" if kind == "error" else block["text"]


def _cell(text: str) -> str:
    return _line(text).replace("|", "\\|")


def _line(text: str) -> str:
    """Untrusted text on one line, without HTML."""
    return " ".join(text.split()).replace("<", "&lt;")


def slug(text: str) -> str:
    """The anchor of a heading, as GitHub makes it.

    >>> slug("Two circles (Figures 9 and 10)")
    'two-circles-figures-9-and-10'
    """
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def as_html(blocks: Sequence[dict[str, Any]], title: str) -> str:
    """The page as HTML; its figures are separate files."""
    body = "\n".join(_html(block) for block in blocks)
    return (
        f"<!doctype html>\n<html lang='en'><meta charset='utf-8'>"
        f"<meta name='viewport' content='width=device-width'>"
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style>\n{body}\n</html>\n"
    )


def _html(block: dict[str, Any]) -> str:
    kind = block["kind"]
    if kind == "heading":
        level = block["level"]
        return f"<h{level} id='{slug(block['text'])}'>{_inline(block['text'])}</h{level}>"
    if kind == "figure":
        beside = f"<em>{block['paper']} of the paper.</em> " if block["paper"] else ""
        alt = html.escape(_first_sentence(block["caption"]), quote=True)
        text = _inline(block["caption"])
        return (f"<figure><img src='{block['file']}' alt='{alt}'>"
                f"<figcaption>{beside}{text}</figcaption></figure>")  # fmt: skip
    if kind == "table":
        head = "".join(f"<th scope='col'>{_inline(cell)}</th>" for cell in block["header"])
        rows = "".join(
            "<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in row) + "</tr>\n"
            for row in block["rows"]
        )
        return (f"<div class='wide'><table><caption>{_inline(block['caption'])}</caption>"
                f"<thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table></div>")  # fmt: skip
    name = " class='error'" if kind == "error" else ""
    return f"<p{name}>{_inline(block['text'])}</p>"


def _inline(text: str) -> str:
    """HTML of the inline markup of a text."""
    safe = html.escape(text, quote=False)
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    safe = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", safe)
    safe = re.sub(r"(?<!\w)\*([^*]+)\*(?!\w)", r"<em>\1</em>", safe)
    return re.sub(r"\[([^\]]+)\]\((#[^)]+)\)", r"<a href='\2'>\1</a>", safe)


def _first_sentence(text: str) -> str:
    """Alternative text of a figure: no markup, and no brackets, which would end a link."""
    return re.sub(r"[`*\[\]]", "", re.split(r"(?<=\.) ", text)[0])
