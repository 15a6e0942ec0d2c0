"""The registry of quantities: their names, units and ranges, and the costs that define them.

Everything that names a quantity reads this table: :func:`deciban.assess`, :func:`deciban.compare`,
criteria, verdicts, tables, the report and its glossary. A new quantity is one entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats
from deciban.evidence.bayes import choose_least_cost
from deciban.metrics.costs import CLLR, LogCost
from deciban.metrics.labelled import Terms
from deciban.metrics.llr_intervals import detection_step
from deciban.metrics.llr_units import Step

if TYPE_CHECKING:
    from deciban.assessment.systems import Setting

Wording = Mapping[str, Hashable]  # fills the braces in a label or meaning: classes, numbers


class Posteriors(NamedTuple):
    """Log-posteriors under the prior of a setting, beside the true classes."""

    log_p: Floats
    truth: NDArray[np.intp]
    setting: Setting

    @property
    def weight(self) -> Floats:
        """The prior of each true class."""
        return np.asarray(self.setting.prior[self.truth])

    @property
    def surprise(self) -> tuple[Floats, Floats]:
        """Logarithmic cost, and that of being as sure of the runner-up."""
        log_p = self.log_p
        runner_up = np.partition(log_p, -2, axis=1)[:, -2]
        return -self.weight * log_p[np.arange(len(log_p)), self.truth], -self.weight * runner_up

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Whether the likeliest class is the true one."""
        return np.asarray(self.log_p.argmax(axis=1) == self.truth)

    @property
    def decision_costs(self) -> tuple[Floats, Floats] | None:
        """Cost of the best decision, and of the worst error."""
        C = self.setting.costs
        if C is None:
            return None
        decision = choose_least_cost(self.log_p, tuple(range(len(C))), C, None)
        return self.weight * C[self.truth, decision], self.weight * C.max(axis=1)[self.truth]


@dataclass(frozen=True, kw_only=True)
class Definition:
    """A quantity.

    Two functions compute it from the contributions of single samples; both return None if the
    setting does not ask for the quantity, and a quantity that is no such mean has neither.
    ``of_llrs`` is for two classes: a :class:`Step` has Wilson's interval, the mean of other terms
    is resampled. ``of_posteriors`` is for three classes or more: contributions, and those that the
    samples would make as errors (None if the interval need not allow for unseen errors).
    """

    key: str
    label: str
    meaning: str
    unit: str = ""
    better: str = "lower"
    limits: tuple[float, float] = (0.0, math.inf)
    glossary: tuple[str, ...] = ()  # terms that a report with this quantity explains
    conditions: Literal["two", "several", ""] = ""  # for how many classes it compares conditions
    asked: int = 0  # rank among the quantities that were asked for, which compare them first
    of_llrs: Callable[[Setting], Terms | None] | None = None
    of_posteriors: Callable[[Posteriors], tuple[Floats, Floats | None] | None] | None = None


def _worth(matrix: Floats) -> tuple[tuple[float, float], tuple[float, float]]:
    (a, b), (c, d) = matrix.tolist()
    return (a, b), (c, d)


def _expected_cost(setting: Setting) -> Step | None:
    if setting.costs is None:
        return None
    threshold = float(setting.weights["detection_cost"].threshold)
    return Step(threshold, True, _worth(setting.prior[:, None] * setting.costs))


def _cross_entropy(setting: Setting) -> LogCost | None:
    """Of two classes at even odds, Cllr says the same in bits."""
    other, target = setting.prior.tolist()
    return None if setting.is_even else LogCost(setting.log_odds, (other, target))


