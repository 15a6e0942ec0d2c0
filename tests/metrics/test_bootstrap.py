"""Bootstrap intervals: coverage, strata, groups, seeds."""

from inspect import signature

import numpy as np
import pytest
from joblib import parallel_config
from scipy import stats

from deciban import CalibratedGaussian, metrics
from deciban.exceptions import InputError

FAMILY = CalibratedGaussian.from_divergences([3.0])


def draw(n, rng):
    l, y = FAMILY.sample([n, n], rng)
    return y, FAMILY.evidence(l)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_intervals_cover_the_truth_as_often_as_they_say(method):
    truth = FAMILY.expected_cllr(0, 1)
    hits = 0
    for seed in range(100):
        y, evidence = draw(200, seed)
        llr = evidence.llr(1, 0)
        interval = metrics.bootstrap(
            metrics.cllr, y, llr, method=method, confidence=0.9, n_resamples=150, rng=seed
        )
        hits += interval.low <= truth <= interval.high
    assert 0.81 <= hits / 100 <= 0.99  # 0.9, give or take three standard errors


def test_bca_is_scipys_for_one_sample(rng):
    """A mean over one class with the other held fixed is a one-sample problem."""
    x = rng.exponential(size=80)
    y = np.zeros(81, dtype=int)
    y[-1] = 1
    values = np.append(x, 0.0)

    def mean_of_others(labels, values):
        return float(values[labels == 0].mean())

    ours = metrics.bootstrap(mean_of_others, y, values, n_resamples=20_000, rng=1)
    seed = "rng" if "rng" in signature(stats.bootstrap).parameters else "random_state"
    theirs = stats.bootstrap((x,), np.mean, n_resamples=20_000, method="BCa", **{seed: 1})
    bounds = theirs.confidence_interval
    np.testing.assert_allclose([ours.low, ours.high], bounds, rtol=0.02)
    np.testing.assert_allclose(ours.standard_error, theirs.standard_error, rtol=0.02)


def test_each_class_keeps_its_size(rng):
    y = np.repeat([0, 1], [7, 3])
    seen = set()

    def metric(labels, values):
        seen.add((int((labels == 0).sum()), int((labels == 1).sum())))
        return float(values.mean())

    metrics.bootstrap(metric, y, rng.normal(size=10), method="percentile", n_resamples=50)
    assert seen == {(7, 3)}


def test_whole_groups_are_drawn_and_widen_the_interval(rng):
    speakers = np.repeat(np.arange(20), 30)
    y = speakers % 2
    llr = 2.0 * (2 * y - 1) + rng.normal(size=20)[speakers] * 2 + 0.1 * rng.normal(size=600)

    def metric(labels, values):
        return metrics.cllr(labels, values)

    alone = metrics.bootstrap(metric, y, llr, n_resamples=300)
    grouped = metrics.bootstrap(metric, y, llr, groups=speakers, n_resamples=300)
    assert grouped.value == alone.value
    assert grouped.standard_error > 3 * alone.standard_error


def test_the_result_depends_on_the_seed_alone():
    y, evidence = draw(40, 0)
    one = metrics.bootstrap(metrics.cross_entropy, y, evidence, n_resamples=60, rng=5)
    assert one == metrics.bootstrap(metrics.cross_entropy, y, evidence, n_resamples=60, rng=5)
    with parallel_config(backend="threading"):  # processes take seconds to start
        assert one == metrics.bootstrap(
            metrics.cross_entropy, y, evidence, n_resamples=60, rng=5, n_jobs=2
        )
    assert one != metrics.bootstrap(metrics.cross_entropy, y, evidence, n_resamples=60, rng=6)
    drawn = metrics.bootstrap(
        metrics.cross_entropy, y, evidence, n_resamples=60, rng=np.random.default_rng(0)
    )
    assert drawn.value == one.value


def test_options_reach_the_metric():
    y, evidence = draw(40, 0)
    nats = metrics.bootstrap(metrics.cross_entropy, y, evidence, n_resamples=40)
    bits = metrics.bootstrap(metrics.cross_entropy, y, evidence, n_resamples=40, unit="bit")
    np.testing.assert_allclose(np.array(nats) / np.log(2), bits, rtol=1e-12)


def test_a_metric_that_does_not_vary_has_an_interval_of_no_width():
    y, llr = [0, 0, 1, 1], [-2.0, -2.0, 2.0, 2.0]
    interval = metrics.bootstrap(lambda y, x: metrics.cllr_min(y, x), y, llr, n_resamples=50)
    assert interval == (0, 0, 0, 0)


def test_a_metric_that_is_biased_under_resampling_is_pointed_out():
    y, evidence = draw(200, 29)
    llr = evidence.llr(1, 0)
    with pytest.warns(UserWarning, match="biased under resampling"):
        metrics.bootstrap(lambda y, x: metrics.cllr_cal(y, x), y, llr, n_resamples=200)


