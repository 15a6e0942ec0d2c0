"""Systems on the same samples: differences, their intervals and their verdicts."""

import json

import numpy as np
import pytest

from deciban import Evidence, metrics
from deciban.assessment import assess, compare
from deciban.exceptions import InputError


def compare_two(y, a, b, **options):
    return compare(y, {"A": a, "B": b}, **options)


def test_paired_resamples_show_differences_that_separate_intervals_hide(two):
    y, llr = two
    noisy = llr + np.random.default_rng(7).normal(scale=0.7, size=len(llr))
    a, b = Evidence.from_llr(llr), Evidence.from_llr(noisy)
    found = compare_two(y, a, b, n_resamples=300)["cllr_min"]
    assert found.verdict == "A better"
    assert found.difference == found.a - found.b
    assert found.low <= found.difference <= found.high < 0
    alone = [assess(y, e, n_resamples=300)["cllr_min"] for e in (a, b)]
    assert alone[0].high > alone[1].low
    assert compare_two(y, b, a, n_resamples=300)["accuracy"].verdict in (
        "B better",
        "cannot tell",
    )
    assert compare_two(y, b, a, n_resamples=300)["cllr"].verdict == "B better"


def test_a_system_does_not_differ_from_itself(two, three):
    y, llr = two
    e = Evidence.from_llr(llr)
    y3, e3 = three
    e3 = e3.rename(range(3))
    turned = e3.restrict([2, 0, 1])
    for found in (
        compare_two(y, e, e, n_resamples=50),
        compare_two(y3, e3, turned, n_resamples=50),
    ):
        for one in found.differences:
            none = one.key in ("dev_pav", "worst_pair_cllr")
            assert one.verdict in (("",) if none else ("same", "cannot tell"))
            assert one.difference == pytest.approx(0, abs=1e-9)


def test_differences_of_several_classes_are_paired(three):
    y, e = three
    e = e.rename(range(3))
    found = compare_two(y, e, 3.0 * e, n_resamples=200)
    assert found["cross_entropy"].verdict == "A better"
    assert found["discrimination"].verdict == "cannot tell"
    assert json.loads(json.dumps(found.to_dict()))["differences"][0]["verdict"] == "A better"
    with pytest.raises(InputError, match="same classes"):
        compare_two(y, e, e.rename(["x", "y", "z"]))
    with pytest.raises(InputError, match="same samples"):
        compare_two(y, e, e[:-1])
    with pytest.raises(InputError, match="system 'B' must be Evidence"):
        compare_two(y, e, np.zeros((3, 3)))


def test_many_pairs_of_llrs_are_counted_in_cells(draw):
    rng = np.random.default_rng(0)
    y, llr = draw(60_000, rng)
    noisy = llr + rng.normal(scale=1.0, size=len(llr))
    found = compare(
        y, {"A": Evidence.from_llr(llr), "B": Evidence.from_llr(noisy)}, n_resamples=100
    )
    gap = np.logaddexp(0, np.where(y, -llr, llr)) - np.logaddexp(0, np.where(y, -noisy, noisy))
    spread = np.sqrt(sum(gap[y == k].var() / (y == k).sum() for k in (0, 1))) / 2 / np.log(2)
    one = found["cllr"]
    assert one.high - one.low == pytest.approx(2 * 1.96 * spread, rel=0.25)
    assert found["cllr_min"].verdict == "A better"


@pytest.mark.slow
def test_equal_systems_are_seldom_separated():
    count, n = {}, 60
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1], n)
        shared = rng.normal(size=2 * n)
        a, b = (
            Evidence.from_llr(4 * y - 2 + np.sqrt(2) * (shared + rng.normal(size=2 * n)))
            for _ in range(2)
        )
        for one in compare_two(y, a, b, n_resamples=150, prior=[0.8, 0.2]).differences:
            count[one.key] = count.get(one.key, 0) + one.verdict.endswith("better")
    assert max(count.values()) <= 8  # of 60, at 95 %


