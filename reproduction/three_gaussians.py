"""Three Gaussians in four dimensions: two of evidence, two of residual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from deciban import metrics
from deciban.datasets import three_gaussians
from deciban.evidence import Evidence
from reproduction import planes, protocol
from reproduction.experiment import (
    Arrays,
    Experiment,
    Figure,
    Findings,
    Measured,
    Paragraph,
    Step,
    Table,
)
from reproduction.intervals import over_runs
from reproduction.protocol import METHODS, NAMES

CLASSES = (1, 2, 3)
PAIRS = tuple(combinations(CLASSES, 2))
_SPACES = ("flat", "lda")  # whose base spaces are drawn; "flat" has the features' four dimensions
_TESTED = 2000  # samples of the test of idempotence


class ThreeGaussians(Experiment):
    """The paper's example whose evidence has two dimensions and can be seen whole."""

    name = "three-gaussians"
    title = "Three Gaussians in four dimensions"
    paper = "Figures 12, 16 and 17, Table 4"

    def steps(self, quick: bool) -> Sequence[Step]:
        """One for each draw of training samples."""
        sizes, epochs = protocol.sizes(quick), 20 if quick else "auto"
        fits = protocol.settings(sizes["train"], 4, epochs)
        return [
            Step(
                f"draw-{k}",
                {"edition": 2, "seed": k, "fits": fits, **sizes},
                partial(_draw, k, sizes, epochs),
                seconds=10 if quick else 40,
            )
            for k in range(2 if quick else 10)
        ]

    def findings(self, results: Mapping[str, Arrays], quick: bool) -> Findings:
        """Table 4 under both protocols, the divergences, and the base spaces of the first draw."""
        first = results["draw-0"]
        runs, many = (np.stack([results[k][name] for k in results]) for name in ("runs", "many"))
        learnt = {
            f"{what}_{name}": np.stack([results[k][f"{what}_{name}"] for k in results])
            for what in ("divergences", "covariance")
            for name in ("described", "cda")
        }
        found = Findings(measured=_measured(runs, many, learnt))
        found.blocks += [_table(runs, many, protocol.sizes(quick)), _words(many)]
        found.blocks += [_divergences(learnt), _idempotence(first), *_figures(first)]
        return found


# --- computing --------------------------------------------------------------------------


def _draw(
    seed: int, sizes: Mapping[str, int], epochs: Any, path: Path, earlier: Mapping[str, Arrays]
) -> Arrays:
    """Costs of every method for each pair, what the CDAs learnt, and what the figures show."""
    population = three_gaussians()
    X, y = population.sample(sizes["train"] + sizes["test"], random_state=seed)
    (X, new), (y, truth) = ((v[: sizes["train"]], v[sizes["train"] :]) for v in (X, y))
    models = protocol.fitted(X, y, seed, epochs, path)
    judges = {name: model.evidence for name, model in models.items()}
    judges["truth"] = population.evidence
    arrays = protocol.judged(population, judges, _costs, sizes)
    for name in ("described", "cda"):
        arrays[f"divergences_{name}"] = models[name].divergences_
        arrays[f"covariance_{name}"] = models[name].covariance_
    return arrays if seed else arrays | _looked_at(models, judges, (X, y), (new, truth))


def _costs(truth: np.ndarray, evidence: Evidence) -> list[list[float]]:
    pairs = metrics.pairwise_cllr(truth, evidence)
    return [[part[a - 1, b - 1] for part in pairs] for a, b in PAIRS]


def _looked_at(models: Any, judges: Any, train: Any, test: Any) -> dict[str, np.ndarray]:
    new, truth = test
    arrays = {"train": train[0], "train_class": train[1], "test_class": truth}
    for name in _SPACES:
        z = models[name].transform(new)
        arrays[f"base_{name}"] = z
        arrays[f"found_{name}"] = _found(z[:, 2:], truth)
    rows = np.arange(min(len(new), _TESTED))
    for name in ("lda", "qda", "cda"):
        evidence = judges[name](new)
        arrays[f"evidence_{name}"] = evidence.log_likelihoods
        if name != "qda":  # its evidence is not Gaussian, which this would only tell
            told = metrics.idempotence(truth[rows], evidence[rows], density="gaussian")
            d = told.distance
            arrays[f"idempotence_{name}"] = np.array([d.value, d.low, d.high, told.p_value])
    return arrays


