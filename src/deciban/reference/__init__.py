"""Reference distributions: what calibrated evidence looks like."""

from deciban.reference.calibrated_gaussian import CalibratedGaussian
from deciban.reference.expectations import Estimate
from deciban.reference.posterior import PosteriorGaussian

__all__ = ["CalibratedGaussian", "Estimate", "PosteriorGaussian"]
