"""``deciban apply``: new scores, calibrated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli.options import Costs, Force, Format, Json, OutputTable, Prior, Table, refuse_if
from deciban.cli.show import echo, print_json
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from deciban.cli.columns import ScoreColumns

EXAMPLE = "Example: deciban apply calibrator.deciban scores-new.csv -o calibrated.csv"


def apply(
    calibrator: Annotated[
        Path, typer.Argument(help="Calibrator file written by `deciban calibrate`.")
    ],
    table: Table,
    output: OutputTable,
    prior: Prior = None,
    costs: Costs = None,
    table_format: Format = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Calibrate new scores: the table with calibrated columns added.

    The calibrator knows which columns it takes. 'llr' becomes 'calibrated_llr'; log-likelihoods
    and posteriors become a log-likelihood 'calibrated_<class>' for each class; all in the base of
    the given logarithms. With --prior, posteriors and the decision are added. Of a trial list,
    model, segment and score are carried along; of other tables, every column. Rows are read and
    written in batches, so that memory stays flat.
    """
    from deciban.cli.io.formats import format_of
    from deciban.cli.io.sources import open_table
    from deciban.cli.io.writing import require_outputs, table_writer

    require_outputs({"--output": output}, (calibrator, table, prior, costs), force=force)
    plan = _make_plan(calibrator, prior, costs)
    if plan.columns.kind == "trials":
        name, frames = table, _read_trials(table, plan.columns.columns[0])
    else:
        source = open_table(table, table_format)
        for column in plan.columns.columns:
            source.require_column(column, "the calibrator")
        source.refuse_columns(plan.names, source.columns)
        name, frames = source.name, source.batches()
    # a format with types stores the scores as the numbers that they are
    typed = format_of(output) not in ("csv", "tsv", "txt")
    rows = 0
    with table_writer(output, force=force) as write:
        for frame in frames:
            write(plan.add_columns(frame, name, rows, typed))
            rows += frame.height
    if as_json:
        print_json({"rows": rows, "added": plan.names, "output": output}, err=output == "-")
    else:
        where = "" if output == "-" else f" -> {output}"
        echo(f"{rows:,} rows calibrated: {', '.join(plan.names[:10])}{where}", err=True)


def _read_trials(source: str, column: str) -> Iterator[pl.DataFrame]:
    from deciban.cli.trials import read_trial_list

    named = None if column == "score" else column
    yield read_trial_list(source, "score", named).rename({"score": column})


@dataclass(frozen=True)
class _Plan:
    """A calibrator, its columns, and the prior and costs under which to decide."""

    calibrator: Any
    columns: ScoreColumns
    decides: bool
    prior: Any
    costs: NDArray[np.float64] | None

    @property
    def names(self) -> list[str]:
        """Names of the columns that are added."""
        classes = self.calibrator.classes_.tolist()
        decided = [*(f"posterior_{label}" for label in classes), "decision"] if self.decides else []
        return [*self.columns.added_names(classes), *decided]

    def add_columns(
        self, frame: pl.DataFrame, source: str, start: int, typed: bool
    ) -> pl.DataFrame:
        """The frame with what the calibrator says of its rows."""
        import numpy as np
        import polars as pl

        from deciban.cli.columns import require_finite
        from deciban.evidence import Evidence

        classes = tuple(self.calibrator.classes_.tolist())
        if frame.height:
            values = self.columns.values(frame, source, start)
            given = self.columns.evidence(values, classes, source, start)
        else:  # the same columns, empty: those of a row of zeros without it
            values = np.zeros((0, len(self.columns.columns)))
            given = Evidence(np.zeros((1, len(classes))), classes)
        require_finite(given, self.calibrator, source, start)
        if typed:
            frame = frame.with_columns(map(pl.Series, self.columns.columns, values.T))
        added = list(self.columns.calibrate(self.calibrator, given).T)
        if self.decides:
            evidence = self.calibrator.evidence(given)
            added += [*evidence.posterior(self.prior).T, evidence.decide(self.costs, self.prior)]
        return frame.hstack(
            [pl.Series(n, v[: frame.height]) for n, v in zip(self.names, added, strict=True)]
        )


def _make_plan(path: Path, prior: str | None, costs: str | None) -> _Plan:
    from deciban._persistence.registry import load_with_extra
    from deciban.calibration.base import Calibrator
    from deciban.cli.columns import ScoreColumns
    from deciban.cli.operating import parse_costs, parse_prior

    calibrator, extra = load_with_extra(path)
    if not isinstance(calibrator, Calibrator):
        raise InputError(
            f"{path} must hold a calibrator; it holds a {type(calibrator).__name__}. Give a file "
            f"of deciban calibrate; models are for deciban predict."
        )
    classes = tuple(calibrator.classes_.tolist())
    columns = ScoreColumns.from_dict(extra, len(classes), str(path))
    refuse_if({
        "--costs must come with --prior; got none. Give --prior uniform, say.":
            costs is not None and prior is None,
        "--prior must be a probability for each class, or 'uniform'; got 'empirical', and the "
        "classes of new samples are not known. Give numbers.": prior == "empirical",
    })  # fmt: skip
    return _Plan(
        calibrator, columns, prior is not None, parse_prior(prior, "--prior", classes),
        parse_costs(costs, "--costs", classes),
    )  # fmt: skip
