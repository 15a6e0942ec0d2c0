"""What scikit-learn asks of an estimator, and what users of scikit-learn expect."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from deciban import Basis, CalibratedGaussian, Evidence, metrics
from deciban.calibration import (
    AffineCalibrator,
    BootstrapCalibrator,
    BoundedCalibrator,
    CalibratedEvidenceClassifier,
    ColumnOrderWarning,
    CurvedCalibrator,
    FusionWarning,
    GaussianCalibrator,
    IsotonicCalibrator,
    KernelDensityCalibrator,
    MonotoneCalibrator,
    ReversedScoresWarning,
    SeparableWarning,
)
from deciban.exceptions import InputError
from public_calibrators import FOR_TWO

FAMILY = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0], classes=["cat", "dog", "eel"])
CALIBRATORS = [
    *FOR_TWO,
    AffineCalibrator("diagonal"),
    AffineCalibrator("full", ridge=0.01),
    BoundedCalibrator(IsotonicCalibrator()),
]
QUICK = [AffineCalibrator(), IsotonicCalibrator()]
REST = [c for c in CALIBRATORS if str(c) not in map(str, QUICK)]


@pytest.mark.filterwarnings("ignore::deciban.calibration.FusionWarning")
@pytest.mark.filterwarnings("ignore::deciban.calibration.SeparableWarning")
@pytest.mark.filterwarnings("ignore::deciban.calibration.ReversedScoresWarning")
@pytest.mark.filterwarnings("ignore::deciban.calibration.UnsupportedEvidenceWarning")
@parametrize_with_checks(QUICK)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::deciban.calibration.FusionWarning")
@pytest.mark.filterwarnings("ignore::deciban.calibration.SeparableWarning")
@pytest.mark.filterwarnings("ignore::deciban.calibration.ReversedScoresWarning")
@pytest.mark.filterwarnings("ignore::deciban.calibration.UnsupportedEvidenceWarning")
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")  # of scikit-learn 1.7
@parametrize_with_checks([*REST, CalibratedEvidenceClassifier()])
def test_scikit_learns_checks_pass_for_the_rest(estimator, check):
    check(estimator)


def of_two(n=300, factor=3.0, rng=0):
    family = CalibratedGaussian.from_divergences([4.0], classes=["no", "yes"])
    l, y = family.sample([n, n], rng)
    return family.evidence(factor * l), y


def of_three(n=300, rng=0):
    l, y = FAMILY.sample([n, n, n], rng)
    return FAMILY.evidence(3 * l), y


@pytest.mark.parametrize("calibrator", CALIBRATORS, ids=str)
def test_classes_keep_their_names(calibrator):
    evidence, y = of_two()
    calibrator = clone(calibrator).fit(evidence, y)
    assert calibrator.classes_.tolist() == ["no", "yes"]
    assert calibrator.evidence(evidence).classes == ("no", "yes")
    assert calibrator.get_feature_names_out().tolist() == ["no", "yes"]
    frame = calibrator.set_output(transform="pandas").transform(evidence)
    assert list(frame.columns) == ["no", "yes"]
    assert set(calibrator.predict(evidence)) == {"no", "yes"}


@pytest.mark.parametrize("calibrator", CALIBRATORS, ids=str)
def test_ratios_of_two_classes_are_evidence_in_one_column(calibrator):
    evidence, y = of_two()
    llr = evidence.llr("yes", "no")[:, None]
    from_ratios = clone(calibrator).fit(llr, y).evidence(llr)
    assert from_ratios.allclose(clone(calibrator).fit(evidence, y).evidence(evidence), atol=1e-6)


def test_columns_of_frames_and_evidence_are_matched_by_name():
    evidence, y = of_three()
    plain = AffineCalibrator().fit(evidence.log_likelihoods, y)
    turned = evidence.restrict(["eel", "cat", "dog"])
    for X in (turned, turned.to_pandas(), turned.to_polars()):
        calibrator = AffineCalibrator().fit(X, y)
        np.testing.assert_allclose(calibrator.matrix_, plain.matrix_, rtol=1e-9)
        assert calibrator.evidence(X).allclose(plain.evidence(evidence))
    numbered = pl.DataFrame({"1": [1.0, 0.0, 2.0, 0.0], "0": [0.0, 1.0, 0.5, 1.0]})
    llr = GaussianCalibrator().fit(numbered, [1, 0, 0, 1]).evidence(numbered).llr(1, 0)
    assert llr.shape == (4,)


def test_other_numbers_of_columns_are_fused_and_it_says_so():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 500)
    systems = (2 * y - 1)[:, None] + rng.normal(size=(1000, 3)) * [1.0, 2.0, 0.5]
    with pytest.warns(FusionWarning, match="one column for each of 2 classes or one LLR; got 3"):
        fused = AffineCalibrator(ridge=0).fit(systems, y)
    theirs = LogisticRegression(C=np.inf, tol=1e-10).fit(systems, y).decision_function(systems)
    np.testing.assert_allclose(fused.evidence(systems).llr(1, 0), theirs, rtol=1e-3, atol=1e-3)
    assert metrics.cllr(y, fused.evidence(systems)) < metrics.cllr(y, 2 * systems[:, 2])


@pytest.mark.filterwarnings("ignore::deciban.calibration.SeparableWarning")
def test_pipelines_and_grid_searches_find_the_best_ridge():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    posteriors = make_pipeline(StandardScaler(), LogisticRegression(C=0.01)).fit(X[::2], y[::2])
    scores = posteriors.predict_log_proba(X[1::2])
    pipeline = make_pipeline(StandardScaler(with_std=False), AffineCalibrator("full"))
    search = GridSearchCV(pipeline, {"affinecalibrator__ridge": [0.0, 0.03, 1e6]}, cv=3)
    search.fit(scores, y[1::2])
    assert search.best_params_["affinecalibrator__ridge"] == 0.03
    assert -1 < search.best_score_ < 0


def test_the_score_is_minus_the_cross_entropy():
    evidence, y = of_three()
    calibrator = AffineCalibrator(prior=[0.5, 0.3, 0.2]).fit(evidence, y)
    calibrated = calibrator.evidence(evidence)
    expected = -metrics.cross_entropy(y, calibrated, prior=[0.5, 0.3, 0.2])
    np.testing.assert_allclose(calibrator.score(evidence, y), expected, rtol=1e-12)
    some = np.isin(y, ["cat", "dog"])
    assert -2 < calibrator.score(evidence[some], y[some]) < 0
    with pytest.raises(InputError, match="'cat', 'dog', 'eel' only; got 'bee'"):
        calibrator.score(evidence[:1], ["bee"])


def test_the_prior_is_that_of_the_posteriors_not_of_the_evidence():
    evidence, y = of_three()
    one, other = (
        GaussianCalibrator(prior=prior).fit(evidence, y)
        for prior in ("uniform", {"cat": 0.1, "eel": 0.2, "dog": 0.7})
    )
    assert one.evidence(evidence).allclose(other.evidence(evidence))
    expected = one.evidence(evidence).posterior([0.1, 0.7, 0.2])
    np.testing.assert_allclose(other.predict_proba(evidence), expected)
    rare = np.concatenate([np.flatnonzero(y == "cat")[:30], np.flatnonzero(y != "cat")])
    mix = AffineCalibrator(prior="empirical").fit(evidence[rare], y[rare]).prior_
    np.testing.assert_allclose(mix, [30 / 630, 300 / 630, 300 / 630])


@pytest.mark.parametrize("calibrator", [*CALIBRATORS, CalibratedEvidenceClassifier()], ids=str)
def test_fitted_ones_can_be_pickled(calibrator):
    evidence, y = of_two(50)
    X = evidence.log_likelihoods
    fitted = clone(calibrator).fit(X, y)
    assert pickle.loads(pickle.dumps(fitted)).evidence(X).allclose(fitted.evidence(X))


@pytest.mark.parametrize(
    ("calibrator", "X", "y", "message"),
    [
        (AffineCalibrator(), [[0, 1]] * 4, [0, 0, 0, 0], "at least two classes; got one class, 0"),
        (AffineCalibrator("cubic"), [[0, 1], [1, 0]], [0, 1], "diagonal, full; got 'cubic'"),
        (AffineCalibrator(ridge=-1), [[0, 1], [1, 0]], [0, 1], "number, 0 or more; got -1"),
        (AffineCalibrator(prior="flat"), [[0, 1], [1, 0]], [0, 1], "got 'flat'"),
        (AffineCalibrator(), [[0, -np.inf], [1, 0]], [0, 1], "row 0 has infinity"),
        (AffineCalibrator(), [[0, np.nan], [1, 0]], [0, 1], "NaN"),
        (GaussianCalibrator("round"), [[0, 1], [1, 0]], [0, 1], "one of shared, separate"),
        (GaussianCalibrator(shrinkage=2), [[0, 1], [1, 0]], [0, 1], "between 0 and 1; got 2"),
        (GaussianCalibrator(), [[0, 1], [1, 0]], [0, 1], "must vary within the classes"),
        (IsotonicCalibrator(), np.eye(3), [0, 1, 2], "y must hold two classes; got 3"),
        (KernelDensityCalibrator(), [[np.inf], [0], [1]], [0, 1, 1], "has infinity"),
        (KernelDensityCalibrator(), [[1], [0], [0]], [0, 1, 1], "must vary within a class"),
        (KernelDensityCalibrator(-1), [[1], [0], [0]], [0, 1, 1], "positive number; got -1"),
        (BoundedCalibrator(misleading=0), [[0, 1], [1, 0]], [0, 1], "above 0; got 0"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(calibrator, X, y, message):
    with pytest.raises(InputError, match=message):
        calibrator.fit(X, y)


def test_missing_classes_and_columns_are_named():
    evidence, y = of_three(20)
    some = y != "eel"
    for X in (evidence[some], evidence[some].to_pandas()):
        with pytest.raises(InputError, match=r"of the classes 'cat', 'dog'; got .*'eel'"):
            AffineCalibrator().fit(X, y[some])
    calibrator = AffineCalibrator().fit(evidence, y)
    with pytest.raises(InputError, match=r"of the classes 'cat', 'dog', 'eel'; got 'cat', 'dog'"):
        calibrator.evidence(evidence.restrict(["cat", "dog"]))
    more = Evidence(np.zeros((1, 4)), ["cat", "dog", "eel", "fox"])
    with pytest.raises(InputError, match=r"of the classes 'cat', 'dog', 'eel'; got .*'fox'"):
        calibrator.evidence(more)


@pytest.mark.parametrize(
    "weight", [[1, 2], [[1.0] * 2] * 60, [-1.0] * 60, [0.0] * 60, [np.nan] * 60]
)
def test_bad_weights_are_refused(weight):
    evidence, y = of_three(20)
    with pytest.raises(InputError, match="sample_weight must"):
        AffineCalibrator().fit(evidence, y, sample_weight=weight)


# --- any classifier -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    names = np.where(y == 0, "malignant", "benign")
    return X[::2], names[::2], X[1::2], names[1::2]


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianNB(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        RandomForestClassifier(50, random_state=0),  # posteriors of zero
        make_pipeline(StandardScaler(), RidgeClassifier()),  # a decision function only
    ],
    ids=["naive Bayes", "logistic", "forest", "ridge"],
)
def test_any_classifier_becomes_a_source_of_good_evidence(estimator, cancer):
    X, y, X_new, y_new = cancer
    model = CalibratedEvidenceClassifier(estimator).fit(X, y)
    evidence = model.evidence(X_new)
    assert evidence.classes == ("benign", "malignant")
    cost = metrics.cllr(y_new, evidence, pos_label="malignant")
    assert cost < 0.26
    assert cost < metrics.cllr_min(y_new, evidence, pos_label="malignant") + 0.12
    np.testing.assert_allclose(model.predict_proba(X_new).sum(axis=1), 1)
    assert (model.predict(X_new) == y_new).mean() > 0.92


def test_another_answer_of_the_estimator_can_be_asked_for(cancer):
    X, y, X_new, y_new = cancer
    # Its probabilities are 0 or 1 for nearly every sample.
    hard = make_pipeline(StandardScaler(), SGDClassifier(loss="modified_huber", random_state=0))
    cost = {}
    for method in ("auto", "decision_function"):
        model = CalibratedEvidenceClassifier(hard, response_method=method).fit(X, y)
        cost[method] = metrics.cllr(y_new, model.evidence(X_new), pos_label="malignant")
    assert cost["decision_function"] != cost["auto"]
    assert cost["decision_function"] < 1.05 * cost["auto"]
    with pytest.raises(InputError, match=r"response_method must be one of auto, .* got 'predict'"):
        CalibratedEvidenceClassifier(hard, response_method="predict").fit(X, y)
    with pytest.raises(InputError, match="must have decision_function; GaussianNB does not"):
        CalibratedEvidenceClassifier(GaussianNB(), response_method="decision_function").fit(X, y)


def test_the_training_prior_is_taken_out(cancer):
    X, y, X_new, y_new = cancer
    rare = np.flatnonzero((y == "benign") | (np.cumsum(y == "malignant") <= 25))
    estimator = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
    plain = AffineCalibrator("scalar", offset=False)  # cannot take the prior out itself
    undone = CalibratedEvidenceClassifier(estimator, plain).fit(X[rare], y[rare])
    left_in = CalibratedEvidenceClassifier(estimator, plain, training_prior="uniform")
    left_in.fit(X[rare], y[rare])
    costs = [
        metrics.cllr(y_new, m.evidence(X_new), pos_label="malignant") for m in (undone, left_in)
    ]
    assert costs[0] < costs[1]
    np.testing.assert_allclose(undone.training_prior_[1], 25 / len(rare))


def test_frozen_ones_and_their_words_alone_give_the_same_evidence(cancer):
    X, y, X_new, y_new = cancer
    fitted = GaussianNB().fit(X, y)
    mix = [np.mean(y == "benign"), np.mean(y == "malignant")]
    options = {"training_prior": mix, "calibrator": AffineCalibrator("full")}
    prefit = CalibratedEvidenceClassifier(fitted, cv="prefit", **options).fit(X_new, y_new)
    frozen = CalibratedEvidenceClassifier(FrozenEstimator(fitted), cv=2, **options).fit(
        X_new, y_new
    )
    log_p = fitted.predict_log_proba(X_new)
    words = CalibratedEvidenceClassifier("log_probabilities", **options).fit(log_p, y_new)
    logits = CalibratedEvidenceClassifier("logits", **options).fit(log_p + 5, y_new)
    expected = prefit.evidence(X_new)
    assert frozen.evidence(X_new).allclose(expected, atol=1e-6)
    assert words.evidence(log_p).allclose(expected)
    assert logits.evidence(log_p - 3).allclose(expected)
    frame = pd.DataFrame(np.exp(log_p), columns=["benign", "malignant"])
    p = CalibratedEvidenceClassifier("probabilities", **options).fit(
        frame[["malignant", "benign"]], y_new
    )
    assert (p.predict(frame) == prefit.predict(X_new)).all()


def test_cross_fitting_keeps_groups_together_and_does_not_depend_on_jobs(cancer):
    X, y, X_new, _ = cancer
    groups = np.arange(len(y)) // 3
    model = CalibratedEvidenceClassifier(GaussianNB(), cv=GroupKFold(4)).fit(X, y, groups=groups)
    again = CalibratedEvidenceClassifier(GaussianNB(), cv=GroupKFold(4), n_jobs=2)
    with parallel_config(backend="threading"):  # processes take seconds to start
        again.fit(X, y, groups=groups)
    assert again.evidence(X_new).allclose(model.evidence(X_new))


def test_ten_classes_of_digits():
    X, y = load_digits(return_X_y=True)
    model = CalibratedEvidenceClassifier(GaussianNB(var_smoothing=1e-3), AffineCalibrator("scalar"))
    model.fit(X[::2], y[::2])
    raw = Evidence.from_log_posteriors(
        model.estimator_.predict_log_proba(X[1::2]), model.training_prior_
    )
    before, after = (metrics.cross_entropy(y[1::2], e) for e in (raw, model.evidence(X[1::2])))
    assert after < before / 2
    assert -1 < cross_val_score(model, X, y, cv=3).mean() < 0


def test_weights_that_the_estimator_does_not_take_are_announced(cancer):
    X, y, _, _ = cancer
    model = CalibratedEvidenceClassifier(KNeighborsClassifier(20))
    weight = np.where(y == "benign", 9.0, 1.0)
    with pytest.warns(UserWarning, match="should reach the estimator; KNeighborsClassifier"):
        model.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.training_prior_[0], np.mean(y == "benign"))
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    reached = CalibratedEvidenceClassifier(pipeline).fit(X, y, sample_weight=weight)
    share = weight[y == "benign"].sum() / weight.sum()
    np.testing.assert_allclose(reached.training_prior_[0], share)
    plain = CalibratedEvidenceClassifier(pipeline).fit(X, y)
    assert not np.allclose(
        reached.estimator_[-1].intercept_, plain.estimator_[-1].intercept_, atol=0.5
    )


@pytest.mark.parametrize(
    ("estimator", "X", "y", "message"),
    [
        ("odds", [[0, 1], [1, 0]], [0, 1], "probabilities, log_probabilities, logits; got 'odds'"),
        ("probabilities", [[0.5, 0.6], [1, 0]], [0, 1], "sum to one"),
        ("probabilities", [[1, 0, 0], [1, 0, 0]], [0, 1], "2 classes, one column each; got shape"),
        ("logits", [[np.nan, 0], [1, 0]], [0, 1], "NaN"),
        ("logits", [[0, 1], [1, 0]], [0, 0], "got one class"),
        (StandardScaler(), np.eye(20)[:, :3], [0, 1] * 10, "scikit-learn classifier; got Standard"),
    ],
)  # fmt: skip
def test_bad_sources_are_refused(estimator, X, y, message):
    with pytest.raises((InputError, AttributeError), match=message):
        CalibratedEvidenceClassifier(estimator).fit(X, y)


def test_a_class_that_a_fold_lacks_is_named():
    X = np.random.default_rng(0).normal(size=(21, 2))
    y = [0] * 10 + [1] * 10 + [2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn's, on the rare class
        with pytest.raises(InputError, match="must know the classes of y, 0, 1, 2; it knows 0, 1"):
            CalibratedEvidenceClassifier(GaussianNB(), cv=2).fit(X, y)


def test_a_named_basis_is_matched_with_the_classes():
    evidence, y = of_three()
    basis = Basis.from_tree((("eel", "cat"), "dog"))
    diagonal = AffineCalibrator("diagonal", basis=basis).fit(evidence, y)
    np.testing.assert_allclose(np.diag(diagonal.matrix_), 1 / 3, atol=0.1)
    full, turned = (AffineCalibrator("full", basis=b).fit(evidence, y) for b in (None, basis))
    assert turned.evidence(evidence).allclose(full.evidence(evidence), atol=1e-4)


# --- found by users ---------------------------------------------------------------------------


def test_extreme_posteriors_of_a_few_samples_do_not_spoil_the_rest():
    X, y = load_digits(return_X_y=True)
    model = CalibratedEvidenceClassifier(GaussianNB()).fit(X[::2], y[::2])  # down to e^-8e9
    assert (model.predict(X[1::2]) == y[1::2]).mean() > 0.83
    assert metrics.cross_entropy(y[1::2], model.evidence(X[1::2])) < 0.7
    with pytest.raises(InputError, match="floor must lie between 0 and 1, exclusive; got 2"):
        CalibratedEvidenceClassifier(GaussianNB(), floor=2).fit(X, y)


def test_scores_that_fall_where_they_should_rise_are_announced():
    rng = np.random.default_rng(0)
    y = np.repeat(["genuine", "impostor"], 100)
    score = rng.normal(np.where(y == "genuine", 2, -2), 1.5)
    with pytest.warns(ReversedScoresWarning, match="should rise with class 'impostor'"):
        IsotonicCalibrator().fit(score[:, None], y)
    right = Evidence.from_llr(score, "genuine", "impostor")
    calibrated = IsotonicCalibrator().fit(right, y).evidence(right)
    assert metrics.cllr(y, calibrated, pos_label="genuine") < 0.5


def test_columns_with_other_names_are_taken_in_order_and_it_says_so():
    evidence, y = of_two(50)
    frame = evidence.to_pandas().rename(columns={"no": "ll_no", "yes": "ll_yes"})
    with pytest.warns(ColumnOrderWarning, match="named after the classes 'no', 'yes'"):
        AffineCalibrator().fit(frame, y)


def test_two_systems_of_two_classes_are_fused_where_it_is_said():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 500)
    systems = rng.normal(size=(1000, 2)) + 1.5 * y[:, None]
    fused = AffineCalibrator(fuse=True).fit(systems, y)
    assert metrics.cllr(y, fused.evidence(systems)) < 0.7
    with pytest.raises(InputError, match=r"must have one column .* got 3. Pass fuse=True"):
        AffineCalibrator(fuse=False).fit(np.eye(3)[:, [0, 1, 2]][[0, 1, 2, 0]], [0, 1, 0, 1])
    with pytest.raises(InputError, match="fuse must be True, False or None; got 'yes'"):
        AffineCalibrator(fuse="yes").fit(systems, y)


def test_separable_classes_are_announced_and_bounded():
    evidence = Evidence.from_llr([2.0, 1.0, 3.0, -1.0, -2.0, -0.5])
    y = [1, 1, 1, 0, 0, 0]
    with pytest.warns(SeparableWarning, match=r"nothing limits .* Leave ridge=0 out, or put"):
        AffineCalibrator(ridge=0).fit(evidence, y)
    safe = AffineCalibrator().fit(evidence, y).evidence(evidence).llr(1, 0)
    assert 0.5 < np.abs(safe).min() < np.abs(safe).max() < 10
    assert np.abs(BoundedCalibrator().fit(evidence, y).evidence(evidence).llr(1, 0)).max() < 1.5
    AffineCalibrator(ridge=0.01).fit(evidence, y)


@pytest.mark.parametrize("X", [[1.0, 2.0, 3.0], np.arange(3.0), pd.Series([1.0, 2.0, 3.0])])
def test_a_flat_row_of_ratios_is_told_how_to_stand(X):
    with pytest.raises(InputError, match=r"llr\[:, None\] for LLRs .* Evidence.from_llr"):
        AffineCalibrator().fit(X, [0, 1, 0])


def test_a_class_without_weight_is_named():
    evidence, y = of_three(20)
    with pytest.raises(InputError, match="zero for all samples of 'eel'"):
        AffineCalibrator().fit(evidence, y, sample_weight=(y != "eel").astype(float))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CalibratedEvidenceClassifier(GaussianNB(), "isotonic"), "got 'isotonic'"),
        (
            lambda: CalibratedEvidenceClassifier(GaussianNB(), LogisticRegression()),
            "calibrator must",
        ),
        (lambda: BoundedCalibrator("kde"), "must be an estimator of deciban.calibration"),
        (lambda: CalibratedEvidenceClassifier(GaussianNB(), cv="prefit"), "not fitted yet"),
        (lambda: CalibratedEvidenceClassifier(GaussianNB), "must be a scikit-learn classifier"),
    ],
)
def test_what_cannot_be_used_is_refused(make, message, cancer):
    X, y, _, _ = cancer
    with pytest.raises(ValueError, match=message):
        make().fit(X[:, :1], y)


def test_names_of_features_are_kept():
    frame = load_breast_cancer(as_frame=True)
    model = CalibratedEvidenceClassifier(GaussianNB()).fit(frame.data, frame.target)
    assert model.feature_names_in_[0] == "mean radius"
    assert model.n_features_in_ == 30


# --- found by attack --------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [AffineCalibrator(), CalibratedEvidenceClassifier()], ids=str)
def test_what_is_not_data_is_refused(estimator):
    evidence, y = of_two(30)
    X = evidence.log_likelihoods
    labels = y.tolist()
    for missing in (None, np.nan, pd.NA):
        with pytest.raises(InputError, match="y must not contain NaN or missing labels"):
            estimator.fit(X, [missing, *labels[1:]])
    masked = np.ma.masked_array(X, np.zeros(X.shape, dtype=bool))
    masked[3, 1] = np.ma.masked
    with pytest.raises(InputError, match="X must not contain masked values; got 1"):
        estimator.fit(masked, y)
    with pytest.raises(InputError, match="must not contain masked values"):
        estimator.fit(X, np.ma.masked_array(y == "no", np.arange(len(y)) == 3))
    with pytest.raises(InputError, match="y must hold labels of one type; got"):
        estimator.fit(X, np.array([1, *labels[1:]], dtype=object))
    with pytest.raises(InputError, match="X must not contain masked values"):
        estimator.fit(X, y).evidence(masked)


def test_dates_are_not_scores():
    evidence, y = of_two(30)
    dates = np.datetime64("2020-01-01") + np.arange(2 * len(y)).reshape(-1, 2)
    named = dict(zip(["no", "yes"], dates.T, strict=True))
    for X in (dates, pd.DataFrame(named), pl.DataFrame(named)):
        with pytest.raises(InputError, match=r"X must be real numbers|X must have numeric columns"):
            AffineCalibrator().fit(X, y)
    with pytest.raises(InputError, match="X must be real numbers; got durations"):
        AffineCalibrator().fit(dates - dates[0, 0], y)
    with pytest.raises(InputError, match="X must be real numbers; got dates"):
        AffineCalibrator().fit(evidence, y).evidence(dates)


def test_rows_of_pandas_objects_are_matched_by_their_index(rng):
    evidence, y = of_two(50)
    frame, labels = evidence.to_pandas(), pd.Series(y)
    weight = pd.Series(rng.uniform(1, 2, len(y)))
    expected = AffineCalibrator().fit(evidence, y, sample_weight=weight.to_numpy()).matrix_
    order = rng.permutation(len(y))
    shuffled = AffineCalibrator().fit(frame.iloc[order], labels, sample_weight=weight.iloc[::-1])
    np.testing.assert_allclose(shuffled.matrix_, expected, rtol=1e-6)
    with pytest.raises(InputError, match="X and y must have the same index"):
        AffineCalibrator().fit(frame, labels.set_axis(labels.index + 7))


def test_the_score_matches_rows_of_pandas_objects_by_their_index(rng):
    evidence, y = of_two(50)
    frame, labels, weight = evidence.to_pandas(), pd.Series(y), pd.Series(rng.uniform(1, 2, len(y)))
    calibrator = AffineCalibrator().fit(frame, y)
    expected = calibrator.score(frame, y, sample_weight=weight.to_numpy())
    order = rng.permutation(len(y))
    shuffled = calibrator.score(frame.iloc[order], labels, sample_weight=weight.iloc[::-1])
    np.testing.assert_allclose(shuffled, expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::deciban.calibration.UnsupportedEvidenceWarning")
@pytest.mark.parametrize("scale", [1e-300, 1e300, 1e308])
@pytest.mark.parametrize("calibrator", [*CALIBRATORS, KernelDensityCalibrator("scott")], ids=str)
def test_weights_of_any_scale_are_taken(calibrator, scale):
    evidence, y = of_two(50)
    weight = np.full(len(y), scale)
    calibrated = clone(calibrator).fit(evidence, y, sample_weight=weight).evidence(evidence)
    assert not np.isnan(calibrated.llr("yes", "no")).any()
    # In these, weights count samples, however few or many.
    counts = KernelDensityCalibrator | BoundedCalibrator | BootstrapCalibrator | MonotoneCalibrator
    if not isinstance(calibrator, counts):
        of_many = {"ridge": calibrator.ridge or 0} if hasattr(calibrator, "ridge") else {}
        of_many |= {"predictive": False} if hasattr(calibrator, "predictive") else {}
        of_many |= {"ridge": 0} if isinstance(calibrator, CurvedCalibrator) else {}  # of n samples
        plain = clone(calibrator).set_params(**of_many if scale > 1 else {})
        assert calibrated.allclose(plain.fit(evidence, y).evidence(evidence), atol=1e-4)


def test_threads_leave_the_filters_of_warnings_alone():
    evidence, y = of_two(50)
    X = np.exp(evidence.log_likelihoods)
    X = X / X.sum(axis=1, keepdims=True)  # looks like probabilities
    before = list(warnings.filters)
    calibrator = AffineCalibrator().fit(X, y)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: calibrator.predict_proba(X), range(200)))
        list(pool.map(lambda _: BoundedCalibrator().fit(X, y), range(20)))
    assert warnings.filters == before


@pytest.mark.parametrize("estimator", [None, "logits", KNeighborsClassifier()], ids=str)
def test_a_class_without_weight_is_named_for_any_estimator(estimator):
    evidence, y = of_two(20)
    model = CalibratedEvidenceClassifier(estimator)
    with pytest.raises(InputError, match=r"sample_weight must be positive for some .* of 'no'"):
        model.fit(evidence.log_likelihoods, y, sample_weight=np.where(y == "no", 0.0, 1.0))


def test_a_class_without_weight_in_a_fold_is_named():
    evidence, y = of_two(20)
    weight = np.where(np.arange(40) < 1, 1.0, np.where(y == "no", 0.0, 1.0))
    with pytest.raises(InputError, match=r"every class in every fold; in one .* of 'no'"):
        CalibratedEvidenceClassifier().fit(evidence.log_likelihoods, y, sample_weight=weight)


@pytest.mark.parametrize("labels", [[b"a", b"b"], [2**70, 2**70 + 1], [2**53 + 1, 2.0**53]])
@pytest.mark.parametrize("estimator", [AffineCalibrator(), CalibratedEvidenceClassifier()], ids=str)
def test_labels_that_scikit_learn_does_not_take_are_refused(estimator, labels):
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(InputError, match="y must hold text, or numbers of a NumPy type; got"):
        estimator.fit(X, labels * 20)


@pytest.mark.parametrize("estimator", [AffineCalibrator(), CalibratedEvidenceClassifier()], ids=str)
@pytest.mark.parametrize(
    "convert",
    [
        lambda X: X.astype(str),
        lambda X: X.astype("S"),
        lambda X: X.astype(str).astype(object),
        lambda X: X.astype(str).tolist(),
        lambda X: pd.DataFrame(X.astype(str), columns=["no", "yes"]),
        lambda X: pl.DataFrame(X.astype(str), schema=["no", "yes"]),
        lambda X: (X * 1e9).astype("datetime64[s]"),
        lambda X: np.array([[pd.Timestamp(one) for one in row] for row in X], dtype=object),
    ],
)
def test_text_and_dates_are_not_features(estimator, convert):
    evidence, y = of_two(20)
    with pytest.raises(
        InputError, match=r"X must (be real numbers; got|have numeric columns only)"
    ):
        estimator.fit(convert(evidence.log_likelihoods), y)


def test_no_samples_are_reported_as_such():
    with pytest.raises(InputError, match="got no samples"):
        CalibratedEvidenceClassifier().fit(np.zeros((0, 2)), [])
    with pytest.raises(InputError, match=r"got none\. Add samples"):
        metrics.cllr([], [])
    with pytest.raises(InputError, match="y_true must hold samples of every class; got none"):
        metrics.cross_entropy([], np.zeros((0, 2)))
