"""Evidence against the evidence of the evidence: calibrated where the two are one."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np

from deciban._validation import index_of, is_number
from deciban.evidence import Evidence, Unit, from_nats
from deciban.exceptions import InputError
from deciban.metrics.densities import Density
from deciban.metrics.idempotence import idempotence
from deciban.plots._axes import FAR, axes_for, legend, on_frame, show, span_of
from deciban.plots._curves import toward_infinity
from deciban.plots._display import Display
from deciban.plots._samples import groups, positions_of, some_of
from deciban.plots._style import REFERENCE, colour_of, llr_label, marker_of, require_unit
from deciban.plots.plane import ILRDisplay
from deciban.simplex import Basis

_MOST, _MOST_ARROWS = 2000, 150


class IdempotenceDisplay(Display):
    """Evidence beside its own likelihood functions: for calibrated evidence, they are the same.

    For a pair of classes, the LLR against the LLR of the LLR, with the identity. For three classes
    and no pair, arrows in the plane of ILRLs from the evidence to the evidence of it. Infinite
    LLRs lie on the frame. More than 2,000 samples of a class, or 150 arrows, are thinned out by
    chance, with ``seed``.

    Parameters
    ----------
    evidence, again : Evidence
        The evidence and the likelihood functions of it, sample by sample.
    a, b : labels, default the two classes where there are two
        The pair to draw the LLRs of, ``a`` against ``b``.
    y_true : array of shape (n_samples,), optional
        Colours the samples by class.
    basis : Basis, default Gram-Schmidt
        Of the plane, for three classes.

    Attributes
    ----------
    samples_ : list of artists, one for each class
    identity_, band_ : artists, for a pair
    arrows_ : artist, for three classes
    edges_ : list of markers for infinite LLRs
    """

    def __init__(
        self,
        evidence: Evidence,
        again: Evidence,
        a: Hashable | None = None,
        b: Hashable | None = None,
        *,
        y_true: Any = None,
        basis: Basis | None = None,
    ) -> None:
        if len(evidence) != len(again) or set(evidence.classes) != set(again.classes):
            raise InputError(
                f"again must be evidence of the same {len(evidence)} samples over the same "
                f"classes; it is not. Give both in one order."
            )
        self.evidence, self.again, self.basis = evidence, again, basis
        self.a, self.b = _pair(evidence, a, b)
        self.truth = positions_of(y_true, evidence)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        evidence: Any,
        *,
        a: Hashable | None = None,
        b: Hashable | None = None,
        density: Density = "kernel",
        basis: Basis | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw evidence beside the truth.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        evidence : Evidence
        a, b, basis
            As for the class.
        density : {"shared", "gaussian", "kernel"}, default "kernel"
            As for :func:`deciban.metrics.idempotence`, which finds the evidence of the evidence.
        ax : matplotlib Axes, optional
        **options
            Those of :meth:`plot`.
        """
        found = idempotence(y_true, evidence, density=density, n_resamples=0, n_draws=0)
        display = cls(found.evidence, found.again, a, b, y_true=found.labels, basis=basis)
        return display.plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        unit: Unit | None = None,
        band: float | None = None,
        seed: int = 0,
        **options: Any,
    ) -> Self:
        """Draw the pair, or the arrows.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        unit : {"nat", "bit", "ban", "deciban"}, default "ban" for a pair, "nat" for arrows
        band : float, optional
            Half the width of a band to shade around the identity, in ``unit``.
        seed : int, default 0
        **options
            For matplotlib's ``scatter`` (a pair) or ``quiver`` (arrows).
        """
        rng = np.random.default_rng(seed)
        self.samples_, self.edges_ = [], []
        self.identity_ = self.band_ = self.arrows_ = None
        if self.a is None:
            return self._plot_arrows(ax, "nat" if unit is None else unit, rng, options)
        return self._plot_pair(ax, "ban" if unit is None else unit, band, rng, options)

    def _plot_pair(self, ax: Any, unit: Unit, band: Any, rng: Any, options: Any) -> Self:
        require_unit(unit)
        x, y = (e.llr(self.a, self.b, unit) for e in (self.evidence, self.again))
        ax = axes_for(ax)
        fresh = not ax.has_data()
        show(ax, fresh, span_of(x), span_of(y))
        self.identity_ = ax.axline((0, 0), slope=1, color=REFERENCE, ls=":", label="identity")
        if band is not None:
            self.band_ = _shade(ax, band, unit)
        style = {"s": 9, "lw": 0, "alpha": 0.4} | options
        for k, group in enumerate(groups(self.truth, len(x), self.evidence.n_classes)):
            rows = some_of(group, _MOST, rng)
            if rows.size:
                self._scatter(ax, k, x[rows], y[rows], style)
        ax.set_xlabel(llr_label(self.a, self.b, unit))
        ax.set_ylabel(f"LLR of the LLR ({unit})")
        legend(ax)
        return self._drawn_into(ax)

    def _scatter(self, ax: Any, k: int, x: np.ndarray, y: np.ndarray, style: Any) -> None:
        finite = np.isfinite(x) & np.isfinite(y)
        known = self.truth is not None
        label = str(self.evidence.classes[k]) if known else "samples"
        if not finite.all():
            label += f" ({(~finite).sum()} infinite, on the frame)"
        look = {"color": colour_of(k) if known else REFERENCE, "marker": marker_of(k)}
        self.samples_.append(ax.scatter(x[finite], y[finite], label=label, **look | style))
        self.edges_ += on_frame(ax, x[~finite], y[~finite], **look)

    def _plot_arrows(self, ax: Any, unit: Unit, rng: Any, options: Any) -> Self:
        plane = ILRDisplay(self.evidence, basis=self.basis)
        plane.truth = self.truth
        plane.plot(ax, unit=unit, max_samples=0)
        ax = plane.ax_
        sure = np.isfinite(self.evidence.log_likelihoods).all(axis=1)
        rows = some_of(np.flatnonzero(sure), _MOST_ARROWS, rng)
        here = from_nats(self.evidence[rows].ilr(plane.basis), unit)
        there = self._ends(rows, plane.basis, unit, float(ax.get_xlim()[1]))
        reach = max(float(ax.get_xlim()[1]), 1.05 * float(np.quantile(np.abs(there), 0.98)))
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach))
        colours = [REFERENCE if self.truth is None else colour_of(k) for k in self._classes(rows)]
        style = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.004} | options
        self.arrows_ = ax.quiver(*here.T, *(there - here).T, color=colours, **style)
        self.edges_ = plane.edges_
        return self._drawn_into(ax)

    def _ends(self, rows: np.ndarray, basis: Basis, unit: Unit, reach: float) -> np.ndarray:
        """Where the arrows end: on the frame, where the evidence of the evidence is infinite."""
        again = self.again[rows]
        finite = np.isfinite(again.log_likelihoods).all(axis=1)
        ends = np.empty((len(rows), 2))
        ends[finite] = from_nats(again[finite].ilr(basis), unit)
        far = toward_infinity(again[~finite], basis)
        ends[~finite] = reach * far
        return ends

    def _classes(self, rows: np.ndarray) -> np.ndarray:
        return np.zeros(len(rows), dtype=int) if self.truth is None else self.truth[rows]


def _pair(
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


def _shade(ax: Any, band: Any, unit: Unit) -> Any:
    if not is_number(band) or not band > 0:
        raise InputError(f"band must be a positive number; got {band!r}. Give half its width.")
    low, high = ax.get_xlim()
    ends = np.array([low - FAR * (high - low), high + FAR * (high - low)])
    style = {"color": REFERENCE, "alpha": 0.15, "lw": 0, "zorder": 0}
    label = f"± {band:g} {unit}"
    return ax.fill_between(ends, ends - band, ends + band, label=label, **style)
