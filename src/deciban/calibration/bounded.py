"""Wrappers for any calibrator: empirical bounds, and intervals by the bootstrap."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
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
from deciban._validation.labels import align_by_index, weights_for_fit
from deciban._validation.scalars import require_positive_number, require_whole
from deciban.calibration.affine import clone_calibrator
from deciban.calibration.base import Calibrator
from deciban.calibration.fusion import FusionCalibrator
from deciban.calibration.scores import ScoreReader
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.designs import Items, read_design, split_items
from deciban.metrics.intervals import expand_confidence, tails
from deciban.metrics.labelled import Labelled, Trials


class _Wrapper(Calibrator):
    calibrator: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.calibrator, BaseEstimator):
            inner = get_tags(self.calibrator)
            tags.classifier_tags, tags.input_tags = inner.classifier_tags, inner.input_tags
        return tags


@register(class_counts_=None, calibrator_=Calibrator, resampled_=list, n_units_=float)
class BootstrapCalibrator(_Wrapper):
    """Intervals by the bootstrap, for any calibrator and design.

    The evidence is that of the calibrator, fitted to all samples; :meth:`interval` comes from fits
    to resamples. With few samples, resamples err to one side of the fit: each end is that of the
    percentile interval or of its mirror image about the fit, whichever is further out. Percentiles
    are expanded for small samples (Hesterberg).

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
        Number of samples in the smallest class, or of groups or items.

    See Also
    --------
    AffineCalibrator : Has intervals from the curvature of its cost.

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
        """Fit the calibrator to all samples, and to resamples.

        Parameters
        ----------
        X, y, sample_weight : as for the calibrator
        groups : array of shape (n_samples,), optional
            Sampling unit, such as the speaker: entire groups are drawn.
        items : two arrays of shape (n_samples,), optional
            The two items that each sample compares: items are drawn.
        """
        require_whole(self.n_resamples, "n_resamples", 20)
        fitted = clone_calibrator(self.calibrator).fit(X, y, sample_weight)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        X, y, sample_weight, groups, *both = align_by_index(
            X=X, y=y, sample_weight=sample_weight, groups=groups, **split_items(items)
        )
        codes = encode_classes(y)[1]
        weight = weights_for_fit(sample_weight, len(codes))
        counts = np.flatnonzero(weight)  # samples without weight do not count
        design = read_design(codes, groups, both).select(counts)
        classes = np.bincount(codes[counts])
        self.n_units_ = float(design.min_units if design.depends else classes.min())
        rng = np.random.default_rng(self.random_state)
        self.calibrator_, self.resampled_ = fitted, []
        for _ in range(self.n_resamples):
            drawn = np.zeros(len(codes))
            drawn[counts] = weight[counts] * design.draw_counts(rng)
            self.resampled_.append(clone_calibrator(self.calibrator))
            self.resampled_[-1]._learn(X, y, drawn)
        return self

    @property
    def prior_(self) -> Floats:
        """The calibrator's prior, of shape (n_classes,)."""
        return self.calibrator_.prior_

    @over_partitions
    def evidence(self, X: Any) -> Evidence:
        """Evidence from the calibrator fitted to all samples."""
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
        self._require_same_classes(self.calibrator_, *self.resampled_)


