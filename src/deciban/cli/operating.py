"""Priors, costs and operating points as typed: ``a=0.9,b=0.1``, ``a>b=5``, ``10:1:0.01``."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from deciban.cli.cells import find_target, fold_key_word
from deciban.cli.tables import read_table
from deciban.cli.words import count, join_words, quote, quote_name, split, suggest, unquote
from deciban.evidence import Evidence
from deciban.evidence.bayes import cost_matrix
from deciban.exceptions import InputError
from deciban.metrics import OperatingPoint

if TYPE_CHECKING:
    from deciban.evidence.bayes import Prior
    from deciban.hierarchy import Hierarchy

Classes = Sequence[Hashable]
_TREE = "--hierarchy"
_ROUNDING = 2e-3  # how far a sum of rounded probabilities may be off from one
_HOW_COSTS = "Write true class > decided class = cost"


def parse_prior(
    text: str | None, option: str, classes: Classes, counts: Sequence[float] | None = None
) -> dict[Hashable, float] | None:
    """Probabilities from ``a=0.5,b=0.5``, ``uniform`` (None), ``empirical`` (counts), or a table.

    Names with commas are in double quotes. One class may be left out and gets the rest.
    """
    if text is None or text == "uniform":
        return None
    if text == "empirical" and counts is not None:
        return {label: n / sum(counts) for label, n in zip(classes, counts, strict=True)}
    found: dict[Hashable, float] = {}
    for name, number in _split_shares(text, option, classes, counts is not None):
        label = find_class(name, option, classes)
        if label in found:
            raise InputError(f"{option} names {label} twice. Name each class once.")
        digits = number.strip()
        share = _parse_number(digits.removesuffix("%"), option, text)
        found[label] = share / (100 if digits.endswith("%") else 1)
    rest = [label for label in classes if label not in found]
    if len(rest) == 1 and sum(found.values()) < 1 - _ROUNDING:
        found[rest.pop()] = 1 - sum(found.values())
    if rest:
        raise InputError(
            f"{option} must name every class; it lacks {join_words(map(quote_name, rest), 5)}. "
            f"Write '{_example_prior(classes)}'."
        )
    smallest, total = min(found.values()), sum(found.values())
    if smallest <= 0 or abs(total - 1) > _ROUNDING:
        what = f"one of them is {smallest:g}" if smallest <= 0 else f"they sum to {total:g}"
        raise InputError(f"{option} must be probabilities above zero that sum to one; {what}.")
    return found


def _split_shares(
    text: str, option: str, classes: Classes, empirical: bool
) -> list[tuple[str, str]]:
    if "=" not in text and is_file(text):
        frame = read_table(text)
        if frame.width != 2:
            raise InputError(
                f"{option} takes a table of two columns, classes and probabilities; {text} has "
                f"{frame.width}."
            )
        return [(str(name), str(number)) for name, number in frame.iter_rows()]
    pairs = [unquote(part).rpartition("=") for part in split(text)]
    if not all(equals for _, equals, _ in pairs):
        words = "'uniform', 'empirical'" if empirical else "'uniform'"
        raise InputError(
            f"{option} must be like '{_example_prior(classes)}', {words} or a table of classes "
            f"and probabilities; got {quote(text)}. Put names with commas in double quotes."
        )
    return [(unquote(name), number) for name, _, number in pairs]


def setting_files(*texts: str | None) -> list[str]:
    return [text for text in texts if text and is_file(text)]


def is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # it cannot be the name of a file
        return False


def parse_costs(text: str | None, classes: Classes) -> NDArray[np.float64] | None:
    """Costs, with the true class on rows, from ``a>b=5,b>a=1`` or a table.

    ``a>b=5``: deciding b when a is true costs 5. Other errors cost 1, correct decisions nothing. A
    table has the true class in its first column and one column for each decision.
    """
    if text is None:
        return None
    if ">" not in text:
        return _read_costs(text, classes)
    found: dict[tuple[Hashable, Hashable], float] = {}
    for part in split(text):
        pair, equals, number = unquote(part).rpartition("=")
        if not equals or ">" not in pair:
            raise InputError(
                f"--costs must be like '{_example_cost(classes)}', or a table; got {quote(text)}. "
                f"{_HOW_COSTS}, names with commas or > in double quotes."
            )
        error = _find_error(pair, classes)
        if error in found:
            raise InputError(f"--costs must name each error once; it names {quote(pair)} twice.")
        found[error] = _parse_number(number, "--costs", text)
    return cost_matrix(found, tuple(classes))


def _find_error(pair: str, classes: Classes) -> tuple[Hashable, Hashable]:
    """The true and the decided class; classes may have > in their names."""
    words = split(pair, ">")
    if len(words) == 1 and unquote(pair) != pair:  # all of it in quotes
        return _find_error(unquote(pair), classes)
    if len(words) == 1:
        raise InputError(f"--costs must close its quotes; got {quote(pair)}. {_HOW_COSTS}.")
    cuts = range(1, len(words))
    sides = [[unquote(">".join(part)) for part in (words[:k], words[k:])] for k in cuts]
    names = {str(label) for label in classes}
    known = [both for both in sides if {side.strip() for side in both} <= names]
    if len(known) > 1:
        raise InputError(
            f"--costs {quote(pair)} can be read in {len(known)} ways. Give a table of costs."
        )
    truth, decision = (find_class(side, "--costs", classes) for side in (known or sides)[0])
    return truth, decision


def _read_costs(text: str, classes: Classes) -> NDArray[np.float64]:
    if not is_file(text):
        raise InputError(
            f"--costs must be like '{_example_cost(classes)}', or a table that exists; got "
            f"{quote(text)}. {_HOW_COSTS}."
        )
    frame = read_table(text)
    rows = [find_class(str(one), "--costs", classes) for one in frame.to_series(0).to_list()]
    names = [find_class(name, "--costs", classes) for name in frame.columns[1:]]
    if sorted(map(str, rows)) != sorted(map(str, classes)) or set(names) != set(classes):
        raise InputError(
            f"--costs must be a table with one row and one column for each class; {text} has rows "
            f"{join_words(rows, 5)} and columns {join_words(names, 5)}. Add what is missing."
        )
    found = {
        (i, j): _parse_number(value, "--costs", text)
        for i, (_, *values) in zip(rows, frame.rows(), strict=True)
        for j, value in zip(names, values, strict=True)
    }
    return cost_matrix(found, tuple(classes))


def parse_points(texts: Sequence[str], n_classes: int) -> dict[str, Any]:
    """Operating points such as ``10:1:0.01`` (C_miss, C_fa, P_target), and ``c-avg``."""
    points: list[OperatingPoint] = []
    for text in (text for text in texts if text != "c-avg"):
        try:
            cost_miss, cost_false_alarm, prior = map(float, text.split(":"))
            points.append(OperatingPoint(cost_miss, cost_false_alarm, prior))
        except ValueError:  # not three numbers, or not such as a point can have
            raise InputError(
                f"--dcf must be C_miss:C_fa:P_target, two costs above zero and a probability "
                f"between 0 and 1; got {quote(text)}. Write --dcf 10:1:0.01."
            ) from None
        if points[-1] in points[:-1]:
            raise InputError(f"--dcf must name each operating point once; {text} is given twice.")
    if "c-avg" in texts and n_classes < 3:
        raise InputError("C_avg is for three classes or more. Leave out --dcf c-avg.")
    return {"operating_points": points, "c_avg": "c-avg" in texts}


def decision_columns(
    evidence: Evidence, prior: dict[Hashable, float] | None, costs: NDArray[np.float64] | None
) -> dict[str, np.ndarray]:
    """Posteriors and the decision, by the name of the column to add."""
    posterior = evidence.posterior(prior)
    found = {f"posterior_{label}": posterior[:, k] for k, label in enumerate(evidence.classes)}
    decision = evidence.decide(costs, prior)
    if decision.dtype == object:  # numbers beside text: a column of a table has one type
        decision = np.array([str(label) for label in decision.tolist()])
    return {**found, "decision": decision}


def describe_decisions(
    prior: dict[Hashable, float] | None, costs: NDArray[np.float64] | None
) -> dict[str, Any]:
    return {
        "prior": None if prior is None else list(prior.values()),
        "costs": None if costs is None else costs.tolist(),
    }


def find_class(text: str, option: str, classes: Classes) -> Hashable:
    wanted = text.strip()
    for label in classes:
        if str(label) == wanted or (isinstance(label, bool) and str(label).lower() == wanted):
            return label
    names = [str(label) for label in classes]
    target = find_target(classes)
    meant = fold_key_word(wanted) == "target" and target is not None
    hint = f" The target is {quote(str(target))}." if meant else suggest(wanted, names)
    raise InputError(
        f"{option} must name one of the classes {join_words(map(quote_name, names), 10)}; got "
        f"{quote(wanted)}.{hint or ' Check its spelling.'}"
    )


def _parse_number(value: object, option: str, text: str) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = float("nan")
    if not -1e300 < number < 1e300:
        raise InputError(
            f"{option} must hold finite numbers; got {quote(value)} in {quote(text)}. Correct it."
        )
    return number


def _example_prior(classes: Classes) -> str:
    """An example prior, shortened if there are many classes."""
    each = round(1 / len(classes), 3)
    shares = [*[each] * (len(classes) - 1), 1 - each * (len(classes) - 1)]
    pairs = [f"{quote_name(label)}={p:.3g}" for label, p in zip(classes, shares, strict=True)]
    return ",".join(pairs if len(pairs) <= 5 else [*pairs[:4], "…"])


def _example_cost(classes: Classes) -> str:
    return f"{quote_name(classes[0])}>{quote_name(classes[1])}=5"


def read_hierarchy(text: str, classes: Sequence[Hashable]) -> Hierarchy:
    """A tree over the classes, from nested JSON or a table of children and parents."""
    from deciban.hierarchy import Hierarchy

    if not is_file(text):
        raise InputError(
            f"{_TREE} must name a file; got {quote(text)}. Give JSON such as "
            f'{{"mammal": ["cat", "dog"], "bird": "bird"}}, or a table of child and parent.'
        )
    is_json = text.lower().endswith(".json")
    content = _read_json(text) if is_json else _read_tree(text)
    try:
        tree = Hierarchy(content) if is_json else Hierarchy.from_pairs(content)
        names = {str(one) for one in classes}
        for node in tree.inner_nodes:
            if str(node) in names:  # an answer would not say which of the two is meant
                raise InputError(f"{quote(str(node))} has children but is a class. Rename it.")
        inner = set(tree.inner_nodes)
        label = {
            node: node if node in inner else find_class(str(node), "each leaf", classes)
            for node in tree.nodes
        }
        missing = [quote_name(one) for one in classes if one not in label.values()]
        if missing:
            raise InputError(f"lacks the class {join_words(missing, 5)}. Add it.")
        return Hierarchy.from_pairs([(label[node], tree.parent(node)) for node in tree.nodes[1:]])
    except InputError as error:
        raise InputError(f"{_TREE} {text}: {error}") from None


def answer_columns(
    evidence: Evidence, prior: Prior, hierarchy: Hierarchy, confidence: float
) -> dict[str, Any]:
    """Columns to add by name: the node that each row supports and its posterior."""
    answers = hierarchy.decide(evidence, prior, confidence=confidence)
    place = {node: k for k, node in enumerate(hierarchy.nodes)}
    at = np.array([place[answer] for answer in answers.tolist()], dtype=np.intp)
    posterior = hierarchy.posterior(evidence, prior)[np.arange(len(at)), at]
    names = pl.Series([str(node) for node in hierarchy.nodes])  # one copy of each, however long
    return {"answer": names.gather(at), "answer_posterior": posterior}


def _read_json(text: str) -> Any:
    try:
        return json.loads(Path(text).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{_TREE} {text} is not JSON: {error}. Correct it.") from None


def _read_tree(text: str) -> list[tuple[Any, ...]]:
    frame = read_table(text)
    if frame.width != 2 or not frame.height:
        raise InputError(
            f"{_TREE} {text} has {count(frame.width, 'column')} and "
            f"{count(frame.height, 'row')}. A tree is a table of two columns, child and parent."
        )
    return frame.cast(pl.String).rows()  # an empty parent stays None: it marks the root
