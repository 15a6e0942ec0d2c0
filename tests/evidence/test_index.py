"""The index of a pandas frame: evidence keeps it, and samples are matched by it."""

import copy
import pickle

import numpy as np
import pytest

from deciban import (
    CalibratedGaussian,
    Evidence,
    LinearDiscriminant,
    assess,
    compare,
    evidence_of,
    metrics,
)
from deciban.assessment import assess_by
from deciban.calibration import AffineCalibrator, CalibratedEvidenceClassifier, FusionCalibrator
from deciban.exceptions import InputError
from deciban.reference import Dependence

pd = pytest.importorskip("pandas")

HALVES = np.repeat(["x", "z"], 30)
ROWS = ["p", "q", "r", "s"]
FRAME = pd.DataFrame({"a": [1.0, 2.0, 6.0, 4.0], "b": [0.5, 3.0, 5.0, 1.0]}, index=ROWS)


@pytest.fixture
def samples(rng):
    """A frame of features with a shuffled index, and labels."""
    y = rng.integers(0, 2, 60)
    index = pd.Index(rng.permutation(60) + 1000, name="case")
    frame = pd.DataFrame(rng.normal(size=(60, 2)) + y[:, None], index, columns=["u", "v"])
    return frame, pd.Series(y, index)


@pytest.mark.parametrize(
    "make",
    [
        lambda frame: Evidence(frame),
        lambda frame: Evidence(Evidence(frame)),
        lambda frame: Evidence.from_likelihoods(np.exp(frame)),
        lambda frame: Evidence.from_posteriors(frame / frame * 0.5, None),
        lambda frame: Evidence.from_log_posteriors(frame, None),
        lambda frame: Evidence.from_ilr(frame[["a"]]),
        lambda frame: Evidence.from_llr(frame["a"]),
        lambda frame: CalibratedGaussian([[2.0]]).evidence(frame[["a"]]),
        lambda frame: 2 * Evidence(frame) - Evidence(frame),
        lambda frame: Evidence(frame).restrict(["b", "a"]).rename({"a": "c"}),
        lambda frame: Evidence(frame).group([["a"], ["b"]]),
        lambda frame: Evidence(frame).replace_zeros(-9.0),
        lambda frame: Evidence(frame) + Evidence([[0.0, 1.0]], ["a", "b"]),
        lambda frame: Evidence([[0.0, 1.0]], ["a", "b"]) + Evidence(frame),
        lambda frame: Evidence.concatenate([Evidence(frame)[:1], Evidence(frame)[1:]]),
        lambda frame: copy.deepcopy(pickle.loads(pickle.dumps(Evidence(frame)))),
        lambda frame: Evidence(frame.to_numpy()).with_index(frame.index),
    ],
)  # fmt: skip
def test_evidence_keeps_the_index_of_its_frame(make):
    evidence = make(FRAME)
    assert evidence.index.tolist() == ROWS
    assert evidence.to_pandas().index.equals(FRAME.index)


def test_samples_take_their_labels_along():
    evidence = Evidence(FRAME)
    mask = pd.Series([True, False, False, True], index=["s", "r", "q", "p"])
    for rows, chosen in (
        (0, ["p"]), (slice(1, 3), ["q", "r"]), ([3, 0], ["s", "p"]), ([], []),
        (np.array([True, False, True, False]), ["p", "r"]), (mask, ["p", "s"]),
    ):  # fmt: skip
        assert evidence[rows].index.tolist() == chosen
        np.testing.assert_array_equal(evidence[rows].log_likelihoods, FRAME.loc[chosen])


def test_without_a_frame_there_is_no_index():
    for evidence in (
        Evidence([[0.0, 1.0]]),
        Evidence(FRAME.to_numpy()),
        Evidence(FRAME).with_index(None),
        Evidence(FRAME).sum(),
        Evidence.concatenate([Evidence(FRAME), Evidence(FRAME.to_numpy(), ["a", "b"])]),
        Evidence(FRAME)[0] + Evidence(FRAME)[1],
    ):
        assert evidence.index is None
    with pytest.raises(InputError, match="index must have a label for each of 4 samples; got 2"):
        Evidence(FRAME).with_index([1, 2])


def test_sums_match_samples_by_index():
    evidence, shuffled = Evidence(FRAME), Evidence(FRAME.loc[["r", "p", "s", "q"]])
    total = evidence + shuffled
    np.testing.assert_array_equal(total.log_likelihoods, 2 * FRAME)
    assert total.index.tolist() == ROWS
    assert (evidence - shuffled).strength().tolist() == [0.0] * 4
    by_position = evidence + shuffled.with_index(None)
    assert not by_position.allclose(total)
    assert by_position.index.tolist() == ROWS
    assert (shuffled.with_index(None) + evidence).index.tolist() == ROWS


