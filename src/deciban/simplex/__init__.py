"""The Aitchison geometry of the simplex, on any array library.

Compositions stand on the last axis. NumPy, torch, JAX, CuPy and dask arrays come back as what
they were; lists and frames come back as NumPy arrays. :mod:`deciban.simplex.logparts` has the
same functions for logarithms of parts.
"""

from deciban.simplex import logparts
from deciban.simplex.basis import Basis
from deciban.simplex.operations import closure, distance, inner, norm, perturb, power
from deciban.simplex.selection import amalgamate, subcomposition
from deciban.simplex.statistics import mean, variance, variation_matrix
from deciban.simplex.transforms import alr, alr_inv, clr, clr_inv, ilr, ilr_inv
from deciban.simplex.zeros import replace_zeros

__all__ = [
    "Basis",
    "alr",
    "alr_inv",
    "amalgamate",
    "closure",
    "clr",
    "clr_inv",
    "distance",
    "ilr",
    "ilr_inv",
    "inner",
    "logparts",
    "mean",
    "norm",
    "perturb",
    "power",
    "replace_zeros",
    "subcomposition",
    "variance",
    "variation_matrix",
]
