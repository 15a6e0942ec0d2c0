"""MNIST on 40 principal components: numbers, tables and figures, from the arrays of the steps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from scipy.special import logsumexp
from scipy.stats import binomtest

from reproduction import mnist40_figures as figures
from reproduction.baselines import BASELINES
from reproduction.experiment import (
    Arrays,
    Block,
    Figure,
    Findings,
    Measurement,
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
CostsOf = Mapping[str, tuple[Measurement, Measurement]]


def findings_of(results: Results) -> Findings:
    """Everything that the page of this experiment shows."""
    y_true = results["data"]["truth"].astype(np.int64)
    found = {
        name: costs(_key(name), y_true, results[name], described=name == "cda-paper")
        for name in TITLES
    }
    residuals = _residual_accuracies(results, y_true)
    blocks: list[Block] = [
        _about(results, y_true),
        _examples(results),
        _systems(results, found),
        _best(results, found, y_true),
        _chart(results, found),
        _reliability(results, y_true, found),
        *_spaces(results, y_true, residuals),
        *_pairs(results, y_true),
    ]
    numbers = [number for pair in found.values() for number in pair]
    entropy = exact("text.mnist.prior_entropy", float(np.log(len(DIGITS))))
    divergences = _divergences(results)
    return Findings(
        blocks, [*map(_for_comparison, numbers), entropy, *divergences, *residuals.values()]
    )


def _key(name: str) -> str:
    return PAPER.get(name, f"mnist40.{name.replace('-', '_')}")


def _for_comparison(number: Measurement) -> Measurement:
    """A number as it is compared with the paper's.

    LDA and QDA are deterministic and the images are the same, so their numbers should agree to the
    printed digits: resampling the test images would excuse too much.
    """
    if number.key.split(".")[1] in ("lda", "qda"):
        return exact(number.key, number.value, "the same images, a deterministic method")
    return number


def printed(name: str, what: str) -> str:
    """The paper's number of a system, or a dash."""
    number = printed_numbers().get(f"{PAPER.get(name, '')}.{what}")
    return "–" if number is None else f"{number.value:g}"


# --- how good they are ----------------------------------------------------------------


def _about(results: Results, y_true: np.ndarray) -> Paragraph:
    return Paragraph(
        f"{int(results['data']['n_train']):,} training and {len(y_true):,} test images, pixels "
        f"from 0 to 1, 40 principal components of the training images. C_mc is the cross-entropy "
        f"under the uniform prior in nats, with equal weight for each digit; saying nothing "
        f"costs log 10 = {np.log(10):.3f}. Accuracy is the share of test images whose most likely "
        f"digit is the right one. *CDA as described* has the paper's loss and initialization; the "
        f"paper does not give the size of its flow, so the size is ours. *CDA, likelihood only* is "
        f"a larger flow with noise on the features; *CDA, default* adds the cross-entropy of the "
        f"posteriors to the loss."
    )


def _systems(results: Results, found: CostsOf) -> Table:
    rows = []
    for name, (cost, right) in found.items():
        left = _cost_after_calibration(results, name)
        rows.append([
            TITLES[name], with_interval(cost, 4), printed(name, "c_mc"),
            with_interval(right, 2), printed(name, "accuracy"),
            f"{cost.value - left:+.4f}".replace("-", "−"), f"{left:.4f}",
        ])  # fmt: skip
    floored = sum(int(results[name].get("floored", np.array(0))) for name in BASELINES)
    zeros = (
        f" {floored} posteriors of the other classifiers were zero in floating point and count as "
        f"2e-308." if floored else ""
    )  # fmt: skip
    header = ("system", "C_mc (nat)", "paper", "accuracy (%)", "paper", "calibration loss (nat)",
              "discrimination loss (nat)")  # fmt: skip
    caption = (
        "Results on the test images, with 95 % intervals (test images resampled). The calibration "
        "loss is the part of C_mc that an affine map of the ILRLs removes when it is fitted to "
        "four folds of the test images and applied to the fifth; the discrimination loss is what "
        "remains. The calibration loss is negative where the map, estimated from few images, does "
        f"more harm than good.{zeros}"
    )
    return Table(caption, header, rows)


def _cost_after_calibration(results: Results, name: str) -> float:
    """C_mc of a system after calibration, in nats."""
    y_true = results["data"]["truth"].astype(np.int64)
    recalibrated = {"log_likelihoods": results["calibrated"][name]}
    return mean_of_classes(y_true, losses(y_true, recalibrated))


