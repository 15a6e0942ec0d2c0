"""What discriminants take for data: names decide."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import deciban
from deciban import LinearDiscriminant, QuadraticDiscriminant
from deciban.exceptions import InputError

X, Y = load_iris(return_X_y=True)
UNTRAINED = {"n_couplings": 0, "augment": 0, "epochs": 0, "random_state": 0}
MODELS = [
    LinearDiscriminant(),
    QuadraticDiscriminant(),
    deciban.CompositionalDiscriminantAnalysis(**UNTRAINED),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
METHODS = [
    "evidence", "log_densities", "predict", "predict_proba", "predict_log_proba", "score_samples",
    "outlier_score", "transform", "residual", "neutralize",
]  # fmt: skip


@each_model
def test_a_class_whose_weights_are_all_zero_is_refused(model):
    with pytest.raises(InputError, match=r"sample_weight must be positive .* for all samples of 1"):
        model.fit(X, Y, sample_weight=np.where(Y == 1, 0.0, 1.0))


@each_model
def test_samples_of_zero_weight_do_not_count(model):
    weight = np.where(np.arange(150) % 5 == 0, 0.0, 1.0)
    without = model.fit(X[weight > 0], Y[weight > 0]).evidence(X)
    assert model.fit(X, Y, sample_weight=weight).evidence(X).allclose(without)


@each_model
def test_masked_values_are_refused(model):
    masked = np.ma.masked_greater(X, 6)
    with pytest.raises(InputError, match=r"X must not .* masked values; got"):
        model.fit(masked, Y)
    with pytest.raises(InputError, match=r"y must not .* masked values; got"):
        model.fit(X, np.ma.masked_equal(Y, 1))
    with pytest.raises(InputError, match=r"sample_weight must not .* masked values; got"):
        model.fit(X, Y, sample_weight=np.ma.masked_less(X[:, 0], 5))
    model.fit(X, Y)
    for method in METHODS:
        if hasattr(model, method):
            with pytest.raises(InputError, match=r"X must not .* masked values; got"):
                getattr(model, method)(masked)


@each_model
@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_labels_are_refused(model, missing):
    y = np.array(["a", "b", "c"], dtype=object)[Y]
    y[7] = missing
    with pytest.raises(InputError, match=r"y must not .* missing labels; got .* in row 7"):
        model.fit(X, y)


@each_model
def test_rows_of_frames_are_matched_by_their_index(model):
    pd = pytest.importorskip("pandas")
    rows = np.random.default_rng(0).permutation(150)
    frame = pd.DataFrame(X, columns=list("abcd"), index=[f"s{k}" for k in range(150)])
    y, weight = pd.Series(Y, index=frame.index), pd.Series(X[:, 0], index=frame.index)
    right = model.fit(frame, y, sample_weight=weight).evidence(frame)
    again = model.fit(frame, y.iloc[rows], sample_weight=weight.iloc[rows[::-1]]).evidence(frame)
    np.testing.assert_array_equal(again.log_likelihoods, right.log_likelihoods)
    with pytest.raises(InputError, match="X and y must have the same index"):
        model.fit(frame, y.reset_index(drop=True))


@each_model
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_are_found_by_name_whatever_their_order(model, library):
    frames = pytest.importorskip(library)
    columns = dict(zip("abcd", X.T, strict=True))
    model.fit(frames.DataFrame(columns), Y)
    other = frames.DataFrame({"id": np.arange(150)} | {name: columns[name] for name in "dcba"})
    for method in METHODS:
        if hasattr(model, method):
            seed = {"random_state": 0} if method == "residual" else {}
            same = getattr(model, method)(frames.DataFrame(columns), **seed)
            np.testing.assert_array_equal(getattr(model, method)(other, **seed), same)
    with pytest.raises(InputError, match="must have the columns that it had in fit; it lacks 'b'"):
        model.evidence(frames.DataFrame({name: columns[name] for name in "acd"}))


def test_evidence_comes_out_of_pipelines_and_searches():
    model = make_pipeline(StandardScaler(), make_pipeline(LinearDiscriminant()))
    step = "pipeline__lineardiscriminant"
    search = GridSearchCV(model, {f"{step}__shrinkage": [0.0, 0.5]}, cv=3).fit(X, Y)
    scaled = StandardScaler().fit_transform(X)
    best = LinearDiscriminant(shrinkage=search.best_params_[f"{step}__shrinkage"]).fit(scaled, Y)
    for estimator in (search, search.best_estimator_):
        assert deciban.evidence_of(estimator, X).allclose(best.evidence(scaled))
    last = make_pipeline(LogisticRegression())
    with pytest.raises(InputError, match="LogisticRegression has none"):
        deciban.evidence_of(last, X)


@each_model
def test_threads_leave_the_warning_filters_alone(model):
    model.fit(X, Y)
    before = list(warnings.filters)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda k: model.predict_proba(X[k::40]), range(40)))
    assert warnings.filters == before
