"""How good evidence is: every number with its interval, its verdict and what it means."""

from deciban.assessment.assess import assess, compare
from deciban.assessment.conditions import Conditions, assess_by
from deciban.assessment.results import Assessment, Comparison, Difference, Quantity

__all__ = [
    "Assessment",
    "Comparison",
    "Conditions",
    "Difference",
    "Quantity",
    "assess",
    "assess_by",
    "compare",
]
