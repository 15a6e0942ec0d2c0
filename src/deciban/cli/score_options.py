"""Options that evaluate and compare share."""

from __future__ import annotations

from typing import Annotated

import typer

_COLUMNS, _INTERVALS, _OUTPUT = "Columns", "Priors, costs and intervals", "Output"

Truth = Annotated[
    str | None,
    typer.Option(help="Column of the true class.", rich_help_panel=_COLUMNS, metavar="COLUMN"),
]
Llr = Annotated[
    str | None,
    typer.Option(
        help="Column of LLRs, in favour of --positive; by default 'llr' where there is one.",
        rich_help_panel=_COLUMNS,
        metavar="COLUMN",
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        help="The class that LLRs are in favour of; 1 or True by default, 'target' with --key.",
        rich_help_panel=_COLUMNS,
        metavar="CLASS",
    ),
]
LogLikelihoods = Annotated[
    str | None,
    typer.Option(
        help="Columns of log-likelihoods, with commas between; 'auto' (and the default where there "
        "is no LLR) is one column named after each class.",
        rich_help_panel=_COLUMNS,
        metavar="COLUMNS",
    ),
]
Posteriors = Annotated[
    str | None,
    typer.Option(
        help="Columns of posterior probabilities, or 'auto'. Needs --prior.",
        rich_help_panel=_COLUMNS,
        metavar="COLUMNS",
    ),
]
Prefix = Annotated[
    str,
    typer.Option(
        help="What column names have before the class, such as 'll_'.",
        rich_help_panel=_COLUMNS,
        metavar="TEXT",
    ),
]
Prior = Annotated[
    str | None,
    typer.Option(
        help="The prior inside --posteriors, taken out: 'a=0.5,b=0.5', 'uniform' or 'empirical' "
        "(the class mix of this table).",
        rich_help_panel=_COLUMNS,
        metavar="PRIOR",
    ),
]
Floor = Annotated[
    float | None,
    typer.Option(
        help="Raise smaller --posteriors to this, such as 0.005 where they have two decimals.",
        rich_help_panel=_COLUMNS,
        metavar="NUMBER",
    ),
]
Base = Annotated[
    str,
    typer.Option(
        help="Base of the logarithms given: e, 2 or 10 (log10 LRs, as in forensics).",
        rich_help_panel=_COLUMNS,
        metavar="e|2|10",
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        help="File of model, segment and label (target or nontarget); scores are then files of "
        "model, segment and score. Spaces or tabs between, header or not; or tables.",
        rich_help_panel=_COLUMNS,
        metavar="FILE",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="csv, tsv, jsonl, parquet or arrow; by the file's ending by default.",
        rich_help_panel=_COLUMNS,
        metavar="FORMAT",
    ),
]
AtPrior = Annotated[
    str | None,
    typer.Option(
        help="Prior for cross-entropy, accuracy and costs: 'a=0.9,b=0.1', 'uniform' (default), "
        "'empirical', or a table of classes and probabilities.",
        rich_help_panel=_INTERVALS,
        metavar="PRIOR",
    ),
]
Costs = Annotated[
    str | None,
    typer.Option(
        help="What errors cost: 'a>b=5' is 5 for deciding b when a is true; others cost 1. Or a "
        "table with the true class in its first column and one column for each decision.",
        rich_help_panel=_INTERVALS,
        metavar="COSTS",
    ),
]
Confidence = Annotated[
    float, typer.Option(help="Of the intervals.", rich_help_panel=_INTERVALS, metavar="0-1")
]
Resamples = Annotated[
    int,
    typer.Option(
        help="Of the bootstrap; 0 for no intervals.", rich_help_panel=_INTERVALS, metavar="N"
    ),
]
Seed = Annotated[
    int, typer.Option(help="Of the resamples.", rich_help_panel=_INTERVALS, metavar="N")
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print JSON in place of the table.", rich_help_panel=_OUTPUT),
]
Force = Annotated[bool, typer.Option("--force", help="Write over a file.", rich_help_panel=_OUTPUT)]
