"""What an assessment says in words, and what it says to do."""

from itertools import product

import numpy as np
import pytest

from deciban import CalibratedGaussian, Evidence
from deciban.assessment import assess, verdicts
from deciban.assessment.actions import cost_of
from known_systems import KINDS, draw_system, make_costs, make_prior

USE, RECALIBRATE = "use it", "recalibrate it"
MORE, NEVER = "get more samples", "do not use it"
ALLOWED = {  # actions with few samples, and with a thousand or more
    "calibrated": ({USE, MORE}, {USE, MORE}),
    "slightly too strong": ({MORE, RECALIBRATE}, {MORE, RECALIBRATE}),
    "too strong": ({MORE, RECALIBRATE, NEVER}, {RECALIBRATE, NEVER}),
    "too weak": ({MORE, RECALIBRATE}, {RECALIBRATE}),
    "shifted": ({MORE, RECALIBRATE, NEVER}, {RECALIBRATE}),
    "wrong shape": ({MORE, RECALIBRATE, NEVER}, {MORE, RECALIBRATE}),
    "reversed": ({MORE, RECALIBRATE, NEVER}, {RECALIBRATE, NEVER}),
    "useless": ({MORE, RECALIBRATE, NEVER}, {RECALIBRATE, NEVER}),
    "nothing": ({NEVER, MORE}, {NEVER, MORE}),
    "separated": ({MORE}, {MORE}),
    "infinite": ({RECALIBRATE, NEVER}, {RECALIBRATE, NEVER}),
    "infinite and wrong": ({RECALIBRATE, NEVER}, {RECALIBRATE, NEVER}),
}


def assert_allowed(kind, n_classes, n_samples, of_last, with_costs, resamples=60):
    """The system gets an action that it may get, and nothing on its page contradicts it."""
    y, w = draw_system(kind, n_classes, n_samples, seed=1)
    costs = make_costs(n_classes) if with_costs else None
    prior = make_prior(of_last, n_classes)
    found = assess(y, Evidence(w), prior=prior, costs=costs, n_resamples=resamples)
    assert found.action in ALLOWED[kind][n_samples >= 1000], (n_classes, n_samples, of_last)
    action, information, calibration, _, samples = found.verdicts
    assert action.big == found.action.capitalize()
    assert all(v.sentence.endswith(".") and "nan" not in v.sentence for v in found.verdicts)
    cost = cost_of(found)
    if calibration.word == "well calibrated" and found.action != NEVER:
        assert not found.worst_bin or found.worst_bin.p_value >= 0.05
        assert cost.total.low <= cost.no_evidence
        assert found.action in (USE, MORE)
    if found.action == USE:
        assert calibration.word == "well calibrated"
        assert samples.word != "too few to be sure"
        assert cost.total.high < cost.no_evidence
        assert information.tone != "poor" or cost.total.value > 0.9 * cost.no_evidence
    if found.action == RECALIBRATE:
        assert calibration.word in ("miscalibrated", "poorly calibrated", "not known")
    if found.action == MORE:
        assert samples.word == "too few to be sure"


