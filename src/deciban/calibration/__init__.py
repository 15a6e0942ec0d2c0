"""Calibrators turn scores or evidence into evidence that can be taken at face value.

Each is a scikit-learn estimator over log-likelihoods, one column for each class, or LLRs of two
classes in one column. ``transform`` gives log-likelihoods, ``evidence`` the same as
:class:`~deciban.Evidence`, ``predict_proba`` posteriors under a prior.
:class:`CalibratedEvidenceClassifier` puts one of them behind any classifier.
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
from deciban.calibration.fusion import CurvedCalibrator, FusionCalibrator
from deciban.calibration.monotone import (
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
