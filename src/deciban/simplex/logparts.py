"""The same geometry for logarithms: log-parts in, log-parts out.

Each function mirrors its namesake in :mod:`deciban.simplex`. Likelihoods of e^-800 or
of e^-1000000 lose nothing here. A zero is -inf: it may stand wherever the result is defined.

>>> from deciban.simplex import logparts
>>> logparts.closure([-800.0, -801.0]).round(4)
array([-0.3133, -1.3133])
"""

from __future__ import annotations

from deciban._validation.arrays import Array
from deciban.simplex import operations, samples
from deciban.simplex._spaces import LogParts, on_logs, parts

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

closure = on_logs(operations.closure, "([-800.0, -801.0]).round(4)", "array([-0.3133, -1.3133])")
perturb = on_logs(
    operations.perturb, "([-800.0, -801.0], [-900.0, -902.0]).round(4)", "array([-0.0486, -3.0486])"
)
power = on_logs(operations.power, "(2, [-800.0, -801.0]).round(4)", "array([-0.1269, -2.1269])")
inner = on_logs(
    operations.inner, "([-800.0, -801.0], [-900.0, -902.0]).round(4)", "np.float64(1.0)"
)
norm = on_logs(operations.norm, "([-800.0, -801.0, -802.0]).round(4)", "np.float64(1.4142)")
distance = on_logs(
    operations.distance, "([-800.0, -801.0], [0.0, -3.0]).round(4)", "np.float64(1.4142)"
)
clr = on_logs(operations.clr, "([-800.0, -801.0])", "array([ 0.5, -0.5])")
clr_inv = on_logs(operations.clr_inv, "([400.0, -400.0])", "array([   0., -800.])")
alr = on_logs(operations.alr, "([-800.0, -801.0, -1600.0])", "array([800., 799.])")
alr_inv = on_logs(operations.alr_inv, "([-800.0, -900.0])", "array([-800., -900.,    0.])")
ilr = on_logs(operations.ilr, "([-800.0, -803.0, -1600.0]).round(2)", "array([  2.12, 651.97])")
ilr_inv = on_logs(operations.ilr_inv, "([-1000.0]).round(2)", "array([-1414.21,     0.  ])")
mean = on_logs(
    samples.mean, "([[-800.0, -801.0], [-900.0, -901.0]]).round(4)", "array([-0.3133, -1.3133])"
)
variance = on_logs(samples.variance, "([[-800.0, -801.0], [-900.0, -903.0]])", "np.float64(1.0)")
variation_matrix = on_logs(
    samples.variation_matrix,
    "([[-800.0, -801.0], [-900.0, -903.0]]).tolist()",
    "[[0.0, 2.0], [2.0, 0.0]]",
)
subcomposition = on_logs(
    samples.subcomposition, "([-800.0, 0.0, -801.0], [0, 2]).round(4)", "array([-0.3133, -1.3133])"
)
amalgamate = on_logs(
    samples.amalgamate,
    "([-800.0, -800.0, 0.0], [[0, 1], [2]]).round(2)",
    "array([-799.31,    0.  ])",
)
replace_zeros = samples.replace_log_zeros


def to_parts(log_x: Array) -> Array:
    r"""The closed parts themselves, :math:`C(\exp \log x)`, of shape (..., D).

    Zeros stay. A part below about e^-745 of the largest becomes zero.

    See Also
    --------
    deciban.simplex.closure : The same from parts.

    Examples
    --------
    >>> from deciban.simplex import logparts
    >>> logparts.to_parts([-800.0, -801.0]).round(4)
    array([0.7311, 0.2689])
    """
    xp, (log_x,) = LogParts().read(log_x)
    return parts(xp, log_x)
