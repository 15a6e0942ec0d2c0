"""
Pairwise costs
==============

Which digits are hard to tell apart: the cost of the LLRs of each pair, as they are and after
recalibration.

Above the diagonal stands :math:`C_{llr}`, below it :math:`C_{llr}^{min}`, in bits: 0 is perfect,
1 is the cost of no evidence. A bright pair is hard. A cell above the diagonal that is brighter
than its mirror image below shows evidence that is badly calibrated for this pair.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

from deciban import Evidence
from deciban.plots import PairwiseDisplay

X, y_true = load_digits(return_X_y=True)
model = GaussianNB(var_smoothing=0.1)
log_p = cross_val_predict(model, X, y_true, method="predict_log_proba")
evidence = Evidence.from_log_posteriors(log_p, np.bincount(y_true) / len(y_true))

fig, ax = plt.subplots(figsize=(6.4, 5), layout="constrained")
PairwiseDisplay.from_predictions(y_true, evidence, ax=ax)

# %%
# Above the diagonal several pairs are near or beyond 1 bit, while their mirror images are dark:
# naive Bayes tells these digits apart, but overstates its evidence. Recalibrate first. What stays
# bright below the diagonal, such as 1 and 8, needs better features or more data.
#
# :class:`~deciban.plots.PairwiseDisplay` lists all options.
