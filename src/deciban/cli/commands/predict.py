"""``deciban predict``: evidence, posteriors and decisions for each row of a table."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from deciban.cli import options as opt
from deciban.cli.options import option
from deciban.cli.show import echo, print_written
from deciban.cli.words import count, name_source
from deciban.exceptions import InputError, TableError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    import deciban._workers
    from deciban.cli.files import Source
    from deciban.cli.tables import Table as InputTable
    from deciban.evidence import Evidence, PriorEstimate
    from deciban.hierarchy import Hierarchy

    Floats = NDArray[np.float64]

_ROWS = 16_384  # of a batch: one size, so that a CDA is compiled once


def predict(
    model: opt.Model,
    table: opt.Table,
    output: opt.OutputTable,
    prior: opt.ModelPrior = "empirical",
    costs: opt.Costs = None,
    hierarchy: Annotated[
        str | None, option('Tree of the classes: a .json file such as {"mammal": ["cat", "dog"], '
                           '"bird": "bird"}, or a table of child and parent.', "FILE"),
    ] = None,
    confidence: Annotated[
        float | None, option("With --hierarchy: the least posterior of an answer (default 0.95).",
                             "0.5-1"),
    ] = None,
    outlier: Annotated[
        float, option("Flag rows less likely than this fraction of the training rows; 0 for no "
                      "flag, which is faster.", "0-1"),
    ] = 0.01,
    workers: opt.Workers = None,
    as_json: opt.Json = False,
    force: opt.Force = False,
) -> None:  # fmt: skip
    """Compute evidence, posteriors and a decision for each row of a table.

    Adds each class's log-likelihood in nats (they sum to zero in each row), the ILRL, the evidence
    strength in decibans, each class's posterior, the decision, and whether the row is an outlier.
    With --hierarchy, adds the answer: the lowest tree node whose posterior reaches --confidence.
    Columns that the model does not use are copied. Rows are processed in batches, and memory stays
    flat.

    With '--prior estimate', the prior is the class mix of this table, estimated from the evidence
    of all rows, which is held in memory.

    The table may be a folder of Parquet files or a quoted pattern such as 'new/*.parquet'; --output
    is then a folder such as out/, which gets a Parquet file for each part of the input, and a
    manifest. To continue an interrupted run, give the command again.

    Example: deciban predict iris.deciban iris-new.csv -o out.csv --prior uniform
    """
    from deciban._workers import open_workers
    from deciban.cli.outputs import require_output, split_files, write_output
    from deciban.cli.provenance import hash_inputs

    beside = (model, prior, costs, hierarchy)
    files = require_output(output, table, beside, many=workers is not None, force=force)
    job = _make_job(model, prior, costs, hierarchy, confidence, outlier)
    parts = split_files(job, files, output)
    plan = {
        "command": "predict", "model": hash_inputs([str(model)])[0]["sha256"],
        "settings": {**job.settings, "estimate_prior": prior == "estimate"},
    }  # fmt: skip
    mix = None
    packages = ("jax",) if "jax" in sys.modules else ()  # loading a CDA imports it
    with open_workers(workers, packages) as crew:
        if prior == "estimate":
            mix = _estimate_prior(crew, job, parts)
            job = replace(job, prior=dict(mix))
        counts = write_output(crew, job, parts, output, plan, force=force)
    _print_counts(counts, job, mix, output, as_json)


def _make_job(
    model: Path, prior: str, costs: str | None, hierarchy: str | None, confidence: float | None,
    outlier: float,
) -> _Prediction:  # fmt: skip
    from deciban.cli.features import load_model
    from deciban.cli.operating import parse_costs, parse_prior, read_hierarchy

    if not 0 <= outlier < 1:
        raise InputError(f"--outlier must be at least 0 and below 1; got {outlier}. Give 0.01.")
    if confidence is not None and hierarchy is None:
        raise InputError("--confidence is about answers from a tree. Add --hierarchy FILE.")
    if confidence is not None and not 0.5 < confidence < 1:
        raise InputError(f"--confidence must lie between 0.5 and 1; got {confidence}. Give 0.95.")
    estimator = load_model(model)
    classes = tuple(estimator.classes_.tolist())
    counts = estimator.class_counts_.tolist()
    before = None if prior == "estimate" else parse_prior(prior, "--prior", classes, counts)
    prices = parse_costs(costs, classes)
    tree = None if hierarchy is None else read_hierarchy(hierarchy, classes)
    return _Prediction(estimator, outlier, before, prices, tree, confidence or 0.95)


def _print_counts(
    counts: Counter[Hashable], job: _Prediction, mix: PriorEstimate | None, output: str,
    as_json: bool,
) -> None:  # fmt: skip
    classes = job.model.classes_.tolist()
    found: dict[str, Any] = {
        "rows": counts["rows"],
        "decisions": {str(label): counts["decision", str(label)] for label in classes},
    }
    numbers = ", ".join(f"{n:,} {label}" for label, n in found["decisions"].items())
    sentence = f"{count(found['rows'], 'row')}: {numbers}"
    if job.outlier:
        found["outliers"] = counts["outliers"]
        sentence += f"; {count(found['outliers'], 'outlier')}"
    if mix is not None:
        rows = zip(classes, mix.shares, mix.low, mix.high, strict=True)
        shares = {str(c): {"share": s, "low": a, "high": b, "prior": mix[c]} for c, s, a, b in rows}
        found |= {"class_mix": shares, "confidence": mix.confidence, "shift_p_value": mix.p_value}
        if not as_json:
            echo(repr(mix), err=True)
    print_written(sentence, found, output, as_json)


def _estimate_prior(
    crew: deciban._workers.Workers, job: _Prediction, parts: Sequence[Source]
) -> PriorEstimate:
    """The table's class mix, tested against the training rows."""
    from deciban.evidence import Evidence

    found = [evidence for part in crew.map(job.evidence, parts) for evidence in part]
    if not found:
        raise TableError(
            "has no rows to estimate a class mix from. Give another --prior.",
            file=name_source(os.fspath(parts[0])),
        )
    training_mix = job.model.class_counts_ / job.model.class_counts_.sum()
    return Evidence.concatenate(found).estimate_prior(training_mix)


