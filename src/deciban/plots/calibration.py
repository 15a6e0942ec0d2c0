"""Is evidence calibrated? Posteriors against frequencies, and evidence of the evidence."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from deciban._validation.labels import index_of, label_array
from deciban._validation.scalars import Rng, as_generator, require_positive_number
from deciban.evidence import Evidence, Unit, from_nats
from deciban.exceptions import InputError
from deciban.metrics.density_estimates import DensityKind
from deciban.metrics.idempotence import idempotence
from deciban.metrics.labelled import Labelled, read_trials
from deciban.metrics.reliability import Reliability, reliability_curves
from deciban.plots import _display as draw
from deciban.plots import _plane
from deciban.plots._display import Axes, Display, Floats, Style
from deciban.plots.plane import ILRDisplay
from deciban.simplex import Basis

_FAR = 0.25  # posteriors further apart are not joined by a line
_TALL = 0.1  # share of the posteriors from which on a bar says how large it is
_MOST_ARROWS = 150


class ReliabilityDisplay(Display):
    """Reliability of posteriors under a prior: how often events of probability p come true.

    In each bin, the mean posterior stands against the relative frequency of the event, with
    Wilson's interval. The samples of each class are weighted by its prior, so that their mix does
    not matter. Bins hold equally many samples, and neighbors are joined by a line, unless they lie
    far apart or no posteriors lie between them. Bars along the bottom show the spread of the
    posteriors.

    The display holds ``curves``, a Reliability for each event, and the ``name`` of the system.
    Drawn artists are ``lines_``, ``identity_`` and ``histogram_``.

    See Also
    --------
    Reliability : A curve, in numbers.
    deciban.metrics.calibration_error : Distance from the identity, in one number.

    Examples
    --------
    >>> y_true, llr = [0, 0, 1, 0, 1, 1], [-3.0, -1.0, -0.5, 0.5, 2.0, 4.0]
    >>> curve = ReliabilityDisplay.compute(y_true, llr, n_bins=2).curves[0]
    >>> curve.predicted.round(2), curve.observed.round(2)
    (array([0.23, 0.83]), array([0.33, 0.67]))
    """

    settings = (*Display.settings, "name", "pos_label", "prior", "kind", "n_bins", "confidence")

    def __init__(self, curves: Sequence[Reliability], *, name: str | None = None) -> None:
        self.curves, self.name = tuple(curves), name

    @classmethod
    def compute(
        cls,
        y_true: ArrayLike,
        evidence: ArrayLike | Evidence,
        *,
        pos_label: Hashable | None = None,
        **settings: Any,
    ) -> Self:
        """Compute the curves without drawing them.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
            True classes.
        evidence : Evidence, or array of shape (n_samples, n_classes) or (n_samples,)
            Log-likelihoods, or LLRs in favor of ``pos_label``, else of 1, in nats.
        pos_label : label, default the last class
            The class whose posterior is drawn, if ``kind`` is "class".
        **settings
            ``classes``, ``sample_weight`` and ``name``; ``prior``, the prior of the posteriors, by
            default uniform; ``n_bins``, by default 10; ``confidence`` of the intervals, by default
            0.95; and ``kind``: "class" for one class against the rest, the default for two classes
            and with ``pos_label``, "decided" for the class with the largest posterior, the default
            for more, or "each" for every class against the rest.
        """
        if not isinstance(evidence, Evidence) and np.ndim(evidence) == 1:
            positive = 1 if pos_label is None else pos_label
            other = read_trials(y_true, evidence, None, positive).other_label
            evidence = Evidence.from_llr(evidence, positive, other)
            # A prior is in the order of the sorted labels, as elsewhere.
            settings = {"classes": np.unique([other, positive]).tolist()} | settings
        return super().compute(y_true, evidence, pos_label=pos_label, **settings)

    @classmethod
    def _from_data(cls, data: Labelled, name: str | None = None, **settings: Any) -> Self:
        return cls(reliability_curves(data, **settings), name=name)

    def plot(
        self, ax: Axes | None = None, *, histogram: bool | None = None, **line_options: Any
    ) -> Self:
        """Draw the curves, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, default those of a new figure
        histogram : bool, default True for a single curve
            Whether to draw the spread of the posteriors along the bottom, in fresh axes.
        **line_options
            Options of matplotlib's ``errorbar``.
        """
        ax = draw.get_axes(ax)
        fresh = not ax.has_data()
        if fresh:
            ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
            self.identity_ = draw.draw_identity(ax)
        alone = len(self.curves) == 1
        self.lines_ = [
            self._draw_curve(ax, k, color, line_options)
            for k, color in enumerate(draw.unused_colors(ax, len(self.curves)))
        ]
        wanted = alone if histogram is None else histogram
        self.histogram_ = self._draw_histogram(ax) if wanted and fresh else None
        of = draw.literal(self.curves[0].of) if alone else "each class"
        small = draw.axis_text(ax) if len(of) > 10 else {}
        ax.set_xlabel(f"posterior probability of {of}", **small)
        ax.set_ylabel("relative frequency")
        draw.draw_legend(ax)
        return self._finish(ax)

    def _draw_curve(self, ax: Axes, k: int, color: str, options: Style) -> Any:
        curve = self.curves[k]
        at = draw.COLORS.index(color) + len(draw.COLORS) * (k // len(draw.COLORS))
        look = {"color": color, "marker": draw.marker_of(at), "ls": draw.dashes_of(at)}
        style = look | {"ms": 4, "lw": 1.2, "elinewidth": 0.9, "capsize": 2} | options
        errors = np.abs([curve.observed - curve.low, curve.high - curve.observed])
        label = self._label(draw.literal(curve.of))
        if len(self.curves) == 1:
            label = draw.literal(self.name or f"n = {curve.count.sum():,}")
        least, most = int(curve.count.min()), int(curve.count.max())
        label += f" ({least:,}{f' to {most:,}' * (least != most)} per bin)"
        x, y = _break_line(curve)
        drawn = ax.errorbar(curve.predicted, curve.observed, errors, label=label, **style)
        drawn.lines[0].set_data(x, y)
        return drawn

    def _draw_histogram(self, ax: Axes) -> Any:
        share = self.curves[0].histogram
        x = (np.arange(len(share)) + 0.5) / len(share)
        height = 0.18 * share / max(float(share.max()), 1e-300)
        style: Style = {"color": "0.8", "zorder": 0, "transform": ax.get_xaxis_transform()}
        label = "spread of posteriors (%)"
        for k in np.flatnonzero(share >= _TALL):
            number: Style = {"ha": "center", "va": "bottom", "fontsize": "x-small", "color": "0.35"}
            ax.text(
                x[k], height[k], f"{100 * share[k]:.0f}", transform=style["transform"], **number
            )
        return ax.bar(x, height, 0.9 / len(share), label=label, **style)


def _break_line(curve: Reliability) -> tuple[Floats, Floats]:
    """Points of the curve, with a gap between neighbors that should not be joined."""
    part = np.minimum(curve.predicted * len(curve.histogram), len(curve.histogram) - 1).astype(int)
    empty = np.concatenate([[0], np.cumsum(curve.histogram == 0)])
    # Number of empty parts between two points, without the parts that hold the points.
    between = empty[part[1:]] - empty[np.minimum(part[:-1] + 1, part[1:])]
    gaps = np.flatnonzero((between > 0) | (np.diff(curve.predicted) > _FAR)) + 1
    return np.insert(curve.predicted, gaps, np.nan), np.insert(curve.observed, gaps, np.nan)


class IdempotenceDisplay(Display):
    r"""Evidence against its own likelihood functions: for calibrated evidence, they are the same.

    Evidence :math:`l` is calibrated if :math:`\log p(l \mid a) - \log p(l \mid b)` is the LLR of
    ``a`` against ``b`` in :math:`l` itself. For a pair of classes, the LLR of the LLR against the
    LLR, with the identity. For three classes and no pair, arrows in the plane of ILRLs from the
    evidence to the evidence of it. Infinite LLRs lie on the frame. At most 2,000 samples of a class
    are drawn, and at most 150 arrows.

    The display holds the ``evidence`` and its likelihood functions ``again``, sample by sample,
    which :meth:`compute` finds by :func:`deciban.metrics.idempotence` with a ``density``, by
    default "kernel"; the pair ``a`` and ``b``, by default the two classes if there are two; true
    classes, which color the samples; and the basis of the plane. Drawn artists are ``samples_``,
    ``identity_``, ``band_``, ``arrows_`` and ``edges_``.

    See Also
    --------
    deciban.metrics.idempotence : The distance in numbers, with intervals.
    deciban.calibration.AffineCalibrator : Corrects evidence that is too strong or too weak.

    Examples
    --------
    Evidence that is twice as strong as it should be shrinks:

    >>> from deciban import CalibratedGaussian
    >>> family = CalibratedGaussian.from_divergences([[0, 4, 4], [4, 0, 4], [4, 4, 0]])
    >>> l, y_true = family.sample([200, 200, 200], rng=0)
    >>> evidence = Evidence.from_ilr(2 * l)
    >>> display = IdempotenceDisplay.compute(y_true, evidence, density="gaussian")
    >>> bool(display.again.strength().mean() < display.evidence.strength().mean())
    True
    """

    settings = (*Display.settings, "a", "b", "basis", "density")

    def __init__(
        self,
        evidence: Evidence,
        again: Evidence,
        a: Hashable | None = None,
        b: Hashable | None = None,
        *,
        y_true: ArrayLike | None = None,
        basis: Basis | None = None,
    ) -> None:
        if len(evidence) != len(again) or set(evidence.classes) != set(again.classes):
            raise InputError(
                f"again must be evidence about the same {len(evidence)} samples and classes as "
                f"evidence; it is not. Give both in one order."
            )
        self.evidence, self.again, self.basis = evidence, again, basis
        if a is None and b is None and evidence.n_classes == 2:
            b, a = evidence.classes
        if not (a is None and b is None and evidence.n_classes == 3):
            if a is None or b is None or a == b:
                raise InputError(
                    f"a and b must be two classes for evidence over {evidence.n_classes}; got "
                    f"{a!r} and {b!r}. Name both."
                )
            index_of(a, evidence.classes), index_of(b, evidence.classes)
        self.a, self.b = a, b
        self.truth = _plane.encode_truth(y_true, evidence)

    @classmethod
    def _from_data(cls, data: Labelled, density: DensityKind = "kernel", **settings: Any) -> Self:
        labels = label_array(data.evidence.classes)[data.codes]
        options: Style = {"density": density, "sample_weight": data.weight}
        found = idempotence(labels, data.evidence, n_resamples=0, n_draws=0, **options)
        return cls(found.evidence, found.again, y_true=found.labels, **settings)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        unit: Unit | None = None,
        band: float | None = None,
        rng: Rng = 0,
        **options: Any,
    ) -> Self:
        """Draw the pair, or the arrows, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes, default those of a new figure
        unit : {"nat", "bit", "ban", "deciban"}, default "ban" for a pair, "nat" for arrows
        band : float, optional
            Half the width of a band to shade around the identity, in ``unit``.
        rng : int or Generator, default 0
            Chooses which samples are drawn, if there are many.
        **options
            Options of matplotlib's ``scatter`` (a pair) or ``quiver`` (arrows).
        """
        rng = as_generator(rng)
        self.samples_: list[Any] = []
        self.edges_: list[Any] = []
        self.identity_: Any = None
        self.band_: Any = None
        self.arrows_: Any = None
        if self.a is None or self.b is None:
            return self._plot_arrows(ax, unit or "nat", rng, options)
        unit = unit or "ban"
        x, y = (e.llr(self.a, self.b, unit) for e in (self.evidence, self.again))
        ax = draw.get_axes(ax)
        draw.set_view(ax, not ax.has_data(), draw.span(x), draw.span(y))
        self.identity_ = draw.draw_identity(ax, lw=1.5, label="identity")
        if band is not None:
            require_positive_number(band, "band", remedy="Give half its width.")
            low, high = ax.get_xlim()
            ends = np.array([low - draw.FAR * (high - low), high + draw.FAR * (high - low)])
            style: Style = {"color": draw.REFERENCE, "alpha": 0.15, "lw": 0, "zorder": 0}
            style["label"] = f"± {band:g} {unit}"
            self.band_ = ax.fill_between(ends, ends - band, ends + band, **style)
        for k, group in enumerate(_plane.rows_by_class(self.truth, self.evidence)):
            rows = _plane.subsample(group, _plane.MOST_SAMPLES, rng)
            if rows.size:
                self._draw_samples(ax, k, x[rows], y[rows], options)
        ax.set_xlabel(draw.llr_label(self.a, self.b, unit))
        ax.set_ylabel(f"LLR of the LLR ({unit})")
        draw.draw_legend(ax)
        return self._finish(ax)

    def _draw_samples(self, ax: Axes, k: int, x: Floats, y: Floats, options: Style) -> None:
        finite = np.isfinite(x) & np.isfinite(y)
        known = self.truth is not None
        label = draw.literal(self.evidence.classes[k]) if known else "samples"
        if not finite.all():
            label += f" ({(~finite).sum()} infinite, on the frame)"
        look = draw.look_of(k, known)
        style: Style = look | {"s": 9, "lw": 0, "alpha": 0.4} | options
        self.samples_.append(ax.scatter(x[finite], y[finite], label=label, **style))
        self.edges_ += draw.mark_on_frame(ax, x[~finite], y[~finite], **look)

    def _plot_arrows(
        self, ax: Axes | None, unit: Unit, rng: np.random.Generator, options: Style
    ) -> Self:
        plane = ILRDisplay(self.evidence, basis=self.basis)
        plane.truth = self.truth
        ax = plane.plot(ax, unit=unit, max_samples=0).ax_
        reach = float(ax.get_xlim()[1])
        rows = _plane.subsample(np.flatnonzero(_plane.is_finite(self.evidence)), _MOST_ARROWS, rng)
        again = self.again[rows]
        here = from_nats(self.evidence[rows].ilr(plane.basis), unit)
        there, finite = np.empty_like(here), _plane.is_finite(again)
        there[finite] = from_nats(again[finite].ilr(plane.basis), unit)
        there[~finite] = reach * _plane.toward_infinity(again[~finite], plane.basis)  # on the frame
        reach = max(reach, 1.05 * float(np.quantile(np.abs(there), 0.98)))
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach))
        truth = None if self.truth is None else self.truth[rows]
        colors = draw.REFERENCE if truth is None else [draw.color_of(k) for k in truth]
        style: Style = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.004} | options
        self.arrows_ = ax.quiver(*here.T, *(there - here).T, color=colors, **style)
        self.edges_ = plane.edges_
        return self._finish(ax)
