"""A bifurcation tree, with the LLR of the two groups of classes at each of its nodes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from deciban._validation.labels import as_labels
from deciban.evidence import Evidence, Unit, from_nats
from deciban.evidence.bayes import Prior
from deciban.exceptions import InputError, ZeroPartsError
from deciban.plots import _axes, _style
from deciban.plots._axes import Axes, Floats, Style
from deciban.plots._display import Display
from deciban.simplex import Basis
from deciban.simplex.basis import basis_for

_CROWDED = 20  # classes beyond which there is room for names only
_WEAK, _STRONG = 1.0, 2.4  # widths of lines


_Place = tuple[float, float]  # of a node or a leaf in the axes


class BifurcationTreeDisplay(Display):
    """A basis as a tree: coordinates at the nodes, classes at the leaves.

    With evidence, the LLR of the two groups of classes that a node compares is written there, and
    the branch that it supports is bold. A group has the mean of its members' likelihoods: see
    :meth:`deciban.Evidence.group`. The LLR is infinite where all classes on one side are ruled out;
    where all on both sides are it is not defined, and a question mark stands for it.

    Parameters
    ----------
    basis : Basis
        A sequential binary partition, such as that of :meth:`deciban.Basis.from_tree`.
    evidence : Evidence, optional
        About one sample.
    prior : array or mapping, default uniform
        Prior of the classes, used within each group only.

    Attributes
    ----------
    llrs : array of shape (D - 1,), or None
        In nats; NaN where not defined.
    lines_, texts_ : lists of artists

    See Also
    --------
    deciban.Basis.from_tree : A basis from nested pairs of class names.
    deciban.Evidence.llr : LLRs of groups of classes.
    ILRDisplay : Two coordinates of many samples.

    Examples
    --------
    >>> basis = Basis.from_tree((("cat", "dog"), "bird"))
    >>> picture = Evidence.from_likelihoods([[0.6, 0.3, 0.1]], classes=["cat", "dog", "bird"])
    >>> BifurcationTreeDisplay(basis, picture).llrs.round(3)
    array([0.693, 1.504])
    """

    _settings = ("basis", "prior")

    def __init__(self, basis: Basis, evidence: Evidence | None = None, prior: Prior = None) -> None:
        if not isinstance(basis, Basis) or basis.signs is None:
            raise InputError(
                "basis must be a sequential binary partition to have a tree; this one is not. "
                "Use Basis.from_tree or Basis.from_partition."
            )
        if evidence is not None and len(evidence) != 1:
            raise InputError(
                f"evidence must be about one sample for a tree; got {len(evidence)}. Choose one "
                f"with evidence[k], or add samples up with evidence.sum()."
            )
        if evidence is not None:
            basis = basis.align_to(evidence.classes)
        self.basis, self.evidence, self.prior = basis, evidence, prior
        self.classes = as_labels(basis.classes, basis.n_parts)
        self.llrs = None if evidence is None else _compute_llrs(basis, evidence, prior)

    @classmethod
    def compute(  # type: ignore[override]
        cls,
        y_true: ArrayLike | None,
        evidence: ArrayLike | Evidence,
        *,
        basis: Basis | None = None,
        prior: Prior = None,
    ) -> Self:
        """The display of evidence about one sample, not drawn yet.

        Parameters
        ----------
        y_true
            Not used, and may be None; other displays take the true class here.
        evidence : Evidence, or array of shape (1, n_classes)
            About one sample.
        basis : Basis, default Gram-Schmidt
        prior : array or mapping, default uniform
            Prior of the classes, used within each group only.

        Returns
        -------
        BifurcationTreeDisplay
            Not drawn yet.

        Examples
        --------
        >>> picture = Evidence.from_likelihoods([[0.6, 0.3, 0.1]])
        >>> BifurcationTreeDisplay.compute(None, picture).llrs.round(3)
        array([0.693, 1.504])
        """
        evidence = evidence if isinstance(evidence, Evidence) else Evidence(evidence)
        return cls(basis_for(basis, evidence.n_classes), evidence, prior)

    def plot(self, ax: Axes | None = None, *, unit: Unit = "deciban", **line_options: Any) -> Self:
        """Draw the tree from left to right.

        Parameters
        ----------
        ax : matplotlib Axes, default those of a new figure
        unit : {"nat", "bit", "ban", "deciban"}, default "deciban"
            Unit of the LLRs.
        **line_options
            Options of matplotlib's ``plot``.

        Returns
        -------
        BifurcationTreeDisplay
            Itself, drawn.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> fig, ax = plt.subplots()
        >>> basis = Basis.from_tree((("cat", "dog"), "bird"))
        >>> display = BifurcationTreeDisplay(basis).plot(ax)
        >>> len(display.lines_)
        4
        >>> plt.close(fig)
        """
        llrs = None if self.llrs is None else from_nats(self.llrs, unit)
        ax = _axes.get_axes(ax)
        places = _lay_out(np.asarray(self.basis.signs))
        self.lines_: list[Any] = []
        self.texts_: list[Any] = []
        for k, row in enumerate(np.asarray(self.basis.signs)):
            node = places[(row != 0).tobytes()]
            for side in (1, -1):
                supported = llrs is not None and llrs[k] * side > 0
                child = places[(row == side).tobytes()]
                style = {"lw": _STRONG if supported else _WEAK} | line_options
                self._draw_branch(ax, node, child, "+" if side > 0 else "−", **style)
            text = f"$l_{{{k + 1}}}$" if llrs is None else _format_llr(llrs[k])
            box = {"boxstyle": "round,pad=0.2", "fc": "w", "ec": "0.6", "lw": 0.6}
            crowded = {"boxstyle": "square,pad=0.1", "lw": 0} if self._is_crowded else {}
            self._write(ax, node, text, ha="center", bbox=box | crowded)
        for k, mask in enumerate(np.eye(len(self.classes), dtype=bool)):
            text, color = f" {_style.literal(self.classes[k])}", _style.color_of(k)
            self._write(ax, places[mask.tobytes()], text, ha="left", color=color)
        self._set_frame(ax, min(x for x, _ in places.values()), unit)
        return self._finish(ax)

    @property
    def _is_crowded(self) -> bool:
        return len(self.classes) > _CROWDED

    def _draw_branch(self, ax: Axes, node: _Place, child: _Place, sign: str, **look: Any) -> None:
        (x, y), (x_child, y_child) = node, child
        style: Style = {"color": "0.25", "solid_joinstyle": "miter", "zorder": 1} | look
        self.lines_ += ax.plot([x, x, x_child], [y, y_child, y_child], **style)
        if not self._is_crowded:  # else the positive branch is known as the upper one
            at: Any = {"xytext": (3, 1.5), "textcoords": "offset points"}
            text = ax.annotate(sign, (x, y_child), **at, fontsize="small", va="bottom")
            self.texts_.append(text)

    def _write(self, ax: Axes, at: _Place, text: str, **style: Any) -> None:
        size = "xx-small" if self._is_crowded else "small"
        self.texts_.append(ax.text(*at, text, va="center", fontsize=size, zorder=3, **style))

    def _set_frame(self, ax: Axes, left: float, unit: Unit) -> None:
        longest = max(len(str(label)) for label in self.classes)
        ax.set_xlim(left + 0.22 * left, -left * min(0.8, 0.06 + 0.025 * longest))
        ax.set_ylim(len(self.classes) - 0.3, -0.7)  # the first leaf on top
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        sides = "upper over lower" if self._is_crowded else "+ over −"
        text = f"coordinates, {sides}"
        if self.llrs is not None:
            within = "equal weights" if self.prior is None else "weights by the prior"
            text = f"LLR ({unit}), {sides}; bold: supported\n(group: mean likelihood, {within})"
        ax.set_xlabel(text, **_axes.axis_text(ax))


def _compute_llrs(basis: Basis, evidence: Evidence, prior: Prior) -> Floats:
    """LLR of the groups at each node; NaN where all classes on both sides are ruled out."""
    values = np.full(basis.n_parts - 1, np.nan)
    for k, row in enumerate(np.asarray(basis.signs)):
        plus, minus = (
            [label for label, sign in zip(evidence.classes, row, strict=True) if sign == side]
            for side in (1, -1)
        )
        with suppress(ZeroPartsError):
            values[k] = evidence.llr(plus, minus, prior=prior)[0]
    return values


def _format_llr(value: float) -> str:
    if np.isnan(value):
        return "?"
    text = f"{value:+.1f}" if np.isfinite(value) else "+∞" if value > 0 else "-∞"
    return text.replace("-", "−")


def _lay_out(signs: Floats) -> dict[bytes, _Place]:
    """Places of all nodes and leaves, each found by the bytes of the mask of its classes.

    Leaves stand below each other at the right; a node stands left of all that is below it.
    """
    rows = sorted(signs, key=np.count_nonzero)
    # From top to bottom, the positive branch of each node first. The root is the last key, which
    # counts most; all nodes above the one where two classes part have the same sign for both.
    order = np.lexsort([-row for row in rows])
    leaves = np.eye(len(order), dtype=bool)
    places = {leaves[k].tobytes(): (0.0, float(y)) for y, k in enumerate(order)}
    for row in rows:
        x, y = zip(*(places[(row == side).tobytes()] for side in (1, -1)), strict=True)
        places[(row != 0).tobytes()] = min(x) - 1, sum(y) / 2
    return places
