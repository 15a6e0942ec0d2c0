"""What calibrators take: one score for each class, LLRs of two classes, or scores to be fused."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np

from deciban._estimation.affine import AffineMap, fit_affine
from deciban._validation import column_names, quote_each
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.simplex import Basis

_RIDGE = 1e-4  # of a fusion, on scores of unit spread: separable classes would ask for infinity


class FusionWarning(UserWarning):
    """Scores that are not one for each class are fused by logistic regression."""


class ColumnOrderWarning(UserWarning):
    """Columns of a frame that are not named after the classes are taken in the classes' order."""


def ordered_by_class(X: Any, classes: tuple[Hashable, ...], *, fitting: bool = False) -> Any:
    """Evidence or a frame that names the classes, with its columns in their order.

    Anything else is returned as it is, in the order of its columns.
    """
    if isinstance(X, Evidence):
        _require_same(X.classes, classes, fitting)
        return X.restrict(classes).log_likelihoods
    names = column_names(X)
    if names is None or not hasattr(X, "columns") or names == tuple(range(len(names))):
        return X  # pandas numbers columns without a name
    named = [_label_named(name, classes) for name in names]
    if all(label is None for label in named) or len(names) == 1:
        if fitting and len(names) == len(classes):
            warnings.warn(
                f"X should have columns named after the classes {quote_each(classes)}; it has "
                f"{quote_each(names)}. They are taken in the order of the classes.",
                ColumnOrderWarning,
                stacklevel=4,
            )
        return X
    labels = [name if label is None else label[0] for name, label in zip(names, named, strict=True)]
    _require_same(labels, classes, fitting)
    order = [labels.index(label) for label in classes]
    return X.iloc[:, order] if hasattr(X, "iloc") else X.select([names[k] for k in order])


def _label_named(name: Any, classes: tuple[Hashable, ...]) -> tuple[Hashable] | None:
    """The class that a column is named after, as it is or as text: polars has text only."""
    if name in classes:
        return (classes[classes.index(name)],)
    return next(((label,) for label in classes if str(label) == str(name)), None)


def _require_same(named: Any, classes: tuple[Hashable, ...], fitting: bool) -> None:
    more = [name for name in named if name not in classes]
    if more and fitting:
        raise InputError(
            f"y must hold every class that X has a column for; it lacks {quote_each(more)}. "
            f"Add samples of it, or drop its column."
        )
    if more:
        raise InputError(
            f"X must have columns for the classes {quote_each(classes)} only; got "
            f"{quote_each(more)}. Drop them, or use evidence.restrict."
        )
    missing = [label for label in classes if label not in named]
    if missing:
        raise InputError(
            f"X must have a column for every class; it lacks {quote_each(missing)}. Add it."
        )


class Reader:
    """Evidence from a table of finite or infinite scores; learns how to fuse them if it must."""

    def __init__(
        self, classes: tuple[Hashable, ...], fuse: bool | None, fusion: AffineMap | None = None
    ) -> None:
        if not (fuse is None or isinstance(fuse, bool)):
            raise InputError(f"fuse must be True, False or None; got {fuse!r}. Choose one.")
        self.classes, self.fuse = classes, fuse
        self.fusion = fusion

    def learn(
        self, scores: np.ndarray, truth: np.ndarray, weight: np.ndarray, prior: np.ndarray
    ) -> Reader:
        """Fuse columns that are to be fused, or are neither one for each class nor one LLR."""
        k, D = scores.shape[1], len(self.classes)
        if self.fuse is not True and (k == D or (k == 1 and D == 2)):
            return self
        wanted = f"one column for each of {D} classes{' or one LLR' * (D == 2)}"
        if self.fuse is False:
            raise InputError(f"X must have {wanted}; got {k}. Pass fuse=True to fuse scores.")
        if self.fuse is None:
            warnings.warn(
                f"X should have {wanted}; got {k}. They are taken for scores and fused by logistic "
                f"regression. Pass fuse=True where that is meant.",
                FusionWarning,
                stacklevel=4,
            )
        _require_finite(scores)
        middle = weight @ scores
        spread = np.sqrt(weight @ (scores - middle) ** 2)
        spread[spread <= 1e-12 * np.abs(middle)] = 1
        V = Basis.gram_schmidt(D).contrast
        A, b = fit_affine(
            (scores - middle) / spread, truth, weight, np.log(prior), V, "full", ridge=_RIDGE
        )
        self.fusion = AffineMap(A / spread, b - (A / spread) @ middle)
        return self

    def __call__(self, scores: np.ndarray) -> Evidence:
        """The evidence of each row."""
        if self.fusion is not None:
            _require_finite(scores)
            return Evidence.from_ilr(self.fusion(scores), classes=self.classes)
        if scores.shape[1] == 1:
            return Evidence.from_llr(scores, self.classes[1], self.classes[0])
        return Evidence._from_scores(scores, self.classes)


def _require_finite(scores: np.ndarray) -> None:
    if not np.isfinite(scores).all():
        raise InputError("X must be finite to be fused; it has infinity. Drop or bound it first.")
