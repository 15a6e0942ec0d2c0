"""What the values must be. Each check names the argument, the row and the remedy.

Values inside a dask graph or a JAX trace cannot be looked at; they pass unchecked, and nothing is
promised of what comes out where they are not what they must be.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import array_api_compat as compat
import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Array, Namespace, to_host, to_numpy
from deciban.exceptions import InputError, ZeroPartsError


def is_inspectable(x: Array) -> bool:
    """Whether the values can be read now: they are not in a dask graph or a JAX trace."""
    if compat.is_dask_array(x):
        return False
    if compat.is_jax_array(x):
        return not isinstance(x, sys.modules["jax"].core.Tracer)
    return True


def require_parts(x: Array, name: str, minimum: int = 1) -> None:
    """Raise unless there is a last axis with enough parts."""
    if x.ndim == 0:
        raise InputError(
            f"{name} must have an axis of parts; got a single number. "
            f"Give at least {max(minimum, 2)} parts."
        )
    if x.shape[-1] < minimum:
        raise InputError(
            f"{name} must have at least {minimum} part{'s' * (minimum > 1)} on its last axis; "
            f"got shape {tuple(x.shape)}. Put one composition on each row."
        )


def require_table(x: NDArray[np.float64], name: str, if_two_classes: str) -> None:
    """Raise unless there is one sample on each row and one class in each of several columns."""
    if x.ndim != 2 or x.shape[1] < 2:
        remedy = f"Write [{name}] for one sample; {if_two_classes}."
        raise InputError(
            f"{name} must have shape (n_samples, n_classes) with two classes or more; got "
            f"{x.shape}. " + (remedy if x.ndim == 1 else "Put one sample on each row.")
        )


def read_llrs(llr: Any) -> NDArray[np.float64]:
    """One log-likelihood-ratio for each sample, from a vector or a table of one column.

    Infinite ones are allowed.
    """
    values = to_numpy(llr, "llr")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(
            f"llr must have shape (n_samples,); got {values.shape}. Give one ratio for each "
            f"sample; for more than two classes use Evidence(log_likelihoods)."
        )
    _refuse_nan(np, values[:, None], "llr")
    return values


def require_same_parts(x: Array, y: Array, names: str) -> None:
    """Raise unless two arrays broadcast over the same number of parts."""
    if x.shape[-1] != y.shape[-1]:
        raise InputError(
            f"{names} must have the same number of parts; got shapes {tuple(x.shape)} and "
            f"{tuple(y.shape)}. Put the parts on the last axis of both."
        )
    if not all(isinstance(size, int) for size in (*x.shape, *y.shape)):
        return  # a dask array that does not know its length yet
    try:
        np.broadcast_shapes(tuple(x.shape), tuple(y.shape))
    except ValueError:
        raise InputError(
            f"{names} must pair row by row; got shapes {tuple(x.shape)} and {tuple(y.shape)}. "
            f"Give both as many rows, or one of them a single row."
        ) from None


def require_finite(xp: Namespace, x: Array, name: str) -> None:
    """Raise for NaN and infinities."""
    if _unchecked(x) or _all_between(xp, x, -math.inf, math.inf):
        return
    _refuse_nan(xp, x, name)
    _refuse(xp.isinf(x), f"{name} must be finite", "infinite value", "Bound or drop it first.")


FOR_LOGARITHMS = "For logarithms of parts use deciban.simplex.logparts."


def require_nonnegative(
    xp: Namespace, x: Array, name: str, if_negative: str = FOR_LOGARITHMS
) -> None:
    """Raise for NaN, infinities, negative parts and rows without a positive part."""
    if _unchecked(x):
        return
    smallest = xp.min(x)
    if not (smallest >= 0 and xp.max(x) < math.inf):
        _refuse_unusable_parts(xp, x, name, if_negative)
    if smallest > 0:
        return
    refuse_rows(
        xp.max(x, axis=-1) == 0,
        f"{name} must have a positive part in every row",
        "is all zeros",
        "Drop it: it has no composition.",
        ZeroPartsError,
    )


def require_positive(xp: Namespace, x: Array, name: str, remedy: str) -> None:
    """Raise for NaN, infinities, negative parts and zeros."""
    if _unchecked(x) or _all_between(xp, x, 0, math.inf):
        return
    _refuse_unusable_parts(xp, x, name, FOR_LOGARITHMS)
    _refuse(x == 0, f"{name} must be strictly positive", "zero", remedy, ZeroPartsError)


def require_log_parts(xp: Namespace, x: Array, name: str) -> None:
    """Raise for NaN, +inf and rows of -inf only; a single -inf is a zero and is allowed."""
    if _unchecked(x):
        return
    _refuse_not_log(xp, x, name)
    refuse_rows(
        xp.max(x, axis=-1) == -math.inf,
        f"{name} must have a finite value in every row",
        "is -inf throughout",
        "Drop it: every part is zero there.",
        ZeroPartsError,
    )


def require_finite_log_parts(xp: Namespace, x: Array, name: str, remedy: str) -> None:
    """Raise for NaN and infinities; -inf is reported as the zero that it stands for."""
    if _unchecked(x) or _all_between(xp, x, -math.inf, math.inf):
        return
    _refuse_not_log(xp, x, name)
    must = f"{name} must be finite"
    _refuse(x == -math.inf, must, "zero part (-inf)", remedy, ZeroPartsError)


def _unchecked(x: Array) -> bool:
    return compat.size(x) == 0 or not is_inspectable(x)


def _all_between(xp: Namespace, x: Array, low: float, high: float) -> bool:
    # Two reductions that carry NaN along are the cheapest look at every value.
    return bool(xp.min(x) > low) and bool(xp.max(x) < high)


def _refuse_not_log(xp: Namespace, x: Array, name: str) -> None:
    if xp.max(x) < math.inf:
        return
    _refuse_nan(xp, x, name)
    remedy = "Only differences matter: write the impossible parts as -inf instead."
    _refuse(x == math.inf, f"{name} must be below +inf", "+inf", remedy)


def _refuse_unusable_parts(xp: Namespace, x: Array, name: str, if_negative: str) -> None:
    _refuse_nan(xp, x, name)
    _refuse(x < 0, f"{name} must not be negative", "negative part", if_negative)
    _refuse(xp.isinf(x), f"{name} must be finite", "infinite part", "Give finite parts.")


def _refuse_nan(xp: Namespace, x: Array, name: str) -> None:
    _refuse(xp.isnan(x), f"{name} must not contain NaN", "NaN", "Drop or impute it first.")


def _refuse(
    bad: Array, must: str, noun: str, remedy: str, error: type[InputError] = InputError
) -> None:
    flags = np.atleast_1d(np.asarray(to_host(bad), dtype=bool))
    by_row = flags.reshape(-1, flags.shape[-1])
    rows = np.flatnonzero(by_row.any(axis=1))
    if rows.size == 0:
        return
    count = int(by_row[rows[0]].sum())
    where = f"row {rows[0]} has" if flags.ndim > 1 else "it has"
    plural = {"zero": "zeros"}.get(noun, noun.replace("part", "parts").replace("value", "values"))
    noun = plural if count > 1 else noun
    raise error(f"{must}; {where} {count} {noun}. {remedy}", rows=rows)


def refuse_rows(
    bad: Array,
    must: str,
    state: str,
    remedy: str,
    error: type[InputError] = InputError,
    values: NDArray[np.float64] | None = None,
) -> None:
    """Raise where a row is bad: "must; row 3 state. remedy", with its value after the state."""
    rows = np.flatnonzero(np.asarray(to_host(bad), dtype=bool))
    if rows.size:
        value = "" if values is None else f" {values[rows[0]]:.6g}"
        raise error(f"{must}; row {rows[0]} {state}{value}. {remedy}", rows=rows)
