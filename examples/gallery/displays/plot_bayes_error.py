"""
Normalized Bayes error
======================

The error rate of decisions at every prior, relative to deciding by the prior alone.

A value of 0.1 means a tenth of the errors that one makes without the LLRs. The gap between the
solid curve and the dashed one is due to thresholds in the wrong place, that is, to bad
calibration. Above 1 the LLRs do harm.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deciban import Evidence
from deciban.plots import NormalizedBayesErrorDisplay

data = load_breast_cancer()
y_true = data.target_names[data.target]
model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
log_p = cross_val_predict(model, data.data, y_true, method="predict_log_proba")
classes, counts = np.unique(y_true, return_counts=True)
evidence = Evidence.from_log_posteriors(log_p, counts / len(y_true), classes)

fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
NormalizedBayesErrorDisplay.from_predictions(y_true, evidence, pos_label="malignant", ax=ax)

# %%
# At even odds there is little to gain. Away from them, recalibration would remove half of the
# errors or more: this regularized logistic regression understates its LLRs, so evidence that
# should outweigh a strong prior does not. Recalibrate if you decide at such priors. Toward the
# edges a handful of samples decide the ratio; there, collect more samples of the class that is
# rare before you trust the curve.
#
# :class:`~deciban.plots.NormalizedBayesErrorDisplay` lists all options.
