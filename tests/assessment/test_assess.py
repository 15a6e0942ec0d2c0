"""Every metric with its interval: exact numbers, and intervals as the plain bootstrap has them."""

import json
import math
from importlib import import_module

import numpy as np
import pytest

from deciban import CalibratedGaussian, Evidence, metrics
from deciban._markup import number
from deciban.assessment import Assessment, assess, compare
from deciban.exceptions import InputError
from deciban.metrics.designs import Design
from deciban.metrics.intervals import wilson

COSTS = np.array([[0.0, 3.0], [1.0, 0.0]])


def test_numbers_of_two_classes_are_those_of_the_metrics(two):
    y, llr = two
    prior = [0.8, 0.2]
    e = Evidence.from_llr(llr)
    found = assess(y, e, prior=prior, costs=COSTS, n_resamples=0)
    point = {"prior": 0.2, "cost_false_alarm": 3.0}
    misled = metrics.misleading_rates(y, llr)
    best = Evidence.from_llr(metrics.pav(y, llr).transform(llr))
    expected = {
        "cllr": metrics.cllr(y, llr),
        "cllr_min": metrics.cllr_min(y, llr),
        "cllr_cal": metrics.cllr_cal(y, llr),
        "eer": metrics.eer(y, llr),
        "dev_pav": metrics.dev_pav(y, llr),
        "misleading_target": misled.target,
        "misleading_other": misled.other,
        "cross_entropy": metrics.cross_entropy(y, e, prior=prior),
        "discrimination": metrics.cross_entropy(y, best, prior=prior),
        "calibration": metrics.cross_entropy(y, e, prior=prior)
        - metrics.cross_entropy(y, best, prior=prior),
        "accuracy": metrics.accuracy(y, e, prior=prior),
        "detection_cost": metrics.detection_cost(y, llr, **point),
        "min_detection_cost": metrics.min_detection_cost(y, llr, **point),
        "decision_loss": metrics.detection_cost(y, llr, **point)
        - metrics.min_detection_cost(y, llr, **point),
        "expected_cost": metrics.expected_cost(y, e, COSTS, prior=prior),
    }
    assert [q.key for q in found.quantities] == list(expected)
    assert {q.key: q.value for q in found.quantities} == pytest.approx(expected, rel=1e-10)
    assert all(math.isnan(q.low) for q in found.quantities)
    assert found.counts == (1800, 1200)
    assert found.pairwise_cllr[0, 1] == found["cllr"].value


def test_each_operating_point_has_its_costs_and_c_primary_is_their_mean(two):
    y, llr = two
    points = [metrics.OperatingPoint(10, 1, 0.01), metrics.OperatingPoint(1, 1, 0.05)]
    found = assess(y, Evidence.from_llr(llr), operating_points=points, n_resamples=100)
    for point in points:
        at = {"prior": point.prior, "cost_miss": point.cost_miss}
        for name in ("detection_cost", "min_detection_cost"):
            q = found[f"{name}@{point}"]
            assert q.value == pytest.approx(getattr(metrics, name)(y, llr, **at), rel=1e-10)
            assert q.low <= q.corrected <= q.high
            assert q.label.endswith(f" at {point}")
    for name, minimum in (("c_primary", False), ("min_c_primary", True)):
        expected = metrics.c_primary(y, llr, points, minimum=minimum)
        assert found[name].value == pytest.approx(expected, rel=1e-10)
    # The interval of a mean is no wider than the mean of the intervals, and agrees with resamples.
    ends = np.array([(found[f"detection_cost@{p}"].low, found[f"detection_cost@{p}"].high)
                     for p in points])  # fmt: skip
    primary = found["c_primary"]
    assert primary.high - primary.low <= np.diff(ends.mean(axis=0)) + 1e-12
    options = {"n_resamples": 400, "operating_points": points}
    drawn = metrics.bootstrap(metrics.c_primary, y, llr, method="percentile", **options)
    np.testing.assert_allclose([primary.low, primary.high], drawn[1:3], atol=0.03)
    for name, minimum in (("c_primary", False), ("min_c_primary", True)):
        options = {"n_resamples": 100, "operating_points": points, "minimum": minimum}
        same = metrics.bootstrap(metrics.c_primary, y, llr, **options)
        np.testing.assert_allclose(same[1:3], [found[name].low, found[name].high], rtol=0.02)
    plain = assess(y, Evidence.from_llr(llr), n_resamples=100)
    assert found["min_detection_cost"] == plain["min_detection_cost"]


