"""
A calibrated Gaussian family
============================

The calibrated Gaussian family that fits the evidence about three digits best, with samples drawn
from it and the boundaries of decisions under a prior and costs.

A family has one covariance for all classes, and calibration fixes the means. The ellipses hold 50
% and 90 % of each class. Gray lines say where the decision changes: here an 8 is rare, but
missing one costs 200 times as much as any other error.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from deciban import CalibratedGaussian, Evidence
from deciban.plots import ILRDisplay

X, y = load_digits(return_X_y=True)
some = np.isin(y, [1, 8, 9])
X, y_true = X[some] / 16, y[some]
log_p = cross_val_predict(LogisticRegression(), X, y_true, cv=3, method="predict_log_proba")
classes, counts = np.unique(y_true, return_counts=True)
evidence = Evidence.from_log_posteriors(log_p, counts / len(y_true), classes)

family = CalibratedGaussian.fit(evidence, y_true)
fig, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
ILRDisplay.from_family(
    family,
    prior={1: 0.65, 8: 0.05, 9: 0.3},
    costs=[[0, 1, 1], [200, 0, 200], [1, 1, 0]],  # rows: true digit; columns: decision
    ax=ax,
)

# %%
# The region of the 8 has grown past the center: it is cheaper to call a 1 or a 9 an 8 than to
# miss an 8. Use a family to plan. It says how prior and costs move the boundaries, and what
# evidence of this strength is worth, before there are data from the place of use. Compare it with
# :ref:`the samples themselves <sphx_glr_gallery_displays_plot_plane.py>` to see how well it
# describes them.
#
# :class:`~deciban.plots.ILRDisplay` lists all options.
