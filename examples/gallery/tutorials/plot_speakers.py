"""
Two speaker recognizers and their fusion
========================================

Simulated recognizers A and B compare voices by the cosine of embeddings. They are calibrated and
fused on the trials of 40 speakers and judged on those of 50 others, as in the tutorial
:doc:`/tutorials/speakers-and-languages`.

**Left**: miss rate against false-alarm rate at every threshold, on normal-deviate axes; lower left
is better. Calibration does not change these curves, since it keeps the order of the scores.

**Right**: the cost of decisions for each prior log-odds of a target, at equal costs of errors; 1 is
the cost of deciding without a recognizer. Solid lines are what the LLRs cost as they are, dashed
lines what they would cost at the best threshold. The dotted line is A before calibration: its
cosines order the trials as well, and yet most decisions by them are worthless. The vertical line is
the operating point of the tutorial: one call in a hundred is a target, and a miss costs ten times
as much as a false alarm, which decides as even costs do at prior odds of 10 to 99.
"""

import matplotlib.pyplot as plt
import numpy as np

from deciban.calibration import AffineCalibrator, FusionCalibrator
from deciban.metrics import normalized_bayes_error_curve
from deciban.plots import DETDisplay

rng = np.random.default_rng(1)

# %%
# Every recording is compared with the model of every speaker.


def compare_voices(n_speakers):
    """The cosines of both systems, and which trials are targets."""
    speaker = np.repeat(np.arange(n_speakers), 4)
    noise = np.tile([1.0, 1.5], 2 * n_speakers)[:, None]  # landline and mobile calls
    voices = [rng.normal(size=(n_speakers, size)) for size in (24, 16)]
    cosines = []
    for voice in voices:
        models = voice + 0.5 * rng.normal(size=voice.shape)
        segments = voice[speaker] + noise * rng.normal(size=voice[speaker].shape)
        models /= np.linalg.norm(models, axis=1, keepdims=True)
        segments /= np.linalg.norm(segments, axis=1, keepdims=True)
        cosines.append((models @ segments.T).ravel())
    is_target = (np.arange(n_speakers)[:, None] == speaker).ravel().astype(int)
    return np.column_stack(cosines), is_target


scores, y = compare_voices(40)
new_scores, y_new = compare_voices(50)

# %%
# Calibrate A and B alone, and fuse them. A binary LLR is in favor of the class labeled 1.

llrs = {}
for column, name in enumerate("AB"):
    one = AffineCalibrator().fit(scores[:, [column]], y)
    llrs[name] = one.evidence(new_scores[:, [column]]).llr(1, 0)
both = FusionCalibrator().fit({"A": scores[:, 0], "B": scores[:, 1]}, y)
llrs["A and B"] = both.evidence({"A": new_scores[:, 0], "B": new_scores[:, 1]}).llr(1, 0)

# %%
# Draw both views in the same colors.

colors = {"A": "#0072B2", "B": "#D55E00", "A and B": "#009E73"}
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for name, llr in llrs.items():
    DETDisplay.compute(y_new, llr, name=name).plot(left, color=colors[name], ls="-")

log_odds = np.linspace(-6, 4, 101)
for name, llr in {"A, raw cosines": new_scores[:, 0], **llrs}.items():
    curve = normalized_bayes_error_curve(y_new, llr, log_odds=log_odds)
    if name == "A, raw cosines":
        right.plot(log_odds, curve.actual, ":", color=colors["A"], lw=2.5, label=name)
        continue
    right.plot(log_odds, curve.actual, color=colors[name], label=name)
    right.plot(log_odds, curve.minimum, "--", color=colors[name], lw=1)
right.plot([], [], "--", color="black", lw=1, label="at the best threshold")
right.axvline(np.log(10 / 99), color="gray", lw=1)
right.annotate("10:1:0.01", (np.log(10 / 99), 1.1), (-4, 0), textcoords="offset points", ha="right")
right.set(
    xlabel="Prior log-odds of a target (nat)",
    ylabel="Cost of decisions (1: without LLRs)",
    ylim=(0, 1.2),
)
right.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)
