"""Results by condition: the same assessment for each channel, room or duration of the samples."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deciban._markup import align_cells, in_unit, shorten, to_plain
from deciban._validation.labels import align_by_index, factorize_labels, read_labels
from deciban.assessment.assess import assess
from deciban.assessment.html import represent_conditions
from deciban.assessment.quantities import REGISTRY, base_key
from deciban.assessment.results import Assessment, Quantity
from deciban.assessment.verdicts import FEW
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.designs import Items, name_sources, split_items
from deciban.metrics.labelled import read_labelled

_MOST = 200  # conditions; a column with more values holds measurements or identifiers


@dataclass(frozen=True, repr=False)
class Conditions:
    """Assessments of the samples of each condition, beside that of all samples.

    Attributes
    ----------
    column : str
        The name that the conditions are values for, such as "channel".
    pooled : Assessment
        All samples together.
    assessments : dict of Assessment
        By condition.
    lacking : dict of tuple of int
        Samples per class in conditions that lack a class; these have no assessment.

    See Also
    --------
    deciban.assessment.assess_by : Returns it.

    Examples
    --------
    >>> y, llr = [0, 1, 0, 1], [-2.0, 2.0, 1.0, -1.0]
    >>> found = assess_by(y, Evidence.from_llr(llr), ["a", "a", "b", "b"], n_resamples=0)
    >>> found.worst, round(found.mean("cllr"), 3)
    ('b', 1.039)
    """

    column: str
    pooled: Assessment
    assessments: dict[Hashable, Assessment]
    lacking: dict[Hashable, tuple[int, ...]]

    @property
    def quantities(self) -> list[Quantity]:
        """Quantities to compare by; detection costs that were asked for come first."""
        two = "two" if len(self.pooled.classes) == 2 else "several"
        found = [(q, REGISTRY[base_key(q.key)]) for q in self.pooled.quantities]
        # Without operating points, the detection cost at the prior is there, but was not asked for.
        asked = [(q, d.asked) for q, d in found if d.asked and q.key != "detection_cost"]
        first = [q for q, _ in sorted(asked, key=lambda pair: pair[1])]
        return first + [q for q, definition in found if definition.conditions == two]

    @property
    def worst(self) -> Hashable | None:
        """The condition with the largest first quantity, if any has results."""
        key = self.quantities[0].key
        return max(
            self.assessments, key=lambda name: self.assessments[name][key].value, default=None
        )

    def mean(self, key: str) -> float:
        """Mean of a quantity over the conditions, each counted once."""
        return float(np.mean([found[key].value for found in self.assessments.values()] or [np.nan]))

    @property
    def notes(self) -> list[str]:
        """The worst condition, and what to know about the others."""
        found = []
        if self.worst is not None:
            at = {name: one[self.quantities[0].key] for name, one in self.assessments.items()}
            most = at.pop(self.worst)
            near = [str(name) for name, q in at.items() if q.high >= most.low]
            found = [f"The worst {self.column} by {most.label} is {self.worst}: {most}."]
            if near:
                found[0] += f" Its interval overlaps that of {', '.join(near)}."
        for name, counts in self.lacking.items():
            pairs = zip(self.pooled.classes, counts, strict=True)
            classes = ", ".join(str(label) for label, n in pairs if n == 0)
            found.append(f"{self.column} {name} lacks samples of {classes}: it has no results.")
        for action in dict.fromkeys(one.action for one in self.assessments.values() if one.action):
            of = [str(name) for name, one in self.assessments.items() if one.action == action]
            found.append(f"{action.capitalize()} where {self.column} is {', '.join(of)}.")
        few = [str(name) for name, one in self.assessments.items() if min(one.counts) < FEW]
        if few:
            found.append(
                f"Fewer than {FEW} samples of a class in {', '.join(few)}: intervals are rough."
            )
        return found

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of text: each condition, their mean, and all samples."""
        shown = self.quantities
        rows = [
            [shorten(name, 40), _counts(one.counts), *(str(one[q.key]) for q in shown)]
            for name, one in self.assessments.items()
        ]
        for name, counts in self.lacking.items():
            rows.append([shorten(name, 40), _counts(counts), *["–"] * len(shown)])
        means = [in_unit(self.mean(q.key), q.unit) for q in shown]
        rows.append(["mean", "", *means])
        rows.append(["all samples", _counts(self.pooled.counts), *map(str, shown)])
        labels = [q.label.replace("Detection cost at", "DCF") for q in shown]
        return [self.column, "samples", *labels], rows

    def __repr__(self) -> str:
        header, rows = self.table()
        return "\n".join(["Conditions:", *align_cells([header, *rows]), *self.notes])

    def _repr_html_(self) -> str:
        return represent_conditions(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        each: list[dict[str, Any]] = []
        for name, one in self.assessments.items():
            found = {"counts": list(one.counts), "quantities": to_plain(one.quantities)}
            each.append({"name": to_plain(name), **found, "action": one.action})
        each += [{"name": to_plain(name), "counts": list(n)} for name, n in self.lacking.items()]
        means = {q.key: to_plain(self.mean(q.key)) for q in self.quantities}
        return {
            "column": self.column, "conditions": each, "mean": means, "worst": to_plain(self.worst),
            "worst_by": self.quantities[0].key, "notes": self.notes,
        }  # fmt: skip


def assess_by(
    y_true: ArrayLike,
    evidence: Evidence,
    by: ArrayLike,
    *,
    column: str = "condition",
    groups: ArrayLike | None = None,
    items: Items = None,
    track: Callable[[Sequence[Any]], Iterable[Any]] = iter,
    **settings: Any,
) -> Conditions:
    """Assess all samples, and the samples of each condition apart.

    Parameters
    ----------
    y_true, evidence, groups, items
        As for :func:`assess`.
    by : array of shape (n_samples,)
        The condition of each sample, such as its channel.
    column : str, default "condition"
        The name that the conditions are values for.
    track : callable, optional
        Wraps the iteration over the conditions to show its progress, as tqdm does.
    **settings
        Prior, operating points and so on, as for :func:`assess`.

    Returns
    -------
    Conditions

    See Also
    --------
    deciban.assess : All samples together.

    Examples
    --------
    >>> y, llr = np.arange(200) % 2, np.linspace(-3, 3, 200)
    >>> room = np.where(abs(llr) > 1.5, "large", "small")
    >>> assess_by(y, Evidence.from_llr(llr), room, n_resamples=0).worst
    'large'
    """
    y_true, evidence, by, groups, *pair = align_by_index(
        y_true=y_true, evidence=evidence, by=by, groups=groups, **split_items(items)
    )
    data = read_labelled(y_true, evidence)
    labels = read_labels(y_true)
    names, codes = factorize_labels(read_labels(by, len(data.codes), "by"))
    if len(names) > _MOST:
        raise InputError(
            f"{column} must have at most {_MOST} values, one for each condition; got "
            f"{len(names):,}. Put them into bins first."
        )

    def assess_rows(rows: Any) -> Assessment:
        of_rows = None if groups is None else np.asarray(groups)[rows]
        both = tuple(np.asarray(side)[rows] for side in pair) or None
        return assess(labels[rows], evidence[rows], groups=of_rows, items=both, **settings)

    pooled, assessments, lacking = assess_rows(slice(None)), {}, {}
    pair = name_sources(pair, data.codes) if pair else pair  # conditions alone may not tell them
    for k, name in enumerate(track(names)):
        rows = np.flatnonzero(codes == k)
        counts = data.select(rows).counts
        if not counts.all():
            lacking[name] = tuple(counts.tolist())
            continue
        try:
            assessments[name] = assess_rows(rows)
        except InputError as error:  # one group only, say
            raise InputError(f"{column} {name}: {error}") from error
    return Conditions(column, pooled, assessments, lacking)


def _counts(counts: Sequence[int]) -> str:
    return " + ".join(f"{n:,}" for n in counts) if len(counts) < 4 else f"{sum(counts):,}"
