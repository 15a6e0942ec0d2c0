"""Bayes' rule and decisions: priors, composite hypotheses, and actions of least expected cost."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation import arrays
from deciban._validation.arrays import Floats
from deciban._validation.labels import as_labels, index_of, order_by_name, reorder_square
from deciban._validation.scalars import quote, quote_each, require_number, require_one_of
from deciban.exceptions import CromwellError, InputError

Prior = ArrayLike | Mapping[Hashable, float] | None
Costs = ArrayLike | Mapping[Any, Any] | None

# Probabilities are often typed or stored with three digits: 0.333 three times means thirds.
_SUM_TOLERANCE = 2e-3
_UNDERFLOW = 1e-280  # of an expected regret; the largest regret is scaled to about one
_TIE = 1e-12  # relative difference of expected costs that is rounding
_BLOCK = 4096  # rows whose log-regrets are held at once


def log_prior(prior: Prior, classes: tuple[Hashable, ...], n_samples: int = 1) -> Floats:
    """Logarithm of a prior that obeys Cromwell's rule, of shape (1, D) or (n_samples, D).

    Named probabilities are matched with the classes by name. None and "uniform" are equal ones.
    """
    D = len(classes)
    if isinstance(prior, str) and prior != "uniform":
        raise InputError(f"prior must be 'uniform' or hold probabilities; got {quote(prior)}.")
    if prior is None or isinstance(prior, str):
        return np.full((1, D), -np.log(D))
    if isinstance(prior, Mapping):
        prior = _prior_from_mapping(prior, classes)
    p = np.atleast_2d(arrays.to_numpy(prior, "prior"))
    if p.shape not in {(1, D), (n_samples, D)}:
        raise InputError(
            f"prior must hold one probability for each of the {D} classes {quote_each(classes)}; "
            f"got shape {np.shape(prior)}. Give a vector, or one row for each sample."
        )
    order = order_by_name(arrays.column_names(prior), classes, "the entries of prior")
    p = p if order is None else p[:, order]
    require_probabilities(p, "prior")
    zero = np.argwhere(p == 0)
    if len(zero):
        excluded = [classes[i] for i in np.unique(zero[:, 1])]
        raise CromwellError(
            f"prior must be positive for every class (Cromwell's rule); it is zero for "
            f"{quote_each(excluded)}. Give it a small probability, or leave the class out with "
            f"evidence.restrict(classes).",
            classes=excluded,
            rows=np.unique(zero[:, 0]),
        )
    return np.log(p) - np.log(p.sum(axis=1, keepdims=True))


def read_prior(prior: Prior, classes: tuple[Hashable, ...], class_counts: NDArray[Any]) -> Floats:
    """Probabilities from "uniform", "empirical" (the class mix of the data) or a prior itself."""
    if isinstance(prior, str):
        require_one_of(prior, "prior", ("uniform", "empirical"))
        prior = None if prior == "uniform" else class_counts / class_counts.sum()
    return np.exp(log_prior(prior, classes)[0])


def balance_weights(codes: NDArray[np.intp], weight: Floats | None, prior: Floats) -> Floats:
    """Weights that give each class that occurs its prior probability; they sum to one."""
    weight = np.ones(len(codes)) if weight is None else weight
    mass = np.bincount(codes, weights=weight, minlength=len(prior))
    share = np.where(mass > 0, prior, 0.0) / np.where(mass > 0, mass, 1.0)
    return weight * (share / (share @ mass))[codes]


def require_probabilities(p: Floats, name: str) -> None:
    """Raise unless each row sums to one, but for rounding."""
    arrays.require_nonnegative(np, p, name, if_negative="Give probabilities, not logarithms.")
    total = p.sum(axis=1)
    arrays.refuse_rows(
        np.abs(total - 1) > _SUM_TOLERANCE,
        f"{name} must sum to one",
        "sums to",
        "Divide by the sum, or call deciban.simplex.closure, if that is what you mean.",
        values=total,
    )


def _prior_from_mapping(
    prior: Mapping[Hashable, float], classes: tuple[Hashable, ...]
) -> list[float]:
    for label in prior:
        index_of(label, classes)
    missing = [label for label in classes if label not in prior]
    rest = 1 - sum(require_number(p, "prior") for p in prior.values()) if missing else 0.0
    if len(missing) > 1 or (missing and not rest > _SUM_TOLERANCE):  # one may get the rest
        raise InputError(
            f"prior must name every class; it lacks {quote_each(missing)}. Give each a probability."
        )
    return [prior.get(label, rest) for label in classes]


def choose_least_cost(
    log_posterior: Floats, classes: tuple[Hashable, ...], costs: Costs, reject_cost: float | None
) -> NDArray[np.intp]:
    """Index of the class to decide for, for each row; the number of classes stands for rejection.

    Ties go to the first class, and to a class before rejection.
    """
    if costs is None and reject_cost is None:
        return np.argmax(log_posterior, axis=1)
    C = action_costs(costs, reject_cost, classes)
    # What a truth costs whatever is decided changes no decision; the rest is regret, >= 0.
    C = C / max(float(np.abs(C).max()), np.finfo(float).tiny)
    regret = C - C.min(axis=1, keepdims=True)
    expected = _expected_regret(log_posterior, regret)
    least = expected.min(axis=1, keepdims=True)
    return np.argmax(expected <= least * (1 + _TIE), axis=1)  # the first of those that tie


def _expected_regret(log_posterior: Floats, regret: Floats) -> Floats:
    """Expected regrets, scaled up in rows where several of them underflow.

    A posterior of e^-800 decides if the likelier truths cost the same either way.
    """
    expected: Floats = np.exp(log_posterior) @ regret
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


def cost_matrix(costs: Any, classes: tuple[Hashable, ...]) -> Floats:
    """Costs with the truth on rows and the decision in columns, in the order of the classes.

    The rows and the columns of a frame are matched with the classes by name, and so are the keys
    of a mapping: ``{(true, decided): cost}`` or ``{true: {decided: cost}}``. Errors that a mapping
    does not name cost 1, and so do all errors by default; right decisions cost nothing.
    """
    D = len(classes)
    if costs is None:
        return 1.0 - np.eye(D)
    if isinstance(costs, Mapping):
        costs = _costs_from_mapping(costs, classes)
    C = arrays.to_numpy(costs, "costs")
    if C.shape != (D, D):
        raise InputError(
            f"costs must have shape ({D}, {D}), the truth on rows and the decision in columns; got "
            f"{C.shape}."
        )
    arrays.require_finite(np, C, "costs")
    return reorder_square(C, costs, classes, "costs")


def _costs_from_mapping(costs: Mapping[Any, Any], classes: tuple[Hashable, ...]) -> Floats:
    C = 1.0 - np.eye(len(classes))
    for key, cost in costs.items():
        nested = isinstance(cost, Mapping)
        if not nested and not (isinstance(key, tuple) and len(key) == 2):
            raise InputError(
                f"costs must be named by the true and the decided class; got {quote(key)}. Give "
                f"{{({quote(classes[0])}, {quote(classes[1])}): 5}}, say."
            )
        named = {(key, decided): one for decided, one in cost.items()} if nested else {key: cost}
        for (true, decided), one in named.items():
            value = require_number(one, "each cost", remedy="Give a finite number.")
            C[index_of(true, classes), index_of(decided, classes)] = value
    return C


def action_costs(costs: Costs, reject_cost: Any, classes: tuple[Hashable, ...]) -> Floats:
    """Costs of deciding for each class and, unless it has no cost, of not deciding."""
    C = cost_matrix(costs, classes)
    if reject_cost is None:
        return C
    if isinstance(reject_cost, np.ndarray) and reject_cost.ndim == 0:
        reject_cost = reject_cost[()]
    value = require_number(reject_cost, "reject_cost", remedy="Give the cost of not deciding.")
    if costs is None and value < 0:
        raise InputError(f"reject_cost must not be negative where errors cost 1; got {value}.")
    return np.column_stack([C, np.full(len(C), value)])


def find_members(group: Any, classes: tuple[Hashable, ...]) -> list[int]:
    """Positions of one class, or of the members of a list, tuple, set or array of classes.

    A tuple or frozenset that is itself a class is that class.
    """
    if isinstance(group, tuple | frozenset) and group in classes:
        return [classes.index(group)]
    if not isinstance(group, list | tuple | set | frozenset | np.ndarray):
        return [index_of(group, classes)]
    found = [index_of(label, classes) for label in group]
    if not found or len(set(found)) != len(found):
        raise InputError(
            f"a group must name at least one class, and each class once; got {quote(group)}."
        )
    return sorted(found) if isinstance(group, set | frozenset) else found


def read_groups(groups: Any, classes: tuple[Hashable, ...]) -> dict[Hashable, list[int]]:
    """Names and member positions for two or more groups that share no class."""
    named = isinstance(groups, Mapping)
    each = groups.values() if named else groups if isinstance(groups, list | tuple) else ()
    members = [find_members(group, classes) for group in each]
    every = [k for at in members for k in at]
    if len(members) < 2 or len(set(every)) != len(every):
        raise InputError(
            f"groups must be a mapping from names to lists of classes, or a list of such lists, at "
            f"least two that share no class; got {quote(groups)}."
        )
    alone = [classes[at[0]] if len(at) == 1 else name_group(at, classes) for at in members]
    return dict(zip(as_labels(list(groups) if named else alone), members, strict=True))


def name_group(members: Iterable[int], classes: tuple[Hashable, ...]) -> str:
    """The classes of a group as a sentence names them: "a", "a or b", "a, b or c"."""
    *first, last = (str(classes[k]) for k in members)
    return f"{', '.join(first)} or {last}" if first else last


def pool_members(log_likelihoods: Floats, members: list[int], log_prior: Floats) -> Floats:
    """Log mean likelihood over the members, weighted by the prior given the group."""
    if len(members) == 1:
        return log_likelihoods[:, members[0]]
    weights = log_prior[:, members]
    weights = weights - np.logaddexp.reduce(weights, axis=1, keepdims=True)
    return np.asarray(np.logaddexp.reduce(log_likelihoods[:, members] + weights, axis=1))
