"""
The plane of ILRLs
==================

Evidence about three digits, each image a point in the plane of isometric log-ratios of
likelihoods (ILRLs).

The center is no evidence at all; the further out a point lies, the stronger is its evidence, and
the direction says for which digit. On gray lines the likeliest digit changes. The contours hold
50 % and 90 % of each class.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from deciban import Evidence
from deciban.plots import ILRDisplay

X, y = load_digits(return_X_y=True)
some = np.isin(y, [1, 8, 9])
X, y_true = X[some] / 16, y[some]
log_p = cross_val_predict(LogisticRegression(), X, y_true, cv=3, method="predict_log_proba")
classes, counts = np.unique(y_true, return_counts=True)
evidence = Evidence.from_log_posteriors(log_p, counts / len(y_true), classes)

fig, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
ILRDisplay.from_predictions(y_true, evidence, contours="kernel", ax=ax)

# %%
# Ones and nines are confused most: their 90 % contours reach into each other's regions. Points
# deep inside the region of another digit are worth a look each: they are wrong labels, odd
# images, or overconfident evidence. A prior moves all points by the same vector, so one picture
# serves every prior.
#
# :class:`~deciban.plots.ILRDisplay` lists all options.
