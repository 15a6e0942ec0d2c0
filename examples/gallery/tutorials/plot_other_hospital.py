"""
A classifier that moves to another hospital
===========================================

A gradient-boosting classifier was trained where 37 % of the patients have a malignant tumor. In
screening about 1 % do, and a missed tumor is taken to cost as much as 100 needless biopsies. The
tutorial :doc:`/tutorials/another-hospital` tells the whole story; here is its picture.

Left: what each says about the women it flags, and how many of them are ill, if 1 % of all women
are. The classifier says four times too much, because its probabilities contain the class mix of
its training. Evidence with the prior of the clinic says about what is true.

Right: what errors cost, by the share of women who are ill. A threshold on the classifier's
probabilities stays where it is when the share changes, so that each rule is good for some shares
and bad for others. Evidence takes the share as its prior, and its decisions follow.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from deciban.calibration import CalibratedEvidenceClassifier

data = load_breast_cancer()
names = np.where(data.target == 0, "malignant", "benign")
X, X_test, y, y_test = train_test_split(
    data.data, names, test_size=0.5, stratify=names, random_state=0
)
model = CalibratedEvidenceClassifier(HistGradientBoostingClassifier(random_state=0)).fit(X, y)
classifier = model.estimator_  # the classifier itself, fitted to all of X
p = classifier.predict_proba(X_test)[:, 1]
evidence = model.evidence(X_test)
ill = y_test == "malignant"

# %%
# Test patients are weighted by the share of ill women. Costs are in needless biopsies for each
# 1,000 women.

COSTS = {("malignant", "benign"): 100, ("benign", "malignant"): 1}


def said_and_true(probability, flagged, share):
    weight = np.where(ill, share / ill.mean(), (1 - share) / (1 - ill.mean()))[flagged]
    return (100 * np.average(of[flagged], weights=weight) for of in (probability, ill))


def cost(biopsy, share):
    needless, missed = biopsy[~ill].mean(), 1 - biopsy[ill].mean()
    return 1000 * ((1 - share) * needless + 100 * share * missed)


def decide(share):
    return evidence.decide(COSTS, {"malignant": share, "benign": 1 - share}) == "malignant"


shares = np.geomspace(0.0003, 0.4, 120)
rules = {
    "a biopsy for everyone, or for no one": ("0.55", ":", [
        min(1000 * (1 - s), 1e5 * s) for s in shares
    ]),
    "classifier, probability above 1 in 101": ("#D55E00", "--", [
        cost(p > 1 / 101, s) for s in shares
    ]),
    "classifier, its own decisions": ("#CC79A7", "-.", [cost(p > 0.5, s) for s in shares]),
    "evidence, with the share as its prior": ("#0072B2", "-", [
        cost(decide(s), s) for s in shares
    ]),
}  # fmt: skip

# %%
# The picture.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=(2, 3))
posterior = evidence.posterior({"malignant": 0.01, "benign": 0.99})[:, 1]
pairs = np.array([
    [*said_and_true(p, p > 0.5, 0.01)],
    [*said_and_true(posterior, decide(0.01), 0.01)],
])  # fmt: skip
for k, (label, color) in enumerate((("what it says", "#E69F00"), ("how many are ill", "#404040"))):
    bars = left.bar(np.arange(2) + 0.36 * (k - 0.5), pairs[:, k], 0.34, color=color, label=label)
    left.bar_label(bars, fmt="%.0f %%", padding=2)
left.set_xticks(range(2), ["classifier", "evidence with\nthe prior of 1 %"])
left.set(ylabel="average over the flagged women [%]", ylim=(0, 100), title="1 % of women are ill")
left.legend(frameon=False, loc="upper right")

for label, (color, style, costs) in rules.items():
    right.plot(100 * shares, costs, style, color=color, label=label, lw=2)
right.set_xscale("log")
right.set_yscale("log")
right.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
right.set(xlabel="women who are ill [%]", ylabel="cost per 1,000 women [needless biopsies]")
right.set(xlim=(0.03, 40), ylim=(5, 20000), title="What each rule costs")
_ = right.legend(frameon=False, loc="upper left", fontsize="small")
