"""Input for calibrators: one score per class, LLRs for two classes, or scores to be fused."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._estimation.affine import fit_affine
from deciban._estimation.logistic import AffineMap
from deciban._persistence.registry import register_value
from deciban._validation.arrays import Floats, column_names
from deciban._validation.scalars import quote, quote_each
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.simplex import Basis

_PENALTY = 0.02  # of the squares of weights, for one sample a class
_FEW = 10  # samples of a class below which two columns are taken as they are
_CLEARLY = 20.0  # squared standard errors (of 2 / n) of a difference that is not by chance


class FusionWarning(UserWarning):
    """Columns that are not one per class are fused by logistic regression."""


class ColumnOrderWarning(UserWarning):
    """Columns not named after the classes are taken in class order."""


def order_by_class(X: Any, classes: tuple[Hashable, ...], *, fitting: bool = False) -> Any:
    """Put evidence, or a frame with columns named after the classes, in class order.

    Names are compared as they are, then as text, since polars has text only. Other input is
    returned unchanged.
    """
    if isinstance(X, Evidence):
        _require_same(X.classes, classes, fitting)
        return X.restrict(classes).log_likelihoods
    names = column_names(X) if hasattr(X, "columns") else None
    if names is None or len(names) == 1 or names == tuple(range(len(names))):
        return X  # pandas numbers columns without a name
    by_text = {str(label): label for label in classes}
    labels = [name if name in classes else by_text.get(str(name), name) for name in names]
    if not any(label in classes for label in labels):
        if fitting and len(names) == len(classes):
            warnings.warn(
                f"X should have columns named after the classes {quote_each(classes)}; it has "
                f"{quote_each(names)}. They are taken in the order of the classes.",
                ColumnOrderWarning,
                stacklevel=4,
            )
        return X
    _require_same(labels, classes, fitting)
    order = [labels.index(label) for label in classes]
    return X.iloc[:, order] if hasattr(X, "iloc") else X.select([names[k] for k in order])


def _require_same(labels: Sequence[Hashable], classes: tuple[Hashable, ...], fitting: bool) -> None:
    extra = [label for label in labels if label not in classes]
    if extra and fitting:
        raise InputError(
            f"y must hold every class that X has a column for; it lacks {quote_each(extra)}. "
            f"Add samples of it, or drop its column."
        )
    if extra:
        raise InputError(
            f"X must have columns for the classes {quote_each(classes)} only; got "
            f"{quote_each(extra)}. Drop them, or use evidence.restrict."
        )
    missing = [label for label in classes if label not in labels]
    if missing:
        raise InputError(
            f"X must have a column for every class; it lacks {quote_each(missing)}. Add it."
        )


class ScoreReader:
    """Read a table of scores as evidence, after learning to fuse them if needed."""

    def __init__(
        self, classes: tuple[Hashable, ...], fuse: bool | None, fusion: AffineMap | None = None
    ) -> None:
        if not (fuse is None or isinstance(fuse, bool)):
            raise InputError(f"fuse must be True, False or None; got {quote(fuse)}. Choose one.")
        self.classes, self.fuse, self.fusion = classes, fuse, fusion

    def learn(
        self,
        scores: Floats,
        codes: NDArray[np.intp],
        weight: Floats,
        prior: Floats,
        class_sizes: Floats,
        ridge: float | None = None,
    ) -> ScoreReader:
        """Learn to fuse the columns, unless they are one per class or one LLR.

        ``ridge`` penalizes squared weights of scores with unit spread; the default vanishes with
        samples.
        """
        k, D = scores.shape[1], len(self.classes)
        expected = f"one column for each of {D} classes{' or one LLR' * (D == 2)}"
        warning = ""
        if self.fuse is not True and (k == D or (k == 1 and D == 2)):
            if self.fuse is None and k == 2 and _look_like_two_systems(scores, codes, weight):
                warning = (
                    "X should hold log-likelihoods of the two classes; both columns rise with the "
                    "same class, as scores of two systems do. Use FusionCalibrator for these, or "
                    "pass fuse=False for log-likelihoods."
                )
                warnings.warn(warning, FusionWarning, stacklevel=4)
            return self
        if self.fuse is False:
            raise InputError(f"X must have {expected}; got {k}. Pass fuse=True to fuse scores.")
        if self.fuse is None:
            warning = (
                f"X should have {expected}; got {k}. The columns are taken as scores and fused by "
                f"logistic regression. Pass fuse=True if you mean that."
            )
            warnings.warn(warning, FusionWarning, stacklevel=4)
        _require_finite(scores)
        center = weight @ scores
        spread = np.sqrt(weight @ (scores - center) ** 2)
        spread[spread <= 1e-12 * np.abs(center)] = 1
        V, z = Basis.gram_schmidt(D).contrast, (scores - center) / spread
        if ridge is None:
            ridge = _PENALTY * D * float(np.sum(prior**2 / class_sizes))
        A, b = fit_affine(z, codes, weight, np.log(prior), V, "full", ridge=ridge, is_fusion=True)
        self.fusion = AffineMap(A / spread, b - (A / spread) @ center)
        return self

    def __call__(self, scores: Floats) -> Evidence:
        """Evidence for each row; only unfused scores may be infinite."""
        if self.fusion is not None:
            _require_finite(scores)
            return Evidence.from_unbounded_ilr(self.fusion(scores), None, self.classes)
        if scores.shape[1] == 1:
            return Evidence.from_llr(scores, self.classes[1], self.classes[0])
        return Evidence.from_scores(scores, self.classes)


def _look_like_two_systems(scores: Floats, codes: NDArray[np.intp], weight: Floats) -> bool:
    """True if both columns rise with one class, and separate better added than subtracted.

    Log-likelihoods may both rise with a class with less spread, but then their difference
    separates.
    """
    if not np.isfinite(scores).all() or min(np.bincount(codes)) < _FEW:
        return False
    first, second = (np.average(scores[codes == c], 0, weight[codes == c]) for c in (0, 1))
    within = scores - np.where(codes[:, None] == 0, first, second)
    S = np.cov(within, rowvar=False, aweights=weight)
    rise = second - first
    if not (
        np.prod(rise) > 0 and (rise**2 > _CLEARLY / min(np.bincount(codes)) * np.diag(S)).all()
    ):
        return False
    best = np.linalg.pinv(S, hermitian=True) @ rise
    apart = (rise[1] - rise[0]) ** 2
    return bool(np.prod(best) > 0 and best @ rise * (S[0, 0] - 2 * S[0, 1] + S[1, 1]) > 2 * apart)


def _require_finite(scores: Floats) -> None:
    if not np.isfinite(scores).all():
        raise InputError("X must be finite to be fused; it has infinity. Drop or bound it first.")


register_value(AffineMap, matrix="k d", offset="k")
register_value(ScoreReader, classes=tuple, fuse=bool | None, fusion=AffineMap | None)
