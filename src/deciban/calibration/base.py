"""Base of the calibrators: scores become evidence, and that becomes calibrated evidence."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from deciban._estimation.classifier import EvidenceClassifierMixin, over_partitions
from deciban._estimation.samples import encode_classes, read_samples, require_numbers
from deciban._persistence.registry import PersistentMixin, register
from deciban._validation.arrays import Floats, is_dask
from deciban._validation.labels import align_by_index, index_pair
from deciban._validation.scalars import require_fraction
from deciban.calibration.scores import ScoreReader, order_by_class
from deciban.evidence import Evidence
from deciban.evidence.bayes import balance_weights
from deciban.exceptions import InputError, ZeroPartsError
from deciban.metrics.labelled import Labelled, Trials, class_sizes
from deciban.simplex import Basis


class Calibrator(PersistentMixin, EvidenceClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base class for calibrators."""

    prior: Any
    fuse: bool | None
    n_features_in_: int
    _reader: ScoreReader
    _poor_score: ClassVar[bool] = False  # for scikit-learn's checks: it keeps the order of scores

    def __init__(self, *, prior: Any = "uniform", fuse: bool | None = None) -> None:
        self.prior = prior
        self.fuse = fuse

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scores with known classes.

        Parameters
        ----------
        X : array of shape (n_samples, n_classes), (n_samples, 1) or Evidence
            Log-likelihoods, in the order of the sorted classes unless the columns of a frame are
            named after them; or LLRs of two classes, in favor of the second. Any other number of
            columns is fused by logistic regression, with a warning unless ``fuse`` is True. An
            :class:`AffineCalibrator` also takes Dask arrays and frames larger than memory.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        """
        if is_dask(X, y):
            self._fit_collections(X, y, sample_weight)
        else:
            self._warn_about_fit(self._learn(X, y, sample_weight))
        return self

    def _fit_collections(self, X: Any, y: Any, sample_weight: Any) -> None:
        raise InputError(
            f"X must fit into memory for {type(self).__name__}; got a Dask collection. Compute it, "
            f"or use AffineCalibrator."
        )

    @over_partitions
    def transform(self, X: Any) -> Floats:
        """Calibrated log-likelihoods in nats, (n_samples, n_classes), each row centered."""
        values = self.evidence(X).log_likelihoods
        with np.errstate(invalid="ignore"):
            centered = np.asarray(values - values.mean(axis=1, keepdims=True))
        # If a class is ruled out there is no center: the best class is at zero.
        return np.where(np.isfinite(centered), centered, values - values.max(axis=1, keepdims=True))

    @over_partitions
    def evidence(self, X: Any) -> Evidence:
        """Calibrated evidence over the classes; X is as in :meth:`fit`."""
        return self._calibrate(self._uncalibrated(X))

    def interval(
        self, X: Any, a: Hashable = None, b: Hashable = None, *, confidence: float = 0.95
    ) -> tuple[Floats, Floats]:
        """Confidence interval for each LLR, from the finite training data.

        It covers the LLR that the same calibrator would give after a fit to unlimited data; the
        spread of LLRs over new samples is no part of it. Affine, Gaussian and fusion calibrators
        have it; put any other calibrator into :class:`BootstrapCalibrator`.

        Parameters
        ----------
        X : as in :meth:`evidence`
        a, b : classes, optional
            The LLR is that of ``a`` against ``b``; by default, of two classes, that of the second
            against the first, and of more, each class's log-likelihood as in :meth:`transform`.
        confidence : float, default 0.95

        Returns
        -------
        low, high : arrays of shape (n_samples,), or (n_samples, n_classes) for more classes
        """
        check_is_fitted(self)
        require_fraction(confidence, "confidence")
        if getattr(getattr(self, "_reader", None), "fusion", None) is not None:
            raise InputError(
                "interval needs scores from one system; got several, which are fused first. Use "
                "FusionCalibrator, or put this into BootstrapCalibrator."
            )
        D, names = len(self.classes_), self._names()
        if a is None and b is None and D > 2:
            return self._interval(X, np.eye(D) - 1 / D, confidence)
        i, j = (1, 0) if a is None and b is None else index_pair(a, b, names)
        low, high = self._interval(X, np.eye(D)[[i]] - np.eye(D)[[j]], confidence)
        return low[:, 0], high[:, 0]

    def _uncalibrated(self, X: Any) -> Evidence:
        check_is_fitted(self)
        return self._reader(self._validate_scores(order_by_class(X, self._names())))

    def _validate_scores(self, X: Any) -> Floats:
        require_numbers(X)
        # Infinite scores are evidence, too; NaN is refused when they are read as evidence.
        options = {"reset": False, "dtype": np.float64, "ensure_all_finite": False}
        return np.asarray(validate_data(self, X, **options))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns of :meth:`transform`: the classes, as text."""
        check_is_fitted(self)
        return np.array([str(label) for label in self.classes_.tolist()], dtype=object)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> Labelled:
        """Fit without warnings about the map, and return the samples."""
        X, y, sample_weight = align_by_index(X=X, y=y, sample_weight=sample_weight)
        fuse = False if isinstance(X, Evidence) and self.fuse is None else self.fuse
        if isinstance(X, Evidence) or hasattr(X, "columns"):
            X = order_by_class(X, tuple(encode_classes(y)[0].tolist()), fitting=True)
        require_columns(X)
        scores, codes, weight = read_samples(self, X, y, sample_weight, ensure_all_finite=False)
        share = balance_weights(codes, weight, self.prior_)
        reader = ScoreReader(self._names(), fuse)
        sizes, ridge = class_sizes(codes, weight), self._fusion_ridge()
        self._reader = reader.learn(scores, codes, share, self.prior_, sizes, ridge)
        samples = Labelled(self._reader(scores), codes, weight)
        self._fit(samples)
        return samples

    def _finish_loading(self) -> None:
        k, D, reader = self.n_features_in_, len(self.classes_), self._reader
        if reader.classes != self._names():
            raise ValueError("scores of other classes")
        if reader.fusion is None and not (k == D or (k == 1 and D == 2)):
            raise ValueError(f"{k} scores of {D} classes")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self._poor_score
        return tags

    # --- for the subclasses ------------------------------------------------------------

    def _require_same_classes(self, *others: Any) -> None:
        """Called on loading: ValueError unless others are fitted to the same classes."""
        for one in others:
            if "classes_" not in vars(one) or one.classes_.tolist() != self.classes_.tolist():
                raise ValueError("a calibrator of other classes")

    def _fit(self, samples: Labelled) -> None:
        raise NotImplementedError

    def _calibrate(self, evidence: Evidence) -> Evidence:
        raise NotImplementedError

    def _interval(self, X: Any, contrasts: Floats, confidence: float) -> tuple[Floats, Floats]:
        """Ends of intervals for contrasts of log-likelihoods, each (n_samples, n_contrasts)."""
        raise InputError(
            f"interval needs an affine, Gaussian, fusion or bootstrap calibrator; got "
            f"{type(self).__name__}. Put it into BootstrapCalibrator and fit that."
        )

    def _read_like(self, other: Calibrator) -> None:
        """Take the input of another calibrator, and read it as the same evidence."""
        for name in ("_reader", "n_features_in_", "feature_names_in_"):
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))

    def _fusion_ridge(self) -> float | None:
        """Penalty of the weights of scores that are fused; None for the default."""
        return None

    def _warn_about_fit(self, samples: Labelled) -> None:
        """Warn if the fitted map should not be used as it is."""


