"""What an assessment says in words."""

import numpy as np
import pytest

from deciban import CalibratedGaussian, Evidence
from deciban.assessment import assess, verdicts


def test_few_samples_of_overconfident_evidence_are_not_called_calibrated():
    family = CalibratedGaussian(2 * np.eye(4))
    l, y = family.sample([8] * 5, rng=0)
    found = assess(y, family.evidence(5 * l))
    assert found["calibration"].high > 0.1
    assert verdicts.judge_calibration(found).word != "well calibrated"
    l, y = family.sample([6] * 5, rng=1)
    found = assess(y, family.evidence(l))
    assert found["calibration"].value == 0.0 < found["calibration"].high
    assert found["discrimination"].value == found["cross_entropy"].value
    assert verdicts.judge_calibration(found).word == "may be calibrated"


def test_errors_are_compared_with_guessing_and_neutral_evidence_is_called_neutral():
    y = np.repeat([0, 1], 200)
    found = assess(y, Evidence.from_llr(np.zeros(400)), prior=[0.99, 0.01], n_resamples=50)
    assert found.prior == pytest.approx((0.99, 0.01))
    assert verdicts.judge_errors(found).tone != "good"
    assert "guessing would be wrong in 1 %" in verdicts.judge_errors(found).sentence
    assert "says nothing" in verdicts.judge_information(found).sentence


def test_evidence_that_claims_far_too_much_is_not_taken_at_face_value_because_it_costs_little():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20_000)
    llr = 30.0 * (2 * y - 1) * np.where(rng.random(40_000) < 3e-4, -1, 1)
    found = assess(y, Evidence.from_llr(llr), n_resamples=100)
    assert "at face value" not in verdicts.judge_calibration(found).sentence


def test_calibration_is_not_judged_where_no_error_was_to_be_expected():
    y = np.repeat([0, 1], 40)
    sure = assess(y, Evidence.from_llr(6.0 * (2 * y - 1)), n_resamples=50)
    assert verdicts.judge_calibration(sure).word == "cannot be judged"
    y = np.repeat([0, 1], 400)
    unsure = assess(y, Evidence.from_llr(2.0 * (2 * y - 1)), n_resamples=50)  # 100 were expected
    assert verdicts.judge_calibration(unsure).word == "poorly calibrated"


def test_evidence_that_would_be_good_is_not_called_nothing(two):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    llr = 4.0 * rng.normal(4.0 * y - 2, 2.0)  # it claims far too much
    found = assess(y, Evidence.from_llr(llr), n_resamples=200)
    assert found["cllr"].low < 1 < found["cllr"].high
    verdict = verdicts.judge_information(found)
    assert verdict.word == "not fit for use as it stands"
    assert "Recalibrated, it would cost about" in verdict.sentence
    worse = verdicts.judge_information(assess(y, Evidence.from_llr(4 * llr), n_resamples=0))
    assert worse.word == "worse than no evidence"
    calibrated = rng.normal(4.0 * y - 2, 2.0)
    calibrated[:2] = -np.inf
    y, calibrated = np.tile(y, 10), np.concatenate([calibrated, rng.normal(4.0 * np.tile(y, 9) - 2,
                                                                           2.0)])  # fmt: skip
    found = assess(y, Evidence.from_llr(calibrated), n_resamples=200)
    assert found.n_infinite == 2
    assert "rule a class out" in verdicts.judge_calibration(found).sentence


def test_a_tiny_prior_does_not_hide_wrong_decisions():
    y = np.repeat([0, 1], 200)
    found = assess(
        y, Evidence.from_llr(3.0 * (2 * y - 1)), prior=[1 - 1e-10, 1e-10], n_resamples=20
    )
    assert found.n_wrong == 200
    assert "No decision was wrong" not in verdicts.judge_errors(found).sentence


def test_flawless_evidence_is_not_called_nothing():
    y = np.repeat([0, 1, 2], 30)
    verdict = verdicts.judge_information(assess(y, Evidence(30.0 * np.eye(3)[y]), n_resamples=50))
    assert verdict.word == "nearly all of it"
    assert "the frequency and cost of wrong decisions are unknown" in verdict.sentence
    assert verdict.range.startswith("below 0 %")


def test_zeros_that_did_no_harm_do_not_make_evidence_nothing():
    family = CalibratedGaussian(4 * np.eye(4))
    l, y = family.sample([60] * 5, rng=0)
    posterior = family.evidence(l).posterior()
    rounded = np.where(posterior < 1e-4, 0.0, posterior)
    rounded[np.arange(len(y)), y] = np.maximum(rounded[np.arange(len(y)), y], 1e-4)
    found = assess(y, Evidence.from_posteriors(rounded, None, range(5)), n_resamples=50)
    verdict = verdicts.judge_information(found)
    assert verdict.big.endswith("%")
    assert "the cost would be infinite" in verdict.sentence


def test_the_sentence_on_errors_names_the_prior():
    y = np.r_[np.zeros(300, int), np.ones(30, int)]
    llr = np.random.default_rng(0).normal(4.0 * y - 2, 2.0)
    even, own = (
        verdicts.judge_errors(
            assess(y, Evidence.from_llr(llr), prior=prior, n_resamples=20)
        ).sentence
        for prior in (None, [10 / 11, 1 / 11])
    )
    assert "if classes are equally frequent" in even
    assert "if classes are as frequent as the prior says" in own


def test_evidence_of_few_errors_is_not_called_well_calibrated():
    words = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1, 2], 100)
        values = 10 * 4 * (4 * np.eye(3)[y] + rng.normal(size=(300, 3)))  # ten times too sure
        words.append(verdicts.judge_calibration(assess(y, Evidence(values), n_resamples=50)).word)
    assert "well calibrated" not in words
