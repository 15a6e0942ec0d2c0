"""Plots of evidence: displays in the manner of scikit-learn's.

Each holds what it draws; ``compute`` computes it from predictions and ``plot`` draws it, into given
axes or a new figure; ``from_predictions`` and ``from_estimator`` do both. Infinite LLRs are drawn
too. Colors are color-blind safe, and classes differ by line or marker as well.

Drawing needs ``pip install 'deciban[plot]'``.
"""

from deciban.metrics.reliability import Reliability
from deciban.plots.curves import (
    DETDisplay,
    EmpiricalCrossEntropyDisplay,
    NormalizedBayesErrorDisplay,
    TippettDisplay,
)
from deciban.plots.histogram import LLRHistogramDisplay
from deciban.plots.idempotence import IdempotenceDisplay
from deciban.plots.pairwise import PairwiseDisplay
from deciban.plots.pav import PAVDisplay
from deciban.plots.plane import ILRDisplay, TernaryDisplay
from deciban.plots.reliability import ReliabilityDisplay
from deciban.plots.shapley import ShapleyDisplay
from deciban.plots.tree import BifurcationTreeDisplay

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