def test_a_comparison_warns_of_few_samples_and_without_intervals_has_no_verdict(three, draw):
    y, llr = draw(30, np.random.default_rng(0))
    e = Evidence.from_llr(llr)
    found = compare_two(y, e, 2.0 * e, n_resamples=50)
    assert any("only 12 samples" in warning for warning in found.warnings)
    assert found["dev_pav"].verdict == ""
    assert all(one.verdict == "" for one in compare_two(y, e, 2.0 * e, n_resamples=0).differences)
    y3, e3 = three
    labels = np.array(e3.classes)[y3]
    found = compare_two(labels, e3, 3.0 * e3, n_resamples=100)
    pair = found["worst_pair_cllr"]
    assert pair.b == pytest.approx(np.nanmax(metrics.pairwise_cllr(labels, 3.0 * e3).cllr))
    assert pair.verdict == ""  # it was chosen because it is the worst
    assert compare_two(labels, e3, e3, n_resamples=0)["accuracy"].verdict == ""


def test_a_comparison_names_what_is_the_same_infinite_or_unseen(two):
    y, llr = two
    found = compare(
        y, {"A": Evidence.from_llr(llr), "B": Evidence.from_llr(10 * llr)}, n_resamples=50
    )
    assert found["cllr_min"].verdict == found["eer"].verdict == "same"
    worst = np.where(np.arange(len(y)) == np.argmax(y == 0), np.inf, llr)
    found = compare_two(y, Evidence.from_llr(llr), Evidence.from_llr(worst), n_resamples=50)
    assert found["cllr"].verdict == "A better"
    assert any(
        w.startswith("B: Sample ") and "rules out its true class" in w for w in found.warnings
    )
    apart = 2.0 * (2 * y - 1)
    found = compare(
        y, {"A": Evidence.from_llr(apart), "B": Evidence.from_llr(3 * apart)}, n_resamples=50
    )
    assert found["eer"].verdict == found["cllr_min"].verdict == ""


def test_an_overconfident_system_is_not_better_because_nothing_misled():
    better = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1], 40)
        llr = rng.normal((2 * y - 1) * 8.0, 4.0)  # calibrated; an error in fifty
        found = compare(
            y, {"A": Evidence.from_llr(llr), "B": Evidence.from_llr(3 * llr)}, n_resamples=100
        )
        better += found["cllr"].verdict == "B better"
    assert better <= 2
    y = np.repeat([0, 1, 2], 20)
    right = Evidence(9.0 * np.eye(3)[y])
    found = compare_two(y, right, 1.1 * right, n_resamples=50)
    assert {one.verdict for one in found.differences} <= {"", "same", "cannot tell"}


@pytest.mark.slow
def test_equally_good_systems_that_often_disagree_are_seldom_separated():
    count = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y, a = np.repeat([0, 1], 500), rng.normal(size=1000)  # both guess, and never alike
        found = compare_two(y, Evidence.from_llr(a), Evidence.from_llr(-a), n_resamples=2)
        count += found["accuracy"].verdict.endswith("better")
    assert count <= 8  # of 60, at 95 %


def test_the_same_evidence_is_the_same_in_everything(two):
    y, llr = two
    found = compare_two(y, Evidence.from_llr(llr), Evidence.from_llr(llr), n_resamples=20)
    assert found.warnings[0] == "A and B are the same evidence."
    assert {one.verdict for one in found.differences if one.key != "dev_pav"} == {"same"}


