"""Plots of evidence: displays in the manner of scikit-learn's.

``compute`` computes a display from predictions and ``plot`` draws it, into given axes or a new
figure; ``from_predictions`` and ``from_estimator`` do both. Infinite LLRs are drawn
too. Colors are color-blind safe, and classes differ by line or marker as well.

Drawing needs ``pip install 'deciban[plot]'``.
"""

from deciban.metrics.reliability import Reliability
from deciban.plots.calibration import IdempotenceDisplay, ReliabilityDisplay
from deciban.plots.costs import (
    EmpiricalCrossEntropyDisplay,
    NormalizedBayesErrorDisplay,
    PairwiseDisplay,
)
from deciban.plots.discrimination import DETDisplay, PAVDisplay
from deciban.plots.distributions import LLRHistogramDisplay, TippettDisplay
from deciban.plots.plane import ILRDisplay, TernaryDisplay
from deciban.plots.sample import BifurcationTreeDisplay, ShapleyDisplay

__all__ = [
    "BifurcationTreeDisplay",
    "DETDisplay",
    "EmpiricalCrossEntropyDisplay",
    "ILRDisplay",
    "IdempotenceDisplay",
    "LLRHistogramDisplay",
    "NormalizedBayesErrorDisplay",
    "PAVDisplay",
    "PairwiseDisplay",
    "Reliability",
    "ReliabilityDisplay",
    "ShapleyDisplay",
    "TernaryDisplay",
    "TippettDisplay",
]
