"""Three Gaussians in four dimensions: two of evidence, two of residual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from deciban import metrics
from deciban.datasets import three_gaussians
from deciban.evidence import Evidence
from reproduction import plane_figures
from reproduction.experiment import (
    Arrays,
    Block,
    Experiment,
    Figure,
    Findings,
    Measurement,
    Paragraph,
    Step,
    Table,
)
from reproduction.intervals import over_runs
from reproduction.toy_protocol import (
    METHODS,
    NAMES,
    Labeled,
    Scale,
    describe_runs,
    draw_steps,
    mean_and_range,
    scale,
    stack,
)

CLASSES = (1, 2, 3)
PAIRS = tuple(combinations(CLASSES, 2))
_SPACES = ("flat", "lda")  # that are drawn; "flat" has the features' four dimensions
_TESTED = 2000  # samples of the test of idempotence


class ThreeGaussians(Experiment):
    """The paper's example whose evidence has two dimensions and can be drawn in full."""

    name = "three-gaussians"
    title = "Three Gaussians in four dimensions"
    paper = "Figures 12, 16 and 17, Table 4"

    def steps(self, quick: bool) -> Sequence[Step]:
        """One for each draw of training samples."""
        return draw_steps(self.name, three_gaussians(), _costs, _details, quick)

    def findings(self, results: Mapping[str, Arrays], quick: bool) -> Findings:
        """Table 4 under both protocols, the divergences, and the base spaces of the first draw."""
        first, runs, many = results["draw-0"], stack(results, "runs"), stack(results, "many")
        learned = {
            name: stack(results, name)
            for name in first
            if name.startswith(("divergences_", "covariance_"))
        }
        blocks: list[Block] = [
            _table(runs, many, scale(quick)),
            _worst_pairs(many),
            _divergences(learned),
            _idempotence(first),
            *_figures(first),
        ]
        return Findings(blocks, _measure(runs, many, learned))


# --- computing --------------------------------------------------------------------------


def _costs(y_true: np.ndarray, evidence: Evidence) -> list[list[float]]:
    """Cllr and Cllr_min of each pair of classes, in bits."""
    pairs = metrics.pairwise_cllr(y_true, evidence)
    return [[part[a - 1, b - 1] for part in pairs] for a, b in PAIRS]


def _details(models: Any, evidence: Any, train: Labeled, test: Labeled) -> Arrays:
    """Base spaces, evidence and its idempotence, for the figures."""
    X_test, y_test = test
    arrays = {"train": train[0], "train_class": train[1], "test_class": y_test}
    spaces = {"flat": models["flat"].transform(X_test)}
    spaces["lda"], arrays["centers_lda"] = _eigen_components(*train, X_test)
    for name, z in spaces.items():
        arrays[f"base_{name}"] = z
        arrays[f"found_{name}"] = _classify_residuals(z[:, 2:], y_test)
    for name in ("lda", "qda", "cda"):
        found = evidence[name](X_test)
        arrays[f"evidence_{name}"] = found.log_likelihoods
        if name != "qda":  # its evidence is not Gaussian, so the test would show only that
            test_of = metrics.idempotence(y_test[:_TESTED], found[:_TESTED], density="gaussian")
            d = test_of.distance
            arrays[f"idempotence_{name}"] = np.array([d.value, d.low, d.high, test_of.p_value])
    return arrays


