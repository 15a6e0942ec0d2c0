"""The paper's every table and figure, run again: what ``python -m reproduction`` does.

Needs ``pip install 'deciban[paper]'``.
"""

from reproduction.experiment import Experiment, Figure, Findings, Measured, Paragraph, Step, Table
from reproduction.experiments import EXPERIMENTS, chosen
from reproduction.runner import Outcome, Run
from reproduction.verdicts import Printed, printed_numbers, verdict

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
