"""The same geometry for those who hold logarithms: log-parts in, log-parts out.

Each function does what its namesake in :mod:`deciban.simplex` does. Likelihoods of e^-800 or
of e^-1000000 lose nothing here. A zero is -inf: it may stand wherever the result is defined.

>>> from deciban.simplex import logparts
>>> logparts.closure([-800.0, -801.0]).round(4)
array([-0.3133, -1.3133])
"""

from __future__ import annotations

from deciban._validation.arrays import Array
from deciban.simplex import _kernels, operations, selection, statistics, transforms, zeros
from deciban.simplex._spaces import LogParts, on_logs

__all__ = [
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
    "mean",
    "norm",
    "perturb",
    "power",
    "replace_zeros",
    "subcomposition",
    "to_parts",
    "variance",
    "variation_matrix",
]

closure = on_logs(operations.closure)
perturb = on_logs(operations.perturb)
power = on_logs(operations.power)
inner = on_logs(operations.inner)
norm = on_logs(operations.norm)
distance = on_logs(operations.distance)
clr = on_logs(transforms.clr)
clr_inv = on_logs(transforms.clr_inv)
alr = on_logs(transforms.alr)
alr_inv = on_logs(transforms.alr_inv)
ilr = on_logs(transforms.ilr)
ilr_inv = on_logs(transforms.ilr_inv)
mean = on_logs(statistics.mean)
variance = on_logs(statistics.variance)
variation_matrix = on_logs(statistics.variation_matrix)
subcomposition = on_logs(selection.subcomposition)
amalgamate = on_logs(selection.amalgamate)
replace_zeros = zeros.replace_log_zeros


def to_parts(log_x: Array) -> Array:
    """The closed parts themselves: what :func:`deciban.simplex.closure` gives. Zeros stay."""
    xp, (log_x,) = LogParts().read(log_x)
    return _kernels.parts(xp, log_x)
