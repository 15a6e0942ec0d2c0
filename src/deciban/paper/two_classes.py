"""Gaussians, Moons and Circles: two classes in the plane, under two protocols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from deciban import metrics
from deciban.datasets import Population, circles, moons, two_gaussians
from deciban.discriminant import LinearDiscriminant, QuadraticDiscriminant
from deciban.evidence import Evidence
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

_POPULATIONS = {"gaussians": two_gaussians, "moons": moons, "circles": circles}
_TITLES = {
    "gaussians": ("Two Gaussians", "Figures 6 (a), 7 and 11 (a), Table 1"),
    "moons": ("Two moons", "Figures 6 (b), 8 and 11 (b), Table 1"),
    "circles": ("Two circles", "Figures 6 (c), 9, 10 and 11 (c), Table 1"),
}
METHODS = ("lda", "qda", "cda", "flat", "truth")
NAMES = {
    "lda": "LDA",
    "qda": "QDA",
    "cda": "CDA",
    "flat": "CDA, no added dimensions",
    "truth": "the true densities",
}
_BIG_TEST_SEED = 10_000
_MAP_POINTS = 150  # along an edge of a map
_GRID_LINES = 23
_LINE_POINTS = 250


class TwoClasses(Experiment):
    """One of the paper's sets of two classes in two dimensions.

    Parameters
    ----------
    name : {"gaussians", "moons", "circles"}
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.title, self.paper = _TITLES[name]

    def steps(self, quick: bool) -> Sequence[Step]:
        """One for each draw of training and test samples."""
        draws = 2 if quick else 10
        sizes = {"train": 2000, "test": 1000, "many": 10_000} if quick else {
            "train": 10_000, "test": 2000, "many": 100_000}  # fmt: skip
        epochs = 20 if quick else "auto"
        return [
            Step(
                f"draw-{k}",
                {"edition": 1, "set": self.name, "seed": k, "epochs": epochs, **sizes},
                partial(_draw, _POPULATIONS[self.name](), k, sizes, epochs),
                seconds=6 if quick else 30,
            )
            for k in range(draws)
        ]

    def findings(self, results: Mapping[str, Arrays], quick: bool) -> Findings:
        """Table 1 under both protocols, and what the first draw looks like."""
        first = results["draw-0"]
        costs = np.stack([results[name]["costs"] for name in results])
        found = Findings(measured=_measured(self.name, costs))
        title = self.name.capitalize()
        found.blocks += [*_tables(title, costs, first["sizes"]), _words(costs)]
        found.blocks += _figures(self.name, title, first, costs)
        return found


# --- computing --------------------------------------------------------------------------


def _draw(
    population: Population,
    seed: int,
    sizes: Mapping[str, int],
    epochs: Any,
    path: Path,
    earlier: Mapping[str, Arrays],
) -> Arrays:
    """Costs of every method on one draw: on the paper's test samples, and on many.

    ``costs`` has the axes method, test set (small, large), and Cllr_min or Cllr, in bits.
    """
    X, y = population.sample(sizes["train"] + sizes["test"], random_state=seed)
    train, test = (
        (X[: sizes["train"]], y[: sizes["train"]]),
        (X[sizes["train"] :], y[sizes["train"] :]),
    )
    many = population.sample(sizes["many"], random_state=_BIG_TEST_SEED)
    models = _fitted(*train, seed, epochs, path)
    judges = {name: model.evidence for name, model in models.items()} | {
        "truth": population.evidence
    }
    costs = np.array(
        [[_costs(truth, judges[name](new)) for new, truth in (test, many)] for name in METHODS]
    )
    arrays: dict[str, np.ndarray] = {
        "costs": costs,
        "sizes": np.array([sizes["train"], sizes["test"], sizes["many"]]),
    }
    return arrays if seed else arrays | _looked_at(models, judges, train, test)


