"""What the experiments on MNIST share: images, their principal components, costs with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import log_softmax

from deciban.evidence import Evidence
from reproduction.experiment import Arrays, Measurement, Step
from reproduction.intervals import over_samples
from reproduction.mnist_files import load_mnist

COMPONENTS = 40
DIGITS = tuple(range(10))
_QUICK_SIZES = {"train": 2000, "test": 1000}


@dataclass(frozen=True)
class Split:
    """Features and digits of the training and test images."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    side: int


@cache
def pixels(quick: bool) -> Split:
    """784 pixels from 0 to 1; a quick run takes only the first images."""
    found = load_mnist()
    n, m = (_QUICK_SIZES["train"], _QUICK_SIZES["test"]) if quick else (None, None)
    return Split(
        found.train_images[:n], found.train_labels[:n],
        found.test_images[:m], found.test_labels[:m], found.side,
    )  # fmt: skip


@cache
def principal_components(quick: bool) -> Split:
    """The first 40 principal components of the training images, in float64."""
    from sklearn.decomposition import PCA

    images = pixels(quick)
    pca = PCA(COMPONENTS, svd_solver="covariance_eigh").fit(images.X.astype(np.float64))
    X, X_test = (pca.transform(part.astype(np.float64)) for part in (images.X, images.X_test))
    return Split(X, images.y, X_test, images.y_test, images.side)


def clear_cache() -> None:
    """Release the images, so that they are read again."""
    pixels.cache_clear()
    principal_components.cache_clear()


def sizes(quick: bool) -> dict[str, Any]:
    """Settings of the images that a step uses."""
    return {"data": "mnist", **(_QUICK_SIZES if quick else {"train": 60_000, "test": 10_000})}


def data_step(quick: bool) -> Step:
    """The digits of the test images, and the first image of each as bytes."""

    def compute(path: Any, earlier: Mapping[str, Arrays]) -> Arrays:
        images = pixels(quick)
        return {
            "truth": images.y_test.astype(np.int8),
            "n_train": np.array(len(images.y)),
            "examples": as_bytes(images.X_test[first_of_each(images.y_test)], images.side),
        }

    return Step("data", {**sizes(quick), "examples": "first"}, compute, seconds=2.0)


def first_of_each(y: np.ndarray) -> list[int]:
    """Row of the first image of each digit."""
    return [int(np.flatnonzero(y == digit)[0]) for digit in DIGITS]


def as_bytes(images: np.ndarray, side: int) -> np.ndarray:
    """Images in 256 shades of gray; values outside 0 to 1 are clipped."""
    shape = (*images.shape[:-1], side, side)
    return np.round(255 * np.clip(images, 0, 1)).astype(np.uint8).reshape(shape)


def center_rows(evidence: Any) -> np.ndarray:
    """Log-likelihoods as steps store them: rows that sum to zero, in float32."""
    values = np.asarray(getattr(evidence, "log_likelihoods", evidence), dtype=np.float64)
    return (values - values.mean(axis=1, keepdims=True)).astype(np.float32)


def evidence_of(arrays: Arrays) -> Evidence:
    """The evidence that a step stored."""
    return Evidence(arrays["log_likelihoods"].astype(np.float64), DIGITS)


def losses(y_true: np.ndarray, arrays: Arrays) -> np.ndarray:
    """Cross-entropy of each test image under the uniform prior, in nats."""
    log_p = log_softmax(arrays["log_likelihoods"].astype(np.float64), axis=1)
    return -np.asarray(log_p)[np.arange(len(y_true)), y_true]


def hits(y_true: np.ndarray, arrays: Arrays) -> np.ndarray:
    """1.0 if the most likely digit is the right one, otherwise 0.0."""
    return (arrays["log_likelihoods"].argmax(axis=1) == y_true).astype(np.float64)


def mean_of_classes(y_true: np.ndarray, values: np.ndarray) -> float:
    """Mean over classes of the mean in each class: of the losses it is C_mc."""
    return float(np.mean(np.bincount(y_true, values) / np.bincount(y_true)))


def mean(y_true: np.ndarray, values: np.ndarray) -> float:
    """Mean over samples: of the hits it is the accuracy, as the paper counts it."""
    return float(np.mean(values))


def costs(
    key: str, y_true: np.ndarray, arrays: Arrays, *, described: bool = False
) -> tuple[Measurement, Measurement]:
    """C_mc in nats and accuracy in percent, each with its interval.

    Both are means of values that are computed once for each image, so that a thousand resamples
    take a fraction of a second.
    """
    loss, hit = losses(y_true, arrays), hits(y_true, arrays)
    return (
        over_samples(f"{key}.c_mc", mean_of_classes, y_true, loss, described=described),
        over_samples(f"{key}.accuracy", mean, y_true, hit, times=100.0, described=described),
    )


def with_interval(number: Measurement, digits: int = 3) -> str:
    """A number and its interval, as tables show them.

    >>> with_interval(Measurement("a", 0.0312, 0.029, 0.0335, ""), 4)
    '0.0312 (0.0290 to 0.0335)'
    """
    return f"{number.value:.{digits}f} ({number.low:.{digits}f} to {number.high:.{digits}f})"
