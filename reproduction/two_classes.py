"""Gaussians, Moons and Circles: two classes in the plane, under two protocols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from deciban import metrics
from deciban.datasets import Population, circles, moons, two_gaussians
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

_POPULATIONS = {"gaussians": two_gaussians, "moons": moons, "circles": circles}
_TITLES = {
    "gaussians": ("Two Gaussians", "Figures 6 (a), 7 and 11 (a), Table 1"),
    "moons": ("Two moons", "Figures 6 (b), 8 and 11 (b), Table 1"),
    "circles": ("Two circles", "Figures 6 (c), 9, 10 and 11 (c), Table 1"),
}
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
        """One for each draw of training samples."""
        sizes, epochs = protocol.sizes(quick), 20 if quick else "auto"
        fits = protocol.settings(sizes["train"], 2, epochs)
        return [
            Step(
                f"draw-{k}",
                {"edition": 2, "set": self.name, "seed": k, "fits": fits, **sizes},
                partial(_draw, _POPULATIONS[self.name](), k, sizes, epochs),
                seconds=10 if quick else 35,
            )
            for k in range(2 if quick else 10)
        ]

    def findings(self, results: Mapping[str, Arrays], quick: bool) -> Findings:
        """Table 1 under both protocols, and what the first draw looks like."""
        first = results["draw-0"]
        runs = np.stack([results[name]["runs"] for name in results])
        many = np.stack([results[name]["many"] for name in results])
        found = Findings(measured=_measured(self.name, runs, many))
        title = self.name.capitalize()
        found.blocks += [_table(title, runs, many, protocol.sizes(quick)), _words(runs, many)]
        found.blocks += _figures(self.name, title, first)
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
    """Costs of every method that learnt from one draw; Cllr_min and Cllr, in bits."""
    X, y = population.sample(sizes["train"] + sizes["test"], random_state=seed)
    n = sizes["train"]
    models = protocol.fitted(X[:n], y[:n], seed, epochs, path)
    judges = {name: model.evidence for name, model in models.items()}
    judges["truth"] = population.evidence
    arrays = protocol.judged(population, judges, _costs, sizes)
    if seed:
        return arrays
    return arrays | _looked_at(models, judges, (X[:n], y[:n]), (X[n:], y[n:]))


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
    for name in ("flat", "cda", "truth"):
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


def _measured(name: str, runs: np.ndarray, many: np.ndarray) -> list[Measured]:
    """The paper's protocol beside its numbers; the large test set under keys of our own.

    `runs` has the axes training draw, method, test set, and Cllr_min or Cllr; `many` lacks the
    third.
    """
    out = []
    what = protocol.of_runs(runs)
    for k, method in enumerate(METHODS):
        least, cost = runs[:, k, :, 0], runs[:, k, :, 1]
        described = method == "described"
        key = "cda" if described else method
        for end, values in (("table1.{}.{}.cllr_min", least), ("table1.{}.{}.cllr", cost),
                            ("text.{}.{}.cllr_cal", cost - least)):  # fmt: skip
            out.append(over_runs(end.format(name, key), values, what, described=described))
        if key == "cda":  # the text gives this number of Moons once more
            out.append(over_runs(f"text.{name}.cda.cllr", cost, what, described=described))
        draws = f"training draws, {many.shape[0]}"
        out.append(over_runs(f"many.{name}.{method}.cllr", many[:, k, 1], draws))
        out.append(over_runs(f"many.{name}.{method}.over_floor", _over_floor(many)[:, k], draws))
    return out


def _over_floor(many: np.ndarray) -> np.ndarray:
    """Cllr on the same test samples over that of the true densities; draws by methods."""
    cllr = many[:, :, 1]
    return cllr / cllr[:, [METHODS.index("truth")]]


def _table(title: str, runs: np.ndarray, many: np.ndarray, sizes: Mapping[str, int]) -> Table:
    n, small, large = (f"{k:,}" for k in sizes.values())
    ratio = _over_floor(many)
    rows = []
    for k, method in enumerate(METHODS):
        cells = [NAMES[method]]
        for c in (0, 1):
            low, high = np.quantile(runs[:, k, :, c], [0.025, 0.975])
            cells.append(f"{runs[:, k, :, c].mean():.4f} ({low:.4f} to {high:.4f})")
        cells += [f"{many[:, k, c].mean():.4f}" for c in (0, 1)]
        low, high = ratio[:, k].min(), ratio[:, k].max()
        rows.append([*cells, f"{ratio[:, k].mean():.3f} ({low:.3f} to {high:.3f})"])
    return Table(
        f"{title}: costs in bits. Learnt from {len(many)} draws of {n} samples, judged on test "
        f"sets of {small}, as the paper does (mean, and where 95 % of single runs fall), and on "
        f"all {large} test samples together (mean over draws; the quotient with its range).",
        ["method", f"Cllr_min, {small}", f"Cllr, {small}", f"Cllr_min, {large}",
         f"Cllr, {large}", "Cllr over the floor"],
        rows,
    )  # fmt: skip


def _words(runs: np.ndarray, many: np.ndarray) -> Paragraph:
    truth = METHODS.index("truth")
    floor, each = many[0, truth, 1], runs[0, truth, :, 1]
    error = protocol.standard_error(each)
    ratio = dict(zip(METHODS, _over_floor(many).mean(axis=0), strict=True))
    best = min((name for name in METHODS if name != "truth"), key=lambda name: ratio[name])
    return Paragraph(
        f"The floor is the cost of the true densities, which no method can pass but by luck: "
        f"{floor:.4f} ± {error:.4f} bit (standard error) on these samples. From one small test set "
        f"to another it moves by ± {each.std(ddof=1):.4f} bit (standard deviation), so that one of "
        f"them cannot tell close methods apart; the quotients can, since both are of the same "
        f"samples. By them {NAMES[best]} is best, at {ratio[best]:.3f} times the floor."
    )


def _figures(name: str, title: str, first: Arrays) -> list[Figure]:
    k = {"gaussians": ("6 (a)", "7", "11 (a)"), "moons": ("6 (b)", "8", "11 (b)"),
         "circles": ("6 (c)", "9", "11 (c)")}[name]  # fmt: skip
    bits = {m: metrics.cllr(first["test_class"], first[f"test_{m}"]) for m in METHODS}
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
    y = first["train_class"]
    names = ("flat", "cda", "truth")
    wrong = {m: int(((first[f"train_{m}"] > 0) != y).sum()) for m in names}
    return Figure(
        "circles-slice",
        f"Decisions on the training samples of Circles; those that are wrong are ringed, black is "
        f"the boundary. A map of the plane onto itself cannot part a circle from what it encloses: "
        f"without added dimensions (left) the inner circle leaves through a slice of the outer "
        f"one, as in the paper. With two added dimensions (right) there is room. Of {len(y):,} "
        f"samples "
        f"{wrong['flat']} are decided wrongly on the left, {wrong['cda']} on the right, and "
        f"{wrong['truth']} by the true densities.",
        partial(planes.circles_slice, first),
        "Figure 10",
        "png",
    )
