"""Monotone recalibration of any number of classes: gradients of convex functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from deciban._estimation.convex_gradient import ConvexGradient, Steps
from deciban._estimation.monotone import Method, fit_monotone
from deciban._persistence.registry import register, register_value
from deciban._validation.scalars import require_number
from deciban.calibration.base import Calibrator, finite_ilr
from deciban.calibration.scores import ScoreReader
from deciban.evidence import Evidence
from deciban.evidence.bayes import balance_weights
from deciban.exceptions import InputError
from deciban.metrics.labelled import Labelled
from deciban.simplex import Basis

register_value(
    ConvexGradient, intercepts="P", slopes="P k", points="P k", temperature=float, tie=float,
    root="k k", center="k", size=float,
)  # fmt: skip


register_value(Steps, edges="E", values="P")


@register(_reader=ScoreReader, map_=ConvexGradient | Steps, gap_=float | None)
class MonotoneCalibrator(Calibrator):
    r"""Evidence through the monotone map with the smallest cost, for any number of classes.

    A map of ILRLs is monotone where it is the gradient of a convex function:
    :math:`(y_m - y_n) \cdot (l_m - l_n) \ge 0` for all samples, and the same around each cycle. The
    best map minimizes the cross-entropy at ``prior``; for two classes it is that of
    :class:`IsotonicCalibrator`, with misleading samples that keep it finite. It does not depend on
    a basis or on the order of the classes.

    Parameters
    ----------
    method : {"auto", "exact", "smooth"}, default "auto"
        The best of all monotone maps, which has steps, or the gradient of a log-sum-exp of 8
        affine functions plus a quadratic form. "auto" takes the exact one for two classes; for
        more it overfits, and thousands of samples take minutes.
    misleading : float, default 1.0
        Number of misleading samples of each class that are added, at infinity ("exact") or at the
        means of the other classes ("smooth"). Of three classes or more, those of a class with a
        small prior weigh little, and "exact" evidence can then be very strong.
    prior, fuse
        As for :class:`AffineCalibrator`.

    Attributes
    ----------
    map_ : callable
        From ILRLs in the Gram-Schmidt basis to calibrated ones.
    gap_ : float or None
        Bound on what the cost exceeds the least by, in nats: 0 for two classes, where the map is
        found directly; None for the smooth method.
    classes_, prior_ : arrays of shape (n_classes,)
    n_features_in_ : int

    See Also
    --------
    IsotonicCalibrator : Two classes, without misleading samples.
    deciban.metrics.decompose : With ``calibrator="monotone"``, what the map would save.

    Examples
    --------
    >>> from deciban import CalibratedGaussian
    >>> family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    >>> l, y = family.sample([1000, 1000, 1000], rng=0)
    >>> bent = family.evidence(l * np.linalg.norm(l, axis=1, keepdims=True))
    >>> calibrator = MonotoneCalibrator().fit(bent, y)
    >>> new, y_new = family.sample([3000, 3000, 3000], rng=1)
    >>> bent = family.evidence(new * np.linalg.norm(new, axis=1, keepdims=True))
    >>> bool(calibrator.score(bent, y_new) > -1.05 * family.expected_cross_entropy(rng=0)[0])
    True
    """

    map_: ConvexGradient | Steps
    gap_: float | None

    def __init__(
        self,
        method: Method = "auto",
        *,
        misleading: float = 1.0,
        prior: Any = "uniform",
        fuse: bool | None = None,
    ) -> None:
        self.method = method
        self.misleading = misleading
        self.prior = prior
        self.fuse = fuse

    def _fit(self, samples: Labelled) -> None:
        misleading = require_number(self.misleading, "misleading")
        if not 0 < misleading < np.inf:
            raise InputError(f"misleading must be positive; got {misleading}. Give 1, say.")
        self.map_, self.gap_ = fit_monotone(
            finite_ilr(samples.evidence),
            samples.codes,
            balance_weights(samples.codes, samples.weight, self.prior_),
            np.log(self.prior_),
            Basis.gram_schmidt(samples.evidence.n_classes).contrast,
            samples.sizes,
            method=self.method,
            misleading=misleading,
        )

    def _calibrate(self, evidence: Evidence) -> Evidence:
        return Evidence._from_ilr(self.map_(finite_ilr(evidence)), None, evidence.classes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # of features that do not rise with the evidence
        return tags

    def _finish_loading(self) -> None:
        super()._finish_loading()
        found = self.map_
        if isinstance(found, Steps):
            if len(self.classes_) != 2 or len(found.values) != len(found.edges) + 1:
                raise ValueError("steps that do not fit")
            if (np.diff(found.edges) < 0).any() or not np.isfinite(found.values).all():
                raise ValueError("edges that do not rise, or values that are not finite")
            return
        if not (found.temperature >= 0 and found.size > 0 and found.tie >= 0):
            raise ValueError("a map that is not the gradient of a convex function")
        if len(found.center) != len(self.classes_) - 1:
            raise ValueError("a map of another number of classes")
