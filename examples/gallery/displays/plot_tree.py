"""
Bifurcation tree
================

What one image says, group against group: a basis as a tree, with an LLR at each node.

Each node sets the digits of its upper branch (+) against those of its lower branch (−). The
number is the LLR of the two groups in decibans, where 10 is a factor of ten; the branch that it
supports is bold. Follow the bold branches from the left.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from deciban import Basis, Evidence
from deciban.plots import BifurcationTreeDisplay

X, y = load_digits(return_X_y=True)
model = LogisticRegression().fit(X[::2] / 16, y[::2])
log_p = model.predict_log_proba(X[[551]] / 16)  # not among the rows of fit
evidence = Evidence.from_log_posteriors(log_p, np.bincount(y[::2]) / len(y[::2]))

basis = Basis.from_tree(((((3, 8), (5, 9)), (2, (1, 7))), ((0, 6), 4)))
fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
BifurcationTreeDisplay(basis, evidence).plot(ax)
ax.set_title(f"an image of a {y[551]}")

# %%
# The bold branches lead to the 5, and the last step is the weakest: the image is clearly a 5 or a
# 9, but only a few decibans favor the 5. Where a step is weak, report the group and not the
# digit: :meth:`deciban.Evidence.group` gives its evidence. Choose a tree whose groups answer
# questions that somebody asks.
#
# :class:`~deciban.plots.BifurcationTreeDisplay` lists all options.
