"""What the experiments on MNIST share: images, their 40 components, and costs with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import log_softmax

from deciban.evidence import Evidence
from reproduction.digits import load_mnist
from reproduction.experiment import Arrays, Measured, Step
from reproduction.intervals import over_samples

COMPONENTS = 40
DIGITS = tuple(range(10))
_FEW = {"train": 2000, "test": 1000}  # images of a quick run


@dataclass(frozen=True)
class Split:
    """Features and digits of the training and test images."""

    X: np.ndarray
    y: np.ndarray
    new: np.ndarray
    truth: np.ndarray
    side: int


@cache
def pixels(quick: bool) -> Split:
    """784 pixels from 0 to 1; of a quick run only the first images."""
    found = load_mnist()
    n, m = (_FEW["train"], _FEW["test"]) if quick else (None, None)
    return Split(
        found.train_images[:n], found.train_labels[:n],
        found.test_images[:m], found.test_labels[:m], found.side,
    )  # fmt: skip


@cache
def forty(quick: bool) -> Split:
    """The first 40 principal components of the training images, in float64."""
    from sklearn.decomposition import PCA

    images = pixels(quick)
    pca = PCA(COMPONENTS, svd_solver="covariance_eigh").fit(images.X.astype(np.float64))
    X, new = (pca.transform(part.astype(np.float64)) for part in (images.X, images.new))
    return Split(X, images.y, new, images.truth, images.side)


def forget() -> None:
    """Let go of the images, so that they are read anew."""
    pixels.cache_clear()
    forty.cache_clear()


def sizes(quick: bool) -> dict[str, Any]:
    """Settings of the images that a step uses."""
    return {"data": "mnist", **(_FEW if quick else {"train": 60_000, "test": 10_000})}


def data_step(quick: bool) -> Step:
    """The digits of the test images, and the first image of each as bytes."""

    def compute(path: Any, earlier: Mapping[str, Arrays]) -> Arrays:
        images = pixels(quick)
        first = [int(np.flatnonzero(images.truth == digit)[0]) for digit in DIGITS]
        return {
            "truth": images.truth.astype(np.int8),
            "n_train": np.array(len(images.y)),
            "examples": as_bytes(images.new[first], images.side),
        }

    return Step("data", {**sizes(quick), "examples": "first"}, compute, seconds=2.0)


def as_bytes(images: np.ndarray, side: int) -> np.ndarray:
    """Pictures in 256 shades of grey; what lies outside 0 to 1 is clipped."""
    shape = (*images.shape[:-1], side, side)
    return np.round(255 * np.clip(images, 0, 1)).astype(np.uint8).reshape(shape)


def kept(evidence: Any) -> np.ndarray:
    """Log-likelihoods as a step keeps them: rows that sum to zero, in float32."""
    values = np.asarray(getattr(evidence, "log_likelihoods", evidence), dtype=np.float64)
    return (values - values.mean(axis=1, keepdims=True)).astype(np.float32)


def evidence_of(arrays: Arrays) -> Evidence:
    """The evidence that a step kept."""
    return Evidence(arrays["log_likelihoods"].astype(np.float64), DIGITS)


def losses(truth: np.ndarray, arrays: Arrays) -> np.ndarray:
    """What each test image costs under the uniform prior, in nats."""
    log_p = log_softmax(arrays["log_likelihoods"].astype(np.float64), axis=1)
    return -np.asarray(log_p)[np.arange(len(truth)), truth]


def rights(truth: np.ndarray, arrays: Arrays) -> np.ndarray:
    """Where the likeliest digit is the right one: 1.0, else 0.0."""
    return (arrays["log_likelihoods"].argmax(axis=1) == truth).astype(np.float64)


def mean_of_classes(truth: np.ndarray, values: np.ndarray) -> float:
    """Mean over classes of the mean in each: of the losses it is C_mc."""
    return float(np.mean(np.bincount(truth, values) / np.bincount(truth)))


def mean(truth: np.ndarray, values: np.ndarray) -> float:
    """Mean over samples: of what is right it is the accuracy, as the paper counts it."""
    return float(np.mean(values))


def costs(
    key: str, truth: np.ndarray, arrays: Arrays, *, described: bool = False
) -> tuple[Measured, Measured]:
    """C_mc in nats and accuracy in percent, each with its interval.

    Both are means of numbers that are computed once for each image, so that a thousand resamples
    take a fraction of a second.
    """
    return (
        over_samples(
            f"{key}.c_mc", mean_of_classes, truth, losses(truth, arrays), described=described
        ),
        over_samples(
            f"{key}.accuracy", mean, truth, rights(truth, arrays), times=100.0, described=described
        ),
    )


def with_interval(number: Measured, digits: int = 3) -> str:
    """A number and its interval, as tables show them.

    >>> with_interval(Measured("a", 0.0312, 0.029, 0.0335, ""), 4)
    '0.0312 (0.0290 to 0.0335)'
    """
    return f"{number.value:.{digits}f} ({number.low:.{digits}f} to {number.high:.{digits}f})"
