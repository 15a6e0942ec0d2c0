"""Names of classes: distinct, hashable, looked up with an error that lists them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence, Set
from typing import Any

import numpy as np

from deciban.exceptions import InputError, UnknownClassError


def as_labels(
    classes: Sequence[Hashable] | None, n_classes: int | None = None
) -> tuple[Hashable, ...]:
    """Distinct hashable labels, as many as said; 0 to D - 1 where none are given."""
    if classes is None:
        return tuple(range(n_classes or 0))
    labels = _in_order(classes)
    try:
        distinct = set(labels)
    except TypeError:
        raise InputError(
            f"classes must be hashable labels; got {labels!r}. Use text or numbers."
        ) from None
    if n_classes is not None and len(labels) != n_classes:
        raise InputError(
            f"classes must name each of the {n_classes} classes; got {len(labels)}. "
            f"Give one label for each class."
        )
    if len(distinct) != len(labels):
        twice = next(label for i, label in enumerate(labels) if label in labels[:i])
        raise InputError(
            f"classes must be distinct; got {twice!r} more than once. Rename one of them."
        )
    return labels


def _in_order(classes: Any) -> tuple[Hashable, ...]:
    """Labels as a tuple, from anything that has an order."""
    text = isinstance(classes, str | bytes)
    if text or isinstance(classes, Set) or not isinstance(classes, Iterable):
        raise InputError(
            f"classes must be a list of labels, in the order of the columns; got {classes!r}. "
            f"Write a list, such as ['first', 'second']."
        )
    return tuple(classes.tolist() if hasattr(classes, "tolist") else classes)


def index_of(label: Any, classes: tuple[Hashable, ...]) -> int:
    """Position of a label among the classes."""
    try:
        return classes.index(label)
    except ValueError:
        raise UnknownClassError(
            f"class must be one of {listed(classes)}; got {label!r}. "
            f"Check its spelling and its type.",
            label=label,
            classes=classes,
        ) from None


def order_by_name(
    names: tuple[Hashable, ...] | None, classes: tuple[Hashable, ...], what: str
) -> list[int] | None:
    """Where each class stands among the names of a table; None where they are in order.

    Numbers from 0 on are what pandas calls columns without a name.
    """
    if names is None or names == classes or names == tuple(range(len(classes))):
        return None
    if len(names) != len(classes) or set(names) != set(classes):
        raise InputError(
            f"{what} must be named after the classes {listed(classes)}; got {listed(names)}. "
            f"Rename them, or pass an array in the order of the classes."
        )
    return [names.index(label) for label in classes]


def listed(labels: Sequence[Hashable], most: int = 10) -> str:
    """Labels as text, the first ones where there are many."""
    return ", ".join(map(repr, labels[:most])) + ", ..." * (len(labels) > most)


def label_array(labels: Sequence[Hashable]) -> np.ndarray:
    """Labels as a one-dimensional array, without turning numbers among text into text."""
    kinds = {type(label) for label in labels}
    if len(kinds) == 1 and next(iter(kinds)) in {str, int, float, bool}:
        array = np.asarray(labels)
        if array.tolist() == list(labels):  # large numbers and trailing zero bytes are changed
            return array
    array = np.empty(len(labels), dtype=object)
    for i, label in enumerate(labels):  # one by one: a tuple may be a label
        array[i] = label
    return array
