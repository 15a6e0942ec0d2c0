"""calibrator="auto": the choice among calibrators, and the maps that are only in it."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB

import deciban
from deciban import CalibratedGaussian, Evidence, LinearDiscriminant, metrics
from deciban.calibration import (
    AffineCalibrator,
    CalibratedEvidenceClassifier,
    CurvedCalibrator,
    IdentityCalibrator,
)
from deciban.calibration.choice import choose_calibrator
from deciban.exceptions import InputError
from deciban.metrics.labelled import Labelled

PAIR = CalibratedGaussian.from_divergences([4.0])
FAMILY = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])


def stretched(family, n, map_of, rng=0):
    """Evidence of a calibrated family whose ILRLs went through a map."""
    l, y = family.sample([n] * family.n_classes, rng)
    return Labelled(family.evidence(map_of(l)), y)


def turn(l):
    return l @ np.array([[2.0, 1.0], [-1.0, 0.5]])


def square(l):
    return l * np.linalg.norm(l, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("family", "map_of", "choice"),
    [
        (PAIR, lambda l: l, "identity"),
        (PAIR, lambda l: 3 * l + 1, "affine"),
        (FAMILY, lambda l: 3 * l + 1, "affine"),
        (FAMILY, turn, "gaussian"),  # which is affine where one covariance suits all classes
        (FAMILY, square, "curved"),
        (PAIR, lambda l: np.where(l > 0, l / 10, 5 * l - 2), "isotonic"),
    ],
)
def test_the_first_map_that_undoes_the_distortion_is_chosen(family, map_of, choice):
    samples = stretched(family, 1500, map_of)
    name, calibrator, losses = choose_calibrator(samples)
    assert name == choice
    assert next(iter(losses)) == "affine"
    best = min(losses.values())
    floor = family.expected_cross_entropy(rng=0)[0] / np.log(family.n_classes)
    np.testing.assert_allclose(best, floor, rtol=0.08)
    new = stretched(family, 1500, map_of, rng=1)
    evidence = calibrator.fit(samples.evidence, samples.codes).evidence(new.evidence)
    cost = metrics.cross_entropy(new.codes, evidence) / np.log(family.n_classes)
    np.testing.assert_allclose(cost, best, rtol=0.1)


def test_auto_is_the_default_and_its_choice_and_losses_are_kept_in_a_file(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = CalibratedEvidenceClassifier(LinearDiscriminant()).fit(X, y)
    assert set(model.losses_) == {"identity", "affine", "gaussian", "curved", "full"}
    assert model.losses_[model.choice_] <= 1.5 * min(model.losses_.values()) < 0.2
    model.save(tmp_path / "model")
    back = deciban.load(tmp_path / "model")
    assert (back.choice_, back.losses_) == (model.choice_, model.losses_)
    assert type(back.calibrator_) is type(model.calibrator_)
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    plain = CalibratedEvidenceClassifier(LinearDiscriminant(), AffineCalibrator()).fit(X, y)
    assert (plain.choice_, plain.losses_) == (None, {})
    with pytest.raises(
        InputError, match=r"must be an estimator of deciban.calibration; got 'best'"
    ):
        CalibratedEvidenceClassifier(LinearDiscriminant(), "best").fit(X, y)


def test_posteriors_that_are_right_are_left_alone_and_wrong_ones_are_not():
    y = np.arange(3000) % 3 // 2
    X = np.random.default_rng(0).normal(0.6 * y[:, None], 1, (3000, 6))
    right = CalibratedEvidenceClassifier(LogisticRegression()).fit(X, y)
    assert right.choice_ in ("affine", "identity")
    raw = right.estimator_.predict_proba(X)
    np.testing.assert_allclose(right.predict_proba(X), raw, atol=0.02)
    twice = np.hstack([X, X, X])  # naive Bayes counts the evidence three times
    wrong = CalibratedEvidenceClassifier(GaussianNB()).fit(twice, y)
    assert wrong.losses_[wrong.choice_] < 0.7 * wrong.losses_["identity"]


def test_sorted_tables_are_shuffled_before_they_are_split():
    """Folds of neighbors would each be a population of its own."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(5), 80)
    y = np.tile([0, 1], 200)
    X = np.column_stack([y + 10 * group + rng.normal(0, 0.3, 400), np.eye(5)[group] * 10])
    model = CalibratedEvidenceClassifier(LogisticRegression(max_iter=2000)).fit(X, y)
    assert model.losses_["identity"] < 0.5
    assert np.mean(model.predict(X) == y) > 0.9
    kept = CalibratedEvidenceClassifier(LogisticRegression(max_iter=2000), cv=GroupKFold(5))
    assert kept.fit(X, y, groups=group).losses_["identity"] > model.losses_["identity"]


