"""Fewer parts: some of them alone, or groups of them added up."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from deciban._validation.arrays import Array, Namespace, column_names, is_inspectable
from deciban._validation.scalars import is_whole, quote, quote_each
from deciban.exceptions import InputError, ZeroPartsError
from deciban.simplex import _kernels
from deciban.simplex._spaces import Parts, on_parts


@on_parts
def subcomposition(space: Parts, x: Array, parts: Sequence[Hashable]) -> Array:
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
        Ratios between these parts are as they were.

    See Also
    --------
    amalgamate : Sums of parts instead.
    deciban.Evidence.restrict : Evidence about some of the classes.

    Examples
    --------
    >>> subcomposition([0.2, 0.3, 0.5], [0, 1])
    array([0.4, 0.6])
    """
    columns = column_names(x)
    xp, (x,) = space.read(x)
    at = _find_parts(parts, columns, x.shape[-1])
    return _close_rest(space, xp, _kernels.take(xp, x, at))


@on_parts
def amalgamate(space: Parts, x: Array, groups: Sequence[Sequence[Hashable]]) -> Array:
    """The composition of sums over groups of parts.

    Not linear in the geometry of the simplex; a balance is, see :class:`deciban.Basis`.

    Parameters
    ----------
    x : array of shape (..., D)
        Non-negative; any scale.
    groups : sequence of sequences of int, or of column names where ``x`` is a frame
        The parts in each group. A part may be left out, but not used twice.

    Returns
    -------
    array of shape (..., len(groups))

    See Also
    --------
    subcomposition : Some of the parts instead.
    deciban.Evidence.group : Evidence about groups of classes: means, not sums, of likelihoods.

    Examples
    --------
    >>> amalgamate([0.2, 0.3, 0.5], [[0, 1], [2]])
    array([0.5, 0.5])
    """
    columns = column_names(x)
    xp, (x,) = space.read(x)
    members = _find_groups(groups, columns, x.shape[-1])
    return _close_rest(space, xp, space.add_up(xp, x, members))


def _close_rest(space: Parts, xp: Namespace, x: Array) -> Array:
    if is_inspectable(x) and bool(xp.any(xp.max(x, axis=-1) == space.zero)):
        raise ZeroPartsError(
            f"{space.names[0]} must have a positive part among those kept; some row has none. "
            f"Drop that row, or keep more parts."
        )
    return space.close(xp, x)


def _find_parts(parts: Any, columns: tuple[Hashable, ...] | None, n_parts: int) -> list[int]:
    """Positions of parts that are named or counted; distinct, at least one."""
    several = isinstance(parts, Iterable) and not isinstance(parts, str | bytes)
    found = [find_part(part, columns, n_parts) for part in parts] if several else []
    if not found or len(set(found)) != len(found):
        raise InputError(
            f"parts must be a list of distinct parts, at least one; got {quote(parts)}. "
            f"Name each part once."
        )
    return found


def find_part(part: Any, columns: tuple[Hashable, ...] | None, n_parts: int) -> int:
    """Position of a part: a column name of a frame, or a number that may count from the end."""
    if columns is not None and part in columns:
        return columns.index(part)
    if not is_whole(part) or not -n_parts <= part < n_parts:
        names = "" if columns is None else f", or one of {quote_each(columns)}"
        raise InputError(
            f"part must be a position from 0 to {n_parts - 1}{names}; got {quote(part)}. "
            f"Count from 0, or pass a frame to use its column names."
        )
    return int(part) % n_parts


def _find_groups(
    groups: Any, columns: tuple[Hashable, ...] | None, n_parts: int
) -> list[list[int]]:
    """Positions of the parts of each group; no part is in two of them."""
    several = isinstance(groups, Iterable) and not isinstance(groups, str | bytes)
    found = [_find_parts(group, columns, n_parts) for group in groups] if several else []
    used = [k for group in found for k in group]
    if not found or len(set(used)) != len(used):
        raise InputError(
            f"groups must be a list of groups that share no part; got {quote(groups)}. "
            f"Put each part in one group."
        )
    return found