def _eigen_components(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> tuple[Any, Any]:
    """Components along the eigenvectors of W⁻¹B, most discriminant first, and the class centers.

    W and B are the covariances within and between the classes; the components have unit variance
    within them. The last two eigenvalues are zero.
    """
    from scipy.linalg import eigh

    means = np.stack([X[y == k].mean(axis=0) for k in CLASSES])
    residual = X - means[np.searchsorted(CLASSES, y)]
    vectors = eigh(np.cov(means.T, ddof=0), residual.T @ residual / (len(X) - len(CLASSES)))[1]
    vectors = vectors[:, ::-1] * np.sign(vectors[0, ::-1])
    center = means.mean(axis=0)
    return (new - center) @ vectors, (means - center) @ vectors


def _classify_residuals(residual: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Accuracy of gradient boosting on residuals, and the share of the most common class."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import cross_val_score

    classifier = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    accuracy = cross_val_score(classifier, residual, y, cv=3).mean()
    return np.array([accuracy, np.unique(y, return_counts=True)[1].max() / len(y)])


# --- numbers and text -------------------------------------------------------------------


def _measure(
    runs: np.ndarray, many: np.ndarray, learned: Mapping[str, np.ndarray]
) -> list[Measurement]:
    """`runs` has the axes draw, method, test set, pair, cost; `many` lacks the third."""
    out = []
    what, draws = describe_runs(runs), f"training draws, {len(many)}"
    for m, method in enumerate(METHODS):
        described = method == "described"
        key = "cda" if described else method
        for p, (a, b) in enumerate(PAIRS):
            for c, kind in enumerate(("cllr", "cllr_min")):
                end, values = f"{a}{b}.{key}.{kind}", runs[:, m, :, p, c]
                out.append(over_runs(f"appendix.three.{end}", values, what, described=described))
                out.append(over_runs(f"many.three.{a}{b}.{method}.{kind}", many[:, m, p, c], draws))
    for name in ("described", "cda"):
        described = name == "described"
        for a, b in PAIRS:
            d = learned[f"divergences_{name}"][:, a - 1, b - 1]
            key = f"text.three.cda.divergence.{a}{b}"
            out.append(over_runs(key, d, draws, described=described))
        for i, j in ((1, 1), (1, 2), (2, 2)):
            v = learned[f"covariance_{name}"][:, i - 1, j - 1]
            key = f"source.three.cda.covariance.{i}{j}"
            out.append(over_runs(key, v, draws, described=described))
    return out


def _table(runs: np.ndarray, many: np.ndarray, sizes: Scale) -> Table:
    n, small, large = (f"{k:,}" for k in sizes[:3])
    rows = [
        [
            f"{a} and {b}",
            NAMES[method],
            *(mean_and_range(runs[:, m, :, p, c], ".1e") for c in (0, 1)),
            *(f"{many[:, m, p, c].mean():.1e}" for c in (0, 1)),
        ]
        for p, (a, b) in enumerate(PAIRS)
        for m, method in enumerate(METHODS)
    ]
    return Table(
        f"Costs of each pair of classes in bits. Models learned from {len(many)} draws of {n} "
        f"samples are tested on sets of {small} samples (mean, and range of 95 % of single runs, "
        f"widened to hold the mean where errors are rare) and on all {large} test samples together "
        f"(mean over draws). The paper does not say how many samples it drew; these are as many as "
        f"in its examples with two classes.",
        ["classes", "method", f"Cllr, {small}", f"Cllr_min, {small}", f"Cllr, {large}",
         f"Cllr_min, {large}"],
        rows,
    )  # fmt: skip


def _worst_pairs(many: np.ndarray) -> Paragraph:
    worst = many[..., 0].max(axis=2).mean(axis=0)
    costs = ", ".join(f"{NAMES[m]} {w:.2g}" for m, w in zip(METHODS, worst, strict=True))
    return Paragraph(
        f"Cllr of the worst pair on all test samples, mean over the draws, in bits: {costs}. The "
        f"assumptions of QDA hold for these data."
    )


def _divergences(learned: Mapping[str, np.ndarray]) -> Paragraph:
    def listed(name: str) -> str:
        d = learned[f"divergences_{name}"]
        parts = ((a, b, d[:, a - 1, b - 1]) for a, b in PAIRS)
        return ", ".join(f"d{a}{b} = {v.mean():.1f} ± {v.std(ddof=1):.1f}" for a, b, v in parts)

    return Paragraph(
        f"Learned divergences in nats, mean ± standard deviation over the draws: the CDA as "
        f"described has {listed('described')}; ours has {listed('cda')}. The paper's are 35.5, "
        f"14.7 and 16.2. They are parameters of the model, and neither larger nor smaller is "
        f"better: which Gaussians the classes are mapped to depends on what the flow can map."
    )


def _idempotence(first: Arrays) -> Table:
    rows = []
    for method in ("lda", "cda"):
        value, low, high, p = first[f"idempotence_{method}"]
        rows.append([NAMES[method], f"{value:.2f}", f"{low:.2f} to {high:.2f}", f"{p:.3f}"])
    return Table(
        "Idempotence: is the likelihood function of the likelihood function the likelihood "
        "function itself? The distance is the root mean square difference in nats with a Gaussian "
        "density for each class, corrected for the error of estimating the densities (so it can be "
        "zero); the evidence of QDA is not Gaussian, so this distance does not suit it. p is that "
        "of the test of calibration, which needs no densities.",
        ["method", "distance (nat)", "95 % interval", "p if calibrated"],
        rows,
    )


def _figures(first: Arrays) -> list[Figure]:
    flat, lda = (first[f"found_{name}"] for name in _SPACES)
    residuals = (
        f"From the residuals gradient boosting finds the class of {flat[0]:.0%} of the samples for "
        f"the CDA and {lda[0]:.0%} for LDA; the most common class has {flat[1]:.0%}."
    )
    return [
        Figure("three-training", "The training samples of the three classes, for each pair of the "
               "four features, which are without unit.",
               partial(_draw_training, first), "Figure 16", "png"),
        Figure("three-base", "Top: test samples in the base space of a CDA without added "
               "dimensions, two dimensions of evidence (left) and two of residual (right). Bottom: "
               "the components of LDA, along the eigenvectors of the covariance between the "
               "classes relative to that within them, with non-zero eigenvalues (left) and zero "
               f"ones (right). Dashed lines: decision boundaries. {residuals}",
               partial(_draw_base_spaces, first), "Figure 12", "png"),
        Figure("three-histograms", "LLRs in nats of each pair of classes by LDA, QDA and CDA; "
               "lines are the calibrated Gaussians with the same divergence. Evidence can be "
               "calibrated without being Gaussian, as QDA's is here.",
               partial(_draw_histograms, first), "Figure 17", "png"),
        Figure("three-idempotence", "LLR of class 1 against class 3 computed from the evidence, "
               "over the LLR that the evidence states, both in nats, with a Gaussian density for "
               "each class. Calibrated evidence lies on the line.",
               partial(_draw_idempotence, first), "", "png"),
    ]  # fmt: skip


# --- drawing ----------------------------------------------------------------------------


def _draw_training(first: Arrays) -> Any:
    fig, axes = plane_figures.figure(2, 3)
    for ax, (i, j) in zip(axes.flat, combinations(range(4), 2), strict=True):
        plane_figures.scatter(ax, first["train"][:, [i, j]], first["train_class"] - 1, alpha=0.6)
        ax.set(xlabel=f"feature {i + 1}", ylabel=f"feature {j + 1}")
    plane_figures.legend(axes[0, 0], {k - 1: f"class {k}" for k in CLASSES}, loc="lower right")
    return fig


def _draw_base_spaces(first: Arrays) -> Any:
    fig, axes = plane_figures.figure(2, 2, width=4.1, height=3.7)
    k = first["test_class"] - 1
    for row, name in zip(axes, _SPACES, strict=True):
        z = first[f"base_{name}"]
        plane_figures.scatter(row[0], z[:, :2], k)
        plane_figures.scatter(row[1], z[:, 2:4], k)
        row[1].set(title=f"{NAMES[name]}: residual", xlabel="residual 1", ylabel="residual 2")
    _draw_boundaries(axes[0, 0], float(np.abs(first["base_flat"][:, :2]).max()) * 1.1)
    axes[0, 0].set(title=f"{NAMES['flat']}: evidence", xlabel="ILRL 1: class 1 against 2 (nat)",
                   ylabel="ILRL 2: 1 and 2 against 3 (nat)")  # fmt: skip
    _draw_nearest(axes[1, 0], first["centers_lda"][:, :2])
    axes[1, 0].set(title="LDA: discriminant components", xlabel="component 1",
                   ylabel="component 2")  # fmt: skip
    axes[1, 1].set(xlabel="component 3", ylabel="component 4")
    plane_figures.legend(axes[0, 0], {c - 1: f"class {c}" for c in CLASSES}, loc="best")
    return fig


def _draw_boundaries(ax: Any, reach: float) -> None:
    """Rays from the origin between the regions where each class is the most likely."""
    for angle in np.deg2rad([90, -30, 210]):
        ax.plot([0, 3 * reach * np.cos(angle)], [0, 3 * reach * np.sin(angle)], "--", color="0.3",
                linewidth=1)  # fmt: skip
    ax.set(xlim=(-reach, reach), ylim=(-0.75 * reach, 0.75 * reach))


def _draw_nearest(ax: Any, centers: np.ndarray) -> None:
    """Boundaries between the regions where each center is the nearest: LDA's decisions."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    x, y = np.linspace(left, right, 400), np.linspace(low, high, 400)
    points = np.stack(np.meshgrid(x, y), axis=-1)
    distance = ((points[..., None, :] - centers) ** 2).sum(axis=-1)
    for a, b in combinations(range(len(centers)), 2):
        of_pair = distance[..., [a, b]].min(axis=-1) == distance.min(axis=-1)
        difference = np.where(of_pair, distance[..., a] - distance[..., b], np.nan)
        ax.contour(x, y, difference, [0.0], colors="0.3", linewidths=1, linestyles="--")


def _draw_histograms(first: Arrays) -> Any:
    from deciban.plots import LLRHistogramDisplay

    fig, axes = plane_figures.figure(3, 3, width=3.4, height=2.7)
    for row, method in zip(axes, ("lda", "qda", "cda"), strict=True):
        evidence = Evidence(first[f"evidence_{method}"], CLASSES)
        for ax, (a, b) in zip(row, PAIRS, strict=True):
            LLRHistogramDisplay.from_predictions(
                first["test_class"], evidence, pos_label=a, other_label=b, ax=ax, unit="nat"
            )
            ax.set_title(f"{NAMES[method]}: {a} against {b}", fontsize=10)
    return fig


def _draw_idempotence(first: Arrays) -> Any:
    from deciban.plots import IdempotenceDisplay

    fig, axes = plane_figures.figure(1, 2, width=4.0, height=3.4)
    for ax, method in zip(axes[0], ("lda", "cda"), strict=True):
        evidence = Evidence(first[f"evidence_{method}"], CLASSES)
        IdempotenceDisplay.from_predictions(
            first["test_class"], evidence, a=1, b=3, density="gaussian", ax=ax, unit="nat", s=6
        )
        ax.set_title(NAMES[method], fontsize=10)
    return fig
