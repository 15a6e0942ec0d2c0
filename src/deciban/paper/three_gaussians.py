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
from deciban.discriminant import LinearDiscriminant, QuadraticDiscriminant
from deciban.evidence import Evidence
from deciban.paper import planes
from deciban.paper.experiment import (
    Arrays,
    Experiment,
    Figure,
    Findings,
    Measured,
    Paragraph,
    Step,
    Table,
)
from deciban.paper.intervals import over_draws

METHODS = ("lda", "qda", "cda", "truth")
NAMES = {"lda": "LDA", "qda": "QDA", "cda": "CDA", "truth": "the true densities"}
CLASSES = (1, 2, 3)
PAIRS = tuple(combinations(CLASSES, 2))
_BIG_TEST_SEED = 10_000
_NEARLY_GAUSSIAN = ("lda", "cda")  # whose idempotence Gaussian densities can tell
_TESTED = 2000  # samples of the test of idempotence


class ThreeGaussians(Experiment):
    """The paper's example whose evidence has two dimensions and can be seen whole."""

    name = "three-gaussians"
    title = "Three Gaussians in four dimensions"
    paper = "Figures 12, 16 and 17, Table 4"

    def steps(self, quick: bool) -> Sequence[Step]:
        """One for each draw of training and test samples."""
        sizes = {"train": 3000, "test": 900, "many": 9000} if quick else {
            "train": 10_000, "test": 2000, "many": 100_000}  # fmt: skip
        epochs = 20 if quick else "auto"
        return [
            Step(
                f"draw-{k}",
                {"edition": 1, "seed": k, "epochs": epochs, **sizes},
                partial(_draw, k, sizes, epochs),
                seconds=6 if quick else 40,
            )
            for k in range(2 if quick else 10)
        ]

    def findings(self, results: Mapping[str, Arrays], quick: bool) -> Findings:
        """Table 4 under both protocols, the divergences, and the base spaces of the first draw."""
        first = results["draw-0"]
        costs = np.stack([results[name]["costs"] for name in results])
        learnt = {
            name: np.stack([results[step][name] for step in results])
            for name in ("divergences", "covariance")
        }
        found = Findings(measured=_measured(costs, learnt))
        found.blocks += [_table(costs, first["sizes"]), _words(costs), _divergences(learnt)]
        found.blocks += [_idempotence(first), *_figures(first)]
        return found


# --- computing --------------------------------------------------------------------------


def _draw(
    seed: int, sizes: Mapping[str, int], epochs: Any, path: Path, earlier: Mapping[str, Arrays]
) -> Arrays:
    """Costs of every method, what the CDA learnt, and of the first draw what the figures show.

    ``costs`` has the axes method, test set (small, large), pair, and Cllr or Cllr_min, in bits.
    """
    from deciban.discriminant.cda import CompositionalDiscriminantAnalysis

    population = three_gaussians()
    X, y = population.sample(sizes["train"] + sizes["test"], random_state=seed)
    (X, new), (y, truth) = ((v[: sizes["train"]], v[sizes["train"] :]) for v in (X, y))
    many = population.sample(sizes["many"], random_state=_BIG_TEST_SEED)
    models = {
        "lda": LinearDiscriminant().fit(X, y),
        "qda": QuadraticDiscriminant().fit(X, y),
        "cda": CompositionalDiscriminantAnalysis(
            epochs=epochs, checkpoint=path, random_state=seed
        ).fit(X, y),
    }
    judges = {name: model.evidence for name, model in models.items()}
    judges["truth"] = population.evidence
    costs = [[_costs(t, judges[m](x)) for x, t in ((new, truth), many)] for m in METHODS]
    arrays = {
        "costs": np.array(costs),
        "sizes": np.array(list(sizes.values())),
        "divergences": models["cda"].divergences_,
        "covariance": models["cda"].covariance_,
    }
    return arrays if seed else arrays | _looked_at(models, judges, (X, y), (new, truth))


def _costs(truth: np.ndarray, evidence: Evidence) -> list[list[float]]:
    pairs = metrics.pairwise_cllr(truth, evidence)
    return [[part[a - 1, b - 1] for part in pairs] for a, b in PAIRS]


def _looked_at(models: Any, judges: Any, train: Any, test: Any) -> dict[str, np.ndarray]:
    new, truth = test
    arrays = {"train": train[0], "train_class": train[1], "test_class": truth}
    for name in ("cda", "lda"):
        arrays[f"base_{name}"] = models[name].transform(new)
    rows = np.arange(min(len(new), _TESTED))
    for name in ("lda", "qda", "cda"):
        evidence = judges[name](new)
        arrays[f"evidence_{name}"] = evidence.log_likelihoods
        if name not in _NEARLY_GAUSSIAN:
            continue
        found = metrics.idempotence(truth[rows], evidence[rows], density="gaussian")
        d = found.distance
        arrays[f"idempotence_{name}"] = np.array([d.value, d.low, d.high, found.p_value])
    return arrays


# --- telling ----------------------------------------------------------------------------


