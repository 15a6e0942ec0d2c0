"""Fits to samples that are read in batches: the same model, in little memory."""

import os
import subprocess
import sys
from itertools import pairwise

import jax
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deciban
from commands import runner
from deciban._estimation.samples import Samples
from deciban.discriminant import Batches, batches, fitting
from deciban.discriminant import cda as cda_module
from deciban.discriminant.initialization import Totals, class_moments
from deciban.discriminant.runs import Checkpoint
from deciban.discriminant.survey import Shuffle
from deciban.exceptions import InputError, InterruptedFitWarning
from deciban.metrics import cross_entropy

CDA = cda_module.CompositionalDiscriminantAnalysis
SMALL = {
    "n_couplings": 1, "width": 8, "epochs": 2, "random_state": 0, "options": {"batch_size": 1024},
}  # fmt: skip
cli = runner(200)


def draw(n, seed=0):
    """Three classes that differ in place and spread; a long tail, and a rare class."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.002, 2, rng.integers(2, size=n))
    X = rng.normal(size=(n, 3)) * (1 + y[:, None])
    X[:, 0] += 2 * y
    X[:, 2] = np.exp(X[:, 2])
    return X, y


X, Y = draw(24_000)


def in_batches(size=5_000):
    for k in range(0, len(X), size):
        yield X[k : k + size], Y[k : k + size]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The samples in two Parquet files, the classes one after the other."""
    folder = tmp_path_factory.mktemp("parquet")
    order = np.argsort(Y, kind="stable")
    frame = pl.DataFrame(X[order], schema=["a", "b", "c"]).with_columns(
        truth=pl.Series(Y[order]), weight=1.0
    )
    frame[:7_000].write_parquet(folder / "1.parquet", row_group_size=2_000)
    frame[7_000:].write_parquet(folder / "2.parquet")
    return folder


def test_batches_train_as_good_a_model_as_samples_in_memory(folder):
    X_new, y_new = draw(20_000, seed=1)

    def loss(model):
        new = pl.DataFrame(X_new, schema=["a", "b", "c"]) if model is stored else X_new
        return cross_entropy(y_new, model.evidence(new).log_likelihoods)

    one = CDA(**SMALL).fit(X, Y)
    called, once = CDA(**SMALL).fit(Batches(in_batches)), CDA(**SMALL).fit(Batches(in_batches()))
    files = Batches.from_parquet(folder, "truth", features=["a", "b", "c"], weight="weight")
    stored = CDA(**SMALL).fit(files)
    assert loss(called) == loss(once)
    for model in (called, stored):
        assert loss(model) == pytest.approx(loss(one), abs=0.01)
        np.testing.assert_array_equal(model.class_counts_, one.class_counts_)
        for part in ("mean", "scale"):
            found, want = (getattr(m._preparation.whitening, part) for m in (model, one))
            np.testing.assert_allclose(found, want, rtol=0.1, atol=0.05)
    assert stored.feature_names_in_.tolist() == ["a", "b", "c"]
    assert len(stored.history_) == 2


@given(st.lists(st.integers(0, 60), max_size=4), st.integers(0, 1000))
def test_moments_do_not_depend_on_the_parts(cuts, seed):
    rng = np.random.default_rng(seed)
    X = 1e6 + rng.normal(size=(60, 2)) * [1.0, 1e-3]
    samples = Samples(X, np.r_[:3, rng.integers(3, size=57)], rng.uniform(0.5, 2, 60))
    totals = Totals(3, X[0], np.ptp(X, axis=0))
    ends = [0, *sorted(cuts), 60]
    for start, stop in pairwise(ends):
        totals.add(samples.at(np.arange(start, stop)))
    for found, want in zip(totals.moments(), class_moments(samples, 3), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-9)


@given(st.integers(1, 200), st.integers(1, 7), st.integers(0, 1000))
def test_a_shuffle_gives_each_sample_once_but_for_the_last_few(n, size, seed):
    values = np.arange(n)
    stream = ((values[k : k + 9], -values[k : k + 9]) for k in range(0, n, 9))
    shuffle = Shuffle(size, row_bytes=8, memory=16 * max(20, 2 * size))
    chunks = list(shuffle(stream, np.random.default_rng(seed)))
    seen = np.concatenate([np.zeros(0), *(chunk[0] for chunk in chunks)])
    assert len(seen) == n // size * size
    assert len(np.unique(seen)) == len(seen)
    assert all((a == -b).all() for a, b in chunks)


