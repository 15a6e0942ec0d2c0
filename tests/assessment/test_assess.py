"""Every metric with its interval: exact numbers, and intervals as the plain bootstrap has them."""

import json
import math

import numpy as np
import pytest

from deciban import CalibratedGaussian, Evidence, metrics
from deciban.assessment import Assessment, assess, difference
from deciban.assessment.intervals import Plan, mean_ranges
from deciban.assessment.optimism import of_larger, of_smaller
from deciban.assessment.proportions import Cells, pooled_range, sum_range, wider
from deciban.assessment.two_classes import Binned, Point, exact_values
from deciban.exceptions import InputError
from deciban.metrics.proportions import wilson

EVEN = Point(np.array([0.5, 0.5]))


def draw(n, rng, scale=1.3, mean=2.0):
    y = (np.arange(n) % 5 < 2).astype(int)
    return y, scale * (rng.normal(scale=np.sqrt(2 * mean), size=n) + mean * (2 * y - 1))


@pytest.fixture(scope="module")
def two():
    return draw(3000, np.random.default_rng(0))


@pytest.fixture(scope="module")
def three():
    family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    l, y = family.sample([300, 200, 100], rng=0)
    return y, family.evidence(1.5 * l).rename(["cat", "dog", "owl"])


COSTS = np.array([[0.0, 3.0], [1.0, 0.0]])


def test_numbers_of_two_classes_are_those_of_the_metrics(two):
    y, llr = two
    prior = [0.8, 0.2]
    e = Evidence.from_llr(llr)
    found = assess(y, e, prior=prior, costs=COSTS, n_resamples=0)
    point = {"prior": 0.2, "cost_false_alarm": 3.0}
    misled = metrics.misleading_rates(y, llr)
    expected = {
        "cllr": metrics.cllr(y, llr),
        "cllr_min": metrics.cllr_min(y, llr),
        "cllr_cal": metrics.cllr_cal(y, llr),
        "eer": metrics.eer(y, llr),
        "dev_pav": metrics.dev_pav(y, llr),
        "misleading_target": misled.target,
        "misleading_other": misled.other,
        "cross_entropy": metrics.cross_entropy(y, e, prior=prior),
        "accuracy": metrics.accuracy(y, e, prior=prior),
        "detection_cost": metrics.detection_cost(y, llr, **point),
        "min_detection_cost": metrics.min_detection_cost(y, llr, **point),
        "expected_cost": metrics.expected_cost(y, e, COSTS, prior=prior),
    }
    assert [q.key for q in found.quantities] == list(expected)
    assert {q.key: q.value for q in found.quantities} == pytest.approx(expected, rel=1e-10)
    assert all(math.isnan(q.low) for q in found.quantities)
    assert found.counts == (1800, 1200)
    assert found.pairwise_cllr[0, 1] == found["cllr"].value


def test_numbers_of_several_classes_are_those_of_the_metrics(three):
    y, e = three
    labels = np.array(e.classes)[y]
    prior = {"cat": 0.5, "dog": 0.3, "owl": 0.2}
    C = 1 - np.eye(3)
    C[0, 2] = 7
    found = assess(labels, e, prior=prior, costs=C, n_resamples=50)
    order = np.lexsort([*e.log_likelihoods.T, y])  # folds do not depend on the order of rows
    parts = min(
        (
            metrics.decompose(labels[order], e[order], prior=prior, calibrator=c)
            for c in ("scalar", "full")
        ),
        key=lambda found: found.discrimination,
    )
    expected = {
        "cross_entropy": parts.total,
        "discrimination": parts.discrimination,
        "calibration": parts.calibration,
        "accuracy": metrics.accuracy(labels, e, prior=prior),
        "expected_cost": metrics.expected_cost(labels, e, C, prior=prior),
        "worst_pair_cllr": np.nanmax(metrics.pairwise_cllr(labels, e).cllr),
    }
    assert {key: found[key].value for key in expected} == pytest.approx(expected, rel=1e-9)
    for quantity in found.quantities:
        assert quantity.low <= quantity.value <= quantity.high
    assert "cat" in found["worst_pair_cllr"].label


