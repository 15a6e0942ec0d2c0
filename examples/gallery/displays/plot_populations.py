"""
Populations with known evidence
===============================

Samples of the populations in :mod:`deciban.datasets`, over the best LLR that any method can
reach.

Each population knows its densities, so the likelihood function of every sample is exact. Color is
the LLR of class 1 against class 0 in bans, cut at ±5; the black line is LLR = 0.
"""

import matplotlib.pyplot as plt
import numpy as np

from deciban import datasets
from deciban.metrics import cllr

populations = {
    "moons": datasets.moons(noise=0.2),
    "circles": datasets.circles(noise=0.1),
    "two Gaussians": datasets.two_gaussians(),
}
fig, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
for ax, (name, population) in zip(axes, populations.items(), strict=True):
    X, y = population.sample(300, random_state=0)
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    x1, x2 = np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 120))
    grid = np.column_stack([x1.ravel(), x2.ravel()])
    llr = population.evidence(grid).llr(1, 0, unit="ban").reshape(x1.shape)
    image = ax.pcolormesh(x1, x2, llr, cmap="PuOr", vmin=-5, vmax=5, rasterized=True)
    ax.contour(x1, x2, llr, [0], colors="k", linewidths=1)
    for label, marker in ((0, "o"), (1, "^")):
        ax.plot(*X[y == label].T, marker, ms=3, mfc="w", mec="k", mew=0.6, label=f"class {label}")
    cost = cllr(y, population.evidence(X))
    ax.set(title=f"{name}: Cllr {cost:.2f} bit", xlabel="feature 1", ylabel="feature 2")
axes[0].legend(loc="upper right", fontsize="small")
fig.colorbar(image, ax=axes, label="LLR, 1 against 0 (ban)", extend="both")

# %%
# Test a method on these populations: its :math:`C_{llr}` cannot be better, on average, than the
# one in the title. If it is much worse, the method is at fault and not the data.
# :func:`~deciban.datasets.three_gaussians` has three classes and four features, and
# :func:`~deciban.datasets.gaussians` takes means and covariances of your own.
#
# :class:`~deciban.datasets.Population` lists all options.
