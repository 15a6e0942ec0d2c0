"""
Equal steps of evidence, in the triangle and in the plane
=========================================================

The same piece of evidence comes in six times: it is four times as probable under A as under B or C.
Left, in the triangle of probabilities, its steps look long in the middle and short near the edges,
although each one says exactly as much as the one before. Right, in the coordinates of the isometric
log-ratio transform, all steps are equal and lie on a straight line. Whoever measures with a ruler
in the triangle underrates evidence near its edges.
"""

# %%
# Bayes' rule, six times, from two priors.

import matplotlib.pyplot as plt
import mpltern  # noqa: F401  registers ternary axes
import numpy as np

from deciban.simplex import ilr, perturb

likelihood = np.array([[4.0, 1.0, 1.0]])
walks = {}
for name, prior in {"first prior": [0.01, 0.09, 0.9], "second prior": [0.01, 0.9, 0.09]}.items():
    steps = [np.array([prior])]
    for _ in range(6):
        steps.append(perturb(steps[-1], likelihood))
    walks[name] = np.concatenate(steps)

# %%
# One walk is drawn in two geometries.

fig = plt.figure(figsize=(9, 4), layout="constrained")
left = fig.add_subplot(1, 2, 1, projection="ternary", ternary_sum=100)
right = fig.add_subplot(1, 2, 2)
for (name, walk), color, marker in zip(walks.items(), ["#0072B2", "#D55E00"], "os", strict=True):
    left.plot(*(100 * walk).T, color=color, marker=marker, label=name)
    right.plot(*ilr(walk).T, color=color, marker=marker, label=name)
left.set_tlabel("A (%)")
left.set_llabel("B (%)")
left.set_rlabel("C (%)")
left.grid(alpha=0.4)
left.legend(loc="upper left", bbox_to_anchor=(-0.1, 1))
right.plot(0, 0, "+", color="0.3", ms=10)
right.annotate("no preference", (0, 0), (7, 4), textcoords="offset points", color="0.3")
right.set(
    xlabel="first: A against B (nat)",
    ylabel="second: A and B against C (nat)",
    aspect="equal",
)
right.grid(alpha=0.4)
right.set_axisbelow(True)
