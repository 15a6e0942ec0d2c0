"""The arithmetic and the file of ``benchmarks/tables.py``; its fits take hours."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDS = [
    {"loss": loss, "n": n, "seconds": 1.0}
    for loss, n in zip([1, 2, 3, 4, 5], [2, 2, 2, 2, 4], strict=True)
]


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    yield importlib.import_module("tables")
    sys.modules.pop("tables")


def record(tables, name, fold, **found):
    return dict(zip(tables.KEY, tables.key("iris", name, fold, 0), strict=True)) | found


def test_ranks_and_ratios_are_means_over_tables(tables):
    losses = np.array([[1.0, 2.0, 2.0], [4.0, 1.0, 8.0]])
    assert tables.mean_ranks(losses).tolist() == [1.5, 1.75, 2.75]
    np.testing.assert_allclose(tables.mean_ratios(losses), [2, np.sqrt(2), 4])


def test_a_loss_counts_every_row_once_and_needs_all_folds(tables, tmp_path):
    results = tables.Results(tmp_path / "new" / "results.jsonl")
    for fold, found in enumerate(FOLDS):
        assert np.isnan(results.of("iris", "LDA")[0])
        results.add(record(tables, "LDA", fold, rows=12, **found))
    assert results.of("iris", "LDA") == (pytest.approx(40 / 12), 1.0)


def test_a_later_run_has_all_records_but_those_to_refresh(tables, tmp_path):
    path = tmp_path / "results.jsonl"
    results = tables.Results(path)
    for name in ("LDA", "CDA"):
        results.add(record(tables, name, 0, rows=3000, **FOLDS[0]))
    assert tables.Results(path).records == results.records
    assert [key[1] for key in tables.Results(path, ["CDA"]).records] == ["LDA"]
    assert [key[1] for key in tables.Results(path).records] == ["LDA"]
