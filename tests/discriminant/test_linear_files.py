"""Linear and quadratic discriminants, and a CDA with what goes along, in files."""

import json
import struct

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from deciban import Basis, LinearDiscriminant, QuadraticDiscriminant
from deciban._persistence import tensors
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


@pytest.mark.parametrize("model", MODELS[::2], ids=str)
def test_a_saved_discriminant_of_two_classes_is_the_same(model, tmp_path):
    model = model.fit(X[Y < 2], Y[Y < 2])
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
        with pytest.raises(ValueError, match="in the same order"):
            back.evidence(frame[list("dcba")])


def test_any_file_is_loaded_with_what_went_along(tmp_path):
    model = QuadraticDiscriminant().fit(X, Y)
    model.save(tmp_path / "model", extra={"columns": ["a", "b", "c", "d"]})
    back, extra = load_with_extra(tmp_path / "model")
    same_bits(back, model, X)
    assert extra == {"columns": ["a", "b", "c", "d"]}


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
        "prior_": lambda a: 2 * a,
    }.items():
        arrays, plain = tensors.read(path, "LinearDiscriminant")
        changed = arrays | {name: change(arrays[name])}
        tensors.write(tmp_path / "edited", plain["kind"], changed, plain)
        with pytest.raises(InputError, match="edited must be a whole model"):
            LinearDiscriminant.load(tmp_path / "edited")
    arrays, plain = tensors.read(path, "LinearDiscriminant")
    tensors.write(tmp_path / "more", plain["kind"], arrays | {"more": np.zeros(3)}, plain)
    with pytest.raises(InputError, match="more belongs to nothing"):
        LinearDiscriminant.load(tmp_path / "more")
    plain["parameters"]["shrinkage"] = [{"array": "_means"}] * 1000  # a copy for each
    tensors.write(tmp_path / "often", plain["kind"], arrays, plain)
    with pytest.raises(InputError, match="often must be a whole model"):
        LinearDiscriminant.load(tmp_path / "often")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="model must be a whole deciban file"):
        load_with_extra(path)


# --- a CDA ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cda():
    pytest.importorskip("jax")
    from deciban import CompositionalDiscriminantAnalysis

    small = {"n_couplings": 1, "width": 4, "epochs": 1, "random_state": 0}
    return CompositionalDiscriminantAnalysis(**small).fit(X, NAMES["objects"][Y])


def test_a_cda_is_loaded_with_what_went_along(cda, tmp_path):
    cda.save(tmp_path / "model", extra={"columns": ["a"]})
    back, extra = load_with_extra(tmp_path / "model")
    assert extra == {"columns": ["a"]}
    for model in (back, type(cda).load(tmp_path / "model")):
        assert type(model) is type(cda)
        assert model.classes_.dtype == object
        np.testing.assert_array_equal(model.predict_proba(X), cda.predict_proba(X))


def test_a_cda_from_before_there_were_seals_is_loaded(cda, tmp_path):
    path = tmp_path / "model"
    cda.save(path)
    rewritten(path, lambda plain: plain.pop("class_type"))
    back, extra = load_with_extra(path)
    assert extra is None
    np.testing.assert_array_equal(back.predict(X), cda.predict(X))
    np.testing.assert_array_equal(type(cda).load(path).predict_proba(X), cda.predict_proba(X))


def test_an_edited_cda_is_refused(cda, tmp_path):
    path = tmp_path / "model"
    cda.save(path)
    rewritten(path, lambda plain: plain["classes"].reverse(), sealed=True)
    with pytest.raises(InputError, match="model must be as it was written"):
        type(cda).load(path)


def rewritten(path, change, sealed=False):
    """A file whose plain data were changed by hand, with the seal as it was or without."""
    whole = path.read_bytes()
    size = struct.unpack("<Q", whole[:8])[0]
    header = json.loads(whole[8 : 8 + size])
    plain = json.loads(header["__metadata__"]["deciban"])
    change(plain)
    header["__metadata__"]["deciban"] = json.dumps(plain)
    if not sealed:
        del header["__metadata__"]["sha256"]
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + whole[8 + size :])


@pytest.mark.parametrize("model", [QuadraticDiscriminant(), LinearDiscriminant()], ids=str)
def test_arrays_that_no_evidence_can_come_of_are_refused(model, tmp_path):
    path = tmp_path / "model"
    kind = type(model).__name__
    model.fit(X, Y).save(path)
    for name in ("_means", "_factors"):
        arrays, plain = tensors.read(path, kind)
        for value in (0.0, np.inf):
            if name not in arrays or (name == "_means" and value == 0):
                continue
            tensors.write(path, kind, arrays | {name: np.full_like(arrays[name], value)}, plain)
            with pytest.raises(InputError, match="model must be a whole model"):
                type(model).load(path)
            tensors.write(path, kind, arrays, plain)


def test_labels_that_would_fill_the_memory_are_refused(tmp_path):
    path = tmp_path / "model"
    LinearDiscriminant().fit(X, NAMES["text"][Y]).save(path)
    arrays, plain = tensors.read(path, "LinearDiscriminant")
    plain["state"]["classes_"]["labels"] = ["a" * 20_000, *(str(k) for k in range(20_000))]
    tensors.write(path, plain["kind"], arrays, plain)
    with pytest.raises(InputError, match="labels that are too long"):
        LinearDiscriminant.load(path)
