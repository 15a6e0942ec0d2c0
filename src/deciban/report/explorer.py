"""The explorer: a page on which a reader moves priors, evidence, costs, divergences and scores."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation.labels import encode_labels, read_labels
from deciban.evidence import SCALES, Evidence
from deciban.exceptions import InputError, UnreachableEvidenceWarning
from deciban.metrics.labelled import Labelled
from deciban.report.bundle import pack, pack_evidence, write_page

_CASES = 300  # samples with neighbors and counterfactuals
_NEIGHBORS = 5
_FEATURES = 40  # columns to show
_MAX_NUMBERS = 400_000  # of evidence in a page of three megabytes; more samples are thinned
_UNKNOWN = 65535  # true class of a sample whose class is not known, in explore_cloud.js


def explorer(
    evidence: Evidence | None = None,
    y_true: ArrayLike | Sequence[Hashable] | None = None,
    *,
    title: str = "Explore evidence",
    model: Any = None,
    X: Any = None,
    max_samples: int | None = None,
) -> str:
    """A page to explore evidence with: one HTML file that opens from disk and loads nothing.

    A reader moves priors, costs, evidence and the divergences of a calibrated family, and watches
    posteriors, decisions and costs follow.

    Parameters
    ----------
    evidence : Evidence, optional
        Samples to begin with; without them, a reader may drop a table onto the page.
    y_true : array of shape (n_samples,), optional
        Their true classes; without them the page shows no figures that need the truth.
    title : str, default "Explore evidence"
        Title of the page.
    model : discriminant, optional
        A fitted linear, quadratic or compositional discriminant, for neighbors and counterfactuals
        of the first few hundred rows of ``X``. Without ``evidence``, the model gives it.
    X : array or frame of shape (n_samples, n_features), optional
        The features of the samples; needed with a model, and only then.
    max_samples : int, default as many as fit into three megabytes
        Of more samples, so many are chosen at random, and the page says so.

    Returns
    -------
    str
        HTML.

    See Also
    --------
    report : A page of figures, numbers and verdicts.
    deciban.Evidence : What is explored.

    Examples
    --------
    >>> page = explorer(Evidence.from_llr([1.0, -2.0]), [1, 0])
    >>> page[:15]
    '<!doctype html>'
    """
    if (model is None) != (X is None):
        raise InputError("model and X must come together; got one of them. Give both, or none.")
    if evidence is None and model is not None:
        evidence = model.evidence(X)
    scale = SCALES["enfsi"]
    data: dict[str, Any] = {
        "scale": {name: getattr(scale, name) for name in ("cuts", "words", "neutral", "source")}
    }
    if evidence is not None:
        codes = np.full(len(evidence), _UNKNOWN)
        if y_true is not None:
            codes = encode_labels(read_labels(y_true, len(evidence)), evidence.classes)
        rows = _thin_rows(evidence, max_samples)
        data["classes"] = [str(label) for label in evidence.classes]
        data["samples"] = {
            "truth": pack(codes[rows].astype(np.uint16)),
            "evidence": pack_evidence(Labelled(evidence, codes), rows),
            "rows": pack(rows.astype(np.int32) + 1),
            "total": len(evidence),
        }
        if model is not None:
            data["cases"] = _describe_cases(model, X, evidence, rows)
    elif y_true is not None:
        raise InputError("y_true must come with evidence; got none. Give both.")
    return write_page("explorer", data, title=title)


def _thin_rows(evidence: Evidence, most: int | None) -> NDArray[np.intp]:
    """Rows chosen at random, which keep the class mix; all of them where there are few."""
    n, D = len(evidence), evidence.n_classes
    if most is None:
        most = max(1, _MAX_NUMBERS // (1 if D == 2 else D))
    if most < 1:
        raise InputError(f"max_samples must be at least 1; got {most}. Leave it out.")
    # Rows at equal steps would miss classes that come in turns.
    every = np.arange(n)
    return every if n <= most else np.sort(np.random.default_rng(0).choice(n, most, replace=False))


# --- neighbors and counterfactuals by a model ---------------------------------------------


def _describe_cases(
    model: Any, X: Any, evidence: Evidence, rows: NDArray[np.intp]
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
    chosen = rows[np.unique(np.linspace(0, len(rows) - 1, min(_CASES, len(rows))).astype(np.intp))]
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
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


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
    from sklearn.neighbors import NearestNeighbors  # slow to import

    search = NearestNeighbors(n_neighbors=min(_NEIGHBORS + 1, len(Z))).fit(Z)
    found = zip(own, *search.kneighbors(Z[own]), strict=True)
    return [
        [[int(k), float(f"{d:.4g}")] for d, k in zip(*pair, strict=True) if k != i][:_NEIGHBORS]
        for i, *pair in found
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