def test_parts_of_files_are_all_of_their_rows_and_held_out_rows_are_not_read(folder):
    files = Batches.from_parquet(folder, "truth", memory=2**24)
    left_out = np.arange(0, 24_000, 7)
    rest, rng = files.without(left_out), np.random.default_rng
    rows = [piece.rows for k in range(4) for piece in rest.read(rng(3), k, 4)]
    np.testing.assert_array_equal(
        np.sort(np.concatenate(rows)), np.setdiff1d(np.arange(24_000), left_out)
    )
    aside, all_rows = files.read_rows(left_out), np.concatenate([p.y for p in files.read()])
    np.testing.assert_array_equal(aside.y, all_rows[left_out])
    first = next(iter(files.read(rng(0))))
    np.testing.assert_array_equal(first.y, all_rows[first.rows])


@pytest.mark.slow
def test_a_fit_that_was_interrupted_in_the_middle_of_a_pass_goes_on(folder, tmp_path, monkeypatch):
    class Interrupting(Checkpoint):
        def save(self, state, force=False):
            super().save(state, force=True)
            if state.epoch == 3 and not force:
                raise KeyboardInterrupt

    def fit(checkpoint):
        files = Batches.from_parquet(folder, "truth", memory=2**24)
        return CDA(**SMALL | {"options": {"batch_size": 64}}, checkpoint=checkpoint).fit(files)

    monkeypatch.setattr(batches, "_MOST_ROWS", 512)
    monkeypatch.setattr(fitting, "_STEPS_OF_A_PART", 120)
    with monkeypatch.context() as patch:
        patch.setattr(cda_module, "Checkpoint", Interrupting)
        with pytest.warns(InterruptedFitWarning, match="after 3 of 4"):  # two for each pass
            fit(tmp_path / "half")
    again, whole = fit(tmp_path / "half"), fit(None)
    assert len(again.history_) == 4
    for a, b in zip(*map(jax.tree.leaves, (again._params, whole._params)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_categories_and_gaps_of_any_batch_are_known():
    n = 21_000
    X, y = draw(n)
    site = np.repeat(["north", "east", "south"], n // 3)
    X[n - 30 : n - 15, 1] = np.nan  # enough for a feature, but hardly any in a sample
    X[5, 2] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        site=site, day=pd.Timestamp("2026-01-01")
    )
    parts = [(frame[k : k + 7_000], y[k : k + 7_000]) for k in range(0, n, 7_000)]
    cda = CDA(**SMALL | {"epochs": 1}).fit(Batches(parts))
    names = ["a", "b", "c", "day", "site=north", "site=south", "b missing"]
    assert cda.columns_.features == names
    assert sorted(cda.columns_.gaps) == [1, 2]
    assert cda.evidence(frame[-20:]).log_likelihoods.shape == (20, 3)


def test_few_samples_in_batches_are_fitted_as_in_memory():
    options = SMALL | {"epochs": 3, "options": {"batch_size": 64}}
    parts = [(X[:200], Y[:200], np.ones(200)), (X[200:400], Y[200:400], np.ones(200))]
    one, other = CDA(**options).fit(Batches(parts)), CDA(**options).fit(X[:400], Y[:400])
    for a, b in zip(*map(jax.tree.leaves, (one._params, other._params)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (lambda: [X], r"A batch must be \(X, y\)"),
        (lambda: [(X, Y[:5])], "as many labels and weights as samples; got 24000 samples and 5"),
        (list, "batches must hold samples; there are none"),
        ([(X[:9], Y[:9], np.zeros(9))], "sample_weight must be positive"),
        ([(X[:9], Y[:9]), (X[:9, :2], Y[:9])], "X has 2 features"),
        (
            [(pd.DataFrame({"a": X[:9, 0]}), Y[:9]), (pd.DataFrame({"b": X[:9, 0]}), Y[:9])],
            "all batches must have the same columns in the same order; one lacks 'a'",
        ),
        (
            [
                (pd.DataFrame({"a": ["x", "y"]}), [0, 1]),
                (pd.DataFrame({"a": [True, False]}), [0, 1]),
            ],
            "all batches must hold the same in 'a'; got text or categories and truth values",
        ),
    ],
)
def test_batches_that_do_not_fit_are_refused(source, message):
    with pytest.raises(ValueError, match=message):
        CDA(**SMALL).fit(Batches(source))


def test_batches_that_end_after_the_first_passes_are_refused():
    passes = []

    def draw_less_and_less():
        passes.append(1)
        return in_batches() if len(passes) < 4 else iter([])

    with pytest.raises(InputError, match="the same samples in each pass; a later pass had hardly"):
        CDA(**SMALL).fit(Batches(draw_less_and_less))


def test_files_and_arguments_that_do_not_fit_are_refused(folder, tmp_path):
    with pytest.raises(InputError, match="must be a function that yields batches, or an iterable"):
        Batches(5)
    with pytest.raises(InputError, match="Pass y and sample_weight inside the batches"):
        CDA(**SMALL).fit(Batches(in_batches), Y)
    with pytest.raises(InputError, match=r"none\.\* not found: no Parquet file"):
        Batches.from_parquet(tmp_path / "none.*", "truth")
    with pytest.raises(InputError, match=r"1\.parquet lacks 'class'"):
        Batches.from_parquet(folder, "class")
    (tmp_path / "half.parquet").write_bytes((folder / "1.parquet").read_bytes()[:500])
    with pytest.raises(InputError, match=r"Cannot read .*half\.parquet as Parquet"):
        Batches.from_parquet(tmp_path, "truth")
    with pytest.raises(InputError, match="memory must be at least"):
        CDA(**SMALL | {"options": {"batch_size": 20_000}, "n_estimators": 2}).fit(
            Batches([(np.tile(X, (1, 40)), Y)], memory=2**24)
        )


def test_the_command_line_fits_to_a_pattern_of_files(folder, tmp_path):
    output = tmp_path / "model"
    options = "--label", "truth", "--ignore", "weight", "--epochs", 1, "-o", output
    said = cli("fit", f"{folder}/*.parquet", *options, "--validation", 0.1).output
    assert "from 21,600 rows of" in said
    assert "Features: a, b, c" in said
    assert deciban.load(output).classes_.tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="--model lda needs a table read at once"):
        cli("fit", folder, "--label", "truth", "--model", "lda", "-o", tmp_path / "other")
    with pytest.raises(InputError, match="--memory must be a positive number of GB; got 0"):
        cli("fit", folder, *options, "--force", "--memory", 0)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["x", "y", None], "truth in .*b.parquet must have no empty cells; row 3 has one"),
        (["x", "x", "x"], "truth in .*few has one class"),
    ],
)
def test_labels_are_looked_at_in_all_files_before_the_fit(labels, said, tmp_path):
    folder = tmp_path / "few"
    folder.mkdir()
    for name, some in {"a": ["x", "x"], "b": labels, "empty": []}.items():
        table = pl.DataFrame({"f": [1.0] * len(some), "truth": some}, {"f": float, "truth": str})
        table.write_parquet(folder / f"{name}.parquet")
    with pytest.raises(InputError, match=said):
        cli("fit", folder, "--label", "truth", "-o", tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["few"]


def test_a_fit_without_epochs_is_refused_in_the_words_of_the_command(folder, tmp_path):
    with pytest.raises(InputError, match="--epochs must be 1 or more; got 0"):
        cli("fit", folder, "--label", "truth", "--epochs", 0, "-o", tmp_path / "model")


MEMORY = """
import resource, sys
import numpy as np, polars as pl
from deciban.discriminant import Batches, CompositionalDiscriminantAnalysis as CDA

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

folder, memory = sys.argv[1], int(sys.argv[2])
options = dict(n_couplings=1, width=8, epochs=1, options={"batch_size": 1024}, random_state=0,
               residual_couplings=0)
CDA(**options).fit(Batches.from_parquet(folder + "/0.parquet", "y", memory=memory))
before = peak()
CDA(**options).fit(Batches.from_parquet(folder, "y", memory=memory))
print(peak() - before)
"""


@pytest.mark.slow
def test_a_data_set_of_several_times_the_memory_is_fitted_within_it(tmp_path):
    rng, n, d, memory = np.random.default_rng(0), 32_000, 40, 2**26
    names = [f"x{k}" for k in range(d)]
    values = pl.DataFrame(rng.normal(size=(n, d)), schema=names)
    frame = values.with_columns(y=pl.Series(rng.integers(2, size=n)))
    for k in range(20):
        frame.write_parquet(tmp_path / f"{k}.parquet", compression="uncompressed")
    assert 20 * values.estimated_size() > 3 * memory
    script = [sys.executable, "-c", MEMORY, str(tmp_path), str(memory)]
    env = os.environ | {"MALLOC_ARENA_MAX": "2"}
    done = subprocess.run(script, capture_output=True, text=True, check=True, env=env)
    assert int(done.stdout) < memory
