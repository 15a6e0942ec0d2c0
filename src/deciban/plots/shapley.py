"""Contributions of features: a waterfall for two classes, a path in the plane for three."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from deciban._validation.scalars import require_whole
from deciban.evidence import Unit, from_nats
from deciban.exceptions import InputError
from deciban.plots import _axes, _style
from deciban.plots._axes import Axes, Floats, Style
from deciban.plots._display import Display
from deciban.plots.plane import ILRDisplay

if TYPE_CHECKING:
    from deciban.explanation import ShapleyCompositions

_MOST_ROWS, _MOST_ARROWS = 10, 5


class ShapleyDisplay(Display):
    """What each feature contributes to the evidence about one sample.

    :meth:`plot` draws a waterfall: from the base, over the contributions to one LLR, the largest
    first, to the LLR itself, with intervals of 95 % by Student's t where they are sampled.
    :meth:`plot_path` draws the contributions for three classes as arrows that add up.

    Parameters
    ----------
    explanation : ShapleyCompositions
    sample : int, default 0
        Which of its samples.
    a, b : labels, default the class with the most support and the next one
        The LLR is of ``a`` against ``b``.
    max_features : int, default 10, and 5 for a path
        Largest number of contributions to draw; the smallest beyond it are drawn as their sum.

    Attributes
    ----------
    names : list of str
        Of the contributions, in the order in which they are drawn.
    llrs, errors : arrays
        Contributions in this order, and their standard errors, in nats.
    bars_, errors_, arrows_ : lists of artists

    See Also
    --------
    deciban.shapley_compositions : The numbers.
    ILRDisplay : The plane of the path.

    Examples
    --------
    >>> from deciban import Evidence
    >>> base = Evidence([[0.0, 0.0]], ["benign", "malignant"])
    >>> found = ShapleyCompositions(base, np.array([[[0.2, -0.2], [-1.0, 1.0]]]), ("age", "size"))
    >>> display = ShapleyDisplay(found)
    >>> display.a, display.names, display.llrs
    ('malignant', ['size', 'age'], array([ 2. , -0.4]))
    """

    _settings = ("sample", "a", "b", "max_features")

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
        """The display of an explanation, not drawn yet.

        Parameters
        ----------
        y_true
            Not used; other displays take the true class here.
        evidence : ShapleyCompositions
        **settings
            ``sample``, ``a``, ``b`` and ``max_features``, as for the class.

        Returns
        -------
        ShapleyDisplay
            Not drawn yet.
        """
        return cls(evidence, **settings)

    @classmethod
    def from_estimator(  # type: ignore[override]
        cls, estimator: Any, X: Any, background: Any, **options: Any
    ) -> Self:
        """Explain the first sample and draw the waterfall.

        Parameters
        ----------
        estimator, X, background
            As for :func:`deciban.shapley_compositions`, with its defaults.
        **options
            Options of the class and of :meth:`plot`.

        Returns
        -------
        ShapleyDisplay
            Drawn: ``ax_`` and ``figure_`` are what it was drawn into.
        """
        from deciban.explanation import shapley_compositions

        found: Any = shapley_compositions(estimator, X, background)
        return cls.from_predictions(None, found, **options)

    def plot(self, ax: Axes | None = None, *, unit: Unit = "deciban") -> Self:
        """Draw the waterfall of contributions to the LLR.

        Parameters
        ----------
        ax : matplotlib Axes, default those of a new figure
        unit : {"nat", "bit", "ban", "deciban"}, default "deciban"

        Returns
        -------
        ShapleyDisplay
            Itself, drawn.
        """
        reach = self._quantile() * self.errors
        steps, errors = (np.asarray(from_nats(v, unit)) for v in (self.llrs, reach))
        base = float(self.explanation.base.llr(self.a, self.b, unit)[0])
        ends = base + np.cumsum([0.0, *steps])
        ax = _axes.get_axes(ax)
        at = np.arange(1, len(steps) + 1)
        colors = [_style.COLORS[0] if step >= 0 else _style.COLORS[1] for step in steps]
        hatches = ["" if step >= 0 else "///" for step in steps]
        look: Style = {"height": 0.7, "edgecolor": "w", "lw": 0, "hatch": hatches}
        self.bars_ = list(ax.barh(at, steps, left=ends[:-1], color=colors, **look))
        self.errors_ = []
        if not self.explanation.is_exact:
            whiskers: Style = {"fmt": "none", "ecolor": "k", "elinewidth": 1, "capsize": 2.5}
            self.errors_ = [ax.errorbar(ends[1:], at, xerr=errors, **whiskers)]
        for k, end in enumerate(ends):
            ax.plot([end, end], [k - 0.35, k + 1.35], color=_style.REFERENCE, lw=0.8, zorder=3)
        ax.axvline(0, color=_style.REFERENCE, lw=0.8, ls=":", zorder=0)
        self._name_rows(ax, base, ends[-1], steps)
        low, high = _axes.span(np.concatenate([ends, ends[1:] - errors, ends[1:] + errors]))
        ax.set_xlim(low - 0.06 * (high - low), high + 0.06 * (high - low))
        ax.set_xlabel(_style.llr_label(self.a, self.b, unit))
        return self._finish(ax)

    def plot_path(self, ax: Axes | None = None, *, unit: Unit = "deciban") -> Self:
        """Draw the contributions for three classes as arrows in the plane of ILR coordinates.

        Parameters
        ----------
        ax : matplotlib Axes, default those of a new figure
        unit : {"nat", "bit", "ban", "deciban"}, default "deciban"

        Returns
        -------
        ShapleyDisplay
            Itself, drawn.
        """
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
        plane._plot_walk(path, names, ("base", "total"), ax, zoom=True)
        self.arrows_ = plane.arrows_
        return self._finish(plane.ax_)

    def _quantile(self) -> float:
        """Standard errors to either side that hold 95 %: many for few draws."""
        from scipy.stats import t  # slow to import

        draws = self.explanation.draws
        return 0.0 if draws is None else float(t(len(draws) - 1).ppf(0.975))

    def _error(self, part: Any) -> float:
        """Standard error of the sum of some contributions to the LLR."""
        if self.explanation.draws is None:
            return 0.0
        draws = self.explanation.draws[:, self.sample : self.sample + 1, part].sum(axis=2)
        contributions, draws = draws.mean(axis=0)[:, None], draws[:, :, None]
        summed = replace(
            self.explanation, contributions=contributions, features=("sum",), draws=draws
        )
        return float(summed.llr_standard_errors(self.a, self.b)[0, 0])

    def _name_rows(self, ax: Axes, base: float, total: float, steps: Floats) -> None:
        names = [_style.literal(_fold_name(name, _style.LONG)) for name in self.names]
        names = ["base", *names, "total"]
        # Enough decimals for the largest to have three digits: a ban is ten decibans.
        largest = max(abs(base), abs(total), float(np.abs(steps).max(initial=0.0)), 1e-300)
        digits = int(np.clip(2 - np.floor(np.log10(largest)), 1, 6))
        signed = [f"{step:+.{digits}f}" for step in steps]
        values = [f"{base:+.{digits}f}", *signed, f"{total:+.{digits}f}"]
        texts = [f"{n}  {v.replace('-', '−')}" for n, v in zip(names, values, strict=True)]
        small = "small" if len(names) > 8 or _axes.is_narrow(ax) else None
        ax.set_yticks(range(len(names)), texts, fontsize=small)
        ax.set_ylim(len(names) - 0.4, -0.6)  # the base on top


def _split(keys: Floats, most: int) -> list[Any]:
    """Positions by their keys, each alone; those beyond the most together at the end."""
    order = np.argsort(keys, kind="stable")
    if len(order) <= most:
        return [order[k : k + 1] for k in range(len(order))]
    return [*(order[k : k + 1] for k in range(most - 1)), order[most - 1 :]]


def _fold_name(name: str, width: int) -> str:
    """A name on two lines at most, which leaves room for what is drawn."""
    lines = textwrap.wrap(name, width) or [name]
    return "\n".join(lines[:2]) + ("…" if len(lines) > 2 else "")


def _name_parts(parts: list[Any], features: tuple[Hashable, ...]) -> list[str]:
    return [str(features[part[0]]) if len(part) == 1 else f"{len(part)} others" for part in parts]