def test_on_the_same_resamples_bins_and_samples_give_the_same_interval():
    y, llr = draw(20_000, np.random.default_rng(1))
    binned = Binned(llr, y == 1, EVEN)
    assert len(binned.counts[0]) < 5000
    rng = np.random.default_rng(2)
    by_class = [np.flatnonzero(y == k) for k in (0, 1)]
    plain, from_bins = [], []
    for _ in range(200):
        rows = [members[rng.integers(len(members), size=len(members))] for members in by_class]
        counts = tuple(
            np.bincount(binned.place[chosen], minlength=len(binned.counts[0])) for chosen in rows
        )
        both = np.concatenate(rows)
        plain.append(exact_values(llr[both], y[both] == 1, EVEN))
        from_bins.append(binned.values(counts))
    exact, of_bins = exact_values(llr, y == 1, EVEN), binned.values(binned.counts)
    for key in of_bins:
        ends = np.quantile([one[key] for one in plain], [0.025, 0.975])
        off = exact[key] - of_bins[key]
        found = np.quantile([one[key] + off for one in from_bins], [0.025, 0.975])
        assert np.abs(found - ends).max() < 0.03 * (ends[1] - ends[0]), key


def test_intervals_agree_with_those_of_the_bootstrap():
    y, llr = draw(20_000, np.random.default_rng(3))
    found = assess(y, Evidence.from_llr(llr))
    plain = metrics.bootstrap(metrics.cllr, y, llr, n_resamples=1000)
    width = plain.high - plain.low
    # Two sets of 1000 resamples differ by about 4 % of the width at either end.
    assert abs(found["cllr"].low - plain.low) < 0.12 * width
    assert abs(found["cllr"].high - plain.high) < 0.12 * width


def test_bags_of_samples_spread_as_samples_do():
    rng = np.random.default_rng(0)
    values = [rng.exponential(size=(1, 40_000)), rng.exponential(size=(1, 90_000))]
    interval = mean_ranges(values, Plan(n_resamples=2000))[0]
    expected = 2 * 1.96 * np.sqrt(sum(v.var() / v.size for v in values))
    assert interval.high - interval.low == pytest.approx(expected, rel=0.06)


TRUTH = {
    4.0: {"cllr_min": 0.5138, "cllr_cal": 0.0, "eer": 0.1587, "min_detection_cost": 0.3173},
    12.0: {"cllr_min": 0.1544, "cllr_cal": 0.0, "eer": 0.0416, "min_detection_cost": 0.0832},
}


@pytest.mark.parametrize(("divergence", "n"), [(4.0, 40), (4.0, 400), (12.0, 40)])
def test_intervals_of_what_pav_flatters_hold_the_truth(divergence, n):
    held = dict.fromkeys(TRUTH[divergence], 0)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1], n)
        llr = rng.normal((2 * y - 1) * divergence / 2, np.sqrt(divergence))  # calibrated
        found = assess(y, Evidence.from_llr(llr), n_resamples=150)
        for key, truth in TRUTH[divergence].items():
            held[key] += found[key].low <= truth <= found[key].high
    assert min(held.values()) >= 35  # of 40; plain percentiles hold Cllr_cal never, Cllr_min 16


def test_values_that_pav_flatters_are_corrected_towards_the_truth():
    y, llr = draw(1000, np.random.default_rng(1), scale=1.0)  # calibrated: nothing is lost
    found = assess(y, Evidence.from_llr(llr), n_resamples=200)
    assert found["cllr_cal"].value > 0.01
    assert found["cllr_cal"].corrected < 0.5 * found["cllr_cal"].value
    assert found["cllr_min"].corrected > found["cllr_min"].value
    assert found["cllr"].corrected == found["cllr"].value
    assert math.isnan(found["dev_pav"].low)
    assert any("Cllr_cal" in warning for warning in found.warnings)
    some = np.array([1.0, 2.0])
    for make in (of_smaller, of_larger):
        assert math.isnan(make(math.inf, some, some, 0.9).high)
        assert math.isnan(make(1.0, some, np.array([1.0, math.inf]), 0.9).low)


