"""Sequential binary partitions and bifurcation trees: two ways to write the same thing.

Everything here walks with a stack, not by recursion: the default tree of 1,000 parts is
1,000 deep.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import refuse_rows, require_finite
from deciban._validation.scalars import quote
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
    refuse_rows(
        ~((signs > 0).any(axis=1) & (signs < 0).any(axis=1)),
        "signs must have a +1 and a -1 in every row",
        "does not",
        "Put at least one part on each side.",
    )
    _groups(signs)


def _groups(signs: NDArray[Any]) -> list[tuple[NDArray[Any], int | None]]:
    """Every group of parts and the row that splits it, None for a single part.

    From the top down; after a group come those within its positive side, then the others.
    """
    row_of = {group.tobytes(): row for row, group in enumerate(signs != 0)}
    groups: list[tuple[NDArray[Any], int | None]] = []
    stack = [np.ones(signs.shape[1], dtype=bool)]
    while stack:
        group = stack.pop()
        row = row_of.get(group.tobytes())
        groups.append((group, row))
        if np.count_nonzero(group) == 1:
            continue
        if row is None:
            raise InputError(
                f"signs must split every group of two or more parts; no row splits exactly parts "
                f"{np.flatnonzero(group).tolist()[:10]}. Add the row, and drop the one that "
                f"splits no group."
            )
        stack += [signs[row] < 0, signs[row] > 0]
    return groups


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
    members: dict[float, list[int]] = {part: [part] for part in range(D)}  # not merged yet
    for k, (row, pair) in enumerate(zip(signs, linkage[:, :2], strict=True)):
        merged: list[int] = []
        for cluster, sign in zip(pair, (1, -1), strict=True):
            if cluster not in members:
                raise InputError(
                    f"linkage must merge each cluster once; got cluster {cluster:g} out of turn. "
                    f"Use what scipy.cluster.hierarchy.linkage returns."
                )
            row[members[cluster]] = sign
            merged += members.pop(cluster)
        members[D + k] = merged
    return signs


def nest_groups(signs: NDArray[Any], names: Sequence[Hashable]) -> Any:
    """The partition as nested pairs of names."""
    trees: list[Any] = []
    for group, row in reversed(_groups(signs)):
        leaf = row is None
        trees.append(names[int(np.argmax(group))] if leaf else (trees.pop(), trees.pop()))
    return trees[0]


def draw_tree(signs: NDArray[Any], names: Sequence[Hashable]) -> str:
    """The partition as text, one node or leaf on each line."""
    lines: list[str] = []
    stems = [("", "")]  # of the line itself, and of the lines below it
    for group, row in _groups(signs):
        branch, below = stems.pop()
        if row is None:
            lines.append(f"{branch}{names[int(np.argmax(group))]}")
        else:
            lines.append(f"{branch}l{row + 1}")
            stems.append((f"{below}└─(−) ", f"{below}      "))
            stems.append((f"{below}├─(+) ", f"{below}│     "))
    return "\n".join(lines)
