"""Fewer parts: some of them alone, or groups of them added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deciban._arrays import (
    Array,
    Namespace,
    as_float_array,
    is_inspectable,
    require_nonnegative,
    require_parts,
)
from deciban.exceptions import InputError, ZeroPartsError
from deciban.simplex.operations import close


def subcomposition(x: Any, parts: Sequence[int]) -> Array:
    """The composition of some of the parts.

    Parameters
    ----------
    x : array of shape (..., D)
        Non-negative; any scale.
    parts : sequence of int
        Positions of the parts to keep, in the order wanted.

    Returns
    -------
    array of shape (..., len(parts))

    Examples
    --------
    >>> subcomposition([0.2, 0.3, 0.5], [0, 1])
    array([0.4, 0.6])
    """
    xp, x = as_float_array(x, "x")
    require_parts(x, "x")
    require_nonnegative(xp, x, "x")
    chosen = take(xp, x, parts)
    _require_something_left(xp, xp.max(chosen, axis=-1) == 0)
    return close(xp, chosen)


def amalgamate(x: Any, groups: Sequence[Sequence[int]]) -> Array:
    """The composition of sums over groups of parts.

    Not linear in the geometry of the simplex; a balance is, see :class:`Basis`.

    Parameters
    ----------
    x : array of shape (..., D)
        Non-negative; any scale.
    groups : sequence of sequences of int
        Positions of the parts in each group. A part may be left out, but not used twice.

    Returns
    -------
    array of shape (..., len(groups))

    Examples
    --------
    >>> amalgamate([0.2, 0.3, 0.5], [[0, 1], [2]])
    array([0.5, 0.5])
    """
    xp, x = as_float_array(x, "x")
    require_parts(x, "x")
    require_nonnegative(xp, x, "x")
    require_groups(groups, x.shape[-1])
    sums = xp.stack([xp.sum(take(xp, x, group), axis=-1) for group in groups], axis=-1)
    _require_something_left(xp, xp.max(sums, axis=-1) == 0)
    return close(xp, sums)


def take(xp: Namespace, x: Array, parts: Sequence[int]) -> Array:
    """Some of the parts, in the order given."""
    D = x.shape[-1]
    wrong = [part for part in parts if not isinstance(part, int) or not -D <= part < D]
    if wrong or len(parts) == 0 or len({part % D for part in parts}) != len(parts):
        raise InputError(
            f"parts must be distinct positions from 0 to {D - 1}, at least one; got "
            f"{list(parts)!r}. Name each part once."
        )
    return xp.concat([x[..., part % D : part % D + 1] for part in parts], axis=-1)


def require_groups(groups: Sequence[Sequence[int]], n_parts: int) -> None:
    """Refuse groups that are empty or share a part."""
    used = [part for group in groups for part in group]
    if not groups or not all(len(group) for group in groups) or len(set(used)) != len(used):
        raise InputError(
            f"groups must be non-empty and share no part of the {n_parts}; got "
            f"{[list(group) for group in groups]!r}. Put each part in one group."
        )


def _require_something_left(xp: Namespace, empty: Array) -> None:
    if is_inspectable(empty) and bool(xp.any(empty)):
        raise ZeroPartsError(
            "x must have a positive part among those kept; some row has none. "
            "Drop that row, or keep more parts."
        )