def test_different_samples_do_not_add_up():
    other = Evidence(FRAME.set_axis(["p", "q", "r", "t"]))
    with pytest.raises(InputError, match="evidence and other must have the same index"):
        Evidence(FRAME) + other
    repeated = Evidence(FRAME.set_axis(["p", "q", "r", "r"]))
    with pytest.raises(InputError, match="got 'r' more than once in other"):
        Evidence(FRAME) + repeated
    assert (repeated + repeated).index.tolist() == ["p", "q", "r", "r"]


@pytest.mark.parametrize(
    "metric",
    [
        metrics.cllr,
        metrics.cllr_min,
        metrics.eer,
        metrics.cross_entropy,
        metrics.accuracy,
        lambda y, e: metrics.decompose(y, e).total,
        lambda y, e: metrics.bootstrap(metrics.cllr, y, e, n_resamples=20).low,
        lambda y, e: assess(y, e, n_resamples=20, rng=0)["cllr"].low,
        lambda y, e: (
            assess_by(y, e, np.repeat(["x", "z"], 30), n_resamples=0).assessments["x"]["cllr"].value
        ),
        lambda y, e: compare(y, {"one": e, "two": e * 2}, n_resamples=0)["cllr"].a,
        lambda y, e: e.prediction_set(0.1, calibration=(y, e)).members.sum(),
    ],
)
def test_labels_in_pandas_are_matched_by_index(samples, metric):
    frame, y = samples
    evidence = LinearDiscriminant().fit(frame, y).evidence(frame)
    expected = metric(y.to_numpy(), evidence.with_index(None))
    order = np.r_[29:-1:-1, 59:29:-1]  # keeps the first thirty in front, for the conditions
    turned = y.iloc[order]
    assert metric(y, evidence) == pytest.approx(expected, abs=1e-12)
    assert metric(y.to_numpy(), evidence) == pytest.approx(expected, abs=1e-12)
    assert metric(turned, evidence) == pytest.approx(
        metric(turned.to_numpy(), evidence.with_index(None)[order]), abs=1e-12
    )
    with pytest.raises(InputError, match="must have the same index"):
        metric(y.set_axis(range(60)), evidence)


def test_compared_systems_are_matched_by_index(samples):
    frame, y = samples
    evidence = LinearDiscriminant().fit(frame, y).evidence(frame)
    systems = {"one": evidence, "two": (evidence * 2)[::-1]}
    straight = {"one": evidence.with_index(None), "two": 2 * evidence.with_index(None)}
    found, expected = (
        compare(y.to_numpy(), its, n_resamples=20, rng=0)["cllr"] for its in (systems, straight)
    )
    assert (found.a, found.b, found.low) == (expected.a, expected.b, expected.low)


def test_sets_know_their_samples(samples):
    frame, y = samples
    sets = LinearDiscriminant().fit(frame, y).evidence(frame).prediction_set(0.2)
    np.testing.assert_array_equal(sets.contains(y[::-1]), sets.contains(y.to_numpy()))
    np.testing.assert_array_equal(sets[5:9].contains(y[5:9]), sets.contains(y)[5:9])
    with pytest.raises(InputError, match="must have the same index"):
        sets[1:].contains(y[:-1])


def test_estimators_pass_the_index_on(samples):
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    frame, y = samples
    base = LinearDiscriminant().fit(frame, y).evidence(frame)
    classifier = CalibratedEvidenceClassifier(LogisticRegression(), cv=3).fit(frame, y)
    pipeline = make_pipeline(StandardScaler(), LinearDiscriminant()).fit(frame, y)
    affine = AffineCalibrator().fit(base, y[::-1])
    both = {"one": base, "two": (2 * base)[::-1]}
    fusion = FusionCalibrator().fit(both, y.sample(frac=1, random_state=0))
    fused = fusion.evidence(both)
    for evidence in (base, classifier.evidence(frame), evidence_of(pipeline, frame),
                     affine.evidence(base), fused):  # fmt: skip
        assert evidence.to_pandas().index.equals(frame.index)
    arrays = {"one": base.with_index(None), "two": (2 * base).with_index(None)}
    expected = FusionCalibrator().fit(arrays, y.to_numpy()).evidence(arrays)
    assert fused.allclose(expected)
    by_position = AffineCalibrator().fit(base.with_index(None), y.to_numpy())
    assert affine.evidence(base).allclose(by_position.evidence(base))


def test_dependent_systems_are_matched_by_index():
    family = CalibratedGaussian([[4.0]])
    l, y = family.sample([40, 40], rng=0)
    evidence = family.evidence(pd.DataFrame(l, index=range(100, 180)))
    shuffled = evidence[::-1]
    learned = Dependence.fit([evidence, shuffled], pd.Series(y, range(100, 180)).sample(frac=1))
    assert learned.canonical_correlations() == pytest.approx([1.0])
    fused = learned.combine(evidence, shuffled)
    assert fused.allclose(evidence)
    assert fused.index.equals(evidence.index)
