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
    Measured,
    Paragraph,
    Table,
)
from reproduction.intervals import exact
from reproduction.mnist import costs, with_interval
from reproduction.verdicts import printed_numbers

_CLIPPED = "For drawing only, pixels are clipped to the range of 0 (paper) to 1 (ink)."
_ALPHA = 0.2  # of the paper's example

Results = Mapping[str, Arrays]


def findings_of(results: Results) -> Findings:
    """All that the page of this experiment shows."""
    truth = results["data"]["truth"].astype(np.int64)
    cda = results["cda"]
    cost, right = costs("mnist784.cda", truth, cda)
    described = costs("mnist784.cda", truth, results["cda-described"], described=True)
    d = float(cda["divergences"][0, 7])
    ratio = exact("text.mnist784.interpolation", float(np.exp((2 * _ALPHA - 1) * d)))
    blocks: list[Block] = [
        _about(results, truth, cost, right),
        _costs(described, (cost, right)),
        _between(cda),
        _line(cda, d, ratio),
        _segment(cda),
        _samples(cda),
        _neutral(cda),
        _still_told(cda, truth),
        _converted(cda),
    ]
    return Findings(blocks, [*described, cost, right, ratio])


def _about(results: Results, truth: np.ndarray, cost: Measured, right: Measured) -> Paragraph:
    printed = printed_numbers()["mnist784.cda.c_mc"]
    return Paragraph(
        f"{int(results['data']['n_train']):,} training and {len(truth):,} test images, 784 pixels "
        f"from 0 to 1, the default CDA. Its C_mc is {with_interval(cost, 4)} nat, "
        f"{cost.value / printed.value:.2f} times the paper's {printed.value:.3f}, and it is right "
        f"for {right.value:.2f} % of the test images. Every image below is made by the inverse of "
        f"its flow from a point of the base space."
    )


def _costs(described: tuple[Measured, Measured], ours: tuple[Measured, Measured]) -> Table:
    printed = printed_numbers()
    rows = [
        [title, with_interval(described[k], digits), with_interval(ours[k], digits),
         f"{printed[f'mnist784.cda.{name}'].value:g}"]
        for k, (title, name, digits) in enumerate(
            (("C_mc (nat)", "c_mc", 4), ("accuracy (%)", "accuracy", 2))
        )
    ]  # fmt: skip
    return Table(
        "CDA on the test images, with 95 % intervals (test images drawn again), and the paper's.",
        ("", "as described, sizes ours", "our default", "paper"),
        rows,
    )


def _between(cda: Arrays) -> Figure:
    return Figure(
        "mnist784-between",
        "Images on the segment α m_i + (1 − α) m_j between the centres of two digits, residual "
        "zero; below each the LLR in favour of the digit at the left end (α = 1), in nats, and in "
        "brackets in decibans. It falls evenly from d to −d, through zero in the middle. "
        + _CLIPPED,
        partial(figures.between, cda),
        "Figure 15",
        "png",
    )


def _line(cda: Arrays, d: float, ratio: Measured) -> Paragraph:
    i, j = cda["pairs"].T
    line = (2 * cda["alphas"] - 1) * cda["divergences"][i, j][:, None]
    off = float(np.abs(cda["between_llr"] - line).max())
    shown = cda["between_llr_clipped"]
    kept = float(np.mean(np.sign(shown) == np.sign(line), where=np.abs(line) > 1e-9))
    return Paragraph(
        f"On the segment the LLR of i against j is (2α − 1) d_ij; the LLRs that the model gives "
        f"to the images themselves are off from this line by {off:.2g} nat at most. With d = "
        f"{d:.1f} nat between 0 and 7, the image at α = {_ALPHA} is {ratio.value:.2g} times as "
        f"likely to come from a 0 as from a 7, not 5 times, as the paper has it. (Once clipped to "
        f"0 to 1, so as they are seen, images have other LLRs: {kept:.0%} of them keep the sign.)"
    )


def _segment(cda: Arrays) -> Figure:
    return Figure(
        "mnist784-llr",
        "LLR of the images on the two segments, in nats: the line that follows from the base "
        "space, what the model says of the images as they are made (on the line), and of the "
        "images clipped to 0 to 1.",
        partial(figures.segment, cda),
    )


def _samples(cda: Arrays) -> Figure:
    outside = float(cda["samples_outside"])
    return Figure(
        "mnist784-samples",
        f"Images that the CDA draws, one column a digit. {outside:.0%} of their pixels lie "
        f"outside 0 to 1: a flow knows of no such range. {_CLIPPED}",
        partial(figures.samples, cda["samples"]), "", "png",
    )  # fmt: skip


def _neutral(cda: Arrays) -> Figure:
    before, after, shown = (
        float(np.median(cda[f"strength_{name}"])) for name in ("before", "after", "clipped")
    )
    return Figure(
        "mnist784-neutral",
        "Above, the first test image of each digit; below, the same image with its evidence taken "
        "out (ILRL zero, residual kept). Numbers are the strength of the evidence, its Aitchison "
        f"norm, in decibans: {before:.0f} in the median before, {after:.1g} after. {_CLIPPED} "
        f"Clipped images have {shown:.0f} in the median, so that what is seen is not free of "
        "evidence.",
        partial(figures.neutral, cda), "", "png",
    )  # fmt: skip


def _still_told(cda: Arrays, truth: np.ndarray) -> Paragraph:
    before, after = (float(np.mean(cda[f"found_{when}"] == truth)) for when in ("before", "after"))
    return Paragraph(
        f"Evidence is hidden from the model, not from everyone: a random forest that learns from "
        f"neutralised test images (clipped, in three folds) finds {after:.0%} of the digits, "
        f"{before:.0%} in the images as they were, and {np.bincount(truth).max() / len(truth):.0%} "
        f"are of the commonest digit. The residual of this flow is not free of the digit."
    )


def _converted(cda: Arrays) -> Figure:
    right = float(np.mean(cda["converted_decided"] == np.arange(10)))
    return Figure(
        "mnist784-converted",
        "Left, the first test image of each digit; then the same image as each of the digits: the "
        "digit's centre for the ILRL, the residual kept. Frames mark the digit's own column. The "
        f"model takes {right:.0%} of the converted images for the digit that they were converted "
        f"to. {_CLIPPED}",
        partial(figures.converted, cda), "", "png",
    )  # fmt: skip