def test_infinite_and_undefined_resamples_are_not_hidden():
    y, llr = np.repeat([0, 1], 20), np.linspace(-3, 3, 40)
    llr[-1] = -np.inf
    interval = metrics.bootstrap(metrics.cllr, y, llr, n_resamples=100)
    assert interval.value == interval.high == interval.standard_error == np.inf
    with pytest.raises(InputError, match=r"NaN on \d+ of 50"):
        metrics.bootstrap(metrics.dev_pav, [0, 1, 0, 1], [-1.0, -0.5, 0.5, 1.0], n_resamples=50)


def test_labels_need_no_order_and_frames_keep_their_names(rng):
    pandas = pytest.importorskip("pandas")
    llr = rng.normal(size=60)
    odd = np.array([1, "a"] * 30, dtype=object)
    assert metrics.bootstrap(metrics.cllr, odd, llr, n_resamples=20).value == metrics.cllr(odd, llr)
    X = rng.normal(size=(60, 2))
    X[np.arange(60), [0, 1] * 30] += 4
    y = np.array(["a", "b"] * 30)
    plain = metrics.bootstrap(metrics.cross_entropy, y, X, groups=np.arange(60), n_resamples=50)
    for labels, values in (
        (y.astype(object), X),
        (pandas.Series(y), X),
        (y, pandas.DataFrame(X[:, ::-1], columns=["b", "a"])),
    ):
        same = metrics.bootstrap(
            metrics.cross_entropy, labels, values, groups=np.arange(60), n_resamples=50
        )
        np.testing.assert_allclose(same, plain, rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 95}, "between 0 and 1, exclusive; got 95"),
        ({"method": "normal"}, "one of bca, percentile"),
        ({"n_resamples": 1}, "2 or more; got 1"),
        ({"n_resamples": 100.0}, "whole number"),
        ({"confidence": "a"}, "between 0 and 1"),
        ({"groups": [0, None, 1, 1]}, "groups must not contain NaN"),
        ({"groups": [0, 0, 0, 0]}, "at least two groups"),
        ({"groups": [0, 1]}, "each of 4 samples"),
        ({"sample_weight": [1, 1, 1, 1]}, "must not be passed on"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        metrics.bootstrap(metrics.cllr, [0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0], **options)


def test_a_biased_metric_gets_an_interval_that_holds_it():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 1000)
    llr = rng.normal(scale=2, size=2000) + 2 * (2 * y - 1)
    with pytest.warns(UserWarning, match="biased under resampling"):
        value, low, high, _ = metrics.bootstrap(
            lambda y, x: metrics.cllr_cal(y, x), y, llr, n_resamples=100
        )
    assert low < high
    assert low < value  # what recalibration on the samples themselves finds is too much


def test_few_groups_are_announced():
    y, llr = [0, 1] * 20, np.arange(40.0)
    with pytest.warns(UserWarning, match="Only 4 groups or items"):
        metrics.bootstrap(metrics.cllr, y, llr, groups=np.arange(40) // 10, n_resamples=20)


@pytest.mark.parametrize(
    ("metric", "message"),
    [("cllr", "must be a function; got 'cllr'"), (metrics.det_curve, "must return one number")],
)
def test_what_is_no_metric_is_refused(metric, message):
    with pytest.raises(InputError, match=message):
        metrics.bootstrap(metric, [0, 1, 0, 1], [0.0, 1.0, 2.0, 3.0])


def test_masked_evidence_is_refused():
    llr = np.ma.masked_array([-1.0, 1.0, -2.0, 9.0], [False, False, False, True])
    with pytest.raises(InputError, match="must not contain masked values; got 1"):
        metrics.bootstrap(metrics.cllr, [0, 1, 0, 1], llr)


def test_series_are_paired_by_their_index(rng):
    pandas = pytest.importorskip("pandas")
    y, llr = pandas.Series(np.arange(40) % 2), pandas.Series(rng.normal(size=40))
    groups = pandas.Series(np.arange(40) // 2)
    options = {"n_resamples": 20, "rng": 1}
    expected = metrics.bootstrap(metrics.cllr, y, llr, groups=groups, **options)
    shuffled = metrics.bootstrap(
        metrics.cllr, y, llr.iloc[::-1], groups=groups.iloc[rng.permutation(40)], **options
    )
    np.testing.assert_allclose(shuffled, expected)


def test_intervals_of_means_of_few_samples_are_as_wide_as_students(rng):
    from scipy.stats import t

    from deciban.metrics.designs import Design
    from deciban.metrics.intervals import Plan, expand_confidence
    from deciban.metrics.units import UnitCosts, mean_intervals

    x = rng.normal(size=12)
    costs = UnitCosts(Design(np.zeros(12, dtype=np.intp)), {"mean": x}, np.ones(12))
    found = mean_intervals(costs, Plan(n_resamples=20_000))["mean"]
    half = t(11).ppf(0.975) * x.std(ddof=1) / np.sqrt(12)
    assert found.high - found.low == pytest.approx(2 * half, rel=0.05)  # the percentiles' is 0.89
    assert expand_confidence(0.95, np.inf) == pytest.approx(0.95, abs=1e-6)
