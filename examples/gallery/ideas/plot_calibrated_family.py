"""
One number for two classes, a triangle for three
================================================

If log-likelihood ratios (LLRs) are calibrated and Gaussian, one number fixes both of their
distributions: the divergence d. Left: under each class the mean is d in favor of the class that
is true, and the variance is 2d. The larger d, the smaller the shaded share that lies on the wrong
side of zero, which is the equal-error rate. Right: three classes have three divergences, and
again these determine everything. Each ellipse holds 90 % of the evidence under one class; all
have the same shape.
"""

# %%
# The family of two classes, for a small and a large divergence.

import matplotlib.pyplot as plt
import numpy as np

from deciban import CalibratedGaussian, plots

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
x = np.linspace(-13, 13, 500)
for d, dashes in ((2, "--"), (6, "-")):
    family = CalibratedGaussian.from_divergences([[0, d], [d, 0]])
    pair = family.llr_distribution(1, 0)
    name = f"divergence {d} nat, EER {100 * family.eers[0, 1]:.1f} %"
    left.plot(x, pair.pdf(x), color="#0072B2", ls=dashes, label=name)
    left.plot(x, pair.pdf(-x), color="#D55E00", ls=dashes)
    left.fill_between(x, pair.pdf(x), where=x <= 0, color="#0072B2", alpha=0.15)
left.axvline(0, color="0.6", lw=1)
left.text(8.2, 0.13, "first class true", color="#0072B2", ha="center")
left.text(-8.2, 0.13, "second class true", color="#D55E00", ha="center")
left.set(xlabel="LLR of the first class against the second (nat)", ylabel="density", ylim=(0, 0.28))
left.legend(loc="upper center")

# %%
# The family of three classes, from its divergences.

three = CalibratedGaussian.from_divergences(
    [[0, 5, 4], [5, 0, 7], [4, 7, 0]], classes=["A", "B", "C"]
)
plots.ILRDisplay.from_family(three, masses=[0.9], ax=right)
_ = right.set(xlabel="first coordinate (nat)", ylabel="second coordinate (nat)")
