"""What each quantity is called, what it is in, and what it says to a reader in a hurry."""

from __future__ import annotations

from typing import NamedTuple


class Meaning(NamedTuple):
    """Words for a quantity; ``{target}``, ``{other}``, ``{a}`` and ``{b}`` are classes."""

    label: str
    unit: str
    better: str
    meaning: str
    smallest: float = 0.0
    largest: float = float("inf")


FRACTION = "fraction"

MEANINGS = {
    "cllr": Meaning(
        "Cllr", "bit", "lower", "What the LLRs cost; 0 is perfect, 1 is what saying nothing costs."
    ),
    "cllr_min": Meaning(
        "Cllr_min", "bit", "lower", "What they would cost after perfect calibration.",
        largest=1.0,
    ),
    "cllr_cal": Meaning(
        "Cllr_cal", "bit", "lower", "What is lost by poor calibration, and could be won back."
    ),
    "eer": Meaning(
        "Equal-error rate", FRACTION, "lower",
        "Errors where misses and false alarms are equally frequent.", largest=0.5,
    ),
    "dev_pav": Meaning(
        "devPAV", "ban", "lower",
        "How far an LLR is, on average, from what it should say; few samples overstate it.",
    ),
    "misleading_target": Meaning(
        "Misleading, {target} true", FRACTION, "lower",
        "How often the evidence points away from {target} when it is true.", largest=1.0,
    ),
    "misleading_other": Meaning(
        "Misleading, {other} true", FRACTION, "lower",
        "How often the evidence points away from {other} when it is true.", largest=1.0,
    ),
    "cross_entropy": Meaning(
        "Cross-entropy", "nat", "lower",
        "Doubt that is left about the truth, on average, under the prior.",
    ),
    "normalized_cross_entropy": Meaning(
        "Cross-entropy, relative", "", "lower",
        "Doubt that is left; 1 is what the prior alone leaves.",
    ),
    "discrimination": Meaning(
        "Discrimination", "nat", "lower", "Doubt that would be left after recalibration."
    ),
    "calibration": Meaning(
        "Calibration", "nat", "lower", "Doubt that recalibration would take away."
    ),
    "accuracy": Meaning(
        "Accuracy", FRACTION, "higher",
        "How often the likeliest class under the prior is the true one.", largest=1.0,
    ),
    "detection_cost": Meaning(
        "Detection cost", "", "lower",
        "Cost of decisions by these LLRs; 1 is what deciding without them costs.",
    ),
    "min_detection_cost": Meaning(
        "Minimum detection cost", "", "lower", "The same with the best threshold.", largest=1.0
    ),
    "expected_cost": Meaning(
        "Expected cost", "", "lower",
        "What a decision costs on average; {nothing} is what the best without evidence costs.",
        float("-inf"),
    ),
    "worst_pair_cllr": Meaning(
        "Cllr, {a} and {b}", "bit", "lower",
        "The two classes whose LLRs cost the most; 1 is what saying nothing costs.",
    ),
}  # fmt: skip

TWO_CLASSES = (
    "cllr", "cllr_min", "cllr_cal", "eer", "dev_pav", "misleading_target", "misleading_other",
    "cross_entropy", "accuracy", "detection_cost", "min_detection_cost", "expected_cost",
)  # fmt: skip
SEVERAL_CLASSES = (
    "cross_entropy", "normalized_cross_entropy", "discrimination", "calibration", "accuracy",
    "expected_cost", "worst_pair_cllr",
)  # fmt: skip
