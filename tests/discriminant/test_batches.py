"""Linear discriminant analysis in batches."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import deciban
from deciban import LinearDiscriminant
from deciban.exceptions import InputError

X, CODES = load_iris(return_X_y=True)
Y = np.array(["setosa", "versicolor", "virginica"])[CODES]
CLASSES = ["virginica", "setosa", "versicolor"]


def same(a, b):
    np.testing.assert_allclose(a.evidence(X).llr("setosa", "virginica"),
                               b.evidence(X).llr("setosa", "virginica"), rtol=1e-9)  # fmt: skip
    np.testing.assert_allclose(a.divergences_, b.divergences_, rtol=1e-9)
    np.testing.assert_allclose(a.prior_, b.prior_)
    np.testing.assert_allclose(a.score_samples(X), b.score_samples(X), rtol=1e-9)


@pytest.mark.parametrize("size", [1, 7, 60])
def test_batches_give_the_model_of_one_fit_even_if_the_first_lacks_classes(size):
    batches = LinearDiscriminant(shrinkage=0.1)
    for start in range(0, len(X), size):  # sorted by class: the first batches hold one class
        rows = slice(start, start + size)
        batches.partial_fit(X[rows], Y[rows], classes=CLASSES)
    same(batches, LinearDiscriminant(shrinkage=0.1).fit(X, Y))
    assert len(batches._past.X) <= 2 * 4 + 2  # whatever the number of batches


def test_there_is_evidence_once_every_class_has_had_a_sample():
    model = LinearDiscriminant().partial_fit(X[:70], Y[:70], classes=CLASSES)
    np.testing.assert_array_equal(model.class_counts_, [50, 20, 0])
    for ask in (model.evidence, model.predict, model.transform):
        with pytest.raises(InputError, match=r"of every class.*'virginica': 0.0}. Call it with"):
            ask(X)
    assert set(model.partial_fit(X[70:], Y[70:]).predict(X)) == set(CLASSES)
    one_each = LinearDiscriminant().partial_fit(X[[0, 60, 120]], Y[[0, 60, 120]], CLASSES)
    with pytest.raises(InputError, match="samples of every class, and two of one"):
        one_each.evidence(X)
    assert np.isfinite(one_each.partial_fit(X[:1] + 1, Y[:1]).evidence(X).log_likelihoods).all()


def test_weights_and_names_of_columns_go_with_the_batches_and_files_too(tmp_path):
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    frame = pd.DataFrame(X, columns=list("abcd"))
    order = np.random.default_rng(1).permutation(len(X))
    first, second = order[:40], order[40:]
    model = LinearDiscriminant()
    model.partial_fit(frame.iloc[first], Y[first], CLASSES, weight[first])
    model.save(tmp_path / "model")
    model = deciban.load(tmp_path / "model")
    model.partial_fit(frame.iloc[second][list("dbca")], Y[second], sample_weight=weight[second])
    whole = LinearDiscriminant().fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    assert model.evidence(frame).allclose(whole.evidence(X))


def test_what_does_not_fit_the_first_call_is_refused():
    with pytest.raises(InputError, match="classes must name all classes in the first call"):
        LinearDiscriminant().partial_fit(X, Y)
    model = LinearDiscriminant().partial_fit(X, Y, classes=CLASSES)
    with pytest.raises(InputError, match=r"those of the first call .*; got 'rose', 'setosa'"):
        model.partial_fit(X, Y, classes=["setosa", "rose"])
    with pytest.raises(InputError, match=r"y must hold the classes .* only; got 'rose'"):
        model.partial_fit(X[:1], ["rose"])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :3], Y)


def test_batches_add_to_a_fit_and_a_fit_starts_anew():
    whole = LinearDiscriminant().fit(X, Y)
    same(LinearDiscriminant().fit(X[::2], Y[::2]).partial_fit(X[1::2], Y[1::2]), whole)
    again = LinearDiscriminant().partial_fit(X[::2] + 5, Y[::2], classes=CLASSES)
    same(again.fit(X, Y), whole)
