"""Any calibrator, fitted to resamples as well: what its training data leave open."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from deciban._estimation.classifier import over_partitions
from deciban._estimation.samples import encode_classes
from deciban._persistence.registry import register
from deciban._validation.arrays import Floats
from deciban._validation.labels import align_by_index, read_weights
from deciban._validation.scalars import require_whole
from deciban.calibration.affine import clone_calibrator
from deciban.calibration.base import Calibrator
from deciban.evidence import Evidence
from deciban.metrics.designs import Items, read_design, split_items
from deciban.metrics.intervals import expand_confidence, tails


@register(class_counts_=None, calibrator_=Calibrator, resampled_=list, n_units_=float)
class BootstrapCalibrator(Calibrator):
    """A calibrator with intervals by the bootstrap, for any kind and design of the samples.

    The evidence is that of the calibrator, fitted to all samples; :meth:`interval` comes from the
    same calibrator fitted to resamples. With few samples, resamples err to one side of the fit:
    each end is that of the percentile interval or of its mirror image about the fit, whichever is
    further out. Percentiles are expanded for small samples (Hesterberg).

    Parameters
    ----------
    calibrator : calibrator, default AffineCalibrator()
    n_resamples : int, default 200
    random_state : int, default 0

    Attributes
    ----------
    calibrator_ : calibrator
    resampled_ : list of calibrators
    n_units_ : float
        Number of samples of the smallest class, or of groups or items.
    classes_, prior_ : arrays of shape (n_classes,)
    n_features_in_ : int

    See Also
    --------
    AffineCalibrator : Has intervals of its own, from the curvature of its cost.

    References
    ----------
    Hesterberg (2015), What teachers should know about the bootstrap.

    Examples
    --------
    >>> from deciban.calibration import KernelDensityCalibrator
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 200)
    >>> llr = rng.normal(4 * y - 2, 2)
    >>> calibrator = BootstrapCalibrator(KernelDensityCalibrator(), n_resamples=50)
    >>> low, high = calibrator.fit(llr[:, None], y).interval([[1.0]])
    >>> bool(low[0] < 1.0 < high[0])
    True
    """

    def __init__(
        self, calibrator: Any = None, *, n_resamples: int = 200, random_state: int = 0
    ) -> None:
        self.calibrator = calibrator
        self.n_resamples = n_resamples
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        items: Items = None,
    ) -> Self:
        """Fit the calibrator to all samples, and to resamples of them.

        Parameters
        ----------
        X, y, sample_weight : as for the calibrator
        groups : array of shape (n_samples,), optional
            Unit that was sampled, such as the speaker: whole groups are drawn.
        items : two arrays of shape (n_samples,), optional
            The two items that each sample compares: items are drawn.

        Returns
        -------
        self
        """
        require_whole(self.n_resamples, "n_resamples", 20)
        blank = clone_calibrator(self.calibrator)
        fitted = clone_calibrator(blank).fit(X, y, sample_weight)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        sides = split_items(items)
        X, y, sample_weight, groups, *both = align_by_index(
            X=X, y=y, sample_weight=sample_weight, groups=groups, **sides
        )
        codes = encode_classes(y)[1]
        weight = read_weights(sample_weight, len(codes), for_fit=True)
        weight = np.ones(len(codes)) if weight is None else weight
        counts = np.flatnonzero(weight)  # samples without weight do not count
        design = read_design(codes, groups, both).select(counts)
        fewest = design.fewest_units if design.depends else np.bincount(codes[counts]).min()
        self.n_units_ = float(fewest)
        rng = np.random.default_rng(self.random_state)
        self.calibrator_, self.resampled_ = fitted, []
        for _ in range(self.n_resamples):
            drawn = np.zeros(len(codes))
            drawn[counts] = weight[counts] * design.draw_counts(rng)
            one = clone_calibrator(blank)
            one._learn(X, y, drawn)
            self.resampled_.append(one)
        return self

    @property
    def prior_(self) -> Floats:
        """Prior of the calibrator, of shape (n_classes,)."""
        return self.calibrator_.prior_

    @over_partitions
    def evidence(self, X: Any) -> Evidence:
        """Evidence of the calibrator that was fitted to all samples.

        Parameters
        ----------
        X : as for the calibrator

        Returns
        -------
        Evidence
        """
        check_is_fitted(self)
        return self.calibrator_.evidence(X)

    def _interval(self, X: Any, contrasts: Floats, confidence: float) -> tuple[Floats, Floats]:
        level = expand_confidence(confidence, self.n_units_ - 1)
        value, *resamples = (
            one.evidence(X).log_likelihoods @ contrasts.T
            for one in (self.calibrator_, *self.resampled_)
        )
        ends = np.quantile(np.stack(resamples), tails(level), axis=0, method="inverted_cdf")
        with np.errstate(invalid="ignore"):  # infinite LLRs have no mirror image
            mirrored = 2 * value - ends[::-1]
        return np.fmin(ends[0], mirrored[0]), np.fmax(ends[1], mirrored[1])

    def _finish_loading(self) -> None:
        for one in (self.calibrator_, *self.resampled_):
            fitted = isinstance(one, Calibrator) and "classes_" in vars(one)
            if not fitted or one.classes_.tolist() != self.classes_.tolist():
                raise ValueError("a calibrator of other classes")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.calibrator, BaseEstimator):
            inner = get_tags(self.calibrator)
            tags.classifier_tags, tags.input_tags = inner.classifier_tags, inner.input_tags
        return tags
