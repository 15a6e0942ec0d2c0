"""
LLR histogram
=============

Log-likelihood-ratios (LLRs) of both classes, beside the calibrated Gaussians that fit them best.

An LLR says how strongly a sample speaks for one class against another; 1 ban is a factor of ten.
If the LLRs of the two classes are Gaussian and calibrated, they are distributed as :math:`N(+d,
2d)` and :math:`N(-d, 2d)` in nats: a single number, the divergence *d*, fixes both curves. Bars
that fill the curves show LLRs that mean what they say.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deciban import Evidence
from deciban.plots import LLRHistogramDisplay

data = load_breast_cancer()
y_true = data.target_names[data.target]
model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
log_p = cross_val_predict(model, data.data, y_true, method="predict_log_proba")
classes, counts = np.unique(y_true, return_counts=True)
evidence = Evidence.from_log_posteriors(log_p, counts / len(y_true), classes)

fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
LLRHistogramDisplay.from_predictions(y_true, evidence, pos_label="malignant", ax=ax)

# %%
# Logistic regression gives many malignant tumors a larger LLR than the curves allow for, so the
# Gaussians describe these LLRs only roughly. That alone is no fault: calibrated LLRs need not be
# Gaussian. Check calibration itself with a :ref:`PAV plot
# <sphx_glr_gallery_displays_plot_pav.py>`. Bars on the wrong side of zero are misleading
# evidence: look at those samples one by one.
#
# :class:`~deciban.plots.LLRHistogramDisplay` lists all options.
