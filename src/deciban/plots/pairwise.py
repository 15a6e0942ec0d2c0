"""Which two classes are hard to tell: pairwise costs as a map."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np

from deciban._validation import as_labels, to_numpy
from deciban.exceptions import InputError
from deciban.metrics import pairwise_cllr
from deciban.plots._axes import axes_for
from deciban.plots._display import Display
from deciban.plots._samples import evidence_and_truth

_WITH_NUMBERS = 12  # classes up to which cells are large enough for a number
_WITH_NAMES = 30  # classes up to which every one is named


class PairwiseDisplay(Display):
    """Cost of the LLRs of each two classes: Cllr above the diagonal, Cllr_min below it.

    Bright pairs are hard to tell apart. Where a cell above the diagonal is brighter than its mirror
    image below, the evidence is badly calibrated. Costs above 1 bit, what saying nothing costs,
    have the last colour.

    Parameters
    ----------
    cllr, cllr_min : arrays of shape (n_classes, n_classes)
        Symmetric, in bits.
    classes : sequence of labels, default 0 to n_classes - 1

    Attributes
    ----------
    image_, colorbar_ : artists
    texts_ : list of the numbers in the cells
    """

    def __init__(self, cllr: Any, cllr_min: Any, classes: Sequence[Hashable] | None = None) -> None:
        self.cllr, self.cllr_min = to_numpy(cllr, "cllr"), to_numpy(cllr_min, "cllr_min")
        shape = self.cllr.shape
        if len(shape) != 2 or shape[0] != shape[1] or self.cllr_min.shape != shape:
            raise InputError(
                f"cllr and cllr_min must be square and of one shape; got {shape} and "
                f"{self.cllr_min.shape}. Give what metrics.pairwise_cllr returns."
            )
        self.classes = as_labels(classes, shape[0])

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        log_likelihoods: Any,
        *,
        classes: Sequence[Hashable] | None = None,
        sample_weight: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw evidence beside the truth.

        Parameters
        ----------
        y_true : array of shape (n_samples,)
        log_likelihoods : array of shape (n_samples, n_classes), or Evidence
        classes : sequence of labels, optional
        sample_weight : array of shape (n_samples,), optional
        ax : matplotlib Axes, optional
        **options
            Those of :meth:`plot`.
        """
        evidence, _ = evidence_and_truth(y_true, log_likelihoods, classes)
        costs = pairwise_cllr(y_true, evidence, sample_weight=sample_weight)
        return cls(*costs, evidence.classes).plot(ax, **options)

    @property
    def matrix(self) -> np.ndarray:
        """Cllr above the diagonal, Cllr_min below, NaN on it."""
        matrix = np.triu(self.cllr, 1) + np.tril(self.cllr_min, -1)
        np.fill_diagonal(matrix, np.nan)
        return matrix

    def plot(
        self, ax: Any = None, *, numbers: bool | None = None, cmap: Any = "cividis", **options: Any
    ) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        numbers : bool, default for 12 classes or fewer
            Whether to write the costs into the cells.
        cmap : name or Colormap, default "cividis"
        **options
            For matplotlib's ``imshow``.
        """
        ax = axes_for(ax)
        matrix = self.matrix
        finite = matrix[np.isfinite(matrix)]
        top = min(1.0, float(finite.max(initial=0.0))) or 1.0
        style = {"vmin": 0.0, "vmax": top, "interpolation": "none"} | options
        self.image_ = ax.imshow(matrix, cmap=cmap, **style)
        above = bool((matrix > top).any())
        self.colorbar_ = ax.figure.colorbar(
            self.image_, ax=ax, extend="max" if above else "neither", label="cost of the LLRs (bit)"
        )
        self._name_classes(ax)
        few = len(self.classes) <= _WITH_NUMBERS
        self.texts_ = self._numbers(ax, matrix) if (few if numbers is None else numbers) else []
        ax.set_xlabel(r"class (below: $C_{\mathrm{llr}}^{\min}$)")
        ax.set_ylabel(r"class (above: $C_{\mathrm{llr}}$)")
        return self._drawn_into(ax)

    def _name_classes(self, ax: Any) -> None:
        D = len(self.classes)
        at = np.arange(0, D, 1 if D <= _WITH_NAMES else int(np.ceil(D / 10)))
        names = [str(self.classes[k]) for k in at]
        turned = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        longest = max(map(len, names))
        ax.set_xticks(at, names, **(turned if longest * len(at) > 24 and longest > 2 else {}))
        ax.set_yticks(at, names)

    def _numbers(self, ax: Any, matrix: np.ndarray) -> list[Any]:
        D = len(matrix)
        inches = min(ax.get_window_extent().size) / ax.figure.dpi
        size = float(np.clip(72 * inches / D / 2.6, 3.5, 9.0))
        low, high = self.image_.get_clim()
        texts = []
        for i, j in np.argwhere(~np.isnan(matrix)):
            dark = (min(matrix[i, j], high) - low) / (high - low) < 0.55
            style = {"color": "w" if dark else "k", "ha": "center", "va": "center"}
            texts.append(ax.text(j, i, _short(matrix[i, j]), fontsize=size, **style))
        return texts


def _short(cost: float) -> str:
    if np.isinf(cost):
        return "∞"
    text = f"{cost:.2f}" if cost < 10 else f"{cost:.0f}"
    return text.removeprefix("0") if cost < 1 and text != "1.00" else text
