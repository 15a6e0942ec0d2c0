"""Bayes decisions: the action of least expected cost, or none at all."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from deciban._validation import column_names, order_by_name, require_finite, to_numpy
from deciban.exceptions import InputError

REJECT = -1
_UNDERFLOW = 1e-280  # of an expected regret; the largest regret is scaled to about one
_TIE = 1e-12  # relative difference of expected costs that is rounding
_BLOCK = 4096  # rows whose log-regrets are held at once


def least_cost(
    log_posterior: np.ndarray, classes: tuple[Hashable, ...], costs: Any, reject_cost: Any
) -> np.ndarray:
    """Index of the class to decide for, for each row; REJECT where deciding costs more.

    Ties go to the first class, and to a class before rejection.
    """
    D = log_posterior.shape[1]
    if costs is None and reject_cost is None:
        return np.argmax(log_posterior, axis=1)
    C = 1.0 - np.eye(D) if costs is None else cost_matrix(costs, classes)
    if reject_cost is not None:
        C = np.column_stack([C, np.full(D, _reject_cost(reject_cost, costs))])
    # What a truth costs whatever is decided changes no decision; the rest is regret, >= 0.
    C = C / max(float(np.abs(C).max()), np.finfo(float).tiny)
    regret = C - C.min(axis=1, keepdims=True)
    expected = _expected(log_posterior, regret)
    least = expected.min(axis=1, keepdims=True)
    choice = np.argmax(expected <= least * (1 + _TIE), axis=1)  # the first of those that tie
    return np.where(choice == D, REJECT, choice)


def _expected(log_posterior: np.ndarray, regret: np.ndarray) -> np.ndarray:
    """Expected regrets, scaled up in rows where several of them underflow.

    A posterior of e^-800 decides where the likelier truths cost the same either way.
    """
    expected: np.ndarray = np.exp(log_posterior) @ regret
    vanishing = np.flatnonzero((expected < _UNDERFLOW).sum(axis=1) > 1)
    with np.errstate(divide="ignore"):
        log_regret = np.log(regret)
    for start in range(0, vanishing.size, _BLOCK):
        rows = vanishing[start : start + _BLOCK]
        terms = log_posterior[rows, :, None] + log_regret
        logs = np.logaddexp.reduce(terms, axis=1)
        logs[expected[rows] >= _UNDERFLOW] = np.inf
        finite_least = np.min(logs, axis=1, keepdims=True, where=logs > -np.inf, initial=np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.exp(logs - finite_least)
        expected[rows] = np.where(logs == np.inf, np.inf, np.where(logs == -np.inf, 0.0, scaled))
    return expected


def cost_matrix(costs: Any, classes: tuple[Hashable, ...]) -> np.ndarray:
    """Costs with the truth on rows and the decision in columns, in the order of the classes."""
    D = len(classes)
    C = to_numpy(costs, "costs")
    if C.shape != (D, D):
        raise InputError(
            f"costs must have shape ({D}, {D}), the truth on rows and the decision in columns; got "
            f"{C.shape}. Give one cost for each pair of classes."
        )
    require_finite(np, C, "costs")
    columns = order_by_name(column_names(costs), classes, "the columns of costs")
    index = tuple(costs.index) if hasattr(costs, "index") and column_names(costs) else None
    rows = order_by_name(index, classes, "the rows of costs")
    C = C if columns is None else C[:, columns]
    return C if rows is None else C[rows]


def _reject_cost(reject_cost: Any, costs: Any) -> float:
    value = to_numpy(reject_cost, "reject_cost")
    if value.ndim or not np.isfinite(value):
        got = f"shape {value.shape}" if value.ndim else value
        raise InputError(
            f"reject_cost must be one finite number; got {got}. Give the cost of not deciding."
        )
    if costs is None and value < 0:
        raise InputError(
            f"reject_cost must not be negative where errors cost 1; got {value}. "
            f"Give a cost between 0 and 1."
        )
    return float(value)
