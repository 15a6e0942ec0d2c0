"""``deciban predict``: evidence, posteriors and decisions for each row of a table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli.io.tables import batches, columns_of_table, table_writer
from deciban.cli.operating import parsed_costs, parsed_prior
from deciban.cli.recipe import Recipe, require_column
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np
    from polars import DataFrame

EXAMPLE = "Example: deciban predict iris.deciban iris-new.csv -o out.csv --prior uniform"
_ROWS = 16_384  # of a batch: one size, so that a CDA is compiled once


def predict(
    model: Annotated[Path, typer.Argument(help="File of `deciban fit`.")],
    table: Annotated[str, typer.Argument(help="Table of new rows, or - for standard input.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Table to write, or - for standard output.")
    ],
    prior: Annotated[
        str | None,
        typer.Option(help="Of the posteriors and decisions: 'a=0.9,b=0.1' or a table; uniform by "
                     "default."),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(help="Of decisions: 'true>decided=5', or a table; errors alike by default."),
    ] = None,
    outlier: Annotated[
        float,
        typer.Option(help="Rows less likely than this share of the training rows are flagged; 0 "
                     "for no flag, which is faster."),
    ] = 0.01,
    table_format: Annotated[
        str | None, typer.Option("--format", help="Of the table, where its name does not tell.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A summary as JSON.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file.")] = False,
) -> None:  # fmt: skip
    """Say for each row of a table what it tells about the classes.

    Columns that the model does not use are kept. Those that are added: the log-likelihood of each
    class in nats (rows sum to zero), the ILRL, the strength of the evidence in decibans, the
    posterior probability of each class, the decision, and whether the row is an outlier. Rows are
    read and written in batches, so that memory stays flat.
    """
    from deciban._persistence.registry import load_with_extra

    if not 0 <= outlier < 1:
        raise InputError(f"--outlier must be at least 0 and below 1; got {outlier}. Give 0.01.")
    estimator, extra = load_with_extra(model)
    recipe = Recipe.from_plain(extra, model, getattr(estimator, "n_features_in_", -1))
    there = columns_of_table(table, format=table_format)
    for name in recipe.columns:
        require_column(name, "the model's column", there, table)
    classes = tuple(estimator.classes_.tolist())
    plan = _Plan(
        estimator, recipe, parsed_prior(prior, "--prior", classes),
        parsed_costs(costs, "--costs", classes), outlier, table,
    )  # fmt: skip
    plan.require_new_names([name for name in there if name not in recipe.columns])
    counts = dict.fromkeys(classes, 0)
    outliers = 0
    with table_writer(output, force=force) as write:
        for frame in plan.frames(plan.batches(table_format)):
            write(frame)
            for label, count in frame["decision"].value_counts().iter_rows():
                counts[label] += count
            outliers += int(frame["is_outlier"].sum()) if outlier else 0
    _tell(counts, outliers, outlier, output, as_json)


@dataclass(frozen=True)
class _Plan:
    """A model and what is asked of it."""

    model: Any
    recipe: Recipe
    prior: Any
    costs: np.ndarray | None
    outlier: float
    source: str

    @property
    def _names(self) -> list[str]:
        return [str(label) for label in self.model.classes_.tolist()]

    def require_new_names(self, kept: list[str]) -> None:
        """Refuse a table whose columns are called what is to be added."""
        added = {"decision", "strength_deciban", "is_outlier"}
        for name in self._names:
            added |= {f"log_likelihood_{name}", f"posterior_{name}"}
        added |= {f"ilr_{k + 1}" for k in range(len(self._names) - 1)}
        both = [name for name in kept if name in added]
        if both:
            raise InputError(
                f"{self.source} must not have a column {both[0]}, which is to be added; it has. "
                f"Rename it."
            )

    def batches(self, table_format: str | None) -> Iterator[DataFrame]:
        """The table as it was read in training: text stays text, whatever it looks like."""
        return batches(self.source, format=table_format, rows=_ROWS, text=self.recipe.levels)

    def frames(self, frames: Iterator[DataFrame]) -> Iterator[DataFrame]:
        """The table with what the model says, batch by batch."""
        row = 1
        for frame in frames:
            yield self._frame(frame, row)
            row += len(frame)

    def _frame(self, frame: DataFrame, row: int) -> DataFrame:
        import polars as pl

        rest = frame.drop(self.recipe.columns)
        X = self.recipe.matrix(frame, self.source, row)
        new = self._columns(X) if len(X) else self._no_columns()
        added = pl.DataFrame([pl.Series(name, values) for name, values in new.items()])
        # A frame of no columns may have forgotten how many rows it had.
        return rest.hstack(added) if rest.width else added

    def _columns(self, X: np.ndarray) -> dict[str, Any]:
        evidence = self.model.evidence(X)
        values = evidence.log_likelihoods
        centred = values - values.mean(axis=1, keepdims=True)
        posterior, ilr = evidence.posterior(self.prior), evidence.ilr()
        new: dict[str, Any] = {
            f"log_likelihood_{n}": centred[:, k] for k, n in enumerate(self._names)
        }
        new |= {f"ilr_{k + 1}": ilr[:, k] for k in range(ilr.shape[1])}
        new["strength_deciban"] = evidence.strength("deciban")
        new |= {f"posterior_{n}": posterior[:, k] for k, n in enumerate(self._names)}
        new["decision"] = evidence.decide(self.costs, self.prior)
        if self.outlier:
            new["is_outlier"] = self.model.outlier_score(X) < self.outlier
        return new

    def _no_columns(self) -> dict[str, Any]:
        """The same columns, of no rows: those of a row that need not exist."""
        import numpy as np

        row = self._columns(np.zeros((1, len(self.recipe.features))))
        return {name: np.asarray(values)[:0] for name, values in row.items()}


def _tell(counts: dict[Any, int], outliers: int, share: float, output: str, as_json: bool) -> None:
    total = sum(counts.values())
    if as_json:
        plain = {str(label): count for label, count in counts.items()}
        found = {"rows": total, "decisions": plain, "output": output}
        found |= {"outliers": outliers} if share else {}
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2), err=output == "-")
        return
    said = ", ".join(f"{count:,} {label}" for label, count in counts.items())
    flagged = f"; {outliers:,} outliers" if share else ""
    where = "" if output == "-" else f" -> {output}"
    typer.echo(f"{total:,} rows: {said}{flagged}{where}", err=True)
