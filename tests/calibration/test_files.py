"""Calibrators in files: the same after as before, and refused where a file is not whole."""

import contextlib
import json
import struct

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold

from deciban import Basis, CalibratedGaussian, LinearDiscriminant
from deciban._persistence import files
from deciban._persistence import registry as coding
from deciban._persistence.registry import load_with_extra
from deciban.calibration import (
    AffineCalibrator,
    BoundedCalibrator,
    CalibratedEvidenceClassifier,
    CurvedCalibrator,
    GaussianCalibrator,
    IsotonicCalibrator,
    KernelDensityCalibrator,
    MonotoneCalibrator,
)
from deciban.exceptions import InputError
from public_calibrators import FOR_SEVERAL, FOR_TWO

PAIR = CalibratedGaussian.from_divergences([4.0])
FAMILY = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
TREE = Basis.from_tree((("a", "c"), "b"))
NAMES = {
    "text": ["a", "b", "c"],
    "objects": np.array(["a", "b", "c"], dtype=object),
    "numbers": np.array([3, 5, 8], dtype=np.int32),
    "floats": [1.0, 2.0, 3.0],
}
TWO = [
    *FOR_TWO,
    AffineCalibrator("full", prior=[0.3, 0.7]),
    AffineCalibrator(ridge=np.float64(0.01), prior="empirical"),
    GaussianCalibrator("separate", shrinkage=0.1),
    IsotonicCalibrator(prior=(0.25, 0.75)),
    MonotoneCalibrator(misleading=2.0),
    KernelDensityCalibrator(0.5, prior=np.array([0.1, 0.9])),
    BoundedCalibrator(IsotonicCalibrator(), misleading=2.0, prior="empirical"),
    BoundedCalibrator(BoundedCalibrator(KernelDensityCalibrator())),
]
SEVERAL = [
    *FOR_SEVERAL,
    AffineCalibrator("diagonal", offset=False, basis=Basis(TREE.contrast)),
    AffineCalibrator("full", ridge=0.1, prior=[0.2, 0.3, 0.5]),
    CurvedCalibrator(prior="empirical"),
    GaussianCalibrator("separate"),
    BoundedCalibrator(AffineCalibrator("full", prior=[0.2, 0.3, 0.5])),
]


def two(n=400, rng=0):
    l, y = PAIR.sample([n, n], rng)
    return 2 * PAIR.evidence(l).llr(1, 0)[:, None] + 1, y


def three(n=300, rng=0):
    l, y = FAMILY.sample([n, n, n], rng)
    return FAMILY.evidence(2 * l + 0.3).log_likelihoods, y


def back_from_file(model, path):
    model.save(path)
    back = type(model).load(path)
    same_estimator(back, model)
    return back


def same_estimator(back, model):
    assert type(back) is type(model)
    assert repr(back) == repr(model)
    assert str(back.get_params()) == str(model.get_params())
    assert back.classes_.dtype.kind == model.classes_.dtype.kind
    assert [type(c) for c in back.classes_.tolist()] == [type(c) for c in model.classes_.tolist()]
    np.testing.assert_array_equal(back.classes_, model.classes_)
    np.testing.assert_array_equal(back.prior_, model.prior_)
    assert set(vars(back)) == set(vars(model))


def same_bits(back, model, X):
    for method in ("transform", "predict_proba", "predict"):
        ours, theirs = getattr(back, method)(X), getattr(model, method)(X)
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == object or ours.tobytes() == theirs.tobytes()
    a, b = back.evidence(X), model.evidence(X)
    assert a.classes == b.classes
    assert a.log_likelihoods.tobytes() == b.log_likelihoods.tobytes()


@pytest.mark.filterwarnings("ignore::deciban.calibration.UnsupportedEvidenceWarning")
@pytest.mark.parametrize("calibrator", TWO, ids=str)
def test_a_calibrator_of_two_classes_is_the_same(calibrator, tmp_path):
    X, y = two()
    new = np.concatenate([X, [[-80.0], [0.0], [80.0]]])
    for labels in (y, np.array(["no", "yes"])[y], y == 1):
        model = calibrator.fit(X, labels)
        same_bits(back_from_file(model, tmp_path / "calibrator"), model, new)


@pytest.mark.parametrize("calibrator", SEVERAL, ids=str)
@pytest.mark.parametrize("names", NAMES)
def test_a_calibrator_of_several_classes_is_the_same(names, calibrator, tmp_path):
    X, y = three()
    model = calibrator.fit(X, np.asarray(NAMES[names])[y])
    back = back_from_file(model, tmp_path / "calibrator")
    same_bits(back, model, three(rng=1)[0])
    assert back.classes_.dtype == model.classes_.dtype


