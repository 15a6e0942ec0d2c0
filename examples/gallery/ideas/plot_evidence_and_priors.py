"""
Evidence moves any prior by the same step
=========================================

A medical test comes out positive, which is nine times as probable for the ill as for the healthy.
A second, independent test is four times as probable for the ill. On a scale of log-odds, each
test is an arrow, and its length does not depend on where it starts: neither in a screening
program, where one person in a hundred is ill, nor in a clinic, where every second one is. Only
the point where the arrows start, the prior, and hence the point where they end, the posterior,
are different. The scale on top shows the same log-odds as probabilities.
"""

# %%
# Both tests as evidence, and the two places with their priors.

import matplotlib.pyplot as plt
import numpy as np

from deciban import Evidence

classes = ["ill", "healthy"]
tests = {
    "first test": Evidence.from_likelihoods([[0.9, 0.1]], classes),
    "second test": Evidence.from_likelihoods([[0.8, 0.2]], classes),
}
places = {"screening\n(1 % ill)": 0.01, "clinic\n(50 % ill)": 0.5}

# %%
# In decibans, log-odds are ten times the logarithm of the odds to the base 10.


def log_odds(p):
    """Log-odds of a probability, in decibans."""
    return 10 * np.log10(p / (1 - p))


fig, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for y, prior in enumerate(places.values()):
    start = log_odds(prior)
    ax.plot(start, y, "o", color="0.35", ms=8, zorder=3)
    ax.annotate(
        "prior", (start, y), (0, -16), textcoords="offset points", ha="center", color="0.35"
    )
    for (name, evidence), color in zip(tests.items(), ["#0072B2", "#D55E00"], strict=True):
        step = evidence.llr("ill", "healthy", unit="deciban")[0]
        arrow = {"arrowstyle": "-|>,head_width=0.35,head_length=0.7", "color": color, "lw": 2.5}
        ax.annotate(
            "", (start + step, y), (start, y), arrowprops=arrow | {"shrinkA": 0, "shrinkB": 0}
        )
        ax.text(start + step / 2, y + 0.1, f"{name}\n+{step:.1f}", color=color, ha="center")
        start += step
    p = sum(tests.values(), Evidence.from_llr([0.0], *classes)).posterior([1 - prior, prior])[0, 1]
    text = f"posterior\n{100 * p:.0f} %"
    ax.annotate(text, (start, y), (0, -28), textcoords="offset points", ha="center", weight="bold")
ax.axvline(0, color="0.8", lw=1, zorder=0)
ax.set(xlim=(-24, 20), ylim=(-0.6, 1.65), xlabel="log-odds of being ill (deciban)")
ax.set_yticks([0, 1], places)
ax.spines[["left", "right"]].set_visible(False)
ax.tick_params(axis="y", length=0)
top = ax.secondary_xaxis("top")
shares = [0.005, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99]
top.set_xticks([log_odds(p) for p in shares], [f"{100 * p:g}" for p in shares])
_ = top.set_xlabel("probability of being ill (%)")
