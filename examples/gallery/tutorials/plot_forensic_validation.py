"""
Validating a forensic system
============================

Likelihood ratios of a two-level model for glass, judged on 80 panes that it has not seen, before
and after calibration on 80 others. The tutorial :doc:`/tutorials/forensic-validation` tells the
whole story; here is its picture.

Left, the Tippett plot: the share of comparisons whose ratio is at least *x*, of the same pane and
of different panes. At a ratio of 1 (zero on the axis), the upper curve should be close to 100 % and
the lower one close to 0. Before calibration one same-pane comparison in ten is left of zero: the
model takes the drift of the instrument for a difference between panes.

Right, the PAV plot: each ratio against what it turns out to be worth in the validation. Ratios on
the diagonal are worth what they say. Before calibration, ratios below 1 are worth much more than
they say: the line lies far above the diagonal.
"""

import matplotlib.pyplot as plt
import numpy as np

import deciban as db
from deciban import plots
from deciban.calibration import AffineCalibrator, BoundedCalibrator
from deciban.same_source import pairs

SAME, OTHER = "same pane", "different panes"
rng = np.random.default_rng(0)
usual = np.array([1.518, 0.30, 0.90, -1.20])
between_panes = np.array([0.002, 0.20, 0.06, 0.25])
within_pane = np.array([0.0002, 0.03, 0.01, 0.05])


def measure(n_panes, n_days, n_fragments):
    """Measurements of new panes, of shape (n_panes, n_days, n_fragments, 4)."""
    pane = between_panes * rng.normal(size=(n_panes, 1, 1, 4))
    drift = within_pane * rng.normal(size=(n_panes, n_days, 1, 4))
    noise = within_pane * rng.standard_t(5, size=(n_panes, n_days, n_fragments, 4))
    return usual + pane + drift + noise


def compare(glass, limit):
    """Truth and likelihood ratios of comparisons of two fragments with two."""
    sets = glass.reshape(-1, 2, 4)
    left, right, same = pairs(np.repeat(np.arange(len(glass)), 3), limit=limit, rng=0)
    evidence = db.Evidence.from_llr(model.llr(sets[left], sets[right]), SAME, OTHER)
    return np.where(same, SAME, OTHER), evidence


database, calibration, validation = measure(80, 1, 6), measure(80, 3, 2), measure(80, 3, 2)
model = db.SameSourceModel().fit(database.reshape(-1, 4), np.repeat(np.arange(80), 6))
known, scores = compare(calibration, limit=240)
truth, raw = compare(validation, limit=2000)
calibrated = BoundedCalibrator(AffineCalibrator()).fit(scores, known).evidence(raw)

# %%
# Both before (dashed) and after calibration.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for evidence, when, style in ((raw, "before", "--"), (calibrated, "after", "-")):
    options = {"pos_label": SAME, "unit": "ban", "name": when, "ls": style}
    tippett = plots.TippettDisplay.from_predictions(truth, evidence, ax=left, **options)
    for line, color in zip(tippett.lines_, ("#0072B2", "#D55E00"), strict=True):
        line.set_color(color)
    options["color"] = {"before": "0.35", "after": "#009E73"}[when]
    plots.PAVDisplay.from_predictions(truth, evidence, ax=right, **options)
left.axvline(0, color="0.45", lw=0.8, ls=":")
left.set(xlim=(-12, 5), ylim=(-3, 103))
left.legend(loc="center left", fontsize="small", frameon=False)
_ = right.set(xlim=(-4.2, 4.2), ylim=(-4.2, 4.2))
