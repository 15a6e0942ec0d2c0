"""
Evidence map of a compositional discriminant analysis
=====================================================

LLRs that compositional discriminant analysis (CDA) learns in the plane, beside the best ones that
exist.

Color is the LLR of one moon against the other, in bans. Where color is strong, a point says much
about its class; on the black line it says nothing.
"""

import matplotlib.pyplot as plt
import numpy as np

from deciban import CompositionalDiscriminantAnalysis
from deciban.datasets import moons
from deciban.metrics import cllr

population = moons(noise=0.2)
X, y = population.sample(1000, random_state=0)
options = {"batch_size": 100}
model = CompositionalDiscriminantAnalysis(epochs=30, options=options, random_state=0).fit(X, y)

x1, x2 = np.meshgrid(np.linspace(-1.8, 2.8, 116), np.linspace(-1.3, 1.8, 79))
grid = np.column_stack([x1.ravel(), x2.ravel()])
X_new, y_new = population.sample(2000, random_state=1)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, name, system in zip(axes, ["learned", "best possible"], [model, population], strict=True):
    llr = system.evidence(grid).llr(1, 0, unit="ban").reshape(x1.shape)
    image = ax.pcolormesh(x1, x2, llr, cmap="PuOr", vmin=-5, vmax=5, rasterized=True)
    ax.contour(x1, x2, llr, [0], colors="k", linewidths=1)
    cost = cllr(y_new, system.evidence(X_new))
    ax.set(title=f"{name}: Cllr {cost:.3f} bit", xlabel="feature 1", aspect="equal")
for label, marker in ((0, "o"), (1, "^")):
    made_up, _ = model.sample(60, label=label, random_state=0)
    axes[0].plot(*made_up.T, marker, ms=3, mfc="w", mec="k", mew=0.6, label=f"drawn, class {label}")
axes[0].set(ylabel="feature 2", xlim=(-1.8, 2.8), ylim=(-1.3, 1.8))
axes[0].legend(loc="upper right", fontsize="small")
fig.colorbar(image, ax=axes, label="LLR, 1 against 0 (ban)", extend="both")

# %%
# Where there are samples, the learned LLRs are close to the best; far from them they are an
# extrapolation, and the black line goes astray. Drawn samples that fall between the moons show
# where the fit is rough. Thirty epochs keep this example short: the default ``epochs="auto"``
# chooses settings on folds, which takes longer and fits a little better. Judge a fit by its
# :math:`C_{llr}` on new samples, and find samples that are unlike those of the fit with
# ``model.outlier_score(X)``.
#
# :class:`~deciban.CompositionalDiscriminantAnalysis` lists all options.
