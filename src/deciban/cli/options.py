"""Options that commands share, each declared once, and groups of them as dataclasses."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from deciban.exceptions import InputError

_COLUMNS, _RESULTS, _OUTPUT = "Columns", "Priors, costs and intervals", "Output"
_BASES = {"e": 1.0, "2": math.log(2), "10": math.log(10)}
_LARGEST_FLOOR = 0.1  # of a posterior
_LARGEST_SEED = 2**32 - 1


def _option(text: str, metavar: str | None = None, panel: str | None = _COLUMNS) -> Any:
    return typer.Option(help=text, metavar=metavar, rich_help_panel=panel)


def _flag(name: str, text: str) -> Any:
    return typer.Option(name, help=text, rich_help_panel=_OUTPUT)


Model = Annotated[Path, typer.Argument(help="Model file written by `deciban fit`.")]
Table = Annotated[str, typer.Argument(help="Table to read, or - for standard input.")]
OutputTable = Annotated[
    str,
    typer.Option(
        "--output", "-o", help="Table to write, or - for standard output.", metavar="FILE"
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of the input: csv, tsv, jsonl, parquet or arrow; by default told from the "
        "file name.",
        metavar="FORMAT",
    ),
]
Prior = Annotated[
    str | None,
    _option(
        "Prior of the posteriors and decisions: 'a=0.9,b=0.1', 'uniform', or a table of classes "
        "and probabilities.", "PRIOR", None,
    ),
]  # fmt: skip
Costs = Annotated[
    str | None,
    _option(
        "Costs of errors: 'a>b=5' is 5 for deciding b when a is true; others cost 1. Or a table "
        "with the true class in its first column and one column for each decision.", "COSTS", None,
    ),
]  # fmt: skip
Seed = Annotated[int, _option("Seed of the random numbers.", "N", None)]
Report = Annotated[Path | None, _option("HTML page with all numbers and figures.", "FILE", _OUTPUT)]
Json = Annotated[bool, _flag("--json", "Print JSON instead of text.")]
Force = Annotated[bool, _flag("--force", "Overwrite existing files.")]


@dataclass(frozen=True)
class ScoreOptions:
    """Which columns of a table hold the truth and the scores, and what the scores are."""

    truth: Annotated[str | None, _option("Column of the true class.", "COLUMN")] = None
    llr: Annotated[
        str | None,
        _option("Column of LLRs in favor of --positive; by default 'llr', if it exists.", "COLUMN"),
    ] = None
    positive: Annotated[
        str | None,
        _option("Class that LLRs favor; by default 1 or true, 'target' with --key.", "CLASS"),
    ] = None
    log_likelihoods: Annotated[
        str | None,
        _option(
            "Columns of log-likelihoods, separated by commas. 'auto', the default where there "
            "are no LLRs, takes the column named after each class.",
            "COLUMNS",
        ),
    ] = None
    posteriors: Annotated[
        str | None,
        _option("Columns of posterior probabilities, or 'auto'. Needs --prior.", "COLUMNS"),
    ] = None
    prefix: Annotated[
        str, _option("Text before the class in column names, such as 'll_'.", "TEXT")
    ] = ""
    prior: Annotated[
        str | None,
        _option(
            "Prior contained in --posteriors, to be divided out: 'a=0.5,b=0.5', 'uniform' or "
            "'empirical' (the class frequencies of this table).",
            "PRIOR",
        ),
    ] = None
    floor: Annotated[
        float | None,
        _option(
            "Raise smaller --posteriors to this value, such as 0.005 for posteriors with two "
            "decimals.",
            "NUMBER",
        ),
    ] = None
    base: Annotated[
        str, _option("Base of the logarithms: e, 2 or 10 (log10 LRs, as in forensics).", "e|2|10")
    ] = "e"
    key: Annotated[
        str | None,
        _option(
            "File of model, segment and label (target or nontarget). Scores are then files of "
            "model, segment and score, separated by spaces or tabs, or tables.",
            "FILE",
        ),
    ] = None
    table_format: Format = None  # fmt: skip

    def __post_init__(self) -> None:
        kinds = {
            "--llr": self.llr,
            "--log-likelihoods": self.log_likelihoods,
            "--posteriors": self.posteriors,
        }
        given = [option for option, value in kinds.items() if value is not None]
        if len(given) > 1:
            raise InputError(f"{given[0]} must stand alone; got {given[1]}, too. Choose one.")
        if self.base not in _BASES:
            raise InputError(f"--base must be e, 2 or 10; got {self.base!r}. Choose one of them.")
        if self.posteriors is not None and self.prior is None:
            raise InputError(
                "--posteriors must come with --prior, the prior that they contain; got none. "
                "Give --prior 'a=0.5,b=0.5', or --prior empirical for the class frequencies of "
                "this table."
            )
        if self.prior is not None and self.posteriors is None:
            raise InputError(
                "--prior must come with --posteriors, whose prior it divides out; got none. For "
                "results at another prior give --at-prior."
            )
        if self.floor is not None and self.posteriors is None:
            raise InputError(
                "--floor must come with --posteriors, which it raises; got none. Leave it out."
            )
        if self.floor is not None and not 0 < self.floor < _LARGEST_FLOOR:
            raise InputError(
                f"--floor must lie between 0 and {_LARGEST_FLOOR}; got {self.floor:g}. Give half "
                f"of the last decimal, such as 0.005."
            )
        if self.key is not None:
            self._require_trials()

    def _require_trials(self) -> None:
        taken = {"--truth": self.truth, "--log-likelihoods": self.log_likelihoods,
                 "--posteriors": self.posteriors, "--prefix": self.prefix or None}  # fmt: skip
        for option, value in taken.items():
            if value is not None:
                raise InputError(
                    f"{option} must be left out with --key, whose file has the truth; got "
                    f"{value!r}. Only --llr, the column of the scores, may be named."
                )


@dataclass(frozen=True)
class AssessmentOptions:
    """Under which prior and costs to assess evidence, and how to find intervals."""

    at_prior: Annotated[
        str | None,
        _option(
            "Prior for cross-entropy, accuracy and costs: 'a=0.9,b=0.1', 'uniform' (default), "
            "'empirical', or a table of classes and probabilities.",
            "PRIOR",
            _RESULTS,
        ),
    ] = None
    costs: Costs = None
    confidence: Annotated[float, _option("Confidence level of the intervals.", "0-1", _RESULTS)] = (
        0.95
    )
    resamples: Annotated[
        int, _option("Number of bootstrap resamples; 0 for no intervals.", "N", _RESULTS)
    ] = 1000
    seed: Seed = 0  # fmt: skip

    def __post_init__(self) -> None:
        require_seed(self.seed)


def nats_per_unit(base: str) -> float:
    """How many nats one unit of a logarithm to this base is."""
    return _BASES[base]


def require_seed(seed: int) -> None:
    """Raise unless the seed is one that every random number generator takes."""
    if not 0 <= seed <= _LARGEST_SEED:
        raise InputError(f"--seed must be from 0 to {_LARGEST_SEED}; got {seed}. Give 0.")


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take dataclasses of options, whose fields become options of its own."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    taken = []
    for parameter in inspect.signature(command).parameters.values():
        hint = hints[parameter.name]
        if parameter.name not in groups:
            taken.append(parameter.replace(annotation=hint, kind=parameter.KEYWORD_ONLY))
            continue
        of_fields = get_type_hints(hint, include_extras=True)
        taken += [
            inspect.Parameter(field.name, parameter.KEYWORD_ONLY, default=field.default,
                              annotation=of_fields[field.name])
            for field in fields(hint)
        ]  # fmt: skip

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in taken}
    return run
