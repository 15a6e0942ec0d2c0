"""MNIST on 40 principal components: numbers, tables and figures, from the arrays of the steps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from scipy.special import logsumexp

from reproduction import mnist40_figures as figures
from reproduction.baselines import BASELINES
from reproduction.experiment import (
    Arrays,
    Block,
    Figure,
    Findings,
    Measured,
    Paragraph,
    Table,
)
from reproduction.intervals import CONFIDENCE, exact, over_samples
from reproduction.mnist import (
    DIGITS,
    costs,
    evidence_of,
    losses,
    mean,
    mean_of_classes,
    with_interval,
)
from reproduction.verdicts import printed_numbers

TITLES = {
    "lda": "LDA",
    "qda": "QDA",
    "cda-paper": "CDA as described, sizes ours",
    "cda-generative": "CDA, likelihood only",
    "cda": "CDA, default",
    "cda-ensemble": "CDA, ensemble",
    **{name: baseline.title for name, baseline in BASELINES.items()},
}
PAPER = {"lda": "mnist40.lda", "qda": "mnist40.qda", "cda-paper": "mnist40.cda"}
DIVERGENCES = {
    "cda-paper": "as described", "cda-generative": "likelihood only", "cda": "default",
}  # fmt: skip
PAIRS = [(i, j) for j in DIGITS for i in range(j)]

Results = Mapping[str, Arrays]
Costs = Mapping[str, tuple[Measured, Measured]]


def findings_of(results: Results) -> Findings:
    """All that the page of this experiment shows."""
    truth = results["data"]["truth"].astype(np.int64)
    found = {name: _judged(name, truth, results[name]) for name in TITLES}
    hidden = _found_in_residuals(results, truth)
    learnt = _divergences(results)
    blocks: list[Block] = [
        _about(results, truth),
        _examples(results),
        _systems(results, found),
        _best(results, found, truth),
        _chart(results, found),
        _reliability(results, truth, found),
        *_spaces(results, truth, hidden),
        *_pairs(results, truth),
    ]
    numbers = [number for pair in found.values() for number in pair]
    entropy = exact("text.mnist.prior_entropy", float(np.log(len(DIGITS))))
    return Findings(blocks, [*map(_as_held, numbers), entropy, *learnt, *hidden.values()])


def _key(name: str) -> str:
    return PAPER.get(name, f"mnist40.{name.replace('-', '_')}")


def _judged(name: str, truth: np.ndarray, arrays: Arrays) -> tuple[Measured, Measured]:
    return costs(_key(name), truth, arrays, described=name == "cda-paper")


def _as_held(number: Measured) -> Measured:
    """A number as it is held against the paper's.

    LDA and QDA have no chance in them and the images are the same, so that theirs should be the
    printed digits: test images drawn again would excuse too much.
    """
    if number.key.split(".")[1] in ("lda", "qda"):
        return exact(number.key, number.value, "the same images, no chance in the method")
    return number


def printed(name: str, what: str) -> str:
    """What the paper prints for a system, or a dash."""
    number = printed_numbers().get(f"{PAPER.get(name, '')}.{what}")
    return "–" if number is None else f"{number.value:g}"


# --- how good they are ----------------------------------------------------------------


def _about(results: Results, truth: np.ndarray) -> Paragraph:
    return Paragraph(
        f"{int(results['data']['n_train']):,} training and {len(truth):,} test images, pixels from "
        f"0 to 1, 40 principal components of the training images. C_mc is the cross-entropy under "
        f"the uniform prior in nats, each digit counted alike; to know nothing costs log 10 = "
        f"{np.log(10):.3f}. Accuracy is the share of test images whose likeliest digit is the "
        f"right one. CDA as described has the paper's loss and start; the size of its flow, which "
        f"the paper does not give, is ours. Likelihood only is a larger one with noise on the "
        f"features; the default adds the cross-entropy of the posteriors to the loss."
    )


def _systems(results: Results, found: Costs) -> Table:
    rows = []
    for name, (cost, right) in found.items():
        left = _left(results, name)
        rows.append([
            TITLES[name], with_interval(cost, 4), printed(name, "c_mc"),
            with_interval(right, 2), printed(name, "accuracy"),
            f"{cost.value - left:+.4f}".replace("-", "−"), f"{left:.4f}",
        ])  # fmt: skip
    floored = sum(int(results[name].get("floored", np.array(0))) for name in BASELINES)
    zeros = (
        f" {floored} posteriors of the others were zero in floating point and count as 2e-308."
        if floored else ""
    )  # fmt: skip
    header = ("system", "C_mc (nat)", "paper", "accuracy (%)", "paper", "calibration (nat)",
              "discrimination (nat)")  # fmt: skip
    caption = (
        "Test images: numbers with 95 % intervals (test images drawn again). Calibration is what "
        "an affine map of the ILRLs saves of C_mc, taught by four folds of the test images and "
        "used on the fifth; discrimination is what it leaves. Where it saves less than nothing, "
        f"10,000 images teach it less than it spoils.{zeros}"
    )
    return Table(caption, header, rows)


def _left(results: Results, name: str) -> float:
    """C_mc of a system after calibration, in nats."""
    truth = results["data"]["truth"].astype(np.int64)
    recalibrated = {"log_likelihoods": results["calibrated"][name]}
    return mean_of_classes(truth, losses(truth, recalibrated))


def _best(results: Results, found: Costs, truth: np.ndarray) -> Paragraph:
    """Which system is best, and whether the default CDA beats the best of the others."""
    order = sorted(found, key=lambda name: found[name][0].value)
    best, other = order[0], next(name for name in order if name in BASELINES)
    gap = over_samples(
        "gap", mean_of_classes, truth, losses(truth, results["cda"]) - losses(truth, results[other])
    )
    side = "below" if gap.high < 0 else "above" if gap.low > 0 else "not told apart from"
    cda, paper = found["cda"][0], printed_numbers()["mnist40.cda.c_mc"]
    beaten = [TITLES[name] for name in order if found[name][0].low > cda.high]
    return Paragraph(
        f"The smallest C_mc is that of **{TITLES[best]}**: {with_interval(found[best][0], 4)} nat, "
        f"with {found[best][1].value:.2f} % right. The default CDA's is {cda.value:.4f} nat, "
        f"{cda.value / paper.value:.2f} times the paper's {paper.value:.3f}; as the paper "
        f"describes it, ours has {found['cda-paper'][0].value:.4f}. The best of the other "
        f"classifiers ({TITLES[other]}) has {found[other][0].value:.4f} nat; on the same "
        f"images the default CDA is {side} it: a difference of {gap.value:+.4f} nat "
        f"({gap.low:+.4f} to {gap.high:+.4f}). Systems whose interval lies wholly above "
        f"the default CDA's: {'; '.join(beaten) if beaten else 'none'}."
    )


# --- figures of the evidence ----------------------------------------------------------


def _examples(results: Results) -> Figure:
    return Figure(
        "mnist40-examples", "The first image of each digit among the test images.",
        partial(figures.examples, results["data"]["examples"]), "Figure 13", "png",
    )  # fmt: skip


def _chart(results: Results, found: Costs) -> Figure:
    parts = {name: _left(results, name) for name in found}
    theirs = {name: printed_numbers()[f"{key}.c_mc"].value for name, key in PAPER.items()}
    costs_of = {TITLES[name]: pair[0] for name, pair in found.items()}
    draw = partial(
        figures.chart, costs_of, {TITLES[k]: v for k, v in parts.items()},
        {TITLES[k]: v for k, v in theirs.items()},
    )  # fmt: skip
    worst = max(parts, key=lambda name: found[name][0].value - parts[name])
    return Figure(
        "mnist40-costs",
        "C_mc in nats on a logarithmic axis, further left is better; bars are 95 % intervals over "
        "test images, vertical strokes what would be left after calibration, diamonds the paper's "
        f"numbers. Calibration would save most for {TITLES[worst]}: "
        f"{found[worst][0].value - parts[worst]:.3f} nat.",
        draw,
    )


def _reliability(results: Results, truth: np.ndarray, found: Costs) -> Figure:
    names = ("qda", "cda-paper", "cda")
    recalibrated = {name: {"log_likelihoods": results["calibrated"][name]} for name in names}
    before = {TITLES[name]: error_rates(truth, results[name]) for name in names}
    after = {TITLES[name]: error_rates(truth, recalibrated[name]) for name in names}
    said = "; ".join(
        f"{TITLES[name]}: {found[name][0].value:.4f} nat before, {_left(results, name):.4f} after"
        for name in names
    )
    return Figure(
        "mnist40-reliability",
        "Share of images for which the likeliest digit is wrong against the probability of that by "
        "the posteriors under the uniform prior, in half decades of it, with 95 % intervals; an "
        "arrow from the end of the interval where no error was seen. Above the diagonal evidence "
        f"is too sure. Probabilities below {figures.LEAST:g} stand at that. After calibration: an "
        "affine map of the ILRLs, fitted in five folds of the test images, each image by the map "
        "of the other four. C_mc of "
        f"{said}.",
        partial(figures.reliability, before, after),
    )


def error_rates(truth: np.ndarray, arrays: Arrays) -> figures.Rates:
    """Errors in half decades of their probability by the posteriors under the uniform prior."""
    from deciban.metrics.proportions import wilson

    values = arrays["log_likelihoods"].astype(np.float64)
    best = values.argmax(axis=1)
    others = values.copy()
    others[np.arange(len(values)), best] = -np.inf
    # As the sum over the other digits: one minus a posterior near one would be nothing.
    log_error = logsumexp(others, axis=1) - logsumexp(values, axis=1)
    place = np.floor(2 * np.maximum(log_error / np.log(10), np.log10(figures.LEAST))).astype(int)
    _, bin_of = np.unique(place, return_inverse=True)
    count = np.bincount(bin_of)
    found = np.bincount(bin_of, best != truth) / count
    said = np.bincount(bin_of, np.exp(log_error)) / count
    return figures.Rates(said, found, *wilson(found * count, count, CONFIDENCE))


# --- the base space -------------------------------------------------------------------


def _found_in_residuals(results: Results, truth: np.ndarray) -> dict[str, Measured]:
    return {
        name: over_samples(
            f"mnist40.{name.replace('-', '_')}.residual_accuracy", mean, truth,
            (guessed == truth).astype(np.float64), times=100.0,
        )
        for name, guessed in results["residuals"].items()
    }  # fmt: skip


def _spaces(results: Results, truth: np.ndarray, hidden: Mapping[str, Measured]) -> list[Block]:
    chance = 100 * np.bincount(truth).max() / len(truth)
    said = "; ".join(f"{TITLES[k]}: {with_interval(v, 1)} %" for k, v in hidden.items())
    told = [TITLES[name] for name, number in hidden.items() if number.low > chance]
    shown = {name: TITLES[name] for name in TITLES if f"{name}.ilr" in results["map"]}
    maps = Figure(
        "mnist40-maps",
        "Two-dimensional UMAP of the test images in the base space of two CDAs, one colour a "
        "digit: the ILRLs (left), where each digit is a cluster, and the residuals (right), where "
        "clusters would be what the flow left of the class. Axes have no unit.",
        partial(figures.maps, truth, results["map"], shown), "Figure 14", "png",
    )  # fmt: skip
    text = Paragraph(
        "The residual should say nothing of the digit. Share of the test images whose digit "
        "gradient boosting finds in their residuals, trained on those of other test images in "
        f"three folds: {said}. To always say the commonest digit is right for {chance:.1f} %. So "
        f"the residual still holds something of the digit for: "
        f"{'; '.join(told) if told else 'none'}. A map without clusters does not show this."
    )
    return [maps, text]


# --- pairs of digits ------------------------------------------------------------------


def _divergences(results: Results) -> list[Measured]:
    d = results["cda-paper"]["divergences"]
    return [
        Measured(f"mnist40.cda.divergence.{i}{j}", *(float(d[i, j]),) * 3, "learnt", True)
        for i, j in PAIRS
    ]


def _pairs(results: Results, truth: np.ndarray) -> list[Block]:
    from scipy.stats import spearmanr

    theirs = _printed_divergences()
    upper = tuple(np.array(PAIRS).T)
    ours = {title: results[name]["divergences"] for name, title in DIVERGENCES.items()}
    agreement = {t: float(spearmanr(d[upper], theirs[upper]).statistic) for t, d in ours.items()}
    said = ", ".join(f"{rank:.2f} ({title})" for title, rank in agreement.items())
    first = ours[DIVERGENCES["cda-paper"]]
    return [
        Table(
            "Learnt divergences between the digits' distributions in the base space, in nats, of "
            "our CDA as the paper describes it, and the paper's (in brackets).",
            ("digit", *map(str, DIGITS[:-1])),
            [
                [str(j), *(f"{first[i, j]:.1f} ({theirs[i, j]:.1f})" for i in range(j)),
                 *[""] * (len(DIGITS) - 1 - j)]
                for j in DIGITS[1:]
            ],
        ),
        Figure(
            "mnist40-divergences",
            "Divergence of each pair of digits, in nats. Left: the paper's below the diagonal, "
            "ours as it describes it above. Right: ours against the paper's, on logarithmic "
            f"axes. Rank correlation of the 45 pairs with the paper's: {said}.",
            partial(figures.divergences, theirs, ours),
        ),
        _hardest(results, truth),
    ]  # fmt: skip


def _printed_divergences() -> np.ndarray:
    d = np.zeros((len(DIGITS), len(DIGITS)))
    for i, j in PAIRS:
        d[i, j] = d[j, i] = printed_numbers()[f"mnist40.cda.divergence.{i}{j}"].value
    return d


def _hardest(results: Results, truth: np.ndarray) -> Figure:
    from deciban.metrics import pairwise_cllr

    actual, least = pairwise_cllr(truth, evidence_of(results["cda"]))
    i, j = max(PAIRS, key=lambda pair: float(actual[pair]))
    return Figure(
        "mnist40-pairs",
        "Cost of the default CDA's LLRs of each pair of digits, in thousandths of a bit: Cllr "
        "above the diagonal, Cllr_min, what would be left after the best calibration, below it. "
        f"The hardest pair is {i} and {j} with {1000 * actual[i, j]:.0f}; to know nothing costs "
        "1,000.",
        partial(figures.pairs, 1000 * actual, 1000 * least),
    )
