"""Metrics for any number of classes against scikit-learn and their definitions."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, log_loss
from sklearn.model_selection import (
    StratifiedKFold,
    cross_val_score,
)

from deciban import CalibratedGaussian, Evidence, LinearDiscriminant, metrics
from deciban.exceptions import InputError
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


def test_brier_is_scikit_learns_score_of_several_classes_and_twice_that_of_two(data, rng):
    y, evidence = data
    expected = brier_score_loss(y, evidence.posterior(), labels=["a", "b", "c"])
    np.testing.assert_allclose(metrics.brier(y, evidence), expected, rtol=1e-12)
    y, llr = np.array([0, 1, 1, 1, 0]), rng.normal(size=5)
    two, mix = Evidence.from_llr(llr), [0.4, 0.6]
    expected = brier_score_loss(y, two.posterior(mix)[:, 1])
    np.testing.assert_allclose(metrics.brier(y, two, prior=mix), 2 * expected, rtol=1e-12)


def test_the_class_mix_of_the_samples_does_not_matter(data):
    y, evidence = data
    rows = np.concatenate([np.flatnonzero(y == "a").repeat(5), np.flatnonzero(y != "a")])
    for metric in (metrics.cross_entropy, metrics.accuracy, metrics.brier):
        np.testing.assert_allclose(metric(y[rows], evidence[rows]), metric(y, evidence), rtol=1e-12)


def test_weights_are_repetitions(data):
    y, evidence = data
    times = np.arange(len(y)) % 3 + 1
    rows = np.arange(len(y)).repeat(times)
    for metric in (metrics.cross_entropy, metrics.accuracy, metrics.brier):
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
    assert metrics.brier([0, 1], Evidence.from_llr([np.inf, -np.inf])) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: metrics.cross_entropy(["a", "x"], e), "got 'x'"),
        (lambda e: metrics.cross_entropy(["a", "b"], e), "it lacks 'c'"),
        (lambda e: metrics.cross_entropy(["a"], e), r"each of 2 samples; got shape \(1,\)"),
        (lambda e: metrics.cross_entropy(["a", "b"], np.eye(3)[:2] - 1), "each of the 3 classes"),
        (lambda e: metrics.cross_entropy([[0, 1], [1, 0]], e), "got shape"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call(Evidence(np.eye(3)[:2] - 1, classes=["a", "b", "c"]))


# --- C_avg of languages ----------------------------------------------------------------------


def brute_c_avg(y, values, targets, p_target, c_miss, c_fa, p_oos, threshold=None):
    """C_avg by the letter of NIST's definition: a loop over targets and other classes."""
    classes = range(values.shape[1])
    p_nontarget = (1 - p_target - p_oos) / (len(targets) - 1)
    total = 0.0
    for t in targets:
        w = {j: p_nontarget if j in targets else p_oos for j in classes if j != t}
        likelihood = np.exp(values)
        llr = np.log(likelihood[:, t] / sum(w[j] * likelihood[:, j] / (1 - p_target) for j in w))
        bayes = np.log(c_fa * (1 - p_target) / (c_miss * p_target))

        def cost(at, llr=llr, w=w, t=t):
            false_alarms = sum(w[j] * np.mean(llr[y == j] >= at) for j in w)
            return c_miss * p_target * np.mean(llr[y == t] < at) + c_fa * false_alarms

        total += cost(bayes) if threshold is None else min(map(cost, [*llr, np.inf]))
    return total / len(targets)


@pytest.mark.parametrize(("p_target", "c_miss", "c_fa"), [(0.5, 1, 1), (0.1, 1, 1), (0.3, 5, 2)])
@pytest.mark.parametrize("oos", [None, 2])
def test_c_avg_is_nists_definition_for_closed_and_open_sets(rng, p_target, c_miss, c_fa, oos):
    y = np.arange(230) % 4
    values = rng.normal(size=(230, 4)) + 2 * np.eye(4)[y]
    targets = [k for k in range(4) if k != oos]
    costs = (p_target, c_miss, c_fa, 0.0 if oos is None else 0.2)
    point = {"p_target": p_target, "cost_miss": c_miss, "cost_false_alarm": c_fa, "out_of_set": oos}
    expected = brute_c_avg(y, values, targets, *costs)
    assert metrics.c_avg(y, values, **point) == pytest.approx(expected, abs=1e-12)
    least = metrics.c_avg(y, values, **point, minimum=True)
    assert least == pytest.approx(brute_c_avg(y, values, targets, *costs, "best"), abs=1e-12)
    assert least <= expected
    times = 1 + np.arange(len(y)) % 3
    repeated = metrics.c_avg(y.repeat(times), values.repeat(times, axis=0), **point)
    weighted = metrics.c_avg(y, values, **point, sample_weight=times)
    assert weighted == pytest.approx(repeated, abs=1e-12)


