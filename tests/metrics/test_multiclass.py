"""Metrics for any number of classes against scikit-learn and their definitions."""

import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import balanced_accuracy_score, log_loss

from deciban import CalibratedGaussian, Evidence, metrics
from deciban.exceptions import CromwellError, InputError, UnknownClassError
from strategies import log_compositions


@pytest.fixture
def data(rng):
    family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0], classes=["a", "b", "c"])
    l, y = family.sample([40, 40, 40], rng)
    return y, family.evidence(l)


def test_cross_entropy_is_scikit_learns_log_loss_on_balanced_data(data):
    y, evidence = data
    expected = log_loss(y, evidence.posterior(), labels=["a", "b", "c"])
    np.testing.assert_allclose(metrics.cross_entropy(y, evidence), expected, rtol=1e-12)
    bits = metrics.cross_entropy(y, evidence, unit="bit")
    np.testing.assert_allclose(bits, expected / np.log(2), rtol=1e-12)


def test_the_class_mix_of_the_samples_does_not_matter(data):
    y, evidence = data
    rows = np.concatenate([np.flatnonzero(y == "a").repeat(5), np.flatnonzero(y != "a")])
    for metric in (metrics.cross_entropy, metrics.accuracy):
        np.testing.assert_allclose(metric(y[rows], evidence[rows]), metric(y, evidence), rtol=1e-12)


def test_weights_are_repetitions(data):
    y, evidence = data
    times = np.arange(len(y)) % 3 + 1
    rows = np.arange(len(y)).repeat(times)
    for metric in (metrics.cross_entropy, metrics.accuracy):
        np.testing.assert_allclose(
            metric(y, evidence, sample_weight=times), metric(y[rows], evidence[rows]), rtol=1e-12
        )
    np.testing.assert_allclose(
        metrics.pairwise_cllr(y, evidence, sample_weight=times).cllr_min,
        metrics.pairwise_cllr(y[rows], evidence[rows]).cllr_min,
        rtol=1e-9,
    )


@given(log_compositions(1, rows=60))
def test_no_evidence_costs_the_entropy_of_the_prior(single):
    D = single[0].shape[1]
    y = np.arange(D)
    prior = np.arange(1, D + 1) / (D * (D + 1) / 2)
    nothing = np.zeros((D, D))
    np.testing.assert_allclose(
        metrics.cross_entropy(y, nothing, prior=prior), -(prior @ np.log(prior)), rtol=1e-12
    )


def test_two_classes_in_bits_are_cllr(rng):
    y, llr = np.arange(100) % 2, rng.normal(size=100)
    evidence = Evidence.from_llr(llr)
    np.testing.assert_allclose(
        metrics.cross_entropy(y, evidence, unit="bit"), metrics.cllr(y, llr), rtol=1e-12
    )
    pairs = metrics.pairwise_cllr(y, evidence)
    np.testing.assert_allclose(pairs.cllr[0, 1], metrics.cllr(y, llr), rtol=1e-12)
    np.testing.assert_allclose(pairs.cllr_min[1, 0], metrics.cllr_min(y, llr), rtol=1e-12)


def test_accuracy_is_scikit_learns_balanced_accuracy(data):
    y, evidence = data
    expected = balanced_accuracy_score(y, evidence.decide())
    np.testing.assert_allclose(metrics.accuracy(y, evidence), expected, rtol=1e-12)


def test_the_expected_cost_is_the_average_of_the_costs_of_decisions(data):
    y, evidence = data
    costs = np.array([[0, 1, 5], [2, 0, 1], [1, 1, 0.0]])
    prior = np.array([0.5, 0.2, 0.3])
    decided = evidence.decide(costs, prior)
    at = {label: k for k, label in enumerate("abc")}
    paid = np.array([costs[at[t], at[d]] for t, d in zip(y, decided, strict=True)])
    expected = sum(p * paid[y == label].mean() for p, label in zip(prior, "abc", strict=True))
    np.testing.assert_allclose(
        metrics.expected_cost(y, evidence, costs, prior=prior), expected, rtol=1e-12
    )
    zero_one = metrics.expected_cost(y, evidence, 1 - np.eye(3))
    np.testing.assert_allclose(zero_one, 1 - metrics.accuracy(y, evidence), rtol=1e-12)


def test_pairwise_costs_are_those_of_each_two_classes(data):
    y, evidence = data
    pairs = metrics.pairwise_cllr(y, evidence)
    chosen = (y == "a") | (y == "c")
    llr = evidence.llr("a", "c")[chosen]
    np.testing.assert_allclose(
        pairs.cllr[0, 2], metrics.cllr(y[chosen], llr, pos_label="a"), rtol=1e-12
    )
    assert np.isnan(np.diag(pairs.cllr)).all()
    np.testing.assert_array_equal(pairs.cllr, pairs.cllr.T)


