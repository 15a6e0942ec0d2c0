"""Axes to draw into: found or made, widened for what comes, with infinities on their frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from deciban.exceptions import InputError, MissingExtraError
from deciban.plots._style import COLOURS

#: How many times the width of the view a line that never ends is drawn beyond it.
FAR = 1e3
_CELLS = 1500  # along each axis: finer than a page at 300 dots per inch and column width
_MARGIN = 0.05
_NARROW = 3.5  # inches
_LINE = 0.17  # inches that a line of a legend takes


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that says how to get it."""
    return _imported("matplotlib.pyplot", "matplotlib")


def register_ternary() -> None:
    """Let matplotlib know of ternary axes."""
    _imported("mpltern", "mpltern")


def _imported(module: str, library: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{library} must be installed to draw. Run: pip install 'deciban[plot]'", extra="plot"
        ) from error


def axes_for(ax: Any, projection: str | None = None) -> Any:
    """The axes asked for, checked, or those of a new figure."""
    plt = pyplot()
    if ax is None:
        return plt.figure(layout="constrained").add_subplot(projection=projection)
    import matplotlib.axes

    if not isinstance(ax, matplotlib.axes.Axes):
        raise InputError(
            f"ax must be matplotlib Axes; got {type(ax).__name__}. Pass one of those that "
            f"plt.subplots returns."
        )
    return ax


def unused_colours(ax: Any, n: int) -> list[str]:
    """The first n colours that no line in the axes has yet."""
    used = {line.get_color() for line in ax.lines}
    free = [colour for colour in COLOURS if colour not in used]
    return [*free, *COLOURS, *COLOURS][:n]


def span_of(*values: Any) -> tuple[float, float]:
    """Range of the finite values with a margin; from -1 to 1 where there are none."""
    every = np.concatenate([np.ravel(v) for v in values])
    every = every[np.isfinite(every)]
    if every.size == 0:
        return -1.0, 1.0
    low, high = float(every.min()), float(every.max())
    margin = _MARGIN * (high - low) if high > low else max(1.0, abs(low))
    return low - margin, high + margin


def show(ax: Any, fresh: bool, x: Any = None, y: Any = None) -> None:
    """Set the limits of fresh axes; widen those that something was drawn into before."""
    for limits, get, put in ((x, ax.get_xlim, ax.set_xlim), (y, ax.get_ylim, ax.set_ylim)):
        if limits is not None:
            (low, high), (old_low, old_high) = limits, get()
            put((low, high) if fresh else (min(low, old_low), max(high, old_high)))


def thinned(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Positions of the points of a curve that can be seen: the ends of each run in one dot.

    A monotone curve keeps a few thousand points however long it is.
    """
    if len(x) <= 2 * _CELLS:
        return np.arange(len(x))
    cell = np.column_stack([_cells(x), _cells(y)])
    new = (cell[1:] != cell[:-1]).any(axis=1)
    return np.flatnonzero(np.append(True, new) | np.append(new, True))


def _cells(values: np.ndarray) -> np.ndarray:
    low, high = float(values.min()), float(values.max())
    return np.floor((values - low) * (_CELLS / (high - low) if high > low else 0.0))


def on_frame(ax: Any, x: Any, y: Any, **style: Any) -> list[Any]:
    """Markers at points with an infinite coordinate, where they belong on the frame.

    They keep their place on the frame when the limits change. Finite points are left out.
    """
    x, y = np.atleast_1d(np.asarray(x, dtype=float)), np.atleast_1d(np.asarray(y, dtype=float))
    style = {"ls": "none", "marker": "o", "ms": 4, "clip_on": False, "zorder": 5} | style
    artists = []
    for x_side in (-np.inf, 0.0, np.inf):
        for y_side in (-np.inf, 0.0, np.inf):
            here = (np.where(np.isinf(x), x, 0) == x_side) & (np.where(np.isinf(y), y, 0) == y_side)
            if (x_side or y_side) and here.any():
                xs = x[here] if x_side == 0 else np.full(here.sum(), float(x_side > 0))
                ys = y[here] if y_side == 0 else np.full(here.sum(), float(y_side > 0))
                transform = _mixed(ax, bool(x_side), bool(y_side))
                artists += ax.plot(xs, ys, transform=transform, **style)
                _name_edges(ax, x_side, y_side)
    return artists


def _mixed(ax: Any, x_on_frame: bool, y_on_frame: bool) -> Any:
    if x_on_frame and y_on_frame:
        return ax.transAxes
    return ax.get_yaxis_transform() if x_on_frame else ax.get_xaxis_transform()


def _name_edges(ax: Any, x_side: float, y_side: float) -> None:
    """Write −∞ and +∞ where the frame stands for them: above it for x, to its right for y."""
    if x_side:
        _once(ax, x_side, (float(x_side > 0), 1), (0, 2), ha="center", va="bottom")
    if y_side:
        _once(ax, y_side, (1, float(y_side > 0)), (4, 0), ha="left", va="center")


def _once(ax: Any, side: float, at: tuple[float, float], offset: Any, **style: Any) -> None:
    if not any(text.get_gid() == f"edge-{at}" for text in ax.texts):
        sign = "+∞" if side > 0 else "−∞"
        text = ax.annotate(
            sign, at, offset, xycoords="axes fraction", textcoords="offset points", **style
        )
        text.set_gid(f"edge-{at}")


def legend(ax: Any, *, headroom: bool = False, **style: Any) -> Any:
    """A small legend in which what is drawn twice stands once; none where nothing has a name.

    With ``headroom``, axes at the width of a column grow upwards, so that it covers no curve.
    """
    handles, labels = ax.get_legend_handles_labels()
    entries = dict(zip(labels, handles, strict=True))
    if not entries:
        return None
    style = {"fontsize": "small", "framealpha": 0.8, "borderaxespad": 0.3} | style
    if is_narrow(ax):
        style |= {"fontsize": "x-small", "handlelength": 1.6, "labelspacing": 0.25}
        if headroom:
            style["loc"] = "upper center"
            _grow_upwards(ax, len(entries))
    return ax.legend(entries.values(), entries.keys(), **style)


def is_narrow(ax: Any) -> bool:
    """Whether the axes are about as wide as a column of text."""
    return bool(ax.get_window_extent().width / ax.figure.dpi < _NARROW)


def _grow_upwards(ax: Any, n_entries: int) -> None:
    old = ax.get_legend()
    before = 0 if old is None else len(old.get_texts())
    height = ax.get_window_extent().height / ax.figure.dpi
    taken = [min(0.6, _LINE * n / height) for n in (before, n_entries)]
    low, high = ax.get_ylim()
    ticks = [tick for tick in ax.get_yticks() if low <= tick <= high]
    ax.set_yticks(ticks if before == 0 else ax.get_yticks())
    ax.set_ylim(low, low + (high - low) * (1 - taken[0]) / (1 - taken[1]))