def test_rates_have_the_intervals_of_wilson():
    from scipy.stats import binomtest

    for happened, times in ((0, 40), (1, 3), (17, 40), (40, 40), (3, 100_000)):
        cells = Cells(np.array([1.0]), np.array([happened]), times)
        found = sum_range(happened / times, [cells], 0.9)
        expected = binomtest(happened, times).proportion_ci(0.9, method="wilson")
        assert found[:2] == pytest.approx(expected, abs=1e-12)
        turned = sum_range(-happened / times, [cells._replace(weight=np.array([-1.0]))], 0.9)
        assert turned[:2] == pytest.approx((-found.high, -found.low), abs=1e-12)
    low, high = wilson(np.array([0, 5]), np.array([5, 5]), 0.95)
    assert (low[0], high[1]) == (0.0, 1.0)


def test_errors_that_were_not_seen_may_still_happen():
    y = np.repeat([0, 1], 40)
    found = assess(y, Evidence.from_llr(4.0 * (2 * y - 1)), costs=COSTS, n_resamples=300)
    one = 1.96**2 / (40 + 1.96**2)  # the end of Wilson's interval of 0 of 40
    assert found["misleading_target"].high == pytest.approx(one, rel=1e-3)
    assert found["accuracy"].low == pytest.approx(1 - one / math.sqrt(2), rel=1e-3)
    assert found["expected_cost"].high == pytest.approx(math.sqrt(1.5**2 + 0.5**2) * one, rel=1e-3)
    assert 0.02 < found["eer"].high < 0.15
    assert 0 < found["min_detection_cost"].high <= 1
    assert found["cllr_min"].low == 0 < found["cllr_min"].high
    several = Evidence(5.0 * np.eye(3)[np.repeat([0, 1, 2], 40)])
    costs = np.array([[0, 1, 9], [1, 0, 1], [1, 1, 0]])
    found = assess(np.repeat([0, 1, 2], 40), several, costs=costs, n_resamples=20)
    assert found["accuracy"].low == pytest.approx(1 - one / math.sqrt(3), rel=1e-3)
    assert found["expected_cost"].high == pytest.approx(math.sqrt(81 + 1 + 1) * one / 3, rel=1e-3)


def test_decisions_at_a_tie_are_the_same_for_accuracy_and_costs():
    y = [0, 0, 0, 1, 1, 1]
    found = assess(y, Evidence.from_llr([-1.0, 0, 0, 0, 0, 1]), costs=1 - np.eye(2), n_resamples=0)
    assert found["accuracy"].value == pytest.approx(1 - found["detection_cost"].value / 2)
    assert found["accuracy"].value == pytest.approx(1 - found["expected_cost"].value)


def test_few_samples_of_overconfident_evidence_are_not_called_calibrated():
    from deciban.assessment import verdicts

    family = CalibratedGaussian(2 * np.eye(4))
    l, y = family.sample([8] * 5, rng=0)
    found = assess(y, family.evidence(5 * l))
    assert found["calibration"].high > 0.1
    assert verdicts.calibration(found).word != "well calibrated"
    l, y = family.sample([6] * 5, rng=1)
    found = assess(y, family.evidence(l))
    assert found["calibration"].value == 0.0 < found["calibration"].high
    assert found["discrimination"].value == found["cross_entropy"].value
    assert verdicts.calibration(found).word == "may be calibrated"


def test_evidence_that_points_the_wrong_way_is_named(two, three):
    y, llr = two
    found = assess(y, Evidence.from_llr(-llr), n_resamples=20)
    assert any("wrong way for most samples of both" in warning for warning in found.warnings)
    assert not any("wrong way" in w for w in assess(y, Evidence.from_llr(llr)).warnings)
    y3, e3 = three
    swapped = e3.rename(["dog", "owl", "cat"])
    found = assess(np.array(e3.classes)[y3], swapped, n_resamples=20)
    assert any("less often than guessing" in warning for warning in found.warnings)


def test_few_samples_and_perfect_separation_are_said_or_shown():
    found = assess([0, 0, 0, 1, 1, 1], Evidence.from_llr([-3.0, -2, -1, 1, 2, 3.0]))
    assert found["eer"].value == found["eer"].low == 0
    assert math.isnan(found["dev_pav"].value)
    assert any("only 3 samples" in warning for warning in found.warnings)


