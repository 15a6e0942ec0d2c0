"""MNIST on its 784 pixels: a CDA whose base space makes, hides and changes images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.experiment import Arrays, Experiment, Findings, Step
from reproduction.mnist import DIGITS, as_bytes, data_step, kept, pixels, sizes
from reproduction.mnist784_findings import findings_of
from reproduction.protocol import cda_settings

PAIRS = ((0, 7), (6, 8))  # the paper's
ALPHAS = np.linspace(0, 1, 11)
SAMPLES = 8  # of each digit
_QUICK = {"epochs": 10, "n_couplings": 2, "width": 64, "batch_size": 128}


class Pixels(Experiment):
    """A CDA without dimension reduction, and the images that it makes."""

    name = "mnist-784"
    title = "Handwritten digits, 784 pixels: images between digits"
    paper = "Figure 15"
    data = "mnist"

    def steps(self, quick: bool) -> Sequence[Step]:
        """One fit; all images are made from it before it is let go."""
        options = _QUICK if quick else {}
        n, d = sizes(quick)["train"], 784
        settings = {
            **sizes(quick), "random_state": 0, "options": cda_settings(n, d, **options),
            "pairs": PAIRS,
            "alphas": len(ALPHAS), "samples": SAMPLES, "forest": 200,
        }  # fmt: skip

        def compute(path: Path, earlier: Mapping[str, Arrays]) -> Arrays:
            return _cda(path, quick, options)

        described = {"preset": "paper", **options}
        plain = {**sizes(quick), "random_state": 0, "options": cda_settings(n, d, **described)}
        return [
            data_step(quick),
            Step(
                "cda-described", plain, lambda path, _: _described(path, quick, described),
                5.0 if quick else 3000.0,
            ),
            Step("cda", settings, compute, 20.0 if quick else 10_000.0),
        ]  # fmt: skip

    def findings(self, results: Mapping[str, Arrays], quick: bool) -> Findings:
        """The costs, Figure 15, and images that are sampled, neutralised and converted."""
        return findings_of(results)


def _cda(path: Path, quick: bool, options: Mapping[str, Any]) -> Arrays:
    from deciban.discriminant import CompositionalDiscriminantAnalysis

    data = pixels(quick)
    model = CompositionalDiscriminantAnalysis(checkpoint=path, random_state=0, **options)
    model.fit(data.X, data.y)
    return {
        "log_likelihoods": kept(model.evidence(data.new)),
        "divergences": model.divergences_,
        **_between(model, data.side),
        **_sampled(model, data.side),
        **_changed(model, data.new, data.truth, data.side),
        **_still_told(model, data.new, data.truth),
    }


def _described(path: Path, quick: bool, options: Mapping[str, Any]) -> Arrays:
    """The evidence of a CDA as the paper describes it."""
    from deciban.discriminant import CompositionalDiscriminantAnalysis

    data = pixels(quick)
    model = CompositionalDiscriminantAnalysis(checkpoint=path, random_state=0, **options)
    return {"log_likelihoods": kept(model.fit(data.X, data.y).evidence(data.new))}


def _between(model: Any, side: int) -> dict[str, np.ndarray]:
    """Images on the way between two digits, and their LLRs: as they are, and clipped to 0 to 1."""
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


def _sampled(model: Any, side: int) -> dict[str, np.ndarray]:
    """Images that the model draws of each digit, and the share of pixels that leave 0 to 1."""
    images = np.stack([model.sample(SAMPLES, digit, random_state=digit)[0] for digit in DIGITS])
    outside = np.mean((images < 0) | (images > 1))
    return {"samples": as_bytes(images, side), "samples_outside": np.array(outside)}


def _changed(model: Any, new: np.ndarray, truth: np.ndarray, side: int) -> dict[str, np.ndarray]:
    """The first test image of each digit, neutralised, and converted to each digit."""
    first = new[[int(np.flatnonzero(truth == digit)[0]) for digit in DIGITS]]
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


def _still_told(model: Any, new: np.ndarray, truth: np.ndarray) -> dict[str, np.ndarray]:
    """Digits that another classifier finds in test images, before and after they are neutralised.

    A random forest, in three folds: evidence is hidden from the model, not from everyone.
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    forest = RandomForestClassifier(200, random_state=0, n_jobs=-1)
    images = {"found_before": new, "found_after": np.clip(model.neutralize(new), 0, 1)}
    return {
        name: cross_val_predict(forest, X, truth, cv=folds).astype(np.int8)
        for name, X in images.items()
    }
