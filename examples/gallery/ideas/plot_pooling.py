"""
Pooling adjacent violators
==========================

Left: twelve students, sorted by their score in a mock exam; filled dots passed the real one. The
share that passed should never fall as the score rises. Wherever it would, neighbors are pooled,
until the steps only go up. This is the best rising curve for these twelve students.

Right: the cost that remains after this recalibration, Cllr_min. It is judged on the samples that
the curve was fitted to, and so comes out too low when these are few. The dashed line is the true
value.
"""

# %%
# The steps of twelve students.

import matplotlib.pyplot as plt
import numpy as np

from deciban import CalibratedGaussian, metrics

passed = np.array([0, 0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1])
score = np.arange(31, 55, 2)
blocks = metrics.pav(passed, score)

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
successes, failures = blocks.target * passed.sum(), blocks.other * (1 - passed).sum()
share = successes / (successes + failures)
for k, p in enumerate(share):
    label = "share of each pool" if k == 0 else None
    ends = [blocks.low[k] - 0.7, blocks.high[k] + 0.7]
    left.plot(ends, [p, p], color="#D55E00", lw=3, label=label)
left.scatter(score, passed, c=np.where(passed, "#0072B2", "white"), edgecolors="#0072B2", zorder=3)
left.set(xlabel="score in the mock exam (points)", ylabel="share that passed", ylim=(-0.1, 1.25))
left.set_yticks([0, 0.25, 0.5, 0.75, 1])
left.legend(loc="upper left")

# %%
# Cllr_min of calibrated evidence, on samples of several sizes.

family = CalibratedGaussian.from_divergences([[0, 3], [3, 0]])
sizes, rng = [5, 10, 20, 50, 100, 300, 1000], np.random.default_rng(0)
found = []
for n in sizes:
    draws = [family.sample([n, n], rng) for _ in range(100)]
    found.append([metrics.cllr_min(y, family.evidence(l)) for l, y in draws])
low, high = np.quantile(found, [0.1, 0.9], axis=1)
right.fill_between(sizes, low, high, color="#0072B2", alpha=0.2, label="80 % of the draws")
right.plot(sizes, np.mean(found, axis=1), "o-", color="#0072B2", label="mean of 100 draws")
right.axhline(family.expected_cllr(0, 1), color="0.3", ls="--", label="true value")
right.set(xscale="log", xlabel="samples of each class", ylabel="Cllr_min (bit)", ylim=(0, 0.6))
_ = right.legend(loc="lower right")