def test_a_comparison_is_the_same_in_both_orders():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    a = Evidence.from_llr(rng.normal(4.0 * y - 2, 2.0))
    b = Evidence.from_llr(30 * (2 * y - 1) * rng.uniform(1, 3, 400))  # it claims much, and is right
    there, back = (
        compare_two(y, a, b, n_resamples=100),
        compare_two(y, b, a, n_resamples=100),
    )
    turned = {"A better": "B better", "B better": "A better"}
    for one, other in zip(there.differences, back.differences, strict=True):
        if one.key != "dev_pav":
            assert one.verdict == turned.get(other.verdict, other.verdict)
            assert one.low == pytest.approx(-other.high, rel=0.2, abs=0.02)
    assert there["cllr"].verdict == "cannot tell"


def test_expected_cost_and_accuracy_have_the_same_verdict():
    y = np.repeat([0, 1, 2], 100)
    right = 5.0 * np.eye(3)[y]
    worse = right.copy()
    worse[[0, 1, 100, 200]] = worse[[100, 200, 0, 0]]  # four errors, which may be chance
    found = compare(
        y, {"A": Evidence(right), "B": Evidence(worse)}, costs=1 - np.eye(3), n_resamples=200
    )
    assert found["accuracy"].verdict == found["expected_cost"].verdict == "cannot tell"


def test_each_further_system_is_compared_with_the_first(two):
    y, llr = two
    systems = {"plain": Evidence.from_llr(llr), "sharp": Evidence.from_llr(3 * llr),
               "blunt": Evidence.from_llr(llr / 3)}  # fmt: skip
    found = compare(y, systems, n_resamples=50)
    assert found.systems == ("plain", "sharp", "blunt")
    for name in ("sharp", "blunt"):
        alone = compare(y, {"plain": systems["plain"], name: systems[name]}, n_resamples=50)
        assert found["cllr", name] == alone["cllr"]
        assert found["cllr", name].systems == ("plain", name)
    with pytest.raises(KeyError, match="'cllr', 'sharp'"):
        found["cllr"]
    with pytest.raises(InputError, match="systems must map two or more names"):
        compare(y, {"plain": systems["plain"]})


def test_systems_are_compared_by_the_items_that_comparisons_share(rng):
    m = 40
    i, j = (index.ravel() for index in np.indices((m, m)))
    y = (i == j).astype(int)
    effect = rng.normal(size=(2, m))
    a, b = (Evidence.from_llr(4.0 * y - 2 + e[i] + e[j]) for e in effect)
    plain = compare(y, {"a": a, "b": b}, n_resamples=200)
    crossed = compare(y, {"a": a, "b": b}, n_resamples=200, items=(i, j))
    assert "40 items" in crossed.design
    assert "40 items" in crossed.to_dict()["design"]
    one, other = plain["misleading_other"], crossed["misleading_other"]
    assert other.high - other.low > 1.5 * (one.high - one.low)


def test_a_comparison_prints_each_system_against_the_first():
    y = np.arange(100) % 2
    llr = 2 * np.random.default_rng(0).normal(2 * y - 1)
    systems = {name: Evidence.from_llr(llr * k) for name, k in (("x", 1), ("y", 3), ("z", 0.3))}
    lines = str(compare(y, systems, n_resamples=50)).splitlines()
    assert lines[0] == "Comparison: a is x, b is y"
    assert lines[1].split() == ["a", "b", "a", "−", "b"]
    half = len(lines) // 2
    assert lines[half] == "Comparison: a is x, b is z"
    assert [line.split()[0] for line in lines[2:half]] == [
        line.split()[0] for line in lines[half + 2 : -1]
    ]


def test_systems_that_decided_alike_so_far_do_not_have_the_same_decision_loss(rng):
    y = np.repeat([0, 1], 50)
    llr = np.where(y, 3.0, -3.0) + 0.3 * rng.normal(size=100)
    found = compare(y, {name: Evidence.from_llr(k * llr) for name, k in (("a", 1), ("b", 1.5))})
    by_key = {d.key: d for d in found.differences}
    loss, cost = by_key["decision_loss"], by_key["detection_cost"]
    assert (loss.low, loss.high) == (cost.low, cost.high)
    assert loss.verdict == cost.verdict == "cannot tell"
