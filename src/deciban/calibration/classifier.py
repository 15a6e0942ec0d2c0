"""Any classifier, or a table with its output, as a source of calibrated evidence."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter

from deciban._estimation.classifier import EvidenceClassifierMixin, over_partitions
from deciban._estimation.samples import (
    encode_classes,
    require_numbers,
    require_weight_of_every_class,
)
from deciban._persistence.registry import PersistentMixin, register
from deciban._validation.arrays import Floats, refuse_masked
from deciban._validation.labels import align_by_index, read_weights
from deciban._validation.scalars import is_whole, quote, quote_each, require_fraction
from deciban.calibration.affine import clone_calibrator
from deciban.calibration.base import Calibrator
from deciban.calibration.choice import choose_calibrator
from deciban.calibration.scores import TABLES, log_posteriors
from deciban.evidence import Evidence
from deciban.evidence.bayes import read_prior
from deciban.exceptions import InputError
from deciban.metrics.labelled import Labelled


def _fit_clone(estimator: Any, X: Any, y: NDArray[Any], weight: Floats | None, rows: Any) -> Any:
    options: dict[Any, Any] = {} if weight is None else {_weight_parameter(estimator): weight[rows]}
    return clone(estimator).fit(_safe_indexing(X, rows), y[rows], **options)


def _weight_parameter(estimator: Any) -> str | None:
    """Name of the sample weights in ``fit``; in a pipeline, for its last step."""
    if getattr(estimator, "steps", None):
        last, step = estimator.steps[-1]
        inner = _weight_parameter(step)
        return inner and f"{last}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def _require_classifier(estimator: Any) -> None:
    if isinstance(estimator, type) or not hasattr(estimator, "fit") or not is_classifier(estimator):
        raise InputError(
            f"estimator must be a scikit-learn classifier; got {quote(estimator)}. Choose one, or "
            f"say what X holds: {', '.join(TABLES)}."
        )


def _require_features(X: Any, estimator: Any) -> None:
    if estimator is None:
        require_numbers(X)
    else:
        refuse_masked(X, "X")  # other estimators may take text and dates


@register(
    estimator_=PersistentMixin | str, calibrator_=Calibrator, training_prior_="D", _floor=float,
    choice_=str | None, losses_=dict,
)  # fmt: skip
class CalibratedEvidenceClassifier(PersistentMixin, EvidenceClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier with calibrated evidence, free of the training prior.

    The estimator is fitted on folds. The calibrator learns from its posteriors on held-out samples,
    after Bayes' rule has removed the class mix of the training samples. Then the estimator is
    fitted again to all samples.

    Parameters
    ----------
    estimator : classifier, "probabilities", "log_probabilities" or "logits", optional
        Any scikit-learn classifier with ``predict_log_proba``, ``predict_proba`` or
        ``decision_function``; by default logistic regression. A string means that X holds the
        output of another model, one column per class: only the calibrator is fitted. Logits are
        log-probabilities up to a constant per row.
    calibrator : calibrator or "auto", default "auto"
        "auto" chooses among an affine map, the evidence as it is ("identity"), Gaussian densities,
        a factor that depends on the strength ("curved"), and for two classes isotonic regression
        and kernel densities, both with bounds, for more a full matrix. It compares cross-entropies
        on each fold after fits to the others. The first among ties within noise is fitted to the
        held-out samples from all folds; for more than 100 classes it is the affine map.
    cv : int, cross-validation generator, iterable or "prefit", default 5
        A number makes that many folds of shuffled samples, each with all classes. "prefit" takes
        the estimator as it is: fit this on samples that it has not seen, and give its training
        class mix in ``training_prior``. Do not leave out single samples: the class mix of the
        others then reveals the class.
    prior : "empirical", "uniform", array of shape (n_classes,) or mapping, default "empirical"
        Prior for ``predict`` and ``predict_proba``, by default the class mix in ``fit``. It never
        touches the evidence, and may change after ``fit``.
    training_prior : "empirical", "uniform", array of shape (n_classes,) or mapping
        The prior in the estimator's posteriors; by default ("empirical") the class mix of its
        training samples, or, if it was fitted elsewhere, of those in ``fit``. For
        ``class_weight="balanced"`` it is "uniform".
    response_method : {"auto", "predict_log_proba", "predict_proba", "decision_function"}
        Estimator method to call; "auto" takes the first available. If its probabilities are often
        exactly 0 or 1, its decision function may say more.
    floor : float, default 1e-16
        Smallest posterior; lower ones are raised to it. A classifier that returns less does so by
        assumption, not from data, and a few such samples would outweigh all others. Exact zeros
        become half the smallest positive posterior, if that is larger.
    n_jobs : int, optional
        Number of folds to fit at once, as in joblib; by default one.

    Attributes
    ----------
    estimator_ : classifier
        The estimator, fitted to all samples.
    calibrator_ : calibrator
    choice_ : str or None
        The calibrator that "auto" chose.
    losses_ : dict of str to float
        Cross-entropy of each "auto" candidate on held-out samples, relative to no evidence; the
        mean of this ratio at equal priors and at the class mix. Infinite if a candidate cannot be
        fitted.
    classes_, prior_ : arrays of shape (n_classes,)
    class_counts_ : array of shape (n_classes,)
        Number of samples in each class, or their sum of weights.
    training_prior_ : array of shape (n_classes,)
        Prior removed from the posteriors of ``estimator_``.

    See Also
    --------
    AffineCalibrator : Calibrates existing scores.
    deciban.evidence_of : Evidence from a pipeline or a search that ends in this.
    deciban.Evidence.from_log_posteriors : Removes the training prior, without calibration.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from deciban.metrics import cllr
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CalibratedEvidenceClassifier(GaussianNB()).fit(X[::2], y[::2])
    >>> raw = model.estimator_.predict_log_proba(X[1::2])
    >>> raw = Evidence.from_log_posteriors(raw, model.training_prior_)
    >>> cllr(y[1::2], model.evidence(X[1::2])) < cllr(y[1::2], raw) / 3
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        calibrator: Any = "auto",
        *,
        cv: Any = 5,
        prior: Any = "empirical",
        training_prior: Any = "empirical",
        response_method: str = "auto",
        floor: float = 1e-16,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.cv = cv
        self.prior = prior
        self.training_prior = training_prior
        self.response_method = response_method
        self.floor = floor
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the estimator and the calibrator.

        X is anything the estimator takes; ``groups`` are for a ``cv`` that keeps groups together,
        such as ``GroupKFold()``.
        """
        if y is None:
            raise InputError(
                "This CalibratedEvidenceClassifier estimator requires y to be passed, but the "
                "target y is None."
            )
        X, y, sample_weight, groups = align_by_index(
            X=X, y=y, sample_weight=sample_weight, groups=groups
        )
        _require_features(X, self.estimator)
        column_or_1d(y, warn=True)  # scikit-learn warns of a table of one column
        self.classes_, codes = encode_classes(y)
        X, codes = indexable(X, codes)
        labels = self.classes_[codes]
        weight = read_weights(sample_weight, len(codes), for_fit=True)
        mass = np.bincount(codes, weights=weight).astype(np.float64)
        require_weight_of_every_class(self.classes_, mass)
        read_prior(self.prior, self._names(), mass)  # refused here, not in predict
        self.class_counts_ = mass
        if not self._is_table():
            _require_classifier(self._estimator())
            if self._is_prefit():
                check_is_fitted(self._estimator())
            if _weight_parameter(self._estimator()) is None:
                mass = np.bincount(codes).astype(np.float64)  # the class mix that it is fitted to
        self.training_prior_ = read_prior(self.training_prior, self._names(), mass)
        evidence, rows, folds = self._uncalibrated_evidence(X, labels, weight, groups)
        times = np.bincount(rows, minlength=len(codes))  # left out twice, counted once
        share = (np.ones(len(codes)) if weight is None else weight)[rows] / times[rows]
        self.choice_: str | None = None
        self.losses_: dict[str, float] = {}
        if isinstance(self.calibrator, str) and self.calibrator == "auto":
            own, once = np.unique(rows, return_index=True)  # a sample must not be on both sides
            samples = Labelled(evidence[once], codes[own], None if weight is None else weight[own])
            self.choice_, calibrator, self.losses_ = choose_calibrator(
                samples, None if folds is None else folds[once]
            )
        else:
            calibrator = clone_calibrator(self.calibrator)
        self.calibrator_ = calibrator.fit(evidence, labels[rows], sample_weight=share)
        return self

    @over_partitions
    def evidence(self, X: Any) -> Evidence:
        """Calibrated evidence over the classes; X is anything the estimator takes."""
        check_is_fitted(self)
        _require_features(X, self.estimator)
        log_p, log_prior = self._log_posteriors(self.estimator_, X), np.log(self.training_prior_)
        log_p = np.maximum(log_p, self._floor)
        return self.calibrator_.evidence(Evidence(log_p - log_prior, self._names()))

    def _uncalibrated_evidence(
        self, X: Any, y: NDArray[Any], weight: Floats | None, groups: Any
    ) -> tuple[Evidence, NDArray[np.intp], NDArray[np.intp] | None]:
        """Evidence for samples not used to fit the estimator, their rows and their folds."""
        if self._is_table() or self._is_prefit():
            self.estimator_ = self.estimator
            log_p = self._log_posteriors(self.estimator_, X)
            log_prior, rows, folds = np.log(self.training_prior_), np.arange(len(y)), None
        else:
            log_p, log_prior, rows, folds = self._cross_fit(X, y, weight, groups)
        require_fraction(self.floor, "floor", remedy="Give 1e-16.")
        # Classifiers that count votes return zero for "none of a hundred trees".
        smallest = log_p[np.isfinite(log_p)].min() - np.log(2)
        self._floor = float(max(smallest, np.log(self.floor)))
        log_p = np.maximum(log_p, self._floor)
        return Evidence(log_p - log_prior, self._names()), rows, folds

    def _cross_fit(
        self, X: Any, y: NDArray[Any], weight: Floats | None, groups: Any
    ) -> tuple[Floats, Floats, NDArray[np.intp], NDArray[np.intp]]:
        """Log-posteriors of held-out samples, their log-priors, rows and folds.

        The estimator is also fitted to all samples.
        """
        from sklearn.model_selection import StratifiedKFold, check_cv  # slow to import

        estimator = self._estimator()
        if weight is not None and _weight_parameter(estimator) is None:
            warnings.warn(
                f"sample_weight should reach the estimator; {type(estimator).__name__}.fit does "
                f"not take it, so that only the calibrator uses it. Choose another estimator.",
                stacklevel=4,
            )
            weight = None
        cv = self.cv
        if is_whole(cv):  # tables are often sorted: neighbors may differ from all other rows
            cv = StratifiedKFold(cv, shuffle=True, random_state=0)
        folds = list(check_cv(cv, y, classifier=True).split(X, y, groups))
        self._require_weight_in_folds(folds, y, weight)
        models = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_clone)(estimator, X, y, weight, rows)
            for rows in [*(rows for rows, _ in folds), np.arange(len(y))]
        )
        self.estimator_ = models.pop()
        log_p, log_prior = [], []
        for model, (rows, held_out) in zip(models, folds, strict=True):
            log_p.append(self._log_posteriors(model, _safe_indexing(X, held_out)))
            codes = np.searchsorted(self.classes_, y[rows])
            mass = np.bincount(codes, weights=None if weight is None else weight[rows])
            log_prior.append(np.log(read_prior(self.training_prior, self._names(), mass)))
        left_out = np.concatenate([held_out for _, held_out in folds])
        numbers = np.repeat(np.arange(len(folds)), [len(held_out) for _, held_out in folds])
        return np.concatenate(log_p), np.stack(log_prior)[numbers], left_out, numbers

    def _require_weight_in_folds(self, folds: list[Any], y: NDArray[Any], weight: Any) -> None:
        for rows, _ in folds if weight is not None else ():
            unweighted = np.setdiff1d(y[rows], y[rows][weight[rows] > 0])
            if unweighted.size:
                raise InputError(
                    f"sample_weight must be positive for some sample of every class in every fold; "
                    f"in one it is zero for all samples of {quote_each(unweighted.tolist())}. "
                    f"Leave samples without weight out, or pass fewer folds."
                )

    def _log_posteriors(self, source: Any, X: Any) -> Floats:
        """Relative to the best in their row."""
        log_p = log_posteriors(source, X, self._names(), self.response_method)
        return log_p - log_p.max(axis=1, keepdims=True)

    def _estimator(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from sklearn.linear_model import LogisticRegression  # slow to import

        return LogisticRegression()

    def _is_table(self) -> bool:
        if isinstance(self.estimator, str) and self.estimator not in TABLES:
            raise InputError(
                f"estimator must be a classifier or one of {', '.join(TABLES)}; got "
                f"{quote(self.estimator)}. Choose one of these."
            )
        return isinstance(self.estimator, str)

    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _finish_loading(self) -> None:
        if self._is_prefit():
            self.estimator = self.estimator_  # one object before, and one copy in the file

    @property
    def n_features_in_(self) -> int:
        """Number of features in ``fit``."""
        check_is_fitted(self)
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Feature names in ``fit``, if they had names."""
        check_is_fitted(self)
        return self.estimator_.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if not isinstance(self.estimator, str):
            tags.input_tags = get_tags(self._estimator()).input_tags
        return tags
