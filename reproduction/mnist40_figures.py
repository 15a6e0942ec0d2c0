"""Figures of MNIST on 40 principal components."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from reproduction.drawing import COLORS, MARKERS, new_figure, use_plain_ticks
from reproduction.experiment import Arrays, Measurement
from reproduction.mnist import DIGITS

#: Eight of Tol's muted colors (2021), with orange for his pale sand and black for his pale gray:
#: ten colors that every kind of eye tells apart.
TEN = ("#332288", "#E69F00", "#117733", "#CC6677", "#88CCEE",
       "#882255", "#44AA99", "#999933", "#AA4499", "#000000")  # fmt: skip
LEAST = 1e-7  # smallest probability of an error on the axis; smaller ones are drawn there


class Rates(NamedTuple):
    """Error rates in bins: as the posteriors state them, as observed, and the interval."""

    stated: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray


def show_image(ax: Any, image: np.ndarray, title: str = "", below: str = "") -> None:
    """Draw an image in black ink without ticks."""
    ax.imshow(image, cmap="gray_r", vmin=0, vmax=255, interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set(color="0.8", lw=0.5)
    ax.set_title(title, fontsize=8, pad=3)
    ax.set_xlabel(below, fontsize=7, labelpad=2)


def examples(images: np.ndarray) -> Any:
    """One image of each digit."""
    fig = new_figure(7.2, 0.95)
    for ax, image, digit in zip(fig.subplots(1, len(images)), images, DIGITS, strict=True):
        show_image(ax, image, str(digit))
    return fig


def chart(
    costs: Mapping[str, Measurement], left: Mapping[str, float], paper: Mapping[str, float]
) -> Any:
    """C_mc of each system, the best at the top."""
    order = sorted(costs, key=lambda name: -costs[name].value)
    fig = new_figure(7.2, 0.32 * len(order) + 0.9)
    ax = fig.subplots()
    for at, name in enumerate(order):
        number = costs[name]
        ours = name.startswith("CDA")
        look = {"color": COLORS[0 if ours else 1], "marker": "o" if ours else "s", "ms": 6}
        errors = [[number.value - number.low], [number.high - number.value]]
        label = "CDA" if ours else "other methods"
        ax.errorbar(number.value, at, xerr=errors, ls="", capsize=2.5, label=label, **look)
        ax.plot(left[name], at, "|", ms=11, mew=1.6, color="0.35", label="after calibration")
        if name in paper:
            ax.plot(paper[name], at, "D", ms=6.5, mfc="w", color="k", label="the paper's")
    ax.set_yticks(range(len(order)), order)
    ax.set(xscale="log", xlabel="$C_{mc}$ (nat)", ylim=(-0.6, len(order) - 0.4))
    use_plain_ticks(ax.xaxis)
    ax.grid(axis="both", color="0.92")
    ax.set_axisbelow(True)
    once = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    shown = ("CDA", "other methods", "the paper's", "after calibration")
    ax.legend([once[name] for name in shown], shown, fontsize="small", loc="lower left")
    return fig


def reliability(before: Mapping[str, Rates], after: Mapping[str, Rates]) -> Any:
    """Observed error rates over those that the posteriors state, before and after calibration."""
    fig = new_figure(7.4, 4.0)
    axes = fig.subplots(1, 2, sharex=True, sharey=True)
    for ax, systems, title in zip(
        axes, (before, after), ("as it is", "after calibration"), strict=True
    ):
        ax.axline((0.1, 0.1), (1, 1), color="0.45", lw=1, ls=":")
        for k, (name, rates) in enumerate(systems.items()):
            _draw_rates(ax, rates, name, k)
        ax.set(xscale="log", yscale="log", xlim=(LEAST / 2, 1.2), ylim=(1e-4, 1.2))
        ax.set_xlabel("probability of an error, by the posteriors")
        ax.set_title(title, fontsize=10)
        ax.grid(color="0.93")
        ax.set_axisbelow(True)
    axes[0].set_ylabel("share of errors")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3,
               frameon=False, fontsize="small")  # fmt: skip
    return fig


def _draw_rates(ax: Any, rates: Rates, name: str, k: int) -> None:
    # Side by side where several systems have the same probability.
    x = np.maximum(rates.stated, LEAST) * 1.12 ** (k - 1)
    seen = rates.observed > 0
    look = {"color": COLORS[k], "marker": MARKERS[k], "ls": "", "ms": 5}
    errors = [rates.observed - rates.low, rates.high - rates.observed]
    ax.errorbar(
        x[seen], rates.observed[seen], np.array(errors)[:, seen], label=name, capsize=2, **look
    )
    # No error was observed: an arrow from the end of the interval.
    ax.errorbar(x[~seen], rates.high[~seen], 0.5 * rates.high[~seen], uplims=True, elinewidth=0.8,
                color=COLORS[k], ls="")  # fmt: skip


def maps(truth: np.ndarray, points: Arrays, titles: Mapping[str, str]) -> Any:
    """UMAP of ILRLs and residuals, a row for each model."""
    fig = new_figure(7.2, 3.6 * len(titles) + 0.3)
    axes = fig.subplots(len(titles), 2, squeeze=False)
    order = np.random.default_rng(0).permutation(len(truth))  # so that no digit covers the others
    for row, (name, title) in zip(axes, titles.items(), strict=True):
        for ax, part, what in zip(row, ("ilr", "residual"), ("ILRLs", "residuals"), strict=True):
            place = points[f"{name}.{part}"]
            colors = np.array(TEN)[truth[order]]
            size = float(np.clip(20_000 / len(truth), 2.0, 10.0))
            ax.scatter(*place[order].T, s=size, c=colors, lw=0, alpha=0.7)
            ax.set(xticks=[], yticks=[])
            ax.set_title(f"{title}: {what}", fontsize=10)
            if part == "ilr":
                _label_clusters(ax, truth, place)
    _legend_of_digits(fig)
    return fig


def _label_clusters(ax: Any, truth: np.ndarray, place: np.ndarray) -> None:
    from matplotlib.patheffects import withStroke

    for digit in DIGITS:
        at = np.median(place[truth == digit], axis=0)
        text = ax.text(*at, str(digit), color=TEN[digit], fontsize=15, weight="bold",
                       ha="center", va="center")  # fmt: skip
        text.set_path_effects([withStroke(linewidth=3, foreground="w")])


def _legend_of_digits(fig: Any) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], ls="", marker="o", color=TEN[k], label=str(k)) for k in DIGITS]
    fig.legend(handles=handles, loc="outside lower center", ncols=len(DIGITS), frameon=False,
               handletextpad=0.1, columnspacing=1.2)  # fmt: skip


def divergences(theirs: np.ndarray, ours: Mapping[str, np.ndarray]) -> Any:
    """The paper's divergences and ours: in the two triangles of a table, and against each other."""
    fig = new_figure(7.4, 3.6)
    left, right = fig.subplots(1, 2, width_ratios=(1.15, 1))
    first = next(iter(ours.values()))
    heat_map(left, np.triu(first, 1) + np.tril(theirs, -1), "divergence (nat)")
    left.set(xlabel="digit (below: the paper's)", ylabel="digit (above: ours)")
    upper = np.triu_indices(len(theirs), 1)
    for k, (title, d) in enumerate(ours.items()):
        right.plot(theirs[upper], d[upper], ls="", marker=MARKERS[k], color=COLORS[k], ms=4,
                   alpha=0.8, label=title)  # fmt: skip
    right.axline((10, 10), (20, 20), color="0.45", lw=1, ls=":")
    right.set(xscale="log", yscale="log", xlabel="the paper's (nat)", ylabel="ours (nat)")
    use_plain_ticks(right.xaxis, right.yaxis)
    right.legend(fontsize="small")
    return fig