def test_extreme_operating_points_have_extreme_costs_and_intervals_around_them(two):
    y, llr = two
    points = [(1e300, 1e-300, 1e-9), (1, 1, 1 - 1e-12), (1, 1, 0.5)]
    found = assess(y, Evidence.from_llr(llr), operating_points=points, n_resamples=20)
    for q in found.quantities:
        if "detection_cost" in q.key or "c_primary" in q.key:
            assert not math.isnan(q.value)
            assert q.low < q.high, q.key


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


def test_the_functions_and_the_assessment_give_the_same_intervals(draw):
    y, llr = draw(400, np.random.default_rng(3))
    found = assess(y, Evidence.from_llr(llr), prior=[0.9, 0.1], n_resamples=200)
    options = {"detection_cost": {"prior": 0.1}, "min_detection_cost": {"prior": 0.1}}
    for key in ("cllr", "cllr_min", "cllr_cal", "eer", "detection_cost", "min_detection_cost"):
        metric = getattr(metrics, key)
        one = metrics.bootstrap(metric, y, llr, n_resamples=200, **options.get(key, {}))
        assert one.value == metric(y, llr, **options.get(key, {}))
        assert one[1:3] == pytest.approx((found[key].low, found[key].high), rel=1e-9), key


def test_buckets_of_samples_spread_as_samples_do():
    rng = np.random.default_rng(0)
    values = rng.exponential(size=130_000)
    design = Design(np.repeat([0, 1], [40_000, 90_000]))
    drawn, _ = design.resample_means([values], 2000, rng)
    expected = np.sqrt(sum(values[r].var() / len(r) for r in design.rows_by_class))
    assert drawn.std() == pytest.approx(expected, rel=0.06)


TRUTH = {
    4.0: {"cllr_min": 0.5138, "cllr_cal": 0.0, "eer": 0.1587, "min_detection_cost": 0.3173},
    12.0: {"cllr_min": 0.1544, "cllr_cal": 0.0, "eer": 0.0416, "min_detection_cost": 0.0832},
}


@pytest.mark.slow
@pytest.mark.parametrize(("divergence", "n"), [(4.0, 40), (4.0, 400), (12.0, 40)])
def test_intervals_of_quantities_fitted_by_pav_contain_the_true_value(divergence, n):
    held = dict.fromkeys(TRUTH[divergence], 0)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1], n)
        llr = rng.normal((2 * y - 1) * divergence / 2, np.sqrt(divergence))  # calibrated
        found = assess(y, Evidence.from_llr(llr), n_resamples=150)
        for key, truth in TRUTH[divergence].items():
            held[key] += found[key].low <= truth <= found[key].high
    assert min(held.values()) >= 35  # of 40; plain percentiles hold Cllr_cal never, Cllr_min 16


def test_quantities_fitted_by_pav_are_corrected_towards_the_true_value(draw):
    y, llr = draw(1000, np.random.default_rng(1), scale=1.0)  # calibrated: nothing is lost
    found = assess(y, Evidence.from_llr(llr), n_resamples=200)
    assert found["cllr_cal"].value > 0.01
    assert found["cllr_cal"].corrected < 0.5 * found["cllr_cal"].value
    assert found["cllr_min"].corrected > found["cllr_min"].value
    assert found["cllr"].corrected == pytest.approx(found["cllr"].value, rel=1e-12)
    assert math.isnan(found["dev_pav"].low)
    assert any("Cllr_cal" in warning for warning in found.warnings)


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


def test_evidence_that_points_the_wrong_way_is_noted(two, three):
    y, llr = two
    found = assess(y, Evidence.from_llr(-llr), n_resamples=20)
    assert any("wrong way for most samples of both" in warning for warning in found.warnings)
    assert not any("wrong way" in w for w in assess(y, Evidence.from_llr(llr)).warnings)
    y3, e3 = three
    swapped = e3.rename(["dog", "owl", "cat"])
    found = assess(np.array(e3.classes)[y3], swapped, n_resamples=20)
    assert any("less often than guesses" in warning for warning in found.warnings)


