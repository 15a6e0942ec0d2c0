"""
Infinite LLRs
=============

A histogram of LLRs some of which are infinite: they stand in bins of their own at the edges.

Posteriors stored with two digits are often exactly 0 or 1. Taken at their word they rule a class
out, and the LLRs are −∞ or +∞. The legend says what share of each class they are.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deciban import Evidence
from deciban.metrics import cllr
from deciban.plots import LLRHistogramDisplay

data = load_breast_cancer()
y_true = data.target_names[data.target]
model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
p = cross_val_predict(model, data.data, y_true, method="predict_proba").round(2)
classes, counts = np.unique(y_true, return_counts=True)
evidence = Evidence.from_posteriors(p, counts / len(y_true), classes)
print(f"Cllr: {cllr(y_true, evidence, pos_label='malignant'):.3f} bit")

fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
LLRHistogramDisplay.from_predictions(y_true, evidence, pos_label="malignant", unit="deciban", ax=ax)

# %%
# Bars at −∞ and +∞ claim certainty. Here they are all on the right side, so the cost of the
# evidence, :math:`C_{llr}`, is finite; a single one on the wrong side would make it infinite.
# Store log-posteriors or LLRs rather than rounded probabilities. Where only the rounded numbers
# are left, calibrate them and bound them by what the data support, with
# ``BoundedCalibrator(IsotonicCalibrator())`` of :mod:`deciban.calibration`.
#
# :class:`~deciban.plots.LLRHistogramDisplay` lists all options.
