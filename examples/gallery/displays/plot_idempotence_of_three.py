"""
Idempotence of three classes
============================

Arrows lead from the evidence about three digits to the evidence of that evidence.

The plane holds the isometric log-ratios of the likelihoods (ILRLs): two coordinates for three
classes, with zero evidence at the center. Calibrated evidence has short arrows. Arrows that point
outward show evidence that is too weak, arrows that point inward evidence that is too strong.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from deciban import Evidence
from deciban.plots import IdempotenceDisplay

X, y = load_digits(return_X_y=True)
some = np.isin(y, [1, 8, 9])
X, y_true = X[some] / 16, y[some]
log_p = cross_val_predict(LogisticRegression(), X, y_true, cv=3, method="predict_log_proba")
classes, counts = np.unique(y_true, return_counts=True)
evidence = Evidence.from_log_posteriors(log_p, counts / len(y_true), classes)

fig, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
IdempotenceDisplay.from_predictions(y_true, evidence, density="gaussian", ax=ax)

# %%
# The arrows point outward: regularized logistic regression understates what it knows. One scale
# for both coordinates corrects that, ``AffineCalibrator(scale="scalar")`` of
# :mod:`deciban.calibration`; arrows that turn or stretch in one direction only would ask for
# ``scale="full"``.
#
# :class:`~deciban.plots.IdempotenceDisplay` lists all options.
