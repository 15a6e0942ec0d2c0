"""Prediction sets: their definition by brute force, and their coverage by simulation."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban import Evidence
from deciban.exceptions import FewSamplesWarning, InputError, UnknownClassError
from strategies import seeds


def draw(counts, strength, rng, factor=1.0):
    """Labels, and evidence that is ``factor`` times what it should be."""
    D = len(counts)
    y = np.repeat(np.arange(D), counts)
    x = rng.normal(size=(len(y), D)) + strength * np.eye(D)[y]
    return y, Evidence(factor * strength * x)


@given(seeds, st.integers(2, 8), st.floats(0.01, 0.99))
def test_without_calibration_no_smaller_set_has_the_mass(seed, D, alpha):
    rng = np.random.default_rng(seed)
    evidence = Evidence(2 * rng.normal(size=(5, D)))
    prior = rng.dirichlet(np.ones(D))
    sets = evidence.prediction_set(alpha, prior)
    for p, members in zip(evidence.posterior(prior), sets.members, strict=True):
        largest = np.sort(p)[::-1]
        k = members.sum()
        assert p[members].sum() >= 1 - alpha - 1e-9
        assert largest[: k - 1].sum() < 1 - alpha + 1e-9


def test_ties_go_to_the_first_classes_and_certain_evidence_to_one():
    evidence = Evidence.from_likelihoods([[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.0]])
    assert list(evidence.prediction_set(0.5)) == [(0, 1), (2,)]


def test_the_threshold_is_the_score_of_the_rank_that_the_theory_has(rng):
    y, labeled = draw([30, 30, 30], 1.0, rng)
    _, new = draw([20, 20, 20], 1.0, rng)
    scores = np.sort(1 - labeled.posterior()[np.arange(90), y])
    rank = int(np.ceil(91 * 0.8))
    even = np.full(3, 1 / 3)
    sets = new.prediction_set(0.2, even, calibration=(y, labeled))
    expected = 1 - new.posterior() <= scores[rank - 1] + 1e-12
    expected[np.arange(60), new.posterior().argmax(axis=1)] = True
    np.testing.assert_array_equal(sets.members, expected)
    by_class = new.prediction_set(0.2, even, calibration=(y, labeled), by_class=True)
    for k in range(3):
        own = np.sort(1 - labeled.posterior()[y == k, k])
        limit = own[int(np.ceil(31 * 0.8)) - 1]
        inside = (1 - new.posterior()[:, k] <= limit + 1e-12) | (new.posterior().argmax(1) == k)
        np.testing.assert_array_equal(by_class.members[:, k], inside)


def test_without_a_prior_the_new_sample_is_treated_like_those_of_the_calibration(rng):
    y, labeled = draw([15, 6, 2], 1.0, rng)
    _, new = draw([3, 3, 3], 1.0, rng)
    sets = new.prediction_set(0.2, calibration=(y, labeled))
    best = new.decide(prior=(np.array([15, 6, 2]) + 1 / 3) / 24)
    expected = np.zeros((9, 3), dtype=bool)
    for row, k in np.ndindex(9, 3):
        labels = np.append(y, k)  # as if the new sample were of this class
        prior = (np.bincount(labels, minlength=3) + 1 / 3) / 25
        both = Evidence.concatenate([labeled, new[row]])
        scores = 1 - both.posterior(prior)[np.arange(24), labels]
        limit = np.sort(scores[:-1])[int(np.ceil(24 * 0.8)) - 1]
        expected[row, k] = scores[-1] <= limit or best[row] == k
    np.testing.assert_array_equal(sets.members, expected)


def test_nine_samples_are_just_enough_for_ten_percent(rng):
    y, labeled = draw([9, 9], 1.0, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labeled.prediction_set(0.1, calibration=(y, labeled), by_class=True)
    y, labeled = draw([9, 8], 1.0, rng)
    with pytest.warns(FewSamplesWarning, match="9 samples or more of each class") as caught:
        sets = labeled.prediction_set(0.1, calibration=(y, labeled), by_class=True)
    assert caught[0].message.classes == (1,)
    assert sets.members[:, 1].all()
    assert not sets.members[:, 0].all()


def test_a_class_without_calibration_samples_is_in_every_set(rng):
    y, labeled = draw([40, 40, 0], 2.0, rng)
    for options in ({"by_class": True}, {"prior": [0.49, 0.49, 0.02]}):
        with pytest.warns(FewSamplesWarning) as caught:
            sets = labeled.prediction_set(0.1, calibration=(y, labeled), **options)
        assert len(caught) == 1
        assert sets.members[:, 2].all()
        assert not sets.members[:, 0].all()
    with pytest.warns(FewSamplesWarning):  # a third of the samples may be of this class
        assert labeled.prediction_set(0.1, [1 / 3] * 3, calibration=(y, labeled)).members.all()
    none = Evidence(np.zeros((0, 3)))
    with pytest.warns(FewSamplesWarning):
        assert labeled.prediction_set(0.1, calibration=([], none)).members.all()


def test_evidence_that_rules_out_the_truth_makes_sets_of_all_classes():
    wrong = Evidence.from_llr(np.full(20, np.inf))
    sets = wrong.prediction_set(0.1, calibration=([0] * 19 + [1], wrong))
    assert sets.members.all()


def test_sets_list_their_labels_and_are_arrays_of_truth_values():
    evidence = Evidence.from_likelihoods([[5, 4, 1.0]] * 7, classes=["a", "b", "c"])
    sets = evidence.prediction_set(0.2)
    assert sets[0] == sets[-1] == ("a", "b")
    assert len(sets) == len(list(sets)) == 7
    assert sets[1:3].sizes.tolist() == [2, 2]
    assert np.asarray(sets).shape == (7, 3)
    assert sets.contains(["a", "b", "c", "a", "b", "c", "c"]).mean() == pytest.approx(4 / 7)
    assert repr(sets).endswith("{a, b}, ...")
    with pytest.raises(UnknownClassError):
        sets.contains(["d"] * 7)


def test_calibration_is_matched_by_the_names_of_classes(rng):
    y, labeled = draw([30, 30, 30], 1.0, rng)
    turned = labeled.restrict([2, 0, 1])
    np.testing.assert_array_equal(
        labeled.prediction_set(0.1, calibration=(y, turned)).members,
        labeled.prediction_set(0.1, calibration=(y, labeled)).members,
    )


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"alpha": 1.0}, "alpha must lie between 0 and 1"),
        ({"alpha": 0.1, "by_class": True}, "by_class must come with calibration"),
        ({"alpha": 0.1, "calibration": [0, 1, 1]}, "calibration must be a pair"),
        ({"alpha": 0.1, "calibration": ([0, 1], Evidence(np.zeros((3, 2))))}, "each of 3 samples"),
    ],
)
def test_what_cannot_be_used_is_refused(options, match):
    with pytest.raises(InputError, match=match):
        Evidence(np.zeros((1, 2))).prediction_set(**options)


def test_a_thousand_classes_have_sets(rng):
    y, labeled = draw(np.full(1000, 2), 4.0, rng)
    sets = labeled.prediction_set(0.1, calibration=(y, labeled))
    assert sets.sizes.mean() < 100
    assert sets.contains(y).mean() > 0.88


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.3, 1.0, 3.0])  # evidence too weak, calibrated, too strong
def test_conformal_sets_cover_whatever_the_evidence_is_worth(factor, rng):
    held, held_by_class, weighted = [], [], []
    for _ in range(400):
        y, labeled = draw([60, 30, 10], 1.0, rng, factor)
        truth, new = draw([60, 30, 10], 1.0, rng, factor)
        calibration = (y, labeled)
        held.append(new.prediction_set(0.1, calibration=calibration).contains(truth))
        sets = new.prediction_set(0.1, calibration=calibration, by_class=True)
        held_by_class.append([sets.contains(truth)[truth == k].mean() for k in range(3)])
        sets = new.prediction_set(0.1, [0.1, 0.2, 0.7], calibration=calibration)
        weighted.append(sets.contains(truth) @ np.array([0.1 / 60, 0.2 / 30, 0.7 / 10])[truth])
    assert np.mean(held) > 0.89
    assert (np.mean(held_by_class, axis=0) > 0.89).all()
    assert np.mean(weighted) > 0.885