def test_infinite_llrs_cost_what_they_cost_and_are_written_as_text():
    y = [0, 0, 0, 1, 1, 1] * 10
    llr = np.array([-np.inf, -1.0, 2.0, np.inf, 1.0, -np.inf] * 10)
    found = assess(y, Evidence.from_llr(llr), n_resamples=100)
    assert found["cllr"].value == math.inf
    assert found["misleading_target"].value == pytest.approx(1 / 3)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    by_key = {q["key"]: q for q in data["quantities"]}
    assert by_key["cllr"]["value"] == "inf"
    assert data["pairwise_cllr"][0][0] is None
    assert set(data) == {
        "classes", "counts", "prior", "costs", "confidence", "quantities", "pairwise_cllr",
        "pairwise_cllr_min", "warnings",
    }  # fmt: skip


def test_zero_likelihoods_of_several_classes_leave_the_parts_out():
    e = Evidence([[0.0, -1, -np.inf], [-1, 0, -2], [-2, -1, 0]] * 3)
    found = assess([0, 1, 2] * 3, e, n_resamples=20)
    assert "discrimination" not in [q.key for q in found.quantities]
    assert any("told apart" in warning for warning in found.warnings)
    with pytest.raises(KeyError, match="key must be one of"):
        found["discrimination"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"confidence": 1.5}, "confidence must lie above 0 and be 0.99999 at most"),
        ({"n_resamples": 1}, "n_resamples must be a whole number"),
        ({"seed": -1}, "seed must be"),
        ({"costs": [[0, 0], [1, 0]]}, "costs must be higher for each error"),
        ({"prior": [1.0, 0.0]}, "Cromwell"),
    ],
)
def test_options_that_cannot_be_are_refused(two, change, words):
    y, llr = two
    with pytest.raises(InputError, match=words):
        assess(y, Evidence.from_llr(llr), **change)


def test_truth_that_does_not_fit_is_refused(two):
    y, llr = two
    with pytest.raises(InputError, match="evidence must be Evidence"):
        assess(y, llr)
    with pytest.raises(InputError, match="class must be one of"):
        assess(y + 1, Evidence.from_llr(llr))
    with pytest.raises(InputError, match="one label for each of"):
        assess(y[:-1], Evidence.from_llr(llr))
    with pytest.raises(InputError, match="must hold every class"):
        assess(np.zeros_like(y), Evidence.from_llr(llr))
    names = np.array(["b", "a"], dtype=object)[y]
    same = assess(names, Evidence.from_llr(llr, "a", "b"), n_resamples=0)
    assert same["cllr"].value == pytest.approx(metrics.cllr(y, llr))


def test_paired_differences_are_told_that_separate_intervals_hide(two):
    y, llr = two
    noisy = llr + np.random.default_rng(7).normal(scale=0.7, size=len(llr))
    a, b = Evidence.from_llr(llr), Evidence.from_llr(noisy)
    found = difference(y, a, b, n_resamples=300)["cllr_min"]
    assert found.verdict == "a better"
    assert found.difference == found.a - found.b
    assert found.low <= found.difference <= found.high < 0
    alone = [assess(y, e, n_resamples=300)["cllr_min"] for e in (a, b)]
    assert alone[0].high > alone[1].low
    assert difference(y, b, a, n_resamples=300)["accuracy"].verdict in ("b better", "cannot tell")
    assert difference(y, b, a, n_resamples=300)["cllr"].verdict == "b better"


def test_a_system_does_not_differ_from_itself(two, three):
    y, llr = two
    e = Evidence.from_llr(llr)
    y3, e3 = three
    e3 = e3.rename(range(3))
    turned = e3.restrict([2, 0, 1])
    for found in (difference(y, e, e, n_resamples=50), difference(y3, e3, turned, n_resamples=50)):
        for one in found.differences:
            none = one.key in ("dev_pav", "worst_pair_cllr")
            assert one.verdict in (("",) if none else ("same", "cannot tell"))
            assert one.difference == pytest.approx(0, abs=1e-9)


def test_differences_of_several_classes_are_paired(three):
    y, e = three
    e = e.rename(range(3))
    found = difference(y, e, 3.0 * e, n_resamples=200)
    assert found["cross_entropy"].verdict == "a better"
    assert found["discrimination"].verdict == "cannot tell"
    assert json.loads(json.dumps(found.to_dict()))["differences"][0]["verdict"] == "a better"
    with pytest.raises(InputError, match="same classes"):
        difference(y, e, e.rename(["x", "y", "z"]))
    with pytest.raises(InputError, match="same samples"):
        difference(y, e, e[:-1])
    with pytest.raises(InputError, match="b must be Evidence"):
        difference(y, e, np.zeros((3, 3)))