@pytest.mark.parametrize("kind", KINDS)
def test_known_systems_get_the_actions_that_they_may_get(kind):
    for n_classes, n_samples in product((2, 3), (100, 1000)):
        assert_allowed(kind, n_classes, n_samples, 0.5, with_costs=False)
    assert_allowed(kind, 2, 20, 0.5, with_costs=False)
    assert_allowed(kind, 10, 20, 0.5, with_costs=False)
    assert_allowed(kind, 2, 1000, 0.001, with_costs=False)
    assert_allowed(kind, 2, 1000, 0.1, with_costs=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_grid_of_known_systems_gets_the_actions_that_it_may_get(kind):
    priors = (0.5, 0.1, 0.001)
    for n_classes, n_samples, of_last in product((2, 3, 10), (20, 100, 1000), priors):
        for with_costs in (False, True):
            assert_allowed(kind, n_classes, n_samples, of_last, with_costs, resamples=200)
    for n_classes, of_last in product((2, 3, 10), priors):
        assert_allowed(kind, n_classes, 100_000, of_last, with_costs=of_last == 0.1)


@pytest.mark.parametrize(
    ("n_samples", "action"), [(20, MORE), (100, MORE), (1000, USE), (10_000, USE)]
)
def test_calibrated_evidence_is_used_once_samples_are_enough_to_tell(n_samples, action):
    actions = []
    for seed in range(5):
        y, w = draw_system("calibrated", 2, n_samples, seed)
        actions.append(assess(y, Evidence(w), n_resamples=100).action)
    assert actions.count(action) >= 4  # tests at 5 % may reject one


def test_evidence_that_costs_more_than_none_at_the_asked_prior_is_not_called_calibrated():
    rng = np.random.default_rng(0)
    y = np.arange(20_000) % 2
    llr = rng.normal(4.0 * y - 2, 2.0)
    llr[(y == 0) & (rng.random(20_000) < 0.006)] = 9.0  # hardly matters at even odds
    even, rare = (
        assess(y, Evidence.from_llr(llr), prior=p, n_resamples=100) for p in (None, [0.999, 0.001])
    )
    assert even["cllr_cal"].high < 0.04
    assert rare["cross_entropy"].low > -0.999 * np.log(0.999) - 0.001 * np.log(0.001)
    assert rare.action == RECALIBRATE
    assert verdicts.judge_calibration(rare).word == "poorly calibrated"
    assert "at a prior of 0.001 for 1, it costs" in rare.verdicts[2].sentence


@pytest.mark.parametrize(("llr", "right", "posterior"), [(3.5, 0.75, "0.97"), (1.0, 0.60, "0.73")])
def test_posteriors_that_do_not_come_true_are_not_called_calibrated(llr, right, posterior):
    rng = np.random.default_rng(0)
    y, strange = np.arange(4000) % 2, np.arange(4000) // 2 % 5 == 0
    strength, rate = np.where(strange, llr, 4.0), np.where(strange, right, 0.982)
    sign = np.where(rng.random(4000) < rate, 1, -1) * (2 * y - 1)
    found = assess(y, Evidence.from_llr(sign * strength), n_resamples=100)
    assert found.worst_bin.p_value < 0.001
    assert found.action == RECALIBRATE
    calibration = verdicts.judge_calibration(found)
    assert "calibrated" in calibration.word
    assert calibration.word not in ("well calibrated", "may be calibrated")
    mirrored = f"{1 - float(posterior):.2g}"
    sentence = calibration.sentence
    assert any(f"posteriors of about {p}" in sentence for p in (posterior, mirrored))


def test_the_costs_that_were_asked_for_decide():
    y, w = draw_system("calibrated", 2, 4000, seed=0)
    useful = assess(y, Evidence(w), prior=[0.9, 0.1], costs=[[0, 1], [9, 0]], n_resamples=100)
    assert useful.action == USE
    assert (
        "Decisions at a prior of 0.1 for 1 and the costs given cost" in useful.verdicts[0].sentence
    )
    rng = np.random.default_rng(0)
    weak = Evidence.from_llr(rng.normal(0.25 * y - 0.125, 0.5))  # far below the threshold
    assert assess(y, weak, n_resamples=100).action == USE
    hopeless = assess(y, weak, operating_points=[(1, 1, 0.01)], n_resamples=100)
    assert hopeless.action == NEVER
    assert hopeless.verdicts[0].word == "changes no decision"
    w[:, 1] += 3.0  # a false alarm is cheap, so that accepting everything would cost less
    shifted = assess(y, Evidence(w), prior=[0.9, 0.1], costs=[[0, 1], [9, 0]], n_resamples=100)
    assert shifted.action == RECALIBRATE
    assert shifted["decision_loss"].low > 0.02


def test_a_loss_that_is_real_but_small_is_no_reason_to_recalibrate():
    y, w = draw_system("calibrated", 2, 200_000, seed=0)
    found = assess(y, Evidence(1.08 * w), n_resamples=200)
    assert found.calibration_test.p_value < 0.01
    assert found.action == USE
    assert "but costs next to nothing" in found.verdicts[0].sentence


def test_without_intervals_no_action_follows():
    y, w = draw_system("calibrated", 2, 100, seed=0)
    found = assess(y, Evidence(w), n_resamples=0)
    assert found.action == ""
    assert found.verdicts[0].big == "–"
    assert found.to_dict()["action"] == ""


def test_samples_that_share_groups_do_not_prove_a_bin_wrong():
    rng = np.random.default_rng(0)
    n_groups, size = 60, 50
    mean = np.repeat(rng.normal(4.0 * (np.arange(n_groups) % 2) - 2, 2.0), size)
    y, groups = np.repeat(np.arange(n_groups) % 2, size), np.repeat(np.arange(n_groups), size)
    evidence = Evidence.from_llr(mean + rng.normal(0, 0.05, len(y)))
    alone = assess(y, evidence, n_resamples=60)
    together = assess(y, evidence, groups=groups, n_resamples=60)
    assert together.action == MORE
    assert together.worst_bin is None or together.worst_bin.p_value > alone.worst_bin.p_value


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


def test_a_handful_of_samples_in_the_wrong_order_proves_nothing():
    for n in (1, 2):
        y = np.repeat([0, 1], n)
        found = assess(y, Evidence.from_llr(np.where(y == 1, -2.0, 1.0)), n_resamples=50)
        assert found.action == "get more samples"
        assert "chance alone explains any order" in found.verdicts[0].sentence
    y = np.repeat([0, 1], 100)
    found = assess(y, Evidence.from_llr(np.where(y == 1, -2.0, 1.0)), n_resamples=50)
    assert found.action == "do not use it"
