"""MNIST on its 784 pixels: a CDA whose base space generates, neutralizes and converts images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.experiment import Arrays, Experiment, Findings, Step
from reproduction.mnist import (
    DIGITS,
    as_bytes,
    center_rows,
    data_step,
    first_of_each,
    pixels,
    sizes,
)
from reproduction.mnist784_findings import findings_of
from reproduction.toy_protocol import cda_settings, make_cda

PAIRS = ((0, 7), (6, 8))  # the paper's
ALPHAS = np.linspace(0, 1, 11)
SAMPLES = 8  # of each digit
_QUICK = {"epochs": 10, "n_couplings": 2, "width": 64, "batch_size": 128}


class Mnist784(Experiment):
    """A CDA without dimension reduction, and the images that it generates."""

    name = "mnist-784"
    title = "Handwritten digits, 784 pixels: images between digits"
    paper = "Figure 15"
    data = "mnist"

    def steps(self, quick: bool) -> Sequence[Step]:
        """Two fits; the second generates all images before the model is released."""
        options = _QUICK if quick else {}
        described = {"preset": "paper", **options}
        common = {**sizes(quick), "random_state": 0}
        images = {"pairs": PAIRS, "alphas": len(ALPHAS), "samples": SAMPLES, "forest": 200}
        return [
            data_step(quick),
            Step(
                "cda-described", common | {"options": cda_settings(**described)},
                partial(_fit, quick, described, False), 5.0 if quick else 3000.0,
            ),
            Step(
                "cda", common | {"options": cda_settings(**options)} | images,
                partial(_fit, quick, options, True), 20.0 if quick else 10_000.0,
            ),
        ]  # fmt: skip

    def findings(self, results: Mapping[str, Arrays], quick: bool) -> Findings:
        """The costs, Figure 15, and images that are sampled, neutralized and converted."""
        return findings_of(results)


def _fit(
    quick: bool,
    options: Mapping[str, Any],
    with_images: bool,
    path: Path,
    earlier: Mapping[str, Arrays],
) -> Arrays:
    data = pixels(quick)
    model = make_cda(checkpoint=path, random_state=0, **options)
    model.fit(data.X, data.y)
    found = {"log_likelihoods": center_rows(model.evidence(data.X_test))}
    if with_images:
        found["divergences"] = model.divergences_
        found |= _interpolate(model, data.side) | _sample(model, data.side)
        found |= _neutralize_and_convert(model, data.X_test, data.y_test, data.side)
        found |= _classify(model, data.X_test, data.y_test)
    return found


def _interpolate(model: Any, side: int) -> dict[str, np.ndarray]:
    """Images between two digits, and their LLRs: as generated, and clipped to 0 to 1."""
    images = np.stack([model.interpolate(i, j, ALPHAS) for i, j in PAIRS])

    def llr(shown: np.ndarray) -> np.ndarray:
        return np.stack(
            [model.evidence(row).llr(*pair) for row, pair in zip(shown, PAIRS, strict=True)]
        )

    return {
        "alphas": ALPHAS,
        "pairs": np.array(PAIRS),
        "between": as_bytes(images, side),
        "between_llr": llr(images),
        "between_llr_clipped": llr(np.clip(images, 0, 1)),
    }


def _sample(model: Any, side: int) -> dict[str, np.ndarray]:
    """Images sampled for each digit, and the share of their pixels outside 0 to 1."""
    images = np.stack([model.sample(SAMPLES, digit, random_state=digit)[0] for digit in DIGITS])
    outside = np.mean((images < 0) | (images > 1))
    return {"samples": as_bytes(images, side), "samples_outside": np.array(outside)}


def _neutralize_and_convert(
    model: Any, X: np.ndarray, y: np.ndarray, side: int
) -> dict[str, np.ndarray]:
    """The first test image of each digit, neutralized, and converted to each digit."""
    first = X[first_of_each(y)]
    hidden = model.neutralize(first)
    converted = np.stack([model.convert(first, digit) for digit in DIGITS], axis=1)
    decided = model.evidence(converted.reshape(-1, first.shape[1])).decide()
    return {
        "originals": as_bytes(first, side),
        "neutral": as_bytes(hidden, side),
        "strength_before": model.evidence(first).strength("deciban"),
        "strength_after": model.evidence(hidden).strength("deciban"),
        "strength_clipped": model.evidence(np.clip(hidden, 0, 1)).strength("deciban"),
        "converted": as_bytes(converted, side),
        "converted_decided": np.asarray(decided).reshape(len(first), -1).astype(np.int8),
    }


def _classify(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Digits that a random forest finds in test images, before and after they are neutralized.

    Three folds of the test images: the evidence is hidden from the model, not from everyone.
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    forest = RandomForestClassifier(200, random_state=0, n_jobs=-1)
    images = {"found_before": X, "found_after": np.clip(model.neutralize(X), 0, 1)}
    return {
        name: cross_val_predict(forest, some, y, cv=folds).astype(np.int8)
        for name, some in images.items()
    }
