"""Compositional discriminant analysis: what it learns, gives, keeps and refuses."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest
from scipy.special import ive
from sklearn.datasets import load_iris, make_circles, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import estimator_checks_generator

from deciban import Basis, CalibratedGaussian, LinearDiscriminant, metrics
from deciban._persistence import tensors
from deciban.discriminant import cda as cda_module
from deciban.exceptions import InputError

CDA = cda_module.CompositionalDiscriminantAnalysis
SMALL = {"n_couplings": 2, "width": 8, "epochs": 3, "random_state": 0}


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def fitted(iris):
    return CDA(**SMALL | {"epochs": 20}).fit(*iris)


NOT_MEANT = {
    "check_sample_weight_equivalence_on_dense_data": "weight 2 is once in a batch, not twice",
    "check_sample_weight_equivalence_on_sparse_data": "as for dense data",
    "check_class_weight_classifiers": "class weights are no prior; they leave the evidence alone",
}

# One of each kind: every check compiles programs of its own, and all would take minutes. With
# DECIBAN_ALL_CHECKS in the environment all of them run.
CHECKS = {
    "check_estimators_dtypes", "check_fit_score_takes_y", "check_estimators_fit_returns_self",
    "check_complex_data", "check_dtype_object", "check_estimators_empty_data_messages",
    "check_estimators_nan_inf", "check_estimators_overwrite_params", "check_estimators_pickle",
    "check_fit2d_1sample", "check_fit2d_1feature", "check_fit1d", "check_classifiers_classes",
    "check_classifiers_one_label", "check_classifiers_regression_target", "check_n_features_in",
    "check_supervised_y_2d", "check_no_attributes_set_in_init", "check_estimators_unfitted",
    "check_parameters_default_constructible", "check_requires_y_none",
    "check_dont_overwrite_attributes", "check_dict_unchanged",
    "check_methods_subset_invariance", "check_estimator_sparse_array",
}  # fmt: skip


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        (estimator, check)
        for estimator, check in estimator_checks_generator(
            CDA(**SMALL), expected_failed_checks=NOT_MEANT, mark="skip"
        )
        if "DECIBAN_ALL_CHECKS" in os.environ or getattr(check, "func", check).__name__ in CHECKS
    ],
    ids=lambda value: getattr(getattr(value, "func", value), "__name__", "CDA"),
)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


# --- what it learns ---------------------------------------------------------------------------


def test_it_starts_at_linear_discriminant_analysis():
    family = CalibratedGaussian.from_divergences([9.0, 8.0, 10.0])
    l, y = family.sample([100, 100, 100], rng=0)
    X = np.hstack([l, np.random.default_rng(7).normal(size=(300, 2))]) @ np.triu(np.ones((4, 4)))
    options = {"epochs": 0, "augment": 0, "shrinkage": 0.0, "validation_fraction": 0}
    cda = CDA(dtype="float64", random_state=0, **options).fit(X, y)
    lda = LinearDiscriminant().fit(X, y)
    assert cda.evidence(X).allclose(lda.evidence(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(cda.divergences_, lda.divergences_, rtol=1e-6)
    np.testing.assert_allclose(cda.score_samples(X), lda.score_samples(X), rtol=1e-6)


def test_moons_and_circles_are_told_apart_near_the_limit():
    X, y = make_circles(3000, noise=0.1, factor=0.5, random_state=0)
    new, y_new = make_circles(10_000, noise=0.1, factor=0.5, random_state=1)
    radius = np.linalg.norm(new, axis=1)
    inner, outer = (
        -(radius**2 + r * r) / 0.02 + np.log(ive(0, radius * r / 0.01)) + radius * r / 0.01
        for r in (0.5, 1.0)
    )
    limit = metrics.cllr(y_new, inner - outer)
    cda = CDA(random_state=0).fit(X, y)
    assert metrics.cllr(y_new, cda.evidence(new)) < 1.6 * limit
    assert metrics.cllr(y_new, LinearDiscriminant().fit(X, y).evidence(new)) > 0.9


def test_the_first_base_dimensions_are_the_evidence(fitted, iris):
    X, _ = iris
    Z = fitted.transform(X)
    np.testing.assert_allclose(Z[:, :2], fitted.evidence(X).ilr(), atol=1e-3)
    assert isinstance(fitted.reference_, CalibratedGaussian)
    np.testing.assert_allclose(fitted.reference_.covariance, fitted.covariance_)


@pytest.mark.parametrize("kind", ["affine", "spline"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_base_space_inverts(kind, dtype, iris):
    X, y = iris
    cda = CDA(kind=kind, dtype=dtype, augment=1, **SMALL).fit(X, y)
    far = np.vstack([X, X.mean(axis=0) + 10 * (X - X.mean(axis=0))])
    back = cda.inverse_transform(cda.transform(far))
    tolerance = 1e-4 if dtype == "float32" else 1e-9
    np.testing.assert_allclose(back, far, rtol=tolerance, atol=tolerance * np.abs(far).max())


def test_what_can_be_done_in_base_space(fitted, iris):
    X, _ = iris
    np.testing.assert_allclose(fitted.evidence(fitted.neutralize(X)).strength(), 0, atol=0.02)
    assert (fitted.predict(fitted.convert(X, to=1)) == 1).all()
    alphas = np.linspace(0, 1, 5)
    llr = fitted.evidence(fitted.interpolate(0, 2, alphas)).llr(0, 2)
    d = fitted.divergences_[0, 2]
    np.testing.assert_allclose(llr, (2 * alphas - 1) * d, atol=1e-3 * d)
    drawn, labels = fitted.sample(100, label=1, random_state=0)
    assert drawn.shape == (100, 4)
    assert (labels == 1).all()
    assert fitted.outlier_score(100 + X[:1])[0] == 0


@pytest.mark.parametrize("augment", [0, 2])
def test_the_evidence_asked_for_is_the_evidence_got(augment):
    X, y = make_circles(400, noise=0.1, factor=0.5, random_state=0)
    cda = CDA(augment=augment, epochs=20, random_state=0).fit(X, y)
    np.testing.assert_allclose(cda.evidence(cda.neutralize(X)).llr(1, 0), 0, atol=1e-3)
    d = cda.divergences_[0, 1]
    np.testing.assert_allclose(cda.evidence(cda.convert(X, to=1)).llr(1, 0), d, rtol=1e-3)
    between = cda.evidence(cda.interpolate(1, 0, [0, 0.25, 1])).llr(1, 0)
    np.testing.assert_allclose(between, np.array([-1, -0.5, 1]) * d, rtol=1e-3)


def test_the_residual_says_nothing_of_the_class():
    rng = np.random.default_rng(0)
    y = np.arange(4000) % 2
    X = rng.normal(size=(4000, 2)) + 1.5 * y[:, None] * [1, 1]
    cda = CDA(epochs=5, discriminative_weight=0.0, augment=1, random_state=0).fit(X, y)
    residual = cda.residual(X, random_state=0)
    assert residual.shape == (4000, 2)
    np.testing.assert_array_equal(residual, cda.residual(X, random_state=0))
    away = residual[y == 1].mean(axis=0) - residual[y == 0].mean(axis=0)
    assert np.abs(away).max() < 5 * np.sqrt(2 / 2000)
    lda = LinearDiscriminant().fit(X, y)
    np.testing.assert_array_equal(lda.residual(X), lda.transform(X)[:, 1:])


def test_densities_of_one_feature_integrate_to_one():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = np.where(y, rng.normal(size=300) ** 2, rng.normal(size=300))[:, None]
    grid = np.linspace(-15, 25, 8001)[:, None]
    cda = CDA(augment=0, kind="spline", dtype="float64", **SMALL).fit(X, y)
    f = np.exp(cda.log_densities(grid))
    np.testing.assert_allclose(f.sum(axis=0) * (grid[1] - grid[0]), 1, rtol=1e-3)


def test_draws_of_added_dimensions_average_densities(iris):
    X, y = iris
    centre = CDA(augment=2, **SMALL).fit(X, y)
    drawn = CDA(augment=2, augment_draws=8, **SMALL).fit(X, y)
    assert not drawn.evidence(X).allclose(centre.evidence(X), atol=1e-6)
    np.testing.assert_allclose(drawn.score_samples(X), centre.score_samples(X), atol=3)


def test_an_ensemble_is_the_mean_of_its_ilrls(iris):
    X, y = iris
    three = CDA(n_estimators=3, **SMALL).fit(X, y)
    each = [three._parts(params, X, 0)[0] for params in three._each_member()]
    assert not np.allclose(each[0], each[1], atol=1e-3)
    mean = np.mean(each, axis=0)
    np.testing.assert_allclose(three.evidence(X).llr(0, 1), mean[:, 0] - mean[:, 1])
    with pytest.raises(InputError, match="this is an ensemble of 3"):
        three.divergences_  # noqa: B018
    with pytest.raises(InputError, match=r"ensemble of 3. Fit with n_estimators=1"):
        three.transform(X)


def test_weights_and_priors(iris):
    X, y = iris
    plain = CDA(**SMALL).fit(X, y)
    prior = CDA(prior=[0.8, 0.1, 0.1], **SMALL).fit(X, y)
    assert prior.evidence(X).allclose(plain.evidence(X))
    np.testing.assert_allclose(
        prior.predict_proba(X), plain.evidence(X).posterior([0.8, 0.1, 0.1]), rtol=1e-6
    )
    heavy = CDA(class_weight={0: 1, 1: 10, 2: 1}, **SMALL).fit(X, y)
    weighted = CDA(**SMALL).fit(X, y, sample_weight=np.where(y == 1, 10.0, 1.0))
    assert heavy.evidence(X).allclose(weighted.evidence(X), atol=1e-4)
    assert not heavy.evidence(X).allclose(plain.evidence(X), atol=1e-2)


def test_the_paper_is_a_preset(iris):
    X, y = iris
    cda = CDA(preset="paper", epochs=2, random_state=0).fit(X, y)
    assert cda._settings.discriminative_weight == 0
    assert cda._settings.init == "paper"
    assert cda._settings.augment == 0


# --- runs that stop and go on -------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bits(iris):
    X, y = iris
    one, same, other = (
        CDA(**SMALL | {"random_state": seed}).fit(X, y).evidence(X) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.log_likelihoods, same.log_likelihoods)
    assert not one.allclose(other, atol=1e-6)


def test_a_run_that_was_killed_ends_where_it_would_have_ended(tmp_path, iris):
    X, y = iris
    path = tmp_path / "run.ckpt"
    script = (
        "import sys; from sklearn.datasets import load_iris\n"
        "from deciban.discriminant import CompositionalDiscriminantAnalysis as CDA\n"
        "import deciban.discriminant.checkpoints as c; c._SECONDS = 0.0\n"
        "CDA(n_couplings=2, width=8, epochs=4000, patience=None, random_state=0, "
        "checkpoint=sys.argv[1]).fit(*load_iris(return_X_y=True))\n"
    )
    run = subprocess.Popen([sys.executable, "-c", script, str(path)], env=os.environ)
    for _ in range(600):
        if path.exists():
            break
        time.sleep(0.1)
    time.sleep(0.3)
    run.send_signal(signal.SIGKILL)
    run.wait()
    options = SMALL | {"epochs": 30, "patience": None}
    whole = CDA(**options).fit(X, y)
    half = tmp_path / "half.ckpt"
    first = CDA(checkpoint=half, **options)
    stop_after(first, 12)
    with pytest.warns(UserWarning, match="interrupted after 12 of 30 epochs"):
        first.fit(X, y)
    again = CDA(checkpoint=half, **options).fit(X, y)
    np.testing.assert_array_equal(
        again.evidence(X).log_likelihoods, whole.evidence(X).log_likelihoods
    )
    assert len(again.history_) == 30
    for one, other in zip(*map(jax.tree.leaves, (again._params, whole._params)), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
    with pytest.raises(InputError, match=r"is of another fit .*Delete it"):
        CDA(checkpoint=path, **options).fit(X, y)  # whole, though its writer was killed


def stop_after(estimator, epochs):
    """Interrupt the fit of an estimator, as Ctrl-C would."""
    from deciban.discriminant import checkpoints

    class Interrupting(checkpoints.Keeper):
        def keep(self, state, force=False):
            super().keep(state, force=True)
            if state.epoch == epochs and not force:
                raise KeyboardInterrupt

    original = estimator._keeper

    def keeper(*args, **kwargs):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cda_module, "Keeper", Interrupting)
            return original(*args, **kwargs)

    estimator._keeper = keeper


def test_fits_go_on_where_they_are_asked_to(iris):
    X, y = iris
    cda = CDA(warm_start=True, **SMALL).fit(X, y)
    first = cda.evidence(X)
    again = cda.fit(X, y).evidence(X)
    assert not again.allclose(first, atol=1e-6)
    part = CDA(**SMALL).partial_fit(X, y)
    n = len(part.history_)
    part.partial_fit(X[50:], y[50:])
    assert len(part.history_) == n + 1
    assert part.classes_.tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="only; got"):
        part.partial_fit(X, y + 1)


def test_a_progress_bar_is_shown(iris, capsys):
    CDA(verbose=1, **SMALL).fit(*iris)
    shown = capsys.readouterr().err
    assert "C_mc" in shown
    assert "loss" in shown


# --- files --------------------------------------------------------------------------------------


def test_a_saved_model_is_the_same(fitted, iris, tmp_path):
    X, y = iris
    fitted.save(tmp_path / "model.deciban")
    loaded = CDA.load(tmp_path / "model.deciban")
    np.testing.assert_array_equal(
        loaded.evidence(X).log_likelihoods, fitted.evidence(X).log_likelihoods
    )
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    np.testing.assert_allclose(loaded.transform(X), fitted.transform(X))
    np.testing.assert_allclose(loaded.outlier_score(X), fitted.outlier_score(X))
    named = CDA(n_estimators=2, **SMALL).fit(X, np.array(["a", "b", "c"])[y])
    named.save(tmp_path / "named.deciban")
    assert CDA.load(tmp_path / "named.deciban").evidence(X).classes == ("a", "b", "c")


def test_two_hundred_broken_files_are_refused(fitted, tmp_path):
    path = tmp_path / "model.deciban"
    fitted.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    broken = tmp_path / "broken.deciban"
    refused = 0
    for k in range(200):
        data = bytearray(whole)
        if k % 3 == 0:
            data = data[: rng.integers(len(data))]
        elif k % 3 == 1:
            for at in rng.integers(min(len(data), 2000), size=5):
                data[at] = rng.integers(256)
        else:
            data = bytearray(rng.bytes(int(rng.integers(1, 5000))))
        broken.write_bytes(bytes(data))
        with contextlib.suppress(InputError):  # anything else would be a crash
            CDA.load(broken)
            continue
        refused += 1
    assert refused > 180  # a few changed bytes may leave a model that is whole


def test_other_files_are_refused_in_a_sentence(fitted, tmp_path):
    with pytest.raises(InputError, match="there is none at"):
        CDA.load(tmp_path / "none")
    tensors.write(tmp_path / "other", "checkpoint", {}, {})
    with pytest.raises(InputError, match="must hold a CDA; it holds a checkpoint"):
        CDA.load(tmp_path / "other")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensors, "_VERSION", 9)
        fitted.save(tmp_path / "newer")
    with pytest.raises(InputError, match=r"of format 1 or older; it is of 9. Update deciban"):
        CDA.load(tmp_path / "newer")
    fitted.save(tmp_path / "model")
    with pytest.raises(InputError, match="must be a file in a folder that exists"):
        fitted.save(tmp_path / "nowhere" / "model")
    with pytest.raises(InputError, match="must be text or a path; got None"):
        fitted.save(None)
    with pytest.raises(InputError, match="must be text or a path; got None"):
        CDA.load(None)


@pytest.mark.parametrize(
    ("part", "name", "claim"),
    [
        ("settings", "width", 2 * 10**9),
        ("settings", "augment", 10**9),
        ("settings", "epochs", "x"),
        ("parameters", "augment_draws", -1),
        ("parameters", "n_couplings_", 1),
        (None, "members", 0),
        (None, "members", 10**9),
        (None, "n_features", 10**9),
        (None, "features", ["a"]),
    ],
)
def test_claims_of_files_are_looked_at_first(part, name, claim, fitted, tmp_path):
    arrays, plain = edited(fitted, tmp_path)
    (plain if part is None else plain[part])[name] = claim
    tensors.write(tmp_path / "edited", "CDA", arrays, plain)
    with pytest.raises(InputError, match="must be a whole model"):
        CDA.load(tmp_path / "edited")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("prior", lambda a: -a),
        ("prior", lambda a: 5 * a),
        ("whitening scale", lambda a: 0 * a),
        ("whitening matrix", lambda a: 0 * a),
        ("quantiles", lambda a: a[:0]),
        ("quantiles", lambda a: a[::-1]),
        ("parameter 0", lambda a: a[:1]),
    ],
)
def test_arrays_of_files_are_looked_at(name, change, fitted, tmp_path):
    arrays, plain = edited(fitted, tmp_path)
    tensors.write(tmp_path / "edited", "CDA", arrays | {name: change(arrays[name])}, plain)
    with pytest.raises(InputError, match="must be a whole model"):
        CDA.load(tmp_path / "edited")


def edited(model, folder):
    model.save(folder / "model")
    arrays, plain = tensors.read(folder / "model", "CDA")
    return arrays, {k: v for k, v in plain.items() if k not in ("kind", "version")}


def test_files_keep_the_names_of_columns_and_the_parameters(iris, tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd"))
    cda = CDA(prior=[0.5, 0.25, 0.25], **SMALL).fit(frame, y)
    cda.save(tmp_path / "model")
    back = CDA.load(tmp_path / "model")
    assert back.get_params()["random_state"] == 0
    assert back.get_params()["batch_size"] == "auto"
    np.testing.assert_array_equal(back.predict_proba(frame), cda.predict_proba(frame))
    with pytest.raises(ValueError, match="in the same order"):
        back.evidence(frame[list("dcba")])


# --- hard tables --------------------------------------------------------------------------------


def test_hard_tables_are_taken():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + 2 * y[:, None]
    tables = {
        "huge": 1e12 * X + 1e13,
        "constant": np.column_stack([X, np.ones(60)]),
        "collinear": np.column_stack([X, X @ [1.0, 2.0, 3.0]]),
        "whole": np.round(10 * X).astype(int),
    }
    for name, table in tables.items():
        cda = CDA(**SMALL).fit(table, y)
        assert metrics.accuracy(y, cda.evidence(table)) > 0.8, name
    tiny = CDA(**SMALL).fit(X[:10], y[:10])
    assert np.isfinite(tiny.evidence(X).log_likelihoods).all()


def test_classes_whose_means_coincide_are_learnt():
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2
    X = rng.normal(size=(2000, 2)) * np.where(y, 3.0, 0.5)[:, None]
    cda = CDA(random_state=0, epochs=20).fit(X, y)
    assert metrics.cllr(y, cda.evidence(X)) < 0.45


def test_fewer_features_than_classes_ask_for_augment():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 1)), np.arange(100) % 5
    with pytest.raises(InputError, match=r"at least 4 features for 5 classes, .* augment=3"):
        CDA(augment=0, **SMALL).fit(X, y)
    assert CDA(augment=3, **SMALL).fit(X, y).evidence(X).n_classes == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "best"}, "preset must be 'paper' or None"),
        ({"dtype": "float16"}, "dtype must be 'float32' or 'float64'"),
        ({"device": "abacus"}, "device must be one that JAX has, such as cpu"),
        ({"validation_fraction": 1.0}, "from 0 to below 1, or 'auto'; got 1.0"),
        ({"n_estimators": 0}, "at least 1; got 0"),
        ({"n_estimators": True}, "at least 1; got True"),
        ({"clip": -1.0}, "clip must be a positive number"),
        ({"clip": None}, "clip must be a positive number"),
        ({"patience": 0}, "patience must be a whole number of at least 1, None"),
        ({"patience": "x"}, "patience must be a whole number"),
        ({"shrinkage": 2.0}, "shrinkage must lie between 0 and 1"),
        ({"shrinkage": None}, "shrinkage must lie between 0 and 1"),
        ({"depth": 0}, "depth must be a whole number of at least 1"),
        ({"augment_draws": -1}, "augment_draws must be a whole number"),
        ({"basis": "x"}, "basis must be a deciban.Basis or None; got str"),
        ({"device": 5}, "device must be one that JAX has"),
        ({"checkpoint": 5}, "path must be text or a path; got 5"),
        ({"checkpoint": "/no/such/folder/x"}, "must be a file in a folder that exists"),
        ({"class_weight": {0: -1.0, 1: 1.0, 2: 1.0}}, "class_weight must be positive"),
        ({"epochs": -1}, "epochs must be a whole number of at least 0"),
        ({"learning_rate": -1.0}, "learning_rate must be 0 or more"),
        ({"init": "random"}, "init must be 'lda' or 'paper'"),
        ({"kind": "cubic"}, "kind must be one of affine, spline"),
        ({"schedule": "steps"}, "schedule must be one of one-cycle"),
    ],
)
def test_bad_options_are_refused(options, message, iris):
    with pytest.raises(InputError, match=message):
        CDA(**SMALL | options).fit(*iris)


@pytest.mark.parametrize("missing", ["jax", "optax"])
def test_a_missing_extra_is_named(missing):
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import deciban\n"
        "deciban.LinearDiscriminant()\n"
        "try: deciban.CompositionalDiscriminantAnalysis\n"
        "except deciban.exceptions.MissingExtraError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"{missing} must be installed" in done.stdout
    assert "pip install 'deciban[flow]'" in done.stdout


def test_moons_are_told_apart():
    X, y = make_moons(600, noise=0.2, random_state=0)
    cda = CDA(random_state=0, kind="spline", epochs=30).fit(X[::2], y[::2])
    assert metrics.accuracy(y[1::2], cda.evidence(X[1::2])) > 0.93


# --- what two critics found ---------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0.0, 20.0])
def test_the_mix_of_the_classes_is_no_part_of_the_evidence(weight):
    rng = np.random.default_rng(1)
    y = (rng.random(4000) < 0.05).astype(int)
    X = rng.normal(size=(4000, 2))
    X[:, 0] += 1.5 * y
    cda = CDA(epochs=10, discriminative_weight=weight, random_state=0).fit(X, y)
    truth = np.arange(4000) % 2
    new = rng.normal(size=(4000, 2)) + 1.5 * truth[:, None] * [1, 0]
    floor = metrics.cllr(truth, 1.5 * new[:, 0] - 1.125)
    assert metrics.cllr(truth, cda.evidence(new)) < 1.1 * floor


def test_a_distant_class_leaves_the_evidence_about_the_others_to_a_cda():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 500)
    X = rng.normal(size=(1500, 2))
    X[:, 0] += np.array([0, 3, 3000])[y]
    cda = CDA(epochs=10, random_state=0).fit(X, y)
    llr = cda.evidence([[0.0, 0.0], [3.0, 0.0]]).llr(1, 0)
    np.testing.assert_allclose(llr, [-4.5, 4.5], atol=1.5)


def test_evidence_far_from_the_data_is_that_of_the_base_space():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 3)) + 2 * y[:, None] * [1, 0, 0]
    X[:, 2] = 1
    cda = CDA(epochs=5, random_state=0).fit(X, y)
    far = np.array([[1.7, 0, 1], [1.7, 0, 100.0], [1e4, 1e4, 1.0]])
    np.testing.assert_allclose(cda.evidence(far).ilr()[:, 0], cda.transform(far)[:, 0], rtol=1e-4)
    with pytest.raises(InputError, match=r"row 1 is too far from them for float32"):
        cda.evidence([[0.0, 0.0, 1.0], [1e30, 0.0, 1.0]])


def test_checkpoints_of_other_fits_are_refused(iris, tmp_path):
    X, y = iris
    options = SMALL | {"epochs": 2, "checkpoint": tmp_path / "run"}
    CDA(**options).fit(X, y)
    for other, named in (
        ({"shrinkage": 0.9}, "settings differ"),
        ({"basis": Basis.gram_schmidt(3, [2, 0, 1])}, "settings differ"),
        ({"random_state": 1}, "random_state differ"),
    ):
        with pytest.raises(InputError, match=named):
            CDA(**options | other).fit(X, y)
    with pytest.raises(InputError, match="data differ"):
        CDA(**options).fit(X[::-1], y)
    cda = CDA(**options).fit(X, y).partial_fit(X, y)
    assert [record["epoch"] for record in cda.history_] == [0, 1, 2]
    arrays, plain = tensors.read(tmp_path / "run", "checkpoint")
    plain = {k: v for k, v in plain.items() if k not in ("kind", "version")}
    tensors.write(tmp_path / "run", "checkpoint", dict(list(arrays.items())[1:]), plain)
    with pytest.raises(InputError, match="checkpoint must be whole"):
        CDA(**options).fit(X, y)


def test_a_run_without_a_seed_resumes_with_its_own(iris, tmp_path):
    X, y = iris
    options = SMALL | {"random_state": None, "checkpoint": tmp_path / "run"}
    first = CDA(**options)
    stop_after(first, 2)
    with pytest.warns(UserWarning, match="interrupted after 2"):
        first.fit(X, y)
    assert len(CDA(**options).fit(X, y).history_) == SMALL["epochs"]


def test_warm_starts_go_on_only_where_the_model_fits(iris):
    X, y = iris
    letters = np.array(list("cba"))[y]
    cda = CDA(warm_start=True, **SMALL).fit(X, y)
    assert (cda.fit(X, letters).predict(X) == letters).mean() > 0.9
    assert cda.reference_.classes == ("a", "b", "c")
    assert cda.fit(X[:100], y[:100]).evidence(X).n_classes == 2
    cda.set_params(n_estimators=2).fit(X, y)
    assert cda.evidence(X).n_classes == 3
    cda.set_params(n_estimators=1)
    assert cda.evidence(X).n_classes == 3  # still of two members
    cda.set_params(depth=3).fit(X, y)
    assert cda._model.flow.depth == 3


def test_parts_of_the_classes_may_come_in_parts(iris):
    X, y = iris
    cda = CDA(prior=[0.2, 0.3, 0.5], **SMALL).fit(X, y)
    cda.partial_fit(X[:50], y[:50])
    assert cda.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(cda.evidence(X).log_likelihoods).all()
    with pytest.raises(ValueError, match="features"):
        cda.partial_fit(X[:, :3], y)
    assert cda.predict(X).shape == y.shape
    with pytest.raises(InputError, match="epochs must be a whole number"):
        cda.set_params(epochs=-1).fit(X, y)
    assert cda.predict(X).shape == y.shape


def test_a_missing_device_leaves_the_precision_alone(iris):
    with pytest.raises(InputError, match="device must be one"):
        CDA(dtype="float64", device="abacus").fit(*iris)
    assert jax.numpy.zeros(1, float).dtype == np.float32


def test_numbers_of_numpy_are_numbers(iris):
    X, y = iris
    cda = CDA(
        depth=np.int64(1), epochs=np.int64(2), width=np.int32(8), clip=np.float32(np.inf),
        learning_rate=np.float32(1e-3), n_couplings=2, random_state=0,
    ).fit(X, y)  # fmt: skip
    assert len(cda.history_) == 2


def test_tables_of_names_raise_no_false_warnings(iris):
    pd = pytest.importorskip("pandas")
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd"))
    for model in (CDA(**SMALL), LinearDiscriminant()):
        assert model.fit(frame, y).n_features_in_ == 4  # warnings are errors here


def test_densities_integrate_to_one_with_added_dimensions():
    X, y = make_moons(1000, noise=0.2, random_state=0)
    cda = CDA(augment=2, epochs=20, random_state=0).fit(X, y)
    side = np.linspace(-3, 4, 141)
    grid = np.column_stack([a.ravel() for a in np.meshgrid(side, side)])
    mass = np.exp(cda.log_densities(grid)).sum(axis=0) * (side[1] - side[0]) ** 2
    np.testing.assert_allclose(mass, 1, atol=0.03)


def test_nothing_in_gives_nothing_out(fitted):
    assert fitted.sample(0)[0].shape == (0, 4)
    assert fitted.interpolate(0, 1, []).shape == (0, 4)
    assert fitted.inverse_transform(np.empty((0, fitted.transform([[1, 1, 1, 1]]).shape[1]))).shape
    for call, named in (
        (lambda: fitted.sample(2.5), "n must be a whole number"),
        (lambda: fitted.interpolate(0, 1, [[0.0]]), "alphas must be finite numbers in one list"),
        (lambda: fitted.interpolate(0, 1, [np.nan]), "alphas must be finite"),
        (lambda: fitted.inverse_transform(np.full((1, fitted._n_base()), np.nan)), "finite"),
    ):
        with pytest.raises(InputError, match=named):
            call()


@pytest.mark.parametrize("model", [CDA(), LinearDiscriminant()])
def test_models_that_were_not_fitted_say_so(model):
    with pytest.raises(NotFittedError):
        model.neutralize([[1.0]])
    with pytest.raises(NotFittedError):
        model.divergences_  # noqa: B018
