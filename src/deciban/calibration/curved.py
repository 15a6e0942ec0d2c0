"""Recalibration by the strength of the evidence, and none at all: simple maps of any D classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from deciban._persistence.registry import register
from deciban.calibration.base import Calibrator, finite_ilr
from deciban.calibration.fusion import FusionCalibrator
from deciban.calibration.scores import ScoreReader
from deciban.evidence import Evidence
from deciban.metrics.labelled import Labelled


@register(_reader=ScoreReader)
class IdentityCalibrator(Calibrator):
    """Evidence as it is: the choice where no map does better.

    Parameters
    ----------
    prior, fuse
        As for :class:`AffineCalibrator`; ``prior`` is that of ``predict_proba`` only.

    See Also
    --------
    CalibratedEvidenceClassifier : Compares it with other calibrators.
    deciban.metrics.calibration_test : Whether evidence is calibrated as it is.

    Examples
    --------
    >>> IdentityCalibrator().fit([[-1.0], [2.0]], [0, 1]).evidence([[3.0]]).llr(1, 0)
    array([3.])
    """

    def __init__(self, *, prior: Any = "uniform", fuse: bool | None = None) -> None:
        self.prior = prior
        self.fuse = fuse

    def _fit(self, samples: Labelled) -> None:
        pass

    def _calibrate(self, evidence: Evidence) -> Evidence:
        return evidence

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # it does not learn
        return tags


@register(_reader=ScoreReader, fusion_=FusionCalibrator, _typical=float, _largest=float)
class CurvedCalibrator(Calibrator):
    r"""Evidence through a factor that depends on its strength, for any number of classes.

    The calibrated ILRL is :math:`(a + b / \sqrt{1 + r / s}) l + c`, where r is the length of l and
    s its mean: strong evidence may be overstated more than weak evidence, as that of forests and
    naive Bayes is. It is linear in a, b and c, and fitted as a fusion of two systems. Evidence
    that is stronger than any in ``fit`` is cut off there.

    Parameters
    ----------
    ridge : float, default 0.01
        Penalty of a and b, as in :class:`FusionCalibrator`; it vanishes with samples.
    prior, fuse
        As for :class:`AffineCalibrator`.

    Attributes
    ----------
    fusion_ : FusionCalibrator
        Its ``weights_`` are a and b.
    classes_, prior_ : arrays of shape (n_classes,)
    n_features_in_ : int

    See Also
    --------
    AffineCalibrator : The same factor whatever the strength.

    Examples
    --------
    >>> from deciban import CalibratedGaussian
    >>> family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    >>> l, y = family.sample([2000, 2000, 2000], rng=0)
    >>> exaggerated = family.evidence(l * np.linalg.norm(l, axis=1, keepdims=True))
    >>> curved = CurvedCalibrator().fit(exaggerated, y).score(exaggerated, y)
    >>> bool(curved > -1.05 * family.expected_cross_entropy(rng=0)[0])
    True
    """

    def __init__(
        self, *, ridge: float = 0.01, prior: Any = "uniform", fuse: bool | None = None
    ) -> None:
        self.ridge = ridge
        self.prior = prior
        self.fuse = fuse

    def _fit(self, samples: Labelled) -> None:
        r = np.linalg.norm(finite_ilr(samples.evidence), axis=1)
        self._typical = float(np.average(r, weights=samples.weights / samples.weights.max())) or 1.0
        self._largest = float(r.max())
        self.fusion_ = FusionCalibrator(ridge=self.ridge, prior=self.prior)
        systems = self._systems(samples.evidence)
        self.fusion_._learn(systems, self.classes_[samples.codes], samples.weights)

    def _systems(self, evidence: Evidence) -> dict[str, Evidence]:
        l = finite_ilr(evidence)
        r = np.linalg.norm(l, axis=1, keepdims=True)
        l = l * np.minimum(1.0, self._largest / np.maximum(r, 1e-300))
        bent = l / np.sqrt(1 + np.minimum(r, self._largest) / self._typical)
        return {
            name: Evidence._from_ilr(part, None, evidence.classes)
            for name, part in (("straight", l), ("bent", bent))
        }

    def _calibrate(self, evidence: Evidence) -> Evidence:
        return self.fusion_.evidence(self._systems(evidence))

    def _finish_loading(self) -> None:
        super()._finish_loading()
        if not (self._typical > 0 and self._largest >= 0):
            raise ValueError("strengths that are not positive")
        if self.fusion_.classes_.tolist() != self.classes_.tolist():
            raise ValueError("a calibrator of other classes")
