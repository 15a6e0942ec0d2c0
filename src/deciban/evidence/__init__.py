"""Evidence: batches of likelihood functions over named classes, and what is done with them."""

from deciban.evidence.evidence import Evidence, shift_prior
from deciban.evidence.units import NATS_PER_UNIT, Unit, from_nats
from deciban.evidence.verbal import SCALES, VerbalScale

__all__ = [
    "NATS_PER_UNIT",
    "SCALES",
    "Evidence",
    "Unit",
    "VerbalScale",
    "from_nats",
    "shift_prior",
]
