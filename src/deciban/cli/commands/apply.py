"""``deciban apply``: new scores, calibrated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli.io.tables import batches, columns_of_table, table_writer
from deciban.cli.kept_columns import KeptColumns, require_finite
from deciban.cli.operating import parsed_costs, parsed_prior
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np
    from polars import DataFrame

EXAMPLE = "Example: deciban apply calibrator.deciban scores-new.csv -o calibrated.csv"


def apply(
    calibrator: Annotated[Path, typer.Argument(help="File of `deciban calibrate`.")],
    table: Annotated[str, typer.Argument(help="Table of new scores, or - for standard input.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Table to write, or - for standard output.")
    ],
    prior: Annotated[
        str | None,
        typer.Option(
            help="Adds posteriors and the decision: 'a=0.9,b=0.1', 'uniform' or a table.",
            metavar="PRIOR",
        ),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(
            help="Of decisions: 'true>decided=5', or a table; errors cost 1 by default. Needs "
            "--prior.",
            metavar="COSTS",
        ),
    ] = None,
    table_format: Annotated[
        str | None,
        typer.Option("--format", help="Of the table, where its name does not tell."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A summary as JSON.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file.")] = False,
) -> None:
    """Calibrate new scores: the table with calibrated columns added.

    The calibrator knows which columns it takes. 'llr' becomes 'calibrated_llr'; log-likelihoods
    and posteriors become a log-likelihood 'calibrated_<class>' for each class; all in the base of
    the logarithms that came. Of a trial list, model, segment and score are kept. Rows are read and
    written in batches, so that memory stays flat.
    """
    plan = _plan(calibrator, prior, costs, table)
    trials = plan.kept.kind == "trials"
    there = ["model", "segment", plan.kept.columns[0]] if trials else columns_of_table(
        table, format=table_format
    )  # fmt: skip
    plan.kept.require_in(there, table)
    plan.require_new_names(there)
    rows = 0
    with table_writer(output, force=force) as write:
        column = plan.kept.columns[0]
        for frame in _trials(table, column) if trials else batches(table, format=table_format):
            write(plan.frame(frame, rows))
            rows += frame.height
    if as_json:
        found = {"rows": rows, "added": plan.names, "output": output}
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2), err=output == "-")
    else:
        where = "" if output == "-" else f" -> {output}"
        typer.echo(f"{rows:,} rows calibrated: {', '.join(plan.names[:10])}{where}", err=True)


def _trials(source: str, column: str) -> Iterator[DataFrame]:
    from deciban.cli import trials

    named = None if column == "score" else column
    yield trials.trials_in(source, "score", named).rename({"score": column})


@dataclass(frozen=True)
class _Plan:
    """A calibrator and what is asked of it."""

    calibrator: Any
    kept: KeptColumns
    source: str
    decides: bool
    prior: Any
    costs: np.ndarray | None

    @property
    def names(self) -> list[str]:
        """Of the columns that are added."""
        classes = self.calibrator.classes_.tolist()
        posteriors = [f"posterior_{label}" for label in classes] if self.decides else []
        return [*self.kept.added(classes), *posteriors, *(["decision"] if self.decides else [])]

    def require_new_names(self, there: list[str]) -> None:
        """Refuse a table whose columns are called what is to be added."""
        both = [name for name in self.names if name in there]
        if both:
            raise InputError(
                f"{self.source} must not have a column {both[0]!r}, which is to be added; it has. "
                f"Rename or drop it."
            )

    def frame(self, frame: DataFrame, start: int) -> DataFrame:
        """Rows with what the calibrator says of them."""
        import polars as pl

        columns = self._columns(frame, start)
        return frame.hstack(
            [pl.Series(name, v) for name, v in zip(self.names, columns, strict=True)]
        )

    def _columns(self, frame: DataFrame, start: int) -> list[Any]:
        import numpy as np

        from deciban.evidence import Evidence

        classes = tuple(self.calibrator.classes_.tolist())
        if frame.height:
            given = self.kept.evidence(frame, classes, self.source, start)
        else:  # the same columns, of no rows: those of a row that need not exist
            given = Evidence(np.zeros((1, len(classes))), classes)
        require_finite(given, self.calibrator, self.source, start)
        columns = list(self.kept.calibrated(self.calibrator, given).T)
        if self.decides:
            evidence = self.calibrator.evidence(given)
            columns += [*evidence.posterior(self.prior).T, evidence.decide(self.costs, self.prior)]
        return [column[: frame.height] for column in columns]


def _plan(path: Path, prior: str | None, costs: str | None, source: str) -> _Plan:
    from deciban._persistence.registry import load_with_extra
    from deciban.calibration.base import Calibrator

    calibrator, extra = load_with_extra(path)
    if not isinstance(calibrator, Calibrator):
        raise InputError(
            f"{path} must hold a calibrator; it holds a {type(calibrator).__name__}. Give a file "
            f"of deciban calibrate; models are for deciban predict."
        )
    classes = tuple(calibrator.classes_.tolist())
    kept = KeptColumns.from_plain(extra, len(classes), str(path))
    if costs is not None and prior is None:
        raise InputError("--costs must come with --prior; got none. Give --prior uniform, say.")
    if prior == "empirical":
        raise InputError(
            "--prior must be a probability for each class, or 'uniform'; got 'empirical', and "
            "the classes of new samples are not known. Give numbers."
        )
    return _Plan(
        calibrator, kept, source, prior is not None, parsed_prior(prior, "--prior", classes),
        parsed_costs(costs, "--costs", classes),
    )  # fmt: skip
