"""Blocks of a page as HTML to open, and as Markdown for a repository.

A block is a dictionary whose ``kind`` is heading, paragraph, table, figure, contents, tiles or
error. On the HTML page, headings and tables with ``fold`` are closed until a reader opens them.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Block = dict[str, Any]

#: Signs of the verdicts, so that they can be told apart without their colors.
SIGNS = {
    "beaten": "▲",
    "matched": "✓",
    "worse": "▼",
    "unknown": "?",
    "not comparable": "?",
    "not run": "–",
}


# --- Markdown -----------------------------------------------------------------------------


def as_markdown(blocks: Sequence[Block]) -> str:
    """The page as Markdown in GitHub's dialect."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    kind = block["kind"]
    if kind == "heading":
        return f"{'#' * block['level']} {block['text']}"
    if kind == "figure":
        beside = f"*{block['paper']} of the paper.* " if block["paper"] else ""
        return f"{_image(block)}\n\n{beside}{block['caption']}"
    if kind == "table":
        rows = [block["header"], ["---"] * len(block["header"]), *block["rows"]]
        lines = ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
        return "\n".join([f"**{block['caption']}**", "", *lines])
    if kind == "contents":
        return "In detail: " + " · ".join(f"[{text}](#{slug(text)})" for text in block["headings"])
    if kind == "tiles":
        return " · ".join(f"**{one['count']} {one['verdict']}**" for one in block["tiles"])
    return f"> {_line(block['text'])}" if kind == "error" else block["text"]


def _image(block: Block) -> str:
    """A picture; where its width is known, as HTML, since Markdown has no word for it."""
    text = first_sentence(block["caption"])
    if not block.get("width"):
        return f"![{text}]({block['file']})"
    alt = html.escape(text)
    return f'<img src="{block["file"]}" width="{block["width"]}" alt="{alt}">'


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


def first_sentence(text: str) -> str:
    """Alternative text of a figure: no markup, and no brackets, which would end a link."""
    return re.sub(r"[`*\[\]]", "", re.split(r"(?<=\.) ", text)[0])


# --- HTML ---------------------------------------------------------------------------------


def as_html(blocks: Sequence[Block], title: str, folder: Path | None = None) -> str:
    """The page as HTML; its figures are separate files.

    In a folder of this repository, it links to the stylesheet instead of a copy.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= {"inline": _inline, "slug": slug, "alternative": first_sentence}
    page, here = environment.get_template("page.html.jinja"), Path(__file__).resolve().parent
    stylesheet = None
    if folder is not None and folder.resolve().is_relative_to(here.parent):
        stylesheet = os.path.relpath(here / "page.css", folder.resolve())
    return page.render(
        title=title, sections=_split_sections(blocks), signs=SIGNS, stylesheet=stylesheet
    )


def _split_sections(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """Sections with their heading of the second level, if they have one, and their blocks."""
    sections: list[dict[str, Any]] = [{"heading": None, "blocks": []}]
    for block in blocks:
        if block["kind"] == "heading" and block["level"] == 2:
            sections.append({"heading": block, "blocks": []})
        else:
            sections[-1]["blocks"].append(block)
    return sections


def _inline(text: str) -> Any:
    """HTML of the inline markup of a text."""
    from markupsafe import Markup

    safe = html.escape(text, quote=False)
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    safe = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", safe)
    safe = re.sub(r"(?<!\w)\*([^*]+)\*(?!\w)", r"<em>\1</em>", safe)
    return Markup(re.sub(r"\[([^\]]+)\]\((#[^)]+)\)", r"<a href='\2'>\1</a>", safe))
