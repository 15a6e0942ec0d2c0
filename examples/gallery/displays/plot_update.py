"""
Bayes' rule as a walk
=====================

From a prior to a posterior: each independent piece of evidence is an arrow, and arrows add up.

In the plane of isometric log-ratios, Bayes' rule is the addition of vectors. The walk starts at
the prior, and the region in which it ends belongs to the most probable language.
"""

import matplotlib.pyplot as plt

from deciban import Evidence
from deciban.plots import ILRDisplay

languages = ["Czech", "Polish", "Slovak"]
sounds = Evidence.from_likelihoods([[0.30, 0.08, 0.25]], languages)
words = Evidence.from_likelihoods([[0.15, 0.05, 0.60]], languages)
prior = {"Czech": 0.55, "Polish": 0.2, "Slovak": 0.25}

fig, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
display = ILRDisplay(sounds + words)
display.plot_update(prior, {"sounds": sounds, "words": words}, ax=ax)
print((sounds + words).posterior(prior).round(3))

# %%
# The sounds speak against Polish and leave Czech and Slovak open; the words turn the decision to
# Slovak. A posterior near a line is a close call: wait for another piece of evidence, or decide
# by costs. Add only pieces that are independent given the language, since evidence counted twice
# makes its arrow twice as long.
#
# :class:`~deciban.plots.ILRDisplay` lists all options.
