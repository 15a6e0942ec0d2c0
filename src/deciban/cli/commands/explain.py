"""``deciban explain``: what one row says, node by node of the tree of classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli.io.tables import columns_of_table, read_table
from deciban.cli.operating import parsed_costs, parsed_prior
from deciban.cli.recipe import Recipe, require_column
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from polars import DataFrame

    from deciban.evidence import Evidence

EXAMPLE = "Example: deciban explain iris.deciban iris-new.csv --row 1"


def explain(
    model: Annotated[Path, typer.Argument(help="File of `deciban fit`.")],
    table: Annotated[str, typer.Argument(help="Table with the row.")],
    row: Annotated[int, typer.Option(help="Which row, counted from 1.")] = 1,
    prior: Annotated[
        str | None,
        typer.Option(help="Before the evidence: 'a=0.9,b=0.1' or a table; uniform by default."),
    ] = None,
    costs: Annotated[
        str | None, typer.Option(help="Of decisions: 'true>decided=5', or a table.")
    ] = None,
    table_format: Annotated[
        str | None, typer.Option("--format", help="Of the table, where its name does not tell.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Tell what one row of a table says about the classes, in decibans and in words.

    Each node of the tree sets one group of classes against another; its number is how much likelier
    the first are, on average, than the second: 10 decibans are a factor of ten.
    """
    from deciban._persistence.registry import load_with_extra

    estimator, extra = load_with_extra(model)
    recipe = Recipe.from_plain(extra, model, getattr(estimator, "n_features_in_", -1))
    frame = _table(table, table_format, recipe)
    if not 1 <= row <= len(frame):
        raise InputError(
            f"--row must be from 1 to {len(frame):,}, the rows of {table}; got {row}. Choose one."
        )
    X = recipe.matrix(frame[row - 1 : row], table, row)
    evidence = estimator.evidence(X)
    classes = evidence.classes
    before = parsed_prior(prior, "--prior", classes)
    decision = evidence.decide(parsed_costs(costs, "--costs", classes), before)[0]
    posterior = evidence.posterior(before)[0]
    found = {
        "row": row,
        "nodes": _nodes(evidence, estimator),
        "posterior": dict(zip(map(str, classes), posterior.tolist(), strict=True)),
        "decision": decision.item() if hasattr(decision, "item") else decision,
        "strength_deciban": float(evidence.strength("deciban")[0]),
        "less_likely_than_this": float(estimator.outlier_score(X)[0]),
    }
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, allow_nan=False, indent=2))
    else:
        _show(found)


def _table(table: str, table_format: str | None, recipe: Recipe) -> DataFrame:
    """The columns that the model takes; at least one row."""
    there = columns_of_table(table, format=table_format)
    for name in recipe.columns:
        require_column(name, "the model's column", there, table)
    frame = read_table(table, format=table_format, columns=recipe.columns, text=recipe.levels)
    if not len(frame):
        raise InputError(f"{table} must hold rows; it holds none. Give a table with samples.")
    return frame


def _nodes(evidence: Evidence, estimator: Any) -> list[dict[str, Any]]:
    """What each node of the tree says: the log-ratio of geometric means, and words for it."""
    import numpy as np

    from deciban.evidence import Evidence as Pair
    from deciban.simplex import Basis

    basis = getattr(estimator, "basis_", None) or Basis.gram_schmidt(evidence.n_classes)
    signs = basis.signs if basis.signs is not None else Basis.gram_schmidt(evidence.n_classes).signs
    values = evidence.log_likelihoods[0]
    nodes = []
    for node in np.asarray(signs):
        groups = [[str(evidence.classes[k]) for k in np.flatnonzero(node == s)] for s in (1, -1)]
        llr = float(values[node == 1].mean() - values[node == -1].mean())
        a, b = ("/".join(group) for group in groups)
        pair = Pair([[llr, 0.0]], (a, b))
        nodes.append(
            {
                "for": groups[0],
                "against": groups[1],
                "deciban": float(pair.llr(a, b, unit="deciban")[0]),
                "words": str(pair.verbal(a, b)[0]),
            }
        )
    return nodes


def _show(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("for", "against", "deciban", "in words"):
        table.add_column(name, justify="right" if name == "deciban" else "left")
    for node in found["nodes"]:
        table.add_row(escape(", ".join(node["for"])), escape(", ".join(node["against"])),
                      f"{node['deciban']:+.1f}", escape(node["words"]))  # fmt: skip
    console.print(table)
    said = ", ".join(f"{label} {p:.3g}" for label, p in found["posterior"].items())
    console.print(f"Posterior: {said}. Decision: {found['decision']}.", markup=False)
    share = found["less_likely_than_this"]
    console.print(f"Strength {found['strength_deciban']:.1f} deciban; {share:.0%} of the training "
                  f"rows are less likely.", markup=False)  # fmt: skip
