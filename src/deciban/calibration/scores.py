"""Input for calibrators: scores, LLRs for two classes, scores to fuse, a classifier's output."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._estimation.affine import fit_affine
from deciban._estimation.logistic import AffineMap
from deciban._persistence.registry import register_value
from deciban._validation.arrays import Floats, column_names, to_numpy
from deciban._validation.scalars import quote, quote_each, require_one_of
from deciban.evidence import Evidence
from deciban.evidence.bayes import require_probabilities
from deciban.exceptions import InputError
from deciban.simplex import Basis

_METHODS = ("predict_log_proba", "predict_proba", "decision_function")
TABLES = ("probabilities", "log_probabilities", "logits")
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
        _require_same(X.classes, classes)
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
    _require_same(labels, classes)
    order = [labels.index(label) for label in classes]
    return X.iloc[:, order] if hasattr(X, "iloc") else X.select([names[k] for k in order])


def _require_same(labels: Sequence[Hashable], classes: tuple[Hashable, ...]) -> None:
    if len(labels) != len(classes) or {*labels} != {*classes}:
        raise InputError(
            f"X must have one column for each of the classes {quote_each(classes)}; got "
            f"{quote_each(labels)}. Drop or add columns, or use evidence.restrict."
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
    clearly = (rise**2 > _CLEARLY / min(np.bincount(codes)) * np.diag(S)).all()
    if not (np.prod(rise) > 0 and clearly):
        return False
    best = np.linalg.pinv(S, hermitian=True) @ rise
    apart = (rise[1] - rise[0]) ** 2
    return bool(np.prod(best) > 0 and best @ rise * (S[0, 0] - 2 * S[0, 1] + S[1, 1]) > 2 * apart)


def _require_finite(scores: Floats) -> None:
    if not np.isfinite(scores).all():
        raise InputError("X must be finite to be fused; it has infinity. Drop or bound it first.")


def log_posteriors(
    source: Any, X: Any, classes: tuple[Hashable, ...], response_method: str = "auto"
) -> Floats:
    """Log-posteriors up to a constant per row; -inf for zero."""
    if isinstance(source, str):
        return _from_table(source, X, classes)
    known = tuple(np.asarray(source.classes_).tolist())
    if known != classes:
        raise InputError(
            f"the estimator must know the classes of y, {quote_each(classes)}; it knows "
            f"{quote_each(known)}. Give every class more samples than there are folds, and a "
            f"fitted estimator the classes that it was fitted to."
        )
    require_one_of(response_method, "response_method", ("auto", *_METHODS))
    wanted = _METHODS if response_method == "auto" else (response_method,)
    method = next((name for name in wanted if hasattr(source, name)), None)
    if method is None:
        raise InputError(
            f"estimator must have {' or '.join(wanted)}; {type(source).__name__} does not. "
            f"Choose another classifier."
        )
    with np.errstate(divide="ignore"):  # classifiers take logarithms of zero, too
        response = np.asarray(getattr(source, method)(X), dtype=np.float64)
        if method == "predict_proba":
            return np.log(response)
    steps = getattr(source, "steps", None)  # of a pipeline
    last = steps[-1][1] if steps else source
    pairs = getattr(last, "decision_function_shape", None) == "ovo" and len(classes) > 2
    if response.shape[1:] not in ((), (len(classes),)) or (method == _METHODS[-1] and pairs):
        raise InputError(
            f"{method} must give one column for each of {len(classes)} classes; "
            f"{type(last).__name__} does not. Pass decision_function_shape='ovr', if it has that."
        )
    if response.ndim == 1:  # a decision function of two classes: their log-odds
        return np.column_stack([np.zeros_like(response), response])
    return response


def _from_table(kind: str, X: Any, classes: tuple[Hashable, ...]) -> Floats:
    table = to_numpy(order_by_class(X, classes), "X")
    if table.ndim != 2 or table.shape[1] != len(classes):
        both = "np.column_stack([1 - p, p])" if kind == "probabilities" else "[0, x] for log-odds"
        raise InputError(
            f"X must hold {kind} of {len(classes)} classes, one column each; got shape "
            f"{table.shape}. For two classes give {both}."
        )
    if np.isnan(table).any() or (table == np.inf).any():
        raise InputError("X must not hold NaN or +inf; it does. Drop those samples first.")
    if kind != "probabilities":
        return table
    require_probabilities(table, "X")
    with np.errstate(divide="ignore"):
        return np.log(table)


register_value(AffineMap, matrix="k d", offset="k")
register_value(ScoreReader, classes=tuple, fuse=bool | None, fusion=AffineMap | None)
