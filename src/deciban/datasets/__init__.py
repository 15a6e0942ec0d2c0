"""Populations whose densities are known.

A :class:`Population` draws samples and knows the likelihood function of each: the evidence that no
method can improve on.
"""

from deciban.datasets.populations import (
    Population,
    circles,
    gaussians,
    moons,
    three_gaussians,
    two_gaussians,
)

__all__ = ["Population", "circles", "gaussians", "moons", "three_gaussians", "two_gaussians"]
