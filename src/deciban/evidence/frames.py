"""Evidence as a table: one row for each sample, one column for each class."""

from __future__ import annotations

import importlib
from collections.abc import Hashable
from typing import Any

import numpy as np

from deciban._validation import quote_each
from deciban.exceptions import InputError, MissingExtraError


def to_polars(log_likelihoods: np.ndarray, classes: tuple[Hashable, ...]) -> Any:
    """A polars frame; its columns are the class labels as text."""
    names = [str(label) for label in classes]
    if len(set(names)) != len(names):
        raise InputError(
            f"classes must be distinct as text to name columns; got {quote_each(classes)}. "
            f"Rename them with evidence.rename."
        )
    polars = _imported("polars")
    return polars.DataFrame({name: log_likelihoods[:, i] for i, name in enumerate(names)})


def to_pandas(log_likelihoods: np.ndarray, classes: tuple[Hashable, ...]) -> Any:
    """A pandas frame; its columns are the class labels."""
    pandas = _imported("pandas")
    columns = pandas.Index(list(classes), tupleize_cols=False)
    return pandas.DataFrame(np.array(log_likelihoods), columns=columns)


def _imported(library: str) -> Any:
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise MissingExtraError(
            f"{library} must be installed to make a frame. Run: pip install 'deciban[frame]'",
            extra="frame",
        ) from error
