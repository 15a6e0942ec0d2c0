"""The geometry itself, on log-parts that have been checked.

Every function takes the array namespace first and works on the last axis.
"""

from __future__ import annotations

import math

import array_api_compat as compat
import numpy as np

from deciban._arrays import Array, Namespace

_ONE_THREAD = 1 << 18  # multiplications that OpenBLAS does not spread over threads
_SMALLEST_BLOCK = 256  # rows under which calling NumPy costs more than it saves


def row_sum(xp: Namespace, x: Array) -> Array:
    """Sums over the last axis, which stays with length one."""
    if compat.is_numpy_namespace(xp):
        # NumPy sums short rows six times slower than BLAS multiplies them by ones.
        return matmul(xp, x, xp.ones((x.shape[-1], 1), dtype=x.dtype))
    return xp.sum(x, axis=-1, keepdims=True)


def matmul(xp: Namespace, a: Array, b: Array) -> Array:
    """Matrix product in the full precision of the arrays."""
    if compat.is_jax_namespace(xp):
        return xp.matmul(a, b, precision="highest")  # else a GPU rounds to ten bits
    if compat.is_numpy_namespace(xp) and a.ndim == 2 and a.dtype == b.dtype:
        return _thin_product(a, b)
    return xp.matmul(a, b)


def _thin_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Product of a tall matrix with a small one, a block of rows at a time.

    Blocks this small stay in the cache and on one thread: OpenBLAS would share the whole
    product among threads that have little to do, and waits for each on a busy machine (23 ms in
    blocks, 535 ms whole, for 1,000,000 x 10 by 10 x 9 with every core in use).
    """
    rows = _ONE_THREAD // max(1, b.size)
    if rows < _SMALLEST_BLOCK or len(a) <= rows:
        return np.matmul(a, b)
    product = np.empty((len(a), b.shape[1]), dtype=a.dtype)
    for start in range(0, len(a), rows):
        np.matmul(a[start : start + rows], b, out=product[start : start + rows])
    return product


def closure(xp: Namespace, log_x: Array) -> Array:
    """Log of the closed parts; exact for a part next to one, whose log is next to zero."""
    peak = xp.max(log_x, axis=-1, keepdims=True)
    at_peak = log_x == peak
    below = xp.where(at_peak, xp.zeros_like(log_x), xp.exp(log_x - peak))
    ties = row_sum(xp, xp.astype(at_peak, log_x.dtype))
    rest = row_sum(xp, below)
    return (log_x - peak) - (xp.log(ties) + xp.log1p(rest / ties))


def parts(xp: Namespace, log_x: Array) -> Array:
    """The closed parts of log-parts."""
    if not _exp_is_safe(xp, log_x):
        log_x = log_x - xp.max(log_x, axis=-1, keepdims=True)
    x = xp.exp(log_x)
    return x / row_sum(xp, x)


def _exp_is_safe(xp: Namespace, log_x: Array) -> bool:
    # NumPy finds the largest of all values 17 times faster than the largest of each row.
    if not compat.is_numpy_namespace(xp) or log_x.size == 0:
        return False
    limit = 0.9 * math.log(xp.finfo(log_x.dtype).max)
    return bool(xp.max(log_x) < limit) and bool(xp.min(log_x) > -limit)


def log_sum(xp: Namespace, log_x: Array) -> Array:
    """Log of the sum of the parts; -inf where every part is zero."""
    peak = xp.max(log_x, axis=-1, keepdims=True)
    peak = xp.where(peak == -math.inf, xp.zeros_like(peak), peak)
    total = xp.sum(xp.exp(log_x - peak), axis=-1)
    empty = total == 0
    log_total = xp.log(xp.where(empty, xp.ones_like(total), total)) + peak[..., 0]
    return xp.where(empty, xp.full_like(total, -math.inf), log_total)


def relative(log_x: Array) -> Array:
    """Log-ratios to the first part.

    Only differences count: with a common offset of -1e6 taken off first, sums lose nothing.
    Logarithms of parts need none of this, they lie within 745 of zero.
    """
    return log_x - log_x[..., :1]


def centred(xp: Namespace, log_x: Array) -> Array:
    """Log-ratios to the geometric mean: the clr coefficients."""
    return log_x - row_sum(xp, log_x) / log_x.shape[-1]


def inner(xp: Namespace, log_x: Array, log_y: Array) -> Array:
    """Aitchison inner product."""
    return row_sum(xp, centred(xp, log_x) * centred(xp, log_y))[..., 0]


def norm(xp: Namespace, log_x: Array) -> Array:
    """Aitchison norm."""
    z = centred(xp, log_x)
    return xp.sqrt(row_sum(xp, z * z)[..., 0])


def coordinates(xp: Namespace, log_x: Array, contrast: Array) -> Array:
    """Coordinates in the basis with this contrast matrix."""
    return matmul(xp, log_x, contrast)


def expand(xp: Namespace, z: Array, contrast: Array) -> Array:
    """Centred log-parts that have these coordinates."""
    return matmul(xp, z, xp.permute_dims(contrast, (1, 0)))