@register(_reader=ScoreReader, calibrator_=Calibrator, bounds_="D D")
class BoundedCalibrator(_Wrapper):
    """Calibrated evidence limited to what the data support.

    An LLR is supported as long as Bayes decisions that act on it would cost less than decisions
    without evidence, even with one more misleading sample in each class (the empirical lower and
    upper bounds of Vergeer et al.). With more than two classes each pair has a bound from its
    samples, tightened if a third class leaves less (shortest paths). If a pair exceeds its bound
    the less likely class is raised, no more than needed: evidence within all bounds is unchanged.
    Many classes with few samples leave little: the best posterior among D classes with n samples
    each stays below 1 / (1 + (D - 1) / (n + 1)).

    Parameters
    ----------
    calibrator : calibrator, default AffineCalibrator()
    misleading : float, default 1
        Number of misleading samples to add to each class. A sample with weight two counts as two.
    prior, fuse
        As for :class:`AffineCalibrator`; the bounds do not depend on ``prior``.

    Attributes
    ----------
    calibrator_ : calibrator
        The fitted calibrator, which returns unbounded evidence from the same input.
    bounds_ : array of shape (n_classes, n_classes)
        ``bounds_[i, j]`` is the largest LLR for class i against class j, in nats; zero on the
        diagonal. For two classes LLRs lie between ``-bounds_[0, 1]`` and ``bounds_[1, 0]``.

    See Also
    --------
    IsotonicCalibrator, KernelDensityCalibrator : Return LLRs that the data may not support.

    References
    ----------
    Vergeer, van Es, de Jongh, Alberink and Stoel (2016), Numerical likelihood ratios outputted by
    LR systems are often based on extrapolation: when to stop extrapolating?

    Examples
    --------
    >>> from deciban.calibration import IsotonicCalibrator
    >>> llr, y = np.arange(-10.0, 10.0)[:, None], np.arange(20) >= 10
    >>> bounded = BoundedCalibrator(IsotonicCalibrator()).fit(llr, y)
    >>> bounded.evidence([[50.0]]).llr(True, False).round(3)  # log(10): one in ten may mislead
    array([2.303])
    """

    def __init__(
        self,
        calibrator: Any = None,
        *,
        misleading: float = 1.0,
        prior: Any = "uniform",
        fuse: bool | None = None,
    ) -> None:
        self.calibrator = calibrator
        self.misleading = misleading
        self.prior = prior
        self.fuse = fuse

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> Labelled:
        remedies = {  # bounds are resampled, too; systems would be taken for classes
            BootstrapCalibrator: "Turn them round: BootstrapCalibrator(BoundedCalibrator()).",
            FusionCalibrator: "Fit BoundedCalibrator(IdentityCalibrator()) to fusion.evidence(X).",
        }
        if (remedy := remedies.get(type(self.calibrator))) is not None:
            raise InputError(f"calibrator must not be a {type(self.calibrator).__name__}. {remedy}")
        return super()._learn(X, y, sample_weight)

    def _fit(self, samples: Labelled) -> None:
        require_positive_number(self.misleading, "misleading")
        inner = clone_calibrator(self.calibrator)
        # What is separable is bounded here: there is nothing to warn of.
        learn = inner._learn if isinstance(inner, Calibrator) else inner.fit
        learn(samples.evidence, self.classes_[samples.codes], samples.weight)
        self.calibrator_ = inner
        calibrated = replace(samples, evidence=inner.evidence(samples.evidence))
        self._read_like(self)
        mass = samples.mass
        bounds = np.zeros((len(mass), len(mass)))
        for i, j in permutations(range(len(mass)), 2):
            bounds[i, j] = upper_bound(calibrated.pair(i, j), mass[i], mass[j], self.misleading)
        for k in range(len(bounds)):  # shortest paths, by way of any other classes
            bounds = np.minimum(bounds, bounds[:, [k]] + bounds[k])
        self.bounds_ = bounds

    def _fusion_ridge(self) -> float | None:
        inner = self.calibrator
        return inner._fusion_ridge() if isinstance(inner, Calibrator) else None

    def _read_like(self, other: Calibrator) -> None:
        super()._read_like(other)
        if hasattr(self.calibrator_, "_reader"):
            self.calibrator_._read_like(other)

    def _calibrate(self, evidence: Evidence) -> Evidence:
        inner = self.calibrator_
        free = inner._calibrate if hasattr(inner, "_reader") else inner.evidence
        values = free(evidence).log_likelihoods
        values = values - values.max(axis=1, keepdims=True)
        raised = values  # no more than needed, since bounds are shortest paths
        for i, row in enumerate(self.bounds_):
            raised = np.maximum(raised, values[:, [i]] - row)
        return Evidence(raised, evidence.classes)

    def _finish_loading(self) -> None:
        super()._finish_loading()
        inner = self.calibrator_
        self._require_same_classes(inner)
        if hasattr(inner, "_reader") and inner.n_features_in_ != self.n_features_in_:
            raise ValueError("a calibrator of other scores")


def upper_bound(trials: Trials, n_target: float, n_other: float, misleading: float) -> float:
    """The LLR above which decisions that act on LLRs cost more than rejecting all.

    At threshold t, in units of the cost of a miss, they cost P_miss(t) + e^t P_fa(t) including the
    misleading samples; rejecting all costs 1. Rates change only at LLRs that occur, so the first t
    with cost 1 is exact.
    """
    llr = np.unique(trials.llr)
    steps = np.concatenate([[0.0], llr[(llr > 0) & (llr < np.inf)]])
    # The rates between two steps: a sample on the threshold is accepted, above it is not.
    hits, false_alarms = (
        (1 - scores.below(steps, inclusive=True)) * n
        for scores, n in ((trials.target, n_target), (trials.other, n_other))
    )
    with np.errstate(divide="ignore"):
        crossing = np.log(hits / (n_target + misleading)) - np.log(
            (false_alarms + misleading) / (n_other + misleading)
        )
    k = int(np.argmax(crossing < np.append(steps[1:], np.inf)))
    return float(max(steps[k], crossing[k]))
