"""A page that shows what evidence is worth."""

from deciban.report.page import report

__all__ = ["report"]