def test_many_pairs_of_llrs_are_held_in_cells():
    rng = np.random.default_rng(0)
    y, llr = draw(60_000, rng)
    noisy = llr + rng.normal(scale=1.0, size=len(llr))
    found = difference(y, Evidence.from_llr(llr), Evidence.from_llr(noisy), n_resamples=100)
    gap = np.logaddexp(0, np.where(y, -llr, llr)) - np.logaddexp(0, np.where(y, -noisy, noisy))
    spread = np.sqrt(sum(gap[y == k].var() / (y == k).sum() for k in (0, 1))) / 2 / np.log(2)
    one = found["cllr"]
    assert one.high - one.low == pytest.approx(2 * 1.96 * spread, rel=0.25)
    assert found["cllr_min"].verdict == "a better"


def test_the_hardest_pair_is_that_of_cllr_min_and_of_cllr_where_it_ties():
    nan = np.nan
    least = np.array([[nan, 0.1, 0.3], [0.1, nan, 0.3], [0.3, 0.3, nan]])
    cost = np.array([[nan, np.inf, 0.4], [np.inf, nan, 0.5], [0.4, 0.5, nan]])
    found = Assessment(("a", "b", "c"), (1, 1, 1), (), cost, least, 0.95, ()).difficulty()
    assert np.unravel_index(found.argmax(), found.shape) == (1, 2)
    assert np.isfinite(found).all()


def test_a_report_tells_errors_beside_those_of_the_prior_and_calls_neutral_evidence_neutral():
    from deciban.assessment import verdicts

    y = np.repeat([0, 1], 200)
    found = assess(y, Evidence.from_llr(np.zeros(400)), prior=[0.99, 0.01], n_resamples=50)
    assert found.prior == pytest.approx((0.99, 0.01))
    assert verdicts.errors(found).tone != "good"
    assert "guessing would be wrong in 1 %" in verdicts.errors(found).sentence
    assert "tells nothing" in verdicts.information(found).sentence


def test_evidence_that_claims_far_too_much_is_not_taken_at_its_word_because_it_costs_little():
    from deciban.assessment import verdicts

    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20_000)
    llr = 30.0 * (2 * y - 1) * np.where(rng.random(40_000) < 3e-4, -1, 1)
    found = assess(y, Evidence.from_llr(llr), n_resamples=100)
    assert "at its word" not in verdicts.calibration(found).sentence


def test_systems_that_are_alike_are_seldom_told_apart():
    told, n = {}, 60
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1], n)
        shared = rng.normal(size=2 * n)
        a, b = (
            Evidence.from_llr(4 * y - 2 + np.sqrt(2) * (shared + rng.normal(size=2 * n)))
            for _ in range(2)
        )
        for one in difference(y, a, b, n_resamples=150, prior=[0.8, 0.2]).differences:
            told[one.key] = told.get(one.key, 0) + one.verdict.endswith("better")
    assert max(told.values()) <= 8  # of 60, at 95 %


def test_a_comparison_warns_of_few_samples_and_without_intervals_has_no_verdict(three):
    y, llr = draw(30, np.random.default_rng(0))
    e = Evidence.from_llr(llr)
    found = difference(y, e, 2.0 * e, n_resamples=50)
    assert any("only 12 samples" in warning for warning in found.warnings)
    assert found["dev_pav"].verdict == ""
    assert all(one.verdict == "" for one in difference(y, e, 2.0 * e, n_resamples=0).differences)
    y3, e3 = three
    labels = np.array(e3.classes)[y3]
    found = difference(labels, e3, 3.0 * e3, n_resamples=100)
    pair = found["worst_pair_cllr"]
    assert pair.b == pytest.approx(np.nanmax(metrics.pairwise_cllr(labels, 3.0 * e3).cllr))
    assert pair.verdict == ""  # it was chosen because it is the worst
    assert difference(labels, e3, e3, n_resamples=0)["accuracy"].verdict == ""


