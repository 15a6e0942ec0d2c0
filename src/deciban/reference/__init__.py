"""Reference distributions: what calibrated evidence looks like."""

from deciban.reference.calibrated_gaussian import CalibratedGaussian
from deciban.reference.calibrated_mixture import CalibratedMixture
from deciban.reference.dependence import Dependence
from deciban.reference.expectations import Estimate
from deciban.reference.normal_mixture import NormalMixture
from deciban.reference.posterior import PosteriorGaussian
from deciban.reference.rates import Rates

__all__ = [
    "CalibratedGaussian",
    "CalibratedMixture",
    "Dependence",
    "Estimate",
    "NormalMixture",
    "PosteriorGaussian",
    "Rates",
]
