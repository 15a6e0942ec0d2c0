"""A bifurcation tree, with what a piece of evidence says at each of its nodes."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from deciban._validation import as_labels
from deciban.evidence import Evidence, Unit, from_nats
from deciban.exceptions import InputError, ZeroPartsError
from deciban.plots._axes import axes_for, is_narrow
from deciban.plots._style import colour_of, require_unit
from deciban.simplex import Basis

_CROWDED = 20  # classes from which on there is room for names only
_WEAK, _STRONG = 1.0, 2.4  # widths of lines


class _Node(NamedTuple):
    """Where a node or a leaf is drawn."""

    x: float
    y: float


class BifurcationTreeDisplay:
    """A basis as the tree of its balances: coordinates at the nodes, classes at the leaves.

    With evidence, each node has its balance written to it, and the branch that the evidence
    supports is drawn bold. A balance against classes that are ruled out is infinite; where classes
    on both sides are, it is not defined, and a question mark stands for it.

    Parameters
    ----------
    basis : Basis
        A sequential binary partition, such as that of :meth:`Basis.from_tree`.
    evidence : Evidence of one sample, optional

    Attributes
    ----------
    balances : array of shape (D - 1,), or None
        In nats; NaN where not defined.
    lines_, texts_ : lists of artists
    ax_, figure_
        What :meth:`plot` drew into.

    Examples
    --------
    >>> basis = Basis.from_tree((("cat", "dog"), "bird"))
    >>> said = Evidence.from_likelihoods([[0.6, 0.3, 0.1]], classes=["cat", "dog", "bird"])
    >>> BifurcationTreeDisplay(basis, said).balances.round(3)
    array([0.49, 1.18])
    """

    ax_: Any
    figure_: Any
    lines_: list[Any]
    texts_: list[Any]

    def __init__(self, basis: Basis, evidence: Evidence | None = None) -> None:
        if not isinstance(basis, Basis) or basis.signs is None:
            raise InputError(
                "basis must be a sequential binary partition to have a tree; this one is not. "
                "Use Basis.from_tree or Basis.from_partition."
            )
        if evidence is not None and len(evidence) != 1:
            raise InputError(
                f"evidence must be of one sample for a tree; got {len(evidence)}. Choose one with "
                f"evidence[k], or add samples up with evidence.sum()."
            )
        if evidence is not None:
            basis = basis.aligned_to(evidence.classes)
        self.basis, self.evidence = basis, evidence
        self.classes = as_labels(basis.classes, basis.n_parts)
        self.balances = None if evidence is None else _balances(basis, evidence)

    def plot(self, ax: Any = None, *, unit: Unit = "deciban", **line_options: Any) -> Self:
        """Draw the tree from left to right.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        unit : {"nat", "bit", "ban", "deciban"}
            Of the balances.
        **line_options
            For matplotlib's ``plot``.
        """
        require_unit(unit)
        ax = axes_for(ax)
        D, signs = self.basis.n_parts, np.asarray(self.basis.signs)
        leaves, nodes = _laid_out(signs)
        self.lines_, self.texts_ = [], []
        for k in range(D - 1):
            for side in (1, -1):
                child = _child(signs, k, side, leaves, nodes)
                self._branch(ax, nodes[k], child, side, self._weight(k, side), line_options)
            self._name(ax, nodes[k], self._said(k, unit), ha="center", node=True)
        for k, label in enumerate(self.classes):
            self._name(ax, leaves[k], f" {label}", ha="left", color=colour_of(k))
        self._finish(ax, leaves, nodes, unit)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _weight(self, k: int, side: int) -> float:
        if self.balances is None:
            return _WEAK
        return _STRONG if self.balances[k] * side > 0 else _WEAK

    def _said(self, k: int, unit: Unit) -> str:
        if self.balances is None:
            return f"$l_{{{k + 1}}}$"
        value = float(from_nats(self.balances[k], unit))
        if np.isnan(value):
            return f"$l_{{{k + 1}}}$ ?"
        text = f"{value:+.1f}" if np.isfinite(value) else "+∞" if value > 0 else "−∞"
        return f"$l_{{{k + 1}}}$ {text.replace('-', '−')}"

    def _branch(
        self, ax: Any, node: _Node, child: _Node, side: int, weight: float, options: Any
    ) -> None:
        style = {"color": "0.25", "lw": weight, "solid_joinstyle": "miter", "zorder": 1} | options
        self.lines_ += ax.plot([node.x, node.x, child.x], [node.y, child.y, child.y], **style)
        if len(self.classes) > _CROWDED:
            return  # the positive branch is the upper one
        sign = "+" if side > 0 else "−"
        self.texts_.append(
            ax.annotate(
                sign,
                (node.x, child.y),
                (3, 1.5),
                textcoords="offset points",
                fontsize="small",
                va="bottom",
            )
        )

    def _name(self, ax: Any, at: _Node, text: str, node: bool = False, **style: Any) -> None:
        box = {"boxstyle": "round,pad=0.2", "fc": "w", "ec": "0.6", "lw": 0.6} if node else None
        crowded = len(self.classes) > _CROWDED
        if crowded and box:
            box = box | {"boxstyle": "square,pad=0.1", "lw": 0}
        size = "xx-small" if crowded else "small"
        self.texts_.append(
            ax.text(at.x, at.y, text, va="center", fontsize=size, bbox=box, zorder=3, **style)
        )

    def _finish(self, ax: Any, leaves: list[_Node], nodes: list[_Node], unit: Unit) -> None:
        left = min(node.x for node in nodes)
        longest = max(len(str(label)) for label in self.classes)
        ax.set_xlim(left + 0.22 * left, -left * min(0.8, 0.06 + 0.025 * longest))
        ax.set_ylim(-0.7, len(leaves) - 0.3)
        ax.invert_yaxis()
        ax.set_xticks([])
        ax.set_yticks([])
        ax.spines[:].set_visible(False)
        signs = "+ over −" if len(self.classes) <= _CROWDED else "upper over lower"
        what = f"balances, {signs}"
        if self.balances is not None:
            what = f"balances ({unit}), {signs}; bold: supported"
        ax.set_xlabel(what, fontsize="small" if is_narrow(ax) else None)


def _balances(basis: Basis, evidence: Evidence) -> np.ndarray:
    """Balance of the evidence at each node; NaN where classes on both sides are ruled out."""
    values = np.full(basis.n_parts - 1, np.nan)
    for k, row in enumerate(np.asarray(basis.signs)):
        plus, minus = (
            [label for label, sign in zip(evidence.classes, row, strict=True) if sign == side]
            for side in (1, -1)
        )
        try:
            values[k] = evidence.balance(plus, against=minus)[0]
        except ZeroPartsError:
            continue
    return values


def _laid_out(signs: np.ndarray) -> tuple[list[_Node], list[_Node]]:
    """Places of the leaves, by class, and of the nodes, by coordinate.

    Leaves stand below each other at the right; a node stands left of all that is below it.
    """
    D = signs.shape[1]
    order = _leaves_in_order(signs)
    leaves = [_Node(0.0, float(order.index(k))) for k in range(D)]
    nodes = [_Node(0.0, 0.0)] * (D - 1)
    for k in np.argsort((signs != 0).sum(axis=1), kind="stable"):  # the smallest groups first
        children = [_child(signs, int(k), side, leaves, nodes) for side in (1, -1)]
        nodes[k] = _Node(min(c.x for c in children) - 1, sum(c.y for c in children) / 2)
    return leaves, nodes


def _leaves_in_order(signs: np.ndarray) -> list[int]:
    """The classes from top to bottom: of every node the positive branch first."""
    row_of = {(row != 0).tobytes(): row for row in signs}
    order, stack = [], [np.ones(signs.shape[1], dtype=bool)]
    while stack:
        group = stack.pop()
        if np.count_nonzero(group) == 1:
            order.append(int(np.flatnonzero(group)[0]))
        else:
            row = row_of[group.tobytes()]
            stack += [row < 0, row > 0]
    return order


def _child(signs: np.ndarray, k: int, side: int, leaves: list[_Node], nodes: list[_Node]) -> _Node:
    """What hangs on one branch of node k."""
    group = signs[k] == side
    if np.count_nonzero(group) == 1:
        return leaves[int(np.flatnonzero(group)[0])]
    below = np.flatnonzero(((signs != 0) == group).all(axis=1))
    return nodes[int(below[0])]