_DEFINITIONS = (  # in the order in which they are reported
    Definition(
        key="cllr", label="Cllr", unit="bit", glossary=("Cllr",), conditions="two",
        meaning="Cost of the LLRs; 0 is perfect, 1 is the cost of no evidence.",
        of_llrs=lambda setting: CLLR,
    ),
    Definition(
        key="cllr_min", label="Cllr_min", unit="bit", limits=(0.0, 1.0), glossary=("Cllr_min",),
        meaning="Cost of the LLRs after perfect calibration.", conditions="two",
    ),
    Definition(
        key="cllr_cal", label="Cllr_cal", unit="bit", glossary=("Cllr_cal",),
        meaning="Cost of poor calibration, which recalibration would save.",
    ),
    Definition(
        key="eer", label="Equal-error rate", unit="fraction", limits=(0.0, 0.5),
        meaning="Error rate at the threshold where misses are as frequent as false alarms.",
        glossary=("Equal-error rate (EER)",), conditions="two",
    ),
    Definition(
        key="dev_pav", label="devPAV", unit="ban", glossary=("devPAV",),
        meaning="Mean distance of an LLR from its calibrated value; overstated with few samples.",
    ),
    Definition(
        key="misleading_target", label="Misleading, {target} true", unit="fraction",
        meaning="How often the evidence points away from {target} when it is true.",
        limits=(0.0, 1.0), glossary=("Misleading evidence",),
        of_llrs=lambda setting: Step(0.0, True, ((0.0, 0.0), (1.0, 0.0))),
    ),
    Definition(
        key="misleading_other", label="Misleading, {other} true", unit="fraction",
        meaning="How often the evidence points away from {other} when it is true.",
        limits=(0.0, 1.0), of_llrs=lambda setting: Step(0.0, False, ((0.0, 1.0), (0.0, 0.0))),
    ),
    Definition(
        key="cross_entropy", label="Cross-entropy", unit="nat", conditions="several",
        meaning="Average remaining uncertainty about the class, under the prior.",
        of_llrs=_cross_entropy, of_posteriors=lambda given: given.surprise,
    ),
    Definition(
        key="normalized_cross_entropy", label="Cross-entropy, relative",
        meaning="Remaining uncertainty relative to that of the prior alone, which is 1.",
    ),
    Definition(
        key="discrimination", label="Discrimination", unit="nat",
        meaning="Uncertainty that would remain after recalibration.",
    ),
    Definition(
        key="calibration", label="Calibration", unit="nat",
        meaning="Uncertainty that recalibration would remove.",
    ),
    Definition(
        key="accuracy", label="Accuracy", unit="fraction", better="higher", limits=(0.0, 1.0),
        meaning="How often the likeliest class under the prior is the true one.",
        glossary=("Accuracy",), conditions="several",
        of_llrs=lambda setting: Step(-setting.log_odds, True, _worth(np.diag(setting.prior))),
        of_posteriors=lambda given: (given.weight * given.correct, None),
    ),
    Definition(
        key="detection_cost", label="Detection cost", asked=2,
        meaning="Cost of decisions by these LLRs; 1 is the cost of deciding without them.",
        glossary=("Detection cost", "Operating point"),
    ),
    Definition(
        key="min_detection_cost", label="Minimum detection cost", limits=(0.0, 1.0),
        meaning="Detection cost with the best threshold.",
    ),
    Definition(
        key="decision_loss", label="Decision loss", glossary=("Decision loss",),
        meaning="Cost of decisions that recalibration would save; 1 is the cost of deciding "
        "without evidence.",
    ),
    Definition(
        key="c_primary", label="C_primary", glossary=("C_primary",), asked=1,
        meaning="Mean of the detection costs at the operating points asked for.",
    ),
    Definition(
        key="min_c_primary", label="Minimum C_primary", limits=(0.0, 1.0),
        meaning="C_primary with the best threshold at each point.",
    ),
    Definition(
        key="c_avg", label="C_avg", glossary=("C_avg",), asked=3,
        meaning="Mean cost of detecting each class among the others at even odds; 0.5 is that of "
        "guessing.",
    ),
    Definition(
        key="expected_cost", label="Expected cost", limits=(-math.inf, math.inf),
        meaning="Average cost of a decision; the best decision without evidence costs "
        "{no_evidence}.",
        of_llrs=_expected_cost, of_posteriors=lambda given: given.decision_costs,
    ),
    Definition(
        key="worst_pair_cllr", label="Cllr, {a} and {b}", unit="bit",
        meaning="The pair of classes whose LLRs cost the most; 1 is the cost of no evidence.",
    ),
)  # fmt: skip
REGISTRY = {one.key: one for one in _DEFINITIONS}

_IN_BITS = {"cross_entropy": "cllr", "discrimination": "cllr_min", "calibration": "cllr_cal"}


def cost_keys(in_bits: bool) -> tuple[str, str, str]:
    """Keys of the total cost, its calibration and its discrimination: Cllr, or cross-entropy."""
    total, discrimination, calibration = _IN_BITS.values() if in_bits else _IN_BITS
    return total, calibration, discrimination


def base_key(key: str) -> str:
    """The registered key, without the operating point after "@"."""
    return key.partition("@")[0]


def define(key: str, words: Wording) -> Definition:
    """The definition behind a key, with its operating point, classes and numbers filled in."""
    base, at, point = key.partition("@")
    found = REGISTRY[base]
    label = found.label.format_map(words) + (at and f" at {point}")
    return replace(found, key=key, label=label, meaning=found.meaning.format_map(words))


def reported_keys(values: Mapping[str, float]) -> list[str]:
    """Keys of the quantities among these values, in the order in which they are reported."""
    return [key for base in REGISTRY for key in values if base_key(key) == base]


def hint_replacement(key: str, present: Collection[str]) -> str:
    """A hint for readers who look for the natural-unit form of a two-class cost."""
    other = _IN_BITS.get(key)
    if key in present or other not in present:
        return ""
    return f" With two classes and an even prior, use {other}: the same cost in bits, not nats."


def llr_terms(setting: Setting) -> dict[str, Any]:
    """Every quantity of two classes that is a mean over samples, by key."""
    found = {key: one.of_llrs and one.of_llrs(setting) for key, one in REGISTRY.items()}
    at_points = {key: detection_step(one) for key, one in setting.weights.items()}
    return {key: terms for key, terms in found.items() if terms is not None} | at_points


def posterior_costs(given: Posteriors) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Contributions of samples of three classes or more by key, and those of errors."""
    found = {key: one.of_posteriors and one.of_posteriors(given) for key, one in REGISTRY.items()}
    pairs = {key: pair for key, pair in found.items() if pair is not None}
    of_errors = {key: errors for key, (_, errors) in pairs.items() if errors is not None}
    return {key: actual for key, (actual, _) in pairs.items()}, of_errors
