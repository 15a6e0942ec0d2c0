"""Errors carry their data, also from one process to another."""

import pickle

import pytest

from deciban import exceptions as ex


@pytest.mark.parametrize(
    "error",
    [
        ex.InputError("x must be positive", rows=range(9)),
        ex.CromwellError("prior must be positive", classes=["a"]),
        ex.UnknownClassError("class must be known", label=1, classes=(2, 3)),
        ex.NotPositiveDefiniteError("covariance must be positive", smallest_eigenvalue=-1.0),
        ex.TableError("must hold numbers", file="t.csv", column="llr", rows=[3]),
        ex.MissingExtraError("polars must be installed", extra="frame"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_keep_their_words_and_their_data_when_pickled(error):
    twin = pickle.loads(pickle.dumps(error))
    assert str(twin) == str(error)
    assert vars(twin) == vars(error)
    assert isinstance(twin, ex.DecibanError)


def test_an_error_names_five_rows_at_most():
    assert ex.InputError("x must be positive", rows=range(9)).rows == (0, 1, 2, 3, 4)
