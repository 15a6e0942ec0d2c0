"""Every public calibrator with its default parameters, for tests that hold for all of them."""

import inspect

from sklearn.utils import get_tags

from deciban import calibration
from deciban.calibration import (
    BootstrapCalibrator,
    CalibratedEvidenceClassifier,
    FusionCalibrator,
)

# Their input is not that of a calibrator of one system; their own tests have scikit-learn's checks.
_OTHER_INPUT = (CalibratedEvidenceClassifier, FusionCalibrator)

FOR_TWO = [
    value(n_resamples=20) if value is BootstrapCalibrator else value()
    for value in (getattr(calibration, name) for name in calibration.__all__)
    if inspect.isclass(value) and hasattr(value, "evidence") and value not in _OTHER_INPUT
]
FOR_SEVERAL = [one for one in FOR_TWO if get_tags(one).classifier_tags.multi_class]