def test_infinite_ratios_come_back_infinite(tmp_path):
    X, y = np.array([[-np.inf], [-1.0], [0.0], [3.0], [np.inf]]), [0, 1, 0, 1, 1]
    model = IsotonicCalibrator().fit(X, y)
    back = back_from_file(model, tmp_path / "calibrator")
    llr = back.evidence(X).llr(1, 0)
    assert llr[0] == -np.inf
    assert llr[-1] == np.inf
    np.testing.assert_array_equal(back.blocks_.llr, model.blocks_.llr)


def test_many_samples_are_gathered_and_come_back(tmp_path):
    X, y = two(6000)
    model = KernelDensityCalibrator().fit(X, y)
    same_bits(back_from_file(model, tmp_path / "calibrator"), model, X[:100])


def test_fused_scores_are_fused_as_before(tmp_path):
    X, y = two()
    X = np.column_stack([X, X + np.random.default_rng(0).normal(size=X.shape), np.ones(len(X))])
    for calibrator in (AffineCalibrator(fuse=True), BoundedCalibrator(fuse=True)):
        model = calibrator.fit(X, y)
        same_bits(back_from_file(model, tmp_path / "calibrator"), model, X)


def test_named_columns_bases_and_priors_are_kept(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = three()
    frame = pd.DataFrame(X, columns=list("abc"))
    prior = {"a": 0.5, "b": 0.25, "c": 0.25}
    model = AffineCalibrator("diagonal", basis=TREE, prior=prior).fit(
        frame, np.array(list("abc"))[y]
    )
    back = back_from_file(model, tmp_path / "calibrator")
    assert back.basis == TREE
    assert back.prior == prior
    assert back.feature_names_in_.tolist() == list("abc")
    same_bits(back, model, frame[["c", "a", "b"]])


def test_arrays_in_another_order_of_memory_come_back_in_it(tmp_path):
    X, y = three()
    model = AffineCalibrator("full").fit(X, y)
    model.matrix_ = np.asfortranarray(model.matrix_)
    assert back_from_file(model, tmp_path / "calibrator").matrix_.flags.f_contiguous


def test_a_loaded_calibrator_can_be_fitted_and_cloned(tmp_path):
    X, y = two()
    model = BoundedCalibrator(IsotonicCalibrator()).fit(X, y)
    back = back_from_file(model, tmp_path / "calibrator")
    back.class_counts_[:] = [0.5, 0.5]  # its own memory, not that of the file
    same_bits(back.fit(X, y), model, X)


def test_what_goes_along_comes_back_and_load_does_not_look_at_it(tmp_path):
    X, y = two()
    model = IsotonicCalibrator().fit(X, y)
    recipe = {"columns": ["a", "ä"], "fill": {"a": 0.5, "ä": None}, "log": True, "n": 3}
    model.save(tmp_path / "calibrator", extra=recipe)
    same_bits(IsotonicCalibrator.load(tmp_path / "calibrator"), model, X)
    back, extra = load_with_extra(tmp_path / "calibrator")
    same_estimator(back, model)
    assert extra == recipe
    model.save(tmp_path / "calibrator")
    assert load_with_extra(tmp_path / "calibrator")[1] is None


@pytest.mark.parametrize(
    "extra", [[1], {1: 2}, {"a": [{"b": np.int64(1)}]}, {"a": (1, 2)}, {"a": float("nan")}], ids=str
)
def test_what_json_cannot_hold_does_not_go_along(extra, tmp_path):
    model = IsotonicCalibrator().fit(*two())
    with pytest.raises(InputError, match="extra must be a dict of text, finite numbers"):
        model.save(tmp_path / "calibrator", extra=extra)
    assert not list(tmp_path.iterdir())


class Subclass(AffineCalibrator):
    """Not of deciban."""


def test_what_cannot_be_saved_is_refused_in_a_sentence(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = two()
    path = tmp_path / "calibrator"
    with pytest.raises(NotFittedError):
        AffineCalibrator().save(path)
    half = IsotonicCalibrator()
    with contextlib.suppress(InputError):
        half.fit(*three())
    with pytest.raises(NotFittedError):
        half.save(path)
    with pytest.raises(InputError, match=r"to be saved; got Subclass"):
        Subclass().fit(X, y).save(path)
    with pytest.raises(InputError, match=r"to be saved; got Subclass"):
        BoundedCalibrator(Subclass()).fit(X, y).save(path)
    with pytest.raises(InputError, match=r"prior must be text, numbers, .*; got Series. Convert"):
        AffineCalibrator(prior=pd.Series([0.5, 0.5])).fit(X, y).save(path)
    model = AffineCalibrator(prior=np.array([0.5, 0.5], dtype=np.longdouble)).fit(X, y)
    with pytest.raises(InputError, match=r"prior must be text, .*; got an array of"):
        model.save(path)
    model = AffineCalibrator().fit(X, y)
    model.classes_ = np.array([("a",), ("b",)], dtype=[("name", "U1")]).astype(object)
    with pytest.raises(InputError, match="classes_ must be text, numbers or truth values"):
        model.save(path)
    model.classes_ = np.array(["a", "b" * 500_000])
    with pytest.raises(InputError, match="classes_ must be of at most 10,000 characters each"):
        model.save(path)
    assert not path.exists()


# --- files that are not whole ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def bounded():
    return BoundedCalibrator(IsotonicCalibrator()).fit(*two(50))


def test_broken_files_are_refused(bounded, tmp_path):
    path, broken = tmp_path / "calibrator", tmp_path / "broken"
    bounded.save(path)
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
        for load in (BoundedCalibrator.load, load_with_extra):
            with pytest.raises(InputError):
                load(broken)


def test_edited_files_are_refused(bounded, tmp_path):
    path = tmp_path / "calibrator"
    bounded.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'\\"misleading\\": 1.0', b'\\"misleading\\": 2.0'))
    assert path.read_bytes() != whole
    with pytest.raises(InputError, match="calibrator was damaged or edited"):
        BoundedCalibrator.load(path)
    size = struct.unpack("<Q", whole[:8])[0]
    header = json.loads(whole[8 : 8 + size])
    del header["__metadata__"]["sha256"]
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + whole[8 + size :])
    with pytest.raises(InputError, match="calibrator was damaged or edited"):
        load_with_extra(path)


