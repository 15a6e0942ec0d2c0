"""Populations with known densities: samples, and evidence that no method can improve on."""

from deciban.datasets.populations import (
    Population,
    circles,
    gaussians,
    moons,
    three_gaussians,
    two_gaussians,
)

__all__ = ["Population", "circles", "gaussians", "moons", "three_gaussians", "two_gaussians"]