def _measured(costs: np.ndarray, learnt: Mapping[str, np.ndarray]) -> list[Measured]:
    out = []
    for m, method in enumerate(METHODS):
        for p, (a, b) in enumerate(PAIRS):
            for c, kind in enumerate(("cllr", "cllr_min")):
                end = f"{a}{b}.{method}.{kind}"
                out.append(over_draws(f"appendix.three.{end}", costs[:, m, 0, p, c]))
                out.append(over_draws(f"many.three.{end}", costs[:, m, 1, p, c]))
    for a, b in PAIRS:
        values = learnt["divergences"][:, a - 1, b - 1]
        out.append(over_draws(f"text.three.cda.divergence.{a}{b}", values))
    for i, j in ((1, 1), (1, 2), (2, 2)):
        values = learnt["covariance"][:, i - 1, j - 1]
        out.append(over_draws(f"source.three.cda.covariance.{i}{j}", values))
    return out


def _table(costs: np.ndarray, sizes: np.ndarray) -> Table:
    n, small, large = (f"{int(k):,}" for k in sizes)
    rows = []
    for p, (a, b) in enumerate(PAIRS):
        for m, method in enumerate(METHODS):
            cells = [
                f"{np.median(v):.2e} ({v.min():.1e} to {v.max():.1e})"
                for v in (costs[:, m, t, p, c] for t in (0, 1) for c in (0, 1))
            ]
            rows.append([f"{a} and {b}", NAMES[method], *cells])
    return Table(
        f"Costs of each two classes in bits, median (range) over {len(costs)} draws of {n} "
        f"training samples, on {small} test samples and on {large}.",
        ["classes", "method", f"Cllr, {small}", f"Cllr_min, {small}", f"Cllr, {large}",
         f"Cllr_min, {large}"],
        rows,
    )  # fmt: skip


def _words(costs: np.ndarray) -> Paragraph:
    worst = costs[:, :, 1, :, 0].max(axis=2).mean(axis=0)
    said = ", ".join(f"{NAMES[m]} {w:.2g}" for m, w in zip(METHODS, worst, strict=True))
    return Paragraph(
        f"Cllr of the worst pair on the large test set, mean over the draws, in bits: {said}. QDA "
        f"assumes what is true here, and comes as near to the true densities as its samples let "
        f"it. The paper does not say how many samples it drew; these are as many as in its "
        f"examples of two classes."
    )


def _divergences(learnt: Mapping[str, np.ndarray]) -> Paragraph:
    d = learnt["divergences"]
    said = ", ".join(
        f"d{a}{b} = {d[:, a - 1, b - 1].mean():.1f} ± {d[:, a - 1, b - 1].std(ddof=1):.1f}"
        for a, b in PAIRS
    )
    return Paragraph(
        f"Divergences that the CDA learnt, in nats, mean ± standard deviation over the draws: "
        f"{said}. The paper's are 35.5, 14.7 and 16.2. They are parameters, not aims: "
        f"which Gaussians the classes are mapped to depends on how well the flow can map them."
    )


def _idempotence(first: Arrays) -> Table:
    rows = []
    for method in _NEARLY_GAUSSIAN:
        value, low, high, p = first[f"idempotence_{method}"]
        rows.append([NAMES[method], f"{value:.2f}", f"{low:.2f} to {high:.2f}", f"{p:.3f}"])
    return Table(
        "Is the likelihood function of the likelihood function the likelihood function? Root mean "
        "square distance in nats, with a Gaussian density for each class, and how often samples of "
        "a calibrated Gaussian family would look as odd. The evidence of QDA is not Gaussian, so "
        "that this measure does not suit it.",
        ["method", "distance (nat)", "95 % interval", "p, as calibrated Gaussians"],
        rows,
    )


def _figures(first: Arrays) -> list[Figure]:
    return [
        Figure("three-training", "The training samples of the three classes, each two of the four "
               "features, which have no unit.", partial(_training, first), "Figure 16", "png"),
        Figure("three-base", "Test samples in the base spaces of CDA (above) and LDA (below): two "
               "dimensions of evidence with the boundaries of the decisions (left), and two of "
               "residual (right). The CDA's evidence is alike in shape for each class and its "
               "residual does not tell the classes apart; LDA's does, by its spread.",
               partial(_base, first), "Figure 12", "png"),
        Figure("three-histograms", "LLRs in nats of each two classes by LDA, QDA and CDA; lines "
               "are the calibrated Gaussians of the same divergence. LDA's do not fit them; QDA's "
               "need not, since they are calibrated without being Gaussian.",
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
    for row, name in zip(axes, ("cda", "lda"), strict=True):
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
    for ax, method in zip(axes[0], _NEARLY_GAUSSIAN, strict=True):
        evidence = Evidence(first[f"evidence_{method}"], CLASSES)
        IdempotenceDisplay.from_predictions(
            first["test_class"], evidence, a=1, b=3, density="gaussian", ax=ax, unit="nat", s=6
        )
        ax.set_title(NAMES[method], fontsize=10)
    return fig
