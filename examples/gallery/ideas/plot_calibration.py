"""
Evidence that means what it says, and evidence that does not
============================================================

Three systems tell the same two classes apart, and rank all samples in the same order. The first
one is calibrated. The second triples every log-likelihood ratio (LLR), the third divides it by
three.

Left: how often a claim with this probability comes true, at even odds. Calibrated claims lie on
the diagonal. Where evidence is too strong, the curve is flatter: claims of 95 % come true less
often. Where it is too weak, it is steeper. Right: all three make the same decisions and have the
same accuracy, but those who trust the numbers pay for what is wrong with them.
"""

# %%
# Calibrated LLRs from the Gaussian family, and two distortions of them.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from deciban import CalibratedGaussian, Evidence, metrics

family = CalibratedGaussian.from_divergences([[0, 3], [3, 0]])
ilrls, truth = family.sample([3000, 3000], rng=0)
llr = family.evidence(ilrls).llr(1, 0)
systems = {"calibrated": llr, "too strong": 3 * llr, "too weak": llr / 3}
looks = [("#0072B2", "o", "-"), ("#D55E00", "s", "--"), ("#009E73", "^", ":")]

# %%
# Twelve bins of equal counts show how often the claims come true.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.plot([0, 100], [0, 100], color="0.6", lw=1)
for (name, values), (color, marker, dashes) in zip(systems.items(), looks, strict=True):
    bins = np.array_split(np.argsort(values), 12)
    claimed = [100 * expit(values[rows]).mean() for rows in bins]
    found = [100 * truth[rows].mean() for rows in bins]
    left.plot(claimed, found, color=color, marker=marker, ls=dashes, label=name)
left.set(xlabel="claimed probability (%)", ylabel="how often it comes true (%)", aspect="equal")
left.legend(loc="upper left")

costs = {name: metrics.cllr(truth, values) for name, values in systems.items()}
least = metrics.cllr_min(truth, llr)
rest = [cost - least for cost in costs.values()]
right.bar(list(costs), least, 0.6, color="0.75", label="discrimination (Cllr_min)")
right.bar(
    list(costs), rest, 0.6, least, color="#CC79A7", hatch="//", label="calibration (Cllr_cal)"
)
right.axhline(1, color="0.4", ls="--", lw=1)
right.text(2.38, 1.01, "no evidence", ha="right", va="bottom", color="0.4")
for k, (name, cost) in enumerate(costs.items()):
    share = 100 * metrics.accuracy(truth, Evidence.from_llr(systems[name]))
    right.text(k, cost + 0.01, f"accuracy {share:.0f} %", ha="center", va="bottom")
right.set(ylabel="cost, Cllr (bit)", ylim=(0, 1.3))
_ = right.legend(loc="upper left", ncols=1)
