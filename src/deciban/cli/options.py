"""Options that commands share, each declared once, and groups of them as dataclasses."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self, get_type_hints

import typer

from deciban.cli.words import require_choice, split, split_names, unquote
from deciban.exceptions import InputError

_KEY_FILES = (".txt", ".csv", ".tsv", ".tab", ".gz", ".jsonl", ".ndjson", ".parquet", ".pq",
              ".arrow", ".feather", ".ipc", ".key", ".lst")  # fmt: skip
_PRIOR = "Prior probabilities: 'a=0.9,b=0.1', 'uniform', a table of classes and probabilities"


def option(text: str, metavar: str | None = None, *names: str, panel: str | None = None) -> Any:
    """An option, called after its parameter unless it has names of its own."""
    return typer.Option(*names, help=text, metavar=metavar, rich_help_panel=panel)


_column = functools.partial(option, panel="Truth and scores")
_result = functools.partial(option, panel="Prior, costs and intervals")
_output = functools.partial(option, panel="Output")
_Text = str | None

Model = Annotated[Path, typer.Argument(help="Model file from `deciban fit`.")]
Table = Annotated[str, typer.Argument(help="Table to read, or - for standard input.")]
OutputTable = Annotated[str, option(
    "Table to write, - for standard output, or a folder such as out/.", "FILE|FOLDER",
    "--output", "-o",
)]  # fmt: skip
CalibratorFile = Annotated[Path, option("Calibrator file to write.", "FILE", "--output", "-o")]
Prior = Annotated[_Text, option(f"{_PRIOR}. Adds posteriors and a decision.", "PRIOR")]
ModelPrior = Annotated[str, option(
    f"{_PRIOR}, or 'empirical' (the class mix of the training rows, with 0.2 for the class added "
    "by --open-set).", "PRIOR",
)]  # fmt: skip
Costs = Annotated[_Text, option(
    "Costs of errors: 'a>b=5' is the cost of deciding b when a is true; other errors cost 1. Or a "
    "table with the true class in the first column and a column for each decision.", "COSTS",
)]  # fmt: skip
SampleId = Annotated[_Text, option(
    "Column that identifies the sample, to match tables. By default, trials are matched by model "
    "and segment, and other rows by their order.", "COLUMN", "--id",
)]  # fmt: skip
Quality = Annotated[_Text, option(
    "Columns of the (first) table with quality measures that the calibration may depend on: "
    "'log_duration,snr'.", "COLUMNS",
)]  # fmt: skip
Workers = Annotated[_Text, option(
    "Number of processes to start on this machine, or the address of a Dask scheduler: 4, or "
    "tcp://host:8786.", "N|ADDRESS",
)]  # fmt: skip
Report = Annotated[Path | None, _output("HTML report with all numbers and figures.", "FILE")]
Json = Annotated[bool, _output("Print JSON instead of text.", None, "--json")]
Force = Annotated[bool, _output("Overwrite existing files.", None, "--force")]


@dataclass(frozen=True)
class ScoreOptions:
    """Which columns hold the truth and the scores, and the kind of scores."""

    # fmt: off
    labels: Annotated[list[str] | None, _column(
        "Column of the true class; 'result=ill' also names the class that LLRs favor. Or a key: a "
        "file with the model, segment and label of each trial.", "COLUMN|FILE",
        "--truth", "--key",
    )] = None
    scores: Annotated[_Text, _column(
        "Column of LLRs (default 'llr'). With * for the class, the columns of log-likelihoods or "
        "posteriors: 'll_*' (default '*').", "COLUMN", "--llr",
    )] = None
    posteriors: Annotated[_Text, _column(
        "The scores are posteriors that contain this prior, to be divided out: 'a=0.5,b=0.5', "
        "'uniform' or 'empirical' (the class frequencies in this table).", "PRIOR",
    )] = None
    base: Annotated[str, _column(
        "Base of the logarithms: e, 2 or 10 (log10 LRs, as in forensics).", "e|2|10",
    )] = "e"
    # fmt: on

    def __post_init__(self) -> None:
        require_choice(self.base, "--base", ("e", "2", "10"))
        if len(self.labels or ()) > 1:
            raise InputError("Give one --truth or one --key, not several.")
        if self.key is not None and (self.posteriors is not None or self.pattern is not None):
            raise InputError("Scores of trials are LLRs. Leave out --posteriors, and * in --llr.")
        if self.posteriors == "auto" or (self.posteriors is not None and self.llr is not None):
            raise InputError(
                "--posteriors takes the prior that the posteriors contain: 'a=0.5,b=0.5', "
                "'uniform' or 'empirical'. Their columns are named after the classes, or by --llr "
                "with * for the class: --llr 'p_*'."
            )

    @functools.cached_property
    def _truth(self) -> list[str]:
        """What --truth names, and the class that LLRs favor, if it is given."""
        parts = [unquote(part) for part in split(self.labels[0], "=")] if self.labels else []
        if len(parts) > 2 or not all(parts):
            raise InputError(f"--truth must be COLUMN or COLUMN=CLASS; got {self.labels}.")
        return parts

    @property
    def key(self) -> str | None:
        """File with the labels of trials."""
        return self._truth[0] if self._truth and _names_file(self._truth[0]) else None

    @property
    def truth(self) -> str | None:
        """Column of the true class."""
        return self._truth[0] if self._truth and self.key is None else None

    @property
    def positive(self) -> str | None:
        """The class that LLRs favor."""
        return self._truth[1] if len(self._truth) > 1 else None

    @property
    def llr(self) -> str | None:
        """Column of LLRs."""
        return None if self.pattern is not None else self.scores

    @property
    def pattern(self) -> str | None:
        """Column names with * for the class."""
        return self.scores if self.scores is not None and "*" in self.scores else None

    def inputs(self, source: str) -> list[str]:
        """The local files that are read for the scores of a source."""
        from deciban.cli.files import find_files, is_address

        given = [source] if self.key is None else [source, self.key]
        return [file for one in given if not is_address(one) for file in find_files(one)]

    def split_among(self, n_tables: int) -> list[Self]:
        """The options of each table; --llr may have a name for each."""
        names: list[str | None] = [None] if self.scores is None else [*split_names(self.scores)]
        if len(names) not in (1, n_tables):
            raise InputError(f"--llr must have one name, or {n_tables} names; got {len(names)}.")
        return [replace(self, scores=names[k % len(names)]) for k in range(n_tables)]


def _names_file(text: str) -> bool:
    path = Path(text)
    if path.suffix.lower() in _KEY_FILES:
        return True
    try:  # a file with another ending, or a pipe such as /dev/fd/63
        return bool(path.suffix or path.name != text) and path.exists() and not path.is_dir()
    except (OSError, ValueError):
        return False


@dataclass(frozen=True)
class AssessmentOptions:
    """The prior and costs to assess evidence under, and how to find intervals."""

    # fmt: off
    prior: Annotated[_Text, _result(
        f"{_PRIOR}, or 'empirical' (the class frequencies in this table). Default: uniform.",
        "PRIOR",
    )] = None
    costs: Costs = None
    dcf: Annotated[list[str] | None, _result(
        "Operating point of a detector, such as 10:1:0.01: cost of a miss, cost of a false alarm, "
        "prior of the target. Repeat it for several points and their mean, C_primary. 'c-avg' is "
        "the mean cost of detecting each of three classes or more among the others.",
        "C_MISS:C_FA:P",
    )] = None
    shared: Annotated[list[str] | None, _result(
        "Column of the group of each sample, such as its speaker; or the columns of the two items "
        "that it compares, best by their sources: 'left,right'. These are resampled.",
        "COLUMN[,COLUMN]", "--group", "--items",
    )] = None
    resamples: Annotated[int, _result(
        "Number of resamples for 95 % intervals; 0 for no intervals.", "N"
    )] = 1000
    # fmt: on

    def __post_init__(self) -> None:
        columns = self.shared_columns
        if len(self.shared or ()) > 1 or len(columns) > 2 or len({*columns}) < len(columns):
            raise InputError("Give --group with one column, or --items with two different columns.")

    @property
    def shared_columns(self) -> list[str]:
        """A group column, two item columns, or none."""
        return split_names(self.shared[0]) if self.shared else []

    @property
    def settings(self) -> dict[str, Any]:
        """The options as a record shows them."""
        group = {"group" if len(self.shared_columns) < 2 else "items": self.shared_columns or None}
        return {
            "prior": self.prior, "costs": self.costs, "dcf": self.dcf, **group,
            "confidence": 0.95, "resamples": self.resamples, "seed": 0,
        }  # fmt: skip


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take dataclasses whose fields become options."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    taken = []
    for parameter in inspect.signature(command).parameters.values():
        name = parameter.name
        own = get_type_hints(groups[name], include_extras=True) if name in groups else {}
        taken += [
            inspect.Parameter(one.name, parameter.KEYWORD_ONLY, default=one.default,
                              annotation=own[one.name])
            for one in (fields(groups[name]) if own else ())
        ] or [parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY)]  # fmt: skip

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{one.name: given.pop(one.name) for one in fields(group)})
        command(**given)

    run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in taken}
    return run
