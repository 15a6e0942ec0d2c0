"""
Idempotence
===========

The LLR of the LLR against the LLR: evidence is calibrated when its own evidence is the same.

Take the LLR as if it were a measurement, estimate its density in each class, and compute the LLR
of that. For calibrated evidence nothing changes, and the samples lie on the identity. A curve
that is flatter shows LLRs that are too strong, a steeper one LLRs that are too weak.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deciban import Evidence
from deciban.plots import IdempotenceDisplay

data = load_breast_cancer()
y_true = data.target_names[data.target]
model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
log_p = cross_val_predict(model, data.data, y_true, method="predict_log_proba")
classes, counts = np.unique(y_true, return_counts=True)
evidence = Evidence.from_log_posteriors(log_p, counts / len(y_true), classes)

fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
IdempotenceDisplay.from_predictions(y_true, evidence, a="malignant", b="benign", band=0.5, ax=ax)

# %%
# The curve is steeper than the identity: strong regularization (``C=0.1``) makes these LLRs too
# weak. The level ends are no fault of the evidence: beyond the largest LLRs that the samples can
# support, the comparison stops. Recalibrate when the samples leave the band in the middle.
# :func:`deciban.metrics.idempotence` turns the picture into numbers with intervals, for any
# number of classes.
#
# :class:`~deciban.plots.IdempotenceDisplay` lists all options.
