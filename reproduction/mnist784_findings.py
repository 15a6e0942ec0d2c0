"""MNIST on its 784 pixels: numbers, a table and figures, from the arrays of the steps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from reproduction import mnist784_figures as figures
from reproduction.experiment import (
    Arrays,
    Block,
    Figure,
    Findings,
    Measurement,
    Paragraph,
    Table,
)
from reproduction.intervals import exact
from reproduction.mnist import costs, with_interval
from reproduction.verdicts import printed_numbers

_CLIPPED = "Pixels are clipped to the range from 0 (paper) to 1 (ink), for drawing only."
_ALPHA = 0.2  # of the paper's example

Results = Mapping[str, Arrays]


def findings_of(results: Results) -> Findings:
    """Everything that the page of this experiment shows."""
    y_true = results["data"]["truth"].astype(np.int64)
    cda = results["cda"]
    cost, right = costs("mnist784.cda", y_true, cda)
    described = costs("mnist784.cda", y_true, results["cda-described"], described=True)
    d = float(cda["divergences"][0, 7])
    ratio = exact("text.mnist784.interpolation", float(np.exp((2 * _ALPHA - 1) * d)))
    blocks: list[Block] = [
        _about(results, y_true, cost, right),
        _costs(described, (cost, right)),
        _between(cda),
        _line(cda, d, ratio),
        _segment(cda),
        _samples(cda),
        _neutral(cda),
        _classified(cda, y_true),
        _converted(cda),
    ]
    return Findings(blocks, [*described, cost, right, ratio])


def _about(
    results: Results, y_true: np.ndarray, cost: Measurement, right: Measurement
) -> Paragraph:
    printed = printed_numbers()["mnist784.cda.c_mc"]
    return Paragraph(
        f"{int(results['data']['n_train']):,} training and {len(y_true):,} test images, 784 pixels "
        f"from 0 to 1, the default CDA. Its C_mc is {with_interval(cost, 4)} nat, "
        f"{cost.value / printed.value:.2f} times the paper's {printed.value:.3f}, and its accuracy "
        f"is {right.value:.2f} %. The inverse of its flow maps points of the base space to the "
        f"images below."
    )


def _costs(
    described: tuple[Measurement, Measurement], ours: tuple[Measurement, Measurement]
) -> Table:
    printed = printed_numbers()
    rows = [
        [title, with_interval(described[k], digits), with_interval(ours[k], digits),
         f"{printed[f'mnist784.cda.{name}'].value:g}"]
        for k, (title, name, digits) in enumerate(
            (("C_mc (nat)", "c_mc", 4), ("accuracy (%)", "accuracy", 2))
        )
    ]  # fmt: skip
    return Table(
        "CDA on the test images, with 95 % intervals (test images resampled), and the paper's CDA.",
        ("", "as described, sizes ours", "our default", "paper"),
        rows,
    )


def _between(cda: Arrays) -> Figure:
    return Figure(
        "mnist784-between",
        "Images on the segment α m_i + (1 − α) m_j between the centers of two digits, with zero "
        "residual. Below each image is the LLR in favor of the digit at the left end (α = 1), in "
        "nats and, in parentheses, decibans. It falls linearly from d to −d, through zero in the "
        "middle. " + _CLIPPED,
        partial(figures.between, cda),
        "Figure 15",
        "png",
    )


def _line(cda: Arrays, d: float, ratio: Measurement) -> Paragraph:
    i, j = cda["pairs"].T
    line = (2 * cda["alphas"] - 1) * cda["divergences"][i, j][:, None]
    off = float(np.abs(cda["between_llr"] - line).max())
    shown = cda["between_llr_clipped"]
    same = float(np.mean(np.sign(shown) == np.sign(line), where=np.abs(line) > 1e-9))
    return Paragraph(
        f"On the segment the LLR of i against j is (2α − 1) d_ij; the LLRs that the model assigns "
        f"to the images themselves deviate from this line by at most {off:.2g} nat. With d = "
        f"{d:.1f} nat between 0 and 7, the image at α = {_ALPHA} is {ratio.value:.2g} times as "
        f"probable under 0 as under 7, not 5 times, as the paper has it. (Images clipped to 0 to "
        f"1, as they are drawn, have other LLRs; {same:.0%} of these have the same sign.)"
    )


def _segment(cda: Arrays) -> Figure:
    return Figure(
        "mnist784-llr",
        "LLR of the images on the two segments, in nats: the line that follows from the base "
        "space, the model's LLRs of the images (on the line), and its LLRs of the images clipped "
        "to 0 to 1.",
        partial(figures.segment, cda),
    )


def _samples(cda: Arrays) -> Figure:
    outside = float(cda["samples_outside"])
    return Figure(
        "mnist784-samples",
        f"Images sampled from the CDA, one column for each digit. {outside:.0%} of their pixels "
        f"lie outside 0 to 1, since the flow is not limited to this range. {_CLIPPED}",
        partial(figures.samples, cda["samples"]), "", "png",
    )  # fmt: skip


def _neutral(cda: Arrays) -> Figure:
    before, after, shown = (
        float(np.median(cda[f"strength_{name}"])) for name in ("before", "after", "clipped")
    )
    return Figure(
        "mnist784-neutral",
        "Top: the first test image of each digit. Bottom: the same image with its evidence removed "
        "(ILRL set to zero, residual unchanged). Numbers are the strength of the evidence, its "
        f"Aitchison norm, in decibans: a median of {before:.0f} before, {after:.1g} after. "
        f"{_CLIPPED} Clipped images have a median of {shown:.0f}, so the images as drawn are not "
        "free of evidence.",
        partial(figures.neutral, cda), "", "png",
    )  # fmt: skip


def _classified(cda: Arrays, y_true: np.ndarray) -> Paragraph:
    before, after = (float(np.mean(cda[f"found_{when}"] == y_true)) for when in ("before", "after"))
    return Paragraph(
        f"The evidence is hidden from the model, not from every classifier: a random forest "
        f"trained on neutralized test images (clipped, in three folds) is right for {after:.0%} of "
        f"them, compared with {before:.0%} for the original images and "
        f"{np.bincount(y_true).max() / len(y_true):.0%} for the most common digit. The residual of "
        f"this flow still depends on the digit."
    )


def _converted(cda: Arrays) -> Figure:
    right = float(np.mean(cda["converted_decided"] == np.arange(10)))
    return Figure(
        "mnist784-converted",
        "Left: the first test image of each digit. Then the same image converted to each digit: "
        "the ILRL is set to the center of that digit, the residual is unchanged. Frames mark the "
        f"image's own digit. The model assigns {right:.0%} of the converted images to the digit "
        f"that they were converted to. {_CLIPPED}",
        partial(figures.converted, cda), "", "png",
    )  # fmt: skip
