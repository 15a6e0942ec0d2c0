"""How good evidence is: every number with its interval, its verdict and what it means."""

from deciban.assessment.assess import assess, compare
from deciban.assessment.results import Assessment, Comparison, Difference, Quantity

__all__ = ["Assessment", "Comparison", "Difference", "Quantity", "assess", "compare"]
