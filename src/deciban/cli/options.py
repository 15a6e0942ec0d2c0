"""Options that commands share, each declared once, and groups of them as dataclasses."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import InitVar, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self, get_type_hints

import typer

from deciban.cli.words import require_choice, split_names
from deciban.exceptions import InputError

_COLUMNS, _RESULTS, _OUTPUT = "Columns", "Priors, costs and intervals", "Output"
_SCALE = "Many files, many processes"
_LARGEST_FLOOR = 0.1  # of a posterior
_LARGEST_SEED = 2**32 - 1
_OTHER_PRIORS = {  # what else --prior may be mistaken for, by an option that a command has
    "at_prior": "For results at another prior give --at-prior.",
    "mix": "For the declared class mix give --mix.",
}


def option(text: str, metavar: str | None = None, *names: str, panel: str | None = None) -> Any:
    """An option with its help, the name of its value, and its own names.

    Without names it is called after its parameter.
    """
    return typer.Option(*names, help=text, metavar=metavar, rich_help_panel=panel)


_column = functools.partial(option, panel=_COLUMNS)
_result = functools.partial(option, panel=_RESULTS)
_Text = str | None

Model = Annotated[Path, typer.Argument(help="Model file written by `deciban fit`.")]
Table = Annotated[str, typer.Argument(help="Table to read, or - for standard input.")]
OutputTable = Annotated[str, option(
    "Table to write, - for stdout, or a folder such as out/.", "FILE|FOLDER", "--output", "-o",
)]  # fmt: skip
Format = Annotated[_Text, option(
    "Format of the input: csv, tsv, jsonl, parquet or arrow; by default the file name tells.",
    "FORMAT", "--format",
)]  # fmt: skip
Prior = Annotated[_Text, option(
    "Prior of the posteriors and decisions: 'a=0.9,b=0.1', 'uniform', or a table of classes and "
    "probabilities.", "PRIOR",
)]  # fmt: skip
ModelPrior = Annotated[str, option(
    "Prior of the posteriors and decisions: 'a=0.9,b=0.1', 'uniform', 'empirical' (the class mix "
    "of the rows that the model was fitted to, with 0.2 for the class of --open-set), or a table "
    "of classes and probabilities.", "PRIOR",
)]  # fmt: skip
Costs = Annotated[_Text, option(
    "Costs of errors: 'a>b=5' is 5 for deciding b when a is true; others cost 1. Or a table with "
    "the true class in its first column and one column for each decision.", "COSTS",
)]  # fmt: skip
TREE_FILE = (
    'Tree of the classes: a .json file such as {"mammal": ["cat", "dog"], "bird": "bird"}, or a '
    "table of child and parent."
)
HierarchyFile = Annotated[_Text, option(TREE_FILE, "FILE", "--hierarchy")]
CalibratorFile = Annotated[Path, option("Calibrator file to write.", "FILE", "--output", "-o")]
SampleId = Annotated[_Text, option(
    "Column that names the sample, where tables are matched; by default, rows are matched by "
    "their order, trials by their names.", "COLUMN", "--id",
)]  # fmt: skip
Quality = Annotated[_Text, option(
    "Columns of the (first) table with quality measures, on which the factors and offsets of "
    "affine maps may depend: 'log_duration,snr'.", "COLUMNS",
)]  # fmt: skip
Seed = Annotated[int, option("Seed of the random numbers.", "N")]
Report = Annotated[Path | None, option("HTML page with all numbers and figures.", "FILE")]
Json = Annotated[bool, option("Print JSON instead of text.", None, "--json", panel=_OUTPUT)]
Force = Annotated[bool, option("Overwrite existing files.", None, "--force", panel=_OUTPUT)]

Cluster = Annotated[_Text, option(
    "Address of a Dask scheduler whose workers do the work, and see the files: tcp://host:8786.",
    "ADDRESS", panel=_SCALE,
)]  # fmt: skip
LocalWorkers = Annotated[int | None, option(
    "Number of processes on this machine that do the work, one core each.", "N", "--workers",
    panel=_SCALE,
)]  # fmt: skip
Scratch = Annotated[_Text, option(
    "Folder for temporary files, eight bytes a score, that all workers see; by default that of the "
    "system.", "FOLDER", panel=_SCALE,
)]  # fmt: skip


@dataclass(frozen=True)
class ScoreOptions:
    """Which columns of a table hold the truth and the scores, and what the scores are."""

    # fmt: off
    truth: Annotated[_Text, _column("Column of the true class.", "COLUMN")] = None
    llr: Annotated[_Text, _column(
        "Column of LLRs in favor of --positive; by default 'llr', if it exists, or what "
        "`deciban apply` made of it.", "COLUMN",
    )] = None
    positive: Annotated[_Text, _column(
        "Class that LLRs favor; by default 1, true, yes, target or same.", "CLASS",
    )] = None
    log_likelihoods: Annotated[_Text, _column(
        "Columns of log-likelihoods, separated by commas. 'auto', the default where there are no "
        "LLRs, takes the column named after each class.", "COLUMNS",
    )] = None
    posteriors: Annotated[_Text, _column(
        "Columns of posterior probabilities, or 'auto'. Needs --prior.", "COLUMNS",
    )] = None
    prefix: Annotated[str, _column("Text before the class in column names: 'll_'.", "TEXT")] = ""
    prior: Annotated[_Text, _column(
        "Prior contained in --posteriors, to be divided out: 'a=0.5,b=0.5', 'uniform' or "
        "'empirical' (the class frequencies of this table).", "PRIOR",
    )] = None
    floor: Annotated[float | None, _column(
        "Raise smaller --posteriors to this value, such as 0.005 for two decimals.", "NUMBER",
    )] = None
    base: Annotated[str, _column(
        "Base of the logarithms: e, 2 or 10 (log10 LRs, as in forensics).", "e|2|10",
    )] = "e"
    key: Annotated[_Text, _column(
        "File of model, segment and label, or label first as in VoxCeleb. Scores are then files "
        "of model, segment and score, of scores in the order of the key, or tables.", "FILE",
    )] = None
    subset: Annotated[bool, _column(
        "Leave out scores that have no label (in the key, or in --truth), and say how many.",
        None, "--subset",
    )] = False
    nontarget_scores: Annotated[_Text, _column(
        "Scores of non-target trials, one on each line or as a trial list; the other file then "
        "holds those of target trials.", "FILE",
    )] = None
    table_format: Format = None
    # fmt: on
    prior_hint: InitVar[str] = "Leave it out."  # where --prior comes without --posteriors

    def inputs(self, source: str) -> tuple[str, ...]:
        """The files that are read for the scores of a source, and this one first."""
        files = (source, self.key, self.nontarget_scores)
        return tuple(file for file in files if file is not None)

    def split_among(self, n_tables: int) -> list[Self]:
        """The options of each table; --llr and --nontarget-scores may have a name for each."""
        given = {"llr": self.llr, "nontarget_scores": self.nontarget_scores}
        names: dict[str, Any] = {k: split_names(v) for k, v in given.items() if v is not None}
        for key, several in names.items():
            if len(several) not in (n_tables, 1 if key == "llr" else n_tables):
                raise InputError(
                    f"--{key.replace('_', '-')} must have one name for each of {n_tables} files; "
                    f"got {len(several)}. Separate them by commas."
                )
        return [
            replace(self, **{key: several[k % len(several)] for key, several in names.items()})
            for k in range(n_tables)
        ]

    def __post_init__(self, prior_hint: str) -> None:
        kinds = {
            "--llr": self.llr,
            "--log-likelihoods": self.log_likelihoods,
            "--posteriors": self.posteriors,
        }
        given = [name for name, value in kinds.items() if value is not None]
        if len(given) > 1:
            raise InputError(f"{' and '.join(given)} must stand alone; got both. Choose one.")
        require_choice(self.base, "--base", ("e", "2", "10"))
        self._refuse_what_trials_exclude(kinds)
        if self.posteriors is None and self.prior is not None:
            raise InputError(
                f"--prior must come with --posteriors, whose prior it divides out; got none. "
                f"{prior_hint}"
            )
        if self.posteriors is None and self.floor is not None:
            raise InputError("--floor must come with --posteriors; got none. Leave it out.")
        if self.posteriors is not None and self.prior is None:
            raise InputError(
                "--posteriors must come with --prior, the prior that they contain; got none. Give "
                "--prior empirical for the class frequencies of this table, or 'a=0.5,b=0.5'."
            )
        if self.floor is not None and not 0 < self.floor < _LARGEST_FLOOR:
            raise InputError(
                f"--floor must lie between 0 and {_LARGEST_FLOOR}; got {self.floor}. Give half of "
                "the last decimal, such as 0.005."
            )

    def _refuse_what_trials_exclude(self, kinds: dict[str, _Text]) -> None:
        trials = {"--key": self.key, "--nontarget-scores": self.nontarget_scores}
        given = [name for name, value in trials.items() if value is not None]
        if len(given) > 1:
            raise InputError(f"{' and '.join(given)} must stand alone; got both. Choose one.")
        tabular = {"--truth": self.truth, **kinds, "--prefix": self.prefix or None, "--llr": None}
        unused = [name for name, value in tabular.items() if value is not None]
        if given and unused:
            raise InputError(
                f"{', '.join(unused)} must be left out with {given[0]}, which tells the truth. "
                "Only --llr, the column of the scores, may be named."
            )


@dataclass(frozen=True)
class AssessmentOptions:
    """Under which prior and costs to assess evidence, and how to find intervals."""

    # fmt: off
    at_prior: Annotated[list[str] | None, _result(
        "Prior for cross-entropy, accuracy and costs: 'a=0.9,b=0.1', 'a=0.9' (one class left out "
        "gets the rest), 'uniform' (default), 'empirical', or a table of classes and "
        "probabilities.", "PRIOR",
    )] = None
    costs: Costs = None
    dcf: Annotated[list[str] | None, _result(
        "Operating point of a detector, such as 10:1:0.01: cost of a miss, cost of a false alarm, "
        "prior of a target. Repeat it for several points and their mean, C_primary.",
        "C_MISS:C_FA:P",
    )] = None
    c_avg: Annotated[bool, _result(
        "C_avg of three classes or more, such as languages: mean cost of detecting each one among "
        "the others at even odds.", None, "--c-avg",
    )] = False
    out_of_set: Annotated[_Text, _result(
        "Class of all that is out of the set, no target in --c-avg and --dcf: 'other', or with its "
        "prior 'other=0.2' (default 0.2).", "CLASS",
    )] = None
    group: Annotated[_Text, _result(
        "Column of the group that each sample belongs to, such as its speaker: whole groups are "
        "resampled.", "COLUMN",
    )] = None
    items: Annotated[_Text, _result(
        "Columns of the two items that each sample compares, best by their sources: "
        "'left,right'. Items are resampled on both sides.", "COLUMN,COLUMN",
    )] = None
    confidence: Annotated[float, _result("Confidence level of the intervals.", "0-1")] = 0.95
    resamples: Annotated[int, _result("Number of resamples; 0 for no intervals.", "N")] = 1000
    seed: Seed = 0
    # fmt: on

    def __post_init__(self) -> None:
        require_seed(self.seed)
        if self.group is not None and self.items is not None:
            raise InputError("--group and --items must not come together; got both. Choose one.")
        if self.items is not None and len(set(self.item_columns or ())) != 2:
            raise InputError(
                f"--items must name two columns; got {self.items}. Give --items left,right, say."
            )
        if len(self.at_prior or ()) > 1:
            raise InputError(
                f"--at-prior must be given once; got {' and '.join(self.at_prior or ())}. Run the "
                "command for each, or give detection costs at several priors with --dcf."
            )
        if self.out_of_set is not None and not (self.c_avg or self.dcf):
            raise InputError("--out-of-set must come with --c-avg or --dcf; got neither. Give one.")

    @property
    def item_columns(self) -> list[str] | None:
        """Columns of the items of each comparison."""
        return None if self.items is None else split_names(self.items)

    @property
    def prior(self) -> str | None:
        """The prior, as it was typed."""
        return self.at_prior[0] if self.at_prior else None


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

    names = {parameter.name for parameter in taken}
    hints_at_prior = [hint for name, hint in _OTHER_PRIORS.items() if name in names]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            values = {field.name: given.pop(field.name) for field in fields(group)}
            if group is ScoreOptions and hints_at_prior:
                values["prior_hint"] = hints_at_prior[0]
            given[name] = group(**values)
        command(**given)

    run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in taken}
    return run
