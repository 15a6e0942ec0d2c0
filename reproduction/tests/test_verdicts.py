"""PrintedNumber numbers, and verdicts that are computed from them."""

import pytest

from reproduction.experiment import Measurement
from reproduction.experiments import EXPERIMENTS
from reproduction.verdicts import PrintedNumber, half_unit, printed_numbers, verdict


def number(text="0.118", better="lower", **more):
    fields = {"key": "k", "unit": "bit", "where": "", "what": "", "experiment": "moons"}
    return PrintedNumber(
        text=text, value=float(text), half_unit=half_unit(text), better=better, **fields | more
    )


def ours(value, low=None, high=None):
    return Measurement(
        "k", value, value if low is None else low, value if high is None else high, ""
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0.118", 5e-4), ("38.3", 0.05), ("6", 0.5), ("4.85e-5", 5e-8), ("1.43e-1", 5e-4)],
)
def test_rounding_leaves_half_a_unit_of_the_last_digit_open(text, expected):
    assert half_unit(text) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("better", "low", "value", "high", "expected"),
    [
        ("lower", 0.100, 0.105, 0.110, "beaten"),
        ("lower", 0.100, 0.110, 0.120, "matched"),
        ("lower", 0.120, 0.125, 0.130, "worse"),
        ("higher", 0.100, 0.105, 0.110, "worse"),
        ("higher", 0.120, 0.125, 0.130, "beaten"),
        ("neither", 0.100, 0.105, 0.110, "not comparable"),
        ("neither", 0.100, 0.115, 0.120, "matched"),
        ("exact", 0.1184, 0.1184, 0.1184, "matched"),
        ("exact", 0.1190, 0.1190, 0.1190, "worse"),
        ("lower", 0.1170, 0.1172, 0.1176, "matched"),  # 0.1176 is printed 0.118
        ("lower", 0.1185, 0.1185, 0.1185, "matched"),  # and so may 0.1185 be
        ("lower", 0.0, 0.0, 0.0, "beaten"),
    ],
)
def test_a_verdict_follows_from_the_interval_and_the_printed_digits(
    better, low, value, high, expected
):
    assert verdict(number(better=better), ours(value, low, high)) == expected


def test_an_erratum_cannot_be_compared_and_what_was_not_run_says_so():
    assert verdict(number(not_comparable="Erratum: x"), ours(0.1)) == "not comparable"
    assert verdict(number(), None) == "not run"


def test_a_baseline_is_matched_or_worse_or_was_not_reproduced():
    baseline = number(baseline=True)
    assert verdict(baseline, ours(0.118)) == "matched"
    assert verdict(baseline, ours(0.2)) == "worse"
    assert verdict(baseline, ours(0.1)) == "not comparable"


def test_every_number_of_the_paper_has_an_experiment_a_place_and_a_unit():
    names = {experiment.name for experiment in EXPERIMENTS}
    printed = printed_numbers()
    assert len(printed) == 127
    for one in printed.values():
        assert one.experiment in names
        assert one.where
        assert one.what
        assert one.unit
        assert one.better in ("lower", "higher", "exact", "neither")


@pytest.mark.parametrize(
    ("key", "value"),
    # Read off the paper's tables once more, by eye: one of each table and two captions.
    [
        ("table1.circles.cda.cllr", 0.054),
        ("table1.moons.lda.cllr_min", 0.387),
        ("appendix.three.23.cda.cllr", 8.46e-3),
        ("mnist40.qda.c_mc", 0.856),
        ("mnist40.cda.divergence.49", 5.1),
        ("mnist40.cda.divergence.01", 38.3),
        ("families.b.23.eer", 3.07),
        ("densities.eer001.divergence", 10.8),
    ],
)
def test_printed_numbers_are_the_papers(key, value):
    assert printed_numbers()[key].value == value


def test_costs_that_depend_on_a_test_size_that_was_not_printed_are_not_comparable():
    rare = [
        one
        for key, one in printed_numbers().items()
        if key.startswith("appendix.three.") and key.endswith("cllr_min") and not one.remark
    ]
    assert len(rare) == 7
    for one in rare:
        assert verdict(one, ours(0.0)) == "not comparable"
