"""Center and spread of a sample of compositions, in the geometry of the simplex."""

from __future__ import annotations

import array_api_compat as compat

from deciban._validation.arrays import Array, Namespace
from deciban._validation.scalars import require_whole
from deciban.exceptions import InputError
from deciban.simplex import _kernels
from deciban.simplex._spaces import Parts, on_parts


@on_parts
def mean(space: Parts, x: Array) -> Array:
    r"""Aitchison mean: the closed geometric mean of each part, :math:`C(\exp E \log x)`.

    Parameters
    ----------
    x : array of shape (..., n, D)
        Strictly positive; any scale.

    Returns
    -------
    array of shape (..., D)

    See Also
    --------
    variance : Mean squared distance from it.

    Examples
    --------
    >>> mean([[1, 4], [4, 1]])
    array([0.5, 0.5])
    """
    xp, (log_x,) = space.read_logs(x)
    _require_samples(log_x, 0)
    return space.from_logs(xp, xp.mean(log_x, axis=-2))


@on_parts
def variance(space: Parts, x: Array, ddof: int = 1) -> Array:
    """Total variance: the mean squared Aitchison distance from the mean.

    Parameters
    ----------
    x : array of shape (..., n, D)
        Strictly positive; any scale.
    ddof : int, default 1
        The sum of squares is divided by n - ddof.

    Returns
    -------
    array of shape (...)

    See Also
    --------
    mean : The mean.
    variation_matrix : Variance of each log-ratio; its sum is 2 D times the total variance.

    Examples
    --------
    >>> x = [[1, 2, 4], [4, 1, 1], [2, 2, 3]]
    >>> variance(x).round(6) == (variation_matrix(x).sum() / 6).round(6)
    np.True_
    """
    xp, (log_x,) = space.read_logs(x)
    deviations, divisor = _deviations(xp, log_x, ddof)
    return xp.sum(deviations * deviations, axis=(-2, -1)) / divisor


@on_parts
def variation_matrix(space: Parts, x: Array, ddof: int = 1) -> Array:
    r"""Variances of all log-ratios, :math:`T_{ij} = \mathrm{var} \log(x_i / x_j)`.

    Parameters
    ----------
    x : array of shape (..., n, D)
        Strictly positive; any scale.
    ddof : int, default 1

    Returns
    -------
    array of shape (..., D, D)

    See Also
    --------
    variance : The total variance.
    deciban.Basis.from_linkage : A basis from a clustering of the parts, such as by this matrix.

    Examples
    --------
    >>> variation_matrix([[1, 2, 4], [2, 4, 1]]).round(4)
    array([[0.   , 0.   , 2.162],
           [0.   , 0.   , 2.162],
           [2.162, 2.162, 0.   ]])
    """
    xp, (log_x,) = space.read_logs(x)
    deviations, divisor = _deviations(xp, log_x, ddof)
    G = _kernels.matmul(xp, xp.matrix_transpose(deviations), deviations) / divisor
    own = xp.sum(deviations * deviations, axis=-2) / divisor
    T = own[..., :, None] + own[..., None, :] - 2 * G
    # Rounding may leave -1e-17 where two parts are proportional: a variance is not negative.
    T = xp.where(T < 0, xp.zeros_like(T), T)
    return T * (1 - xp.eye(T.shape[-1], dtype=T.dtype, device=compat.device(T)))


def _deviations(xp: Namespace, log_x: Array, ddof: int) -> tuple[Array, Array]:
    _require_samples(log_x, ddof)
    z = _kernels.center(xp, log_x)
    n = log_x.shape[-2]
    if isinstance(n, float):  # a dask array that does not know its length yet
        n = xp.sum(xp.ones_like(log_x[..., :, 0]), axis=-1)
    return z - xp.mean(z, axis=-2, keepdims=True), n - ddof


def _require_samples(log_x: Array, ddof: int) -> None:
    if log_x.ndim < 2:
        raise InputError(
            f"x must be a sample of shape (n, D); got shape {tuple(log_x.shape)}. "
            f"Put one composition on each row."
        )
    require_whole(ddof, "ddof")
    if log_x.shape[-2] <= ddof:
        raise InputError(
            f"x must have more than {ddof} compositions; got {log_x.shape[-2]}. "
            f"Give more rows" + (", or ddof=0." if ddof and log_x.shape[-2] else ".")
        )