@pytest.mark.parametrize("cv", [2, RepeatedStratifiedKFold(n_splits=2, n_repeats=2)])
def test_few_samples_and_few_folds_are_enough_to_choose(cv):
    X, y = load_iris(return_X_y=True)
    rows = [0, 1, 2, 60, 61, 62, 120, 121, 122]
    model = CalibratedEvidenceClassifier(LogisticRegression(), cv=cv).fit(X[rows], y[rows])
    assert model.choice_ in model.losses_
    assert np.isfinite(model.evidence(X).log_likelihoods).all()


def test_a_sample_that_is_left_out_ten_times_is_on_one_side_of_the_comparison():
    """Flexible maps would win on noise if they were fitted to other copies of the samples."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    losses = [
        CalibratedEvidenceClassifier(
            GaussianNB(), cv=RepeatedStratifiedKFold(n_splits=5, n_repeats=n, random_state=0)
        ).fit(X, y).losses_
        for n in (1, 10)
    ]  # fmt: skip
    assert losses[1] == losses[0]
    assert losses[1]["isotonic"] > 1


def test_a_class_of_one_sample_leaves_nothing_to_compare():
    samples = Labelled(Evidence([[0.0, 1.0], [1.0, 0.0], [1.0, 0.5]]), np.array([1, 0, 0]))
    name, calibrator, losses = choose_calibrator(samples)
    assert (name, str(calibrator), losses) == ("affine", "AffineCalibrator()", {})


@pytest.mark.parametrize("D", [200, 1000])
def test_hundreds_of_classes_get_the_affine_map_without_a_comparison(D):
    many = Labelled(Evidence(np.eye(D)[np.arange(3 * D) % D]), np.arange(3 * D) % D)
    name, calibrator, losses = choose_calibrator(many)
    assert (name, str(calibrator), losses) == ("affine", "AffineCalibrator()", {})


def test_samples_are_thinned_out_before_they_are_split(monkeypatch):
    """Folds of which one holds all samples that are left of a class could not be learnt from."""
    monkeypatch.setattr("deciban.calibration.choice._ENOUGH", 18)  # two of each class
    samples = stretched(FAMILY, 50, turn)
    losses = choose_calibrator(samples, np.arange(150) % 5)[2]
    assert np.isfinite([losses["affine"], losses["curved"], losses["full"]]).all()


def test_samples_without_weight_and_the_order_of_classes_do_not_matter():
    samples = stretched(FAMILY, 200, square)
    more = Labelled(
        Evidence(np.vstack([samples.evidence.log_likelihoods, 50 * np.eye(3)])),
        np.append(samples.codes, [1, 2, 0]),
        np.append(np.ones(600), np.zeros(3)),
    )
    folds = np.arange(603) % 4
    assert choose_calibrator(more, folds)[2] == choose_calibrator(samples, folds[:600])[2]
    swapped = Labelled(samples.evidence.restrict([2, 0, 1]), (samples.codes + 1) % 3)
    for name, loss in choose_calibrator(swapped, folds[:600])[2].items():
        np.testing.assert_allclose(loss, choose_calibrator(samples, folds[:600])[2][name], 1e-6)


def test_the_losses_of_a_large_table_are_those_of_a_part_of_it(monkeypatch):
    samples = stretched(PAIR, 3000, lambda l: 2 * l)
    rare = samples.select(np.flatnonzero((samples.codes == 0) | (np.arange(6000) % 10 == 0)))
    whole = choose_calibrator(rare)[2]
    monkeypatch.setattr("deciban.calibration.choice._ENOUGH", 4000)
    for name, loss in choose_calibrator(rare)[2].items():
        np.testing.assert_allclose(loss, whole[name], rtol=0.1)


def test_a_curved_map_keeps_neutral_evidence_and_stops_at_the_strongest_sample():
    samples = stretched(FAMILY, 2000, square)
    curved = CurvedCalibrator().fit(samples.evidence, samples.codes)
    ends = Evidence([[0.0, 0.0, 0.0], [1e3, 0.0, 0.0], [1e9, 0.0, 0.0]])
    at_zero, far, further = curved.evidence(ends).log_likelihoods
    assert np.ptp(at_zero) < 0.2
    np.testing.assert_allclose(far - far[0], further - further[0])
    affine = AffineCalibrator().fit(samples.evidence, samples.codes)
    assert curved.score(samples.evidence, samples.codes) > 0.02 + affine.score(
        samples.evidence, samples.codes
    )


def test_the_identity_gives_evidence_back():
    samples = stretched(FAMILY, 50, square)
    same = IdentityCalibrator().fit(samples.evidence, samples.codes).evidence(samples.evidence)
    np.testing.assert_array_equal(same.log_likelihoods, samples.evidence.log_likelihoods)


def test_the_identity_is_chosen_where_few_samples_make_every_map_worse():
    """Classes of 10 nats: few samples near the boundary, so that the safe map says too little."""
    strong = CalibratedGaussian.from_divergences([12.0])
    choices = []
    for seed in range(5):
        samples = stretched(strong, 60, lambda l: l, rng=seed)
        name, _, losses = choose_calibrator(samples)
        choices.append(name)
        assert losses[name] <= losses["identity"] + 0.01
    assert choices.count("identity") >= 3