def test_other_kinds_and_newer_files_are_refused(bounded, tmp_path):
    bounded.save(tmp_path / "bounded")
    with pytest.raises(InputError, match="hold an AffineCalibrator; it holds a BoundedCal"):
        AffineCalibrator.load(tmp_path / "bounded")
    files.write_arrays(tmp_path / "other", "checkpoint", {}, {})
    with pytest.raises(InputError, match="hold a model or a calibrator; it holds a checkpoint"):
        load_with_extra(tmp_path / "other")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_VERSION", 9)
        bounded.save(tmp_path / "newer")
    for load in (BoundedCalibrator.load, load_with_extra):
        with pytest.raises(InputError, match=r"must have format 1; it has format 9\. Update"):
            load(tmp_path / "newer")
        with pytest.raises(InputError, match="none not found"):
            load(tmp_path / "none")
    (tmp_path / "text").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="Cannot read text as a deciban file"):
        load_with_extra(tmp_path / "text")
    files.write_arrays(tmp_path / "extra", "IsotonicCalibrator", {}, {"extra": [1]})
    with pytest.raises(InputError, match="the extra of extra must be named data"):
        load_with_extra(tmp_path / "extra")


def at(*keys):
    """A change of one place in the plain data of a file."""

    def change(plain, value):
        for key in keys[:-1]:
            plain = plain[key]
        plain[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "value"),
    [
        (at("estimator"), "IsotonicCalibrator"),
        (at("state"), None),
        (at("state"), {}),
        (at("state", "more"), 1),
        (at("state", "bounds_"), None),
        (at("state", "bounds_"), {"array": "class_counts_"}),
        (at("state", "bounds_"), {"array": "none"}),
        (at("state", "bounds_"), {"array": ["bounds_"]}),
        (at("state", "bounds_"), {"class": "Popen", "parts": {"args": "true"}}),
        (at("state", "bounds_"), {"estimator": "Pipeline", "parameters": {}, "state": None}),
        (at("state", "class_counts_"), {"array": "negative"}),
        (at("state", "n_features_in_"), 10**12),
        (at("state", "n_features_in_"), True),
        (at("state", "n_features_in_"), {"number": "inf"}),
        (at("state", "classes_"), {"labels": ["a", "a"], "type": "str"}),
        (at("state", "classes_"), {"labels": ["a", "b"], "type": "str"}),
        (at("state", "classes_"), {"labels": ["a", "b"], "type": "U999999999"}),
        (at("state", "classes_"), {"labels": ["a", ["b"]], "type": "object"}),
        (at("state", "classes_"), [0, 1]),
        (at("state", "classes_"), {"tuple": 3}),
        (at("state", "feature_names_in_"), ["a", "b"]),
        (at("state", "feature_names_in_"), [1]),
        (at("state", "_reader", "parts", "fuse"), 3),
        (at("state", "_reader", "parts", "more"), 3),
        (at("state", "_reader", "parts", "fusion"), [1]),
        (at("state", "calibrator_", "state"), None),
        (at("state", "calibrator_", "state", "n_features_in_"), 1),
        (at("state", "calibrator_", "state", "blocks_"), {"number": "nan"}),
        (at("state", "calibrator_", "state", "blocks_", "parts", "low"), {"array": "bounds_"}),
        (at("parameters", "more"), 1),
        (at("parameters"), 1),
        (at("parameters", "prior"), {"mapping": [[{"mapping": []}, 1]]}),
    ],
)
def test_claims_of_sealed_files_are_looked_at(change, value, bounded, tmp_path):
    path = tmp_path / "calibrator"
    bounded.save(path)
    arrays, plain = files.read_arrays(path, ["BoundedCalibrator"])
    change(plain, value)
    files.write_arrays(path, plain["kind"], arrays | {"negative": -arrays["class_counts_"]}, plain)
    with pytest.raises(InputError, match="Cannot load calibrator: a part is missing"):
        load_with_extra(path)