def _fitted(X: np.ndarray, y: np.ndarray, seed: int, epochs: Any, path: Path) -> dict[str, Any]:
    from deciban.discriminant.cda import CompositionalDiscriminantAnalysis

    options = {"epochs": epochs, "random_state": seed}
    return {
        "lda": LinearDiscriminant().fit(X, y),
        "qda": QuadraticDiscriminant().fit(X, y),
        "cda": CompositionalDiscriminantAnalysis(**options).fit(X, y),
        "flat": CompositionalDiscriminantAnalysis(augment=0, **options).fit(X, y),
    }


def _costs(truth: np.ndarray, evidence: Evidence) -> list[float]:
    return [metrics.cllr_min(truth, evidence), metrics.cllr(truth, evidence)]


def _looked_at(models: Any, judges: Any, train: Any, test: Any) -> dict[str, np.ndarray]:
    """What the figures show of one draw."""
    (X, y), (new, truth) = train, test
    low, high = X.min(axis=0), X.max(axis=0)
    edges = [np.linspace(a, b, _MAP_POINTS) for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*edges), axis=-1).reshape(-1, 2)
    arrays = {"train": X, "train_class": y, "test": new, "test_class": truth}
    arrays |= {"map_x": edges[0], "map_y": edges[1]}
    for name, judge in judges.items():
        arrays[f"map_{name}"] = _llr(judge(points)).reshape(_MAP_POINTS, _MAP_POINTS)
        arrays[f"test_{name}"] = _llr(judge(new))
    for name in ("cda", "flat", "truth"):
        arrays[f"train_{name}"] = _llr(judges[name](X))
    return arrays | _grid(models["flat"], new)


def _llr(evidence: Evidence) -> np.ndarray:
    return evidence.llr(1, 0)


def _grid(model: Any, new: np.ndarray) -> dict[str, np.ndarray]:
    """A regular grid over the base space, and where the model puts it among the features."""
    z = model.transform(new)
    low, high = z.min(axis=0), z.max(axis=0)
    along = [np.linspace(a, b, _LINE_POINTS) for a, b in zip(low, high, strict=True)]
    across = [np.linspace(a, b, _GRID_LINES) for a, b in zip(low, high, strict=True)]
    upright = [np.column_stack([np.full(_LINE_POINTS, at), along[1]]) for at in across[0]]
    level = [np.column_stack([along[0], np.full(_LINE_POINTS, at)]) for at in across[1]]
    base = np.stack(upright + level)
    back = model.inverse_transform(base.reshape(-1, 2)).reshape(base.shape)
    return {"base": z, "base_lines": base, "feature_lines": back}


# --- telling ----------------------------------------------------------------------------


def _measured(name: str, costs: np.ndarray) -> list[Measured]:
    """The paper's protocol beside its numbers; the large test set under keys of our own."""
    out = []
    for k, method in enumerate(METHODS):
        least, whole = costs[:, k, 0, 0], costs[:, k, 0, 1]
        out.append(over_draws(f"table1.{name}.{method}.cllr_min", least))
        out.append(over_draws(f"table1.{name}.{method}.cllr", whole))
        out.append(over_draws(f"text.{name}.{method}.cllr_cal", whole - least))
        out.append(over_draws(f"many.{name}.{method}.cllr", costs[:, k, 1, 1]))
        out.append(over_draws(f"many.{name}.{method}.over_floor", _over_floor(costs)[:, k]))
    cost = {method: costs[:, k, 0, 1] for k, method in enumerate(METHODS)}
    out.append(over_draws(f"text.{name}.cda.cllr", cost["cda"]))
    return out + [
        over_draws(f"derived.{name}.cda_over_{other}", cost["cda"] / cost[other])
        for other in ("lda", "qda")
    ]


def _over_floor(costs: np.ndarray) -> np.ndarray:
    """Cllr on the large test set over that of the true densities; draws by methods."""
    many = costs[:, :, 1, 1]
    return many / many[:, [METHODS.index("truth")]]


