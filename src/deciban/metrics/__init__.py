"""How good evidence is. The truth comes first; LLRs and log-likelihoods are in nats.

Two classes: :func:`cllr` and its parts, :func:`pav`, error rates and curves over thresholds and
priors. Any number of classes: :func:`cross_entropy`, :func:`brier`, :func:`accuracy`,
:func:`expected_cost` and :func:`pairwise_cllr`. Each takes an :class:`Evidence` in the place of an
array, and weights.
"""

from deciban.metrics.bootstrap import bootstrap
from deciban.metrics.calibration_test import CalibrationTest, calibration_test
from deciban.metrics.costs import (
    PriorCurve,
    cllr,
    cllr_cal,
    cllr_min,
    empirical_cross_entropy_curve,
    normalized_bayes_error_curve,
)
from deciban.metrics.decomposition import Decomposition, decompose
from deciban.metrics.detection import (
    ErrorRates,
    OperatingPoint,
    c_primary,
    det_curve,
    detection_cost,
    eer,
    min_detection_cost,
    roc_curve,
)
from deciban.metrics.idempotence import Idempotence, idempotence
from deciban.metrics.intervals import Interval
from deciban.metrics.labelled import ProbabilityWarning
from deciban.metrics.languages import c_avg
from deciban.metrics.multiclass import (
    PairwiseCosts,
    accuracy,
    brier,
    cross_entropy,
    expected_cost,
    make_evidence_scorer,
    pairwise_cllr,
)
from deciban.metrics.pav import PooledBlocks, dev_pav, pav
from deciban.metrics.reliability import calibration_error
from deciban.metrics.tippett import MisleadingRates, TippettCurve, misleading_rates, tippett_curve

__all__ = [
    "CalibrationTest",
    "Decomposition",
    "ErrorRates",
    "Idempotence",
    "Interval",
    "MisleadingRates",
    "OperatingPoint",
    "PairwiseCosts",
    "PooledBlocks",
    "PriorCurve",
    "ProbabilityWarning",
    "TippettCurve",
    "accuracy",
    "bootstrap",
    "brier",
    "c_avg",
    "c_primary",
    "calibration_error",
    "calibration_test",
    "cllr",
    "cllr_cal",
    "cllr_min",
    "cross_entropy",
    "decompose",
    "det_curve",
    "detection_cost",
    "dev_pav",
    "eer",
    "empirical_cross_entropy_curve",
    "expected_cost",
    "idempotence",
    "make_evidence_scorer",
    "min_detection_cost",
    "misleading_rates",
    "normalized_bayes_error_curve",
    "pairwise_cllr",
    "pav",
    "roc_curve",
    "tippett_curve",
]


def __dir__() -> list[str]:
    return __all__
