"""The base of all displays: looks, axes, reading predictions and drawing them."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._estimation import evidence_of
from deciban._validation.arrays import Floats as Floats
from deciban.evidence import Evidence, Unit, from_nats
from deciban.exceptions import InputError, MissingExtraError
from deciban.metrics.labelled import read_labelled, read_trials

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:
    Axes = Any

#: Okabe and Ito (2008): color-blind safe; without yellow, which is lost on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES: tuple[Any, ...] = (
    "-", (0, (5, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)), (0, (6, 1.5, 1, 1.5, 1, 1.5)),
    (0, (3, 3)), (0, (10, 2)),
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
REFERENCE = "0.45"  # the gray of identities, boundaries and neutral systems
LONG = 34  # characters of a label that fit along an axis at the width of a column
_SHORT = 12  # characters of a line of a name within the axes


def color_of(k: int) -> str:
    """Color of class or system k."""
    return COLORS[k % len(COLORS)]


def marker_of(k: int) -> str:
    """Marker of class k; color and marker together repeat only after 49 classes."""
    return MARKERS[(k + k // len(COLORS)) % len(MARKERS)]


def dashes_of(k: int) -> Any:
    """Line style of class k."""
    return DASHES[(k + k // len(COLORS)) % len(DASHES)]


def look_of(k: int, known: bool = True) -> dict[str, Any]:
    """Color and marker of the samples of class k; gray if their class is not known."""
    return {"color": color_of(k) if known else REFERENCE, "marker": marker_of(k)}


def literal(name: object) -> str:
    """A user's name as text that matplotlib draws as it is; a dollar sign starts no formula."""
    text = str(name).replace("$", r"\$")
    return f"\u200b{text}" if text.startswith("_") else text  # else legends leave it out


def wrap_name(name: object) -> str:
    """A long name on several short lines."""
    return "\n".join(textwrap.wrap(literal(name), _SHORT, break_long_words=False)) or literal(name)


def infinite_note(minus: float, plus: float, form: str, head: str = "") -> str:
    """Remark in a legend on the number or share of infinite LLRs."""
    parts = [f"{form.format(n)} at {sign}" for n, sign in ((minus, "−∞"), (plus, "+∞")) if n]
    return f" ({head}{', '.join(parts)})" if parts else ""


def llr_label(a: Hashable, b: Hashable, unit: Unit) -> str:
    """Axis label of an LLR."""
    return fold(f"LLR of {literal(a)}", f"against {literal(b)} ({unit})")


def fold(first: str, second: str) -> str:
    """Two parts of an axis label, on two lines if one is too short."""
    return first + ("\n" if len(first) + 1 + len(second) > LONG else " ") + second


Style = dict[str, Any]  # keyword arguments of matplotlib
Limits = tuple[float, float]
FAR = 1e3  # widths of the view by which endless lines leave it
_CELLS = 1500  # dots along each axis: finer than 300 dots per inch at the width of a page
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
    """Range of the finite values with a margin; from -1 to 1 if there are none."""
    every = np.concatenate([np.ravel(v) for v in values])
    every = every[np.isfinite(every)]
    if every.size == 0:
        return -1.0, 1.0
    low, high = float(every.min()), float(every.max())
    margin = 0.05 * (high - low) if high > low else max(1.0, abs(low))
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
        for v, gid, at, offset, (ha, va) in (
            (x, f"x {sign}", (end, 1), (0, 2), ("center", "bottom")),
            (y, f"y {sign}", (1, end), (4, 0), ("left", "center")),
        ):
            if (v == side).any() and not any(text.get_gid() == gid for text in ax.texts):
                units: Style = {"xycoords": "axes fraction", "textcoords": "offset points"}
                ax.annotate(sign, at, offset, ha=ha, va=va, **units).set_gid(gid)
    return artists


