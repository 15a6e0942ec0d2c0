"""
Compositions by group
=====================

Three parts of each flower as points in a triangle, with a color and a marker for each species:
length of the sepal, length and width of the petal, relative to one another.

The flowers are centered, as compositional statistics does it: the average flower is subtracted in
the geometry of the simplex, so that it lies in the middle. The large marks are the centers of the
species, their closed geometric means.
"""

import matplotlib.pyplot as plt
import mpltern  # noqa: F401  registers ternary axes
from sklearn.datasets import load_iris

from deciban.simplex import mean, perturb, power

iris = load_iris()
parts = iris.data[:, [0, 2, 3]]
centered = perturb(parts, power(-1, mean(parts)))

fig = plt.figure(figsize=(5.5, 5), layout="constrained")
ax = fig.add_subplot(projection="ternary", ternary_sum=100)
styles = zip("os^", ["#0072B2", "#D55E00", "#009E73"], strict=True)
for code, (marker, color) in enumerate(styles):
    group = 100 * centered[iris.target == code]
    name = iris.target_names[code]
    ax.plot(*group.T, marker, markersize=4, alpha=0.5, color=color, label=name)
    ax.plot(*(100 * mean(group)[:, None]), marker, markersize=10, color=color, mec="black")
ax.set_tlabel("sepal length, centered (%)")
ax.set_llabel("petal length, centered (%)")
ax.set_rlabel("petal width, centered (%)")
ax.legend(loc="upper right")

# %%
# Relative to the average flower, a setosa has little petal, and what there is is narrow. Near an
# edge distances deceive: 1 % and 2 % of a part are as far apart, in ratios, as 10 % and 20 %. For
# statistics, go on with the coordinates of :func:`deciban.simplex.ilr`; for evidence about classes
# there is :class:`deciban.plots.TernaryDisplay` .
