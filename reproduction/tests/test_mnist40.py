"""MNIST on 40 principal components, on the arrays of a quick run."""

import json
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from digit_files import TRAINING
from scipy.stats import spearmanr

from deciban import metrics
from reproduction import baselines, mnist, mnist40, mnist40_findings
from reproduction.experiment import Figure, Table
from reproduction.step_cache import StepCache
from reproduction.verdicts import printed_numbers

EXPERIMENT = mnist40.Mnist40()


@pytest.fixture(scope="module")
def results(quick_run):
    return quick_run.arrays["mnist-40"]


@pytest.fixture(scope="module")
def findings(results):
    return EXPERIMENT.findings(results, quick=True)


@pytest.fixture(scope="module")
def truth(results):
    return results["data"]["truth"].astype(np.int64)


def test_each_number_that_the_paper_prints_is_measured_once(findings):
    wanted = {key for key, number in printed_numbers().items() if number.experiment == "mnist-40"}
    keys = [(number.key, number.described) for number in findings.measurements]
    assert len(keys) == len(set(keys))
    assert wanted <= {key for key, _ in keys}
    assert {("mnist40.cda.c_mc", True), ("mnist40.cda.c_mc", False)} <= set(keys)


def test_measured_numbers_lie_within_their_intervals(findings):
    assert all(n.low <= n.value <= n.high for n in findings.measurements)
    assert all(np.isfinite([n.low, n.high]).all() for n in findings.measurements)


def test_costs_are_those_of_the_metrics(results, findings, truth):
    measured = {number.key: number for number in findings.measurements if not number.described}
    for name in ("qda", "cda", "network-noise"):
        evidence = mnist.evidence_of(results[name])
        key = f"mnist40.{name.replace('-', '_')}"
        assert measured[f"{key}.c_mc"].value == pytest.approx(
            metrics.cross_entropy(truth, evidence), rel=1e-9
        )
        right = 100 * np.mean(evidence.decide() == truth)
        assert measured[f"{key}.accuracy"].value == pytest.approx(right)


def test_every_system_learns_more_than_chance_and_is_in_the_first_table(results, findings, truth):
    table = next(block for block in findings.blocks if isinstance(block, Table))
    assert [row[0] for row in table.rows] == [mnist40_findings.TITLES[n] for n in mnist40.SYSTEMS]
    for name in mnist40.SYSTEMS:
        assert mnist.hits(truth, results[name]).mean() > 0.3, name
        values = results[name]["log_likelihoods"]
        np.testing.assert_allclose(values.sum(axis=1), 0, atol=1e-4 * np.abs(values).max())


def test_calibration_and_discrimination_add_up_to_the_cost(findings):
    table = next(block for block in findings.blocks if isinstance(block, Table))
    for row in table.rows:
        cost, calibration, discrimination = row[1].split()[0], row[5].replace("−", "-"), row[6]
        assert float(calibration) + float(discrimination) == pytest.approx(float(cost), abs=2e-4)


def test_lda_and_qda_are_compared_without_an_interval(findings):
    for number in findings.measurements:
        if number.key.startswith(("mnist40.lda", "mnist40.qda")):
            assert number.low == number.value == number.high


def test_stored_ilrls_are_those_of_the_stored_evidence(results):
    ilr = mnist.evidence_of(results["cda"]).ilr()
    np.testing.assert_allclose(results["cda"]["ilr"], ilr, atol=1e-3)
    assert results["cda"]["residual"].shape[1] == mnist.COMPONENTS - 9


def test_divergences_are_those_of_the_cda_as_described_and_their_ranks_are_given(results, findings):
    measured = {number.key: number.value for number in findings.measurements}
    d = results["cda-paper"]["divergences"]
    assert measured["mnist40.cda.divergence.38"] == d[3, 8]
    pairs = [(i, j) for i in range(10) for j in range(i + 1, 10)]
    theirs = [printed_numbers()[f"mnist40.cda.divergence.{i}{j}"].value for i, j in pairs]
    rank = spearmanr([d[pair] for pair in pairs], theirs).statistic
    figure = next(block for block in findings.blocks if getattr(block, "name", "") ==
                  "mnist40-divergences")  # fmt: skip
    assert f"{rank:.2f} (as described)" in figure.caption


