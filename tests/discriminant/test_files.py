"""Discriminants in files: the same after as before, and refused where a file is not whole."""

import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import deciban
from deciban import Basis, LinearDiscriminant, QuadraticDiscriminant
from deciban._persistence import files
from deciban._persistence.registry import load_with_extra
from deciban.exceptions import InputError

X, Y = load_iris(return_X_y=True)
NAMES = {
    "text": np.array(["setosa", "versicolor", "virginica"]),
    "objects": np.array(["setosa", "versicolor", "virginica"], dtype=object),
    "numbers": np.array([3, 5, 8], dtype=np.int32),
}
TREE = Basis(Basis.from_tree((0, (1, 2))).contrast)
MODELS = [
    LinearDiscriminant(),
    LinearDiscriminant(shrinkage=0.2, prior="empirical", basis=TREE),
    QuadraticDiscriminant(),
    QuadraticDiscriminant(shrinkage=np.float64(0.1), prior=[0.2, 0.3, 0.5]),
]


def back_from_file(model, path):
    model.save(path)
    back = type(model).load(path)
    assert type(back) is type(model)
    assert repr(back) == repr(model)
    assert str(back.get_params()) == str(model.get_params())
    assert back.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(back.classes_, model.classes_)
    np.testing.assert_array_equal(back.prior_, model.prior_)
    assert set(vars(back)) == set(vars(model))
    return back


def same_bits(back, model, table):
    methods = ["log_densities", "predict_proba", "predict", "outlier_score"]
    methods += ["transform", "neutralize"] if isinstance(model, LinearDiscriminant) else []
    for method in methods:
        ours, theirs = getattr(back, method)(table), getattr(model, method)(table)
        if ours.dtype != object:
            assert ours.tobytes() == theirs.tobytes()
        np.testing.assert_array_equal(ours, theirs)
    assert back.evidence(table).classes == model.evidence(table).classes


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("names", NAMES)
def test_a_saved_discriminant_is_the_same(names, model, tmp_path):
    model = model.fit(X, NAMES[names][Y])
    same_bits(back_from_file(model, tmp_path / "model"), model, X)


def test_truth_values_stay_truth_values(tmp_path):
    model = LinearDiscriminant().fit(X, Y > 0)
    assert back_from_file(model, tmp_path / "model").predict(X[:1]).tolist() == [False]


def test_what_follows_from_the_fit_follows_from_the_file(tmp_path):
    model = LinearDiscriminant().fit(X, NAMES["text"][Y])
    back = back_from_file(model, tmp_path / "model")
    assert back.basis_ == model.basis_
    np.testing.assert_array_equal(back.divergences_, model.divergences_)
    np.testing.assert_array_equal(back.sample(5, random_state=0)[0],
                                  model.sample(5, random_state=0)[0])  # fmt: skip


def test_names_of_columns_are_kept(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    for model in (LinearDiscriminant().fit(frame, Y), QuadraticDiscriminant().fit(frame, Y)):
        back = back_from_file(model, tmp_path / "model")
        assert back.feature_names_in_.tolist() == list("abcd")
        assert back.evidence(frame[list("dcba")]).allclose(model.evidence(frame))


def test_unfitted_other_and_unsound_models_are_refused(tmp_path):
    path = tmp_path / "model"
    with pytest.raises(NotFittedError):
        LinearDiscriminant().save(path)
    model = LinearDiscriminant().fit(X, Y)
    model.save(path)
    with pytest.raises(InputError, match="hold a QuadraticDiscriminant; it holds a LinearDisc"):
        QuadraticDiscriminant.load(path)
    for name, change in {
        "_whitening.scale": lambda a: -a,
        "_whitening.matrix": lambda a: a[:1],
        "_density_quantiles": lambda a: a[::-1],
        "_means": lambda a: a * np.nan,
        "basis_.contrast": lambda a: 2 * a,
        "class_counts_": lambda a: 0 * a,
    }.items():
        arrays, plain = files.read_arrays(path, ["LinearDiscriminant"])
        changed = arrays | {name: change(arrays[name])}
        files.write_arrays(tmp_path / "edited", plain["kind"], changed, plain)
        with pytest.raises(InputError, match="Cannot load edited"):
            LinearDiscriminant.load(tmp_path / "edited")
    arrays, plain = files.read_arrays(path, ["LinearDiscriminant"])
    files.write_arrays(tmp_path / "more", plain["kind"], arrays | {"more": np.zeros(3)}, plain)
    with pytest.raises(InputError, match="more belongs to nothing"):
        LinearDiscriminant.load(tmp_path / "more")
    plain["parameters"]["shrinkage"] = [{"array": "_means"}] * 1000  # a copy for each
    files.write_arrays(tmp_path / "often", plain["kind"], arrays, plain)
    with pytest.raises(InputError, match="Cannot load often"):
        LinearDiscriminant.load(tmp_path / "often")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="Cannot read model as a deciban file"):
        load_with_extra(path)