def test_few_samples_are_noted_and_perfect_separation_has_an_eer_of_zero():
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
        "pairwise_cllr_min", "warnings", "design", "calibration_test", "worst_bin", "action",
        "verdicts",
    }  # fmt: skip


def test_zero_likelihoods_of_several_classes_leave_the_parts_out():
    e = Evidence([[0.0, -1, -np.inf], [-1, 0, -2], [-2, -1, 0]] * 3)
    found = assess([0, 1, 2] * 3, e, n_resamples=20)
    assert "discrimination" not in [q.key for q in found.quantities]
    assert any("not separated" in warning for warning in found.warnings)
    with pytest.raises(KeyError, match="key must be one of"):
        found["discrimination"]


def test_costs_of_detecting_each_of_several_classes_are_c_avg(three):
    y, e = three
    labels = np.array(e.classes)[y]
    points = [(1, 1, 0.5), (1, 1, 0.1)]
    asked = {"operating_points": points, "c_avg": True, "out_of_set": "owl", "n_resamples": 200}
    found = assess(labels, e, **asked)
    assert found["c_avg"].value == pytest.approx(metrics.c_avg(labels, e, out_of_set="owl"))
    each = [
        metrics.c_avg(labels, e, p_target=p, out_of_set="owl", normalize=True) for *_, p in points
    ]
    assert found["detection_cost@1:1:0.1"].value == pytest.approx(each[1])
    assert found["c_primary"].value == pytest.approx(np.mean(each))
    for q in (found["c_avg"], found["c_primary"]):
        assert q.low < q.value < q.high
    drawn = metrics.bootstrap(metrics.c_avg, labels, e, n_resamples=300, out_of_set="owl")
    np.testing.assert_allclose([found["c_avg"].low, found["c_avg"].high], drawn[1:3], atol=0.015)
    closed = assess(labels, e, c_avg=True, n_resamples=0)["c_avg"].value
    assert closed == pytest.approx(metrics.c_avg(labels, e))


def test_a_system_that_detects_better_is_found_by_its_c_avg(three):
    y, e = three
    labels = np.array(e.classes)[y]
    rng = np.random.default_rng(0)
    worse = Evidence(e.log_likelihoods + rng.normal(scale=3, size=(len(y), 3)), e.classes)
    found = compare(labels, {"a": e, "b": worse}, c_avg=True, n_resamples=200)["c_avg"]
    assert found.verdict == "a better"
    assert found.a == pytest.approx(metrics.c_avg(labels, e))
    same = compare(labels, {"a": e, "b": e}, c_avg=True, n_resamples=50)["c_avg"]
    assert same.verdict == "same"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"c_avg": True}, "c_avg must come with three classes or more"),
        ({"out_of_set": 1}, "out_of_set must come with three classes or more"),
        ({"confidence": 1.5}, "confidence must lie between 0 and 1"),
        ({"confidence": 0.999999}, "confidence must be at most 0.99999"),
        ({"n_resamples": 1}, "n_resamples must be a whole number"),
        ({"rng": -1}, "rng must be"),
        ({"costs": [[0, 0], [1, 0]]}, "costs must be higher for each error"),
        ({"prior": [1.0, 0.0]}, "Cromwell"),
        ({"operating_points": [(1, 1, 2)]}, "prior must lie between 0 and 1"),
    ],
)
def test_invalid_options_are_refused(two, change, words):
    y, llr = two
    with pytest.raises(InputError, match=words):
        assess(y, Evidence.from_llr(llr), **change)


def test_truth_that_does_not_fit_is_refused(two):
    y, llr = two
    with pytest.raises(InputError, match="evidence must be Evidence"):
        assess(y, llr)
    with pytest.raises(InputError, match="must hold the classes 0, 1 only"):
        assess(y + 1, Evidence.from_llr(llr))
    with pytest.raises(InputError, match="one label for each of"):
        assess(y[:-1], Evidence.from_llr(llr))
    with pytest.raises(InputError, match="must hold every class"):
        assess(np.zeros_like(y), Evidence.from_llr(llr))
    names = np.array(["b", "a"], dtype=object)[y]
    same = assess(names, Evidence.from_llr(llr, "a", "b"), n_resamples=0)
    assert same["cllr"].value == pytest.approx(metrics.cllr(y, llr))


