"""
Before and after calibration
============================

What calibration changes: the PAV plot and the empirical cross-entropy of naive Bayes, as it comes
and calibrated.

Left, calibrated LLRs follow the identity; in the shaded area LLRs are too strong. Right, lower is
better, and the distance of each solid curve from the dashed curve of its color is the cost of bad
calibration.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from deciban import Evidence
from deciban.calibration import CalibratedEvidenceClassifier
from deciban.plots import EmpiricalCrossEntropyDisplay, PAVDisplay

data = load_breast_cancer()
y = data.target_names[data.target]
X, X_new, y, y_new = train_test_split(data.data, y, test_size=0.5, random_state=0, stratify=y)
model = GaussianNB().fit(X, y)
log_p = model.predict_log_proba(X_new)
before = Evidence.from_log_posteriors(log_p, model.class_prior_, model.classes_)
after = CalibratedEvidenceClassifier(GaussianNB()).fit(X, y).evidence(X_new)

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for name, evidence, marker in (("before", before, "o"), ("after", after, "s")):
    options = {"pos_label": "malignant", "name": name, "marker": marker, "ms": 4}
    PAVDisplay.from_predictions(y_new, evidence, ax=left, **options)
    EmpiricalCrossEntropyDisplay.from_predictions(
        y_new, evidence, ax=right, markevery=10, **options
    )

# %%
# Calibration brings LLRs of up to a thousand bans down to one or two. Before, the evidence helps
# in a narrow range of priors only; after, it costs little more than the best that any monotone
# recalibration could reach. The dashed curves coincide, because calibration leaves discrimination
# alone. Judge calibration on samples that neither the model nor the calibrator has seen, as here.
#
# :class:`~deciban.plots.EmpiricalCrossEntropyDisplay` and
# :class:`~deciban.plots.PAVDisplay` list all options.
