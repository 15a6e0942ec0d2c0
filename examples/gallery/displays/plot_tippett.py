"""
Tippett plot
============

The share of each class whose LLR is at least *x*.

The curve of malignant tumors should stay near 100 % until well to the right of zero, and that of
benign tumors should drop to 0 % left of it. At zero, the distance of the upper curve from 100 %
and the height of the lower curve are the rates of misleading evidence.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deciban import Evidence
from deciban.metrics import misleading_rates
from deciban.plots import TippettDisplay

data = load_breast_cancer()
y_true = data.target_names[data.target]
model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
log_p = cross_val_predict(model, data.data, y_true, method="predict_log_proba")
classes, counts = np.unique(y_true, return_counts=True)
evidence = Evidence.from_log_posteriors(log_p, counts / len(y_true), classes)

fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
TippettDisplay.from_predictions(y_true, evidence, pos_label="malignant", ax=ax)
ax.axvline(0, color="0.45", lw=0.8, ls=":")
print(misleading_rates(y_true, evidence, pos_label="malignant"))

# %%
# About 3 % of the tumors of either class have an LLR that points the wrong way; the strongest of
# these is −1.6 bans for a malignant tumor, a factor of about 37. Report these rates with the
# number of samples. If misleading LLRs reach far beyond zero, find out which samples they are; if
# there are many, recalibrate or look for better features. ``kind="misleading"`` draws the share
# of malignant tumors at most *x*, so that both curves show misleading evidence.
#
# :class:`~deciban.plots.TippettDisplay` lists all options.
