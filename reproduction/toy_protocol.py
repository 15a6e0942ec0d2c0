"""The protocol of the toy experiments: training draws, many test sets, and the models compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deciban.datasets import Population
from deciban.discriminant import LinearDiscriminant, QuadraticDiscriminant
from deciban.evidence import Evidence
from reproduction.experiment import Arrays, Step
from reproduction.intervals import mean_with_range

METHODS = ("lda", "qda", "described", "flat", "cda", "truth")
NAMES = {
    "lda": "LDA",
    "qda": "QDA",
    "described": "CDA as described, sizes ours",
    "flat": "CDA, no added dimensions",
    "cda": "CDA",
    "truth": "the true densities",
}
#: Options of each CDA. The paper gives its loss and initialization, but not the size of its flow.
CDAS: dict[str, dict[str, Any]] = {
    "described": {"preset": "paper"},
    "flat": {"augment": 0},
    "cda": {},
}
#: Sizes of the CDA as described where the preset's do not do. The divergence of concentric circles
#: starts at zero: 8 couplings and a step size of 1e-3 stay there, with a Cllr of 0.99.
DESCRIBED_SIZES: dict[str, dict[str, Any]] = {
    "circles": {"n_couplings": 16, "learning_rate": 5e-3, "epochs": 150}
}
#: Settings that are options of a CDA, with what they are by default.
RARE: dict[str, Any] = dict.fromkeys(
    ("batch_size", "calibrate", "discriminative_weight", "input_noise", "learning_rate",
     "shrinkage", "validation_fraction", "weight_decay"), "auto",
) | {"depth": 2}  # fmt: skip
_EDITIONS = {"three-gaussians": 4}  # of what a step computes; 3 elsewhere
_TEST_SEED = 10_000

Labeled = tuple[np.ndarray, np.ndarray]
Cost = Callable[[np.ndarray, Evidence], Any]
Details = Callable[[dict[str, Any], dict[str, Any], Labeled, Labeled], Arrays]


class Scale(NamedTuple):
    """Number of training samples, of samples in a test set and in all test sets, and of draws.

    The first two are the paper's in a full run.
    """

    train: int
    test: int
    many: int
    draws: int
    epochs: int | str


def scale(quick: bool) -> Scale:
    """The scale of a run."""
    return Scale(2000, 1000, 10_000, 2, 20) if quick else Scale(10_000, 2000, 100_000, 10, "auto")


def draw_steps(
    name: str, population: Population, cost: Cost, details: Details, quick: bool
) -> list[Step]:
    """One step for each training draw: costs of every method on many test sets.

    Their arrays are ``runs``, with the axes method, test set, and whatever `cost` returns;
    ``many``, the same for all test sets together; the learned divergences and covariances; and, in
    the first draw, what `details` returns for the models, their evidence, the training samples and
    a test set.
    """
    sizes = scale(quick)
    options = cda_options(name, sizes)
    fits = {k: cda_settings(**one) for k, one in options.items()}
    return [
        Step(
            f"draw-{seed}",
            {"edition": _EDITIONS.get(name, 3), "set": name, "seed": seed, "fits": fits,
             **sizes._asdict()},
            partial(_compute_draw, population, cost, details, seed, sizes, options),
            seconds=10 if quick else 40,
        )
        for seed in range(sizes.draws)
    ]  # fmt: skip


def cda_options(name: str, sizes: Scale) -> dict[str, dict[str, Any]]:
    """Options of each CDA for a data set; a quick run keeps the sizes of the preset."""
    options = {method: {"epochs": sizes.epochs, **one} for method, one in CDAS.items()}
    if sizes.epochs == "auto":
        options["described"] |= DESCRIBED_SIZES.get(name, {})
    return options


def make_cda(**settings: Any) -> Any:
    """A CDA with these settings, the rare ones among its options."""
    from deciban.discriminant import CompositionalDiscriminantAnalysis

    options = {name: settings.pop(name) for name in RARE if name in settings}
    return CompositionalDiscriminantAnalysis(options=options or None, **settings)


def cda_settings(**settings: Any) -> dict[str, Any]:
    """All settings of a CDA, so that a change of a default is noticed."""
    found = dict(make_cda(**settings).get_params())
    return RARE | found | (found.pop("options") or {})


def _compute_draw(
    population: Population, cost: Cost, details: Details, seed: int, sizes: Scale,
    options: Mapping[str, Any], path: Path, earlier: Mapping[str, Arrays],
) -> Arrays:  # fmt: skip
    X, y = population.sample(sizes.train + sizes.test, random_state=seed)
    n = sizes.train
    models = _fit_models(X[:n], y[:n], seed, options, path)
    evidence = {name: model.evidence for name, model in models.items()}
    evidence["truth"] = population.evidence
    X_many, y_many = population.sample(sizes.many, random_state=_TEST_SEED)
    sets = [slice(k, k + sizes.test) for k in range(0, len(y_many), sizes.test)]
    runs, many = [], []
    for name in METHODS:
        found = evidence[name](X_many)
        runs.append([cost(y_many[rows], found[rows]) for rows in sets])
        many.append(cost(y_many, found))
    arrays = {"runs": np.array(runs), "many": np.array(many)}
    for name in ("described", "cda"):
        arrays[f"divergences_{name}"] = models[name].divergences_
        arrays[f"covariance_{name}"] = models[name].covariance_
    if seed:
        return arrays
    return arrays | dict(details(models, evidence, (X[:n], y[:n]), (X[n:], y[n:])))


def _fit_models(
    X: np.ndarray, y: np.ndarray, seed: int, options: Mapping[str, Any], path: Path
) -> dict[str, Any]:
    """A model of each method; each CDA has its own checkpoint, so that a fit can be resumed."""
    models: dict[str, Any] = {"lda": LinearDiscriminant(), "qda": QuadraticDiscriminant()}
    for name, one in options.items():
        models[name] = make_cda(random_state=seed, checkpoint=path.with_suffix(f".{name}"), **one)
    for model in models.values():
        model.fit(X, y)
    for name in options:
        path.with_suffix(f".{name}").unlink(missing_ok=True)
    return models


def stack(results: Mapping[str, Arrays], name: str) -> np.ndarray:
    """One array of every draw, stacked along a first axis."""
    return np.stack([arrays[name] for arrays in results.values()])


def mean_and_range(values: np.ndarray, form: str) -> str:
    """Mean over runs, and the range of 95 % of them, as tables show them.

    As in :func:`reproduction.intervals.over_runs`, the range holds the mean.

    >>> mean_and_range(np.array([0.1, 0.1, 0.1]), ".2f")
    '0.10 (0.10 to 0.10)'
    """
    mean, low, high = mean_with_range(values)
    return f"{mean:{form}} ({low:{form}} to {high:{form}})"


def describe_runs(runs: np.ndarray) -> str:
    """Number of runs; the first axes are training draws, methods and test sets."""
    return f"{runs.shape[0]} training draws × {runs.shape[2]} test sets"
