"""Shapley compositions: what each feature contributes to evidence."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban._validation.labels import index_of
from deciban._validation.scalars import Rng, as_generator, quote, quote_each, require_whole
from deciban.evidence import Evidence, Unit, from_nats
from deciban.evidence.bayes import Prior
from deciban.exceptions import InputError
from deciban.explanation.coalitions import Progress, evaluate_coalitions, read_mixer, read_model

_MAX_EXACT = 20  # players: a million coalitions


@dataclass(frozen=True, eq=False)
class ShapleyCompositions:
    r"""What each feature contributes to the evidence about each sample.

    Contributions are vectors in the Aitchison geometry, stored as centered log-ratios in nats:
    :math:`\log w(x) = v(\emptyset) + \sum_j \phi_j` up to a constant, exactly. A prior moves base
    and total alike, so that contributions to the posterior are the same.

    Parameters
    ----------
    base : Evidence
        One row: the mean over the background, before any feature is known.
    contributions : array of shape (n_samples, n_features, n_classes)
        Each row sums to zero.
    features : tuple
        Names of the features or feature groups.
    draws : array of shape (n_draws, n_samples, n_features, n_classes), optional
        Contributions from each pair of opposite orders, if sampled; their mean is
        ``contributions``.

    See Also
    --------
    deciban.shapley_compositions, deciban.plots.ShapleyDisplay

    Examples
    --------
    >>> base = Evidence([[0.0, 0.0]], ["benign", "malignant"])
    >>> found = ShapleyCompositions(base, np.array([[[-1.0, 1.0], [0.2, -0.2]]]), ("size", "age"))
    >>> found.llr("malignant", "benign")
    array([[ 2. , -0.4]])
    >>> found.total.llr("malignant", "benign")
    array([1.6])
    """

    base: Evidence
    contributions: Floats
    features: tuple[Hashable, ...]
    draws: Floats | None = None

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """The classes, in the order of the contributions' last axis."""
        return self.base.classes

    @property
    def total(self) -> Evidence:
        """The evidence about each sample: base plus contributions."""
        return self.base + Evidence(self.contributions.sum(axis=1), self.classes)

    @property
    def is_exact(self) -> bool:
        """Whether every coalition was computed."""
        return self.draws is None

    @property
    def standard_errors(self) -> Floats:
        """Standard errors from the sampled orders, given the background; zero if exact."""
        return _standard_error(self.draws, self.contributions)

    def __getitem__(self, feature: Hashable) -> Evidence:
        """A feature's contribution to the evidence about each sample."""
        if feature not in self.features:
            raise InputError(
                f"feature must be one of {quote_each(self.features)}; got {quote(feature)}. Check "
                f"its spelling and its type."
            )
        return Evidence(self.contributions[:, self.features.index(feature)], self.classes)

    def llr(self, a: Hashable, b: Hashable, unit: Unit = "nat") -> Floats:
        """Contributions to the LLR of class ``a`` against class ``b``, (n_samples, n_features).

        These are single classes: the LLR between groups is no sum of contributions.
        """
        return np.asarray(from_nats(self._ratio(self.contributions, a, b), unit))

    def llr_standard_errors(self, a: Hashable, b: Hashable, unit: Unit = "nat") -> Floats:
        """Standard errors of :meth:`llr`, in the same shape; zero if contributions are exact."""
        draws = None if self.draws is None else self._ratio(self.draws, a, b)
        return np.asarray(from_nats(_standard_error(draws, self.contributions[..., 0]), unit))

    def strength(self, unit: Unit = "nat") -> Floats:
        """Aitchison norm of each contribution, (n_samples, n_features)."""
        return np.asarray(from_nats(np.linalg.norm(self.contributions, axis=-1), unit))

    def _ratio(self, values: Floats, a: Hashable, b: Hashable) -> Floats:
        first, second = (index_of(label, self.classes) for label in (a, b))
        return np.asarray(values[..., first] - values[..., second])


def _standard_error(draws: Floats | None, exact: Floats) -> Floats:
    if draws is None:
        return np.zeros_like(exact)
    return np.asarray(draws.std(axis=0, ddof=1) / np.sqrt(len(draws)))


