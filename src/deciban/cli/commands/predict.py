"""``deciban predict``: evidence, posteriors and decisions for each row of a table."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from deciban.cli.options import (
    Costs,
    Force,
    Format,
    Json,
    Model,
    ModelPrior,
    OutputTable,
    Table,
    option,
)
from deciban.cli.show import echo, print_written
from deciban.cli.words import count
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from deciban.cli.io.formats import Table as InputTable
    from deciban.evidence import PriorEstimate

    Floats = NDArray[np.float64]

EXAMPLE = "Example: deciban predict iris.deciban iris-new.csv -o out.csv --prior uniform"
_ROWS = 16_384  # of a batch: one size, so that a CDA is compiled once


def predict(
    model: Model,
    table: Table,
    output: OutputTable,
    prior: ModelPrior = "empirical",
    estimate_prior: Annotated[
        bool, option("Take the class mix of this table, estimated from the evidence of all rows, as"
                     " the prior: deciban predict iris.deciban iris-new.csv -o out.csv "
                     "--estimate-prior.", None, "--estimate-prior"),
    ] = False,
    costs: Costs = None,
    outlier: Annotated[
        float, option("Flag rows less likely than this fraction of the training rows; 0 for no "
                      "flag, which is faster.", "0-1"),
    ] = 0.01,
    table_format: Format = None,
    as_json: Json = False,
    force: Force = False,
) -> None:  # fmt: skip
    """Tell for each row of a table what it says about the classes.

    Columns that the model does not use are carried along unchanged. Added are the log-likelihood of
    each class in nats (they sum to zero in each row), the ILRL, the strength of the evidence in
    decibans, the posterior probability of each class, the decision, and whether the row is an
    outlier. Rows are read and written in batches, so that memory stays flat (with --estimate-prior
    the evidence of all rows is held).
    """
    import polars as pl

    from deciban.cli.features import open_model, read_rows, typical_row
    from deciban.cli.io.writing import require_outputs, table_writer
    from deciban.cli.operating import parse_costs, parse_prior

    if not 0 <= outlier < 1:
        raise InputError(f"--outlier must be at least 0 and below 1; got {outlier}. Give 0.01.")
    if estimate_prior and prior != "empirical":
        raise InputError("--prior and --estimate-prior must not come together. Leave one out.")
    require_outputs({"--output": output}, (model, table, prior, costs), force=force)
    estimator, source = open_model(model, table, table_format)
    classes = tuple(estimator.classes_.tolist())
    before = parse_prior(prior, "--prior", classes, estimator.class_counts_.tolist())
    prices = parse_costs(costs, "--costs", classes)
    mix = _estimate_prior(estimator, source) if estimate_prior else None
    before = before if mix is None else dict(mix)
    add = partial(_columns, estimator, outlier, before, prices)
    # the columns of a table without rows: those of any row, without it
    nothing = {name: v[:0] for name, v in add(typical_row(estimator.columns_)).items()}
    carried = [name for name in source.columns if name not in estimator.columns_.names]
    source.refuse_columns(nothing, carried)
    decisions: Counter[Any] = Counter(dict.fromkeys(classes, 0))
    start = outliers = 0
    with table_writer(output, force=force) as write:
        for frame in source.batches(_ROWS):
            X = read_rows(estimator.columns_, frame, source.name, start)
            new = add(X) if len(X) else nothing
            added = pl.DataFrame([pl.Series(name, values) for name, values in new.items()])
            # A frame of no columns may have forgotten how many rows it had.
            write(frame.select(carried).hstack(added) if carried else added)
            decisions.update(dict(added["decision"].value_counts().iter_rows()))
            outliers += int(added["is_outlier"].sum()) if outlier else 0
            start += frame.height
    found: dict[str, Any] = {
        "rows": start,
        "decisions": {str(label): n for label, n in decisions.items()},
    }
    counts = ", ".join(f"{n:,} {label}" for label, n in found["decisions"].items())
    sentence = f"{count(start, 'row')}: {counts}"
    if outlier:
        found["outliers"] = outliers
        sentence += f"; {count(outliers, 'outlier')}"
    if mix is not None:
        rows = zip(classes, mix.shares, mix.low, mix.high, strict=True)
        shares = {str(c): {"share": s, "low": a, "high": b, "prior": mix[c]} for c, s, a, b in rows}
        found |= {"class_mix": shares, "confidence": mix.confidence, "shift_p_value": mix.p_value}
        if not as_json:
            echo(repr(mix), err=True)
    print_written(sentence, found, output, as_json)


def _estimate_prior(model: Any, source: InputTable) -> PriorEstimate:
    """The class mix of a table, tested against that of the training rows."""
    from deciban.cli.features import read_rows
    from deciban.evidence import Evidence

    parts, start = [], 0
    for frame in source.batches(_ROWS):
        if frame.height:
            parts.append(model.evidence(read_rows(model.columns_, frame, source.name, start)))
        start += frame.height
    if not parts:
        raise source.error("must have rows to estimate their class mix; got none. Give --prior.")
    training_mix = model.class_counts_ / model.class_counts_.sum()
    return Evidence.concatenate(parts).estimate_prior(training_mix)


def _columns(
    model: Any, outlier: float, prior: Any, costs: Floats | None, X: pl.DataFrame
) -> dict[str, Any]:
    """The columns to add, by name."""
    from deciban.cli.operating import decision_columns

    evidence = model.evidence(X)
    values = evidence.log_likelihoods
    centered = values - values.mean(axis=1, keepdims=True)
    new = {f"log_likelihood_{label}": centered[:, k] for k, label in enumerate(evidence.classes)}
    new |= {f"ilr_{k}": coordinate for k, coordinate in enumerate(evidence.ilr().T, 1)}
    new["strength_deciban"] = evidence.strength("deciban")
    new |= decision_columns(evidence, prior, costs)
    if outlier:
        new["is_outlier"] = model.outlier_score(X) < outlier
    return new
