"""Pages in notebooks: a widget where anywidget is installed, plain HTML elsewhere."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from numpy.typing import ArrayLike

from deciban._markup import escape
from deciban._validation.scalars import require_whole
from deciban.assessment import Assessment
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.report.bundle import read_web
from deciban.report.explorer import explorer
from deciban.report.page import assessment_page, report


@dataclass(frozen=True, repr=False)
class FramedPage:
    """A page that a notebook shows in a frame, without a widget; ``height`` is in pixels."""

    html: str
    name: str
    height: int

    def __repr__(self) -> str:
        return f"<{self.name}: a page of {len(self.html) / 1e6:.1f} MB, shown in notebooks>"

    def _repr_html_(self) -> str:
        page = self.html.replace("&", "&amp;").replace('"', "&quot;")
        return (
            f'<iframe sandbox="allow-scripts allow-downloads" title="{escape(self.name)}" '
            f'style="width: 100%; height: {self.height}px; border: 0; display: block" '
            f'srcdoc="{page}"></iframe>'
        )


def show_page(html: str, name: str, height: int = 800) -> Any:
    """A page as a widget, or as plain HTML without anywidget; screen readers say its name."""
    height = require_whole(height, "height", 100)
    try:
        widget = _widget_class()
    except ImportError:
        return FramedPage(html, name, height)
    return widget(html=html, name=name, height=height)


@cache
def _widget_class() -> Any:
    import anywidget
    from traitlets import Int, Unicode

    class PageWidget(anywidget.AnyWidget):
        """A page in a frame; ``html`` and ``height`` may be set."""

        _esm = read_web("widget.js")
        html = Unicode().tag(sync=True)
        name = Unicode().tag(sync=True)
        height = Int().tag(sync=True)

    return PageWidget


def explore(evidence: Evidence, y_true: ArrayLike | Sequence[Hashable] | None = None) -> Any:
    """The explorer, open on this evidence."""
    return show_page(explorer(evidence, y_true), "Explorer of evidence")


def show_assessment(
    assessment: Assessment, y_true: ArrayLike | None = None, evidence: Evidence | None = None
) -> Any:
    """The report on an assessment; without the samples, what the assessment holds."""
    name = "Report on evidence"
    if y_true is None and evidence is None:
        return show_page(assessment_page(assessment, title=name), name)
    if y_true is None or evidence is None:
        raise InputError("y_true and evidence must come together; got one. Give both, or none.")
    return show_page(report(y_true, evidence, title=name, assessment=assessment), name)