def shapley_compositions(
    model: Any,
    X: Any,
    background: Any,
    *,
    training_prior: Prior = None,
    feature_groups: Mapping[Hashable, Any] | None = None,
    max_exact: int = 10,
    n_permutations: int = 100,
    rng: Rng = 0,
    track: Progress = iter,
) -> ShapleyCompositions:
    r"""Contributions of features to evidence, which add up by perturbation.

    If the features in a set S are known, and all others come from the background b, the value is
    the Aitchison mean :math:`v(S) = \frac{1}{B} \sum_b \mathrm{clr}\, w(x_S, b_{\bar S})`. Feature
    j contributes

    .. math:: \phi_j = \sum_{S \not\ni j} \frac{|S|! (m - |S| - 1)!}{m!} (v(S \cup j) - v(S)),

    the Shapley value, here a vector on the simplex (Noé, Perelló-Nieto, Bonastre and Flach, 2024,
    Explaining a probabilistic prediction on the simplex with Shapley compositions). Base and
    contributions add up to the evidence. Features that enter alike contribute alike; a feature that
    the model does not use contributes nothing. For two classes it is the Shapley value of the LLR.

    For each sample the model evaluates :math:`2^m` coalitions of m features, or fewer than
    ``n_permutations * m``, each with every background row.

    Parameters
    ----------
    model : estimator with a method ``evidence``, Pipeline or search, classifier, or function
        A classifier has ``predict_log_proba`` or ``predict_proba``. A function takes a table like X
        and returns Evidence, or log-likelihoods of shape (n_rows, n_classes), not probabilities.
    X : array of shape (n_samples, n_columns), or pandas or polars frame
        The samples to explain.
    background : array of shape (n_background, n_columns), or frame
        Rows that replace unknown features, such as 100 training rows.
    training_prior : array of shape (n_classes,) or mapping, default uniform
        Prior to remove from a classifier's probabilities, or from a function's log-posteriors. It
        changes the base and the total, not the contributions.
    feature_groups : mapping from names to a column or a list of columns, optional
        Columns that are known together, such as those of one category, by name or by position in an
        array. A column in no group is a feature by itself.
    max_exact : int, default 10
        Largest number of features, at most 20, for which all coalitions are computed. Beyond it,
        orders of the features are sampled.
    n_permutations : int, default 100
        Orders to sample, an even number from 4: each is followed by its reverse. Standard errors
        are rough below 20. All samples have the same orders.
    rng : int or Generator, default 0
    track : callable, optional
        Wraps the iteration over blocks to show progress, as tqdm does.

    See Also
    --------
    deciban.plots.ShapleyDisplay, deciban.Evidence.balance

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from deciban import LinearDiscriminant
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LinearDiscriminant().fit(X, y)
    >>> found = shapley_compositions(model, X[100:102], X[::3])
    >>> found.llr(2, 1, "deciban").round(1)
    array([[-6.6, -3.8, 76.5, 85.7],
           [ 0.6,  5.2, 46.3, 46.7]])
    >>> bool(found.total.allclose(model.evidence(X[100:102])))
    True
    """
    max_exact = require_whole(max_exact, "max_exact", 0, _MAX_EXACT)
    require_whole(n_permutations, "n_permutations", 4)
    if n_permutations % 2:
        raise InputError(
            f"n_permutations must be even, since each order is followed by its reverse; got "
            f"{n_permutations}. Give {n_permutations + 1}."
        )
    evidence = read_model(model, training_prior)
    mixer, features = read_mixer(X, background, feature_groups)
    m = len(features)
    if m <= max_exact:
        coalitions = (np.arange(2**m)[:, None] >> np.arange(m) & 1).astype(bool)
        values, classes = evaluate_coalitions(evidence, mixer, coalitions, track)
        contributions, draws = np.einsum("jc,cnd->njd", _weights(coalitions), values), None
    else:
        orders = _opposite_orders(m, n_permutations // 2, as_generator(rng))
        coalitions, places = _coalitions_of(orders)
        values, classes = evaluate_coalitions(evidence, mixer, coalitions, track)
        draws = _draws(values, orders, places)
        contributions = draws.mean(axis=0)
    empty = np.argmin(coalitions.any(axis=1))
    return ShapleyCompositions(Evidence(values[empty, :1], classes), contributions, features, draws)


def _weights(coalitions: NDArray[np.bool_]) -> Floats:
    """Weight of each coalition's value in the contribution of each player."""
    m = coalitions.shape[1]
    weight = np.array([0.0, *(1 / (m * comb(m - 1, s)) for s in range(m)), 0.0])
    sizes = coalitions.sum(axis=1)
    return np.where(coalitions.T, weight[sizes], -weight[sizes + 1])


def _opposite_orders(m: int, n_draws: int, rng: np.random.Generator) -> NDArray[np.intp]:
    forward = rng.permuted(np.tile(np.arange(m), (n_draws, 1)), axis=1)
    return np.stack([forward, forward[:, ::-1]], axis=1).reshape(-1, m)


def _coalitions_of(orders: NDArray[np.intp]) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Unique coalitions along the orders, and their places, (n_orders, m + 1)."""
    n, m = orders.shape
    rank = np.argsort(orders, axis=1)
    through = rank[:, None, :] < np.arange(m + 1)[:, None]
    packed = np.packbits(through.reshape(-1, m), axis=1)
    _, first, places = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return through.reshape(-1, m)[first], places.reshape(n, m + 1)


def _draws(values: Floats, orders: NDArray[np.intp], places: NDArray[np.intp]) -> Floats:
    """Contributions from each pair of opposite orders, (n_orders / 2, n_samples, m, D)."""
    n_draws, m = len(orders) // 2, orders.shape[1]
    draws = np.zeros((n_draws, values.shape[1], m, values.shape[2]))
    for k, (order, at) in enumerate(zip(orders, places, strict=True)):
        draws[k // 2][:, order] += np.diff(values[at], axis=0).swapaxes(0, 1) / 2
    return draws
