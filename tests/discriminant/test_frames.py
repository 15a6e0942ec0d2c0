"""Frames in the discriminants: missing values, categories, truth values, dates, and back."""

import datetime
import importlib.util
import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import deciban
from deciban import LinearDiscriminant, QuadraticDiscriminant
from deciban._persistence import files
from deciban.calibration import CalibratedEvidenceClassifier
from deciban.exceptions import InputError, UnseenValueWarning

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pyarrow = importlib.util.find_spec("pyarrow")

UNTRAINED = {"n_couplings": 0, "augment": 0, "epochs": 0, "random_state": 0}
MODELS = [
    LinearDiscriminant(),
    QuadraticDiscriminant(shrinkage=0.1),
    deciban.CompositionalDiscriminantAnalysis(**UNTRAINED),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
with_base = pytest.mark.parametrize("model", MODELS[::2], ids=lambda model: type(model).__name__)
unreachable = pytest.mark.filterwarnings("ignore::deciban.exceptions.UnreachableEvidenceWarning")


def penguins(n=240, seed=0):
    """Birds of three kinds: every type of column, with gaps."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    length = rng.normal(40 + 3 * y, 2)
    length[rng.random(n) < 0.15] = np.nan
    day = np.datetime64("2007-11-01") + rng.integers(60, size=n) + 10 * y
    day = day.astype("datetime64[us]")
    day[:3] = np.datetime64("NaT")
    sex = np.array(["female", "male", None], dtype=object)[rng.integers(3, size=n)]
    size = np.array(["small", "medium", "large"])[np.clip(y + rng.integers(-1, 2, n), 0, 2)]
    frame = pd.DataFrame(
        {
            "length": length,
            "island": pd.Categorical(np.array(["Biscoe", "Dream", "Torgersen"])[
                (y + rng.integers(2, size=n)) % 3]),
            "sex": sex,
            "nests": rng.random(n) < 0.2 + 0.3 * y,
            "day": day,
            "size": pd.Categorical(size, ["small", "medium", "large"], ordered=True),
            "seen": pd.to_datetime(1e15 * rng.random(n), utc=True).tz_convert("Asia/Tokyo"),
        },
        index=[f"bird {k}" for k in range(n)],
    )  # fmt: skip
    return frame, np.array(["Adelie", "Chinstrap", "Gentoo"])[y]


def as_polars(frame):
    columns = {}
    for name, column in frame.items():
        if column.dtype.kind == "M":
            columns[name] = column.to_numpy(dtype="datetime64[us]")
        else:
            columns[name] = column.astype(object).where(column.notna(), None).tolist()
    return pl.DataFrame(columns).with_columns(
        pl.col("day").cast(pl.Date), pl.col("island").cast(pl.Categorical)
    )


X, Y = penguins()
FEATURES = ["length", "nests", "day", "size", "seen", "island=Dream", "island=Torgersen",
            "sex=male", "length missing", "sex missing"]  # fmt: skip


@each_model
def test_a_frame_of_all_types_is_learnt_from_saved_and_read_in_any_order_and_library(
    model, tmp_path
):
    model = clone(model).fit(X, Y)
    assert model.n_features_in_ == 7
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert model.columns_.features == FEATURES
    p = model.predict_proba(X)
    assert np.mean(model.predict(X) == Y) > 0.7
    model.save(tmp_path / "model")
    back = deciban.load(tmp_path / "model")
    other = X[list(X.columns[::-1])].assign(ring=7)
    np.testing.assert_array_equal(back.predict_proba(other), p)
    np.testing.assert_allclose(back.predict_proba(as_polars(X)), p, rtol=1e-9)
    unordered = X.drop(columns="size")  # polars has no ordered categories
    p = clone(model).fit(unordered, Y).predict_proba(X)
    np.testing.assert_allclose(
        clone(model).fit(as_polars(unordered), Y).predict_proba(X), p, rtol=1e-4
    )
    header = json.dumps(files.read_arrays(tmp_path / "model", [type(model).__name__])[1])
    assert "Torgersen" in header


def test_features_are_those_of_scikit_learns_transformers():
    columns = ["length", "island"]
    model = LinearDiscriminant().fit(X[columns], Y)
    numbers = SimpleImputer(strategy="median", add_indicator=True)
    texts = OneHotEncoder(drop="first", sparse_output=False)
    theirs = make_column_transformer((numbers, ["length"]), (texts, ["island"])).fit_transform(X)
    order = [0, 2, 3, 1]  # the indicator is last here
    expected = LinearDiscriminant().fit(theirs[:, order], Y)
    assert model.evidence(X).allclose(expected.evidence(theirs[:, order]))
    pipeline = make_pipeline(make_column_transformer((numbers, ["length"])), LinearDiscriminant())
    np.testing.assert_allclose(
        LinearDiscriminant().fit(X[["length"]], Y).predict_proba(X),
        pipeline.fit(X, Y).predict_proba(X),
    )


@pytest.mark.parametrize("model", MODELS[:2], ids=lambda model: type(model).__name__)
def test_arrays_without_gaps_are_features_as_they_are_and_gaps_are_filled_and_flagged(model):
    rng = np.random.default_rng(1)
    plain = rng.normal(size=(200, 3)) + np.arange(200)[:, None] % 2
    y = np.arange(200) % 2
    gaps = plain.copy()
    gaps[rng.random((200, 3)) < [0.2, 0.02, 0]] = np.nan
    assert clone(model).fit(plain, y).columns_.features == ["x0", "x1", "x2"]
    fitted = clone(model).fit(gaps, y)
    assert fitted.columns_.features == ["x0", "x1", "x2", "x0 missing"]  # too few in x1
    assert fitted.columns_.fill[0] == np.nanmedian(gaps[:, 0])
    filled = np.where(np.isnan(gaps), fitted.columns_.fill, gaps)
    filled = np.column_stack([filled, np.isnan(gaps[:, 0])])
    assert fitted.evidence(gaps).allclose(clone(model).fit(filled, y).evidence(filled))
    one = plain[:1].copy()
    one[0, 2] = np.nan
    with pytest.warns(
        UnseenValueWarning, match="missing values in 'x2', where fit saw none"
    ) as told:
        fitted.evidence(one)
    assert told[0].message.values == {"x2": [None]}


@each_model
@pytest.mark.parametrize(
    "names",
    [[4, 2, 7], [("a", 1), ("a", 2), ("b", 1)], pd.date_range("2020-01-01", periods=3).tolist()],
    ids=["numbers", "tuples", "dates"],
)
def test_columns_whose_names_are_no_text_are_found_by_name_too(model, names, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    frame = pd.DataFrame(rng.normal(size=(90, 3)) + np.eye(3)[y], columns=pd.Index(names))
    model = clone(model).fit(frame, y)
    model.save(tmp_path / "model")
    back = deciban.load(tmp_path / "model")
    np.testing.assert_array_equal(
        back.predict_proba(frame[names[::-1]]), model.predict_proba(frame)
    )
    assert all(isinstance(name, str) for name in back.columns_.features)
    if hasattr(model, "convert"):
        assert back.convert(frame, 1).columns.equals(frame.columns)
    with pytest.raises(InputError, match=r"different names; got .* twice"):
        back.predict(pd.concat([frame, frame.iloc[:, :1]], axis=1))
    with pytest.raises(InputError, match="it lacks"):
        back.predict(frame[names[1:]])


@each_model
def test_unknown_categories_count_as_missing_with_one_warning_that_names_them(model):
    model = clone(model).fit(X, Y)
    new = X.iloc[:4].assign(island=["Dream", "Cormorant", "Cormorant", "Anvers"])
    with pytest.warns(UnseenValueWarning) as told:
        p = model.predict_proba(new)
    assert len(told) == 1
    assert "'Cormorant', 'Anvers' in 'island'. They count as missing." in str(told[0].message)
    assert told[0].message.values == {"island": ["Cormorant", "Anvers"]}
    typical = X["island"].mode()[0]
    same = new.assign(island=["Dream", typical, typical, typical])
    np.testing.assert_array_equal(model.predict_proba(same), p)
    with pytest.warns(UnseenValueWarning, match="'none' in 'sex'"):
        p = model.predict_proba(X.iloc[:4].assign(sex="none"))
    np.testing.assert_array_equal(model.predict_proba(X.iloc[:4].assign(sex=None)), p)


@with_base
def test_the_inverse_gives_the_frame_back(model):
    model = clone(model).fit(X, Y)
    for library, frame in (("pandas", X), ("polars", as_polars(X))):
        model.set_output(transform=library)
        Z = model.transform(frame)
        assert list(Z.columns) == model.get_feature_names_out().tolist()
        back = model.inverse_transform(Z)
        if library == "pandas":
            assert back.index.equals(X.index)
            assert back["nests"].tolist() == X["nests"].tolist()
            assert back["island"].tolist() == X["island"].tolist()
            assert back["size"].tolist() == X["size"].tolist()
            assert back["sex"].isna().equals(X["sex"].isna())
            assert back["length"].isna().equals(X["length"].isna())
            np.testing.assert_allclose(back["length"], X["length"], rtol=1e-4)
            known = X["day"].notna()
            assert back["day"][known].equals(X["day"][known])
            assert not back["day"].isna().any()  # three gaps were not worth a feature
        else:
            assert back["sex"].to_list() == frame["sex"].to_list()
            assert back["nests"].dtype == pl.Boolean


@with_base
@unreachable
def test_frames_that_are_changed_keep_their_library_index_and_types(model):
    model = clone(model).fit(X, Y)
    changed = model.neutralize(X[list(X.columns[::-1])].assign(ring=7))
    assert changed.columns.tolist() == X.columns.tolist()
    assert changed.index.equals(X.index)
    assert changed.dtypes.drop(["seen", "sex"]).equals(X.dtypes.drop(["seen", "sex"]))
    assert str(changed["seen"].dt.tz) == "Asia/Tokyo"
    assert set(changed["sex"].dropna()) <= {"female", "male"}
    assert model.neutralize(X.astype({"nests": "boolean"}))["nests"].dtype == "boolean"
    with_arrow = X.astype({"seen": "timestamp[ns, Asia/Tokyo][pyarrow]"}) if pyarrow else X
    assert model.neutralize(with_arrow)["seen"].equals(changed["seen"])
    frame = as_polars(X)
    converted = model.convert(frame, to="Gentoo")
    assert converted.schema == frame.schema
    assert np.mean(model.predict(converted) == "Gentoo") > 0.95
    samples, classes = model.sample(50, random_state=0)
    assert samples.columns.tolist() == X.columns.tolist()
    assert np.mean(model.predict(samples) == classes) > 0.5
    assert model.interpolate("Adelie", "Gentoo", [0, 1]).shape == (2, 7)


@with_base
def test_numbers_make_up_for_the_evidence_that_rounded_categories_leave(model):
    y = np.arange(300) % 3
    rng = np.random.default_rng(3)
    numbers = (
        rng.normal(size=(4, 300)) + np.array([[0, 2, 0], [0, 0, 2], [1, 0, 0], [0, 0, 0]])[:, y]
    )
    frame = pl.DataFrame(dict(zip("abcd", numbers, strict=True)))
    site = np.array(["north", "south", "east"])[(y + (rng.random(300) < 0.5)) % 3]
    frame = frame.with_columns(pl.Series("site", site), pl.Series("ripe", rng.random(300) < 0.5))
    model = clone(model).fit(frame, y)
    hidden = model.neutralize(frame)  # an UnreachableEvidenceWarning is an error here
    assert np.ptp(model.evidence(hidden).log_likelihoods, axis=1).max() < 0.01
    assert set(hidden["site"]) <= {"north", "south", "east"}
    converted = model.evidence(model.convert(frame, to=2))
    np.testing.assert_allclose(converted.ilr(), np.tile(model.reference_.means[2], (300, 1)),
                               atol=0.01)  # fmt: skip


def test_numbers_of_a_frame_come_back_as_a_frame_and_those_of_an_array_as_an_array():
    numbers = pd.DataFrame({"a": X["length"].fillna(40.0), "b": np.arange(len(X)) % 7 * 1.0})
    model = LinearDiscriminant().fit(numbers, Y)
    hidden = model.neutralize(numbers)
    assert hidden.index.equals(X.index)
    np.testing.assert_allclose(model.evidence(hidden).ilr(), 0, atol=1e-9)
    assert isinstance(model.sample(3, random_state=0)[0], np.ndarray)
    plain = LinearDiscriminant().fit(numbers.to_numpy(), Y)
    np.testing.assert_allclose(plain.neutralize(numbers.to_numpy()), hidden.to_numpy())


def test_categories_of_numbers_intervals_and_objects_are_read_and_come_back():
    rng = np.random.default_rng(2)
    x = rng.normal(size=60)
    frame = pd.DataFrame(
        {
            "deck": pd.Categorical(rng.integers(3, size=60)),
            "bin": pd.cut(x, [-9, -0.5, 0.5, 9]),
            "flag": [None if k % 5 == 0 else bool(k % 2) for k in range(60)],
            "on": [datetime.date(2020, 1, 1 + k % 28) for k in range(60)],
            "whole": pd.array([None if k % 4 == 0 else k for k in range(60)], dtype="Int64"),
            "wait": pd.to_timedelta(rng.random(60), "h"),
            "at": pd.Series(pd.to_datetime(1e15 * rng.random(60), utc=True)).astype(object),
        }
    )
    model = LinearDiscriminant().fit(frame, x > 0)
    assert model.columns_.kinds == {
        0: "category", 1: "ordered", 2: "boolean", 3: "date", 5: "duration", 6: "datetime",
    }  # fmt: skip
    assert model.columns_.categories[0] == [0, 1, 2]
    back = model.columns_.decode(model._read(frame), frame)
    assert back["bin"].equals(frame["bin"])
    assert back["deck"].equals(frame["deck"])
    assert back["flag"].astype(object).where(back["flag"].notna(), None).tolist() == list(
        frame["flag"]
    )
    assert back["on"].dt.date.tolist() == frame["on"].tolist()
    assert np.abs(back["wait"] - frame["wait"]).max() <= pd.Timedelta("1us")
    plain = frame.assign(deck=frame["deck"].astype(int), flag=frame["flag"].astype("boolean"))
    assert model.evidence(plain).allclose(model.evidence(frame))


@unreachable
def test_categories_that_a_frame_has_no_type_for_come_back_as_text():
    model = LinearDiscriminant().fit(X, Y)
    dream = X[X["island"] == "Dream"].assign(island=pd.Categorical(["Dream"] * 75))
    assert set(model.convert(dream, to="Adelie")["island"]) > {"Biscoe"}
    dream = as_polars(dream).with_columns(pl.col("island").cast(pl.Enum(["Dream"])))
    assert set(model.convert(dream, to="Adelie")["island"]) > {"Biscoe"}


def test_numbers_that_are_rarely_missing_are_filled_by_values_that_speak_for_no_class():
    rng = np.random.default_rng(4)
    y = rng.choice(3, p=[0.7, 0.2, 0.1], size=400)
    numbers = rng.normal(size=(400, 4)) @ rng.normal(size=(4, 4)) + 3 * rng.normal(size=(3, 4))[y]
    model = LinearDiscriminant().fit(numbers, y)
    with pytest.warns(UnseenValueWarning, match="filled in by typical values"):
        nothing = model.evidence(np.full((1, 4), np.nan))
    assert np.ptp(nothing.log_likelihoods) < 1e-6
    median = model.evidence(np.median(numbers, axis=0)[None])
    assert np.ptp(median.log_likelihoods) > 1


def test_columns_with_the_same_gaps_share_a_feature():
    gaps = X[["length"]].assign(depth=X["length"] ** 2, flipper=X["length"] / 3, day=X["day"])
    features = LinearDiscriminant().fit(gaps, Y).columns_.features
    assert features == ["length", "depth", "flipper", "day", "length missing"]


def test_a_calibrated_classifier_and_cross_validation_hand_frames_through(tmp_path):
    many = X.drop(columns="day")
    model = CalibratedEvidenceClassifier(LinearDiscriminant(), cv=3).fit(many, Y)
    model.save(tmp_path / "model")
    other = X[list(X.columns[::-1])]
    np.testing.assert_array_equal(
        deciban.load(tmp_path / "model").predict_proba(other), model.predict_proba(many)
    )
    few = X[["length", "island"]].assign(length=X["length"].fillna(40.0))
    few.iloc[0, 0] = np.nan  # one gap: the folds that leave it out see none
    with pytest.warns(UnseenValueWarning, match="'length'"):
        scores = cross_val_score(LinearDiscriminant(), few, Y, cv=3, error_score="raise")
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"length": "long"}, "must hold numbers in 'length', as in fit; got text"),
        ({"island": 3}, "must hold text or categories in 'island', as in fit; got numbers"),
        ({"day": "May"}, "must hold dates in 'day', as in fit; got text"),
        ({"nests": 0.5}, "must hold truth values in 'nests', as in fit; got numbers"),
        ({"sex": [["a"]] * 9}, "numbers, truth values, dates or text in 'sex'; got 'list'"),
        ({"length": np.inf}, "infinity"),
    ],
)
def test_columns_of_another_type_than_in_fit_are_refused(change, said):
    model = LinearDiscriminant().fit(X, Y)
    with pytest.raises(ValueError, match=said):
        model.evidence(X.iloc[:9].assign(**change))


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (X.assign(name=[f"n{k}" for k in range(240)]), "at most 50 different .* 'name' holds more"),
        (X.assign(none=np.nan), "a value in every column; 'none' holds none"),
        (X.assign(none=None), "a value in every column; 'none' holds none"),
        (pd.concat([X, X[["sex"]]], axis=1), "of different names; got 'sex' twice"),
        (pd.DataFrame({"a": ["x"] * 240}), "must hold different values"),
        (X.assign(mixed=[1, "a"] * 120), "text in 'mixed'; got 'int', 'str'"),
        (pl.DataFrame({"a": [{"b": 1}] * 240}), "text in 'a'; got 'list'"),
        (pl.DataFrame({"a": [datetime.time(7)] * 240}), "text in 'a'; got 'time'"),
        (pl.LazyFrame({"a": [1.0] * 240}), r"Call X\.collect\(\) first"),
        (X["length"].fillna(0.0), "a 2-dimensional container but got"),
    ],
)
def test_frames_that_cannot_be_learnt_from_are_refused(frame, said):
    with pytest.raises(ValueError, match=said):
        LinearDiscriminant().fit(frame, Y)


def test_what_lacks_columns_is_refused_by_name():
    model = LinearDiscriminant().fit(X, Y)
    with pytest.raises(InputError, match=r"it lacks 'sex', 'day'\. Add them"):
        model.predict(X.drop(columns=["day", "sex"]))
    with pytest.raises(InputError, match="a frame with the columns of fit, since 'island' holds"):
        model.predict(np.zeros((1, 7)))
    unnamed = X.set_axis(range(7), axis=1)
    by_place = LinearDiscriminant().fit(unnamed, Y)
    assert by_place.evidence(unnamed).allclose(model.evidence(X))


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("kinds", {"mapping": [[10**9, "boolean"]]}),
        ("categories", {"mapping": [[1, [["Biscoe"]]]]}),
        ("gaps", {"mapping": [["length", 0]]}),
        ("names", {"mapping": []}),
        ("library", 3),
        ("fill", 0.0),
    ],
)
def test_a_file_with_other_columns_than_its_model_has_is_refused(part, value, tmp_path):
    LinearDiscriminant().fit(X, Y).save(tmp_path / "model")
    arrays, plain = files.read_arrays(tmp_path / "model", ["LinearDiscriminant"])
    if part == "fill":
        del arrays[plain["state"]["columns_"]["parts"]["fill"]["array"]]
    plain["state"]["columns_"]["parts"][part] = value
    rest = {name: inner for name, inner in plain.items() if name not in ("kind", "version")}
    files.write_arrays(tmp_path / "edited", "LinearDiscriminant", arrays, rest)
    with pytest.raises(InputError, match="Cannot load "):
        deciban.load(tmp_path / "edited")
