"""``deciban family``: the calibrated Gaussian family with given divergences or error rates."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from deciban.cli.options import Costs, Force, Json, option
from deciban.cli.show import echo, print_json, print_table
from deciban.cli.words import quote, require_choice, split_names
from deciban.exceptions import InputError, NotPositiveDefiniteError

if TYPE_CHECKING:
    from deciban.reference import CalibratedGaussian, Estimate

EXAMPLE = "Example: deciban family --divergences 5,4,7 --classes Czech,Polish,Slovak"

_UNITS = ("nat", "bit", "ban", "deciban")
_FIGURES = (".svg", ".png", ".pdf")
_MOST_COORDINATES = 8  # of means and covariances that fit on a screen
_MOST_PAIRS = 66
_MOST_CLASSES = 500
_LAST_DIGIT = 5e-5  # smaller numbers round to 0.0000
_ORDER = "row by row: d12, d13, …, d23, …"


def family(
    divergences: Annotated[
        str | None, option("Kullback-Leibler divergences between each pair of classes, separated "
                           f"by commas, {_ORDER}.", "NUMBERS"),
    ] = None,
    eers: Annotated[
        str | None, option("Or their equal-error rates, in the same order: '5%,3%,8%' or "
                           "'0.05,0.03,0.08'.", "RATES"),
    ] = None,
    classes: Annotated[
        str | None, option("Names separated by commas; 1, 2, … by default.", "NAMES")
    ] = None,
    nearest: Annotated[
        bool, option("If no family has these numbers, take the nearest.", None, "--nearest")
    ] = False,
    unit: Annotated[
        str, option("Unit of divergences, given and printed, and of means.", "nat|bit|ban|deciban")
    ] = "nat",
    prior: Annotated[
        str | None, option("Prior under which to decide: 'a=0.9,b=0.1', or 'uniform'. Prints how "
                           "often each class is decided for under each class.", "PRIOR"),
    ] = None,
    costs: Costs = None,
    figure: Annotated[Path | None, option("Figure to draw: .svg, .png or .pdf.", "FILE")] = None,
    as_json: Json = False,
    force: Force = False,
) -> None:  # fmt: skip
    """Print the calibrated Gaussian family whose classes are this far apart.

    Divergences, or equal-error rates, determine everything: the means and the covariance of the
    isometric log-ratios of the likelihoods (ILRLs, in the Gram-Schmidt basis), and what the
    evidence costs. Give one number for each pair of classes, row by row of the upper triangle: of
    three classes d12, d13, d23; of four d12, d13, d14, d23, d24, d34. With --prior or --costs,
    error rates of decisions follow, too.
    """
    from deciban.cli.outputs import require_outputs

    require_choice(unit, "--unit", _UNITS)
    if figure is not None and figure.suffix.lower() not in _FIGURES:
        raise InputError(f"--figure must end in {', '.join(_FIGURES)}; got {figure}. Rename it.")
    require_outputs({"--figure": figure}, force=force)
    found = _make_family(divergences, eers, classes, nearest, unit)
    if figure is not None:
        from deciban.cli.commands.family_figure import draw

        draw(found, figure, unit, replace=force)
    plain = _to_dict(found, found.expected_cross_entropy(unit="bit"), unit)
    if prior is not None or costs is not None:
        plain["decisions"] = _decisions(found, prior, costs)
    if as_json:
        print_json(plain)
    else:
        _show(plain)
    if figure is not None:
        echo(f"Figure: {figure}", err=as_json)


def _make_family(
    divergences: str | None, eers: str | None, classes: str | None, nearest: bool, unit: Any
) -> CalibratedGaussian:
    import numpy as np

    from deciban.evidence.units import to_nats
    from deciban.reference import CalibratedGaussian

    text = eers if divergences is None else divergences
    if text is None or None not in (divergences, eers):
        got = "neither" if text is None else "both"
        raise InputError(
            f"--divergences or --eers must be given; got {got}. Give --divergences 5,4,7, say."
        )
    option = "--eers" if divergences is None else "--divergences"
    values = np.array(_parse_numbers(text, option))
    labels = _parse_classes(classes, _count_classes(len(values), option), option)
    if eers is None and values.min() <= 0:
        raise InputError(
            f"--divergences must be above zero; got {values.min():g}. Classes that do not differ "
            "are one class."
        )
    if eers is not None and not 0 < values.min() <= values.max() < 0.5:
        raise InputError(
            f"--eers must lie between 0 and 50 %; got {values.max():g} as the largest. Write "
            "percentages with a %."
        )
    try:
        if eers is not None:
            return CalibratedGaussian.from_eers(values, nearest, classes=labels)
        values = to_nats(values, unit)
        return CalibratedGaussian.from_divergences(values, nearest, classes=labels)
    except NotPositiveDefiniteError as error:
        raise InputError(
            f"{option} must be those of a calibrated Gaussian family: square roots of divergences "
            f"must be distances of points in general position; the smallest eigenvalue is "
            f"{error.smallest_eigenvalue:.3g}. Give --nearest for the nearest family; the order is "
            f"{_ORDER}."
        ) from None


def _parse_numbers(text: str, option: str) -> list[float]:
    found = []
    for part in text.split(","):
        percent = option == "--eers" and part.strip().endswith("%")
        try:
            number = float(part.strip().removesuffix("%") if percent else part)
        except ValueError:
            number = float("nan")
        if not abs(number) < 1e12:
            raise InputError(
                f"{option} must be numbers separated by commas; got {quote(part.strip())}. Give "
                f"{option} {'5%,3%,8%' if option == '--eers' else '5,4,7'}, say."
            )
        found.append(number / 100 if percent else number)
    return found


def _count_classes(count: int, option: str) -> int:
    """How many classes have this many pairs."""
    D = (1 + math.isqrt(1 + 8 * count)) // 2
    pairs = D * (D - 1) // 2
    if pairs < count:
        raise InputError(
            f"{option} must have one number for each pair of classes: 1, 3, 6, 10, …; got {count}. "
            f"Give {pairs} for {D} classes, or {pairs + D} for {D + 1}."
        )
    if D > _MOST_CLASSES:
        raise InputError(f"{option} must be of {_MOST_CLASSES} classes at most; got {D}.")
    return D


def _parse_classes(text: str | None, D: int, option: str) -> list[str]:
    labels = [str(k) for k in range(1, D + 1)] if text is None else split_names(text)
    if len(labels) != D or len(set(labels)) != D or not all(labels):
        what = f"{len(labels)} names" if len(labels) != D else "an empty or repeated name"
        raise InputError(
            f"--classes must name the {D} classes of {option}, each once; got {what}. Give {D} "
            "names separated by commas."
        )
    return labels


def _to_dict(found: CalibratedGaussian, cost: Estimate, unit: Any) -> dict[str, Any]:
    from deciban.evidence.units import from_nats

    names, scale = found.classes, from_nats(1.0, unit)
    pairs = [
        {"a": names[i], "b": names[j], "divergence": float(found.divergences[i, j] * scale),
         "eer": float(found.eers[i, j]),
         "expected_cllr_bit": found.expected_cllr(names[i], names[j])}
        for i, j in itertools.combinations(range(found.n_classes), 2)
    ]  # fmt: skip
    return {
        "classes": list(names), "unit": unit,
        "order": "pairs row by row of the upper triangle: 12, 13, …, 23, …",
        "basis": "Gram-Schmidt", "pairs": pairs, "means": (found.means * scale).tolist(),
        "covariance": (found.covariance * scale**2).tolist(),
        "expected_cross_entropy_bit": cost.value, "standard_error_bit": cost.standard_error,
    }  # fmt: skip


def _decisions(found: CalibratedGaussian, prior: str | None, costs: str | None) -> dict[str, Any]:
    """Rates of decisions under a prior, and what they cost."""
    from deciban.cli.operating import parse_costs, parse_prior

    posterior = found.with_prior(parse_prior(prior, "--prior", found.classes))
    C = parse_costs(costs, "--costs", found.classes)
    rates, cost = posterior.decision_rates(C), posterior.expected_cost(C)
    return {
        "prior": posterior.prior.tolist(), "costs": None if C is None else C.tolist(),
        "rates": rates.values.tolist(), "rate_standard_errors": rates.standard_errors.tolist(),
        "expected_cost": cost.value, "expected_cost_standard_error": cost.standard_error,
    }  # fmt: skip


def _show_decisions(plain: dict[str, Any]) -> None:
    found, names = plain["decisions"], plain["classes"]
    if len(names) <= _MOST_COORDINATES:
        echo("\nHow often each class is decided for [%], the true class on rows")
        percent = [[f"{100 * rate:.4g}" for rate in row] for row in found["rates"]]
        cells = [(name, *row) for name, row in zip(names, percent, strict=True)]
        print_table(("", *names), cells, right=range(1, len(names) + 1))
    is_rate = found["costs"] is None
    scale = 100 if is_rate else 1  # percent, as the rates above
    cost, error = (scale * found[f"expected_cost{key}"] for key in ("", "_standard_error"))
    what = "Error rate [%]" if is_rate else "Expected cost of a decision"
    margin = f" (standard error {error:.2g})" if error else ""
    prior = "the uniform prior" if len(set(found["prior"])) == 1 else "this prior"
    echo(f"\n{what} under {prior}: {cost:.4g}{margin}")


def _show(plain: dict[str, Any]) -> None:
    pairs, unit = plain["pairs"], plain["unit"]
    echo(f"Pairs of classes, {_ORDER}")
    rows = []
    for pair in pairs[:_MOST_PAIRS]:
        numbers = pair["divergence"], 100 * pair["eer"], pair["expected_cllr_bit"]
        rows.append((f"{pair['a']} against {pair['b']}", *map(_decimals, numbers)))
    header = ("", f"divergence [{unit}]", "EER [%]", "expected Cllr [bit]")
    print_table(header, rows, right=(1, 2, 3))
    coordinates = [f"ILR {k}" for k in range(1, len(plain["classes"]))]
    if len(coordinates) <= _MOST_COORDINATES:
        echo(f"\nMean of the ILRL under each class [{unit}]")
        _print_matrix(plain["classes"], coordinates, plain["means"])
        echo(f"\nCovariance, shared by the classes [{unit}²]")
        _print_matrix(coordinates, coordinates, plain["covariance"])
    if len(coordinates) > _MOST_COORDINATES or len(pairs) > _MOST_PAIRS:
        echo("\nThis is not everything: --json has the rest.")
    cost, error = plain["expected_cross_entropy_bit"], plain["standard_error_bit"]
    margin = f" ± {_decimals(error)}" if error else ""
    echo(f"\nExpected cross-entropy of equally likely classes: {_decimals(cost)}{margin} bit")
    if "decisions" in plain:
        _show_decisions(plain)


def _decimals(value: float) -> str:
    """A number with four decimals, or with three digits where these would all be zero."""
    return f"{value:.3g}" if 0 < abs(value) < _LAST_DIGIT else f"{value:.4f}"


def _print_matrix(rows: list[str], columns: list[str], values: list[list[float]]) -> None:
    cells = [
        (name, *(f"{value:.4f}" for value in row)) for name, row in zip(rows, values, strict=True)
    ]
    print_table(("", *columns), cells, right=range(1, len(columns) + 1))
