"""Calibrators turn scores or evidence into evidence that can be taken at face value.

Each is a scikit-learn estimator over log-likelihoods, one column for each class, or LLRs of two
classes in one column. ``transform`` gives log-likelihoods, ``evidence`` the same as
:class:`~deciban.Evidence`, ``predict_proba`` posteriors under a prior.
:class:`CalibratedEvidenceClassifier` puts one of them behind any classifier.
"""

from deciban.calibration.affine import AffineCalibrator, SeparableWarning
from deciban.calibration.bootstrap import BootstrapCalibrator
from deciban.calibration.bounded import BoundedCalibrator
from deciban.calibration.classifier import CalibratedEvidenceClassifier
from deciban.calibration.curved import CurvedCalibrator, IdentityCalibrator
from deciban.calibration.fusion import FusionCalibrator
from deciban.calibration.gaussian import GaussianCalibrator
from deciban.calibration.isotonic import IsotonicCalibrator, ReversedScoresWarning
from deciban.calibration.kernel import KernelDensityCalibrator, UnsupportedEvidenceWarning
from deciban.calibration.mixture import MixtureCalibrator
from deciban.calibration.monotone import MonotoneCalibrator
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
    "MixtureCalibrator",
    "MonotoneCalibrator",
    "ReversedScoresWarning",
    "SeparableWarning",
    "UnsupportedEvidenceWarning",
]