def test_calibration_is_not_judged_where_no_error_was_to_be_expected():
    from deciban.assessment import verdicts

    y = np.repeat([0, 1], 40)
    sure = assess(y, Evidence.from_llr(6.0 * (2 * y - 1)), n_resamples=50)
    assert verdicts.calibration(sure).word == "cannot be told"
    y = np.repeat([0, 1], 400)
    unsure = assess(y, Evidence.from_llr(2.0 * (2 * y - 1)), n_resamples=50)  # 100 were expected
    assert verdicts.calibration(unsure).word == "poorly calibrated"


def test_a_comparison_tells_what_is_the_same_what_is_infinite_and_what_was_not_seen(two):
    y, llr = two
    found = difference(y, Evidence.from_llr(llr), Evidence.from_llr(10 * llr), n_resamples=50)
    assert found["cllr_min"].verdict == found["eer"].verdict == "same"
    worst = np.where(np.arange(len(y)) == np.argmax(y == 0), np.inf, llr)
    found = difference(y, Evidence.from_llr(llr), Evidence.from_llr(worst), n_resamples=50)
    assert found["cllr"].verdict == "a better"
    assert any(
        w.startswith("B: Sample ") and "rules out its true class" in w for w in found.warnings
    )
    apart = 2.0 * (2 * y - 1)
    found = difference(y, Evidence.from_llr(apart), Evidence.from_llr(3 * apart), n_resamples=50)
    assert found["eer"].verdict == found["cllr_min"].verdict == ""


def test_costs_know_of_misleading_evidence_that_was_not_seen():
    y = np.repeat([0, 1], 300)
    found = assess(y, Evidence.from_llr(20.0 * (2 * y - 1)), n_resamples=50)
    rate = 1.96**2 / (300 + 1.96**2)  # the end of Wilson's interval of 0 of 300
    extra = math.sqrt(2) * rate * 20 / 2 / math.log(2)
    assert found["cllr"].high == pytest.approx(extra, rel=1e-3)
    assert found["cllr"].high > found["cllr_min"].high
    certain = assess(y, Evidence.from_llr(np.inf * (2 * y - 1)), n_resamples=50)
    assert (certain["cllr"].value, certain["cllr"].high) == (0.0, math.inf)
    three = assess(np.repeat([0, 1, 2], 40), Evidence(9.0 * np.eye(3)[np.repeat([0, 1, 2], 40)]))
    assert three["cross_entropy"].high > 0.3
    assert three["worst_pair_cllr"].high > 0.1
    ruled_out = assess([0, 0, 1, 1], Evidence.from_llr([np.inf, -1.0, 1.0, 2.0]), n_resamples=50)
    assert ruled_out["cllr"].low == ruled_out["cllr"].high == math.inf
    assert ruled_out.infinite == 1


def test_scores_that_are_something_else_are_named(two):
    y, llr = two
    ratios = assess(y, Evidence.from_llr(np.exp(llr)), n_resamples=0)
    assert any("take their logarithms first" in warning for warning in ratios.warnings)
    told = 0
    for seed in range(40):  # scores without information are not reversed
        noise = np.random.default_rng(seed).normal(size=200)
        notes = assess(np.arange(200) % 2, Evidence.from_llr(noise), n_resamples=0).warnings
        told += any("wrong way" in note for note in notes)
    assert told <= 1


def test_evidence_that_would_be_good_is_not_called_nothing(two):
    from deciban.assessment import verdicts

    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    llr = 4.0 * rng.normal(4.0 * y - 2, 2.0)  # it claims far too much
    found = assess(y, Evidence.from_llr(llr), n_resamples=200)
    assert found["cllr"].low < 1 < found["cllr"].high
    told = verdicts.information(found)
    assert told.word == "not fit for use as it stands"
    assert "Recalibrated, it would cost about" in told.sentence
    worse = verdicts.information(assess(y, Evidence.from_llr(4 * llr), n_resamples=0))
    assert worse.word == "worse than saying nothing"
    calibrated = rng.normal(4.0 * y - 2, 2.0)
    calibrated[:2] = -np.inf
    y, calibrated = np.tile(y, 10), np.concatenate([calibrated, rng.normal(4.0 * np.tile(y, 9) - 2,
                                                                           2.0)])  # fmt: skip
    found = assess(y, Evidence.from_llr(calibrated), n_resamples=200)
    assert found.infinite == 2
    assert "rule a class out" in verdicts.calibration(found).sentence


