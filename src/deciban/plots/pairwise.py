"""Which pairs of classes are hard to tell apart: a map of pairwise costs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from deciban._validation.arrays import to_numpy
from deciban._validation.labels import as_labels
from deciban.exceptions import InputError
from deciban.metrics.labelled import Labelled
from deciban.metrics.multiclass import pairwise_costs
from deciban.plots import _axes, _style
from deciban.plots._axes import Axes, Floats, Style
from deciban.plots._display import Display

_WITH_NUMBERS = 12  # classes up to which cells are large enough for a number
_WITH_NAMES = 30  # classes up to which every one is named


class PairwiseDisplay(Display):
    """Cost of the LLRs of each pair of classes: Cllr above the diagonal, Cllr_min below it.

    Each pair counts with equal weights of its two classes. Bright pairs are hard to tell apart.
    Where a cell above the diagonal is brighter than its mirror image below, the evidence is badly
    calibrated. Costs above 1 bit, the cost without any evidence, have the last color.

    Parameters
    ----------
    cllr, cllr_min : arrays of shape (n_classes, n_classes)
        Symmetric, in bits.
    classes : sequence of labels, default 0 to n_classes - 1

    Attributes
    ----------
    image_, colorbar_ : artists
    texts_ : list of texts
        The numbers in the cells.

    See Also
    --------
    deciban.metrics.pairwise_cllr : The numbers behind it.
    deciban.metrics.cross_entropy : One cost for all classes together.

    Examples
    --------
    >>> from deciban import CalibratedGaussian
    >>> family = CalibratedGaussian.from_divergences([[0, 4, 9], [4, 0, 4], [9, 4, 0]])
    >>> l, y_true = family.sample([200, 200, 200], rng=0)
    >>> display = PairwiseDisplay.compute(y_true, family.evidence(l))
    >>> display.cllr.round(1)
    array([[nan, 0.3, 0.1],
           [0.3, nan, 0.3],
           [0.1, 0.3, nan]])
    """

    def __init__(
        self, cllr: ArrayLike, cllr_min: ArrayLike, classes: Sequence[Hashable] | None = None
    ) -> None:
        self.cllr, self.cllr_min = to_numpy(cllr, "cllr"), to_numpy(cllr_min, "cllr_min")
        shape = self.cllr.shape
        if len(shape) != 2 or shape[0] != shape[1] or self.cllr_min.shape != shape:
            raise InputError(
                f"cllr and cllr_min must be square and of one shape; got {shape} and "
                f"{self.cllr_min.shape}. Give what metrics.pairwise_cllr returns."
            )
        self.classes = as_labels(classes, shape[0])

    @classmethod
    def _from_data(cls, data: Labelled) -> Self:
        return cls(*pairwise_costs(data), data.evidence.classes)

    @property
    def matrix(self) -> Floats:
        """Cllr above the diagonal, Cllr_min below, NaN on it.

        Examples
        --------
        >>> PairwiseDisplay([[0, 0.5], [0.5, 0]], [[0, 0.4], [0.4, 0]]).matrix
        array([[nan, 0.5],
               [0.4, nan]])
        """
        matrix = np.triu(self.cllr, 1) + np.tril(self.cllr_min, -1)
        np.fill_diagonal(matrix, np.nan)
        return matrix

    def plot(
        self,
        ax: Axes | None = None,
        *,
        numbers: bool | None = None,
        cmap: Any = "cividis",
        **options: Any,
    ) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, default those of a new figure
        numbers : bool, default True for 12 classes or fewer
            Whether to write the costs into the cells.
        cmap : name or Colormap, default "cividis"
        **options
            Options of matplotlib's ``imshow``.

        Returns
        -------
        PairwiseDisplay
            Itself, drawn.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> fig, ax = plt.subplots()
        >>> costs = [[0, 0.5], [0.5, 0]]
        >>> display = PairwiseDisplay(costs, costs, ["cat", "dog"]).plot(ax)
        >>> [text.get_text() for text in display.texts_]
        ['.50', '.50']
        >>> plt.close(fig)
        """
        ax = _axes.get_axes(ax)
        matrix = self.matrix
        finite = matrix[np.isfinite(matrix)]
        top = min(1.0, float(finite.max(initial=0.0))) or 1.0
        style: Style = {"vmin": 0.0, "vmax": top, "interpolation": "none"} | options
        self.image_ = ax.imshow(matrix, cmap=cmap, **style)
        extend = "max" if (matrix > top).any() else "neither"
        bar: Style = {"ax": ax, "extend": extend, "label": "cost of the LLRs (bit)"}
        self.colorbar_ = ax.figure.colorbar(self.image_, **bar)
        self._name_classes(ax)
        numbers = len(self.classes) <= _WITH_NUMBERS if numbers is None else numbers
        self.texts_ = self._write_numbers(ax, matrix) if numbers else []
        ax.set_xlabel(r"class (below: $C_{\mathrm{llr}}^{\min}$)")
        ax.set_ylabel(r"class (above: $C_{\mathrm{llr}}$)")
        return self._finish(ax)

    def _name_classes(self, ax: Axes) -> None:
        D = len(self.classes)
        at = np.arange(0, D, 1 if D <= _WITH_NAMES else int(np.ceil(D / 10)))
        names = [_style.literal(self.classes[k]) for k in at]
        slanted: Style = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        longest = max(map(len, names))
        ax.set_xticks(at, names, **(slanted if longest * len(at) > 24 and longest > 2 else {}))
        ax.set_yticks(at, names)

    def _write_numbers(self, ax: Axes, matrix: Floats) -> list[Any]:
        D = len(matrix)
        inches = min(ax.get_window_extent().size) / ax.figure.dpi
        size = float(np.clip(72 * inches / D / 2.6, 3.5, 9.0))
        low, high = self.image_.get_clim()
        texts = []
        for i, j in np.argwhere(~np.isnan(matrix)):
            dark = (min(matrix[i, j], high) - low) / (high - low) < 0.55
            style: Style = {"color": "w" if dark else "k", "ha": "center", "va": "center"}
            texts.append(ax.text(j, i, _format_cost(matrix[i, j]), fontsize=size, **style))
        return texts


def _format_cost(cost: float) -> str:
    if np.isinf(cost):
        return "∞"
    text = f"{cost:.2f}" if cost < 10 else f"{cost:.0f}"
    return text.removeprefix("0") if cost < 1 and text != "1.00" else text
