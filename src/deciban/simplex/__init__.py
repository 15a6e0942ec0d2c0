"""The Aitchison geometry of the simplex, on any array library.

Compositions stand on the last axis. NumPy, torch, JAX, CuPy and dask arrays keep
their library; lists and frames come back as NumPy arrays. :mod:`deciban.simplex.logparts` has the
same functions for logarithms of parts.
"""

from deciban.simplex import logparts
from deciban.simplex.basis import Basis
from deciban.simplex.operations import (
    alr,
    alr_inv,
    closure,
    clr,
    clr_inv,
    distance,
    ilr,
    ilr_inv,
    inner,
    norm,
    perturb,
    power,
)
from deciban.simplex.samples import (
    amalgamate,
    mean,
    replace_zeros,
    subcomposition,
    variance,
    variation_matrix,
)

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
