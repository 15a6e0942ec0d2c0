"""``deciban explain``: what one row says, node by node of the tree of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from deciban.cli.options import Costs, Format, Json, Model, Prior, Table, option
from deciban.cli.show import echo, print_json, print_table
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from deciban.evidence import Evidence

EXAMPLE = "Example: deciban explain iris.deciban iris-new.csv --row 1"


def explain(
    model: Model,
    table: Table,
    row: Annotated[int, option("Number of the row, from 1.", "N")] = 1,
    prior: Prior = None,
    costs: Costs = None,
    table_format: Format = None,
    as_json: Json = False,
) -> None:
    """Explain what one row of a table says about the classes, in decibans and in words.

    Each node of the tree sets one group of classes against another; its number is how much more
    likely the first group is, on average, than the second: 10 decibans are a factor of ten.
    """
    from deciban.cli.io.sources import open_table
    from deciban.cli.operating import parse_costs, parse_prior
    from deciban.cli.recipe import load_model

    estimator, recipe = load_model(model)
    source = open_table(table, table_format)
    recipe.require_in(source)
    frame = source.read(recipe.columns)
    if not len(frame):
        raise source.error("must hold rows; it holds none. Give a table with samples.")
    if not 1 <= row <= len(frame):
        raise InputError(
            f"--row must be from 1 to {len(frame):,}, the rows of {source.name}; got {row}. Choose "
            f"one."
        )
    X = recipe.matrix(frame[row - 1 : row], source.name, row - 1)
    evidence = estimator.evidence(X)
    classes = evidence.classes
    before = parse_prior(prior, "--prior", classes)
    decision = evidence.decide(parse_costs(costs, "--costs", classes), before)[0]
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
        print_json(found)
    else:
        _show(found)


def _nodes(evidence: Evidence, estimator: Any) -> list[dict[str, Any]]:
    """What each node of the tree says: the log-ratio of geometric means, and words for it."""
    import numpy as np

    from deciban.evidence import Evidence as Pair
    from deciban.simplex import Basis

    basis = getattr(estimator, "basis_", None)
    if basis is None or basis.signs is None:
        basis = Basis.gram_schmidt(evidence.n_classes)
    values = evidence.log_likelihoods[0]
    nodes = []
    for node in np.asarray(basis.signs):
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
    rows = []
    for node in found["nodes"]:
        groups = ", ".join(node["for"]), ", ".join(node["against"])
        rows.append((*groups, f"{node['deciban']:+.1f}", node["words"]))
    print_table(("for", "against", "deciban", "in words"), rows, right=(2,))
    posterior = ", ".join(f"{label} {p:.3g}" for label, p in found["posterior"].items())
    echo(f"Posterior: {posterior}. Decision: {found['decision']}.")
    share = f"{found['less_likely_than_this']:.0%} of the training rows are less likely"
    echo(f"Strength {found['strength_deciban']:.1f} deciban; {share}.")
