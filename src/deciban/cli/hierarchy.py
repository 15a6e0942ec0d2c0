"""Trees of classes from files, the answers that rows get by them, and what each node costs."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from deciban.cli.operating import find_class, is_file
from deciban.cli.show import echo, in_unit, print_table
from deciban.cli.tables import read_table
from deciban.cli.words import join_words, quote, quote_name
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from deciban.evidence import Evidence
    from deciban.evidence.bayes import Prior
    from deciban.hierarchy import HierarchicalCost, Hierarchy

_OPTION = "--hierarchy"


def read_hierarchy(text: str, classes: Sequence[Hashable]) -> Hierarchy:
    """A tree over the classes, from nested JSON or a table of children and their parents."""
    from deciban.hierarchy import Hierarchy

    if not is_file(text):
        raise InputError(
            f"{_OPTION} must name a file; got {quote(text)}. Give JSON such as "
            f'{{"mammal": ["cat", "dog"], "bird": "bird"}}, or a table of child and parent.'
        )
    tree = _read_json(text) if text.lower().endswith(".json") else _read_pairs(text)
    inner = set(tree.inner_nodes)
    names = {str(one) for one in classes}
    for node in tree.inner_nodes:
        if str(node) in names:  # an answer would not say which of the two is meant
            raise InputError(
                f"{_OPTION} must not name a node like a class; {text} has children below "
                f"{quote(str(node))}. Rename the node."
            )
    label = {node: node if node in inner else _find(node, text, classes) for node in tree.nodes}
    missing = [quote_name(one) for one in classes if one not in label.values()]
    if missing:
        raise InputError(
            f"{_OPTION} must hold every class; {text} lacks {join_words(missing, 5)}. Add it."
        )
    pairs = [(label[node], tree.parent(node)) for node in tree.nodes[1:]]
    return _build(text, Hierarchy.from_pairs, pairs)


def answer_columns(
    evidence: Evidence, prior: Prior, hierarchy: Hierarchy, confidence: float
) -> dict[str, Any]:
    """The node that each row supports and its posterior, by the name of the column to add."""
    answers = hierarchy.decide(evidence, prior, confidence=confidence)
    place = {node: k for k, node in enumerate(hierarchy.nodes)}
    at = np.array([place[answer] for answer in answers.tolist()], dtype=np.intp)
    posterior = hierarchy.posterior(evidence, prior)[np.arange(len(at)), at]
    names = pl.Series([str(node) for node in hierarchy.nodes])  # one copy of each, however long
    return {"answer": names.gather(at), "answer_posterior": posterior}


def describe_nodes(cost: HierarchicalCost) -> list[dict[str, Any]]:
    """What each node costs, as plain data for JSON."""
    from deciban._markup import to_plain

    keys = ("node", "part", "probability", "cost", "cost_without_evidence")
    rows = zip(map(str, cost.nodes), *(column.tolist() for column in cost[2:]), strict=True)
    return [{key: to_plain(one) for key, one in zip(keys, row, strict=True)} for row in rows]


def print_nodes(cost: HierarchicalCost) -> None:
    """Print what each node costs, and the total."""
    rows = [
        (str(node), *(in_unit(value, "nat") for value in (probability, one, most, part)))
        for node, part, probability, one, most in zip(*cost[1:], strict=True)
    ]
    echo("\nCost of each node in nats, with the evidence and with the prior alone:")
    total = ("total", "", "", "", in_unit(cost.total, "nat"))
    header = ("node", "probability", "cost", "prior alone", "part of the total")
    print_table(header, [*rows, total], right=range(1, 5))


def _find(node: Hashable, text: str, classes: Sequence[Hashable]) -> Hashable:
    return find_class(str(node), f"{_OPTION} {text}", classes)


def _build(text: str, make: Callable[[Any], Hierarchy], tree: Any) -> Hierarchy:
    """The tree of a file; errors name the file."""
    try:
        return make(tree)
    except InputError as error:
        raise InputError(f"{_OPTION} {text}: {error}") from None


def _read_json(text: str) -> Hierarchy:
    from deciban.hierarchy import Hierarchy

    try:
        tree = json.loads(Path(text).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{_OPTION} must be a file of JSON; {text} is not: {error}. Correct it."
        ) from None
    return _build(text, Hierarchy, tree)


def _read_pairs(text: str) -> Hierarchy:
    from deciban.hierarchy import Hierarchy

    frame = read_table(text)
    if frame.width != 2:
        raise InputError(
            f"{_OPTION} must be a table of two columns, child and parent; {text} has "
            f"{frame.width}. Leave out the others."
        )
    if not frame.height:
        raise InputError(
            f"{_OPTION} must be a table with rows, a child and its parent each; {text} has none. "
            f"Add some."
        )
    rows = frame.cast(pl.String).iter_rows()  # an empty parent stays None: it marks the root
    return _build(text, Hierarchy.from_pairs, list(rows))
