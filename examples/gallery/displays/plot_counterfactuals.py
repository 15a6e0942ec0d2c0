"""
Samples and counterfactuals
===========================

Digits that a generative discriminant draws for each class, and real digits changed into others.

A discriminant with a base space splits an image into its evidence and a residual that does not
depend on the class. The top row draws both at random, for five digits. Each row below begins with
a real image, keeps its residual, and replaces its evidence by that of the digit in the title, or
by none.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from deciban import LinearDiscriminant

X, y = load_digits(return_X_y=True)
model = LinearDiscriminant(shrinkage=0.1).fit(X[::2], y[::2])
X_new, y_new = X[1::2], y[1::2]
real = X_new[[np.flatnonzero(y_new == digit)[0] for digit in (3, 4, 7)]]

digits = [0, 2, 5, 8, 9]
drawn = [model.sample(1, label=digit, random_state=0)[0] for digit in digits]
changed = [model.convert(real, to=digit) for digit in digits]
columns = [real, *map(np.vstack, zip(drawn, changed, strict=True)), model.neutralize(real)]

fig, axes = plt.subplots(4, 7, figsize=(6.8, 4.4), layout="constrained")
for ax in axes.flat:
    ax.set(xticks=[], yticks=[], box_aspect=1)
    ax.spines[:].set_visible(False)
for line, images in zip(axes.T, columns, strict=True):
    for ax, image in zip(line[-len(images) :], images, strict=True):
        ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
for ax, title in zip(axes[0], ["real", *map(str, digits), "no evidence"], strict=True):
    ax.set_title(title, fontsize="medium")
for ax, name in zip(axes[:, 0], ["drawn", "from a 3", "from a 4", "from a 7"], strict=True):
    ax.set_ylabel(name)

# %%
# Use counterfactuals to see what the model takes for a class: strokes that appear when a 3
# becomes an 8 are its evidence for an 8. Blur shows the limits of one Gaussian for each class;
# :class:`~deciban.CompositionalDiscriminantAnalysis` has the same methods and is not bound to
# Gaussians. An image without evidence hides its digit from this model, not from every other one.
#
# :class:`~deciban.LinearDiscriminant` lists all options.
