"""LLRs of two classes in units: what samples add to each term, before and after recalibration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban.metrics.designs import Design
from deciban.metrics.labelled import Terms
from deciban.metrics.pav import PooledBlocks
from deciban.metrics.recalibration import (
    Bounds,
    LlrSample,
    Recalibrator,
    bound_costs,
    split_samples,
)
from deciban.metrics.units import Columns, UnitCosts, pair_up


@dataclass(frozen=True)
class Step:
    """A quantity that depends only on the side of a threshold on which each LLR lies."""

    threshold: float
    inclusive: bool  # whether an LLR on the threshold counts as above it
    worth: tuple[tuple[float, float], tuple[float, float]]  # by true class: below and above

    def above(self, llr: Floats) -> NDArray[np.bool_]:
        return llr >= self.threshold if self.inclusive else llr > self.threshold

    def __call__(self, llr: Floats, t: int) -> Floats:
        below, above = self.worth[t]
        return np.where(self.above(llr), above, below)

    def gain(self, t: int) -> float:
        """How much more a sample adds above the threshold than below."""
        below, above = self.worth[t]
        return above - below


class LlrTerms(NamedTuple):
    """Declared terms, each of which has a column."""

    actual: Sequence[Terms] = ()
    costs: Sequence[tuple[Terms, float]] = ()  # with the threshold on whose wrong side errors are
    steps: Sequence[Step] = ()
    fitted: Sequence[Terms] = ()  # after recalibration
    savings: Sequence[Step] = ()  # of which gains and losses by recalibration are kept apart


def llr_columns(
    samples: Sequence[LlrSample], asked: Sequence[LlrTerms], maps: Sequence[Recalibrator]
) -> Columns:
    """Columns for each system, and for the first and each other one side by side."""
    columns: Columns = {}
    for k, (one, terms) in enumerate(zip(samples, asked, strict=True)):
        actual: list[Terms] = [*terms.actual, *terms.steps, *(x for x, _ in terms.costs)]
        for term in dict.fromkeys(actual):
            columns["as is", k, None, term] = one.cost(term, one.llr)
        for term in terms.fitted:
            saving = term in terms.savings
            after = one.fitted_columns(term, maps[k].share, saving=saving)
            columns |= {(kind, k, None, term): x for kind, x in after.items()}
    for k, beside in pair_up(len(samples)):
        one, terms = samples[k], asked[k]
        others = [] if beside is None else [samples[beside]]
        for step in terms.steps:
            above = step.above(one.llr)
            for other in others:
                above &= ~step.above(other.llr)
            columns["above", k, beside, step] = above
        thresholds = [threshold for _, threshold in terms.costs]
        for threshold in dict.fromkeys([*thresholds, None] if terms.fitted else thresholds):
            right = one.right(threshold)
            for other in others:
                right &= other.right(threshold)
            columns["right", k, beside, threshold] = right
            for term in (x for x, at in terms.costs if at == threshold):
                for kind, llr in (("of right", one.llr), ("turned", -one.llr)):
                    costs = np.where(right, one.cost(term, llr), 0.0)
                    columns[kind, k, beside, (term, threshold)] = costs
    return columns


@dataclass(frozen=True)
class LlrUnits:
    """Units of samples with the LLRs of one system."""

    columns: Columns
    design: Design
    maps: Recalibrator
    system: int = 0

    @property
    def blocks(self) -> PooledBlocks:
        return self.maps.blocks

    def column(self, kind: str, terms: Terms) -> NDArray[Any]:
        return self.columns[kind, self.system, None, terms]

    def events(self, step: Step, t: int, *others: Self) -> list[NDArray[Any]]:
        """Samples above a threshold, or those with only one of two systems."""
        rows = self.design.rows_by_class[t]
        pair: list[tuple[int, int | None]] = [(self.system, None)]
        for other in others:
            pair = [(self.system, other.system), (other.system, self.system)]
        return [self.columns["above", k, beside, step][rows] for k, beside in pair]

    def total(self, costs: NDArray[Any]) -> float:
        """Sum of the mean costs of both classes."""
        rows = self.design.rows_by_class
        return float(sum(costs[r].sum() / n for r, n in zip(rows, self.design.counts, strict=True)))

    def bounds(self, terms: Terms) -> Bounds:
        names = ("fitted", "held_out", "affine", "shown_held_out", "shown_affine")
        found: list[Any] = [self.columns.get((name, self.system, None, terms)) for name in names]
        return bound_costs(*found, share=self.maps.share, total=self.total)

    def costs(
        self, terms: Mapping[str, Terms], threshold: float, beside: int | None = None
    ) -> UnitCosts:
        """Costs as they are; right samples must be so with ``beside``, too."""
        of_right, turned = (
            {key: self.columns[kind, self.system, beside, (one, threshold)]
             for key, one in terms.items()}
            for kind in ("of right", "turned")
        )  # fmt: skip
        right = self.columns["right", self.system, beside, threshold]
        actual = {key: self.column("as is", one) for key, one in terms.items()}
        return UnitCosts(self.design, actual, right, of_right, turned)

    def right_after(self, beside: int | None = None) -> NDArray[Any]:
        """Number of samples whose recalibrated LLR supports the true class, or none."""
        return self.columns["right", self.system, beside, None]


def units_of_samples(
    llrs: Sequence[Floats],
    design: Design,
    terms: Callable[[Recalibrator], LlrTerms],
    *,
    fit: bool = True,
) -> list[LlrUnits]:
    """Single samples as units, for each system; ``terms`` may depend on its maps."""
    codes, maps, samples = design.codes, [], []
    for llr in llrs:
        splits = split_samples(llr, codes, design) if fit else []
        one = Recalibrator.fit(llr, codes, splits)
        samples.append(one.apply(llr, codes, [new for new, _ in splits]))
        maps.append(one)
    columns = llr_columns(samples, [terms(one) for one in maps], maps)
    return [LlrUnits(columns, design, one, k) for k, one in enumerate(maps)]