def _found(residual: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Share of the classes that gradient boosting finds in residuals, and the commonest class."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import cross_val_score

    guess = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    share = cross_val_score(guess, residual, truth, cv=3).mean()
    return np.array([share, np.unique(truth, return_counts=True)[1].max() / len(truth)])


# --- telling ----------------------------------------------------------------------------


def _measured(
    runs: np.ndarray, many: np.ndarray, learnt: Mapping[str, np.ndarray]
) -> list[Measured]:
    """`runs` has the axes draw, method, test set, pair, cost; `many` lacks the third."""
    out = []
    what, draws = protocol.of_runs(runs), f"training draws, {len(many)}"
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
            d = learnt[f"divergences_{name}"][:, a - 1, b - 1]
            key = f"text.three.cda.divergence.{a}{b}"
            out.append(over_runs(key, d, draws, described=described))
        for i, j in ((1, 1), (1, 2), (2, 2)):
            v = learnt[f"covariance_{name}"][:, i - 1, j - 1]
            key = f"source.three.cda.covariance.{i}{j}"
            out.append(over_runs(key, v, draws, described=described))
    return out


def _table(runs: np.ndarray, many: np.ndarray, sizes: Mapping[str, int]) -> Table:
    n, small, large = (f"{k:,}" for k in sizes.values())
    rows = []
    for p, (a, b) in enumerate(PAIRS):
        for m, method in enumerate(METHODS):
            cells = []
            for c in (0, 1):
                v = runs[:, m, :, p, c]
                low, high = np.quantile(v, [0.025, 0.975])
                cells.append(f"{v.mean():.1e} ({low:.1e} to {high:.1e})")
            cells += [f"{many[:, m, p, c].mean():.1e}" for c in (0, 1)]
            rows.append([f"{a} and {b}", NAMES[method], *cells])
    return Table(
        f"Costs of each two classes in bits. Learnt from {len(many)} draws of {n} samples, judged "
        f"on test sets of {small} (mean, and where 95 % of single runs fall) and on all {large} "
        f"test samples together (mean over draws). The paper does not say how many samples it "
        f"drew; these are as many as in its examples of two classes.",
        ["classes", "method", f"Cllr, {small}", f"Cllr_min, {small}", f"Cllr, {large}",
         f"Cllr_min, {large}"],
        rows,
    )  # fmt: skip


def _words(many: np.ndarray) -> Paragraph:
    worst = many[..., 0].max(axis=2).mean(axis=0)
    said = ", ".join(f"{NAMES[m]} {w:.2g}" for m, w in zip(METHODS, worst, strict=True))
    return Paragraph(
        f"Cllr of the worst pair on all test samples, mean over the draws, in bits: {said}. QDA "
        f"assumes what is true here."
    )


def _divergences(learnt: Mapping[str, np.ndarray]) -> Paragraph:
    def said(name: str) -> str:
        d = learnt[f"divergences_{name}"]
        parts = ((a, b, d[:, a - 1, b - 1]) for a, b in PAIRS)
        return ", ".join(f"d{a}{b} = {v.mean():.1f} ± {v.std(ddof=1):.1f}" for a, b, v in parts)

    return Paragraph(
        f"Divergences in nats, mean ± standard deviation over the draws, of the CDA as described: "
        f"{said('described')}; of ours: {said('cda')}. The paper's are 35.5, 14.7 and 16.2. They "
        f"are parameters, not aims: which Gaussians the classes are mapped to depends on how well "
        f"the flow can map them."
    )


def _idempotence(first: Arrays) -> Table:
    rows = []
    for method in ("lda", "cda"):
        value, low, high, p = first[f"idempotence_{method}"]
        rows.append([NAMES[method], f"{value:.2f}", f"{low:.2f} to {high:.2f}", f"{p:.3f}"])
    return Table(
        "Is the likelihood function of the likelihood function the likelihood function? Root mean "
        "square distance in nats with a Gaussian density for each class, less what estimating the "
        "densities adds to it (so that it may be zero), and how often samples of a calibrated "
        "Gaussian family would look as odd. The evidence of QDA is not Gaussian, so that this "
        "measure does not suit it.",
        ["method", "distance (nat)", "95 % interval", "p, as calibrated Gaussians"],
        rows,
    )


def _figures(first: Arrays) -> list[Figure]:
    found = {name: first[f"found_{name}"] for name in _SPACES}
    told = (
        f"In the residual, gradient boosting finds {found['flat'][0]:.0%} of the classes for the "
        f"CDA and {found['lda'][0]:.0%} for LDA; {found['flat'][1]:.0%} are of the commonest."
    )
    return [
        Figure("three-training", "The training samples of the three classes, each two of the four "
               "features, which have no unit.", partial(_training, first), "Figure 16", "png"),
        Figure("three-base", "Test samples in the base spaces of a CDA without added dimensions "
               "(above) and of LDA (below): two dimensions of evidence with the boundaries of the "
               f"decisions (left), and two of residual (right). {told}",
               partial(_base, first), "Figure 12", "png"),
        Figure("three-histograms", "LLRs in nats of each two classes by LDA, QDA and CDA; lines "
               "are the calibrated Gaussians of the same divergence. Evidence may be calibrated "
               "without being Gaussian, as QDA's is here.",
               partial(_histograms, first), "Figure 17", "png"),
        Figure("three-idempotence", "The evidence of the evidence of class 1 against class 3 over "
               "the evidence itself, both in nats, with a Gaussian density for each class. On the "
               "line they are the same: calibrated.",
               partial(_again, first), "", "png"),
    ]  # fmt: skip


# --- drawing ----------------------------------------------------------------------------


def _training(first: Arrays) -> Any:
    fig, axes = planes.figure(2, 3)
    for ax, (i, j) in zip(axes.flat, combinations(range(4), 2), strict=True):
        planes.scatter(ax, first["train"][:, [i, j]], first["train_class"] - 1, alpha=0.6)
        ax.set(xlabel=f"feature {i + 1}", ylabel=f"feature {j + 1}")
    planes.legend(axes[0, 0], {k - 1: f"class {k}" for k in CLASSES}, loc="lower right")
    return fig


def _base(first: Arrays) -> Any:
    fig, axes = planes.figure(2, 2, width=4.1, height=3.7)
    k = first["test_class"] - 1
    for row, name in zip(axes, _SPACES, strict=True):
        z = first[f"base_{name}"]
        planes.scatter(row[0], z[:, :2], k)
        _boundaries(row[0], float(np.abs(z[:, :2]).max()) * 1.1)
        row[0].set(title=f"{NAMES[name]}: evidence", xlabel="ILRL 1: class 1 against 2 (nat)",
                   ylabel="ILRL 2: 1 and 2 against 3 (nat)")  # fmt: skip
        planes.scatter(row[1], z[:, 2:4], k)
        row[1].set(title=f"{NAMES[name]}: residual", xlabel="residual 1", ylabel="residual 2")
    planes.legend(axes[0, 0], {c - 1: f"class {c}" for c in CLASSES}, loc="best")
    return fig


def _boundaries(ax: Any, reach: float) -> None:
    """Rays from the origin between the regions where each class is the likeliest."""
    for angle in np.deg2rad([90, -30, 210]):
        ax.plot([0, 3 * reach * np.cos(angle)], [0, 3 * reach * np.sin(angle)], "--", color="0.3",
                linewidth=1)  # fmt: skip
    ax.set(xlim=(-reach, reach), ylim=(-0.75 * reach, 0.75 * reach))


def _histograms(first: Arrays) -> Any:
    from deciban.plots import LLRHistogramDisplay

    fig, axes = planes.figure(3, 3, width=3.4, height=2.7)
    for row, method in zip(axes, ("lda", "qda", "cda"), strict=True):
        evidence = Evidence(first[f"evidence_{method}"], CLASSES)
        for ax, (a, b) in zip(row, PAIRS, strict=True):
            LLRHistogramDisplay.from_predictions(
                first["test_class"], evidence, pos_label=a, other_label=b, ax=ax, unit="nat"
            )
            ax.set_title(f"{NAMES[method]}: {a} against {b}", fontsize=10)
    return fig


def _again(first: Arrays) -> Any:
    from deciban.plots import IdempotenceDisplay

    fig, axes = planes.figure(1, 2, width=4.0, height=3.4)
    for ax, method in zip(axes[0], ("lda", "cda"), strict=True):
        evidence = Evidence(first[f"evidence_{method}"], CLASSES)
        IdempotenceDisplay.from_predictions(
            first["test_class"], evidence, a=1, b=3, density="gaussian", ax=ax, unit="nat", s=6
        )
        ax.set_title(NAMES[method], fontsize=10)
    return fig
