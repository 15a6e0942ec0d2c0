"""Calibrators turn scores or evidence into evidence that can be taken at face value.

Each is a scikit-learn estimator on log-likelihoods, one column per class, or on LLRs for two
classes in one column. ``transform`` returns log-likelihoods, ``evidence`` an
:class:`~deciban.Evidence`, ``predict_proba`` posteriors under a prior.
:class:`CalibratedEvidenceClassifier` wraps any classifier.
"""

from deciban.calibration.affine import AffineCalibrator, SeparableWarning
from deciban.calibration.base import IdentityCalibrator
from deciban.calibration.bounded import BootstrapCalibrator, BoundedCalibrator
from deciban.calibration.classifier import CalibratedEvidenceClassifier
from deciban.calibration.densities import (
    GaussianCalibrator,
    KernelDensityCalibrator,
    UnsupportedEvidenceWarning,
)
from deciban.calibration.fusion import FusionCalibrator
from deciban.calibration.nonlinear import (
    CurvedCalibrator,
    IsotonicCalibrator,
    MonotoneCalibrator,
    ReversedScoresWarning,
)
from deciban.calibration.scores import ColumnOrderWarning, FusionWarning

__all__ = [
    "AffineCalibrator",
    "BootstrapCalibrator",
    "BoundedCalibrator",
    "CalibratedEvidenceClassifier",
    "ColumnOrderWarning",
    "CurvedCalibrator",
    "FusionCalibrator",
    "FusionWarning",
    "GaussianCalibrator",
    "IdentityCalibrator",
    "IsotonicCalibrator",
    "KernelDensityCalibrator",
    "MonotoneCalibrator",
    "ReversedScoresWarning",
    "SeparableWarning",
    "UnsupportedEvidenceWarning",
]
