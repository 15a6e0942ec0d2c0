"""What a model says beside the evidence of single samples: neighbors and counterfactuals."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.evidence import Evidence
from deciban.exceptions import InputError, UnreachableEvidenceWarning

_CASES = 300  # samples with neighbors and counterfactuals
_NEIGHBORS = 5
_FEATURES = 40  # columns to show
_CHUNK = 4096  # samples compared at a time


def describe_cases(
    model: Any,
    X: Any,
    evidence: Evidence,
    codes: NDArray[np.uint16],
    rows: NDArray[np.intp],
    most: int = _CASES,
) -> dict[str, Any]:
    """Features, neighbors in base space, and counterfactuals of some of these rows.

    A counterfactual of a class is the sample with the evidence of that class's center and its own
    residual. Rows whose features cannot carry this evidence have none for the class.
    """
    if not all(hasattr(model, name) for name in ("transform", "convert", "classes_")):
        raise InputError(
            f"model must be a discriminant with a base space; got {type(model).__name__}. Give a "
            f"LinearDiscriminant or a CompositionalDiscriminantAnalysis, or leave it out."
        )
    chosen = rows[np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.intp))]
    some = _take(X, chosen)
    names, features = _as_cells(some)
    return {
        "rows": np.searchsorted(rows, chosen),
        "columns": names,
        "features": features,
        "neighbors": _neighbors(model, X, rows, chosen),
        "counterfactuals": [_convert(model, some, label) for label in evidence.classes],
    }


def _take(X: Any, rows: NDArray[np.intp]) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows]


def _as_cells(X: Any) -> tuple[list[str], list[list[Any]]]:
    """Names of the columns and rows of plain values: numbers with six digits, or text."""
    names = getattr(X, "columns", None)
    if names is None:
        names = [f"feature {k + 1}" for k in range(np.shape(X)[1])]
        columns = list(np.asarray(X).T)
    else:
        columns = [X[name] for name in names]
    cells = [[_cell(value) for value in column] for column in columns[:_FEATURES]]
    rows = [list(row) for row in zip(*cells, strict=True)]
    return [str(name) for name in names[:_FEATURES]], rows


def _cell(value: Any) -> Any:
    if isinstance(value, bool | np.bool_ | str):
        return str(value)
    if isinstance(value, int | float | np.number):
        number = float(value)
        return float(f"{number:.6g}") if np.isfinite(number) else None
    return None if value is None else str(value)


def _neighbors(
    model: Any, X: Any, rows: NDArray[np.intp], chosen: NDArray[np.intp]
) -> list[list[list[float]]]:
    """Places among ``rows`` of the nearest samples in base space, each with its distance."""
    Z = np.asarray(model.transform(_take(X, rows)))
    own = np.searchsorted(rows, chosen)
    best = np.full((len(own), _NEIGHBORS), np.inf)
    index = np.full((len(own), _NEIGHBORS), -1)
    for start in range(0, len(rows), _CHUNK):
        block = np.arange(start, min(start + _CHUNK, len(rows)))
        apart = np.linalg.norm(Z[own][:, None, :] - Z[None, block, :], axis=2)
        apart[own[:, None] == block[None, :]] = np.inf
        distances = np.hstack([best, apart])
        places = np.hstack([index, np.broadcast_to(block, apart.shape)])
        order = np.argsort(distances, axis=1, kind="stable")[:, :_NEIGHBORS]
        best = np.take_along_axis(distances, order, axis=1)
        index = np.take_along_axis(places, order, axis=1)
    return [
        [[int(k), float(f"{d:.4g}")] for k, d in zip(*pair, strict=True) if np.isfinite(d)]
        for pair in zip(index, best, strict=True)
    ]


def _convert(model: Any, X: Any, label: Any) -> list[list[Any] | None]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cells: list[list[Any] | None] = list(_as_cells(model.convert(X, label))[1])
    for warning in caught:
        if not isinstance(warning.message, UnreachableEvidenceWarning):
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
            continue
        for row in warning.message.rows:
            cells[row] = None
    return cells
