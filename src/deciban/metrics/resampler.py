"""Samples drawn with replacement, within each class or as whole groups."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from deciban._validation import factorize_labels, read_labels
from deciban.exceptions import InputError

_FEW_GROUPS = 10
_REDRAWS = 100  # of a resample in which a class is missing


class Resampler:
    """Draws of as many samples as there are: rows within each class, or whole groups."""

    def __init__(self, truth: np.ndarray, groups: Any = None) -> None:
        self.truth = truth
        self.group = None if groups is None else _group_places(groups, len(truth))
        by = truth if self.group is None else self.group
        rows = np.split(np.argsort(by, kind="stable"), np.cumsum(np.bincount(by))[:-1])
        self._units: list[Any] = rows if self.group is None else [rows]

    def rows(self, rng: np.random.Generator) -> np.ndarray:
        """Positions of one draw; every class is among them."""
        for _ in range(_REDRAWS):
            rows = np.concatenate([_drawn(unit, rng) for unit in self._units])
            if np.bincount(self.truth[rows], minlength=self.truth.max() + 1).all():
                return rows
        raise InputError(
            f"groups must be such that most resamples hold every class; {_REDRAWS} in a row did "
            f"not. Give more groups of the rarest class."
        )

    def counts(self, rng: np.random.Generator) -> np.ndarray:
        """How often each sample is in one draw."""
        return np.bincount(self.rows(rng), minlength=len(self.truth)).astype(float)


def entropy(rng: Any) -> int:
    """A seed drawn from the generator, or the seed itself."""
    if isinstance(rng, int | np.integer):
        return int(rng)
    return int(np.random.default_rng(rng).integers(2**63))


def _group_places(groups: Any, n_samples: int) -> np.ndarray:
    found = factorize_labels(read_labels(groups, n_samples, "groups"))[1]
    n_groups = int(found.max()) + 1
    if n_groups == 1:
        raise InputError("groups must hold at least two groups; got one. Name what was sampled.")
    if n_groups < _FEW_GROUPS:
        warnings.warn(
            f"groups should be many, since whole ones are drawn; got {n_groups}. The interval is "
            f"too narrow.",
            stacklevel=5,
        )
    return found


def _drawn(unit: Any, rng: np.random.Generator) -> np.ndarray:
    picks = rng.integers(len(unit), size=len(unit))
    if isinstance(unit, np.ndarray):
        return unit[picks]
    return np.concatenate([unit[k] for k in picks])
