"""``deciban explain``: what one row says, node by node of the tree of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from deciban.cli.options import Costs, Format, Json, Model, ModelPrior, Table, option
from deciban.cli.show import echo, print_json, print_table
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from deciban.evidence import Evidence

EXAMPLE = "Example: deciban explain iris.deciban iris-new.csv --row 1"


def explain(
    model: Model,
    table: Table,
    row: Annotated[int, option("Number of the row, from 1.", "N")] = 1,
    prior: ModelPrior = "empirical",
    costs: Costs = None,
    table_format: Format = None,
    as_json: Json = False,
) -> None:
    """Explain what one row of a table says about the classes, in decibans and in words.

    Each node of the tree sets one group of classes against another; its number is how much more
    likely the row is under the first group than under the second: 10 decibans are a factor of ten.
    The likelihood of a group is the mean of its classes' likelihoods, weighted by a --prior that is
    given, with equal weights otherwise.
    """
    from deciban.cli.features import open_model, read_rows
    from deciban.cli.operating import parse_costs, parse_prior

    estimator, source = open_model(model, table, table_format)
    frame = source.read(estimator.columns_.names)
    if not len(frame):
        raise source.error("must hold rows; it holds none. Give a table with samples.")
    if not 1 <= row <= len(frame):
        raise InputError(
            f"--row must be from 1 to {len(frame):,}, the rows of {source.name}; got {row}. Choose "
            f"one."
        )
    X = read_rows(estimator.columns_, frame[row - 1 : row], source.name, row - 1)
    evidence = estimator.evidence(X)
    classes = evidence.classes
    before = parse_prior(prior, "--prior", classes, estimator.class_counts_.tolist())
    weights = None if prior == "empirical" else before
    decision = evidence.decide(parse_costs(costs, "--costs", classes), before)[0]
    posterior = evidence.posterior(before)[0]
    found = {
        "row": row,
        "nodes": _nodes(evidence, estimator, before, weights),
        "prior_within_groups": weights and {str(label): p for label, p in weights.items()},
        "posterior": dict(zip(map(str, classes), posterior.tolist(), strict=True)),
        "decision": decision.item() if hasattr(decision, "item") else decision,
        "strength_deciban": float(evidence.strength("deciban")[0]),
        "less_likely_than_this": float(estimator.outlier_score(X)[0]),
    }
    if as_json:
        print_json(found)
    else:
        _show(found)


def _nodes(evidence: Evidence, estimator: Any, prior: Any, weights: Any) -> list[dict[str, Any]]:
    """What each node of the tree says: the LLR of its two groups, words for it, and the posterior.

    The posterior is that of the first group, given that the class is in one of the two.
    """
    import numpy as np

    from deciban.simplex import Basis

    basis = getattr(estimator, "basis_", None)
    if basis is None or basis.signs is None:
        basis = Basis.gram_schmidt(evidence.n_classes)
    log_posterior = evidence.log_posterior(prior)[0]
    nodes = []
    for node in np.asarray(basis.signs):
        a, b = ([evidence.classes[k] for k in np.flatnonzero(node == s)] for s in (1, -1))
        log_p, log_q = (np.logaddexp.reduce(log_posterior[node == s]) for s in (1, -1))
        nodes.append(
            {
                "for": [str(label) for label in a],
                "against": [str(label) for label in b],
                "deciban": float(evidence.llr(a, b, "deciban", prior=weights)[0]),
                "words": str(evidence.verbal(a, b, prior=weights)[0]),
                "posterior": float(np.exp(log_p - np.logaddexp(log_p, log_q))),
            }
        )
    return nodes


def _show(found: dict[str, Any]) -> None:
    rows = []
    for node in found["nodes"]:
        groups = ", ".join(node["for"]), ", ".join(node["against"])
        numbers = f"{node['deciban']:+.1f}", f"{node['posterior']:.3g}"
        rows.append((*groups, *numbers, node["words"]))
    print_table(("for", "against", "deciban", "posterior", "in words"), rows, right=(2, 3))
    if any(len(node[side]) > 1 for node in found["nodes"] for side in ("for", "against")):
        weights = "equal weights" if found["prior_within_groups"] is None else "--prior as weights"
        echo(f"The likelihood of a group is the mean of its classes' likelihoods, with {weights}.")
    posterior = ", ".join(f"{label} {p:.3g}" for label, p in found["posterior"].items())
    echo(f"Posterior: {posterior}. Decision: {found['decision']}.")
    share = f"{found['less_likely_than_this']:.0%} of the training rows are less likely"
    echo(f"Strength {found['strength_deciban']:.1f} deciban; {share}.")
