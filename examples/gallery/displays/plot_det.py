"""
DET plot
========

Misses against false alarms at every threshold, for two systems, on probit axes.

Lower left is better. The scale of the axes turns Gaussian scores into straight lines. The ring
marks the equal-error rate (EER), where both error rates are the same. The dotted line is the
convex hull of the receiver operating characteristic (ROC): what the best choice of thresholds can
reach.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deciban import Evidence
from deciban.plots import DETDisplay

data = load_breast_cancer()
y_true = data.target_names[data.target]
classes, counts = np.unique(y_true, return_counts=True)
models = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(C=0.1)),
    "naive Bayes": GaussianNB(),
}

fig, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
for name, model in models.items():
    log_p = cross_val_predict(model, data.data, y_true, method="predict_log_proba")
    evidence = Evidence.from_log_posteriors(log_p, counts / len(y_true), classes)
    DETDisplay.from_predictions(
        y_true, evidence, pos_label="malignant", name=name, hull=name != "naive Bayes", ax=ax
    )

# %%
# Logistic regression makes fewer errors than naive Bayes at nearly every threshold; where the
# curves cross, at the lower right, they rest on one or two missed tumors. A DET plot shows
# discrimination only: any increasing function of the scores has the same curve. Choose the system
# with it, then check calibration, as in :ref:`sphx_glr_gallery_displays_plot_compare.py`.
#
# :class:`~deciban.plots.DETDisplay` lists all options.