def test_nan_and_three_classes_of_two_are_refused(tmp_path):
    path = tmp_path / "calibrator"
    model = GaussianCalibrator().fit(*three())
    model.means_[0, 0] = np.nan
    model.save(path)
    with pytest.raises(InputError, match="means_ holds NaN"):
        GaussianCalibrator.load(path)
    model = IsotonicCalibrator().fit(*two())
    model.classes_, model.class_counts_ = np.arange(3), np.ones(3)
    model._reader.classes, model.n_features_in_ = (0, 1, 2), 3
    model.save(path)
    with pytest.raises(InputError, match=r"\(3 classes\)"):
        IsotonicCalibrator.load(path)
    model.n_features_in_ = 1
    model.save(path)
    with pytest.raises(InputError, match="1 scores of 3 classes"):
        IsotonicCalibrator.load(path)


def test_numbers_that_json_does_not_have_come_back():
    encoder = coding.Encoder(lambda *_: None)
    value = {"a": [np.inf, -np.inf, 1.5], 2: (None, True, np.int16(3)), "c": {"d": "é"}}
    text = json.dumps(encoder(value, "value"), allow_nan=False)
    back = coding.Decoder(encoder.arrays, lambda *_: None)(json.loads(text))
    assert back == value
    assert type(back[2][2]) is np.int16


# --- calibrated classifiers -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"estimator": LinearDiscriminant(shrinkage=0.1), "cv": 3, "n_jobs": 1},
        {"estimator": LinearDiscriminant(), "calibrator": GaussianCalibrator(), "cv": 3},
        {"estimator": "logits", "calibrator": BoundedCalibrator()},
    ],
    ids=str,
)
def test_a_classifier_with_an_estimator_of_deciban_is_the_same(options, tmp_path):
    X, y = three(50)
    y = np.array(["a", "b", "c"])[y]
    model = CalibratedEvidenceClassifier(**options).fit(X, y)
    model.save(tmp_path / "model", extra={"n": 1})
    back, extra = load_with_extra(tmp_path / "model")
    assert extra == {"n": 1}
    assert type(back) is CalibratedEvidenceClassifier
    assert str(back.get_params()) == str(model.get_params())
    assert set(vars(back)) == set(vars(model))
    for method in ("predict_proba", "predict"):
        np.testing.assert_array_equal(getattr(back, method)(X), getattr(model, method)(X))


def test_a_classifier_of_another_library_is_not_saved(tmp_path):
    model = CalibratedEvidenceClassifier().fit(*three(20))
    with pytest.raises(InputError, match=r"to be saved; got LogisticRegression\. Keep it"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_an_estimator_fitted_elsewhere_comes_back_fitted(tmp_path):
    X, y = three(50)
    elsewhere = LinearDiscriminant().fit(*three(50, rng=1))
    model = CalibratedEvidenceClassifier(elsewhere, cv="prefit").fit(X, y)
    model.save(tmp_path / "model")
    back, _ = load_with_extra(tmp_path / "model")
    assert back.estimator is back.estimator_
    ours, theirs = back.fit(X, y).evidence(X), model.evidence(X)
    assert ours.log_likelihoods.tobytes() == theirs.log_likelihoods.tobytes()


def test_a_splitter_is_not_saved_and_another_value_of_cv_is(tmp_path):
    X, y = three(20)
    model = CalibratedEvidenceClassifier(LinearDiscriminant(), cv=StratifiedKFold(3)).fit(X, y)
    with pytest.raises(InputError, match=r"cv must be .*; got StratifiedKFold\. .* set_params"):
        model.save(tmp_path / "model")
    model.set_params(cv=3).save(tmp_path / "model")
    back, _ = load_with_extra(tmp_path / "model")
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
