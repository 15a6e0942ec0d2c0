"""Which system is better, in words."""

from types import SimpleNamespace

import numpy as np
import pytest

from deciban import Evidence, compare
from deciban.assessment.ranking import judge_calibration_gain, rank_systems

SETTINGS = {"n_resamples": 200, "rng": 0}


@pytest.fixture
def data(rng):
    y = np.arange(600) % 2
    llr = rng.normal(2 * y - 1, 1) * 2
    return y, llr


def rank(y, **systems):
    evidence = {name: Evidence.from_llr(llr) for name, llr in systems.items()}
    verdict, sentences = rank_systems(y, evidence, compare(y, evidence, **SETTINGS), **SETTINGS)
    return SimpleNamespace(verdict=verdict, sentences=sentences)


def test_a_system_that_only_shouts_is_to_be_recalibrated(data):
    y, llr = data
    found = rank(y, loud=5 * llr, plain=llr)
    assert found.verdict.big == "plain is better"
    assert "Chance does not explain this" in found.sentences[0]
    assert "one of calibration: recalibrate loud" in found.sentences[0]


def test_a_noisy_system_is_not_helped_by_recalibration(data, rng):
    y, llr = data
    found = rank(y, plain=llr, noisy=0.3 * (llr + rng.normal(0, 3, len(llr))))
    assert found.verdict.tone == "good"
    assert "plain tells the classes apart better" in found.sentences[0]


def test_few_samples_do_not_tell_systems_apart_that_hardly_differ(data):
    y, llr = data
    found = rank(y, one=llr, other=1.05 * llr)
    assert found.verdict.big == "Cannot tell"
    assert "do not suffice to tell" in found.sentences[0]


def test_the_same_evidence_makes_no_difference(data):
    y, llr = data
    found = rank(y, one=llr, other=llr.copy())
    assert found.verdict.big == "No difference"
    assert "do not differ in any resample" in found.sentences[0]


def test_the_best_of_three_is_compared_with_each_of_the_others(data, rng):
    y, llr = data
    found = rank(y, loud=5 * llr, noisy=0.1 * rng.normal(size=len(llr)), plain=llr)
    assert found.verdict.big == "plain is the best"
    assert [sentence.split(" and ")[1].split()[0] for sentence in found.sentences] == [
        "loud",
        "noisy",
    ]


def test_without_resamples_nothing_is_said_about_chance(data):
    y, llr = data
    systems = {"a": Evidence.from_llr(llr), "b": Evidence.from_llr(3 * llr)}
    verdict, _ = rank_systems(y, systems, compare(y, systems, n_resamples=0), n_resamples=0)
    assert verdict.big == "a costs the least"
    assert "not tested" in verdict.word


@pytest.mark.parametrize(
    ("before", "after", "big"),
    [(5.0, 1.0, "It helps"), (1.0, 5.0, "It does harm"), (1.0, 1.2, "No clear gain"),
     (1.0, 1.0, "Nothing")],
)  # fmt: skip
def test_calibration_is_judged_by_what_it_changes(data, before, after, big):
    y, llr = data
    systems = {"before": Evidence.from_llr(before * llr), "after": Evidence.from_llr(after * llr)}
    found = judge_calibration_gain(compare(y, systems, **SETTINGS), 5)
    assert found.big == big
    assert "in 5 folds" in found.sentence