@register(_reader=ScoreReader)
class IdentityCalibrator(Calibrator):
    """Evidence as it is: the choice when no map does better.

    Parameters
    ----------
    prior, fuse
        As for :class:`AffineCalibrator`; ``prior`` is that of ``predict_proba`` only.

    See Also
    --------
    deciban.metrics.calibration_test : Whether evidence is calibrated as it is.

    Examples
    --------
    >>> IdentityCalibrator().fit([[-1.0], [2.0]], [0, 1]).evidence([[3.0]]).llr(1, 0)
    array([3.])
    """

    _poor_score = True

    def _fit(self, samples: Labelled) -> None:
        pass

    def _calibrate(self, evidence: Evidence) -> Evidence:
        return evidence


class TwoClassCalibrator(Calibrator):
    """Base class for two classes: LLRs in favor of the second, in and out."""

    def _fit(self, samples: Labelled) -> None:
        if samples.evidence.n_classes != 2:
            raise InputError(
                f"Only binary classification is supported. The type of the target is multiclass: "
                f"y must hold two classes; got {samples.evidence.n_classes}. Choose two, or "
                f"another calibrator."
            )
        self._fit_trials(samples.pair(1, 0), samples.mass)

    def _calibrate(self, evidence: Evidence) -> Evidence:
        first, second = evidence.classes
        return Evidence.from_llr(self._calibrate_llr(evidence.llr(second, first)), second, first)

    def _finish_loading(self) -> None:
        super()._finish_loading()
        if len(self.classes_) != 2:
            raise ValueError(f"{len(self.classes_)} classes")

    def _fit_trials(self, trials: Trials, mass: Floats) -> None:
        """Fit to the LLRs of both classes; ``mass`` holds the sum of weights in each."""
        raise NotImplementedError

    def _calibrate_llr(self, llr: Floats) -> Floats:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def finite_ilr(evidence: Evidence, basis: Basis | None = None) -> Floats:
    """ILRLs; a class that is ruled out is an error."""
    try:
        return evidence.ilr(basis)
    except ZeroPartsError as error:
        two = "Use IsotonicCalibrator for infinite LLRs" if evidence.n_classes == 2 else ""
        several = "Replace zeros by evidence.replace_zeros"
        raise ZeroPartsError(
            f"X must be finite for this calibrator; row {error.rows[0]} has infinity, which rules "
            f"a class out. {two or several}, or clip them, on new samples as on these.",
            rows=error.rows,
        ) from None


def require_columns(X: Any) -> None:
    """Refuse one dimension, which could be one sample or one column."""
    if isinstance(X, Mapping) and not hasattr(X, "shape"):  # some sparse matrices are mappings
        raise InputError(
            f"X must be an array, a frame or Evidence; got {type(X).__name__}. For the scores of "
            f"several systems use FusionCalibrator."
        )
    flat_list = isinstance(X, list | tuple) and len(X) > 0 and np.isscalar(X[0])
    if flat_list or (getattr(X, "ndim", None) == 1 and not hasattr(X, "columns")):
        raise InputError(
            "X must have one sample on each row and one column for each score; got one dimension. "
            "Reshape your data: llr[:, None] for LLRs of two classes, in favor of the second, or "
            "Evidence.from_llr(llr, a, b)."
        )