def test_figures_draw_without_warnings(findings):
    names = []
    for block in findings.blocks:
        if isinstance(block, Figure):
            block.draw().canvas.draw()
            names.append(block.name)
            assert block.caption.endswith(".")
    assert len(names) == len(set(names)) == 6
    assert {b.paper for b in findings.blocks if isinstance(b, Figure)} >= {"Figure 13", "Figure 14"}


def test_rows_of_tables_are_as_long_as_their_headers(findings):
    for block in findings.blocks:
        if isinstance(block, Table):
            assert {len(row) for row in block.rows} == {len(block.header)}


@pytest.mark.parametrize("quick", [True, False])
def test_settings_of_steps_are_plain_data_and_quick_ones_differ(quick, tmp_path):
    for step, other in zip(EXPERIMENT.steps(quick), EXPERIMENT.steps(not quick), strict=True):
        json.dumps(step.settings)
        assert step.name == other.name
    keys = [StepCache(tmp_path, EXPERIMENT.steps(q))._keys for q in (quick, not quick)]
    assert all(keys[0][name] != keys[1][name] for name in keys[0])


def test_half_decades_of_errors_count_every_image():
    truth = np.arange(797) % 10
    values = np.full((len(truth), 10), -50.0)
    values[np.arange(len(truth)), truth] = 0.0
    wrong = (truth + 1) % 10
    values[:100, :] = -50.0
    values[np.arange(100), wrong[:100]] = 0.0
    rates = mnist40_findings.error_rates(truth, {"log_likelihoods": values})
    assert rates.observed.tolist() == [100 / len(truth)]
    assert rates.stated[0] == pytest.approx(9 * np.exp(-50), rel=1e-6)


def test_training_images_of_a_quick_run_are_those_of_the_folder(results):
    assert int(results["data"]["n_train"]) == TRAINING


def test_a_posterior_of_zero_costs_much_but_not_infinity():
    arrays = baselines.from_posteriors(np.array([[1.0, 0.0], [0.3, 0.7]]), np.array([0, 1]))
    assert int(arrays["floored"]) == 1
    cost = mnist.losses(np.array([1, 1]), arrays)
    assert cost[0] == pytest.approx(-np.log(np.finfo(float).tiny), rel=1e-6)
    assert cost[1] == pytest.approx(-np.log(0.7), rel=1e-6)


def test_posteriors_lose_the_class_mix_of_training():
    arrays = baselines.from_posteriors(np.array([[0.9, 0.1]]), np.repeat([0, 1], [90, 10]))
    np.testing.assert_allclose(arrays["log_likelihoods"], 0, atol=1e-6)


def test_smallest_margins_are_in_the_order_of_scikit_learns_pairs():
    margins = np.array([[1.0, -2.0, 3.0]])  # 0 over 1, 0 over 2, 1 over 2
    np.testing.assert_array_equal(baselines._smallest_margins(margins, 3), [[-2.0, -1.0, -3.0]])


def test_a_map_is_asked_for_so_that_it_can_be_repeated_and_its_warnings_stay_inside(monkeypatch):
    """In place of umap, whose compilation takes longer than all other tests of this file."""

    class Stub:
        def __init__(self, **options):
            assert options == {"random_state": 0, "n_jobs": 1}

        def fit_transform(self, points):
            warnings.warn("as numba does", stacklevel=1)
            return points[:, 1:3]

    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=Stub))
    points = np.arange(12.0).reshape(3, 4)
    place = mnist40.umap(points)
    assert place.dtype == np.float32
    np.testing.assert_array_equal(place, points[:, 1:3])
