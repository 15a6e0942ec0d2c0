"""E-values against calibration and against a class mix: exact means, levels, files, extremes."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from deciban import CalibratedGaussian, Evidence
from deciban.exceptions import InputError, UnknownClassError
from deciban.monitoring import Monitor, calibration_e_test

# Inner modules, since their means can be enumerated.
from deciban.monitoring.calibration import FACTORS, Faults, factor_bets, ratio_bets
from deciban.monitoring.e_process import EProcess, MixProcess

TABLE = np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.2, 0.3, 0.4], [0.25, 0.05, 0.05, 0.65]])
with np.errstate(divide="ignore"):
    LOGS = np.log(TABLE.T)  # evidence of each of four outcomes
PRIOR = np.array([0.5, 0.3, 0.2])


def stream(family, n, rng, mix=None, factor=1.0, offset=0.0):
    D = len(family.means)
    y = rng.choice(D, n, p=mix)
    noise = rng.multivariate_normal(np.zeros(D - 1), family.covariance, n)
    return family.evidence(family.means[y] + noise).log_likelihoods * factor + offset, y


# --- means are one, by enumeration ------------------------------------------------------


@pytest.mark.parametrize("label", range(3))
def test_bets_on_classes_have_a_mean_of_one_under_each_class(label):
    e = np.exp(ratio_bets(LOGS, np.full(4, label)))
    possible = TABLE[label] > 0
    mean = TABLE[label, possible] @ e[possible]
    stakes = np.repeat([0.02, 0.1, 0.5], 3)
    lost = (TABLE @ ~possible)[np.tile(range(3), 3)]  # outcomes that the true class never has
    np.testing.assert_allclose(mean, 1 - stakes * lost, rtol=1e-12)


@pytest.mark.parametrize("labels", list(itertools.product(range(3), repeat=2)))
def test_bets_on_factors_have_a_mean_of_one_under_each_pair_of_classes(labels):
    mean = np.zeros(len(FACTORS))
    for outcome in itertools.product(range(4), repeat=2):
        p = TABLE[labels[0], outcome[0]] * TABLE[labels[1], outcome[1]]
        if p > 0:
            samples = ((LOGS[[k]], np.array([y])) for k, y in zip(outcome, labels, strict=True))
            mean += p * np.exp(factor_bets(*samples)[0])
    # Where an outcome is impossible in the other order, the bet on it is not paid out.
    assert (mean <= 1 + 1e-12).all()
    if labels[0] == labels[1] or 0 not in labels:
        np.testing.assert_allclose(mean, 1, rtol=1e-12)


def test_bets_on_factors_have_a_mean_of_one_where_strengths_differ_and_the_mix_does_not():
    tables, mean = (TABLE[:, 1:] + 0.05, np.full((3, 2), 0.5)), np.zeros(len(FACTORS))
    tables = [table / table.sum(axis=1, keepdims=True) for table in tables]
    for a, b in itertools.product(range(3), repeat=2):
        for i, j in itertools.product(range(3), range(2)):
            p = PRIOR[a] * tables[0][a, i] * PRIOR[b] * tables[1][b, j]
            first = np.log(tables[0][:, [i]].T), np.array([a])
            second = np.log(tables[1][:, [j]].T), np.array([b])
            mean += p * np.exp(factor_bets(first, second)[0])
    np.testing.assert_allclose(mean, 1, rtol=1e-12)


def test_a_bet_on_a_factor_is_a_ratio_of_logistic_functions():
    x, y = Evidence.from_llr([1.5, 0.4]).log_likelihoods[:, None]
    d = 1.5 - 0.4  # the first is of class 1, the second of class 0
    expected = [(1 + math.exp(-d)) / (1 + math.exp(-c * d)) for c in FACTORS]
    found = np.exp(factor_bets((x, np.array([1])), (y, np.array([0]))))
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("past", [[], [0, 1], [-1, 2, -1, 2]])
def test_bets_on_the_mix_have_a_mean_of_one_under_the_declared_mix(restart, past):
    means = np.zeros((2, 1 + restart))  # without and with labels
    for y, k in itertools.product(range(3), range(4)):
        for kind, w in enumerate((TABLE[:, k], np.eye(3)[y])):
            process = MixProcess(PRIOR, 0.01, restart)
            for row, before in enumerate(past):
                process.update(LOGS[1], before, row)
            means[kind] += PRIOR[y] * TABLE[y, k] * np.exp(process.log_e(w))
    np.testing.assert_allclose(means, 1, rtol=1e-12)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=30))
def test_with_labels_the_wealth_against_the_mix_is_that_of_the_dirichlet_mixture(labels):
    monitor = Monitor(range(3), PRIOR)
    found = monitor.update(np.zeros((len(labels), 3)), labels).mix.log_e
    a, counts = 1.5 * PRIOR, np.bincount(labels, minlength=3)
    marginal = gammaln(1.5) - gammaln(1.5 + len(labels)) + (gammaln(a + counts) - gammaln(a)).sum()
    assert found == pytest.approx(marginal - counts @ np.log(PRIOR), rel=1e-9, abs=1e-9)


# --- levels, exact and simulated --------------------------------------------------------


@pytest.mark.parametrize("mix", [[0, 1, 0, 1, 0, 1], [0, 0, 2, 1, 1, 1]])
def test_an_adversary_who_stops_at_will_is_right_at_most_alpha_of_the_time(mix):
    alpha, p_alarm = 0.5, 0.0
    for outcome in itertools.product(range(4), repeat=6):
        p = math.prod(TABLE[y, k] for y, k in zip(mix, outcome, strict=True))
        if p > 0:
            state = Monitor(range(3), alpha=alpha).update(LOGS[list(outcome)], mix)
            p_alarm += p * (state.calibration.alarm is not None)
    assert 0 < p_alarm <= alpha


@pytest.mark.slow
@pytest.mark.parametrize("mix", [[0.5, 0.5], [0.95, 0.05]])
def test_calibrated_streams_rarely_raise_an_alarm_however_long_one_looks(mix):
    family = CalibratedGaussian.from_divergences([3.0])
    alarms = [0, 0]
    for seed in range(200):
        l, y = stream(family, 1000, np.random.default_rng(seed), mix)
        state = Monitor([0, 1], mix, alpha=0.2).update(l, y)
        alarms[0] += state.calibration.alarm is not None
        alarms[1] += state.mix.alarm is not None
    assert max(alarms) <= 200 * 0.2 + 3 * math.sqrt(200 * 0.2 * 0.8)


def test_with_restarts_the_mean_number_of_steps_to_a_false_alarm_is_one_over_alpha_or_more():
    rng, steps = np.random.default_rng(0), []
    for _ in range(300):
        process = EProcess(np.ones(1), 0.02, restart=True)
        for row in itertools.count():
            process.step(np.log([0.4, 1.6])[rng.integers(2)] * np.ones(1), row)
            if process.alarm is not None:
                steps.append(row + 1)
                break
    assert np.mean(steps) >= 50


def test_a_restarted_bet_is_the_sum_over_all_starts():
    log_e = np.log([1.2, 0.7, 2.0, 0.9])
    process = EProcess(np.ones(1), 0.01, restart=True)
    totals = [process.step(np.array([one]), k) for k, one in enumerate(log_e)]
    sums = [sum(math.exp(log_e[j : k + 1].sum()) for j in range(k + 1)) for k in range(4)]
    np.testing.assert_allclose(np.exp(totals), sums, rtol=1e-12)


# --- what it finds ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "fault"),
    [({"factor": 2.5}, "too strong"), ({"factor": 0.4}, "too weak"),
     ({"offset": [0.0, 1.5, 0.0]}, "in favor of 1")],
)  # fmt: skip
def test_a_fault_is_found_and_named_and_the_mix_is_left_alone(change, fault):
    family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    l, y = stream(family, 1500, np.random.default_rng(3), **change)
    state = Monitor(range(3)).update(l, y)
    assert state.moved == ("calibration",)
    assert state.fault == fault
    assert calibration_e_test(y, l).fault == fault


def test_evidence_that_is_too_strong_is_not_said_to_favor_a_class_and_the_name_stays():
    family, named = CalibratedGaussian.from_divergences([3.0]), []
    for seed in range(20):
        rng, monitor = np.random.default_rng(seed), Monitor([0, 1])
        state = monitor.update(*stream(family, 600, rng, factor=2.0))
        if state.calibration.alarm is not None:
            named.append(state.fault)
            after = monitor.update(*stream(family, 600, rng, offset=[0.0, 2.0]))  # another fault
            assert (after.fault, after.factor) == (state.fault, state.factor)
            assert after.calibration.since == state.calibration.since
    assert len(named) > 10
    assert named.count("too strong") >= 0.9 * len(named)
    assert set(named) <= {"too strong", "not clear"}


def test_likelihoods_of_faults_are_those_of_the_labels_by_bayes_rule():
    w, mix = np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.3, 0.1])
    faults = Faults(mix)
    found = faults.log_ratios(np.log(w / w.max()), 1)

    def posterior(likelihoods):
        return (mix * likelihoods / (mix @ likelihoods))[1]

    expected = [posterior(w**c) for c in FACTORS]
    for offset in (0.5, 1.0, 1.5, -0.5, -1.0, -1.5):
        expected += [posterior(w * np.exp(-offset * np.eye(3)[k])) for k in range(3)]
    np.testing.assert_allclose(np.exp(found), np.array(expected) / posterior(w), rtol=1e-12)


def test_without_an_alarm_no_fault_no_factor_and_no_mix_is_named():
    state = Monitor([0, 1]).update([[0.0, -0.1], [-0.1, 0.0]], [0, 1])
    assert (state.fault, state.factor, state.shares) == (None, None, None)
    assert calibration_e_test([0, 1], [[0.0, -0.1], [-0.1, 0.0]]).fault is None


def test_the_mix_that_is_named_is_that_since_the_change():
    family, rng = CalibratedGaussian.from_divergences([3.0]), np.random.default_rng(2)
    monitor = Monitor([0, 1])
    monitor.update(*stream(family, 1000, rng))
    state = monitor.update(*stream(family, 300, rng, mix=[0.9, 0.1]))
    assert state.moved == ("mix",)
    assert abs(state.mix.since - 1000) < 50
    assert abs(state.shares[0] - 0.9) < 0.05


@pytest.mark.parametrize("labeled", [True, False])
def test_a_shift_of_the_mix_is_found_with_and_without_labels_and_calibration_is_left_alone(labeled):
    family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    l, y = stream(family, 1000, np.random.default_rng(4), mix=[0.7, 0.2, 0.1])
    state = Monitor(range(3)).update(l, y if labeled else None)
    assert state.moved == ("mix",)
    assert state.n_labeled == 1000 * labeled
    assert abs(state.shares[0] - 0.7) < 0.05


def test_a_change_after_a_long_calm_is_found_and_dated():
    family, rng = CalibratedGaussian.from_divergences([3.0]), np.random.default_rng(5)
    monitor = Monitor([0, 1], restart=True)
    assert monitor.update(*stream(family, 2000, rng)).moved == ()
    state = monitor.update(*stream(family, 600, rng, mix=[0.9, 0.1], factor=3.0))
    assert state.moved == ("calibration", "mix")
    for watch in (state.calibration, state.mix):
        assert 1900 <= watch.since <= watch.alarm <= 2300


# --- labels as they come ----------------------------------------------------------------


def test_labels_in_pandas_follow_the_rows_of_the_evidence_by_their_index():
    family = CalibratedGaussian.from_divergences([3.0])
    l, y = stream(family, 300, np.random.default_rng(0))
    frame, labels = pd.DataFrame(l, columns=[0, 1]), pd.Series(y)
    expected = Monitor([0, 1]).update(l, y)
    assert Monitor([0, 1]).update(frame, labels.sample(frac=1, random_state=1)) == expected
    with pytest.raises(InputError, match="evidence and y_true must have the same index"):
        Monitor([0, 1]).update(frame, labels.set_axis(labels.index + 1))


@pytest.mark.parametrize(
    "labels",
    [
        [[0], [None], [1]],
        np.array([[0], [np.nan], [1]]),
        np.ma.masked_array([0, 1, 1], mask=[0, 1, 0]),
        pd.DataFrame({"y": [0, None, 1]}),
        pd.array([0, None, 1], dtype="Int64"),
        pl.Series([0, None, 1]),
        pl.DataFrame({"y": [0, None, 1]}),
    ],
)
def test_labels_of_any_container_may_be_missing(labels):
    l = np.log([[0.7, 0.3], [0.4, 0.6], [0.2, 0.8]])
    assert Monitor([0, 1]).update(l, labels) == Monitor([0, 1]).update(l, [0, None, 1])


@pytest.mark.parametrize("labels", [1, "001", {0, 1}, [[0, 1], [0, 1], [0, 1]]])
def test_labels_that_are_no_row_are_refused(labels):
    with pytest.raises(InputError, match="y_true must be one row of labels"):
        Monitor([0, 1]).update(np.zeros((3, 2)), labels)


# --- order, files, extremes -------------------------------------------------------------


@pytest.mark.parametrize("restart", [False, True])
def test_in_parts_and_through_files_it_goes_on_exactly_as_in_one_run(tmp_path, restart):
    family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    l, y = stream(family, 101, np.random.default_rng(6), factor=2.0)
    labels = y.astype(object)
    labels[::7] = None
    whole = Monitor(range(3), PRIOR, restart=restart)
    expected = whole.update(l, labels)
    monitor, path = Monitor(range(3), PRIOR, restart=restart), tmp_path / "monitor.json"
    for rows in (slice(0, 0), slice(0, 1), slice(1, 40), slice(40, 43), slice(43, None)):
        monitor.update(Evidence(l, range(3))[rows], labels[rows])
        monitor.save(path)
        monitor = Monitor.load(path)
    assert monitor.state == expected
    whole.save(tmp_path / "whole.json")
    assert path.read_bytes() == (tmp_path / "whole.json").read_bytes()


def test_the_running_e_value_is_that_of_a_monitor_that_stops_there():
    family = CalibratedGaussian.from_divergences([3.0])
    l, y = stream(family, 9, np.random.default_rng(7), factor=3.0)
    found = calibration_e_test(y, l, classes=[0, 1]).log_e
    stopped = [Monitor([0, 1]).update(l[:n], y[:n]).calibration.log_e for n in range(1, 10)]
    assert found.tolist() == stopped


def test_the_order_of_the_samples_matters_and_that_of_the_classes_does_not():
    family = CalibratedGaussian.from_divergences([3.0])
    l, y = stream(family, 50, np.random.default_rng(8), factor=2.0)
    first = calibration_e_test(y, l).log_e[-1]
    assert calibration_e_test(np.roll(y, 1), np.roll(l, 1, axis=0)).log_e[-1] != first
    swapped = calibration_e_test(y, Evidence(l[:, ::-1], [1, 0])).log_e[-1]
    assert swapped == pytest.approx(first, rel=1e-12)


def test_evidence_that_rules_a_true_class_out_is_a_certain_alarm_and_can_be_saved(tmp_path):
    monitor = Monitor(["a", "b"])
    state = monitor.update(Evidence([[0, -np.inf], [0, 0], [0, -5.0]], ["a", "b"]), ["b", "a", "a"])
    assert state.calibration.log_e == math.inf
    assert (state.calibration.alarm, state.fault, state.factor) == (0, "too strong", None)
    monitor.save(tmp_path / "m.json")
    again = Monitor.load(tmp_path / "m.json").update([[0.0, -1.0]], ["a"])
    assert again.calibration.log_e == math.inf


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_sample_that_rules_its_class_out_does_not_wait_for_another(n):
    l = np.zeros((n, 2))
    l[-1, 1] = -np.inf
    found = calibration_e_test(np.ones(n, dtype=int), l, classes=[0, 1])
    assert found.p_value == 0
    assert np.isposinf(found.log_e).tolist() == [False] * (n - 1) + [True]
    parts = Monitor([0, 1])
    for row in (*l, [0.0, -1.0]):
        state = parts.update([row], [1])
    assert state == Monitor([0, 1]).update(np.vstack([l, [0.0, -1.0]]), np.ones(n + 1, dtype=int))
    assert state.calibration.alarm == n - 1


@pytest.mark.parametrize("labels", [[0, 1], [0.5, 1.5], ["a", "b"], [True, False]])
def test_labels_of_numpy_can_be_saved(tmp_path, labels):
    monitor = Monitor(list(np.array(labels)))
    monitor.save(tmp_path / "m.json")
    assert Monitor.load(tmp_path / "m.json").classes == tuple(labels)


def test_a_monitor_that_cannot_be_saved_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "m.json"
    Monitor([0, 1]).save(path)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"monitor\.classes must be text, numbers or truth values"):
        Monitor([("a", np.int64(1)), ("b", np.int64(2))]).save(path)
    assert path.read_bytes() == before


def test_a_class_that_is_declared_all_but_impossible_is_no_reason_for_nan():
    state = Monitor([0, 1], [1, 5e-324]).update([[-np.inf, 0.0]] * 3)
    assert state.moved == ("mix",)
    assert math.isfinite(state.mix.log_e)


@pytest.mark.parametrize("size", [800.0, 1e6, 1e300])
def test_right_evidence_of_any_strength_is_no_reason_for_an_alarm(size):
    y = np.arange(100) % 2
    l = np.where(np.eye(2)[y] == 1, 0.0, -size)
    for labels in (y, None):
        assert Monitor([0, 1]).update(l, labels).moved == ()
    wrong = Monitor([0, 1]).update(l[:2], 1 - y[:2])
    assert wrong.moved == ("calibration",)


def test_one_sample_none_and_a_thousand_classes_are_fine():
    assert Monitor([0, 1]).update(np.empty((0, 2))).n_samples == 0
    assert calibration_e_test([0], [[0.0, -1.0]], classes=[0, 1]).p_value == 1
    state = Monitor(range(1000)).update(np.zeros((4, 1000)), [1, 2, 3, 4])
    assert state.calibration.log_e == pytest.approx(0, abs=1e-12)
    assert math.isfinite(state.mix.log_e)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Monitor(["a"]), "classes must be two or more"),
        (lambda: Monitor([0, 1], alpha=0), "alpha must lie between 0 and 1"),
        (lambda: Monitor([0, 1], restart="yes"), "restart must be True or False"),
        (lambda: Monitor([0, 1], [0.5, 0.6]), "prior must sum to one"),
        (lambda: Monitor([0, 1]).update([[0, 1]], [0, 1]), "one label for each of 1 samples"),
        (lambda: Monitor([0, 1]).update([[0, 1, 2]]), "3"),
        (lambda: Monitor.load("nowhere.json"), "must be a file; there is none"),
        (lambda: Monitor.load("."), "must be a file; it is a folder"),
    ],
)
def test_what_cannot_be_watched_is_refused_in_a_sentence(call, says):
    with pytest.raises(InputError, match=says):
        call()


def test_an_unknown_label_is_refused_and_changes_nothing():
    monitor = Monitor([0, 1])
    before = monitor.update([[0, 1]], [1])
    with pytest.raises(UnknownClassError, match="must hold the classes 0, 1 only"):
        monitor.update([[0, 1], [0, 1]], [1, 2])
    assert monitor.state == before


@pytest.mark.parametrize(
    "spoil",
    [
        lambda plain: plain.pop("counts"),
        lambda plain: plain.update(kind="Model"),
        lambda plain: plain.update(version=2),
        lambda plain: plain.update(rows=-1),
        lambda plain: plain.update(prior=[1.0]),
        lambda plain: plain["mix"].update(log_wealth=["nan"]),
        lambda plain: plain["calibration"].update(alarm="today"),
        lambda plain: plain.update(waiting=[0, [0.0], 5]),
        lambda plain: plain.update(waiting={"tuple": [0, [{"number": "inf"}, 0.0], 1]}),
        lambda plain: plain.update(waiting={"tuple": [9, [-1.0, 0.0], 1]}),
        lambda plain: plain["mix"].update(starts=[1e300]),
        lambda plain: plain["mix"].update(alarm=7),
        lambda plain: plain.update(fault=3),
        lambda plain: plain.update(tables=[3]),
        lambda plain: plain.update(tables=None),
        lambda plain: plain.update(factor="much"),
        lambda plain: plain.update(recent=[[-1.0, 0.0]]),
        lambda plain: plain.update(classes={"class": "Evidence", "parts": {}}),
    ],
)
def test_a_file_that_is_not_whole_is_refused_in_a_sentence(tmp_path, spoil):
    path = tmp_path / "m.json"
    monitor = Monitor([0, 1])
    monitor.update([[0.0, 1.0]], [1])
    monitor.save(path)
    plain = json.loads(path.read_text())
    spoil(plain)
    path.write_text(json.dumps(plain))
    with pytest.raises(InputError, match=r"m.json must be a whole file of a monitor"):
        Monitor.load(path)
    path.write_text("{")
    with pytest.raises(InputError, match=r"m.json must be a whole file of a monitor"):
        Monitor.load(path)