def test_normalized_c_avg_is_that_of_lre_2017(rng):
    """1/N (sum P_miss + beta/(N-1) sum P_fa), with beta = C_fa (1 - P) / (C_miss P)."""
    y = np.arange(300) % 5
    values = rng.normal(size=(300, 5)) + 2 * np.eye(5)[y]
    for p, beta in ((0.5, 1.0), (0.1, 9.0)):
        misses, false_alarms = 0.0, 0.0
        for t in range(5):
            others = np.delete(np.arange(5), t)
            llr = values[:, t] - np.log(np.exp(values[:, others]).mean(axis=1))
            misses += np.mean(llr[y == t] < np.log(beta))
            false_alarms += sum(np.mean(llr[y == j] >= np.log(beta)) for j in others)
        expected = (misses + beta * false_alarms / 4) / 5
        found = metrics.c_avg(y, values, p_target=p, normalize=True)
        assert found == pytest.approx(expected, abs=1e-12)


def test_c_avg_of_two_classes_is_the_mean_of_both_detection_costs(rng):
    y = np.arange(100) % 2
    llr = rng.normal(2 * y - 1, 1.5)
    point = {"cost_miss": 3.0, "cost_false_alarm": 2.0, "normalize": False}
    both = [
        metrics.detection_cost(y, llr, prior=0.2, **point),
        metrics.detection_cost(y, -llr, prior=0.2, pos_label=0, **point),
    ]
    found = metrics.c_avg(y, np.c_[0 * llr, llr], p_target=0.2, **point)
    assert found == pytest.approx(np.mean(both))


def test_c_avg_holds_at_extreme_log_likelihoods():
    y = [0, 1, 2, 0]
    sure = np.array([[0, -800, -900], [-800, 0, -np.inf], [-np.inf, -np.inf, 5], [1e5, -1e5, 0]])
    assert metrics.c_avg(y, sure) == metrics.c_avg(y, sure, minimum=True) == 0
    assert metrics.c_avg(y, np.roll(sure, 1, axis=1)) == pytest.approx(0.75)
    assert metrics.c_avg(y, np.zeros((4, 3))) == 0.5  # an LLR on the threshold is accepted
    assert metrics.c_avg(y, np.zeros((4, 3)), normalize=True) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"out_of_set": "x"}, "out_of_set must be one of the classes 0, 1, 2; got 'x'"),
        ({"out_of_set": 2, "p_out_of_set": 0.5}, "p_out_of_set must be below 0.5"),
        ({"out_of_set": 2, "p_out_of_set": 0}, "p_out_of_set must lie between"),
        ({"p_target": 1.0}, "prior must lie between 0 and 1"),
        ({"cost_miss": 0.0}, "cost_miss must be"),
        ({"classes": [0, 1], "out_of_set": 1}, "two targets or more; got 1"),
    ],
)
def test_c_avg_refuses_what_it_cannot_take(change, words):
    n = len(change.get("classes", range(3)))
    with pytest.raises(InputError, match=words):
        metrics.c_avg(np.arange(n), np.eye(n), **change)


# --- scorers --------------------------------------------------------------------------------


def test_the_score_is_minus_the_metric_of_each_fold():
    X, y = load_iris(return_X_y=True)
    folds = list(StratifiedKFold(3).split(X, y))
    prior = [0.2, 0.2, 0.6]
    for metric in (metrics.cross_entropy, metrics.brier):
        scorer = metrics.make_evidence_scorer(metric, prior=prior)
        found = cross_val_score(LinearDiscriminant(), X, y, cv=folds, scoring=scorer)
        expected = [
            -metric(y[test], LinearDiscriminant().fit(X[train], y[train]).evidence(X[test]),
                    prior=prior)
            for train, test in folds
        ]  # fmt: skip
        np.testing.assert_allclose(found, expected)


def test_scorers_take_weights_and_can_be_pickled():
    X, y = load_iris(return_X_y=True)
    model = LinearDiscriminant().fit(X, y)
    scorer = pickle.loads(pickle.dumps(metrics.make_evidence_scorer(unit="bit")))
    weight = 1 + np.arange(150) % 2
    expected = metrics.cross_entropy(y, model.evidence(X), unit="bit", sample_weight=weight)
    assert scorer(model, X, y, sample_weight=weight) == -expected


def test_an_estimator_without_evidence_is_refused():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    with pytest.raises(InputError, match="must have a method evidence"):
        metrics.make_evidence_scorer()(model, X, y)
    assert isinstance(LinearDiscriminant().fit(X, y).evidence(X), Evidence)