def draw_legend(ax: Axes, *, headroom: bool = False, **place: Any) -> None:
    """Draw a small legend with each label once; none if nothing has a label.

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
    """Style of a long axis label."""
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


class Display:
    """Computed data that can be drawn, in the manner of scikit-learn's displays.

    A subclass computes its data in ``_from_data(data, ...)``, names the options of ``compute`` in
    ``settings``, so that :meth:`from_predictions` passes all others on to ``plot``, and draws in
    ``plot(ax, ...)``, into ``ax_`` and ``figure_``.
    """

    ax_: Any
    figure_: Any
    plot: Callable[..., Any]
    _from_data: ClassVar[Callable[..., Any]]
    settings: ClassVar[tuple[str, ...]] = ("classes", "sample_weight")

    @classmethod
    def compute(
        cls,
        y_true: ArrayLike,
        evidence: ArrayLike | Evidence,
        *,
        classes: Sequence[Hashable] | None = None,
        sample_weight: ArrayLike | None = None,
        **settings: Any,
    ) -> Self:
        """Compute the display without drawing it.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        evidence : Evidence, or array of log-likelihoods (nats) of shape (n_samples, n_classes)
        classes : sequence of labels, default those of the evidence, else the sorted labels
        sample_weight : array of shape (n_samples,), optional
        **settings
            Further parameters of the class.
        """
        return cls._from_data(read_labelled(y_true, evidence, classes, sample_weight), **settings)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        evidence: ArrayLike | Evidence,
        *,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Compute the display from labeled evidence, and draw it.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        evidence : Evidence, or array of shape (n_samples, n_classes) or (n_samples,)
            Log-likelihoods in nats. An array of shape (n_samples,) holds LLRs in favor of
            ``pos_label``; only displays with a ``pos_label`` take it.
        ax : matplotlib Axes, default those of a new figure
        **options
            Options of :meth:`compute` and of :meth:`plot`.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from deciban.plots import TippettDisplay
        >>> fig, ax = plt.subplots()
        >>> display = TippettDisplay.from_predictions([0, 0, 1, 1], [-3.0, 1.0, 0.5, 2.0], ax=ax)
        >>> display.ax_ is ax
        True
        >>> plt.close(fig)
        """
        settings = {name: options.pop(name) for name in cls.settings if name in options}
        compute: Any = cls.compute  # a display without truth takes None
        return compute(y_true, evidence, **settings).plot(ax, **options)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, y: ArrayLike | None = None, **options: Any
    ) -> Self:
        """Compute the display from the evidence of a fitted estimator, and draw it.

        Parameters
        ----------
        estimator : as for :func:`deciban.evidence_of`
        X : array of shape (n_samples, n_features)
            Samples that the estimator was not fitted to.
        y : array of shape (n_samples,)
        **options
            Options of :meth:`from_predictions`. A ``name`` is by default the estimator's class.
        """
        if "name" in cls.settings:
            options = {"name": type(estimator).__name__} | options
        return cls.from_predictions(y, evidence_of(estimator, X), **options)

    def _label(self, text: str) -> str:
        name = getattr(self, "name", None)
        return text if name is None else f"{literal(name)}: {text}"

    def _finish(self, ax: Axes) -> Self:
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass(eq=False, repr=False)
class PairDisplay(Display):
    """LLRs of one class against another; several systems can be drawn into the same axes.

    A subclass computes its data in ``_from_data(trials, ...)`` and draws in ``_draw(ax, unit,
    line_options)``. All take ``pos_label``, ``other_label`` and ``name`` as :meth:`compute` does.
    """

    pos_label: Hashable = field(default=1, kw_only=True)
    other_label: Hashable = field(default=0, kw_only=True)
    name: str | None = field(default=None, kw_only=True)

    _draw: ClassVar[Callable[..., None]]
    settings: ClassVar[tuple[str, ...]] = ("sample_weight", "pos_label", "other_label", "name")

    @classmethod
    def compute(
        cls,
        y_true: ArrayLike,
        evidence: ArrayLike | Evidence,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Hashable = 1,
        other_label: Hashable | None = None,
        name: str | None = None,
        **settings: Any,
    ) -> Self:
        """Compute the display without drawing it.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        evidence : Evidence, or array of shape (n_samples,) or (n_samples, n_classes)
            LLRs in favor of ``pos_label``, or log-likelihoods of the sorted labels, in nats.
        sample_weight : array of shape (n_samples,), optional
        pos_label : label, default 1
            The class that a positive LLR supports.
        other_label : label, optional
            The class that it is compared with, if there are more than two; samples of all
            further classes are left out.
        name : str, optional
            Name of the system in the legend.
        **settings
            ``kind`` or ``log_odds``, if the class has it.
        """
        shape = () if isinstance(evidence, Evidence) else np.shape(evidence)
        if len(shape) == 2 and shape[1] > 1:  # log-likelihoods, not LLRs
            evidence = read_labelled(y_true, evidence).evidence
        trials = read_trials(y_true, evidence, sample_weight, pos_label, other_label)
        display: Self = cls._from_data(trials, **settings)
        display.pos_label, display.other_label = pos_label, trials.other_label
        display.name = name
        return display

    def plot(self, ax: Axes | None = None, *, unit: Unit = "ban", **line_options: Any) -> Self:
        """Draw the curves, also of several systems into the same axes, and return the display.

        LLRs and prior log-odds are in ``unit``. Line options are those of matplotlib's ``plot``.
        """
        from_nats(1.0, unit)  # refuses an unknown unit before anything is drawn
        ax = get_axes(ax)
        self._draw(ax, unit, line_options)
        return self._finish(ax)
