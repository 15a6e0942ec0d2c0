"""What the experiments on toys share: training draws, many test sets, and the models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from deciban.datasets import Population
from deciban.discriminant import LinearDiscriminant, QuadraticDiscriminant
from deciban.evidence import Evidence

METHODS = ("lda", "qda", "described", "flat", "cda", "truth")
NAMES = {
    "lda": "LDA",
    "qda": "QDA",
    "described": "CDA as described, sizes ours",
    "flat": "CDA, no added dimensions",
    "cda": "CDA",
    "truth": "the true densities",
}
#: Options of each CDA. The paper gives its loss and its start, but not the size of its flow.
CDAS: dict[str, dict[str, Any]] = {
    "described": {"preset": "paper"},
    "flat": {"augment": 0},
    "cda": {},
}
_TEST_SEED = 10_000

Judges = Mapping[str, Callable[[np.ndarray], Evidence]]


def sizes(quick: bool) -> dict[str, int]:
    """Samples to learn from, in each test set, and in all test sets together.

    The first two are the paper's.
    """
    if quick:
        return {"train": 2000, "test": 1000, "many": 10_000}
    return {"train": 10_000, "test": 2000, "many": 100_000}


def settings(n: int, d: int, epochs: Any) -> dict[str, Any]:
    """What each CDA is fitted with, "auto" replaced, so that a change of defaults is seen."""
    return {name: cda_settings(n, d, epochs=epochs, **options) for name, options in CDAS.items()}


def cda_settings(n: int, d: int, **options: Any) -> dict[str, Any]:
    """All settings of a CDA with these options on a table of this size."""
    from deciban.discriminant.cda import CompositionalDiscriminantAnalysis
    from deciban.discriminant.settings import resolved

    return options | asdict(resolved(CompositionalDiscriminantAnalysis(**options), n, d))


def fitted(X: np.ndarray, y: np.ndarray, seed: int, epochs: Any, path: Path) -> dict[str, Any]:
    """A model of each method; each CDA has a checkpoint of its own, so that a fit goes on."""
    from deciban.discriminant.cda import CompositionalDiscriminantAnalysis

    models: dict[str, Any] = {"lda": LinearDiscriminant(), "qda": QuadraticDiscriminant()}
    for name, options in CDAS.items():
        models[name] = CompositionalDiscriminantAnalysis(
            epochs=epochs, random_state=seed, checkpoint=path.with_suffix(f".{name}"), **options
        )
    for model in models.values():
        model.fit(X, y)
    for name in CDAS:
        path.with_suffix(f".{name}").unlink(missing_ok=True)
    return models


def judged(
    population: Population,
    judges: Judges,
    cost: Callable[[np.ndarray, Evidence], Any],
    sizes: Mapping[str, int],
) -> dict[str, np.ndarray]:
    """Costs of each method on each of many test sets, and on all of them together.

    ``runs`` has the axes method, test set and what `cost` gives; ``many`` those without the second.
    """
    X, y = population.sample(sizes["many"], random_state=_TEST_SEED)
    sets = [slice(k, k + sizes["test"]) for k in range(0, len(y), sizes["test"])]
    runs, many = [], []
    for name in METHODS:
        evidence = judges[name](X)
        runs.append([cost(y[rows], evidence[rows]) for rows in sets])
        many.append(cost(y, evidence))
    return {"runs": np.array(runs), "many": np.array(many)}


def of_runs(runs: np.ndarray) -> str:
    """How many there are, of what; the first axes are training draws, methods and test sets."""
    return f"{runs.shape[0]} training draws × {runs.shape[2]} test sets"


def standard_error(values: Sequence[float] | np.ndarray) -> float:
    """Of the mean of independent values."""
    v = np.asarray(values)
    return float(v.std(ddof=1) / np.sqrt(len(v)))
