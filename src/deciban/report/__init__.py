"""What evidence is worth, in numbers with intervals, and on a page to hand on.

``assess`` gives the numbers, ``difference`` those of two systems on the same samples, and
``report`` the page.
"""

from deciban.report.assessment import assess
from deciban.report.comparison import Comparison, Difference, difference
from deciban.report.page import report
from deciban.report.quantities import Assessment, Quantity

__all__ = ["Assessment", "Comparison", "Difference", "Quantity", "assess", "difference", "report"]
