"""What the property tests draw from: compositions, trees, bases and covariances, D from 2 to 50."""

import numpy as np
from hypothesis import strategies as st

from deciban.simplex import Basis

sizes = st.integers(2, 50)
seeds = st.integers(0, 2**32 - 1)


@st.composite
def log_compositions(draw, count=1, rows=3, spread=20.0):
    """``count`` arrays of log-parts, all (rows, D), with offsets that must not matter."""
    D = draw(sizes)
    rng = np.random.default_rng(draw(seeds))
    scale = draw(st.floats(0.01, spread))
    return [
        rng.normal(scale=scale, size=(rows, D)) + rng.normal(size=(rows, 1)) for _ in range(count)
    ]


@st.composite
def trees(draw, D):
    """A random bifurcation tree over 0 .. D - 1."""
    rng = np.random.default_rng(draw(seeds))
    forest = list(rng.permutation(D).tolist())
    while len(forest) > 1:
        i, j = sorted(rng.choice(len(forest), size=2, replace=False).tolist())
        right, left = forest.pop(j), forest.pop(i)
        forest.append((left, right))
    return forest[0]


def nested_lists(classes, rng):
    """A random tree of nested lists, with two to four children at each node."""
    forest = list(classes)
    while len(forest) > 4:
        size = int(rng.integers(2, 5))
        at = rng.choice(len(forest), size=size, replace=False)
        group = [forest[k] for k in at]
        forest = [one for k, one in enumerate(forest) if k not in at] + [group]
    return forest


@st.composite
def bases(draw, D):
    """A basis of any kind: the default, a tree, a comparison, or any rotation at all."""
    kind = draw(st.sampled_from(["gram-schmidt", "tree", "comparing", "rotated"]))
    if kind == "gram-schmidt":
        return Basis.gram_schmidt(D)
    if kind == "tree":
        return Basis.from_tree(draw(trees(D)), classes=range(D))
    if kind == "comparing":
        a, b = draw(st.lists(st.integers(0, D - 1), min_size=2, max_size=2, unique=True))
        return Basis.comparing(a, b, classes=D)
    rng = np.random.default_rng(draw(seeds))
    Q, _ = np.linalg.qr(rng.normal(size=(D - 1, D - 1)))
    return Basis(Basis.gram_schmidt(D).contrast @ Q)


@st.composite
def covariances(draw, D):
    """A positive definite matrix with eigenvalues between 0.05 and 20."""
    rng = np.random.default_rng(draw(seeds))
    Q, _ = np.linalg.qr(rng.normal(size=(D - 1, D - 1)))
    return (Q * np.exp(rng.uniform(np.log(0.05), np.log(20), size=D - 1))) @ Q.T
