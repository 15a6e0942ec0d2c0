"""Fewer parts: some of them alone, or groups of them added up."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import array_api_compat as compat
import numpy as np

from deciban._validation import (
    Array,
    Namespace,
    as_float_array,
    column_names,
    is_inspectable,
    quote_each,
    require_nonnegative,
    require_parts,
)
from deciban.exceptions import InputError, ZeroPartsError
from deciban.simplex import _kernels
from deciban.simplex.operations import close


def subcomposition(x: Any, parts: Sequence[Hashable]) -> Array:
    """The composition of some of the parts.

    Parameters
    ----------
    x : array of shape (..., D)
        Non-negative; any scale.
    parts : sequence of int, or of column names where ``x`` is a frame
        The parts to keep, in the order wanted.

    Returns
    -------
    array of shape (..., len(parts))

    Examples
    --------
    >>> subcomposition([0.2, 0.3, 0.5], [0, 1])
    array([0.4, 0.6])
    """
    columns = column_names(x)
    xp, x = as_float_array(x, "x")
    require_parts(x, "x")
    require_nonnegative(xp, x, "x")
    chosen = take(xp, x, positions(parts, columns, x.shape[-1]))
    _require_something_left(xp, xp.max(chosen, axis=-1) == 0)
    return close(xp, chosen)


def amalgamate(x: Any, groups: Sequence[Sequence[Hashable]]) -> Array:
    """The composition of sums over groups of parts.

    Not linear in the geometry of the simplex; a balance is, see :class:`Basis`.

    Parameters
    ----------
    x : array of shape (..., D)
        Non-negative; any scale.
    groups : sequence of sequences of int, or of column names where ``x`` is a frame
        The parts in each group. A part may be left out, but not used twice.

    Returns
    -------
    array of shape (..., len(groups))

    Examples
    --------
    >>> amalgamate([0.2, 0.3, 0.5], [[0, 1], [2]])
    array([0.5, 0.5])
    """
    columns = column_names(x)
    xp, x = as_float_array(x, "x")
    require_parts(x, "x")
    require_nonnegative(xp, x, "x")
    members = group_positions(groups, columns, x.shape[-1])
    x = close(xp, x)  # or large parts would overflow in the sums
    chosen = np.zeros((x.shape[-1], len(members)))
    for column, group in zip(chosen.T, members, strict=True):
        column[group] = 1
    sums = _kernels.matmul(xp, x, xp.asarray(chosen, dtype=x.dtype, device=compat.device(x)))
    _require_something_left(xp, xp.max(sums, axis=-1) == 0)
    return close(xp, sums)


def take(xp: Namespace, x: Array, at: Sequence[int]) -> Array:
    """The parts at these positions, in the order given."""
    return xp.take(x, xp.asarray(at, device=compat.device(x)), axis=-1)


def positions(parts: Any, columns: tuple[Hashable, ...] | None, n_parts: int) -> list[int]:
    """Positions of parts that are named or counted; distinct, at least one."""
    several = isinstance(parts, Iterable) and not isinstance(parts, str | bytes)
    found = [position(part, columns, n_parts) for part in parts] if several else []
    if not found or len(set(found)) != len(found):
        raise InputError(
            f"parts must be a list of distinct parts, at least one; got {parts!r}. "
            f"Name each part once."
        )
    return found


def position(part: Any, columns: tuple[Hashable, ...] | None, n_parts: int) -> int:
    """Position of a part: a column name of a frame, or a number that may count from the end."""
    if columns is not None and part in columns:
        return columns.index(part)
    whole = isinstance(part, int | np.integer) and not isinstance(part, bool)
    if not whole or not -n_parts <= part < n_parts:
        names = "" if columns is None else f", or one of {quote_each(columns)}"
        raise InputError(
            f"part must be a position from 0 to {n_parts - 1}{names}; got {part!r}. "
            f"Count from 0, or pass a frame to use its column names."
        )
    return int(part) % n_parts


def group_positions(
    groups: Any, columns: tuple[Hashable, ...] | None, n_parts: int
) -> list[list[int]]:
    """Positions of the parts of each group; no part is in two of them."""
    several = isinstance(groups, Iterable) and not isinstance(groups, str | bytes)
    found = [positions(group, columns, n_parts) for group in groups] if several else []
    used = [k for group in found for k in group]
    if not found or len(set(used)) != len(used):
        raise InputError(
            f"groups must be a list of groups that share no part; got {groups!r}. "
            f"Put each part in one group."
        )
    return found


def _require_something_left(xp: Namespace, empty: Array) -> None:
    if is_inspectable(empty) and bool(xp.any(empty)):
        raise ZeroPartsError(
            "x must have a positive part among those kept; some row has none. "
            "Drop that row, or keep more parts."
        )
