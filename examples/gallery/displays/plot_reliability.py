"""
Reliability
===========

How often an event comes true, against its posterior probability.

Each marker is a bin with about the same number of samples, with a 95 % interval. Reliable
posteriors lie on the identity. Gray bars along the bottom show how the posteriors are
distributed, in percent where a bar is tall.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

from deciban import Evidence
from deciban.plots import ReliabilityDisplay

data = load_breast_cancer()
X = data.data[:, [1, 4, 5, 8, 9]]  # texture, smoothness, compactness, symmetry, fractal dimension
y_true = data.target_names[data.target]
log_p = cross_val_predict(GaussianNB(), X, y_true, method="predict_log_proba")
classes, counts = np.unique(y_true, return_counts=True)
evidence = Evidence.from_log_posteriors(log_p, counts / len(y_true), classes)

fig, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
ReliabilityDisplay.from_predictions(y_true, evidence, pos_label="malignant", n_bins=8, ax=ax)

# %%
# Naive Bayes is overconfident: where it gives malignancy a probability of 9 %, the frequency is
# about 25 %. Recalibrate before anybody acts on such numbers. Posteriors and frequencies here are
# at even odds; ``prior`` sets the prior at which the evidence will be used.
#
# :class:`~deciban.plots.ReliabilityDisplay` lists all options.
