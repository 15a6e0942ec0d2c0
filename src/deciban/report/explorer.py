"""The explorer: a page on which a reader moves priors, evidence, costs, divergences and scores."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation.labels import encode_labels, read_labels
from deciban.evidence import SCALES, Evidence
from deciban.exceptions import InputError
from deciban.metrics.labelled import Labelled
from deciban.report.bundle import pack, write_page
from deciban.report.cases import describe_cases
from deciban.report.samples import pack_evidence

_MOST_NUMBERS = 400_000  # of evidence in a page of three megabytes; more samples are thinned
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
    data: dict[str, Any] = {"scale": _scale()}
    if evidence is not None:
        codes = _true_classes(evidence, y_true)
        rows = thin_rows(evidence, max_samples)
        data |= {
            "classes": [str(label) for label in evidence.classes],
            "samples": _pack_samples(evidence, codes, rows),
        }
        if model is not None:
            data["cases"] = describe_cases(model, X, evidence, codes, rows)
    elif y_true is not None:
        raise InputError("y_true must come with evidence; got none. Give both.")
    return write_page("explorer", data, title=title)


def _scale() -> dict[str, Any]:
    scale = SCALES["enfsi"]
    return {
        "cuts": scale.cuts, "words": scale.words, "neutral": scale.neutral, "source": scale.source,
    }  # fmt: skip


def _true_classes(evidence: Evidence, y_true: Any) -> NDArray[np.uint16]:
    if y_true is None:
        return np.full(len(evidence), _UNKNOWN, dtype=np.uint16)
    labels = read_labels(y_true, len(evidence))
    return encode_labels(labels, evidence.classes).astype(np.uint16)


def thin_rows(evidence: Evidence, most: int | None) -> NDArray[np.intp]:
    """Rows chosen at random, which keep the class mix; all of them where there are few."""
    n, D = len(evidence), evidence.n_classes
    if most is None:
        most = max(1, _MOST_NUMBERS // (1 if D == 2 else D))
    if most < 1:
        raise InputError(f"max_samples must be at least 1; got {most}. Leave it out.")
    # Rows at equal steps would miss classes that come in turns.
    every = np.arange(n)
    return every if n <= most else np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def _pack_samples(
    evidence: Evidence, codes: NDArray[np.uint16], rows: NDArray[np.intp]
) -> dict[str, Any]:
    return {
        "truth": pack(codes[rows]),
        "evidence": pack_evidence(Labelled(evidence, codes.astype(np.intp)), rows),
        "rows": pack(rows.astype(np.int32) + 1),
        "total": len(evidence),
    }
