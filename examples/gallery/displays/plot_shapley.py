"""
What each feature contributes
=============================

Shapley compositions: the evidence about one wine, as a sum of contributions of its features.

The waterfall starts at the base, the mean over the other wines, and adds the contributions to one
log-likelihood ratio (LLR), the largest first. Solid bars speak for the first class, hatched ones
against it; 10 decibans are a factor of ten. Orders of the 13 features are sampled, so that there
are whiskers: intervals of 95 %.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier

from deciban import LinearDiscriminant, shapley_compositions
from deciban.calibration import CalibratedEvidenceClassifier
from deciban.plots import ShapleyDisplay

data = load_wine(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = CalibratedEvidenceClassifier(RandomForestClassifier(20, random_state=0))
model.fit(X[::2], y[::2])
found = shapley_compositions(model, X[1:2], X[::4], n_permutations=20)

fig, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
ShapleyDisplay(found, max_features=8).plot(ax)

# %%
# For three classes, the contributions, here of three features, are arrows in the plane of isometric
# log-ratios. They add up to the evidence, whatever their order, and each says at once for which of
# the classes it speaks.

few = X[["flavanoids", "color_intensity", "proline"]]
linear = LinearDiscriminant().fit(few[::2], y[::2])
exact = shapley_compositions(linear, few[1:2], few[::4])

fig, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
ShapleyDisplay(exact).plot_path(ax)

# %%
# Contributions to a posterior are the same: a prior only moves where the walk starts.
# :func:`~deciban.shapley_compositions` says how they are computed.