def _tables(title: str, costs: np.ndarray, sizes: np.ndarray) -> list[Table]:
    n, small, large = (f"{int(k):,}" for k in sizes)
    ratio = _over_floor(costs)
    rows = []
    for k, method in enumerate(METHODS):
        cells = [NAMES[method]]
        for j in (0, 1):
            v = costs[:, k, j]
            cells += [f"{v[:, c].mean():.4f} ± {v[:, c].std(ddof=1):.4f}" for c in (0, 1)]
        rows.append([*cells, f"{ratio[:, k].mean():.3f} ({ratio[:, k].min():.3f} to "
                             f"{ratio[:, k].max():.3f})"])  # fmt: skip
    return [
        Table(
            f"{title}: costs in bits, mean ± standard deviation over {len(costs)} draws of {n} "
            f"training samples; the paper's protocol ({small} test samples) and {large} others.",
            ["method", f"Cllr_min, {small}", f"Cllr, {small}", f"Cllr_min, {large}",
             f"Cllr, {large}", "over the floor, mean (range)"],
            rows,
        )
    ]  # fmt: skip


def _words(costs: np.ndarray) -> Paragraph:
    mean = dict(zip(METHODS, costs[:, :, 1, 1].mean(axis=0), strict=True))
    spread = costs[:, METHODS.index("truth"), 0, 1].std(ddof=1)
    best = min((name for name in METHODS if name != "truth"), key=lambda name: mean[name])
    ratio = _over_floor(costs).mean(axis=0)
    return Paragraph(
        f"The floor, the cost of the true densities, is {mean['truth']:.4f} bit: no method can "
        f"pass it. On the paper's few test samples it moves by ± {spread:.4f} bit from draw to "
        f"draw, so they cannot tell close methods apart; many can. There {NAMES[best]} is best, at "
        f"{ratio[METHODS.index(best)]:.3f} times the floor."
    )


def _figures(name: str, title: str, first: Arrays, costs: np.ndarray) -> list[Figure]:
    from deciban.paper import planes

    k = {"gaussians": ("6 (a)", "7", "11 (a)"), "moons": ("6 (b)", "8", "11 (b)"),
         "circles": ("6 (c)", "9", "11 (c)")}[name]  # fmt: skip
    bits = {m: costs[0, METHODS.index(m), 0, 1] for m in METHODS}
    said = ", ".join(f"{NAMES[m]} {bits[m]:.3f}" for m in ("truth", "lda", "qda", "cda"))
    figures = [
        Figure(f"{name}-training", f"The training samples of {title}, first draw. Two features "
               f"without unit.", partial(planes.training, first), f"Figure {k[0]}", "png"),
        Figure(f"{name}-maps", f"Test samples of the first draw on maps of the LLR. Markers and "
               f"their colour tell the true class in the first panel and the decision by maximum "
               f"likelihood in the others; black is the boundary. Cllr in bits: {said}.",
               partial(planes.maps, first, bits), f"Figure {k[1]}", "png"),
        Figure(f"{name}-grid", "A regular grid in the base space of a CDA without added dimensions "
               "(below), and where the learnt map puts it among the features (above), with the "
               "test samples. The first base dimension is the evidence, the second is residual: "
               "below, the classes lie apart along the first alone.",
               partial(planes.grid, first), f"Figure {k[2]}", "png"),
    ]  # fmt: skip
    if name == "circles":
        figures.append(_slice(first))
    return figures


def _slice(first: Arrays) -> Figure:
    from deciban.paper import planes

    y = first["train_class"]
    wrong = {m: int(((first[f"train_{m}"] > 0) != y).sum()) for m in ("flat", "cda", "truth")}
    return Figure(
        "circles-slice",
        f"Decisions on the training samples of Circles; those that are wrong are ringed, black is "
        f"the boundary. A map of the plane onto itself cannot part a circle from what it "
        f"encloses: without added dimensions (left) the inner circle leaves through a slice of "
        f"the outer one, and "
        f"{wrong['flat']} of {len(y)} samples are decided wrongly. With two added dimensions "
        f"(right) there is room, and {wrong['cda']} are, about as many as the noise asks for "
        f"({wrong['truth']} by the true densities).",
        partial(planes.circles_slice, first),
        "Figure 10",
        "png",
    )
