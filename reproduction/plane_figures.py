"""Figures in two dimensions: samples, maps of the LLR, and grids that a model bends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reproduction.drawing import COLORS, MARKERS, new_figure
from reproduction.experiment import Arrays

_PANEL = 2.9  # inches
_FAR = 12.0  # LLR in nats at which the shade is full
_PANELS = {"truth": "the true densities", "lda": "LDA", "qda": "QDA", "cda": "CDA"}


def figure(rows: int, columns: int, *, width: float = _PANEL, height: float = _PANEL) -> Any:
    """A figure and its axes; sizes of a panel in inches."""
    fig = new_figure(width * columns, height * rows)
    return fig, fig.subplots(rows, columns, squeeze=False)


def scatter(ax: Any, x: np.ndarray, k: np.ndarray, size: float = 3, **options: Any) -> None:
    """Draw samples with the color and marker of their class, in an order that hides no class."""
    order = np.random.default_rng(0).permutation(len(x))
    for some in np.array_split(order, 20):
        for c in np.unique(k):
            rows = some[k[some] == c]
            ax.scatter(x[rows, 0], x[rows, 1], s=size, c=COLORS[int(c)],
                       marker=MARKERS[int(c)], linewidths=0, **options)  # fmt: skip


def legend(ax: Any, classes: Mapping[int, str], **options: Any) -> None:
    """Add a legend of classes, with markers large enough to see."""
    for k, text in classes.items():
        ax.scatter([], [], s=22, c=COLORS[k], marker=MARKERS[k], label=text)
    ax.legend(frameon=True, fontsize=8, handletextpad=0.2, borderpad=0.3, **options)


def training(first: Arrays) -> Any:
    """The training samples."""
    fig, axes = figure(1, 1, width=4.2, height=3.8)
    ax = axes[0, 0]
    scatter(ax, first["train"], first["train_class"], alpha=0.7)
    _set_limits(ax, first)
    legend(ax, {0: "class 0", 1: "class 1"}, loc="best")
    ax.set(xlabel="feature 1", ylabel="feature 2")
    return fig


def maps(first: Arrays, bits: Mapping[str, float]) -> Any:
    """The LLR over the plane and the decisions on the test samples, for each method."""
    fig, axes = figure(1, 4, height=_PANEL * 1.08)
    for ax, (name, title) in zip(axes[0], _PANELS.items(), strict=True):
        shade = ax.imshow(
            first[f"map_{name}"], extent=_extent(first), origin="lower", aspect="auto",
            cmap=_ground(), vmin=-_FAR, vmax=_FAR, interpolation="bilinear",
        )  # fmt: skip
        ax.contour(first["map_x"], first["map_y"], first[f"map_{name}"], levels=[0.0],
                   colors="black", linewidths=1)  # fmt: skip
        decided = (first[f"test_{name}"] > 0).astype(int)
        scatter(ax, first["test"], first["test_class"] if name == "truth" else decided)
        _set_limits(ax, first)
        ax.set_title(f"{title}\nCllr {bits[name]:.3f} bit", fontsize=10)
        ax.set_xlabel("feature 1")
    axes[0, 0].set_ylabel("feature 2")
    legend(axes[0, 0], {0: "class 0", 1: "class 1"}, loc="best")
    bar = fig.colorbar(shade, ax=list(axes[0]), extend="both", fraction=0.03, pad=0.01)
    bar.set_label("LLR of class 1\nagainst 0 (nat)")
    return fig


def _ground() -> Any:
    """Colors of a map of LLRs: light grays, on which the points of both classes are seen."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("ground", ["0.78", "1.0"])


def grid(first: Arrays) -> Any:
    """Feature space at the top, base space at the bottom."""
    fig, axes = figure(2, 1, width=4.6, height=3.8)
    parts = (("feature_lines", "test"), ("base_lines", "base"))
    for ax, (lines, points) in zip(axes[:, 0], parts, strict=True):
        for line in first[lines]:
            ax.plot(*line.T, color="0.55", linewidth=0.6, zorder=1)
        scatter(ax, first[points], first["test_class"], zorder=2)
        _fit_limits(ax, first[points])
    legend(axes[0, 0], {0: "class 0", 1: "class 1"}, loc="best")
    axes[0, 0].set(xlabel="feature 1", ylabel="feature 2", title="feature space")
    axes[1, 0].set(xlabel="evidence: ILRL (nat)", ylabel="residual (standard normal)",
                   title="base space")  # fmt: skip
    return fig


def circles_slice(first: Arrays) -> Any:
    """Decisions on the training samples, with the wrong ones ringed."""
    fig, axes = figure(1, 2, width=4.2, height=4.1)
    titles = {"flat": "CDA, no added dimensions", "cda": "CDA, two added dimensions"}
    for ax, (name, title) in zip(axes[0], titles.items(), strict=True):
        decided = (first[f"train_{name}"] > 0).astype(int)
        scatter(ax, first["train"], decided, alpha=0.7)
        ax.contour(first["map_x"], first["map_y"], first[f"map_{name}"], levels=[0.0],
                   colors="black", linewidths=1)  # fmt: skip
        wrong = decided != first["train_class"]
        ax.scatter(*first["train"][wrong].T, s=26, facecolors="none", edgecolors="black",
                   linewidths=0.7, label=f"wrong ({wrong.sum()})")  # fmt: skip
        _set_limits(ax, first)
        ax.set(title=title, xlabel="feature 1")
        legend(ax, {0: "decided 0", 1: "decided 1"}, loc="upper right")
    axes[0, 0].set_ylabel("feature 2")
    return fig


def _extent(first: Arrays) -> tuple[float, float, float, float]:
    x, y = first["map_x"], first["map_y"]
    return float(x[0]), float(x[-1]), float(y[0]), float(y[-1])


def _set_limits(ax: Any, first: Arrays) -> None:
    left, right, low, high = _extent(first)
    ax.set(xlim=(left, right), ylim=(low, high))


def _fit_limits(ax: Any, points: np.ndarray) -> None:
    low, high = points.min(axis=0), points.max(axis=0)
    gap = 0.06 * (high - low)
    ax.set(xlim=(low[0] - gap[0], high[0] + gap[0]), ylim=(low[1] - gap[1], high[1] + gap[1]))