def test_the_hardest_pair_is_that_of_cllr_min_and_of_cllr_where_it_ties():
    nan = np.nan
    least = np.array([[nan, 0.1, 0.3], [0.1, nan, 0.3], [0.3, 0.3, nan]])
    cost = np.array([[nan, np.inf, 0.4], [np.inf, nan, 0.5], [0.4, 0.5, nan]])
    found = Assessment(
        ("a", "b", "c"), (1, 1, 1), (), cost, least, 0.95, (), (1 / 3,) * 3
    ).difficulty()
    assert np.unravel_index(found.argmax(), found.shape) == (1, 2)
    assert np.isfinite(found).all()


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
    assert ruled_out.n_infinite == 1


def test_scores_that_are_not_llrs_are_noted(two):
    y, llr = two
    ratios = assess(y, Evidence.from_llr(np.exp(llr)), n_resamples=0)
    assert any("take their logarithms first" in warning for warning in ratios.warnings)
    count = 0
    for seed in range(40):  # scores without information are not reversed
        noise = np.random.default_rng(seed).normal(size=200)
        notes = assess(np.arange(200) % 2, Evidence.from_llr(noise), n_resamples=0).warnings
        count += any("wrong way" in note for note in notes)
    assert count <= 1


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


@pytest.mark.slow
def test_the_interval_of_the_worst_pair_allows_for_its_choice():
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
    assert compare([0, 1, 1, 2], {"A": Evidence(values), "B": Evidence(values)}, n_resamples=20)


def test_the_order_of_the_samples_does_not_matter(three):
    y, e = three
    e = e.rename(range(3))
    order = np.random.default_rng(0).permutation(len(y))
    found = [assess(a, b, n_resamples=0) for a, b in ((y, e), (y[order], e[order]))]
    for one, other in zip(found[0].quantities, found[1].quantities, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-9)


def test_huge_llrs_and_no_resamples_give_whole_intervals():
    found = assess([0, 0, 1, 1], Evidence.from_llr([-1, 1e150, -1e150, 2]), n_resamples=50)
    assert found["cllr"].low <= found["cllr"].value <= found["cllr"].high
    family = CalibratedGaussian(2 * np.eye(2))
    for seed in range(4):
        l, y = family.sample([50] * 3, rng=seed)
        found = assess(y, family.evidence(l), n_resamples=0)
        assert all(math.isnan(q.low) and math.isnan(q.high) for q in found.quantities)


def test_accuracy_of_many_classes_of_one_sample_is_that_of_all_samples_pooled():
    y = np.arange(40)
    decided = np.where(y < 28, y, (y + 1) % 40)  # one sample a class
    found = assess(y, Evidence(3.0 * np.eye(40)[decided]), n_resamples=2)["accuracy"]
    low, high = wilson(28, 40, 0.95)
    assert found.low <= low + 1e-12
    assert found.high >= high - 1e-12


def test_intervals_depend_on_the_generator_alone(two):
    y, llr = two
    e = Evidence.from_llr(llr)
    first, again, other = (
        assess(y, e, n_resamples=20, rng=rng)["cllr"]
        for rng in (np.random.default_rng(1), np.random.default_rng(1), np.random.default_rng(2))
    )
    assert first == again != other


def test_a_note_on_few_samples_names_each_class_where_all_are_rare():
    y = np.arange(20) % 2
    found = assess(y, Evidence.from_llr(np.linspace(-2.0, 2.0, 20)), n_resamples=50)
    assert "Each class has only 10 samples: intervals are rough." in found.warnings


def glass(m, rng, noise=0.25):
    """All pairs of two measurements of m sources: LLRs of the model that they come from."""
    source = rng.normal(size=m)
    x, y = (source + noise * rng.normal(size=m) for _ in range(2))
    i, j = (index.ravel() for index in np.indices((m, m)))
    v = 1 + noise**2
    det = v * v - 1
    squares = x[i] ** 2 + y[j] ** 2
    llr = (squares / v - (v * squares - 2 * x[i] * y[j]) / det - math.log(det / v**2)) / 2
    return (i == j).astype(int), Evidence.from_llr(llr), (i, j)


