"""Monotone recalibration of two classes: pool adjacent violators."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from deciban._persistence.encoding import register_value
from deciban._persistence.registry import register
from deciban.calibration.base import Calibrator
from deciban.calibration.scores import Reader
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.labelled import Scores, Trials
from deciban.metrics.pav import PooledBlocks, pool

register_value(PooledBlocks, low="n", high="n", target="n", other="n")


class TwoClassCalibrator(Calibrator):
    """Base of the calibrators for two classes: LLRs in favour of the second, in and out."""

    def _fit(self, evidence: Evidence, truth: np.ndarray, weight: np.ndarray) -> None:
        if evidence.n_classes != 2:
            raise InputError(
                f"Only binary classification is supported. The type of the target is multiclass: "
                f"y must hold two classes; got {evidence.n_classes}. Choose two, or another "
                f"calibrator."
            )
        llr = self._llr(evidence)
        target, other = (Scores(llr[truth == k], weight[truth == k]) for k in (1, 0))
        self._fit_llr(Trials(target, other))

    def _calibrated(self, evidence: Evidence) -> Evidence:
        llr = self._calibrated_llr(self._llr(evidence))
        return Evidence.from_llr(llr, evidence.classes[1], evidence.classes[0])

    def _llr(self, evidence: Evidence) -> np.ndarray:
        return evidence.llr(evidence.classes[1], evidence.classes[0])

    def _require_whole(self) -> None:
        super()._require_whole()
        if len(self.classes_) != 2:
            raise ValueError(f"{len(self.classes_)} classes")

    def _fit_llr(self, trials: Trials) -> None:
        raise NotImplementedError

    def _calibrated_llr(self, llr: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class ReversedScoresWarning(UserWarning):
    """Scores that fall where they should rise."""


@register(_reader=Reader, blocks_=PooledBlocks)
class IsotonicCalibrator(TwoClassCalibrator):
    """Evidence for two classes through the monotone map with the smallest cost: PAV.

    On the samples that it was fitted to, the cost that is left is ``cllr_min``. Beyond the last
    sample of a class the map says -inf or inf, which a single sample on the wrong side makes
    infinitely costly: put it into :class:`BoundedCalibrator` for evidence on new samples.

    Parameters
    ----------
    prior : "uniform", "empirical", array of shape (2,) or mapping, default "uniform"
        Of ``predict_proba``. It is not part of the evidence.
    fuse : bool, optional
        Whether the columns are scores of several systems, to be fused by logistic regression. By
        default where they are not one for each class nor one LLR, with a warning.

    Attributes
    ----------
    blocks_ : PooledBlocks
    classes_ : array of shape (2,)
    prior_ : array of shape (2,)
    n_features_in_ : int

    Examples
    --------
    >>> llr, y = np.array([[-2.0], [-1.0], [0.0], [3.0]]), [0, 1, 0, 1]
    >>> IsotonicCalibrator().fit(llr, y).evidence(llr).llr(1, 0)
    array([-inf,   0.,   0.,  inf])
    """

    blocks_: PooledBlocks

    def __init__(self, *, prior: Any = "uniform", fuse: bool | None = None) -> None:
        self.prior = prior
        self.fuse = fuse

    def _fit_llr(self, trials: Trials) -> None:
        self.blocks_ = pool(trials)
        if len(self.blocks_.llr) == 1 and np.ptp(
            [trials.target.llr.mean(), trials.other.llr.mean()]
        ):
            first, second = self.classes_.tolist()
            warnings.warn(
                f"X should rise with class {second!r}; it does not, so that nothing is left after "
                f"a monotone map. Where it rises with {first!r}, pass "
                f"Evidence.from_llr(x, {first!r}, {second!r}).",
                ReversedScoresWarning,
                stacklevel=4,
            )

    def _calibrated_llr(self, llr: np.ndarray) -> np.ndarray:
        return self.blocks_.transform(llr)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # it takes the order of the scores as given
        return tags
