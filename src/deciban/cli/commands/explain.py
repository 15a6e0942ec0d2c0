"""``deciban explain``: evidence for one row, node by node."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from deciban.cli import options as opt
from deciban.cli.options import option
from deciban.cli.show import echo, print_json, print_report, print_table, track_progress
from deciban.cli.words import count, name_source
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np

    from deciban.evidence import Evidence

_MAX_BACKGROUND = 100  # rows, spread over the table: the model sees each with every coalition


def explain(
    model: opt.Model,
    table: opt.Table,
    row: Annotated[int, option("Number of the row, from 1.", "N")] = 1,
    prior: opt.ModelPrior = "empirical",
    costs: opt.Costs = None,
    validation: Annotated[
        str | None, option("For --report: table of rows whose class is known and which the model "
                           "has not seen. The report shows how well ratios like this one hold "
                           "there.", "TABLE"),
    ] = None,
    label: Annotated[str | None, option("Column of the class in --validation.", "COLUMN")] = None,
    background: Annotated[
        str | None, option("Table of typical rows, such as the training rows. Adds the "
                           "contribution of each feature, with the values of at most "
                           f"{_MAX_BACKGROUND} of these rows in the place of the other features "
                           "(not in the report).", "TABLE"),
    ] = None,
    report: opt.Report = None,
    as_json: opt.Json = False,
    force: opt.Force = False,
) -> None:  # fmt: skip
    """Explain the evidence in one row, in decibans and in words.

    Each node in the model's class tree compares two groups of classes. Its number says how much
    more likely the row is under the first group: every 10 decibans multiply by ten. A group's
    likelihood is the mean likelihood in it, weighted by --prior if that is given. The report is
    written for readers who are not statisticians.

    Example: deciban explain iris.deciban iris-new.csv --row 1 --report case.html
    """
    from deciban.cli.features import load_model, read_features, read_rows
    from deciban.cli.operating import parse_costs, parse_prior, setting_files
    from deciban.cli.outputs import require_outputs

    if (validation is None) != (label is None) or (validation is not None and report is None):
        raise InputError("--validation, --label and --report belong together. Give all three.")
    inputs = (str(model), table, validation, background, *setting_files(prior, costs))
    require_outputs({"--report": report}, inputs, force=force)
    estimator = load_model(model)
    source, frame = read_features(estimator, table)
    if not 1 <= row <= len(frame):
        raise InputError(f"--row must be from 1 to {len(frame):,}, the rows of {source.name}.")
    X = read_rows(estimator.columns_, frame[row - 1 : row], source.name, row - 1)
    evidence = estimator.evidence(X)
    classes, counts = evidence.classes, estimator.class_counts_.tolist()
    before = parse_prior(prior, "--prior", classes, counts)
    weights = None if prior == "empirical" else before
    decision = evidence.decide(parse_costs(costs, classes), before)[0]
    groups = _groups(evidence, estimator)
    found = {"row": row, **_explain(evidence, groups, before, weights, decision),
             "less_likely_than_this": float(estimator.outlier_score(X)[0])}  # fmt: skip
    if background is not None:
        found["contributions"] = _contributions(estimator, X, background, found["posterior"])
    if report is not None:
        chosen = {"row": row, "prior": prior, "costs": costs, "label": label}
        _write_case(
            report, force, chosen, inputs, evidence, title=f"Row {row:,} of {name_source(table)}",
            lead=f"Evidence from the model {model}.", prior=before, weights=weights, groups=groups,
            validation=_validate(estimator, validation, label), measurements=X.row(0, named=True),
            typicality=found["less_likely_than_this"], decision=decision,
        )  # fmt: skip
    print_json(found) if as_json else _print(found)
    print_report(report, as_json)


def _explain(
    evidence: Evidence, groups: list[tuple[list[Any], list[Any]]], prior: Any, weights: Any,
    decision: Any,
) -> dict[str, Any]:  # fmt: skip
    posterior = evidence.posterior(prior)[0]
    return {
        "nodes": _nodes(evidence, groups, prior, weights),
        "prior_within_groups": weights and {str(label): p for label, p in weights.items()},
        "posterior": dict(zip(map(str, evidence.classes), posterior.tolist(), strict=True)),
        "decision": decision.item() if hasattr(decision, "item") else decision,
        "strength_deciban": float(evidence.strength("deciban")[0]),
    }


def _write_case(
    path: Path, force: bool, chosen: dict[str, Any], inputs: Sequence[str | None],
    evidence: Evidence, **case: Any,
) -> None:  # fmt: skip
    from deciban._persistence.files import write_atomically
    from deciban.cli.provenance import describe_run, hash_inputs
    from deciban.report import case_report

    record = describe_run(hash_inputs(inputs), **chosen)
    write_atomically(path, case_report(evidence, provenance=record, **case), replace=force)


def _validate(
    estimator: Any, table: str | None, label: str | None
) -> tuple[np.ndarray, Evidence] | None:
    if table is None or label is None:
        return None
    from deciban.cli.features import read_samples

    X, y = read_samples(estimator, table, label, "--label")
    unknown = [one for one in y.tolist() if one not in estimator.classes_.tolist()]
    if unknown:
        raise InputError(f"{label} in {table} has a class that the model lacks: {unknown[0]!r}.")
    return y, estimator.evidence(X)


def _contributions(
    estimator: Any, X: Any, background: str, posterior: dict[str, float]
) -> dict[str, Any]:
    """Contributions to the LLR between the two most probable classes, in decibans."""
    import numpy as np

    from deciban.cli.features import read_features, read_rows, share_types
    from deciban.explanation import shapley_compositions

    names = estimator.columns_.names
    source, frame = read_features(estimator, background)
    some = np.unique(np.linspace(0, len(frame) - 1, _MAX_BACKGROUND).astype(int))
    rows = read_rows(estimator.columns_, frame, source.name)[some]
    explained = shapley_compositions(
        estimator,
        *share_types(estimator.columns_, X[names], rows[names]),
        track=lambda steps: track_progress(steps, "Features"),
    )
    a, b = (
        explained.classes[k]
        for k in np.argsort([-p for p in posterior.values()], kind="stable")[:2]
    )
    llrs, errors = explained.llr(a, b, "deciban"), explained.llr_standard_errors(a, b, "deciban")
    order = np.argsort(-np.abs(llrs[0]), kind="stable")
    return {
        "for": str(a),
        "against": str(b),
        "background_rows": len(rows),
        "background_rows_in_all": len(frame),
        "exact": explained.is_exact,
        "base_deciban": float(explained.base.llr(a, b, "deciban")[0]),
        "features": [
            {"feature": str(explained.features[k]), "value": _as_plain(X[names[k]][0]),
             "deciban": float(llrs[0, k]), "standard_error": float(errors[0, k])}
            for k in order
        ],
        "total_deciban": float(explained.total.llr(a, b, "deciban")[0]),
    }  # fmt: skip


def _as_plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _groups(evidence: Evidence, estimator: Any) -> list[tuple[list[Any], list[Any]]]:
    """The two class groups that each node compares."""
    import numpy as np

    from deciban.simplex import Basis

    basis = getattr(estimator, "basis_", None)
    if basis is None or basis.signs is None:
        basis = Basis.gram_schmidt(evidence.n_classes)
    sides = [[np.flatnonzero(node == sign) for sign in (1, -1)] for node in np.asarray(basis.signs)]
    return [([evidence.classes[k] for k in a], [evidence.classes[k] for k in b]) for a, b in sides]


def _nodes(
    evidence: Evidence, groups: list[tuple[list[Any], list[Any]]], prior: Any, weights: Any
) -> list[dict[str, Any]]:
    """Each node's LLR in numbers and words, and the first group's posterior within the node."""
    import numpy as np

    log_posterior = dict(zip(evidence.classes, evidence.log_posterior(prior)[0], strict=True))
    nodes = []
    for a, b in groups:
        log_p, log_q = (
            np.logaddexp.reduce([log_posterior[one] for one in side]) for side in (a, b)
        )
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


def _print(found: dict[str, Any]) -> None:
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
    share = f"{100 * found['less_likely_than_this']:.0f} % of the training rows are less likely"
    if "contributions" in found:
        _print_contributions(found["contributions"])
    echo(f"Strength {found['strength_deciban']:.1f} deciban; {share}.")


def _print_contributions(found: dict[str, Any]) -> None:
    pair = f"{found['for']} against {found['against']}"
    used, all_rows = found["background_rows"], found["background_rows_in_all"]
    some = f"{used:,} of the {count(all_rows, 'row')} of --background, spread over the table"
    these = some if used < all_rows else f"{count(used, 'row')} of --background"
    how = "exact" if found["exact"] else "from sampled orders of the features"
    echo(f"Contributions to the LLR of {pair}, {how}.")
    echo(f"Background: {these}; the other features take the values of these rows.")
    rows = [("base", "", f"{found['base_deciban']:+.1f}", "")]
    for one in found["features"]:
        numbers = f"{one['deciban']:+.1f}", f"{one['standard_error']:.1f}"
        value = one["value"]
        value = f"{value:.6g}" if isinstance(value, float) else str(value)
        rows.append((one["feature"], value, *numbers))
    rows.append(("total", "", f"{found['total_deciban']:+.1f}", ""))
    header = ("feature", "value", "deciban", "standard error")
    shown = 3 if found["exact"] else 4
    print_table(header[:shown], [row[:shown] for row in rows], right=range(1, shown))
