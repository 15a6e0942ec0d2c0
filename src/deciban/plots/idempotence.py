"""Evidence against the evidence of the evidence: calibrated where the two agree."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from deciban._validation.labels import index_of, label_array
from deciban._validation.scalars import Rng, as_generator, require_positive_number
from deciban.evidence import Evidence, Unit, from_nats
from deciban.exceptions import InputError
from deciban.metrics.densities import Density
from deciban.metrics.idempotence import idempotence
from deciban.metrics.labelled import Labelled
from deciban.plots import _axes, _plane, _style
from deciban.plots._axes import Axes, Floats, Style
from deciban.plots._display import Display
from deciban.plots.plane import ILRDisplay
from deciban.simplex import Basis

_MOST_ARROWS = 150


class IdempotenceDisplay(Display):
    r"""Evidence beside its own likelihood functions: for calibrated evidence, they are the same.

    Evidence :math:`l` is calibrated where :math:`\log p(l \mid a) - \log p(l \mid b)` is the LLR of
    ``a`` against ``b`` in :math:`l` itself. For a pair of classes, the LLR of the LLR against the
    LLR, with the identity. For three classes and no pair, arrows in the plane of ILRLs from the
    evidence to the evidence of it. Infinite LLRs lie on the frame. Of each class at most 2,000
    samples are drawn, and at most 150 arrows.

    Parameters
    ----------
    evidence, again : Evidence
        The evidence, and its likelihood functions, sample by sample. :meth:`compute` finds these
        by :func:`deciban.metrics.idempotence` and takes its ``density``, by default "kernel". With
        kernel densities both are limited to what the number of samples can show.
    a, b : labels, default the two classes where there are two
        Pair of classes whose LLR, ``a`` against ``b``, is drawn.
    y_true : array of shape (n_samples,), optional
        True classes, which color the samples.
    basis : Basis, default Gram-Schmidt
        Basis of the plane, for three classes.

    Attributes
    ----------
    samples_ : list of artists
        One for each class.
    identity_, band_ : artists
        For a pair.
    arrows_ : artist
        For three classes.
    edges_ : list of markers
        For infinite LLRs.

    See Also
    --------
    deciban.metrics.idempotence : The distance in numbers, with intervals.
    PAVDisplay : Another check of the LLRs of two classes.
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

    _settings = (*Display._settings, "a", "b", "basis", "density")

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
        self.a, self.b = _choose_pair(evidence, a, b)
        self.truth = _plane.encode_truth(y_true, evidence)

    @classmethod
    def _from_data(cls, data: Labelled, density: Density = "kernel", **settings: Any) -> Self:
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
        """Draw the pair, or the arrows.

        Parameters
        ----------
        ax : matplotlib Axes, default those of a new figure
        unit : {"nat", "bit", "ban", "deciban"}, default "ban" for a pair, "nat" for arrows
            Unit of the LLRs, or of the ILRLs.
        band : float, optional
            Half the width of a band to shade around the identity, in ``unit``.
        rng : int or Generator, default 0
            Chooses which samples are drawn, where there are many.
        **options
            Options of matplotlib's ``scatter`` (a pair) or ``quiver`` (arrows).

        Returns
        -------
        IdempotenceDisplay
            Itself, drawn.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> fig, ax = plt.subplots()
        >>> evidence = Evidence.from_llr([-2.0, 1.0, 3.0])
        >>> again = Evidence.from_llr([-1.5, 0.5, 2.0])
        >>> display = IdempotenceDisplay(evidence, again, y_true=[0, 1, 1]).plot(ax, band=0.5)
        >>> len(display.samples_)
        2
        >>> plt.close(fig)
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
        ax = _axes.get_axes(ax)
        _axes.set_view(ax, not ax.has_data(), _axes.span(x), _axes.span(y))
        self.identity_ = _axes.draw_identity(ax, lw=1.5, label="identity")
        if band is not None:
            self.band_ = _shade_band(ax, band, unit)
        for k, group in enumerate(_plane.rows_by_class(self.truth, self.evidence)):
            rows = _plane.subsample(group, _plane.MOST_SAMPLES, rng)
            if rows.size:
                self._draw_samples(ax, k, x[rows], y[rows], options)
        ax.set_xlabel(_style.llr_label(self.a, self.b, unit))
        ax.set_ylabel(f"LLR of the LLR ({unit})")
        _axes.draw_legend(ax)
        return self._finish(ax)

    def _draw_samples(self, ax: Axes, k: int, x: Floats, y: Floats, options: Style) -> None:
        finite = np.isfinite(x) & np.isfinite(y)
        known = self.truth is not None
        label = _style.literal(self.evidence.classes[k]) if known else "samples"
        if not finite.all():
            label += f" ({(~finite).sum()} infinite, on the frame)"
        look = _style.look_of(k, known)
        style: Style = look | {"s": 9, "lw": 0, "alpha": 0.4} | options
        self.samples_.append(ax.scatter(x[finite], y[finite], label=label, **style))
        self.edges_ += _axes.mark_on_frame(ax, x[~finite], y[~finite], **look)

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
        colors = _style.REFERENCE if truth is None else [_style.color_of(k) for k in truth]
        style: Style = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.004} | options
        self.arrows_ = ax.quiver(*here.T, *(there - here).T, color=colors, **style)
        self.edges_ = plane.edges_
        return self._finish(ax)


def _choose_pair(
    evidence: Evidence, a: Hashable | None, b: Hashable | None
) -> tuple[Hashable | None, Hashable | None]:
    if a is None and b is None:
        if evidence.n_classes == 2:
            return evidence.classes[1], evidence.classes[0]
        if evidence.n_classes == 3:
            return None, None
    if a is None or b is None or a == b:
        raise InputError(
            f"a and b must be two classes for evidence over {evidence.n_classes}; got {a!r} and "
            f"{b!r}. Name both."
        )
    index_of(a, evidence.classes), index_of(b, evidence.classes)
    return a, b


def _shade_band(ax: Axes, band: float, unit: Unit) -> Any:
    require_positive_number(band, "band", remedy="Give half its width.")
    low, high = ax.get_xlim()
    ends = np.array([low - _axes.FAR * (high - low), high + _axes.FAR * (high - low)])
    style: Style = {"color": _style.REFERENCE, "alpha": 0.15, "lw": 0, "zorder": 0}
    return ax.fill_between(ends, ends - band, ends + band, label=f"± {band:g} {unit}", **style)
