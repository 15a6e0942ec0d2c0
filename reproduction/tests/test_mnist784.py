"""MNIST on its 784 pixels, on the arrays of a quick run."""

import json

import numpy as np
import pytest

from reproduction import mnist
from reproduction.experiment import Figure
from reproduction.mnist784 import ALPHAS, Mnist784
from reproduction.verdicts import printed_numbers, verdict

EXPERIMENT = Mnist784()


@pytest.fixture(scope="module")
def results(quick_run):
    return quick_run.arrays["mnist-784"]


@pytest.fixture(scope="module")
def findings(results):
    return EXPERIMENT.findings(results, quick=True)


def test_each_number_that_the_paper_prints_is_measured(findings):
    wanted = {key for key, number in printed_numbers().items() if number.experiment == "mnist-784"}
    assert wanted == {number.key for number in findings.measurements}


def test_it_learns_more_than_chance(results):
    truth = results["data"]["truth"].astype(np.int64)
    assert mnist.hits(truth, results["cda"]).mean() > 0.5


def test_images_on_a_segment_have_the_llr_of_the_line_and_begin_with_the_second_digit(results):
    cda = results["cda"]
    for (i, j), llr in zip(cda["pairs"], cda["between_llr"], strict=True):
        d = cda["divergences"][i, j]
        np.testing.assert_allclose(llr, (2 * ALPHAS - 1) * d, atol=1e-2 * d)
        assert llr[0] < 0 < llr[-1]


def test_the_papers_example_is_an_erratum_and_ours_follows_from_the_divergence(results, findings):
    ours = next(n for n in findings.measurements if n.key == "text.mnist784.interpolation")
    d = results["cda"]["divergences"][0, 7]
    assert np.log(ours.value) == pytest.approx(-0.6 * d)
    assert verdict(printed_numbers()[ours.key], ours) == "not comparable"


def test_neutral_images_hold_no_evidence_and_converted_ones_that_of_their_digit(results):
    cda = results["cda"]
    assert cda["strength_before"].min() > 10
    assert cda["strength_after"].max() < 0.1
    np.testing.assert_array_equal(cda["converted_decided"], np.tile(np.arange(10), (10, 1)))


def test_images_are_bytes(results):
    for name in ("between", "samples", "originals", "neutral", "converted"):
        images = results["cda"][name]
        assert images.dtype == np.uint8
        assert images.shape[-2:] == (28, 28)
    np.testing.assert_array_equal(results["cda"]["originals"], results["data"]["examples"])


def test_figures_draw_without_warnings(findings):
    drawn = [block for block in findings.blocks if isinstance(block, Figure)]
    for block in drawn:
        block.draw().canvas.draw()
    assert len({block.name for block in drawn}) == len(drawn) == 5
    assert "Figure 15" in {block.paper for block in drawn}
    assert all("clipped" in block.caption for block in drawn)


def test_settings_of_steps_are_plain_data_and_quick_ones_differ():
    for quick, full in zip(EXPERIMENT.steps(True), EXPERIMENT.steps(False), strict=True):
        assert json.dumps(quick.settings) != json.dumps(full.settings)
