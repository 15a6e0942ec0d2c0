"""A page that shows what evidence is worth."""

from deciban.report.case import case_report
from deciban.report.comparison import calibration_report, comparison_report
from deciban.report.explorer import explorer
from deciban.report.page import report

__all__ = ["calibration_report", "case_report", "comparison_report", "explorer", "report"]
