"""Figures of MNIST on its 784 pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from deciban.evidence import from_nats
from reproduction.drawing import COLORS, MARKERS, new_figure
from reproduction.experiment import Arrays
from reproduction.mnist import DIGITS
from reproduction.mnist40_figures import show_image


def between(cda: Arrays) -> Any:
    """Strips of images from one digit to another, as α falls from 1 to 0."""
    alphas, images = cda["alphas"], cda["between"]
    fig = new_figure(8.4, 1.2 * len(images))
    axes = fig.subplots(len(images), len(alphas))
    for row, (i, j), strip, llrs in zip(
        axes, cda["pairs"], images, cda["between_llr"], strict=True
    ):
        for k, ax in zip(range(len(alphas) - 1, -1, -1), row, strict=True):
            nats, decibans = llrs[k], float(from_nats(llrs[k], "deciban"))
            below = f"{_signed(nats)}\n({_signed(decibans)})"
            show_image(ax, strip[k], f"α = {alphas[k]:.1f}", below)
        row[0].set_ylabel(f"{i} to {j}", fontsize=9)
    return fig


def _signed(value: float) -> str:
    rounded = round(value)
    return "0" if rounded == 0 else f"{rounded:+d}".replace("-", "−")


def segment(cda: Arrays) -> Any:
    """LLRs of images on a segment, with the line that they should lie on."""
    fig = new_figure(7.2, 3.3)
    alphas = cda["alphas"]
    for k, (ax, (i, j)) in enumerate(zip(fig.subplots(1, 2), cda["pairs"], strict=True)):
        d = cda["divergences"][i, j]
        ax.axhline(0, color="0.85", lw=1)
        ax.plot(alphas, (2 * alphas - 1) * d, color="0.45", lw=1.2, label=f"(2α − 1) {d:.1f}")
        for m, (name, what) in enumerate(
            (("between_llr", "images"), ("between_llr_clipped", "images, clipped"))
        ):
            # The larger markers are open, so that both can be seen where they coincide.
            style = {"marker": MARKERS[m], "color": COLORS[m], "ls": "", "ms": (4, 8)[m]}
            style["mfc"] = ("none", COLORS[m])[m == 0]
            ax.plot(alphas, cda[name][k], label=what, **style)
        ax.set(xlabel="α", ylabel=f"LLR of {i} against {j} (nat)")
        ax.legend(fontsize="small")
    return fig


def samples(images: np.ndarray) -> Any:
    """Sampled images, a column for each digit."""
    fig = new_figure(6.4, 0.64 * images.shape[1] + 0.3)
    axes = fig.subplots(images.shape[1], len(DIGITS))
    for digit in DIGITS:
        for k, ax in enumerate(axes[:, digit]):
            show_image(ax, images[digit, k], str(digit) if k == 0 else "")
    return fig


def neutral(cda: Arrays) -> Any:
    """Images before and after their evidence is removed."""
    fig = new_figure(8.0, 2.0)
    axes = fig.subplots(2, len(DIGITS))
    for row, name, strength, what in zip(
        axes, ("originals", "neutral"), ("before", "after"), ("as it is", "neutral"), strict=True
    ):
        for digit in DIGITS:
            number = cda[f"strength_{strength}"][digit]
            show_image(row[digit], cda[name][digit], below=f"{number:.0f}")
        row[0].set_ylabel(what, fontsize=8)
    return fig


def converted(cda: Arrays) -> Any:
    """Images converted to each of the digits, a row for each image."""
    fig = new_figure(7.2, 6.7)
    axes = fig.subplots(len(DIGITS), len(DIGITS) + 1, width_ratios=(1.25, *[1] * len(DIGITS)))
    for digit, row in zip(DIGITS, axes, strict=True):
        show_image(row[0], cda["originals"][digit], "image" if digit == 0 else "")
        for to, ax in zip(DIGITS, row[1:], strict=True):
            show_image(ax, cda["converted"][digit, to], f"to {to}" if digit == 0 else "")
        row[1 + digit].spines[:].set(color="#D55E00", lw=1.8)
    return fig
