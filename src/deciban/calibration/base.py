"""What all calibrators share: reading scores, classes and weights, and giving evidence."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from deciban._estimation.affine import AffineMap
from deciban._persistence.encoding import value_class
from deciban._persistence.registry import KeptInFiles
from deciban._validation import listed, to_numpy
from deciban.calibration.scores import Reader, ordered_by_class
from deciban.evidence import Evidence
from deciban.evidence.priors import chosen_prior
from deciban.exceptions import InputError, ZeroPartsError
from deciban.simplex import Basis

value_class(Basis, contrast="D k", classes=tuple | None)
value_class(AffineMap, matrix="k d", offset="k")
value_class(Reader, classes=tuple, fuse=bool | None, fusion=AffineMap | None)


class EvidenceGivingMixin(ClassifierMixin):  # type: ignore[misc]
    """Posteriors, decisions and a score from ``evidence`` and ``prior_``."""

    classes_: np.ndarray
    prior_: np.ndarray

    def evidence(self, X: Any) -> Evidence:
        """The evidence that each sample holds about the classes."""
        raise NotImplementedError

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Natural logarithms of the posterior probabilities under ``prior_``."""
        evidence = self.evidence(X)
        return evidence.log_posterior(self.prior_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Posterior probabilities under ``prior_``, (n_samples, n_classes)."""
        evidence = self.evidence(X)
        return evidence.posterior(self.prior_)

    def predict(self, X: Any) -> np.ndarray:
        """The class of the highest posterior probability under ``prior_``."""
        best = np.argmax(self.predict_log_proba(X), axis=1)
        return self.classes_[best]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the cross-entropy of the posteriors, in nats: larger is better.

        A proper score, so that a grid search finds the best evidence. Classes count by ``prior_``;
        those that are not in ``y`` do not count. For accuracy see :func:`deciban.metrics.accuracy`.
        """
        log_p = self.predict_log_proba(X)
        truth = positions(y, self.classes_)
        share = balanced(truth, weights_of(sample_weight, len(log_p)), self.prior_)
        with np.errstate(invalid="ignore"):
            terms = share * log_p[np.arange(len(truth)), truth]
        return float(np.sum(terms[share > 0]))


class Calibrator(KeptInFiles, EvidenceGivingMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the calibrators: scores become evidence, and that becomes calibrated evidence."""

    prior: Any
    fuse: bool | None
    n_features_in_: int
    _reader: Reader

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scores whose classes are known.

        Parameters
        ----------
        X : array of shape (n_samples, n_classes), (n_samples, 1) or Evidence
            Log-likelihoods, in the order of the sorted classes unless the columns of a frame are
            named after them; or LLRs of two classes, in favour of the second. Any other number of
            columns is fused by logistic regression, with a warning; ``fuse`` says so beforehand.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        """
        scores, labels, weight = self._read_for_fit(X, y, sample_weight)
        self.classes_, truth = np.unique(labels, return_inverse=True)
        require_two_classes(self.classes_)
        names = tuple(self.classes_.tolist())
        self.prior_ = chosen_prior(self.prior, names, np.bincount(truth, weights=weight))
        share = balanced(truth, weight, self.prior_)
        self._reader = Reader(names, self.fuse).learn(scores, truth, share, self.prior_)
        self._fit(self._reader(scores), truth, weight)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Calibrated log-likelihoods in nats, (n_samples, n_classes), each row centred."""
        values = self.evidence(X).log_likelihoods
        with np.errstate(invalid="ignore"):
            centred = np.asarray(values - values.mean(axis=1, keepdims=True))
        # Where a class is ruled out there is no centre: the best class is at zero.
        return np.where(np.isfinite(centred), centred, values - values.max(axis=1, keepdims=True))

    def evidence(self, X: Any) -> Evidence:
        """Calibrated evidence over the classes."""
        check_is_fitted(self)
        X = ordered_by_class(X, tuple(self.classes_.tolist()))
        # Infinite scores are evidence, too; NaN is refused when they are read as evidence.
        options = {"reset": False, "dtype": np.float64, "ensure_all_finite": False}
        return self._calibrated(self._reader(validate_data(self, X, **options)))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of :meth:`transform`: the classes, as text."""
        check_is_fitted(self)
        return np.array([str(label) for label in self.classes_.tolist()], dtype=object)

    # --- for the subclasses ------------------------------------------------------------

    def _fit(self, evidence: Evidence, truth: np.ndarray, weight: np.ndarray) -> None:
        raise NotImplementedError

    def _calibrated(self, evidence: Evidence) -> Evidence:
        raise NotImplementedError

    def _require_whole(self) -> None:
        k, D, reader = self.n_features_in_, len(self.classes_), self._reader
        if reader.classes != tuple(self.classes_.tolist()):
            raise ValueError("scores of other classes")
        if reader.fusion is None and not (k == D or (k == 1 and D == 2)):
            raise ValueError(f"{k} scores of {D} classes")

    def _read_for_fit(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores, labels and weights of the samples that count."""
        if isinstance(X, Evidence) or hasattr(X, "columns"):
            X = ordered_by_class(X, tuple(np.unique(np.asarray(y)).tolist()), fitting=True)
        _require_columns(X)
        options = {"dtype": np.float64, "ensure_all_finite": False, "ensure_min_samples": 2}
        scores, labels = validate_data(self, X, y, **options)
        check_classification_targets(labels)
        weight = weights_of(sample_weight, len(scores))
        kept = weight > 0
        lost = set(labels.tolist()) - set(labels[kept].tolist())
        if lost:
            raise InputError(
                f"sample_weight must be positive for some sample of every class; it is zero for "
                f"all of {listed(sorted(lost, key=str))}. Leave out its samples, and its column."
            )
        return scores[kept], labels[kept], weight[kept]


def _require_columns(X: Any) -> None:
    flat_list = isinstance(X, list | tuple) and len(X) > 0 and np.isscalar(X[0])
    if flat_list or (getattr(X, "ndim", None) == 1 and not hasattr(X, "columns")):
        raise InputError(
            "X must have one sample on each row and one column for each score; got one dimension. "
            "Reshape your data: llr[:, None] for LLRs of two classes, in favour of the second, or "
            "Evidence.from_llr(llr, a, b)."
        )


def finite_ilr(evidence: Evidence, basis: Basis | None = None) -> np.ndarray:
    """ILRLs of evidence, for calibrators that cannot do with a class ruled out."""
    rows = np.flatnonzero(np.isneginf(evidence.log_likelihoods).any(axis=1))
    if rows.size:
        raise ZeroPartsError(
            f"X must be finite for this calibrator; row {rows[0]} has infinity, which rules a "
            f"class out. Use IsotonicCalibrator for infinite LLRs, or clip them, on new samples "
            f"as on these.",
            rows=rows[:5].tolist(),
        )
    return evidence.ilr(basis)


def weights_of(sample_weight: Any, n_samples: int) -> np.ndarray:
    """Weights of the samples, some of which may be zero; ones by default."""
    if sample_weight is None:
        return np.ones(n_samples)
    weight = to_numpy(sample_weight, "sample_weight")
    if weight.shape != (n_samples,):
        raise InputError(
            f"sample_weight must have one weight for each of {n_samples} samples; got shape "
            f"{weight.shape}. Give one number a sample."
        )
    if not np.isfinite(weight).all() or weight.min() < 0 or weight.max() == 0:
        raise InputError(
            "sample_weight must be finite, not negative, and positive for some sample; it is not. "
            "Give weights of zero or more."
        )
    return weight


def require_two_classes(classes: np.ndarray) -> None:
    """Refuse labels that are all the same."""
    if len(classes) < 2:
        raise InputError(
            f"y must hold at least two classes; got one class, {classes.tolist()[0]!r}. "
            f"Add samples of another."
        )


def balanced(truth: np.ndarray, weight: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Weights by which each class that occurs counts by its prior; they sum to one."""
    mass = np.bincount(truth, weights=weight, minlength=len(prior))
    share = np.where(mass > 0, prior, 0.0) / np.where(mass > 0, mass, 1.0)
    return weight * (share / (share @ mass))[truth]


def positions(y: Any, classes: np.ndarray) -> np.ndarray:
    """Where each label stands among the classes."""
    labels = np.asarray(y)
    place = {label: k for k, label in enumerate(classes.tolist())}
    unknown = [label for label in dict.fromkeys(labels.tolist()) if label not in place]
    if unknown:
        raise InputError(
            f"y must hold the classes {listed(classes.tolist())} only; got {listed(unknown)}. "
            f"Drop those samples."
        )
    return np.array([place[label] for label in labels.tolist()], dtype=np.intp)
