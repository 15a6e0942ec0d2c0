"""Evidence, drawn: displays in the manner of scikit-learn's.

Each holds what it draws; ``from_predictions`` and ``from_estimator`` compute it, ``plot`` draws it,
into axes that are given or into a new figure. Infinite LLRs are drawn too. Colours can be told
apart by every kind of eye, and lines and markers differ where colours do.

Drawing needs ``pip install 'deciban[plot]'``.
"""

from deciban.plots.det import DETDisplay
from deciban.plots.histogram import LLRHistogramDisplay
from deciban.plots.idempotence import IdempotenceDisplay
from deciban.plots.pairwise import PairwiseDisplay
from deciban.plots.pav import PAVDisplay
from deciban.plots.plane import ILRDisplay
from deciban.plots.priors import EmpiricalCrossEntropyDisplay, NormalizedBayesErrorDisplay
from deciban.plots.reliability import Reliability, ReliabilityDisplay
from deciban.plots.ternary import TernaryDisplay
from deciban.plots.tippett import TippettDisplay
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
    "TernaryDisplay",
    "TippettDisplay",
]
