"""
Empirical cross-entropy
=======================

The cost of the LLRs at every prior: as they are, after the best monotone recalibration, and
without any LLRs.

The solid curve is the cross-entropy of the posteriors. At even odds, log-odds of 0, it is
:math:`C_{llr}`. The gap down to the dashed curve is the cost of bad calibration, the dashed curve
itself that of limited discrimination. Where the solid curve is above the dotted one, the LLRs do
harm: it would be better to decide by the prior alone.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

from deciban import Evidence
from deciban.plots import EmpiricalCrossEntropyDisplay

data = load_breast_cancer()
y_true = data.target_names[data.target]
log_p = cross_val_predict(GaussianNB(), data.data, y_true, method="predict_log_proba")
classes, counts = np.unique(y_true, return_counts=True)
evidence = Evidence.from_log_posteriors(log_p, counts / len(y_true), classes)

fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
EmpiricalCrossEntropyDisplay.from_predictions(y_true, evidence, pos_label="malignant", ax=ax)

# %%
# These LLRs discriminate well, as the dashed curve shows, but they are so overconfident that they
# cost more than no evidence at every prior. Recalibrate before use:
# :ref:`sphx_glr_gallery_displays_plot_calibrate.py`. Look at the priors of the place where the
# evidence will be used, not only at the class mix of the samples.
#
# :class:`~deciban.plots.EmpiricalCrossEntropyDisplay` lists all options.
