"""Sequential binary partitions and bifurcation trees: two ways to write the same thing.

Everything here walks with a stack, not by recursion: the default tree of 1,000 parts is
1,000 deep.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._validation.scalars import quote
from deciban._validation.values import require_finite
from deciban.exceptions import InputError


def balances(signs: NDArray[Any]) -> NDArray[Any]:
    """Contrast matrix of a partition: orthonormal columns, shape (D, D - 1)."""
    plus, minus = signs > 0, signs < 0
    r = plus.sum(axis=1, keepdims=True)
    s = minus.sum(axis=1, keepdims=True)
    V = plus * np.sqrt(s / (r * (r + s))) - minus * np.sqrt(r / (s * (r + s)))
    return V.T.copy()


def require_partition(signs: NDArray[Any]) -> None:
    """Raise unless the signs are a sequential binary partition."""
    if signs.ndim != 2 or signs.shape[1] < 2 or signs.shape[0] != signs.shape[1] - 1:
        raise InputError(
            f"signs must have shape (D - 1, D) with D >= 2; got {signs.shape}. "
            f"Write one split on each row."
        )
    if not np.isin(signs, (-1, 0, 1)).all():
        raise InputError(
            f"signs must be -1, 0 or +1; got {signs[~np.isin(signs, (-1, 0, 1))][0]:g}. "
            f"Mark the two groups of each split."
        )
    incomplete = np.flatnonzero(~((signs > 0).any(axis=1) & (signs < 0).any(axis=1)))
    if incomplete.size:
        raise InputError(
            f"signs must have a +1 and a -1 in every row; row {incomplete[0]} does not. "
            f"Put at least one part on each side.",
            rows=incomplete,
        )
    _row_of_each_group(signs)


def _row_of_each_group(signs: NDArray[Any]) -> dict[bytes, int]:
    """Map each group of two or more parts to the row that splits it."""
    support = signs != 0
    row_of = {group.tobytes(): row for row, group in enumerate(support)}
    groups = [np.ones(signs.shape[1], dtype=bool)]
    while groups:
        group = groups.pop()
        row = row_of.get(group.tobytes())
        if row is None:
            raise InputError(
                f"signs must split every group of two or more parts; no row splits exactly parts "
                f"{np.flatnonzero(group).tolist()[:10]}. Add the row, and drop the one that "
                f"splits no group."
            )
        sides = (signs[row] > 0, signs[row] < 0)
        groups.extend(side for side in sides if np.count_nonzero(side) > 1)
    return row_of


def split_tree(tree: Any) -> tuple[list[Hashable], list[tuple[list[Hashable], list[Hashable]]]]:
    """Leaves from left to right, and the two groups of each node in post-order."""
    splits: list[tuple[list[Hashable], list[Hashable]]] = []
    leaves_of: list[list[Hashable]] = []
    stack: list[tuple[Any, bool]] = [(tree, False)]
    while stack:
        node, seen = stack.pop()
        if not isinstance(node, tuple | list):
            leaves_of.append([node])
        elif len(node) != 2:
            raise InputError(
                f"tree must be made of pairs; got a node with {len(node)} branches. "
                f"Nest it, such as (('a', 'b'), 'c')."
            )
        elif seen:
            right, left = leaves_of.pop(), leaves_of.pop()
            splits.append((left, right))
            leaves_of.append(left + right)
        else:
            stack += [(node, True), (node[1], False), (node[0], False)]
    if not splits:
        raise InputError(
            f"tree must have at least two leaves; got {quote(tree)}. "
            f"Write a pair, such as ('a', 'b')."
        )
    return leaves_of[0], splits


def signs_of_linkage(linkage: NDArray[Any]) -> NDArray[Any]:
    """Signs of the mergers of a hierarchical clustering, in their order."""
    if linkage.ndim != 2 or linkage.shape[1] != 4 or linkage.shape[0] < 1:
        raise InputError(
            f"linkage must have shape (D - 1, 4); got {linkage.shape}. "
            f"Use what scipy.cluster.hierarchy.linkage returns."
        )
    require_finite(np, linkage, "linkage")
    D = linkage.shape[0] + 1
    signs = np.zeros((D - 1, D))
    members = [[part] for part in range(D)]
    merged: set[int] = set()
    for row, (first, second) in zip(signs, linkage[:, :2], strict=True):
        for cluster, sign in ((first, 1), (second, -1)):
            if not (cluster == int(cluster) and 0 <= cluster < len(members)) or cluster in merged:
                raise InputError(
                    f"linkage must merge each cluster once; got cluster {cluster:g} out of turn. "
                    f"Use what scipy.cluster.hierarchy.linkage returns."
                )
            merged.add(int(cluster))
            row[members[int(cluster)]] = sign
        members.append(members[int(first)] + members[int(second)])
    return signs


def nest_groups(signs: NDArray[Any], names: Sequence[Hashable]) -> Any:
    """The partition as nested pairs of names."""
    row_of = _row_of_each_group(signs)
    built: list[Any] = []
    stack: list[tuple[NDArray[Any], bool]] = [(np.ones(len(names), dtype=bool), False)]
    while stack:
        group, seen = stack.pop()
        if np.count_nonzero(group) == 1:
            built.append(names[int(np.flatnonzero(group)[0])])
        elif seen:
            right, left = built.pop(), built.pop()
            built.append((left, right))
        else:
            row = signs[row_of[group.tobytes()]]
            stack += [(group, True), (row < 0, False), (row > 0, False)]
    return built[0]


def draw_tree(signs: NDArray[Any], names: Sequence[Hashable]) -> str:
    """The partition as text, one node or leaf on each line."""
    row_of = _row_of_each_group(signs)
    lines: list[str] = []
    everything = np.ones(len(names), dtype=bool)
    stack: list[tuple[NDArray[Any], str, str]] = [(everything, "", "")]
    while stack:
        group, branch, below = stack.pop()
        if np.count_nonzero(group) == 1:
            lines.append(f"{branch}{names[int(np.flatnonzero(group)[0])]}")
            continue
        row = row_of[group.tobytes()]
        lines.append(f"{branch}l{row + 1}")
        stack.append((signs[row] < 0, f"{below}└─(−) ", f"{below}      "))
        stack.append((signs[row] > 0, f"{below}├─(+) ", f"{below}│     "))
    return "\n".join(lines)