@dataclass(frozen=True)
class _Prediction:
    model: Any
    outlier: float
    prior: Any
    costs: Floats | None
    hierarchy: Hierarchy | None = None
    confidence: float = 0.95

    @property
    def settings(self) -> dict[str, Any]:
        from deciban.cli.operating import describe_decisions

        found = describe_decisions(self.prior, self.costs) | {"outlier": self.outlier}
        if self.hierarchy is not None:
            found |= {"hierarchy": repr(self.hierarchy), "confidence": self.confidence}
        return found

    @property
    def counted(self) -> list[str]:
        return ["decision", "is_outlier"] if self.outlier else ["decision"]

    def summarize(self, frame: pl.DataFrame) -> Counter[Hashable]:
        decisions = frame["decision"].value_counts().iter_rows()
        counts: Counter[Hashable] = Counter({("decision", str(label)): n for label, n in decisions})
        if self.outlier:
            counts["outliers"] = int(frame["is_outlier"].sum())
        return counts

    def open(self, source: Source) -> InputTable:
        from deciban.cli.features import open_features

        table = open_features(self.model.columns_, source)
        table.refuse_columns(self._nothing, self._carried(table))
        return table

    def evidence(self, source: Source) -> list[Evidence]:
        return [self.model.evidence(X) for _, X in self._batches(self.open(source)) if len(X)]

    def frames(self, source: Source) -> Iterator[pl.DataFrame]:
        import polars as pl

        table = self.open(source)
        carried = self._carried(table)
        for frame, X in self._batches(table):
            new = self._columns(X) if len(X) else self._nothing
            added = pl.DataFrame([pl.Series(name, values) for name, values in new.items()])
            # A frame of no columns may have forgotten how many rows it had.
            yield frame.select(carried).hstack(added) if carried else added

    def _batches(self, table: InputTable) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
        from deciban.cli.features import read_rows

        start = table.first
        for frame in table.batches(_ROWS):
            yield frame, read_rows(self.model.columns_, frame, table.name, start)
            start += frame.height

    def _carried(self, table: InputTable) -> list[str]:
        return [name for name in table.columns if name not in self.model.columns_.names]

    @cached_property
    def _nothing(self) -> dict[str, Any]:
        """The columns to add to a table without rows: those of any row, without it."""
        from deciban.cli.features import typical_row

        row = self._columns(typical_row(self.model.columns_))
        return {name: values[:0] for name, values in row.items()}

    def _columns(self, X: pl.DataFrame) -> dict[str, Any]:
        from deciban.cli.operating import answer_columns, decision_columns

        evidence = self.model.evidence(X)
        values = evidence.log_likelihoods
        centered = values - values.mean(axis=1, keepdims=True)
        labels = enumerate(evidence.classes)
        new = {f"log_likelihood_{label}": centered[:, k] for k, label in labels}
        new |= {f"ilr_{k}": coordinate for k, coordinate in enumerate(evidence.ilr().T, 1)}
        new["strength_deciban"] = evidence.strength("deciban")
        new |= decision_columns(evidence, self.prior, self.costs)
        if self.hierarchy is not None:
            new |= answer_columns(evidence, self.prior, self.hierarchy, self.confidence)
        if self.outlier:
            new["is_outlier"] = self.model.outlier_score(X) < self.outlier
        return new
