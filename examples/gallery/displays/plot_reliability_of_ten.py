"""
Reliability of the decided class
================================

For ten digits, how often the decision is right, against the posterior probability of the digit
decided for.

On the identity, decisions are right as often as the classifier says. Below it the classifier is
overconfident, above it underconfident.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

from deciban import Evidence
from deciban.plots import ReliabilityDisplay

X, y_true = load_digits(return_X_y=True)
models = {
    "naive Bayes": GaussianNB(var_smoothing=0.3),
    "logistic regression": LogisticRegression(C=0.05),
}

fig, ax = plt.subplots(figsize=(5.5, 4.8), layout="constrained")
for name, model in models.items():
    log_p = cross_val_predict(model, X / 16, y_true, cv=2, method="predict_log_proba")
    evidence = Evidence.from_log_posteriors(log_p, np.bincount(y_true) / len(y_true))
    ReliabilityDisplay.from_predictions(y_true, evidence, name=name, histogram=False, ax=ax)

# %%
# Naive Bayes is overconfident, and strongly regularized logistic regression (``C=0.05``) is
# underconfident. Most of its decisions are right all the same, but its posteriors cannot be
# weighed against costs. Recalibrate either with :class:`~deciban.calibration.AffineCalibrator`,
# or choose the regularization by log-loss rather than by accuracy. ``kind="each"`` draws a curve
# for each class.
#
# :class:`~deciban.plots.ReliabilityDisplay` lists all options.