def test_an_overconfident_system_is_not_better_because_nothing_misled():
    better = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1], 40)
        llr = rng.normal((2 * y - 1) * 8.0, 4.0)  # calibrated; an error in fifty
        found = difference(y, Evidence.from_llr(llr), Evidence.from_llr(3 * llr), n_resamples=100)
        better += found["cllr"].verdict == "b better"
    assert better <= 2
    y = np.repeat([0, 1, 2], 20)
    right = Evidence(9.0 * np.eye(3)[y])
    found = difference(y, right, 1.1 * right, n_resamples=50)
    assert {one.verdict for one in found.differences} <= {"", "same", "cannot tell"}


def test_decisions_of_two_systems_that_often_disagree_are_seldom_told_apart():
    told = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y, a = np.repeat([0, 1], 500), rng.normal(size=1000)  # both guess, and never alike
        found = difference(y, Evidence.from_llr(a), Evidence.from_llr(-a), n_resamples=2)
        told += found["accuracy"].verdict.endswith("better")
    assert told <= 8  # of 60, at 95 %


def test_costs_that_hardly_differ_have_hardly_different_intervals():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(10), 100)
    e = Evidence(rng.normal(size=(1000, 10)) + np.eye(10)[y])
    alike = 1.0 - np.eye(10)
    found = [
        assess(y, e, costs=C, n_resamples=20)["expected_cost"]
        for C in (alike, alike * (1 + 1e-6 * np.arange(10)))
    ]
    widths = [one.high - one.low for one in found]
    assert widths[1] == pytest.approx(widths[0], rel=0.35)


def test_accuracy_of_many_small_classes_is_held():
    held = 0
    for seed in range(200):
        right = np.random.default_rng(seed).binomial(2, 0.7, 200)  # of two samples a class
        cells = [Cells(np.array([1 / 200]), np.array([k]), 2) for k in right]
        value = float(right.mean() / 2)
        found = wider(sum_range(value, cells, 0.95), pooled_range(value, cells, 0.95))
        held += found.low <= 0.7 <= found.high
    assert held >= 184  # without pooling, 160
    y = np.arange(40)
    decided = np.where(y < 28, y, (y + 1) % 40)  # one sample a class
    found = assess(y, Evidence(3.0 * np.eye(40)[decided]), n_resamples=2)["accuracy"]
    low, high = wilson(28, 40, 0.95)
    assert found.low <= low + 1e-12
    assert found.high >= high - 1e-12


def test_the_worst_pair_is_held_although_it_was_chosen():
    held, truth = 0, 0.474
    for seed in range(30):
        rng = np.random.default_rng(seed)
        y = np.repeat(np.arange(8), 40)
        x = rng.normal(size=(len(y), 8))
        x[np.arange(len(y)), y] += 1.5
        found = assess(y, Evidence(1.5 * x), n_resamples=100)["worst_pair_cllr"]
        held += found.low <= truth <= found.high
    assert held >= 26


def test_a_sample_that_rules_out_its_class_and_another_costs_infinitely_much():
    likelihoods = [[0.6, 0.4, 0.0], [0.0, 0.0, 1.0], [0.1, 0.9, 0.0], [0.2, 0.0, 0.8]]
    with np.errstate(divide="ignore"):
        values = np.log(likelihoods)
    found = assess([0, 1, 1, 2], Evidence(values), n_resamples=20)
    assert found["cross_entropy"].value == math.inf
    assert found["accuracy"].value == pytest.approx((1 + 0.5 + 1) / 3)
    assert found.pairwise_cllr[0, 1] == math.inf
    assert difference([0, 1, 1, 2], Evidence(values), Evidence(values), n_resamples=20)


def test_several_classes_are_judged_alike_in_any_order(three):
    y, e = three
    e = e.rename(range(3))
    order = np.random.default_rng(0).permutation(len(y))
    found = [assess(a, b, n_resamples=0) for a, b in ((y, e), (y[order], e[order]))]
    for one, other in zip(found[0].quantities, found[1].quantities, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-9)


def test_a_tiny_prior_does_not_hide_wrong_decisions():
    from deciban.assessment import verdicts

    y = np.repeat([0, 1], 200)
    found = assess(
        y, Evidence.from_llr(3.0 * (2 * y - 1)), prior=[1 - 1e-10, 1e-10], n_resamples=20
    )
    assert found.wrong == 200
    assert "No decision was wrong" not in verdicts.errors(found).sentence


