"""LLRs of two classes as histograms, beside the calibrated Gaussians they should look like."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, Self

import numpy as np

from deciban._validation import read_llrs
from deciban.evidence import Evidence, Unit, from_nats
from deciban.exceptions import InputError
from deciban.plots._axes import axes_for, is_narrow, legend
from deciban.plots._display import Display
from deciban.plots._pairs import pair_of
from deciban.plots._style import REFERENCE, colour_of, infinite_part, llr_label, require_unit
from deciban.reference import CalibratedGaussian

_HATCHES = ("", "////")


class LLRHistogramDisplay(Display):
    """Histograms of the LLRs of two classes, with the calibrated Gaussian :math:`N(±d, 2d)`.

    Infinite LLRs stand in bins of their own at the edges, marked −∞ and +∞.

    Parameters
    ----------
    target, other : arrays
        LLRs of the samples of each class, in nats.
    divergence : float, optional
        Of the calibrated Gaussian to draw, in nats.
    pos_label, other_label : labels

    Attributes
    ----------
    bars_ : list of two bar containers
    lines_ : list of lines of the Gaussians

    Examples
    --------
    >>> display = LLRHistogramDisplay.compute([0, 0, 1, 1], [-3.0, -1.0, 2.0, float("inf")])
    >>> round(display.divergence, 4)
    1.3805
    """

    def __init__(
        self,
        target: Any,
        other: Any,
        *,
        divergence: float | None = None,
        pos_label: Hashable = 1,
        other_label: Hashable = 0,
    ) -> None:
        self.target, self.other = read_llrs(target), read_llrs(other)
        self.divergence = divergence
        self.pos_label, self.other_label = pos_label, other_label

    @classmethod
    def compute(
        cls, y_true: Any, llr: Any, *, pos_label: Hashable = 1, other_label: Hashable | None = None
    ) -> Self:
        """The display without a drawing; see :meth:`from_predictions`."""
        pair = pair_of(y_true, llr, pos_label, other_label)
        is_target = pair.y_true == 1
        return cls(
            pair.llr[is_target],
            pair.llr[~is_target],
            divergence=_divergence(pair.y_true, pair.llr),
            **pair.labels,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        llr: Any,
        *,
        pos_label: Hashable = 1,
        other_label: Hashable | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw LLRs beside the truth.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        llr : array of shape (n_samples,) in nats, log-likelihoods, or Evidence
        pos_label : label, default 1
            The class that a positive LLR supports.
        other_label : label, optional
            The other class, where there are more than two; samples of the rest are left out.
        ax : matplotlib Axes, optional
        **options
            Those of :meth:`plot`.
        """
        display = cls.compute(y_true, llr, pos_label=pos_label, other_label=other_label)
        return display.plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        unit: Unit = "ban",
        bins: int | None = None,
        gaussian: bool = True,
        **bar_options: Any,
    ) -> Self:
        """Draw the histograms.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        unit : {"nat", "bit", "ban", "deciban"}
        bins : int, default by the number of samples, from 10 to 60
            How many for the finite LLRs.
        gaussian : bool, default True
            Whether to draw the calibrated Gaussian, where there is one.
        **bar_options
            For matplotlib's ``bar``.
        """
        require_unit(unit)
        edges = from_nats(self._edges(bins), unit)
        ax = axes_for(ax)
        self.bars_ = [
            self._bars(ax, k, from_nats(llr, unit), edges, bar_options)
            for k, llr in enumerate((self.target, self.other))
        ]
        self.lines_ = []
        if gaussian and self.divergence is not None:
            self.lines_ = self._gaussians(ax, edges, self.divergence, unit)
        self._name_ends(ax, edges)
        ax.set_xlabel(llr_label(self.pos_label, self.other_label, unit))
        ax.set_ylabel("share of the class per bin (%)", fontsize="small" if is_narrow(ax) else None)
        legend(ax, headroom=True)
        return self._drawn_into(ax)

    def _edges(self, bins: int | None) -> np.ndarray:
        both = np.concatenate([self.target, self.other])
        if bins is None:
            bins = min(60, max(10, math.ceil(3 * np.cbrt(len(both) / 2))))
        if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
            raise InputError(
                f"bins must be a whole number, at least 1; got {bins!r}. Give how many."
            )
        finite = both[np.isfinite(both)]
        low, high = (finite.min(), finite.max()) if finite.size else (-1.0, 1.0)
        if low == high:
            low, high = low - 1, high + 1
        return np.linspace(low, high, bins + 1)

    def _bars(self, ax: Any, k: int, llr: np.ndarray, edges: np.ndarray, options: Any) -> Any:
        share = 100 / max(len(llr), 1)
        heights = share * np.histogram(llr[np.isfinite(llr)], edges)[0]
        ends = share * np.array([(llr == -np.inf).sum(), (llr == np.inf).sum()])
        some = ends > 0  # an empty bin would only take room
        centres = np.append((edges[1:] + edges[:-1]) / 2, np.array(_end_places(edges))[some])
        widths = np.append(np.diff(edges), np.full(some.sum(), _end_width(edges)))
        style = {"alpha": 0.5, "hatch": _HATCHES[k], "edgecolor": colour_of(k), "lw": 0.4} | options
        label = str((self.pos_label, self.other_label)[k]) + infinite_part(*ends.tolist())
        y = np.append(heights, ends[some])
        return ax.bar(centres, y, widths, color=colour_of(k), label=label, **style)

    def _gaussians(self, ax: Any, edges: np.ndarray, divergence: float, unit: Unit) -> list[Any]:
        d, scale = from_nats(divergence, unit), from_nats(math.sqrt(2 * divergence), unit)
        x = np.linspace(edges[0], edges[-1], 400)
        width, lines = edges[1] - edges[0], []
        for k, (llr, mean) in enumerate(((self.target, d), (self.other, -d))):
            finite = np.isfinite(llr).mean() if len(llr) else 0.0
            z = (x - mean) / scale
            y = 100 * finite * width * np.exp(-(z**2) / 2) / (scale * math.sqrt(2 * math.pi))
            label = f"calibrated, d = {d:.3g} {unit}" if k == 0 else None
            style = {"color": "k", "lw": 1.3, "ls": ("-", (0, (4, 1.5)))[k]}
            lines += ax.plot(x, y, label=label, **style)
        return lines

    def _name_ends(self, ax: Any, edges: np.ndarray) -> None:
        """Ticks of the bins of infinite LLRs, where there are any."""
        both = np.concatenate([self.target, self.other])
        ends = {
            sign * np.inf: place
            for sign, place in zip((-1, 1), _end_places(edges), strict=True)
            if (both == sign * np.inf).any()
        }
        if not ends:
            return
        width = edges[-1] - edges[0]
        clear = [t for t in ax.get_xticks() if edges[0] <= t <= edges[-1]]
        for end, place in ends.items():
            clear = [t for t in clear if abs(t - place) > 0.16 * width]  # names must not touch
            edge = edges[0] if end < 0 else edges[-1]
            ax.axvline(edge + math.copysign(0.03 * width, end), color=REFERENCE, lw=0.8, ls=":")
        names = [f"{t:g}".replace("-", "−") for t in clear]
        names += ["−∞" if end < 0 else "+∞" for end in ends]
        ax.set_xticks([*clear, *ends.values()], names)


def _end_width(edges: np.ndarray) -> float:
    return max(float(edges[1] - edges[0]), 0.03 * float(edges[-1] - edges[0]))


def _end_places(edges: np.ndarray) -> tuple[float, float]:
    """Centres of the bins of infinite LLRs, a little apart from the others."""
    beyond = 0.06 * float(edges[-1] - edges[0]) + _end_width(edges) / 2
    return float(edges[0]) - beyond, float(edges[-1]) + beyond


def _divergence(y_true: np.ndarray, llr: np.ndarray) -> float | None:
    """Divergence of the calibrated Gaussian fitted to the finite LLRs; none if all are zero."""
    finite = np.isfinite(llr)
    if not np.any(llr[finite]):
        return None
    family = CalibratedGaussian.fit(Evidence.from_llr(llr[finite]), y_true[finite])
    return float(family.divergences[0, 1])
