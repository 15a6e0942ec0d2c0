"""
A tree names the coordinates of evidence
========================================

Three languages need two numbers. Left: a tree asks first whether it is Polish or one of the two
others, then which of these. Each node is a coordinate: positive values speak for the branch with
the plus sign. Right: what the sounds of a recording say, as a point in the plane of these
coordinates. The further it lies from the center, the stronger the evidence. Another tree only
turns the axes (gray): distances, angles, posteriors and decisions stay the same.
"""

# %%
# The tree, another tree, and the evidence.

import matplotlib.pyplot as plt

from deciban import Basis, Evidence, plots

languages = ["Czech", "Slovak", "Polish"]
basis = Basis.from_tree((("Czech", "Slovak"), "Polish"))
other = Basis.from_tree((("Polish", "Czech"), "Slovak"))
sounds = Evidence.from_likelihoods([[0.30, 0.12, 0.06]], languages)

# %%
# The rows of the rotation are the axes of the other basis, in the plane of the first.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
plots.BifurcationTreeDisplay(basis).plot(left)
plots.ILRDisplay(sounds, basis=basis).plot(right, decisions=False)
right.set(xlim=(-1.6, 1.6), ylim=(-1.6, 1.6))
right.axhline(0, color="0.8", lw=1, zorder=0)
right.axvline(0, color="0.8", lw=1, zorder=0)
axes, places = basis.rotation_to(other.align_to(basis.classes)), [(0.62, -0.95), (-1.0, -0.85)]
for k, ((x, y), place) in enumerate(zip(axes, places, strict=True), start=1):
    right.plot([-2 * x, 2 * x], [-2 * y, 2 * y], color="0.5", ls=":", lw=1, zorder=0)
    right.text(*place, f"$l_{k}$ of another tree", color="0.4", fontsize="small")
point = sounds.ilr(basis)[0]
right.annotate("", point, (0, 0), arrowprops={"arrowstyle": "-|>", "lw": 2, "shrinkB": 0})
right.annotate("the evidence", point, (5, 5), textcoords="offset points")
_ = right.set(xlabel="$l_1$: Czech against Slovak (nat)", ylabel="$l_2$: both against Polish (nat)")
