"""What all calibrators share: reading scores, classes and weights, and giving evidence."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from deciban._estimation.affine import AffineMap
from deciban._estimation.classifier import EvidenceClassifierMixin
from deciban._estimation.samples import balance_weights, read_samples
from deciban._persistence.encoding import register_value
from deciban._persistence.registry import PersistentMixin
from deciban.calibration.scores import Reader, ordered_by_class
from deciban.evidence import Evidence
from deciban.exceptions import InputError, ZeroPartsError
from deciban.simplex import Basis

register_value(Basis, contrast="D k", classes=tuple | None)
register_value(AffineMap, matrix="k d", offset="k")
register_value(Reader, classes=tuple, fuse=bool | None, fusion=AffineMap | None)


class Calibrator(PersistentMixin, EvidenceClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
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
        if isinstance(X, Evidence) or hasattr(X, "columns"):
            X = ordered_by_class(X, tuple(np.unique(np.asarray(y)).tolist()), fitting=True)
        _require_columns(X)
        scores, truth, weight = read_samples(self, X, y, sample_weight, ensure_all_finite=False)
        names = tuple(self.classes_.tolist())
        share = balance_weights(truth, weight, self.prior_)
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