def test_arrays_have_the_sorted_labels_as_classes_and_evidence_its_own(data):
    y, evidence = data
    values = evidence.log_likelihoods
    expected = metrics.cross_entropy(y, evidence)
    np.testing.assert_allclose(metrics.cross_entropy(y, values), expected)
    turned = evidence.restrict(["c", "a", "b"])
    np.testing.assert_allclose(metrics.cross_entropy(y, turned), expected)
    np.testing.assert_allclose(
        metrics.cross_entropy(y, turned.log_likelihoods, classes=["c", "a", "b"]), expected
    )
    np.testing.assert_allclose(metrics.cross_entropy(y.astype(object), evidence), expected)


def test_object_labels_are_sorted_and_frames_bring_their_own_classes():
    pandas = pytest.importorskip("pandas")
    X = np.array([[0, 3.0], [4.0, 0]])
    right = metrics.cross_entropy(["b", "a"], X)
    assert metrics.cross_entropy(pandas.Series(["b", "a"]), X) == right
    assert metrics.cross_entropy(np.array(["b", "a"], dtype=object), X) == right
    frame = pandas.DataFrame(X[:, ::-1], columns=["b", "a"])
    assert metrics.cross_entropy(["b", "a"], frame) == right
    assert metrics.cross_entropy(["b", "a"], pandas.DataFrame(X)) == right
    with pytest.raises(InputError, match="classes must be given"):
        metrics.cross_entropy(np.array(["b", 1], dtype=object), X)
    assert metrics.cross_entropy(np.array(["b", 1], dtype=object), X, classes=[1, "b"]) == right


@pytest.mark.parametrize("classes", [("a", "b", "c"), (0, 1, 2)])
def test_frames_are_matched_by_the_names_of_their_rows_and_columns(data, classes, rng):
    pandas = pytest.importorskip("pandas")
    y, evidence = data
    y = np.array(classes)[np.searchsorted(["a", "b", "c"], y)]
    evidence = evidence.rename(classes)
    frame = pandas.DataFrame(evidence.log_likelihoods, columns=classes)
    frame = frame.iloc[rng.permutation(len(y)), [2, 0, 1]]
    labels = pandas.Series(y)
    costs = pandas.DataFrame(np.arange(9).reshape(3, 3) % 5, index=classes, columns=classes)
    costs = costs.iloc[[1, 2, 0], [2, 0, 1]]
    for metric, options in (
        (metrics.cross_entropy, {}),
        (metrics.accuracy, {}),
        (metrics.expected_cost, {"costs": costs}),
        (metrics.pairwise_cllr, {}),
        (metrics.decompose, {"calibrator": "scalar"}),
        (lambda *a: metrics.idempotence(*a, n_resamples=0, n_draws=0).by_pair, {}),
    ):
        expected = metric(y, evidence, **options)
        np.testing.assert_allclose(metric(labels, frame, **options), expected, rtol=1e-9)
    np.testing.assert_allclose(
        metrics.cross_entropy(labels, frame, classes=classes[::-1]),
        metrics.cross_entropy(y, evidence),
    )


def test_polars_names_classes_as_text():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"2": [0.0, 3.0, 1.0], "1": [4.0, 0.0, 0.0]})
    expected = metrics.cross_entropy([1, 2, 1], Evidence([[4.0, 0], [0, 3], [0, 1]], [1, 2]))
    assert metrics.cross_entropy([1, 2, 1], frame) == expected


@pytest.mark.parametrize("scale", [1e-300, 1e308])
def test_the_scale_of_the_weights_does_not_matter(data, scale):
    y, evidence = data
    weight = np.full(len(y), scale)
    for metric in (metrics.cross_entropy, metrics.accuracy, metrics.decompose):
        np.testing.assert_allclose(
            metric(y, evidence, sample_weight=weight), metric(y, evidence), rtol=1e-9
        )


def test_a_true_class_that_is_ruled_out_costs_infinitely():
    evidence = Evidence.from_likelihoods([[1, 0], [1, 1], [0, 1]])
    assert metrics.cross_entropy([1, 0, 1], evidence) == np.inf
    assert np.isfinite(metrics.cross_entropy([0, 0, 1], evidence))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: metrics.cross_entropy(["a", "b"], e), "it lacks 'c'"),
        (lambda e: metrics.cross_entropy(["a"], e), r"each of 2 samples; got shape \(1,\)"),
        (lambda e: metrics.cross_entropy(["a", "b"], np.eye(3)[:2] - 1), "each of the 3 classes"),
        (lambda e: metrics.cross_entropy([[0, 1], [1, 0]], e), "got shape"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call(Evidence(np.eye(3)[:2] - 1, classes=["a", "b", "c"]))


def test_an_unknown_label_and_an_impossible_prior_are_refused():
    evidence = Evidence(np.eye(3) - 1, classes=["a", "b", "c"])
    with pytest.raises(UnknownClassError, match="got 'x'"):
        metrics.cross_entropy(["a", "b", "x"], evidence)
    with pytest.raises(CromwellError):
        metrics.cross_entropy(["a", "b", "c"], evidence, prior=[0.5, 0.5, 0.0])