def _best(results: Results, found: CostsOf, y_true: np.ndarray) -> Paragraph:
    """The best system, and the default CDA compared with the best of the other classifiers."""
    order = sorted(found, key=lambda name: found[name][0].value)
    best, other = order[0], next(name for name in order if name in BASELINES)
    excess = losses(y_true, results["cda"]) - losses(y_true, results[other])
    gap = over_samples("gap", mean_of_classes, y_true, excess)
    side = "lower" if gap.high < 0 else "higher" if gap.low > 0 else "not significantly different"
    cda, paper = found["cda"][0], printed_numbers()["mnist40.cda.c_mc"]
    beaten = [TITLES[name] for name in order if found[name][0].low > cda.high]
    return Paragraph(
        f"**{TITLES[best]}** has the lowest C_mc: {with_interval(found[best][0], 4)} nat, with an "
        f"accuracy of {found[best][1].value:.2f} %. The default CDA has {cda.value:.4f} nat, "
        f"{cda.value / paper.value:.2f} times the paper's {paper.value:.3f}; the CDA as described "
        f"has {found['cda-paper'][0].value:.4f} nat. The best of the other classifiers "
        f"({TITLES[other]}) has {found[other][0].value:.4f} nat; on the same images the cost of "
        f"the default CDA is {side}, with a difference of {gap.value:+.4f} nat ({gap.low:+.4f} to "
        f"{gap.high:+.4f}). Systems whose whole interval lies above that of the default CDA: "
        f"{'; '.join(beaten) if beaten else 'none'}."
    )


# --- figures of the evidence ----------------------------------------------------------


def _examples(results: Results) -> Figure:
    return Figure(
        "mnist40-examples", "The first test image of each digit.",
        partial(figures.examples, results["data"]["examples"]), "Figure 13", "png",
    )  # fmt: skip


def _chart(results: Results, found: CostsOf) -> Figure:
    parts = {name: _cost_after_calibration(results, name) for name in found}
    theirs = {name: printed_numbers()[f"{key}.c_mc"].value for name, key in PAPER.items()}
    costs_of = {TITLES[name]: pair[0] for name, pair in found.items()}
    draw = partial(
        figures.chart, costs_of, {TITLES[k]: v for k, v in parts.items()},
        {TITLES[k]: v for k, v in theirs.items()},
    )  # fmt: skip
    worst = max(parts, key=lambda name: found[name][0].value - parts[name])
    return Figure(
        "mnist40-costs",
        "C_mc in nats on a logarithmic axis; lower is better. Bars are 95 % intervals over test "
        "images, vertical strokes show the cost after calibration, diamonds the paper's numbers. "
        f"Calibration would help {TITLES[worst]} most, by "
        f"{found[worst][0].value - parts[worst]:.3f} nat.",
        draw,
    )


def _reliability(results: Results, y_true: np.ndarray, found: CostsOf) -> Figure:
    names = ("qda", "cda-paper", "cda")
    recalibrated = {name: {"log_likelihoods": results["calibrated"][name]} for name in names}
    before = {TITLES[name]: error_rates(y_true, results[name]) for name in names}
    after = {TITLES[name]: error_rates(y_true, recalibrated[name]) for name in names}
    listed = "; ".join(
        f"{TITLES[name]}, {found[name][0].value:.4f} nat before and "
        f"{_cost_after_calibration(results, name):.4f} after"
        for name in names
    )
    return Figure(
        "mnist40-reliability",
        "Observed error rate of the most likely digit over the error probability that the "
        "posteriors state under the uniform prior, in half decades, with 95 % intervals; an arrow "
        "from the end of the interval marks a bin without errors. Above the diagonal the evidence "
        f"is overconfident. Probabilities below {figures.LEAST:g} are drawn at that value. Right: "
        "after an affine map of the ILRLs, fitted to four folds of the test images and applied to "
        f"the fifth. C_mc: {listed}.",
        partial(figures.reliability, before, after),
    )


def error_rates(y_true: np.ndarray, arrays: Arrays) -> figures.Rates:
    """Error rates in half decades of the probability that the posteriors state."""
    values = arrays["log_likelihoods"].astype(np.float64)
    best = values.argmax(axis=1)
    others = values.copy()
    others[np.arange(len(values)), best] = -np.inf
    # The sum over the other digits, since one minus a posterior near one would round to zero.
    log_error = logsumexp(others, axis=1) - logsumexp(values, axis=1)
    place = np.floor(2 * np.maximum(log_error / np.log(10), np.log10(figures.LEAST))).astype(int)
    _, bin_of = np.unique(place, return_inverse=True)
    count, errors = np.bincount(bin_of), np.bincount(bin_of, best != y_true).astype(int)
    stated = np.bincount(bin_of, np.exp(log_error)) / count
    ends = [
        binomtest(k, n).proportion_ci(CONFIDENCE, method="wilson")
        for k, n in zip(errors, count, strict=True)
    ]
    low, high = np.array(ends).T
    return figures.Rates(stated, errors / count, low, high)