@pytest.mark.parametrize("model", [QuadraticDiscriminant(), LinearDiscriminant()], ids=str)
def test_arrays_that_no_evidence_can_come_of_are_refused(model, tmp_path):
    path = tmp_path / "model"
    kind = type(model).__name__
    model.fit(X, Y).save(path)
    for name in ("_means", "_factors"):
        arrays, plain = files.read_arrays(path, [kind])
        for value in (0.0, np.inf):
            if name not in arrays or (name == "_means" and value == 0):
                continue
            files.write_arrays(
                path, kind, arrays | {name: np.full_like(arrays[name], value)}, plain
            )
            with pytest.raises(InputError, match="Cannot load model"):
                type(model).load(path)
            files.write_arrays(path, kind, arrays, plain)


# --- a CDA ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cda():
    pytest.importorskip("jax")
    small = {"n_couplings": 2, "width": 4, "epochs": 1, "random_state": 0}
    return deciban.CompositionalDiscriminantAnalysis(**small).fit(X, NAMES["objects"][Y])


@pytest.fixture
def edit(cda, tmp_path):
    """A file of the CDA whose arrays and plain data a function has changed, with a new checksum."""

    def write(change):
        cda.save(tmp_path / "model")
        arrays, plain = files.read_arrays(tmp_path / "model", [type(cda).__name__])
        change(arrays, plain)
        files.write_arrays(tmp_path / "model", type(cda).__name__, arrays, plain)
        return tmp_path / "model"

    return write


def test_a_saved_cda_is_the_same(cda, tmp_path):
    cda.save(tmp_path / "model", extra={"columns": ["a"]})
    back, extra = load_with_extra(tmp_path / "model")
    assert extra == {"columns": ["a"]}
    assert back.history_ == cda.history_
    for model in (back, deciban.load(tmp_path / "model"), type(cda).load(tmp_path / "model")):
        assert type(model) is type(cda)
        assert repr(model) == repr(cda)
        assert set(vars(model)) == set(vars(cda))
        assert model.classes_.dtype == object
        for method in ("predict_proba", "predict", "transform", "outlier_score"):
            np.testing.assert_array_equal(getattr(model, method)(X), getattr(cda, method)(X))


