"""Monotone recalibration of two classes: pool adjacent violators."""

from __future__ import annotations

import warnings
from typing import Any

from deciban._persistence.registry import register, register_value
from deciban._validation.arrays import Floats
from deciban.calibration.base import TwoClassCalibrator
from deciban.calibration.scores import ScoreReader
from deciban.metrics.labelled import Trials
from deciban.metrics.pav import PooledBlocks, pool

register_value(PooledBlocks, low="n", high="n", target="n", other="n")


class ReversedScoresWarning(UserWarning):
    """Scores fall where they should rise."""


@register(_reader=ScoreReader, blocks_=PooledBlocks)
class IsotonicCalibrator(TwoClassCalibrator):
    """Evidence for two classes through the monotone map with the smallest cost: PAV.

    On the samples that it was fitted to, the remaining cost is ``cllr_min``. Beyond the last
    sample of a class the map gives -inf or inf, at an infinite cost for a single new sample on the
    wrong side: put it into :class:`BoundedCalibrator` for evidence on new samples.

    Parameters
    ----------
    prior, fuse
        As for :class:`AffineCalibrator`; the map does not depend on ``prior``.

    Attributes
    ----------
    blocks_ : PooledBlocks
    classes_, prior_ : arrays of shape (2,)
    n_features_in_ : int

    See Also
    --------
    deciban.metrics.pav : The map, without an estimator.
    BoundedCalibrator : Keeps its evidence finite.

    Examples
    --------
    >>> llr, y = [[-2.0], [-1.0], [0.0], [3.0]], [0, 1, 0, 1]
    >>> IsotonicCalibrator().fit(llr, y).evidence(llr).llr(1, 0)
    array([-inf,   0.,   0.,  inf])
    """

    blocks_: PooledBlocks

    def __init__(self, *, prior: Any = "uniform", fuse: bool | None = None) -> None:
        self.prior = prior
        self.fuse = fuse

    def _fit_trials(self, trials: Trials, mass: Floats) -> None:
        self.blocks_ = pool(trials)
        if len(self.blocks_.llr) == 1 and trials.target.llr.mean() != trials.other.llr.mean():
            first, second = self.classes_.tolist()
            warnings.warn(
                f"X should rise with class {second!r}; it does not, so that no evidence is left "
                f"after a monotone map. Where it rises with {first!r}, pass "
                f"Evidence.from_llr(x, {first!r}, {second!r}).",
                ReversedScoresWarning,
                stacklevel=5,
            )

    def _calibrate_llr(self, llr: Floats) -> Floats:
        return self.blocks_.transform(llr)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # it keeps the order of the scores
        return tags
