"""Evidence: likelihood functions over named classes, priors, decisions and units."""

from deciban.evidence.class_mix import PriorEstimate
from deciban.evidence.evidence import Evidence, shift_prior
from deciban.evidence.prediction_sets import PredictionSets
from deciban.evidence.units import NATS_PER_UNIT, SCALES, Unit, VerbalScale, from_nats

__all__ = [
    "NATS_PER_UNIT",
    "SCALES",
    "Evidence",
    "PredictionSets",
    "PriorEstimate",
    "Unit",
    "VerbalScale",
    "from_nats",
    "shift_prior",
]
