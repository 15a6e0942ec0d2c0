"""Samples of two and of three classes that the tests of assessments share."""

import numpy as np
import pytest

from deciban import CalibratedGaussian


def _draw(n, rng, scale=1.3, mean=2.0):
    y = (np.arange(n) % 5 < 2).astype(int)
    return y, scale * (rng.normal(scale=np.sqrt(2 * mean), size=n) + mean * (2 * y - 1))


@pytest.fixture(scope="session")
def draw():
    """A function that draws labels and LLRs of two classes."""
    return _draw


@pytest.fixture(scope="session")
def two():
    return _draw(3000, np.random.default_rng(0))


@pytest.fixture(scope="session")
def three():
    family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    l, y = family.sample([300, 200, 100], rng=0)
    return y, family.evidence(1.5 * l).rename(["cat", "dog", "owl"])
