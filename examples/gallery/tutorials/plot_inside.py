"""
Hiding an attribute, and testing that it is hidden
==================================================

Blood measurements of diabetes patients tell something about their sex. Neutralizing them moves each
patient to where the measurements are equally probable for both sexes and keeps everything else.
Each half of the patients is neutralized by a model that was fitted to the other half; here that is
:class:`deciban.LinearDiscriminant`, the closed form, which takes no time.

**Left**: two of the eight measurements. Lines lead from measured values to neutralized ones
(black dots), for 60 patients.

**Right**: what fresh classifiers find out about the sex of patients that they have not seen, with
95 % intervals. At 1 bit they know nothing. The tutorial :doc:`/tutorials/inside-the-evidence` has
the steps and discusses what is left.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import deciban as db
from deciban.calibration import AffineCalibrator, CalibratedEvidenceClassifier

table = load_diabetes(scaled=False, as_frame=True).data
sex = np.where(table["sex"] == 1, "sex 1", "sex 2")
X = table.drop(columns=["sex", "s4"])
shuffled = np.random.default_rng(0).permutation(len(X))
halves = shuffled[:221], shuffled[221:]
hidden = pd.concat(
    [
        db.LinearDiscriminant().fit(X.iloc[learn], sex[learn]).neutralize(X.iloc[hide])
        for learn, hide in (halves, halves[::-1])
    ]
).loc[X.index]

# %%
# An attacker is calibrated, so that it loses nothing by overconfidence, and cross-validated.

attackers = {"linear": LogisticRegression(), "curved": SVC()}
folds = StratifiedKFold(5, shuffle=True, random_state=0)


def attack(classifier, features):
    """Cllr of an attacker, with its interval."""
    attacker = CalibratedEvidenceClassifier(
        make_pipeline(StandardScaler(), classifier), AffineCalibrator(), prior="uniform"
    )
    log_likelihoods = cross_val_predict(
        attacker, features, sex, cv=folds, method="predict_log_proba"
    )
    evidence = db.Evidence(log_likelihoods, classes=["sex 1", "sex 2"])
    return db.assess(sex, evidence, n_resamples=200)["cllr"]


# %%
# Draw both.

colors = {"sex 1": "#0072B2", "sex 2": "#D55E00"}
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
some = shuffled[:60]
before, after = (of[["s3", "bp"]].to_numpy()[some] for of in (X, hidden))
for start, end, name in zip(before, after, sex[some], strict=True):
    left.plot(*np.stack([start, end]).T, color=colors[name], lw=0.8, alpha=0.7)
for name, marker in {"sex 1": "o", "sex 2": "^"}.items():
    left.scatter(*before[sex[some] == name].T, s=24, marker=marker, color=colors[name], label=name)
left.scatter(*after.T, s=8, color="black", label="neutralized", zorder=3)
left.set(
    xlabel="High-density cholesterol (unit of the table)",
    ylabel="Blood pressure (unit of the table)",
)
left.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)

rows = [
    (f"{name}, {when}", attack(classifier, features), marker)
    for when, features, marker in (("measured", X, "s"), ("neutralized", hidden, "o"))
    for name, classifier in attackers.items()
]
for height, (_, cost, marker) in enumerate(reversed(rows)):
    right.plot([cost.low, cost.high], [height, height], color="#009E73", lw=2)
    right.plot(cost.value, height, marker, color="#009E73", ms=8)
right.axvline(1, color="black", ls="--", lw=1)
right.set(
    yticks=range(len(rows)),
    yticklabels=[label for label, _, _ in reversed(rows)],
    xlabel="Cllr of the attacker (bit; at 1 it knows nothing)",
    ylim=(-0.5, len(rows) - 0.5),
)
