"""Axes: given or new, with limits that hold what is drawn and infinities on their frame."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation.arrays import Floats as Floats
from deciban.exceptions import InputError, MissingExtraError
from deciban.plots._style import COLORS, REFERENCE

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:
    Axes = Any  # matplotlib is imported when something is drawn

Style = dict[str, Any]  # keyword arguments of matplotlib
Limits = tuple[float, float]

#: How far beyond the view endless lines are drawn, in widths of the view.
FAR = 1e3
_CELLS = 1500  # dots along each axis: finer than 300 dots per inch at the width of a page
_MARGIN = 0.05
_NARROW = 3.5  # inches
_LINE = 0.17  # inches that a line of a legend takes


def import_library(module: str) -> Any:
    """A module of matplotlib or mpltern, or an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise MissingExtraError(
            f"{library} must be installed to draw. Run: pip install 'deciban[plot]'", extra="plot"
        ) from error


def get_axes(ax: Any, projection: str | None = None) -> Any:
    """The given axes, or those of a new figure; an error for anything else."""
    plt = import_library("matplotlib.pyplot")
    if projection == "ternary":
        import_library("mpltern")  # it registers the projection
    if ax is None:
        return plt.figure(layout="constrained").add_subplot(projection=projection)
    if not isinstance(ax, plt.Axes):
        raise InputError(
            f"ax must be matplotlib Axes; got {type(ax).__name__}. Pass those that plt.subplots "
            f"returns."
        )
    if projection is not None and ax.name != projection:
        raise InputError(
            f"ax must be {projection} axes; got {ax.name} axes. Make them with "
            f"fig.add_subplot(projection={projection!r})."
        )
    return ax


def unused_colors(ax: Axes, n: int) -> list[str]:
    """The first n colors that no line in the axes has yet."""
    used = {line.get_color() for line in ax.lines}
    free = [color for color in COLORS if color not in used]
    return [*free, *COLORS, *COLORS][:n]


def span(*values: ArrayLike) -> Limits:
    """Range of the finite values with a margin; from -1 to 1 where there are none."""
    every = np.concatenate([np.ravel(v) for v in values])
    every = every[np.isfinite(every)]
    if every.size == 0:
        return -1.0, 1.0
    low, high = float(every.min()), float(every.max())
    margin = _MARGIN * (high - low) if high > low else max(1.0, abs(low))
    return low - margin, high + margin


def set_view(ax: Axes, fresh: bool, x: Limits, y: Limits) -> None:
    """Set the limits of fresh axes; widen those that something was drawn into before."""
    for (low, high), get, put in ((x, ax.get_xlim, ax.set_xlim), (y, ax.get_ylim, ax.set_ylim)):
        old_low, old_high = (low, high) if fresh else get()
        put((min(low, old_low), max(high, old_high)))


def draw_identity(ax: Axes, lw: float = 1.0, label: str | None = None) -> Any:
    """Draw a dotted diagonal."""
    return ax.axline((0, 0), slope=1, color=REFERENCE, lw=lw, ls=":", label=label)


def visible_points(x: Floats, y: Floats) -> NDArray[np.intp]:
    """Positions of the points of a curve that can be seen: the ends of each run within one dot.

    Of a monotone curve of any length, a few thousand points are left.
    """
    if len(x) <= 2 * _CELLS:
        return np.arange(len(x))
    along = np.column_stack([x - x.min(), y - y.min()])
    width = along.max(axis=0)
    cell = np.floor(along * (_CELLS / np.where(width > 0, width, 1.0)))
    new = (cell[1:] != cell[:-1]).any(axis=1)
    return np.flatnonzero(np.append(True, new) | np.append(new, True))


def mark_on_frame(ax: Axes, x: ArrayLike, y: ArrayLike, **look: Any) -> list[Any]:
    """Draw markers on the frame for points with an infinite coordinate, and no others.

    They keep their place on the frame when the limits change.
    """
    x, y = (np.atleast_1d(np.asarray(v, dtype=float)) for v in (x, y))
    style: Style = {"ls": "none", "marker": "o", "ms": 4, "clip_on": False, "zorder": 5} | look
    artists = []
    for x_out, y_out, transform in (
        (True, False, ax.get_yaxis_transform()),
        (False, True, ax.get_xaxis_transform()),
        (True, True, ax.transAxes),
    ):
        here = (np.isinf(x) == x_out) & (np.isinf(y) == y_out)
        if here.any():
            xs, ys = (np.where(np.isinf(v), v > 0, v) for v in (x[here], y[here]))
            artists += ax.plot(xs, ys, transform=transform, **style)
    for side, sign in ((-np.inf, "−∞"), (np.inf, "+∞")):
        end = float(side > 0)
        if (x == side).any():
            _name_edge(ax, f"x {sign}", (end, 1), (0, 2), ha="center", va="bottom")
        if (y == side).any():
            _name_edge(ax, f"y {sign}", (1, end), (4, 0), ha="left", va="center")
    return artists


def _name_edge(ax: Axes, gid: str, at: Limits, offset: Limits, **align: Any) -> None:
    """Write −∞ or +∞ where the frame stands for it, once."""
    if not any(text.get_gid() == gid for text in ax.texts):
        units: Style = {"xycoords": "axes fraction", "textcoords": "offset points"}
        ax.annotate(gid[2:], at, offset, **units, **align).set_gid(gid)


def draw_legend(ax: Axes, *, headroom: bool = False, **place: Any) -> None:
    """Draw a small legend with each label once; none where nothing has a label.

    With ``headroom``, narrow axes grow upwards, so that the legend covers no curve.
    """
    handles, labels = ax.get_legend_handles_labels()
    entries = dict(zip(labels, handles, strict=True))
    if not entries:
        return
    style: Style = {"fontsize": "small", "framealpha": 0.8, "borderaxespad": 0.3} | place
    if is_narrow(ax):
        style |= {"fontsize": "x-small", "handlelength": 1.6, "labelspacing": 0.25}
        if headroom:
            style["loc"] = "upper center"
            _grow_upwards(ax, len(entries))
    ax.legend(list(entries.values()), list(entries), **style)


def is_narrow(ax: Axes) -> bool:
    """Whether the axes are about as wide as a column of text."""
    return bool(ax.get_window_extent().width / ax.figure.dpi < _NARROW)


def axis_text(ax: Axes) -> Style:
    """Style of a long axis label: small where the axes are narrow."""
    return {"fontsize": "small" if is_narrow(ax) else None}


def _grow_upwards(ax: Axes, n_entries: int) -> None:
    old = ax.get_legend()
    before = 0 if old is None else len(old.get_texts())
    height = ax.get_window_extent().height / ax.figure.dpi
    taken = [min(0.6, _LINE * n / height) for n in (before, n_entries)]
    low, high = ax.get_ylim()
    ticks = [tick for tick in ax.get_yticks() if low <= tick <= high]
    ax.set_yticks(ticks if before == 0 else ax.get_yticks())
    ax.set_ylim(low, low + (high - low) * (1 - taken[0]) / (1 - taken[1]))