def test_comparisons_that_share_items_have_wider_intervals_and_say_so(rng):
    y, evidence, items = glass(60, rng)
    plain = assess(y, evidence, n_resamples=200)
    crossed = assess(y, evidence, n_resamples=200, items=items)
    assert "as if they were independent" in plain.design
    assert crossed.design == (
        "60 items, each in 119 comparisons; items were resampled on both sides"
    )
    assert crossed.to_dict()["design"] == crossed.design
    for key, factor in (("misleading_other", 2), ("cllr", 1)):
        one, other = plain[key], crossed[key]
        assert one.value == other.value
        assert other.high - other.low > factor * (one.high - one.low)
        assert other.low <= other.value <= other.high
    assert assess(y, evidence, n_resamples=0, items=items).design == ""


def test_the_intervals_of_groups_of_one_sample_are_those_of_independent_samples(rng):
    y, evidence, _ = glass(20, rng)
    plain = assess(y, evidence)
    grouped = assess(y, evidence, groups=np.arange(len(y)))
    for key in ("misleading_target", "misleading_other", "cllr", "accuracy"):
        np.testing.assert_allclose(
            [grouped[key].low, grouped[key].high], [plain[key].low, plain[key].high], rtol=0.25
        )


def test_without_an_error_the_bound_is_that_of_the_items_not_of_their_comparisons():
    m = 50
    i, j = (index.ravel() for index in np.indices((m, m)))
    y = (i == j).astype(int)
    found = assess(y, Evidence.from_llr(6.0 * y - 3.0), items=(i, j), n_resamples=50)
    assert found["misleading_other"].value == 0
    assert 0.05 < found["misleading_other"].high < 0.1  # 1.96² / (50 + 1.96²)


def test_several_classes_are_resampled_by_groups(rng):
    speaker = np.repeat(np.arange(60), 20)
    y = speaker % 3
    values = rng.normal(size=(1200, 3)) + 2 * rng.normal(size=(60, 3))[speaker]
    values[np.arange(1200), y] += 2
    one, other = (
        assess(y, Evidence(values), n_resamples=100, **kw) for kw in ({}, {"groups": speaker})
    )
    assert other.design == "60 groups of 20 samples; whole groups were resampled"
    for key in ("cross_entropy", "accuracy", "worst_pair_cllr"):
        assert other[key].high - other[key].low > 1.5 * (one[key].high - one[key].low)


def test_few_groups_are_named():
    y = np.arange(40) % 2
    found = assess(y, Evidence.from_llr(2.0 * y - 1), groups=np.arange(40) // 10, n_resamples=20)
    assert "Only 4 groups or items of a class are resampled" in found.warnings[0]


def test_an_assessment_prints_as_a_table_with_what_to_do():
    y = np.arange(400) % 2
    llr = 2 * np.random.default_rng(0).normal(2 * y - 1)
    found = assess(y, Evidence.from_llr(llr), n_resamples=100)
    first, cost, *lines, action = str(found).splitlines()
    intervals = lines[len(found.quantities) - 1]
    assert first == "Assessment: class 0: 200; class 1: 200; positive class: 1"
    assert [f"Note: {warning}" for warning in found.warnings] == lines[len(found.quantities) :]
    assert cost.split() == ["cllr", *str(found["cllr"]).split(), "bit"]
    assert intervals == f"95 % intervals: {found.design}."
    assert action == f"{found.verdicts[0].big}. {found.verdicts[0].sentence}"
    assert len(str(assess(y, Evidence.from_llr(llr), n_resamples=0)).splitlines()) == 1 + len(
        found.quantities
    )


@pytest.mark.parametrize("grouped", [False, True])
def test_very_many_samples_are_judged_in_buckets(monkeypatch, grouped):
    rng = np.random.default_rng(0)
    y = np.concatenate([[0], np.ones(2000, dtype=int)])  # the rare class must be tested
    evidence = Evidence.from_llr(rng.normal((2 * y - 1) * 2.0, 2.0))
    groups = np.arange(len(y)) // 4 if grouped else None
    expected = assess(y, evidence, groups=groups, n_resamples=50)
    monkeypatch.setattr(import_module("deciban.assessment.assess"), "IN_MEMORY", 300)
    found = assess(y, evidence, groups=groups, n_resamples=50)
    assert "buckets" in found.design
    assert grouped == (found.calibration_test is None)
    for key in expected:
        assert found[key].value == pytest.approx(expected[key].value, rel=1e-12, abs=1e-15), key


@pytest.mark.slow
def test_a_few_decisions_that_would_change_do_not_prove_a_loss():
    """Calibrated LLRs lose nothing at any operating point."""
    rng, y = np.random.default_rng(3), np.repeat([0, 1], 100)
    points, proved = [(10, 1, 0.01), (1, 1, 0.5), (9, 81, 0.5)], np.zeros(3)
    for _ in range(100):
        evidence = Evidence.from_llr(rng.normal(4 * y - 2, 2))
        found = assess(y, evidence, n_resamples=200, operating_points=points)
        losses = [q for q in found.quantities if q.key.startswith("decision_loss@")]
        proved += [q.low > 0 for q in losses]
    assert proved.max() <= 4


@pytest.mark.slow
@pytest.mark.parametrize(("offset", "least", "most"), [(0.0, 0, 2), (3.0, 45, 50)])
def test_a_loss_by_decisions_of_three_classes_is_proved_where_there_is_one(offset, least, most):
    family, proved = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0]), 0
    costs = [[0, 1, 20], [1, 0, 1], [5, 1, 0]]
    for seed in range(50):
        l, y = family.sample([100] * 3, rng=seed)
        evidence = family.evidence(l) + Evidence([[offset, 0.0, 0.0]])
        proved += assess(y, evidence, n_resamples=200, costs=costs)["decision_loss"].low > 0
    assert least <= proved <= most


