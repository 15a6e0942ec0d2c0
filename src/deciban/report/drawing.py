"""Figures as SVG that takes its colors from the page, light or dark, and what hovering shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban.assessment.wording import number, shorten
from deciban.plots._style import COLORS
from deciban.plots.curves import PERCENT, probit
from deciban.report.markup import cell, download, script_data, table, text

Floats = NDArray[np.float64]

_N = len(COLORS)
_DASHES = ("none", "7 3", "2 3", "8 3 2 3", "8 3 2 3 2 3", "4 4", "12 4")
_SYMBOLS = (
    "m-2.6 0a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0z",
    "m-2.3-2.3h4.6v4.6h-4.6z",
    "m0-3l2.9 5h-5.8z",
    "m0-3.2l3.2 3.2l-3.2 3.2l-3.2-3.2z",
    "m0 3l2.9-5h-5.8z",
)
_LEVELS = 24  # of color in a map
_NEAREST = 0.085  # of the axis: ticks that are closer would touch


# --- axes ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """An axis: its label with the unit, its range, its ticks, and the scale along it."""

    label: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...] = ()
    scale: Callable[[Floats], Floats] = np.asarray

    def along(self, values: ArrayLike) -> Floats:
        """Where values lie, 0 at the low end and 1 at the high one; infinities far outside."""
        ends = self.scale(np.array([self.low, self.high]))
        at = (self.scale(np.asarray(values, dtype=float)) - ends[0]) / (ends[1] - ends[0])
        return np.clip(at, -9.0, 9.0)


def linear(label: str, low: float, high: float, *, room: float = 0.0) -> Axis:
    """An axis from low to high with ticks at round numbers."""
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = -1.0, 1.0
    if not high > low:
        low, high = low - max(1.0, abs(low)), high + max(1.0, abs(high))
    margin = room * (high - low)
    low, high = low - margin, high + margin
    return Axis(label, low, high, tuple((at, number(at, 6)) for at in round_numbers(low, high)))


def probits(label: str, low: float, high: float) -> Axis:
    """An axis of rates on which Gaussian scores give straight lines; ticks in percent."""
    axis = Axis(label, low, high, scale=probit)
    ticks: list[tuple[float, str]] = []
    for p in PERCENT:
        clear = not ticks or axis.along(p / 100) - axis.along(ticks[-1][0]) > _NEAREST
        if low <= p / 100 <= high and clear:
            ticks.append((p / 100, f"{p:g}"))
    return replace(axis, ticks=tuple(ticks))


def round_numbers(low: float, high: float, most: int = 7) -> list[float]:
    """Multiples of 1, 2, 2.5 or 5 times a power of ten between two ends, at most so many.

    >>> round_numbers(0, 1, 6)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (power * factor for factor in (1, 2, 2.5, 5, 10, 20)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            break
    # Rounded, since 3 * 0.2 is not 0.6.
    return [float(f"{k * step:.12g}") + 0.0 for k in range(first, last + 1)]


def central(values: Floats, tail: float = 0.002) -> tuple[float, float]:
    """A range that holds all finite values, or all but the tails where these lie far out."""
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return -1.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    inner_low, inner_high = (float(q) for q in np.quantile(finite, [tail, 1 - tail]))
    reach = inner_high - inner_low
    return max(low, inner_low - reach / 2), min(high, inner_high + reach / 2)


def thin_curve(x: Floats, y: Floats, most: int = 400) -> NDArray[np.intp]:
    """Positions of at most so many points of a curve, even along its length, ends included.

    >>> thin_curve(np.arange(5.0), np.zeros(5), most=3)
    array([0, 2, 4])
    """
    if len(x) <= most:
        return np.arange(len(x))
    length = np.concatenate([[0.0], np.cumsum(_step_lengths(x) + _step_lengths(y))])
    wanted = np.linspace(0, length[-1], most)
    return np.unique(np.clip(np.searchsorted(length, wanted), 0, len(x) - 1))


def _step_lengths(values: Floats) -> Floats:
    finite = values[np.isfinite(values)]
    width = float(np.ptp(finite)) if finite.size else 0.0
    steps = np.abs(np.diff(np.nan_to_num(values, posinf=0.0, neginf=0.0)))
    return steps / width if width > 0 else np.zeros_like(steps)


# --- figures ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Key:
    """An entry of a legend: how it is drawn, and what it is."""

    kind: str  # "line", "bar", "solid", "point" or "rule"
    k: int
    label: str

    def swatch(self) -> str:
        """The sample of the mark beside the label."""
        color = f"s{self.k % _N}"
        box = f'<rect class="{self.kind} {color}" x="3" y="1" width="18" height="10"/>'
        inner = {
            "line": f'<path class="line {color}" stroke-dasharray='
            f'"{_DASHES[self.k % len(_DASHES)]}" d="M1 6H23"/>',
            "point": f'<path class="dot {color}" transform="translate(12 6) scale(1.5)" '
            f'd="M0 0{_SYMBOLS[self.k % len(_SYMBOLS)]}"/>',
            "rule": '<path class="rule" d="M1 6H23"/>',
        }.get(self.kind, box)
        return f'<svg class="swatch" viewBox="0 0 24 12" aria-hidden="true">{inner}</svg>'


def class_keys(kind: str, names: Sequence[object]) -> tuple[Key, ...]:
    """A legend of the classes in their order."""
    return tuple(Key(kind, k, shorten(name, 40)) for k, name in enumerate(names))


@dataclass(frozen=True)
class Figure:
    """A figure: how to read it, the drawing, and the numbers behind it.

    ``at`` says where each row is shown when it is hovered over; one of which a coordinate is NaN is
    not. Other things to hover over are marks of the canvas.
    """

    name: str
    reading: str
    canvas: Canvas
    keys: tuple[Key, ...]
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    at: tuple[ArrayLike, ArrayLike] | None = None
    notes: Sequence[str] = ()
    shape: str = ""  # or "beside", for words to the right of the drawing

    def html(self, title: str) -> str:
        """The figure as an element of a page."""
        legend = "".join(f"<li>{key.swatch()}{text(key.label)}</li>" for key in self.keys)
        notes = "".join(f'<p class="note">{text(note)}</p>' for note in self.notes)
        if self.at is not None:
            for x, y, row in zip(*map(np.ravel, self.at), self.rows, strict=True):
                lines = zip(self.columns, row, strict=True)
                self.canvas.mark(
                    x, y, "\n".join(f"{shorten(name, 40)}: {shorten(cell(v))}" for name, v in lines)
                )
        return (
            f'<figure id="{self.name}" class="figure {self.shape}" '
            f'aria-labelledby="{self.name}-title"><h3 id="{self.name}-title">{text(title)}'
            f"</h3>{f'<ul class=legend>{legend}</ul>' if legend else ''}"
            f'<div class="plot" data-title="{text(title)}">'
            f"{self.canvas.svg(title + '. ' + self.reading)}"
            f'<script type="application/json" class="marks">{self.canvas.marks_json()}</script>'
            f"</div><figcaption>{text(self.reading)}{notes}</figcaption>"
            f"<details><summary>Numbers behind <span class=of>{text(title)}</span></summary>"
            f"{download(self.name, self.columns, self.rows)}"
            f"{table(title + '.', self.columns, self.rows)}</details></figure>"
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

    def across(self, x: ArrayLike) -> Floats:
        """Where values of x are, in the units of the drawing."""
        return self.left + (self.width - self.left - self.right) * self.x.along(x)

    def up(self, y: ArrayLike) -> Floats:
        """Where values of y are, in the units of the drawing."""
        return self.height - self.bottom - (self.height - self.top - self.bottom) * self.y.along(y)

    def line(
        self, x: ArrayLike, y: ArrayLike, k: int, *, dashes: int | None = None, steps: bool = False
    ) -> None:
        """Draw a curve, broken where y is not a number; with steps, y changes at each x."""
        path, pen_down = [], False
        for a, b in zip(self.across(x).tolist(), self.up(y).tolist(), strict=True):
            if a != a or b != b:
                pen_down = False
                continue
            go = f"H{_n(a)}V{_n(b)}" if steps else f"L{_n(a)} {_n(b)}"
            path.append(go if pen_down else f"M{_n(a)} {_n(b)}")
            pen_down = True
        dash = _DASHES[(k if dashes is None else dashes) % len(_DASHES)]
        self._add(f"line s{k % _N}", "".join(path), f' stroke-dasharray="{dash}"')

    def rule(self, x: ArrayLike, y: ArrayLike, look: str = "rule") -> None:
        """Draw a line to compare with: an identity, a threshold, a boundary, a grid."""
        pairs = zip(self.across(x).tolist(), self.up(y).tolist(), strict=True)
        self._add(look, "M" + "L".join(f"{_n(a)} {_n(b)}" for a, b in pairs))

    def bars(self, low: ArrayLike, high: ArrayLike, heights: ArrayLike, k: int) -> None:
        """Draw a histogram of touching bars from zero."""
        base = float(self.up(0.0))
        sides = (self.across(low), self.across(high), self.up(heights))
        bars = zip(*(side.tolist() for side in sides), strict=True)
        path = (f"M{_n(a)} {_n(base)}V{_n(h)}H{_n(b)}V{_n(base)}" for a, b, h in bars)
        self._add(f"bar s{k % _N}", "".join(path))

    def box(self, x: Sequence[float], y: Sequence[float], k: int, look: str = "solid") -> None:
        """Draw one filled rectangle."""
        (a, b), (c, d) = self.across(x).tolist(), self.up(y).tolist()
        self._add(f"{look} s{k % _N}", f"M{_n(a)} {_n(c)}H{_n(b)}V{_n(d)}H{_n(a)}z")

    def whiskers(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, k: int) -> None:
        """Draw vertical intervals."""
        ends = zip(self.across(x), self.up(low), self.up(high), strict=True)
        path = (
            f"M{_n(a - 3)} {_n(b)}h6M{_n(a)} {_n(b)}V{_n(c)}M{_n(a - 3)} {_n(c)}h6"
            for a, b, c in ends
        )
        self._add(f"whisker s{k % _N}", "".join(path))

    def points(self, x: ArrayLike, y: ArrayLike, k: int, look: str = "point") -> None:
        """Draw symbols, of which shape and color go by k; not cut off at the frame."""
        pairs = zip(self.across(x).tolist(), self.up(y).tolist(), strict=True)
        path = "".join(f"M{_n(a)} {_n(b)}{_SYMBOLS[k % len(_SYMBOLS)]}" for a, b in pairs)
        self._outside.append(f'<path class="{look} s{k % _N}" d="{path}"/>')

    def cells(self, shade: Floats, k: int) -> None:
        """Draw a map of unit squares around whole numbers; shades from 0 to 1, NaN for no cell."""
        levels = np.ceil(np.clip(shade, 0, 1) * _LEVELS)
        xs, ys = self.across(np.arange(shade.shape[1]) - 0.5), self.up(np.arange(len(shade)) - 0.5)
        gap = 1.0 if len(shade) <= 30 else 0.0
        w, h = abs(float(xs[1] - xs[0])) - gap, abs(float(ys[1] - ys[0])) - gap
        for level in np.unique(levels[~np.isnan(levels)]):
            path = "".join(
                f"M{_n(xs[j])} {_n(ys[i])}h{_n(w)}v{_n(h)}h{_n(-w)}z"
                for i, j in np.argwhere(levels == level)
            )
            strength = f' fill-opacity="{0.05 + 0.95 * level / _LEVELS:.2f}"'
            self._add(f"solid s{k % _N}", path, strength)

    def _add(self, look: str, path: str, style: str = "") -> None:
        self._inside.append(f'<path class="{look}"{style} d="{path}"/>')

    def write(
        self, x: float, y: float, words: str, *, look: str = "said", anchor: str = "middle",
        shift: tuple[float, float] = (0, 0), turned: bool = False,
    ) -> None:  # fmt: skip
        """Write words at a place of the data."""
        a, b = float(self.across(x)) + shift[0], float(self.up(y)) + shift[1]
        turn = f' transform="rotate(-45 {_n(a)} {_n(b)})"' if turned else ""
        self._outside.append(
            f'<text class="{look}" x="{_n(a)}" y="{_n(b)}" text-anchor="{anchor}"{turn}>'
            f"{text(words)}</text>"
        )

    def mark(self, x: float, y: float, words: str) -> None:
        """Show words when a place is hovered over or stepped to."""
        a, b = float(self.across(x)), float(self.up(y))
        if a == a and b == b:
            a = min(max(a, self.left), self.width - self.right)
            self._marks.append((a, min(max(b, self.top), self.height - self.bottom), words))

    def marks_json(self) -> str:
        """What hovering shows, for the script of the page."""
        marks = [[round(a, 1), round(b, 1), words] for a, b, words in self._marks]
        return script_data({"snap": self.snap, "marks": marks})

    def svg(self, label: str) -> str:
        """The drawing; to a reader who does not see it, the label."""
        x, y = _n(self.left), _n(self.top)
        w, h = _n(self.width - self.left - self.right), _n(self.height - self.top - self.bottom)
        axes = self._axes() if self.frame else ""
        return (
            f'<svg class="drawing" role="img" aria-label="{text(label)}" '
            f'viewBox="0 0 {_n(self.width)} {_n(self.height)}">{axes}'
            f'<svg x="{x}" y="{y}" width="{w}" height="{h}" viewBox="{x} {y} {w} {h}">'
            f"{''.join(self._inside)}</svg>"
            f'{"".join(self._outside)}<circle class="cursor" r="5" cx="-9" cy="-9"/></svg>'
        )

    def _axes(self) -> str:
        left, top = self.left, self.top
        right, floor = self.width - self.right, self.height - self.bottom
        parts = []
        for at, name in self.x.ticks:
            a = _n(float(self.across(at)))
            parts.append(f'<path class="grid" d="M{a} {_n(top)}V{_n(floor)}"/>')
            parts.append(f'<text class="tick" x="{a}" y="{_n(floor + 16)}">{text(name)}</text>')
        for at, name in self.y.ticks:
            b = float(self.up(at))
            parts.append(f'<path class="grid" d="M{_n(left)} {_n(b)}H{_n(right)}"/>')
            parts.append(
                f'<text class="tick end" x="{_n(left - 7)}" y="{_n(b + 4)}">{text(name)}</text>'
            )
        parts.append(f'<path class="frame" d="M{_n(left)} {_n(top)}V{_n(floor)}H{_n(right)}"/>')
        parts.append(
            f'<text class="label" x="{_n((left + right) / 2)}" y="{_n(self.height - 8)}">'
            f"{text(self.x.label)}</text>"
            f'<text class="label" transform="translate(14 {_n((top + floor) / 2)}) rotate(-90)">'
            f"{text(self.y.label)}</text>"
        )
        return "".join(parts)


def _n(value: float) -> str:
    """A coordinate to a tenth: finer than any screen shows."""
    return f"{value:.1f}".removesuffix(".0")
