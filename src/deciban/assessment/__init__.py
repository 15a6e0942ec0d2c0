"""What evidence is worth: every number with its interval, its verdict and what it means."""

from deciban.assessment.assess import assess
from deciban.assessment.compare import Comparison, Difference, difference
from deciban.assessment.quantities import Assessment, Quantity

__all__ = ["Assessment", "Comparison", "Difference", "Quantity", "assess", "difference"]
