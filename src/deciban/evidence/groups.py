"""Groups of classes as composite hypotheses: their members, their names, their likelihoods."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._validation.labels import as_labels, index_of
from deciban._validation.scalars import quote
from deciban.exceptions import InputError


def find_members(group: Any, classes: tuple[Hashable, ...]) -> list[int]:
    """Positions of one class, or of the members of a list, tuple, set or array of classes.

    What is itself a class is that class, also where it is a tuple.
    """
    if isinstance(group, tuple | frozenset) and group in classes:
        return [classes.index(group)]
    if not isinstance(group, list | tuple | set | frozenset | np.ndarray):
        return [index_of(group, classes)]
    found = [index_of(label, classes) for label in group]
    if not found or len(set(found)) != len(found):
        raise InputError(
            f"a group must name at least one class, and each class once; got {quote(group)}. "
            f"Write a list of classes, such as ['first', 'second']."
        )
    return sorted(found) if isinstance(group, set | frozenset) else found


def read_groups(groups: Any, classes: tuple[Hashable, ...]) -> dict[Hashable, list[int]]:
    """Names of two groups or more and the positions of their members, which they do not share."""
    named = isinstance(groups, Mapping)
    each = groups.values() if named else groups if isinstance(groups, list | tuple) else ()
    members = [find_members(group, classes) for group in each]
    every = [k for at in members for k in at]
    if len(members) < 2 or len(set(every)) != len(every):
        raise InputError(
            f"groups must be a mapping from names to lists of classes, or a list of such lists, at "
            f"least two that share no class; got {quote(groups)}. Put each class in one group."
        )
    alone = [classes[at[0]] if len(at) == 1 else name_group(at, classes) for at in members]
    return dict(zip(as_labels(list(groups) if named else alone), members, strict=True))


def name_group(members: Iterable[int], classes: tuple[Hashable, ...]) -> str:
    """The classes of a group as a sentence names them: "a", "a or b", "a, b or c"."""
    *first, last = (str(classes[k]) for k in members)
    return f"{', '.join(first)} or {last}" if first else last


def pool_members(
    log_likelihoods: NDArray[np.float64], members: list[int], log_prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log of the mean likelihood of the members, weighted by the prior given the group."""
    if len(members) == 1:
        return log_likelihoods[:, members[0]]
    weights = log_prior[:, members]
    weights = weights - np.logaddexp.reduce(weights, axis=1, keepdims=True)
    return np.asarray(np.logaddexp.reduce(log_likelihoods[:, members] + weights, axis=1))
