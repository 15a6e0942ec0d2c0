"""Input at the edge of floating point and of what a function may be given."""

import numpy as np
import pytest

from deciban import Evidence, metrics
from deciban.calibration import AffineCalibrator
from deciban.exceptions import InputError
from deciban.reference import CalibratedMixture


def test_scores_of_1e200_are_fitted(rng):
    y = rng.integers(0, 3, 90)
    scores = (rng.normal(size=(90, 3)) + 2 * np.eye(3)[y]) * 1e200
    calibrator = AffineCalibrator().fit(scores, y)
    assert np.isfinite(calibrator.evidence(scores).log_likelihoods).all()
    with pytest.raises(InputError, match="interval needs scores below 1e\\+140"):
        calibrator.interval(scores, 0, 1)


@pytest.mark.parametrize(
    "curve", [metrics.empirical_cross_entropy_curve, metrics.normalized_bayes_error_curve]
)
def test_curves_over_no_priors_are_empty(curve):
    assert all(len(part) == 0 for part in curve([0, 1], [-1.0, 1.0], log_odds=[]))


def test_a_bootstrap_of_no_samples_is_refused_by_its_metric():
    none = Evidence(np.zeros((0, 2)), [0, 1])
    with pytest.raises(InputError, match="must hold every class"):
        metrics.bootstrap(metrics.cross_entropy, np.array([], int), none)


def test_the_number_of_components_is_checked_before_the_fit():
    none = Evidence(np.zeros((0, 3)), list("abc"))
    with pytest.raises(InputError, match="n_components must be a whole number"):
        CalibratedMixture.fit(none, np.array([], "U1"), 0)
