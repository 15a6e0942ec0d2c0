"""Probabilities over classes, as they are handed in: priors and posteriors."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from deciban._validation import (
    column_names,
    order_by_name,
    quote_each,
    require_nonnegative,
    to_numpy,
)
from deciban.exceptions import CromwellError, InputError, UnknownClassError

# Probabilities are often typed or stored with three digits: 0.333 three times is meant well.
_SUM_TOLERANCE = 2e-3


def log_prior(prior: Any, classes: tuple[Hashable, ...], n_samples: int) -> np.ndarray:
    """Logarithm of a prior that obeys Cromwell's rule, of shape (1, D) or (n_samples, D)."""
    if prior is None:
        return np.full((1, len(classes)), -np.log(len(classes)))
    if isinstance(prior, Mapping):
        prior = _from_mapping(prior, classes)
    p = np.atleast_2d(to_numpy(prior, "prior"))
    order = order_by_name(column_names(prior), classes, "the entries of prior")
    if order is not None:
        p = p[:, order]
    if p.shape not in {(1, len(classes)), (n_samples, len(classes))}:
        raise InputError(
            f"prior must hold one probability for each of the {len(classes)} classes "
            f"{quote_each(classes)}; got shape {np.shape(prior)}. Give a vector, or one row for "
            f"each sample."
        )
    require_probabilities(p, "prior")
    zero = np.argwhere(p == 0)
    if len(zero):
        excluded = [classes[i] for i in np.unique(zero[:, 1])]
        raise CromwellError(
            f"prior must be positive for every class (Cromwell's rule); it is zero for "
            f"{quote_each(excluded)}. Give it a small probability, or leave the class out with "
            f"evidence.restrict(classes).",
            classes=excluded,
            rows=np.unique(zero[:, 0])[:5].tolist(),
        )
    return np.log(p) - np.log(p.sum(axis=1, keepdims=True))


def chosen_prior(prior: Any, classes: tuple[Hashable, ...], shares: np.ndarray) -> np.ndarray:
    """Probabilities from "uniform", "empirical" (the shares of the classes) or a prior itself."""
    if isinstance(prior, str):
        if prior not in ("uniform", "empirical"):
            raise InputError(
                f"prior must be 'uniform', 'empirical' or probabilities; got {prior!r}. "
                f"Choose one of these."
            )
        prior = None if prior == "uniform" else shares / shares.sum()
    return np.exp(log_prior(prior, classes, 1)[0])


def require_probabilities(p: np.ndarray, name: str) -> None:
    """Refuse rows that are not distributions; what they miss from one must be rounding."""
    require_nonnegative(np, p, name, if_negative="Give probabilities, not logarithms.")
    total = p.sum(axis=1)
    off = np.flatnonzero(np.abs(total - 1) > _SUM_TOLERANCE)
    if off.size:
        raise InputError(
            f"{name} must sum to one; row {off[0]} sums to {total[off[0]]:.6g}. "
            f"Divide by the sum, or call deciban.simplex.closure, if that is what you mean.",
            rows=off[:5].tolist(),
        )


def _from_mapping(prior: Mapping[Hashable, float], classes: tuple[Hashable, ...]) -> list[float]:
    unknown = [label for label in prior if label not in classes]
    if unknown:
        raise UnknownClassError(
            f"prior must name the classes {quote_each(classes)}; got {quote_each(unknown)}. "
            f"Check its spelling and its type.",
            label=unknown[0],
            classes=classes,
        )
    missing = [label for label in classes if label not in prior]
    if missing:
        raise InputError(
            f"prior must name every class; it lacks {quote_each(missing)}. Add "
            f"{'it' if len(missing) == 1 else 'them'}."
        )
    return [prior[label] for label in classes]