def pairs(actual: np.ndarray, least: np.ndarray) -> Any:
    """Cost of the LLRs of each pair of digits, and what calibration would leave of it."""
    fig = new_figure(5.6, 4.6)
    ax = fig.subplots()
    heat_map(ax, np.triu(actual, 1) + np.tril(least, -1), "cost of the LLRs (bit / 1000)")
    ax.set_xlabel(r"digit (below: $C_{\mathrm{llr}}^{\min}$)")
    ax.set_ylabel(r"digit (above: $C_{\mathrm{llr}}$)")
    return fig


def heat_map(ax: Any, matrix: np.ndarray, label: str) -> None:
    """Draw a matrix of pairs with the numbers in its cells."""
    matrix = matrix.copy()
    np.fill_diagonal(matrix, np.nan)
    image = ax.imshow(matrix, cmap="cividis", vmin=0, interpolation="none")
    ax.figure.colorbar(image, ax=ax, label=label, shrink=0.8)
    ax.set_xticks(DIGITS)
    ax.set_yticks(DIGITS)
    middle = 0.55 * np.nanmax(matrix)
    for i, j in np.argwhere(~np.isnan(matrix)):
        color = "w" if matrix[i, j] < middle else "k"
        number = f"{matrix[i, j]:.1f}" if matrix[i, j] < 9.95 else f"{matrix[i, j]:.0f}"
        ax.text(j, i, number, color=color, ha="center", va="center", fontsize=6.5)
