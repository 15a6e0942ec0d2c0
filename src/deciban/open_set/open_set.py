"""Open set: a discriminant with one more class, for samples of none of the known classes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from deciban._estimation.columns import Columns
from deciban._estimation.samples import Samples, read_features
from deciban._persistence.registry import PersistentMixin, register
from deciban._validation.arrays import Floats
from deciban._validation.labels import (
    align_by_index,
    as_labels,
    encode_labels,
    factorize_labels,
    index_of,
    is_missing,
    label_array,
    read_labels,
    read_weights,
)
from deciban._validation.scalars import (
    quote,
    require_fraction,
    require_one_of,
    require_positive_number,
)
from deciban.discriminant.base_space import DiscriminantMixin, check_sound
from deciban.discriminant.linear import LinearDiscriminant
from deciban.evidence.bayes import read_prior
from deciban.exceptions import InputError
from deciban.open_set.broad_density import BroadDensity


@register(class_counts_=None, columns_=Columns, estimator_=DiscriminantMixin, density_=object)
class OpenSetDiscriminant(PersistentMixin, DiscriminantMixin, BaseEstimator):  # type: ignore[misc]
    r"""A discriminant for an open set: one more class, for samples of none of the known classes.

    The known classes keep their evidence; :math:`\log f_{other}(x)` is a further coordinate beside
    their log-densities. Without samples, the other class is a new one, with a mean drawn like those
    of the known classes: :math:`x \sim N(m, W + (1 + 1/D) B / \tau)`, with covariances W within
    the D known classes and B between their means, and
    :math:`\tau \sim \mathrm{Gamma}(\nu/2, \nu/2)` because D means say little about B. B is
    shrunk towards a multiple of W (oracle approximating shrinkage :math:`\rho`), and :math:`\nu`
    is :math:`(D - 1) / (1 - \rho) + 2`, at most :math:`(D - 1) d` for d features.

    Parameters
    ----------
    estimator : discriminant, default LinearDiscriminant()
        For the known classes: a linear, quadratic or compositional one.
    other : label, default "something else"
        Name for the other class.
    density : {"new class", "samples"}, object or callable, default "new class"
        The other class's density. "new class" is learned from the known classes alone, "samples"
        from the samples labeled ``other``: Student's t with their shrunk covariance. An object with
        ``logpdf`` (SciPy) or ``score_samples`` (scikit-learn), or a callable, gives the log-density
        for each row of features and is not fitted here. Wrap a fitted scikit-learn density in
        ``sklearn.frozen.FrozenEstimator``: ``clone`` and cross-validation would reset it.
    p_other : float, default 0.2
        Prior probability of the other class in ``predict`` and ``predict_proba``. The known classes
        share the rest by the prior of ``estimator``. It does not affect the evidence and may be set
        after ``fit``.

    Attributes
    ----------
    estimator_ : discriminant
        Fitted to the known classes.
    density_ : object
    classes_ : array of shape (n_classes + 1,)
        The known classes and ``other``, sorted; ``other`` is the last if labels have no order.
    class_counts_, prior_ : arrays of shape (n_classes + 1,)
        Sums of weights in ``fit``; for ``other`` the count that makes its share ``p_other``.
    n_features_in_ : int
    columns_ : Columns

    See Also
    --------
    open_set_costs : Costs for misses, false alarms and confusions.
    deciban.metrics.c_avg : NIST's cost, with an out-of-set class.
    deciban.LinearDiscriminant : Gaussian classes, and a score for outliers.

    References
    ----------
    Chen, Wiesel, Eldar and Hero (2010), Shrinkage algorithms for MMSE covariance estimation.
    Brümmer and de Villiers (2010), The speaker partitioning problem.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OpenSetDiscriminant(other=-1).fit(X, y)
    >>> model.predict([X[0], X[0] + 3])
    array([ 0, -1])
    >>> evidence = model.evidence(X[:1])
    >>> evidence.llr([0, 1, 2], -1, unit="deciban").round()
    array([23.])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        other: Hashable = "something else",
        density: Any = "new class",
        p_other: float = 0.2,
    ) -> None:
        self.estimator = estimator
        self.other = other
        self.density = density
        self.p_other = p_other

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to features and classes.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Two known classes or more; ``other`` among them with ``density="samples"`` only.
        sample_weight : array of shape (n_samples,), optional
        """
        self._read_p_other()
        if isinstance(self.density, str):
            require_one_of(self.density, "density", ("new class", "samples"))
        X, y, sample_weight = align_by_index(X=X, y=y, sample_weight=sample_weight)
        labels = np.empty(0) if y is None else read_labels(y, name="y")
        other = self._read_other()
        outside = np.array([label == other for label in labels.tolist()], dtype=bool)
        self._require_samples(outside)
        known: tuple[Any, Any, Any] = (X, y, sample_weight)
        weight = read_weights(sample_weight, len(labels), for_fit=True)
        if outside.any():
            check_consistent_length(X, labels)
            share = None if weight is None else weight[~outside]
            inside = label_array(labels[~outside].tolist())  # numbers that stood beside text
            known = (_safe_indexing(X, np.flatnonzero(~outside)), inside, share)
        self.estimator_ = clone(self._estimator()).fit(*known)
        self.columns_ = self.estimator_.columns_
        self.n_features_in_ = self.estimator_.n_features_in_
        names = label_array([*self.estimator_.classes_.tolist(), other])
        self.classes_ = label_array(factorize_labels(names)[0])
        weight = np.ones(len(labels)) if weight is None else weight
        self.density_ = self._learn_density(X, labels, weight, outside)
        return self

    def _estimator(self) -> Any:
        estimator = LinearDiscriminant() if self.estimator is None else self.estimator
        if not isinstance(estimator, DiscriminantMixin) or isinstance(estimator, type(self)):
            raise InputError(
                f"estimator must be a discriminant of deciban; got {type(estimator).__name__}. "
                f"Give deciban.LinearDiscriminant()."
            )
        return estimator

    def _read_other(self) -> Hashable:
        other = self.other.item() if isinstance(self.other, np.generic) else self.other
        if not isinstance(other, Hashable) or is_missing(other):
            raise InputError(
                f"other must be a label, such as text or a number; got {quote(other)}. Give "
                f"'something else'."
            )
        return other

    def _require_samples(self, outside: NDArray[np.bool_]) -> None:
        n, learned = int(outside.sum()), isinstance(self.density, str) and self.density == "samples"
        if learned and n < 2:
            raise InputError(
                f"density='samples' needs two samples or more labeled {quote(self.other)}; got "
                f"{n}. Add some, or pass density='new class' without them."
            )
        if n and not learned:
            raise InputError(
                f"y must not hold {quote(self.other)} unless density='samples'; got {n}. Pass "
                f"density='samples', or leave them out."
            )

    def _learn_density(
        self, X: Any, labels: NDArray[Any], weight: Floats, outside: NDArray[np.bool_]
    ) -> Any:
        features, counts = read_features(self.estimator_, X), weight > 0
        if not isinstance(self.density, str):
            _try_density(self.density, features)
            return self.density
        names = self.estimator_.classes_.tolist()
        inside = counts & ~outside
        codes = encode_labels(labels[inside], names, "y")
        known = Samples(features[inside], codes, weight[inside])
        shrinkage = getattr(self.estimator_, "shrinkage", 0.0)  # a CDA has none
        if self.density == "new class":
            return BroadDensity.of_new_class(known, len(names), shrinkage)
        own = counts & outside
        others = Samples(features[own], np.zeros(own.sum(), dtype=np.intp), weight[own])
        if np.ptp(others.X, axis=0).max(initial=0.0) == 0 or others.weight.sum() <= 1:
            raise InputError(
                f"The samples labeled {quote(self.other)} are all alike, or their weights sum to "
                f"one or less. Add some, or leave them out."
            )
        return BroadDensity.of_samples(known, len(names), others, shrinkage)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Column names of X, if it had names."""
        return np.asarray(self.estimator_.feature_names_in_)

    @property
    def class_counts_(self) -> Floats:  # type: ignore[override]
        """Sum of weights for each class; for ``other`` the number that its prior implies."""
        counts, p = self.estimator_.class_counts_, self._read_p_other()
        return self._insert(counts, counts.sum() * p / (1 - p))

    @property
    def prior_(self) -> Floats:
        """Prior probabilities in ``predict`` and ``predict_proba``."""
        p = self._read_p_other()
        names = tuple(self.estimator_.classes_.tolist())
        known = read_prior(self._estimator().prior, names, self.estimator_.class_counts_)
        return self._insert((1 - p) * known, p)

    def _read_p_other(self) -> float:
        return require_fraction(self.p_other, "p_other", remedy="Give 0.2.")

    def _insert(self, known: Floats, other: ArrayLike) -> Floats:
        """Numbers for the known classes and the other one, in the order of ``classes_``."""
        names = self.estimator_.classes_.tolist()
        at = next(k for k, label in enumerate(self.classes_.tolist()) if label not in names)
        return np.insert(known, at, other, axis=-1)

    def outlier_score(self, X: ArrayLike) -> Floats:
        """Fraction of known samples in ``fit`` with a lower density: near zero for an outlier."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.outlier_score(X))

    def _read(self, X: ArrayLike) -> Floats:
        check_is_fitted(self)
        return read_features(self.estimator_, X)

    def _log_densities(self, X: Floats) -> Floats:
        if isinstance(self.density_, BroadDensity):
            other = self.density_.log_density(X)
        else:
            other = _read_log_density(_find_log_density(self.density_)(X), len(X))
        return self._insert(self.estimator_.densities_at_evidence(X), other)

    def _finish_loading(self) -> None:
        density = self.density_
        if not isinstance(density, BroadDensity):
            raise ValueError("not a density")
        scales = np.append(density.variance, density.whitening.scale)
        check_sound(scales, np.zeros(0), *density.whitening, density.center, density.axes)
        if not (density.degrees_of_freedom > 0 and density.within >= 0):
            raise ValueError("degrees of freedom or a variance that are negative")
        if len(density.center) != self.columns_.n_features:
            raise ValueError("a density of other features")
        known = [label for label in self.classes_.tolist() if label != self.other]
        if known != self.estimator_.classes_.tolist() or len(known) + 1 != len(self.classes_):
            raise ValueError("other classes")


def open_set_costs(
    classes: Sequence[Hashable],
    other: Hashable,
    *,
    cost_miss: float = 1.0,
    cost_false_alarm: float = 1.0,
    cost_confusion: float = 1.0,
) -> Floats:
    r"""Costs for decisions among known classes and one for anything else.

    :math:`C_{ij}`, for deciding j when i is true, is :math:`C_{miss}` for a known i and j = other,
    :math:`C_{fa}` for i = other and a known j, :math:`C_{confusion}` for two different known
    classes, and zero for i = j.

    Parameters
    ----------
    classes : sequence of labels
        All classes, in the order of the evidence.
    other : label
        The class for anything else.
    cost_miss, cost_false_alarm, cost_confusion : float, default 1
        Costs for deciding other instead of a known class, a known class instead of other, and one
        known class instead of another.

    Returns
    -------
    array of shape (n_classes, n_classes)

    See Also
    --------
    deciban.Evidence.decide : Takes these costs.
    deciban.metrics.expected_cost : Average cost of decisions.
    deciban.metrics.c_avg : NIST's cost, which detects each class by itself.

    Examples
    --------
    >>> open_set_costs(["en", "fr", "other"], "other", cost_false_alarm=5, cost_confusion=2)
    array([[0., 2., 1.],
           [2., 0., 1.],
           [5., 5., 0.]])
    """
    labels = as_labels(classes)
    at = index_of(other, labels)
    given = {"miss": cost_miss, "false_alarm": cost_false_alarm, "confusion": cost_confusion}
    for name, cost in given.items():
        require_positive_number(cost, f"cost_{name}", or_zero=True)
    costs = np.full((len(labels), len(labels)), float(cost_confusion))
    costs[:, at], costs[at] = cost_miss, cost_false_alarm
    np.fill_diagonal(costs, 0.0)
    return costs


def _find_log_density(density: Any) -> Callable[[Floats], Any]:
    from scipy.stats import gaussian_kde  # slow to import

    if isinstance(density, gaussian_kde):
        return lambda X: density.logpdf(X.T)  # it has samples in columns
    for name in ("logpdf", "score_samples"):
        if callable(getattr(density, name, None)) and not isinstance(density, type):
            return getattr(density, name)
    if not callable(density) or isinstance(density, type):
        raise InputError(
            f"density must be 'new class', 'samples', a function, or an object with logpdf or "
            f"score_samples; got {quote(density)}. Give scipy.stats.multivariate_normal(mean, cov)."
        )
    return density


def _try_density(density: Any, X: Floats) -> None:
    """Raise if a density does not take rows of features."""
    rows = X[: 3 if X.shape[1] == 2 else 2]  # as many as columns would hide a transposed table
    log_density = _find_log_density(density)
    try:
        values = log_density(rows)
    except Exception as error:
        remedy = "Check its number of features."
        if isinstance(error, NotFittedError):
            remedy = (
                "Fit it and wrap it in sklearn.frozen.FrozenEstimator, or clone would reset it."
            )
        raise InputError(
            f"density must give the log-density of rows of {X.shape[1]} features; got "
            f"{type(error).__name__}: {str(error).rstrip('.')}. {remedy}"
        ) from error
    _read_log_density(values, len(rows))


def _read_log_density(values: Any, n: int) -> Floats:
    log_f = np.asarray(values, dtype=np.float64)
    log_f = log_f[:, 0] if log_f.shape == (n, 1) else np.atleast_1d(log_f)
    if log_f.shape != (n,) or np.isnan(log_f).any() or (log_f == np.inf).any():
        raise InputError(
            f"density must give one log-density for each of {n} samples, below infinity; got "
            f"shape {log_f.shape}{', with NaN or infinity' if log_f.shape == (n,) else ''}. Check "
            f"its number of features."
        )
    return log_f
