"""Data whose evidence is known, and the digits of MNIST.

A :class:`Population` draws samples and knows the likelihood function of each: what no method can
do better than. :func:`load_mnist` finds the digits on this machine or fetches them once.
"""

from deciban.datasets.digits import Digits, load_mnist
from deciban.datasets.populations import (
    Population,
    circles,
    gaussians,
    moons,
    three_gaussians,
    two_gaussians,
)

__all__ = [
    "Digits",
    "Population",
    "circles",
    "gaussians",
    "load_mnist",
    "moons",
    "three_gaussians",
    "two_gaussians",
]
