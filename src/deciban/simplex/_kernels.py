"""The geometry itself, on log-parts that have been checked.

Every function takes the array namespace first and works on the last axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import array_api_compat as compat
import numpy as np

from deciban._validation.arrays import Array, Namespace

_ONE_THREAD = 1 << 18  # multiplications that OpenBLAS does not spread over threads
_SMALL = 32.0  # with logarithms under this, no offset is worth taking off
_TINY_SQUARE = 1e-290  # squares under this have lost digits
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
    """Log of the closed parts; exact for a part next to one, whose log is next to zero.

    One largest part is set apart from the sum: log1p keeps what the others add to it, and with
    that part fixed the formula is smooth, so that derivatives of any order are right at ties.
    """
    here = xp.argmax(log_x, axis=-1, keepdims=True)
    largest = xp.arange(log_x.shape[-1], device=compat.device(log_x)) == here
    peak = xp.sum(xp.where(largest, log_x, xp.zeros_like(log_x)), axis=-1, keepdims=True)
    ratios = log_x - peak
    others = xp.where(largest, xp.zeros_like(log_x), xp.exp(ratios))
    return ratios - xp.log1p(row_sum(xp, others))


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
    limit = 0.9 * (float(xp.log(xp.finfo(log_x.dtype).max)) - math.log(log_x.shape[-1]))
    return bool(xp.max(log_x) < limit) and bool(xp.min(log_x) > -limit)


def log_sum(xp: Namespace, log_x: Array) -> Array:
    """Log of the sum of the parts; -inf where every part is zero."""
    peak = xp.max(log_x, axis=-1, keepdims=True)
    peak = xp.where(peak == -math.inf, xp.zeros_like(peak), peak)
    total = xp.sum(xp.exp(log_x - peak), axis=-1)
    empty = total == 0
    log_total = xp.log(xp.where(empty, xp.ones_like(total), total)) + peak[..., 0]
    return xp.where(empty, xp.full_like(total, -math.inf), log_total)


def relative(xp: Namespace, log_x: Array) -> Array:
    """Log-parts less an offset that the parts of a row share, so that sums round less.

    Where all log-parts of a row have one sign, the offset is the one nearest to zero: -1e6 of
    (-1e6, -1e6 - 1), nothing of (-1e12, 0.1). Values that are small already stay as they are.
    """
    if compat.is_numpy_namespace(xp) and (log_x.size == 0 or np.abs(log_x).max() < _SMALL):
        return log_x
    low = xp.min(log_x, axis=-1, keepdims=True)
    high = xp.max(log_x, axis=-1, keepdims=True)
    zero = xp.zeros_like(low)
    return log_x - (xp.where(low > 0, low, zero) + xp.where(high < 0, high, zero))


def center(xp: Namespace, log_x: Array) -> Array:
    """Log-ratios to the geometric mean: the clr coefficients."""
    return log_x - row_sum(xp, log_x) / log_x.shape[-1]


def norm(xp: Namespace, log_x: Array) -> Array:
    """Aitchison norm."""
    z = center(xp, log_x)
    with np.errstate(over="ignore", under="ignore"):
        squared = row_sum(xp, z * z)
    exact = (squared > _TINY_SQUARE) & (squared < math.inf)
    if compat.is_numpy_namespace(xp) and not np.all(exact):
        scale = xp.max(xp.abs(z), axis=-1, keepdims=True, initial=0)
        scale = xp.where(scale > 0, scale, xp.ones_like(scale))
        return (scale * xp.sqrt(row_sum(xp, (z / scale) ** 2)))[..., 0]
    return xp.sqrt(squared)[..., 0]


def take(xp: Namespace, x: Array, at: Sequence[int]) -> Array:
    """The parts at these positions, in the order given."""
    return xp.take(x, xp.asarray(at, device=compat.device(x)), axis=-1)