def test_flawless_evidence_is_not_called_nothing():
    from deciban.assessment import verdicts

    y = np.repeat([0, 1, 2], 30)
    told = verdicts.information(assess(y, Evidence(30.0 * np.eye(3)[y]), n_resamples=50))
    assert told.word == "nearly all of it"
    assert "what a wrong one would cost, and how often, is not known" in told.sentence
    assert told.range.startswith("below 0 %")


def test_zeros_that_did_no_harm_do_not_make_evidence_nothing():
    from deciban.assessment import verdicts

    family = CalibratedGaussian(4 * np.eye(4))
    l, y = family.sample([60] * 5, rng=0)
    posterior = family.evidence(l).posterior()
    rounded = np.where(posterior < 1e-4, 0.0, posterior)
    rounded[np.arange(len(y)), y] = np.maximum(rounded[np.arange(len(y)), y], 1e-4)
    found = assess(y, Evidence.from_posteriors(rounded, None, range(5)), n_resamples=50)
    told = verdicts.information(found)
    assert told.big.endswith("%")
    assert "one that is wrong would cost infinitely much" in told.sentence


def test_errors_are_said_to_be_those_of_the_prior():
    from deciban.assessment import verdicts

    y = np.r_[np.zeros(300, int), np.ones(30, int)]
    llr = np.random.default_rng(0).normal(4.0 * y - 2, 2.0)
    even, own = (
        verdicts.errors(assess(y, Evidence.from_llr(llr), prior=prior, n_resamples=20)).sentence
        for prior in (None, [10 / 11, 1 / 11])
    )
    assert "were all classes equally frequent" in even
    assert "with classes as frequent as in the prior" in own


def test_the_same_evidence_is_the_same_in_everything(two):
    y, llr = two
    found = difference(y, Evidence.from_llr(llr), Evidence.from_llr(llr), n_resamples=20)
    assert found.warnings[0] == "A and B are the same evidence."
    assert {one.verdict for one in found.differences if one.key != "dev_pav"} == {"same"}


def test_a_comparison_is_the_same_in_both_orders():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    a = Evidence.from_llr(rng.normal(4.0 * y - 2, 2.0))
    b = Evidence.from_llr(30 * (2 * y - 1) * rng.uniform(1, 3, 400))  # it claims much, and is right
    there, back = difference(y, a, b, n_resamples=100), difference(y, b, a, n_resamples=100)
    turned = {"a better": "b better", "b better": "a better"}
    for one, other in zip(there.differences, back.differences, strict=True):
        if one.key != "dev_pav":
            assert one.verdict == turned.get(other.verdict, other.verdict)
            assert one.low == pytest.approx(-other.high, rel=0.2, abs=0.02)
    assert there["cllr"].verdict == "cannot tell"


def test_evidence_of_few_errors_is_not_called_well_calibrated():
    from deciban.assessment import verdicts

    words = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1, 2], 100)
        values = 10 * 4 * (4 * np.eye(3)[y] + rng.normal(size=(300, 3)))  # ten times too sure
        words.append(verdicts.calibration(assess(y, Evidence(values), n_resamples=50)).word)
    assert "well calibrated" not in words


def test_huge_llrs_and_no_resamples_give_whole_intervals():
    found = assess([0, 0, 1, 1], Evidence.from_llr([-1, 1e150, -1e150, 2]), n_resamples=50)
    assert found["cllr"].low <= found["cllr"].value <= found["cllr"].high
    family = CalibratedGaussian(2 * np.eye(2))
    for seed in range(4):
        l, y = family.sample([50] * 3, rng=seed)
        found = assess(y, family.evidence(l), n_resamples=0)
        assert all(math.isnan(q.low) and math.isnan(q.high) for q in found.quantities)


def test_expected_cost_and_accuracy_agree_on_what_can_be_told():
    y = np.repeat([0, 1, 2], 100)
    right = 5.0 * np.eye(3)[y]
    worse = right.copy()
    worse[[0, 1, 100, 200]] = worse[[100, 200, 0, 0]]  # four errors, which may be chance
    found = difference(y, Evidence(right), Evidence(worse), costs=1 - np.eye(3), n_resamples=200)
    assert found["accuracy"].verdict == found["expected_cost"].verdict == "cannot tell"
