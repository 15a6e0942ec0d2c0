"""Evidence about one sample: a bifurcation tree, and the contributions of features."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from deciban._validation.labels import as_labels
from deciban._validation.scalars import require_whole
from deciban.evidence import Evidence, Unit, from_nats
from deciban.evidence.bayes import Prior
from deciban.exceptions import InputError, ZeroPartsError
from deciban.plots import _display as draw
from deciban.plots._display import Axes, Display, Floats, Style
from deciban.plots.plane import ILRDisplay
from deciban.simplex import Basis
from deciban.simplex.basis import basis_for

if TYPE_CHECKING:
    from deciban.explanation import ShapleyCompositions

_CROWDED = 20  # classes beyond which there is room for names only
_WEAK, _STRONG = 1.0, 2.4  # widths of lines
_MOST_ROWS, _MOST_ARROWS = 10, 5

_Place = tuple[float, float]  # of a node or a leaf in the axes


class BifurcationTreeDisplay(Display):
    """A basis as a tree: coordinates at the nodes, classes at the leaves.

    The basis is a sequential binary partition. With evidence about one sample, each node shows the
    LLR of the two groups of classes that it compares, and the branch that it supports is bold. A
    group has the mean of its members' likelihoods, weighted by the prior: see
    :meth:`deciban.Evidence.group`. The LLR is infinite if all classes on one side are ruled out; if
    all on both sides are, a question mark stands for it. The attribute ``llrs`` holds them in nats.
    Drawn artists are ``lines_`` and ``texts_``.

    See Also
    --------
    deciban.Basis.from_tree : A basis from nested pairs of class names.
    deciban.Evidence.llr : LLRs of groups of classes.

    Examples
    --------
    >>> basis = Basis.from_tree((("cat", "dog"), "bird"))
    >>> picture = Evidence.from_likelihoods([[0.6, 0.3, 0.1]], classes=["cat", "dog", "bird"])
    >>> BifurcationTreeDisplay(basis, picture).llrs.round(3)
    array([0.693, 1.504])
    """

    settings = ("basis", "prior")

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
        self._is_crowded = len(self.classes) > _CROWDED
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
        """The display of evidence about one sample, not drawn yet; ``y_true`` is not used.

        ``basis`` is by default Gram-Schmidt.
        """
        evidence = evidence if isinstance(evidence, Evidence) else Evidence(evidence)
        return cls(basis_for(basis, evidence.n_classes), evidence, prior)

    def plot(self, ax: Axes | None = None, *, unit: Unit = "deciban", **line_options: Any) -> Self:
        """Draw the tree from left to right, with options of matplotlib's ``plot``."""
        llrs = None if self.llrs is None else from_nats(self.llrs, unit)
        ax = draw.get_axes(ax)
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
            text, color = f" {draw.literal(self.classes[k])}", draw.color_of(k)
            self._write(ax, places[mask.tobytes()], text, ha="left", color=color)
        self._set_frame(ax, min(x for x, _ in places.values()), unit)
        return self._finish(ax)

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
        ax.set_xlabel(text, **draw.axis_text(ax))


def _compute_llrs(basis: Basis, evidence: Evidence, prior: Prior) -> Floats:
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
    text = f"{value:+.1f}".replace("inf", "∞").replace("-", "−")
    return "?" if np.isnan(value) else text


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


