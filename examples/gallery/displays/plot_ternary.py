"""
The simplex
===========

Evidence about three digits as points in a triangle: normalized likelihoods, or posteriors under a
uniform prior.

A corner is certainty, the center is no evidence at all. The probability of a digit is read along
the ticks in its color. Gray lines bound the regions of the three decisions.
"""

import matplotlib.pyplot as plt
import mpltern  # noqa: F401  registers ternary axes
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from deciban import Evidence
from deciban.plots import TernaryDisplay

X, y = load_digits(return_X_y=True)
some = np.isin(y, [1, 8, 9])
X, y_true = X[some] / 16, y[some]
log_p = cross_val_predict(LogisticRegression(), X, y_true, cv=3, method="predict_log_proba")
classes, counts = np.unique(y_true, return_counts=True)
evidence = Evidence.from_log_posteriors(log_p, counts / len(y_true), classes)

fig = plt.figure(figsize=(5.5, 5), layout="constrained")
ax = fig.add_subplot(projection="ternary")
TernaryDisplay.from_predictions(y_true, evidence, contours="kernel", ax=ax)

# %%
# The triangle suits readers who think in probabilities, and evidence that is weak. Strong
# evidence gathers in the corners, where 99 % and 99.99 % look alike; draw that in :ref:`the plane
# <sphx_glr_gallery_displays_plot_plane.py>` instead. ``prior`` draws posteriors under another
# prior.
#
# :class:`~deciban.plots.TernaryDisplay` lists all options.