def test_a_cda_comes_back_with_its_columns_and_parameters(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    untrained = {"n_couplings": 0, "epochs": 0, "n_estimators": 2, "basis": TREE}
    prior = np.array([0.5, 0.25, 0.25])
    random_state = np.random.RandomState(0)
    cda = deciban.CompositionalDiscriminantAnalysis(
        prior=prior, random_state=random_state, options={"batch_size": 20}, **untrained
    ).fit(frame, Y)
    cda.save(tmp_path / "model")
    back = deciban.load(tmp_path / "model")
    assert back.get_params()["options"] == {"batch_size": 20}
    assert back.get_params()["random_state"] is None
    assert back.get_params()["basis"] == TREE
    np.testing.assert_array_equal(back.get_params()["prior"], prior)
    np.testing.assert_array_equal(back.predict_proba(frame), cda.predict_proba(frame))
    arrays, plain = files.read_arrays(tmp_path / "model", ["CompositionalDiscriminantAnalysis"])
    del plain["parameters"]["options"]  # as files had them before there were options
    plain["parameters"] |= {"batch_size": 20, "depth": 2, "learning_rate": "auto"}
    files.write_arrays(tmp_path / "older", plain["kind"], arrays, plain)
    older = deciban.load(tmp_path / "older")
    assert older.get_params()["options"] == {"batch_size": 20}
    np.testing.assert_array_equal(older.predict_proba(frame), cda.predict_proba(frame))
    assert back.evidence(frame[list("dcba")]).allclose(cda.evidence(frame))


def test_a_loaded_cda_writes_no_checkpoint(edit, cda, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    cda.set_params(checkpoint=elsewhere, verbose=1)
    cda.save(tmp_path / "model")
    cda.set_params(checkpoint=None, verbose=0)
    back = deciban.load(tmp_path / "model")
    assert back.checkpoint is None
    assert back.verbose == 0

    def claim(arrays, plain):
        plain["parameters"]["checkpoint"] = str(elsewhere)

    with pytest.raises(InputError, match="parameters that are not stored"):
        deciban.load(edit(claim))
    assert not elsewhere.exists()


def at(*keys):
    """A change of one place in the plain data of a file."""

    def change(plain, value):
        for key in keys[:-1]:
            plain = plain[key]
        plain[keys[-1]] = value

    return change


SETTINGS = ("state", "_settings", "parts")


@pytest.mark.parametrize(
    ("change", "value"),
    [
        (at(*SETTINGS, "width"), 2 * 10**9),
        (at(*SETTINGS, "augment"), 10**9),
        (at(*SETTINGS, "epochs"), "x"),
        (at(*SETTINGS, "n_couplings"), 10**6),
        (at(*SETTINGS, "depth"), 100_000),
        (at(*SETTINGS, "n_estimators"), 0),
        (at(*SETTINGS, "n_estimators"), 200_000),
        (at(*SETTINGS, "n_estimators"), 10**9),
        (at(*SETTINGS, "kind"), "cubic"),
        (at(*SETTINGS, "more"), 1),
        (at("parameters", "n_couplings_"), 1),
        (at("state", "_params"), {"mapping": []}),
        (at("state", "_params"), []),
        (at("state", "n_features_in_"), 10**9),
        (at("state", "feature_names_in_"), ["a"]),
        (at("state", "history_"), 3),
    ],
)
def test_claims_of_a_resealed_cda_are_checked_before_anything_is_built(change, value, edit):
    path = edit(lambda arrays, plain: change(plain, value))
    began = time.monotonic()
    with pytest.raises(InputError, match="Cannot load "):
        deciban.load(path)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("class_counts_", lambda a: -a),
        ("class_counts_", lambda a: np.inf * a),
        ("_preparation.whitening.scale", lambda a: 0 * a),
        ("_preparation.whitening.matrix", lambda a: 0 * a),
        ("_preparation.tails.bend", np.zeros_like),
        ("_density_quantiles", lambda a: a[::-1]),
        ("_params.1.1.0.1.0", lambda a: a[..., :1]),
        ("_params.1.1.0.1.0", lambda a: a * np.inf),
        ("_params.1.1.0.1.0", lambda a: a.astype(np.float64)),
    ],
)
def test_arrays_of_a_resealed_cda_are_checked(name, change, edit):
    path = edit(lambda arrays, plain: arrays.update({name: change(arrays[name])}))
    with pytest.raises(InputError, match="Cannot load "):
        deciban.load(path)


def test_broken_files_of_a_cda_are_refused(cda, tmp_path):
    path, broken = tmp_path / "model", tmp_path / "broken"
    cda.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for k in range(200):
        data = bytearray(whole)
        if k % 3 == 0:
            data = data[: rng.integers(len(data))]
        elif k % 3 == 1:
            data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        else:
            data = bytearray(rng.bytes(int(rng.integers(1, 5000))))
        broken.write_bytes(bytes(data))
        with pytest.raises(InputError):
            deciban.load(broken)


def test_a_cda_without_jax_names_the_extra(cda, tmp_path):
    cda.save(tmp_path / "model")
    code = (
        "import sys; sys.modules['jax'] = None\n"
        "import deciban\n"
        "try: deciban.load(sys.argv[1])\n"
        "except deciban.exceptions.MissingExtraError as error: print(error.extra)"
    )
    command = [sys.executable, "-c", code, tmp_path / "model"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "flow\n"


def test_loading_a_linear_discriminant_does_not_import_jax(tmp_path):
    LinearDiscriminant().fit(X, Y).save(tmp_path / "model")
    code = (
        "import sys, deciban\nprint(type(deciban.load(sys.argv[1])).__name__, 'jax' in sys.modules)"
    )
    command = [sys.executable, "-c", code, tmp_path / "model"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "LinearDiscriminant False\n"
