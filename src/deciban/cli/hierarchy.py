"""Trees of classes from files, and the answers that rows get by them."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from deciban.cli.operating import find_class, is_file
from deciban.cli.tables import read_table
from deciban.cli.words import count, join_words, quote, quote_name
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from deciban.evidence import Evidence
    from deciban.evidence.bayes import Prior
    from deciban.hierarchy import Hierarchy

_OPTION = "--hierarchy"


def read_hierarchy(text: str, classes: Sequence[Hashable]) -> Hierarchy:
    """A tree over the classes, from nested JSON or a table of children and their parents."""
    from deciban.hierarchy import Hierarchy

    if not is_file(text):
        raise InputError(
            f"{_OPTION} must name a file; got {quote(text)}. Give JSON such as "
            f'{{"mammal": ["cat", "dog"], "bird": "bird"}}, or a table of child and parent.'
        )
    if text.lower().endswith(".json"):
        tree = _build(text, Hierarchy, _read_json(text))
    else:
        tree = _build(text, Hierarchy.from_pairs, _read_pairs(text))
    inner = set(tree.inner_nodes)
    names = {str(one) for one in classes}
    for node in tree.inner_nodes:
        if str(node) in names:  # an answer would not say which of the two is meant
            raise InputError(
                f"{_OPTION} {text} has children below {quote(str(node))}, which is a class. Rename "
                "the node."
            )
    option = f"{_OPTION} {text}"
    label = {
        node: node if node in inner else find_class(str(node), option, classes)
        for node in tree.nodes
    }
    missing = [quote_name(one) for one in classes if one not in label.values()]
    if missing:
        raise InputError(f"{option} lacks the class {join_words(missing, 5)}. Add it.")
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


def _build(text: str, make: Callable[[Any], Hierarchy], tree: Any) -> Hierarchy:
    """The tree of a file; errors name the file."""
    try:
        return make(tree)
    except InputError as error:
        raise InputError(f"{_OPTION} {text}: {error}") from None


def _read_json(text: str) -> Any:
    try:
        return json.loads(Path(text).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{_OPTION} {text} is not JSON: {error}. Correct it.") from None


def _read_pairs(text: str) -> list[tuple[Any, ...]]:
    frame = read_table(text)
    if frame.width != 2 or not frame.height:
        raise InputError(
            f"{_OPTION} {text} has {count(frame.width, 'column')} and "
            f"{count(frame.height, 'row')}. A tree is a table of two columns, child and parent."
        )
    return frame.cast(pl.String).rows()  # an empty parent stays None: it marks the root