class ShapleyDisplay(Display):
    """Contributions of features to the evidence about one sample.

    :meth:`plot` draws a waterfall: from the base, over the contributions to one LLR, the largest
    first, to the LLR itself, with intervals of 95 % by Student's t if they are sampled.
    :meth:`plot_path` draws the contributions for three classes as arrows that add up.

    The LLR is of ``a`` against ``b``, by default the class with the most support and the next one.
    The smallest contributions beyond ``max_features``, by default 10, and 5 for a path, are drawn
    as their sum. ``names``, ``llrs`` and ``errors`` are the contributions as drawn, in nats;
    artists are ``bars_``, ``errors_`` and ``arrows_``.

    See Also
    --------
    deciban.shapley_compositions : The numbers.

    Examples
    --------
    >>> from deciban.explanation import ShapleyCompositions
    >>> base = Evidence([[0.0, 0.0]], ["benign", "malignant"])
    >>> found = ShapleyCompositions(base, np.array([[[0.2, -0.2], [-1.0, 1.0]]]), ("age", "size"))
    >>> display = ShapleyDisplay(found)
    >>> display.a, display.names, display.llrs
    ('malignant', ['size', 'age'], array([ 2. , -0.4]))
    """

    settings = ("sample", "a", "b", "max_features")

    def __init__(
        self,
        explanation: ShapleyCompositions,
        *,
        sample: int = 0,
        a: Hashable | None = None,
        b: Hashable | None = None,
        max_features: int | None = None,
    ) -> None:
        from deciban.explanation import ShapleyCompositions

        if not isinstance(explanation, ShapleyCompositions):
            raise InputError(
                f"explanation must be ShapleyCompositions; got {type(explanation).__name__}. Call "
                f"deciban.shapley_compositions first."
            )
        n = len(explanation.contributions)
        self.explanation, self.sample = explanation, require_whole(sample, "sample", 0, n - 1)
        if max_features is not None:
            max_features = require_whole(max_features, "max_features", 2)
        total = explanation.total[self.sample].log_likelihoods[0]
        ranked = [explanation.classes[k] for k in np.argsort(-total, kind="stable")]
        self.a = next(c for c in ranked if c != b) if a is None else a
        self.b = next(c for c in ranked if c != self.a) if b is None else b
        llrs = explanation.llr(self.a, self.b)[self.sample]
        self._parts = _split(-np.abs(llrs), max_features or _MOST_ROWS)
        self.names = _name_parts(self._parts, explanation.features)
        self.llrs = np.array([llrs[part].sum() for part in self._parts])
        self.errors = np.array([self._error(part) for part in self._parts])
        self._most_arrows = max_features or _MOST_ARROWS

    @classmethod
    def compute(  # type: ignore[override]
        cls, y_true: None, evidence: ShapleyCompositions, **settings: Any
    ) -> Self:
        """The display of an explanation, not drawn yet; ``y_true`` is not used."""
        return cls(evidence, **settings)

    @classmethod
    def from_estimator(  # type: ignore[override]
        cls, estimator: Any, X: Any, background: Any, **options: Any
    ) -> Self:
        """Explain the first sample by :func:`deciban.shapley_compositions`, and draw it."""
        from deciban.explanation import shapley_compositions

        found: Any = shapley_compositions(estimator, X, background)
        return cls.from_predictions(None, found, **options)

    def plot(self, ax: Axes | None = None, *, unit: Unit = "deciban") -> Self:
        """Draw the waterfall of contributions to the LLR, and return the display."""
        from scipy.stats import t  # slow to import

        draws = self.explanation.draws
        reach = self.errors if draws is None else t(len(draws) - 1).ppf(0.975) * self.errors
        steps, errors = (np.asarray(from_nats(v, unit)) for v in (self.llrs, reach))
        base = float(self.explanation.base.llr(self.a, self.b, unit)[0])
        ends = base + np.cumsum([0.0, *steps])
        ax = draw.get_axes(ax)
        at = np.arange(1, len(steps) + 1)
        colors = [draw.COLORS[0] if step >= 0 else draw.COLORS[1] for step in steps]
        hatches = ["" if step >= 0 else "///" for step in steps]
        look: Style = {"height": 0.7, "edgecolor": "w", "lw": 0, "hatch": hatches}
        self.bars_ = list(ax.barh(at, steps, left=ends[:-1], color=colors, **look))
        self.errors_ = []
        if not self.explanation.is_exact:
            whiskers: Style = {"fmt": "none", "ecolor": "k", "elinewidth": 1, "capsize": 2.5}
            self.errors_ = [ax.errorbar(ends[1:], at, xerr=errors, **whiskers)]
        for k, end in enumerate(ends):
            ax.plot([end, end], [k - 0.35, k + 1.35], color=draw.REFERENCE, lw=0.8, zorder=3)
        ax.axvline(0, color=draw.REFERENCE, lw=0.8, ls=":", zorder=0)
        self._name_rows(ax, base, ends[-1], steps)
        low, high = draw.span(np.concatenate([ends, ends[1:] - errors, ends[1:] + errors]))
        ax.set_xlim(low - 0.06 * (high - low), high + 0.06 * (high - low))
        ax.set_xlabel(draw.llr_label(self.a, self.b, unit))
        return self._finish(ax)

    def plot_path(self, ax: Axes | None = None, *, unit: Unit = "deciban") -> Self:
        """Draw the contributions for three classes as arrows in the plane of ILR coordinates."""
        found = self.explanation
        if len(found.classes) != 3:
            raise InputError(
                f"explanation must be over three classes for a path; got {len(found.classes)}. "
                f"Draw one LLR of them with plot(), or let a function restrict the evidence."
            )
        from_nats(1.0, unit)  # refuses a unit that does not exist before anything is drawn
        phi = found.contributions[self.sample]
        parts = _split(-found.strength()[self.sample], self._most_arrows)
        steps = [phi[part].sum(axis=0) for part in parts]
        plane = ILRDisplay(found.total[self.sample])
        path = np.vstack([found.base.log_likelihoods, *steps]).cumsum(axis=0) @ plane.basis.contrast
        plane.unit_ = unit
        names = [_fold_name(name, 20) for name in _name_parts(parts, found.features)]
        plane.plot_walk(path, names, ("base", "total"), ax, zoom=True)
        self.arrows_ = plane.arrows_
        return self._finish(plane.ax_)

    def _error(self, part: Any) -> float:
        if self.explanation.draws is None:
            return 0.0
        draws = self.explanation.draws[:, self.sample : self.sample + 1, part].sum(axis=2)
        contributions, draws = draws.mean(axis=0)[:, None], draws[:, :, None]
        summed = replace(
            self.explanation, contributions=contributions, features=("sum",), draws=draws
        )
        return float(summed.llr_standard_errors(self.a, self.b)[0, 0])

    def _name_rows(self, ax: Axes, base: float, total: float, steps: Floats) -> None:
        names = [draw.literal(_fold_name(name, draw.LONG)) for name in self.names]
        names = ["base", *names, "total"]
        # Enough decimals for the largest to have three digits: a ban is ten decibans.
        largest = max(abs(base), abs(total), float(np.abs(steps).max(initial=0.0)), 1e-300)
        digits = int(np.clip(2 - np.floor(np.log10(largest)), 1, 6))
        signed = [f"{step:+.{digits}f}" for step in steps]
        values = [f"{base:+.{digits}f}", *signed, f"{total:+.{digits}f}"]
        texts = [f"{n}  {v.replace('-', '−')}" for n, v in zip(names, values, strict=True)]
        small = "small" if len(names) > 8 or draw.is_narrow(ax) else None
        ax.set_yticks(range(len(names)), texts, fontsize=small)
        ax.set_ylim(len(names) - 0.4, -0.6)  # the base on top


def _split(keys: Floats, most: int) -> list[Any]:
    order = np.argsort(keys, kind="stable")
    if len(order) <= most:
        return [order[k : k + 1] for k in range(len(order))]
    return [*(order[k : k + 1] for k in range(most - 1)), order[most - 1 :]]


def _fold_name(name: str, width: int) -> str:
    lines = textwrap.wrap(name, width) or [name]
    return "\n".join(lines[:2]) + ("…" if len(lines) > 2 else "")


def _name_parts(parts: list[Any], features: tuple[Hashable, ...]) -> list[str]:
    return [str(features[part[0]]) if len(part) == 1 else f"{len(part)} others" for part in parts]
