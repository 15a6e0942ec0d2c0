"""
What a calibration error in bins reports
========================================

Left: the expected calibration error (ECE) of evidence that is calibrated by construction, so that
the true error is zero. What is reported is noise, and it depends on the number of bins and of
samples. Right: a classifier that always gives both classes 50 % has no calibration error at all,
and a good one that is calibrated as well has some. The cost (Cllr) says which of them is of use.
"""

# %%
# Calibrated evidence of two classes, in more and more bins.

import matplotlib.pyplot as plt
import numpy as np

from deciban import CalibratedGaussian, Evidence, metrics

family = CalibratedGaussian.from_divergences([[0, 4], [4, 0]])


def binned(y_true, evidence, n_bins=15):
    """The calibration error of the class that is decided for, in percent."""
    return 100 * metrics.calibration_error(y_true, evidence, method="equal-mass", n_bins=n_bins)


fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
rng, numbers = np.random.default_rng(0), [1, 2, 5, 10, 15, 25, 50]
looks = {100: ("#D55E00", "s"), 1000: ("#0072B2", "o"), 10_000: ("#009E73", "^")}
for n, (color, marker) in looks.items():
    draws = [family.sample([n // 2, n // 2], rng) for _ in range(20)]
    samples = [(y, family.evidence(l)) for l, y in draws]
    errors = [np.mean([binned(y, e, bins) for y, e in samples]) for bins in numbers]
    left.plot(numbers, errors, marker=marker, color=color, label=f"{n:,} samples")
left.axhline(0, color="0.3", ls="--", label="true error")
left.set(xlabel="number of bins", ylabel="reported error, mean of 20 draws (%)")
left.legend()

# %%
# A classifier that says nothing beside one that is good.

l, y = family.sample([500, 500], rng=1)
systems = {
    "always 50 %": Evidence.from_llr(np.zeros(len(y))),
    "good, calibrated": family.evidence(l),
}
for k, (measure, color, hatch) in enumerate(
    [(binned, "#E69F00", ""), (lambda *one: 100 * metrics.cllr(*one), "#56B4E9", "//")]
):
    heights = [measure(y, evidence) for evidence in systems.values()]
    label = ["calibration error, 15 bins", "cost, Cllr in % of no evidence"][k]
    bars = right.bar(np.arange(2) + 0.36 * k - 0.18, heights, 0.32, color=color, hatch=hatch)
    bars.set_label(label)
    right.bar_label(bars, fmt="%.1f", padding=2)
right.set_xticks([0, 1], list(systems))
right.set(ylabel="percent; lower is better", ylim=(0, 130))
_ = right.legend(loc="upper right")