def test_log_likelihoods_of_1e300_are_recalibrated_like_others():
    family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    l, y = family.sample([30] * 3, rng=0)
    w = family.evidence(l).log_likelihoods
    expected, found = (assess(y, Evidence(k * w), n_resamples=50) for k in (1e20, 1e300))
    expected, found = (one["discrimination"] for one in (expected, found))
    for end in ("value", "low", "high"):
        assert getattr(found, end) == pytest.approx(getattr(expected, end), rel=1e-6)


def test_an_assessment_lists_its_quantities_by_key_and_each_shows_its_interval():
    llr = [-2.0, -1.0, 1.0, -1.0, 1.0, 2.0]
    found = assess([0, 0, 0, 1, 1, 1], Evidence.from_llr(llr), n_resamples=20)
    assert [found[key].key for key in found] == [q.key for q in found.quantities]
    assert "cllr" in found
    assert repr(found["cllr"]) == f"cllr: {found['cllr']} bit"
    assert repr(found["eer"]) == f"eer: {found['eer']}"


def test_with_costs_the_verdict_is_on_what_decisions_cost():
    y = np.arange(400) % 2
    evidence = Evidence.from_llr(2 * np.random.default_rng(0).normal(2 * y - 1))
    found = assess(y, evidence, prior=[0.9, 0.1], costs={(1, 0): 8}, n_resamples=50)
    decisions = found.verdicts[3]
    assert decisions.what == "cost of a decision"
    assert decisions.word == "0.8 without evidence"  # miss all of them: 0.1 * 8
    assert decisions.big == number(found["expected_cost"].value)
    more = assess(y, evidence, prior=[0.9, 0.1], costs=[[5, 6], [13, 5]], n_resamples=50)
    assert more.verdicts[3].tone == decisions.tone  # 5 more, whatever is decided


def test_the_worst_bin_of_tied_llrs_in_groups_does_not_depend_on_the_order_of_the_classes():
    rng, group = np.random.default_rng(0), np.repeat(np.arange(40), 10)
    y = np.arange(400) % 2
    llr = 3 * np.clip(
        np.round(2 * y - 1 + rng.normal(size=40)[group] + rng.normal(size=400)), -1, 1
    )
    one, other = (
        assess(labels, Evidence.from_llr(x), groups=group, n_resamples=20).worst_bin
        for labels, x in ((y, llr), (1 - y, -llr))
    )
    assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low), rel=1e-9)
    assert one.p_value == pytest.approx(other.p_value, rel=1e-9)
