"""Read trees from nested mappings and lists, or from pairs of a child and its parent."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from deciban._validation.labels import is_missing
from deciban._validation.scalars import quote, quote_each
from deciban.evidence.bayes import name_group
from deciban.exceptions import InputError

_LEAF = object()  # content of a class
_UNNAMED = object()  # name of a node that is named after its classes


def read_tree(tree: Any, root: Hashable) -> tuple[list[Any], tuple[int, ...]]:
    """Name and parent's position of each node, parents before children.

    Uses a stack instead of recursion: a tree over 1,000 classes may be 1,000 deep.
    """
    if isinstance(tree, Mapping) and len(tree) == 1:
        root, tree = next(iter(tree.items()))
    names: list[Any] = []
    parents: list[int] = []
    stack: list[tuple[Any, Any, int]] = [(root, tree, -1)]
    while stack:
        name, content, above = stack.pop()
        at = len(names)
        names.append(name)
        parents.append(above)
        if content is _LEAF:
            continue
        below = _read_children(content)
        if len(below) < 2:
            is_empty = isinstance(content, list | tuple | Mapping) and not content
            raise InputError(
                f"every inner node must have two children or more; got {quote(content)}"
                f"{'' if name is _UNNAMED else f' below {quote(name)}'}. "
                + ("Name its children, or leave the node out." if is_empty
                   else "Put a single child in the place of its parent.")
            )  # fmt: skip
        stack += [(child, beneath, at) for child, beneath in reversed(below)]
    return names, tuple(parents)


def _read_children(content: Any) -> list[tuple[Any, Any]]:
    content = _as_list(content)
    if isinstance(content, Mapping):  # {"wren": "wren"} is a class beside nodes
        return [
            (name, _LEAF if isinstance(below, str) == isinstance(name, str) and below == name
             else below)
            for name, below in content.items()
        ]  # fmt: skip
    if not isinstance(content, list | tuple):
        return []
    found: list[tuple[Any, Any]] = []
    for one in map(_as_list, content):
        if isinstance(one, Mapping):
            found += _read_children(one)
        else:
            found.append((_UNNAMED, one) if isinstance(one, list | tuple) else (one, _LEAF))
    return found


def _as_list(content: Any) -> Any:
    """Ordered containers as lists; all else unchanged."""
    if isinstance(content, set):
        raise InputError(
            f"children of a node must be a list, which has an order; got a set, {quote(content)}. "
            f"Write a list."
        )
    if getattr(content, "shape", ()):  # an array, an Index or a Series
        convert = getattr(content, "tolist", None) or getattr(content, "to_list", None)
        return convert() if convert else content
    return list(content) if isinstance(content, range) else content


def name_nodes(names: list[Any], positions: tuple[tuple[int, ...], ...]) -> tuple[Hashable, ...]:
    found = [
        name_group(at, tuple(names)) if name is _UNNAMED else name
        for name, at in zip(names, positions, strict=True)
    ]
    seen: set[Hashable] = set()
    for name in found:
        hashable = isinstance(name, Hashable)
        if not hashable or name in seen:
            what = f"{quote(name)} twice" if hashable else f"{quote(name)}, which is not hashable"
            raise InputError(
                f"every class and node must have its own name; got {what}. Rename it; a root "
                f"without a name is 'all'."
            )
        seen.add(name)
    return tuple(found)


def read_pairs(pairs: Any) -> tuple[dict[Hashable, Any], int]:
    """The nested mapping of pairs of a child and its parent, and the number of nodes."""
    rows: Any = pairs
    if hasattr(pairs, "columns"):  # a frame
        rows = list(zip(*(pairs[name] for name in pairs.columns), strict=True))
    rows = rows.tolist() if hasattr(rows, "tolist") else rows
    usable = isinstance(rows, Iterable) and not isinstance(rows, str | Mapping)
    rows = [tuple(row) if isinstance(row, Sequence) else (row,) for row in rows] if usable else []
    if not rows or any(len(row) != 2 for row in rows):
        raise InputError(
            f"pairs must be a list of a child and its parent each, or two columns; got "
            f"{quote(pairs)}. Write [('cat', 'mammal'), ('dog', 'mammal')]."
        )
    parents: dict[Hashable, Hashable] = {}
    for child, parent in rows:
        if child in parents or child == parent or _is_empty(child):
            raise InputError(
                f"pairs must give each child one parent, another node; got {quote(child)} and "
                f"{quote(parent)}. Correct this row, or leave it out."
            )
        parents[child] = None if _is_empty(parent) else parent
    tops = [child for child, parent in parents.items() if parent is None]
    inner = dict.fromkeys([*tops, *(one for one in parents.values() if one is not None)])
    roots = [node for node in inner if parents.get(node) is None]
    if len(roots) != 1:
        raise InputError(
            f"pairs must lead from every child to one root that has no parent; got "
            f"{quote_each(roots)}. Add or correct a parent."
        )
    content: dict[Hashable, dict[Hashable, Any]] = {node: {} for node in inner}
    for child, parent in parents.items():
        if parent is not None:
            content[parent][child] = content.get(child, child)
    return {roots[0]: content[roots[0]]}, len(parents.keys() | inner.keys())


def _is_empty(name: Any) -> bool:
    return is_missing(name) or (isinstance(name, str) and not name.strip())
