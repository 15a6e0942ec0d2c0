"""Shapley values of a game whose values are compositions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban._validation.scalars import Rng, as_generator, require_whole
from deciban.evidence import Evidence
from deciban.evidence.bayes import Prior
from deciban.exceptions import InputError
from deciban.explanation.coalitions import (
    Track,
    evaluate_coalitions,
    read_mixer,
    read_model,
)
from deciban.explanation.results import ShapleyCompositions

_MOST_EXACT = 20  # players: a million coalitions


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
    track: Track = iter,
) -> ShapleyCompositions:
    r"""Contributions of features to the evidence about samples, which add up by perturbation.

    With the features of a set S known, and all others taken from the background b, the value is the
    Aitchison mean :math:`v(S) = \frac{1}{B} \sum_b \mathrm{clr}\, w(x_S, b_{\bar S})`. Feature j
    contributes

    .. math:: \phi_j = \sum_{S \not\ni j} \frac{|S|! (m - |S| - 1)!}{m!} (v(S \cup j) - v(S)),

    the Shapley value, here a vector of the simplex [1]_. Base and contributions add up to the
    evidence; features that enter alike contribute alike, and one that the model does not use
    contributes nothing. For two classes it is the Shapley value of the LLR.

    Parameters
    ----------
    model : estimator with a method ``evidence``, Pipeline or search of such, classifier or function
        A classifier has ``predict_log_proba`` or ``predict_proba``. A function takes what X is and
        returns Evidence, or log-likelihoods of shape (n_rows, n_classes); probabilities are
        refused.
    X : array of shape (n_samples, n_columns), or frame of pandas or polars
        The samples to explain.
    background : array of shape (n_background, n_columns), or frame
        Rows that stand for features that are not known, such as 100 of the training rows.
    training_prior : array of shape (n_classes,) or mapping, default uniform
        Prior that is taken out of the probabilities of a classifier, or out of what a function
        returns where that is logarithms of posteriors. It changes the base and the total, not the
        contributions.
    feature_groups : mapping from names to a column or a list of columns, optional
        Columns that are known together, such as those of one category. Columns are named as in the
        frame, or by their positions. Those in no group are features of their own.
    max_exact : int, default 10
        Largest number of features, at most 20, for which all coalitions are computed. Beyond it,
        orders of the features are sampled.
    n_permutations : int, default 100
        Number of orders to sample, even and 4 or more: each is followed by its reverse. Standard
        errors are rough with fewer than 20. All samples have the same orders.
    rng : int or Generator, default 0
    track : callable, optional
        Wraps the iteration over blocks of work to show its progress, as tqdm does.

    Returns
    -------
    ShapleyCompositions

    See Also
    --------
    deciban.plots.ShapleyDisplay : A waterfall, and a path on the simplex.
    deciban.Evidence.balance : Groups of classes in one number that is linear, too.

    Notes
    -----
    The model is evaluated for :math:`2^m` coalitions of m features, or for less than
    ``n_permutations`` times m of them, each with every row of the background, for each sample.
    Draws take ``n_permutations / 2 * n_samples * n_features * n_classes`` floats.

    References
    ----------
    .. [1] P.-G. Noé, M. Perelló-Nieto, J.-F. Bonastre, P. Flach, "Explaining a probabilistic
       prediction on the simplex with Shapley compositions", 2024.

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
    max_exact = require_whole(max_exact, "max_exact", 0, _MOST_EXACT)
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
    empty = np.flatnonzero(~coalitions.any(axis=1))[0]
    return ShapleyCompositions(Evidence(values[empty, :1], classes), contributions, features, draws)


def _weights(coalitions: NDArray[np.bool_]) -> Floats:
    """Weight of the value of each coalition in the contribution of each of m players."""
    m = coalitions.shape[1]
    sizes = coalitions.sum(axis=1)
    joined = np.array([0.0, *(1 / (m * comb(m - 1, s - 1)) for s in range(1, m + 1))])
    left = np.array([*(1 / (m * comb(m - 1, s)) for s in range(m)), 0.0])
    return np.where(coalitions.T, joined[sizes], -left[sizes])


def _opposite_orders(m: int, n_draws: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Random orders of m players, each followed by its reverse."""
    forward = rng.permuted(np.tile(np.arange(m), (n_draws, 1)), axis=1)
    return np.stack([forward, forward[:, ::-1]], axis=1).reshape(-1, m)


def _coalitions_of(orders: NDArray[np.intp]) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """The coalitions through which orders go, each once, and their places, (n_orders, m + 1)."""
    n, m = orders.shape
    rank = np.argsort(orders, axis=1)
    through = rank[:, None, :] < np.arange(m + 1)[:, None]
    packed = np.packbits(through.reshape(-1, m), axis=1)
    _, first, places = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return through.reshape(-1, m)[first], places.reshape(n, m + 1)


def _draws(values: Floats, orders: NDArray[np.intp], places: NDArray[np.intp]) -> Floats:
    """Contributions by each pair of opposite orders, (n_orders / 2, n_samples, m, D)."""
    n_draws, m = len(orders) // 2, orders.shape[1]
    draws = np.zeros((n_draws, values.shape[1], m, values.shape[2]))
    for k, (order, at) in enumerate(zip(orders, places, strict=True)):
        draws[k // 2][:, order] += np.diff(values[at], axis=0).swapaxes(0, 1) / 2
    return draws
