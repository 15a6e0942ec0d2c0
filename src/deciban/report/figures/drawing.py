"""Figures as SVG that takes its colours from the page, light or dark, and what hovering tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deciban.assessment.wording import short
from deciban.plots._style import COLORS
from deciban.report.figures.scales import Axis
from deciban.report.markup import download, script_data, table, text

_N = len(COLORS)
_DASHES = ("none", "7 3", "2 3", "8 3 2 3", "8 3 2 3 2 3", "4 4", "12 4")
_SYMBOLS = (
    "m-2.6 0a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0z",
    "m-2.3-2.3h4.6v4.6h-4.6z",
    "m0-3l2.9 5h-5.8z",
    "m0-3.2l3.2 3.2l-3.2 3.2l-3.2-3.2z",
    "m0 3l2.9-5h-5.8z",
)
_LEVELS = 24  # of colour in a map


@dataclass(frozen=True)
class Key:
    """An entry of a legend: how it is drawn, and what it is."""

    kind: str  # "line", "bar", "point" or "rule"
    k: int
    label: str


@dataclass(frozen=True)
class Figure:
    """A figure: what it shows, how to read it, the drawing, and the numbers behind it."""

    name: str
    title: str
    reading: str
    canvas: Canvas
    keys: tuple[Key, ...]
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    notes: tuple[str, ...] = ()
    shape: str = ""  # "wide", or "beside" for words to the right of the drawing

    def html(self) -> str:
        """The figure as an element of a page."""
        legend = "".join(f"<li>{_swatch(key)}{text(key.label)}</li>" for key in self.keys)
        said = "".join(f'<p class="note">{text(note)}</p>' for note in self.notes)
        return (
            f'<figure id="{self.name}" class="figure {self.shape}" '
            f'aria-labelledby="{self.name}-title"><h3 id="{self.name}-title">{text(self.title)}'
            f"</h3>{f'<ul class=legend>{legend}</ul>' if legend else ''}"
            f'<div class="plot" data-title="{text(self.title)}">'
            f"{self.canvas.svg(self.title + '. ' + self.reading)}"
            f'<script type="application/json" class="marks">{self.canvas.marks_json()}</script>'
            f"</div><figcaption>{text(self.reading)}{said}</figcaption>"
            f"<details><summary>Numbers behind <span class=of>{text(self.title)}</span></summary>"
            f"{download(self.name, self.columns, self.rows)}"
            f"{table(self.title + '.', self.columns, self.rows)}</details></figure>"
        )


@dataclass
class Canvas:
    """A frame with two axes to draw into, in the coordinates of the data."""

    x: Axis
    y: Axis
    width: float = 440
    height: float = 310
    left: float = 58
    right: float = 16
    top: float = 14
    bottom: float = 46
    snap: str = "x"  # what hovering goes by: the nearest mark along x, or along both
    frame: bool = True
    _inside: list[str] = field(default_factory=list)
    _outside: list[str] = field(default_factory=list)
    _marks: list[tuple[float, float, str]] = field(default_factory=list)

    # --- places -------------------------------------------------------------------------

    def across(self, x: Any) -> np.ndarray:
        """Where values of x are, in the units of the drawing."""
        return self.left + (self.width - self.left - self.right) * self.x.along(x)

    def up(self, y: Any) -> np.ndarray:
        """Where values of y are, in the units of the drawing."""
        return self.height - self.bottom - (self.height - self.top - self.bottom) * self.y.along(y)

    # --- marks --------------------------------------------------------------------------

    def line(
        self, x: Any, y: Any, k: int, *, dashes: int | None = None, steps: bool = False
    ) -> None:
        """A curve, broken where y is not a number; with steps, y changes at each x."""
        xs, ys = self.across(x), self.up(y)
        path, pen_down = [], False
        for a, b in zip(xs.tolist(), ys.tolist(), strict=True):
            if a != a or b != b:
                pen_down = False
                continue
            go = f"H{_n(a)}V{_n(b)}" if steps else f"L{_n(a)} {_n(b)}"
            path.append(go if pen_down else f"M{_n(a)} {_n(b)}")
            pen_down = True
        dash = _DASHES[(k if dashes is None else dashes) % len(_DASHES)]
        style = "" if dash == "none" else f' stroke-dasharray="{dash}"'
        self._inside.append(f'<path class="line s{k % _N}"{style} d="{"".join(path)}"/>')

    def rule(self, x: Any, y: Any) -> None:
        """A line to compare with: an identity, a threshold, a boundary."""
        pairs = zip(self.across(x).tolist(), self.up(y).tolist(), strict=True)
        path = "M" + "L".join(f"{_n(a)} {_n(b)}" for a, b in pairs)
        self._inside.append(f'<path class="rule" d="{path}"/>')

    def thin(self, x: Any, y: Any) -> None:
        """A line of a grid."""
        pairs = zip(self.across(x).tolist(), self.up(y).tolist(), strict=True)
        path = "M" + "L".join(f"{_n(a)} {_n(b)}" for a, b in pairs)
        self._inside.append(f'<path class="grid" d="{path}"/>')

    def bars(self, low: Any, high: Any, heights: Any, k: int) -> None:
        """A histogram of touching bars from zero."""
        base = float(self.up([0.0])[0])
        edges = zip(self.across(low).tolist(), self.across(high).tolist(), strict=True)
        tops = self.up(heights).tolist()
        path = "".join(
            f"M{_n(a)} {_n(base)}V{_n(h)}H{_n(b)}V{_n(base)}"
            for (a, b), h in zip(edges, tops, strict=True)
            if base - h > 0.05
        )
        self._inside.append(f'<path class="bar s{k % _N}" d="{path}"/>')

    def box(
        self, x: tuple[float, float], y: tuple[float, float], k: int, look: str = "solid"
    ) -> None:
        """One filled rectangle."""
        (a, b), (c, d) = np.sort(self.across(x)).tolist(), np.sort(self.up(y)).tolist()
        self._inside.append(
            f'<rect class="{look} s{k % _N}" x="{_n(a)}" y="{_n(c)}" '
            f'width="{_n(b - a)}" height="{_n(d - c)}"/>'
        )

    def whiskers(self, x: Any, low: Any, high: Any, k: int) -> None:
        """Vertical intervals."""
        rows = zip(self.across(x), self.up(low), self.up(high), strict=True)
        path = "".join(
            f"M{_n(a - 3)} {_n(b)}h6M{_n(a)} {_n(b)}V{_n(c)}M{_n(a - 3)} {_n(c)}h6"
            for a, b, c in rows
        )
        self._inside.append(f'<path class="whisker s{k % _N}" d="{path}"/>')

    def points(self, x: Any, y: Any, k: int, look: str = "point") -> None:
        """Symbols, of which shape and colour go by k; not cut off at the frame."""
        if len(x) == 0:
            return
        symbol = _SYMBOLS[k % len(_SYMBOLS)]
        pairs = zip(self.across(x).tolist(), self.up(y).tolist(), strict=True)
        path = "".join(f"M{_n(a)} {_n(b)}{symbol}" for a, b in pairs)
        self._outside.append(f'<path class="{look} s{k % _N}" d="{path}"/>')

    def cells(self, shade: np.ndarray, k: int) -> None:
        """A map of unit squares around whole numbers; shade is from 0 to 1, NaN for no cell."""
        levels = np.ceil(np.clip(shade, 0, 1) * _LEVELS)
        xs, ys = self.across(np.arange(shade.shape[1]) - 0.5), self.up(np.arange(len(shade)) - 0.5)
        w, h = (abs(float(at[1] - at[0])) if len(at) > 1 else 1.0 for at in (xs, ys))
        gap = 1.0 if len(shade) <= 30 else 0.0
        for level in range(_LEVELS + 1):
            path = "".join(
                f"M{_n(xs[j])} {_n(ys[i])}h{_n(w - gap)}v{_n(h - gap)}h{_n(gap - w)}z"
                for i, j in np.argwhere(levels == level)
            )
            if path:
                strength = 0.05 + 0.95 * level / _LEVELS
                self._inside.append(
                    f'<path class="solid s{k % _N}" fill-opacity="{strength:.2f}" d="{path}"/>'
                )

    def write(
        self, x: float, y: float, words: str, *, look: str = "said", anchor: str = "middle",
        shift: tuple[float, float] = (0, 0), turned: bool = False,
    ) -> None:  # fmt: skip
        """Words at a place of the data."""
        a, b = float(self.across([x])[0]) + shift[0], float(self.up([y])[0]) + shift[1]
        turn = f' transform="rotate(-45 {_n(a)} {_n(b)})"' if turned else ""
        self._outside.append(
            f'<text class="{look}" x="{_n(a)}" y="{_n(b)}" text-anchor="{anchor}"{turn}>'
            f"{text(words)}</text>"
        )

    def mark(self, x: float, y: float, words: str) -> None:
        """A place that tells something when it is hovered over or stepped to."""
        a, b = float(self.across([x])[0]), float(self.up([y])[0])
        a = min(max(a, self.left), self.width - self.right)
        self._marks.append((a, min(max(b, self.top), self.height - self.bottom), words))

    # --- the whole ----------------------------------------------------------------------

    def marks_json(self) -> str:
        """What hovering tells, for the script of the page."""
        marks = [[round(a, 1), round(b, 1), words] for a, b, words in self._marks]
        return script_data({"snap": self.snap, "marks": marks})

    def svg(self, label: str) -> str:
        """The drawing; to a reader who does not see it, the label."""
        w, h = self.width - self.left - self.right, self.height - self.top - self.bottom
        box = f"{_n(self.left)} {_n(self.top)} {_n(w)} {_n(h)}"
        x, y, wide, high = box.split()
        inside = (
            f'<svg x="{x}" y="{y}" width="{wide}" height="{high}" viewBox="{box}">'
            f"{''.join(self._inside)}</svg>"
        )
        axes = self._axes() if self.frame else ""
        return (
            f'<svg class="drawing" role="img" aria-label="{text(label)}" '
            f'viewBox="0 0 {_n(self.width)} {_n(self.height)}">{axes}{inside}'
            f'{"".join(self._outside)}<circle class="cursor" r="5" cx="-9" cy="-9"/></svg>'
        )

    def _axes(self) -> str:
        right, floor = self.width - self.right, self.height - self.bottom
        parts = []
        for at, name in self.x.ticks:
            a = _n(float(self.across([at])[0]))
            parts.append(f'<path class="grid" d="M{a} {_n(self.top)}V{_n(floor)}"/>')
            parts.append(f'<text class="tick" x="{a}" y="{_n(floor + 16)}">{text(name)}</text>')
        for at, name in self.y.ticks:
            b = float(self.up([at])[0])
            parts.append(f'<path class="grid" d="M{_n(self.left)} {_n(b)}H{_n(right)}"/>')
            parts.append(
                f'<text class="tick end" x="{_n(self.left - 7)}" y="{_n(b + 4)}">'
                f"{text(name)}</text>"
            )
        parts.append(
            f'<path class="frame" d="M{_n(self.left)} {_n(self.top)}V{_n(floor)}H{_n(right)}"/>'
        )
        middle, centre = (self.left + right) / 2, (self.top + floor) / 2
        parts.append(
            f'<text class="label" x="{_n(middle)}" y="{_n(self.height - 8)}">{text(self.x.label)}'
            f"</text>"
            f'<text class="label" transform="translate(14 {_n(centre)}) rotate(-90)">'
            f"{text(self.y.label)}</text>"
        )
        return "".join(parts)


def pair_keys(kind: str, *names: object) -> tuple[Key, ...]:
    """A legend of the classes in their order."""
    return tuple(Key(kind, k, short(name, 40)) for k, name in enumerate(names))


def _swatch(key: Key) -> str:
    inner = {
        "line": f'<path class="line s{key.k % _N}" stroke-dasharray='
        f'"{_DASHES[key.k % len(_DASHES)]}" d="M1 6H23"/>',
        "bar": f'<rect class="bar s{key.k % _N}" x="3" y="1" width="18" height="10"/>',
        "solid": f'<rect class="solid s{key.k % _N}" x="3" y="1" width="18" height="10"/>',
        "point": f'<path class="dot s{key.k % _N}" transform="translate(12 6) scale(1.5)" '
        f'd="M0 0{_SYMBOLS[key.k % len(_SYMBOLS)]}"/>',
        "rule": '<path class="rule" d="M1 6H23"/>',
    }[key.kind]
    return f'<svg class="swatch" viewBox="0 0 24 12" aria-hidden="true">{inner}</svg>'


def _n(value: float) -> str:
    """A coordinate to a tenth: finer than any screen shows."""
    return f"{value:.1f}".removesuffix(".0")