# --- the base space -------------------------------------------------------------------


def _residual_accuracies(results: Results, y_true: np.ndarray) -> dict[str, Measurement]:
    return {
        name: over_samples(
            f"mnist40.{name.replace('-', '_')}.residual_accuracy", mean, y_true,
            (decided == y_true).astype(np.float64), times=100.0,
        )
        for name, decided in results["residuals"].items()
    }  # fmt: skip


def _spaces(
    results: Results, y_true: np.ndarray, accuracies: Mapping[str, Measurement]
) -> list[Block]:
    chance = 100 * np.bincount(y_true).max() / len(y_true)
    listed = "; ".join(f"{TITLES[k]}: {with_interval(v, 1)} %" for k, v in accuracies.items())
    above = [TITLES[name] for name, number in accuracies.items() if number.low > chance]
    shown = {name: TITLES[name] for name in TITLES if f"{name}.ilr" in results["map"]}
    maps = Figure(
        "mnist40-maps",
        "Two-dimensional UMAP of the test images in the base space of two CDAs, one color for each "
        "digit: the ILRLs (left), where each digit is a cluster, and the residuals (right), where "
        "clusters would show that the residual still depends on the class. Axes have no unit.",
        partial(figures.maps, y_true, results["map"], shown), "Figure 14", "png",
    )  # fmt: skip
    text = Paragraph(
        "The residual should say nothing about the digit. Accuracy of gradient boosting that "
        "predicts the digit from the residual, cross-validated in three folds of the test images: "
        f"{listed}. Always naming the most common digit is right for {chance:.1f} %. The residual "
        f"still carries information about the digit for: "
        f"{'; '.join(above) if above else 'none'}. A map without clusters does not reveal this."
    )
    return [maps, text]


# --- pairs of digits ------------------------------------------------------------------


def _divergences(results: Results) -> list[Measurement]:
    d = results["cda-paper"]["divergences"]
    return [
        Measurement(f"mnist40.cda.divergence.{i}{j}", *(float(d[i, j]),) * 3, "learned", True)
        for i, j in PAIRS
    ]


def _pairs(results: Results, y_true: np.ndarray) -> list[Block]:
    from scipy.stats import spearmanr

    theirs = _printed_divergences()
    upper = tuple(np.array(PAIRS).T)
    ours = {title: results[name]["divergences"] for name, title in DIVERGENCES.items()}
    agreement = {t: float(spearmanr(d[upper], theirs[upper]).statistic) for t, d in ours.items()}
    listed = ", ".join(f"{rank:.2f} ({title})" for title, rank in agreement.items())
    first = ours[DIVERGENCES["cda-paper"]]
    return [
        Table(
            "Learned divergences between the digits' distributions in the base space, in nats: our "
            "CDA as described and, in parentheses, the paper's.",
            ("digit", *map(str, DIGITS[:-1])),
            [
                [str(j), *(f"{first[i, j]:.1f} ({theirs[i, j]:.1f})" for i in range(j)),
                 *[""] * (len(DIGITS) - 1 - j)]
                for j in DIGITS[1:]
            ],
        ),
        Figure(
            "mnist40-divergences",
            "Divergence of each pair of digits, in nats. Left: the paper's below the diagonal and, "
            "above it, those of our CDA as described. Right: ours over the paper's, on logarithmic "
            "axes. "
            f"Rank correlation of the 45 pairs with the paper's: {listed}.",
            partial(figures.divergences, theirs, ours),
        ),
        _hardest(results, y_true),
    ]  # fmt: skip


def _printed_divergences() -> np.ndarray:
    d = np.zeros((len(DIGITS), len(DIGITS)))
    for i, j in PAIRS:
        d[i, j] = d[j, i] = printed_numbers()[f"mnist40.cda.divergence.{i}{j}"].value
    return d


def _hardest(results: Results, y_true: np.ndarray) -> Figure:
    from deciban.metrics import pairwise_cllr

    actual, least = pairwise_cllr(y_true, evidence_of(results["cda"]))
    i, j = max(PAIRS, key=lambda pair: float(actual[pair]))
    return Figure(
        "mnist40-pairs",
        "Cost of the default CDA's LLRs of each pair of digits, in thousandths of a bit: Cllr "
        "above the diagonal and, below it, Cllr_min, the cost after the best calibration. The "
        f"hardest pair is {i} and {j} with {1000 * actual[i, j]:.0f}; evidence that says nothing "
        "costs 1,000.",
        partial(figures.pairs, 1000 * actual, 1000 * least),
    )
