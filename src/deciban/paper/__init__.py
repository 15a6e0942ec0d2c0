"""The paper's every table and figure, run again: what ``deciban paper`` does.

Needs ``pip install 'deciban[paper]'``.
"""

from deciban.paper.experiment import Experiment, Figure, Findings, Measured, Paragraph, Step, Table
from deciban.paper.experiments import EXPERIMENTS, chosen
from deciban.paper.runner import Outcome, Run
from deciban.paper.verdicts import Printed, printed_numbers, verdict

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "Figure",
    "Findings",
    "Measured",
    "Outcome",
    "Paragraph",
    "Printed",
    "Run",
    "Step",
    "Table",
    "chosen",
    "printed_numbers",
    "verdict",
]
