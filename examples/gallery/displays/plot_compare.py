"""
Comparing two systems
=====================

Two systems in the same axes: their errors at every threshold, and their cost at every prior.

Left, a detection error tradeoff (DET) plot: lower left is better, whatever the scale of the
scores. Right, the empirical cross-entropy: lower is better, and here the scale counts too. A
system should win on both sides before one calls it better.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deciban import Evidence, compare
from deciban.plots import DETDisplay, EmpiricalCrossEntropyDisplay

data = load_breast_cancer()
y_true = data.target_names[data.target]
classes, counts = np.unique(y_true, return_counts=True)
models = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(C=0.1)),
    "naive Bayes": GaussianNB(),
}
systems = {}
for name, model in models.items():
    log_p = cross_val_predict(model, data.data, y_true, method="predict_log_proba")
    systems[name] = Evidence.from_log_posteriors(log_p, counts / len(y_true), classes)

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for (name, evidence), marker in zip(systems.items(), "os", strict=True):
    options = {"pos_label": "malignant", "name": name}
    DETDisplay.from_predictions(y_true, evidence, ax=left, **options)
    EmpiricalCrossEntropyDisplay.from_predictions(
        y_true, evidence, ax=right, marker=marker, ms=4, markevery=10, **options
    )

# %%
# Curves of samples have sampling error. :func:`deciban.compare` gives each difference with an
# interval and a verdict:

compare(y_true, systems)

# %%
# Logistic regression is better in both respects. Where two systems differ on the right but not on
# the left, the difference is calibration: recalibrate the worse one before you throw it away, as
# in :ref:`sphx_glr_gallery_displays_plot_calibrate.py`. Where the interval of a difference
# contains zero, collect more samples before choosing.
#
# :class:`~deciban.plots.DETDisplay` and
# :class:`~deciban.plots.EmpiricalCrossEntropyDisplay` list all options.
