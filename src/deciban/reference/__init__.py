"""Reference distributions for calibrated evidence."""

from deciban.reference.calibrated_gaussian import CalibratedGaussian
from deciban.reference.calibrated_mixture import CalibratedMixture, NormalMixture
from deciban.reference.dependence import Dependence
from deciban.reference.expectations import Estimate, Rates
from deciban.reference.posterior import PosteriorGaussian

__all__ = [
    "CalibratedGaussian",
    "CalibratedMixture",
    "Dependence",
    "Estimate",
    "NormalMixture",
    "PosteriorGaussian",
    "Rates",
]
