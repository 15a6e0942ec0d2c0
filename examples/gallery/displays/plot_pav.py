"""
PAV plot
========

LLRs against what the data say they should be: their best monotone recalibration, found by pool
adjacent violators (PAV).

Calibrated LLRs follow the identity. In the shaded area, between the identity and zero, LLRs are
too strong: recalibration makes them smaller. Outside of it they are too weak. A curve that
crosses the vertical axis away from zero shows LLRs that favor one class throughout.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

from deciban import Evidence
from deciban.plots import PAVDisplay

data = load_breast_cancer()
y_true = data.target_names[data.target]
log_p = cross_val_predict(GaussianNB(), data.data, y_true, method="predict_log_proba")
classes, counts = np.unique(y_true, return_counts=True)
evidence = Evidence.from_log_posteriors(log_p, counts / len(y_true), classes)

fig, ax = plt.subplots(figsize=(5.2, 4.6), layout="constrained")
PAVDisplay.from_predictions(y_true, evidence, pos_label="malignant", ax=ax)

# %%
# Naive Bayes counts correlated measurements as if each were news, so its LLRs reach 1,171 bans
# where recalibration leaves about one. Fit a calibrator to samples that the model has not seen:
# :ref:`sphx_glr_gallery_displays_plot_calibrate.py` shows how and what it changes.
#
# :class:`~deciban.plots.PAVDisplay` lists all options.
