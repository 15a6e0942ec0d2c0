"""Logistic fusion of several systems, with quality measures of each sample."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from deciban._estimation.classifier import over_partitions
from deciban._estimation.linear import Uncertainty, fit_linear, uncertainty
from deciban._estimation.logistic import Design, LogisticCost, Scale, free_entries, unpack
from deciban._estimation.samples import encode_classes, read_samples
from deciban._persistence.registry import register
from deciban._validation.arrays import Floats, column_names, to_numpy
from deciban._validation.labels import align_by_index
from deciban._validation.scalars import (
    is_whole,
    quote,
    quote_each,
    require_one_of,
    require_positive_number,
)
from deciban.calibration.base import Calibrator, require_columns
from deciban.calibration.scores import order_by_class
from deciban.evidence import Evidence
from deciban.evidence.bayes import balance_weights
from deciban.exceptions import InputError
from deciban.metrics.labelled import Labelled, class_sizes
from deciban.simplex import Basis

_EFFECTS = 20.0  # penalty of effects of quality measures, relative to that of weights


@register(
    systems_=tuple, coefficients_="P", uncertainty_=Uncertainty,
    _centers="K k", _spreads="K", _covariates="4 U", _ever_absent=list,
)  # fmt: skip
class FusionCalibrator(Calibrator):
    r"""Evidence from several systems: linear logistic fusion.

    The fused ILRL is :math:`b + \sum_k A_k l_k` for the systems' ILRLs :math:`l_k`; for two
    classes, the fused LLR is a weighted sum of LLRs or scores. With quality measures q of each
    sample, standardized, weights and offset are linear in q: :math:`b + B q + \sum_k (A_k + \sum_j
    q_j C_{kj}) l_k`. This also calibrates one system with scores that mean more on long recordings
    than on short ones.

    Systems that say the same share their weight, so evidence is not counted twice, as in the sum of
    their evidence (``a + b``). If the weights of calibrated systems sum to much less than their
    number, their evidence is not independent.

    Parameters
    ----------
    scale : {"scalar", "diagonal", "full"}, default "scalar"
        Form of each :math:`A_k`: one factor, one for each ILR coordinate, or a full matrix.
    quality : int or list of str, optional
        Quality measures in X: the number of its last columns, or names of frame columns or mapping
        entries. Their effect is linear: give the logarithm of a duration. New values are clipped to
        the range in ``fit``.
    missing : {"error", "adapt"}, default "error"
        Treatment of NaN in a system's scores. "adapt" makes its absence a quality measure: the
        other weights and the offset change as learned from samples that lack it.
    ridge : float, default 0.01
        Penalty: the sum of squared weights for standardized scores, times ``ridge`` and the number
        of systems and divided by the number of samples per class, is added to the mean
        cross-entropy in nats; effects of quality measures count twenty times. It does not depend on
        the unit of the scores, and vanishes with samples; 0 for none.
    prior : "uniform", "empirical", array of shape (n_classes,) or mapping, default "uniform"
        Weight of each class, and the prior in ``predict_proba``; it is not part of the evidence.

    Attributes
    ----------
    systems_ : tuple of str
    weights_ : array of shape (n_systems,), (n_systems, k) or (n_systems, k, k)
        Factors, diagonals or matrices :math:`A_k` at mean quality, k = n_classes - 1, in the
        Gram-Schmidt basis.
    offset_ : array of shape (n_classes - 1,)
    quality_weights_, quality_offsets_ : arrays of shape (n_measures, ...)
        Change of weights and offset by one standard deviation of each quality measure.

    See Also
    --------
    AffineCalibrator : One system, without quality measures.

    References
    ----------
    Pigeon, Druyts and Verlinde (2000), Applying logistic regression to the fusion of the NIST'99
    1-speaker submissions. Brümmer and de Villiers (2011), The BOSARIS toolkit. Mandasari et al.
    (2013), Quality measure functions for calibration of speaker recognition systems.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 1000)
    >>> a, b = rng.normal(4 * y - 2, 2), rng.normal(2 * y - 1, np.sqrt(2))
    >>> fusion = FusionCalibrator().fit({"voice": a, "face": b}, y)
    >>> fusion.weights_.round()  # independent and calibrated: they add up
    array([1., 1.])
    >>> FusionCalibrator().fit({"a": a, "again": a}, y).weights_.round(1)
    array([0.5, 0.5])
    """

    def __init__(
        self,
        scale: Scale = "scalar",
        *,
        quality: int | Sequence[str] | None = None,
        missing: Literal["error", "adapt"] = "error",
        ridge: float = 0.01,
        prior: Any = "uniform",
    ) -> None:
        self.scale = scale
        self.quality = quality
        self.missing = missing
        self.ridge = ridge
        self.prior = prior

    @property
    def weights_(self) -> Floats:
        """Weight of each system at mean quality."""
        return self._unpack()[0][0]

    @property
    def quality_weights_(self) -> Floats:
        """Change of each weight by one standard deviation of each measure."""
        return self._unpack()[0][1:]

    @property
    def offset_(self) -> Floats:
        """Fused ILRL for zero scores at mean quality."""
        return self._unpack()[1][0]

    @property
    def quality_offsets_(self) -> Floats:
        """Change of the offset by one standard deviation of each measure."""
        return self._unpack()[1][1:]

    @over_partitions
    def evidence(self, X: Any) -> Evidence:
        """Fused evidence over the classes; X is as in :meth:`fit`."""
        return self._fuse(self._design(self._read(X)))

    def _interval(self, X: Any, contrasts: Floats, confidence: float) -> tuple[Floats, Floats]:
        design = self._design(self._read(X))
        along = contrasts @ Basis.gram_schmidt(len(self.classes_)).contrast
        half = self.uncertainty_.half_widths(design, along, self._scale, confidence)
        center = design.ilr(self.coefficients_, self._scale, along.shape[1]) @ along.T
        return center - half, center + half

    def _fuse(self, design: Design) -> Evidence:
        l = design.ilr(self.coefficients_, self._scale, len(self.classes_) - 1)
        return Evidence.from_unbounded_ilr(l, None, self._names())

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> Labelled:
        require_positive_number(self.ridge, "ridge", or_zero=True)
        require_one_of(self.scale, "scale", get_args(Scale))
        require_one_of(self.missing, "missing", ("error", "adapt"))
        X, y, sample_weight = _align(X, y=y, sample_weight=sample_weight)
        named = isinstance(X, Evidence) or _is_mapping(X)
        table, systems = self._stack(X, tuple(encode_classes(y)[0].tolist()) if named else ())
        scores, codes, weight = read_samples(self, table, y, sample_weight, ensure_all_finite=False)
        self.systems_ = systems or self._default_names()
        prior = self.prior_
        share = balance_weights(codes, weight, prior)
        self._standardize(scores, share)
        design, D, sizes = self._design(scores), len(self.classes_), class_sizes(codes, weight)
        V = Basis.gram_schmidt(D).contrast
        cost = LogisticCost(design, codes, share, np.log(prior), V, self._scale, 0.0, 0.0)
        # Systems that are K copies of one then have its penalty, since each has its share.
        strength = self.ridge * D * float(np.sum(prior**2 / sizes)) * len(self.systems_)
        penalty = np.full(cost.n_parameters, strength)
        constant = len(penalty) - cost.n_offsets
        penalty[constant // len(design.covariates) :] *= _EFFECTS
        penalty[constant : constant + D - 1] = 0.0
        cost = replace(cost, ridge=penalty)
        self.coefficients_ = fit_linear(cost)
        self.uncertainty_ = uncertainty(cost, self.coefficients_, sizes)
        return Labelled(self._fuse(design), codes, weight)

    # --- what X holds -----------------------------------------------------------------------

    def _read(self, X: Any) -> Floats:
        """Columns of the systems, one LLR or D log-likelihoods each, then quality measures."""
        check_is_fitted(self)
        return self._validate_scores(self._stack(X, self._names(), self.systems_)[0])

    def _stack(
        self, X: Any, classes: tuple[Hashable, ...], known: tuple[str, ...] = ()
    ) -> tuple[Any, tuple[str, ...]]:
        """A table with the systems first, and their names if X is a mapping."""
        measures = self._quality_names()
        X = {(known or ("system 1",))[0]: X} if isinstance(X, Evidence) else X
        names = tuple(X) if _is_mapping(X) else column_names(X)
        lacking = [name for name in measures if name not in (names or ())]
        if lacking:
            raise InputError(
                f"X must have the quality measures {quote_each(measures)}; it lacks "
                f"{quote_each(lacking)}. Add them, as columns of a frame or entries of a mapping."
            )
        systems: list[Any] = [name for name in names or () if name not in measures]
        (X,) = _align(X)
        if not _is_mapping(X):
            require_columns(X)
            return X[[*systems, *measures]] if measures else X, ()
        extra = [name for name in systems if known and name not in known]
        if extra or not systems:
            raise InputError(
                f"X must hold the systems {quote_each(known)}; got {quote_each(extra)}. Name them "
                f"as in fit, and quality measures in quality."
            )
        systems = list(known) or systems
        n = max((len(value) for value in X.values()), default=0)
        blocks = [_read_block(X.get(name), name, classes, n) for name in systems]
        blocks += [_read_block(X[name], name, (), n) for name in measures]
        return np.concatenate(blocks, axis=1), tuple(map(str, systems))

    def _quality_names(self) -> list[str]:
        return [] if self.quality is None or is_whole(self.quality) else [*self.quality]  # type: ignore[misc]

    @property
    def _n_quality(self) -> int:
        return self.quality if is_whole(self.quality) else len(self._quality_names())

    @property
    def _is_of_classes(self) -> bool:
        """True if each system has an LLR or log-likelihoods of the classes."""
        D = len(self.classes_)
        return D == 2 or (self.n_features_in_ - self._n_quality) % D == 0

    @property
    def _scale(self) -> Scale:
        return self.scale if self._is_of_classes else "diagonal"

    def _default_names(self) -> tuple[str, ...]:
        n, D = self.n_features_in_ - self._n_quality, len(self.classes_)
        if not 0 <= self._n_quality < self.n_features_in_:
            raise InputError(
                f"X must have scores before {self._n_quality} quality measures; got "
                f"{self.n_features_in_} columns. Correct quality."
            )
        if D > 2 and self._is_of_classes:
            return tuple(f"system {j + 1}" for j in range(n // D))
        return tuple(map(str, getattr(self, "feature_names_in_", np.arange(n) + 1)[:n]))

    def _split(self, scores: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """ILRLs of the systems, covariates, and flags for missing systems."""
        V = Basis.gram_schmidt(len(self.classes_)).contrast
        own, quality = np.split(scores, [scores.shape[1] - self._n_quality], axis=1)
        rows = np.flatnonzero(np.isinf(own).any(axis=1) | ~np.isfinite(quality).all(axis=1))
        if rows.size:
            raise InputError(
                f"X must be finite to be fused, and quality measures known; row {rows[0]} has "
                f"infinity, or NaN for a quality measure. Bound or drop it first.",
                rows=rows,
            )
        own = own.reshape(len(own), len(self.systems_), -1)
        absent = np.asarray(np.isnan(own).any(axis=2), dtype=bool)
        own = np.where(absent[:, :, None], 0.0, own)
        if not self._is_of_classes:
            l = own * np.ones(V.shape[1])
        elif len(V) == 2:
            l = own / (V[1] - V[0])
        else:
            l = (own - own.mean(axis=2, keepdims=True)) @ V
        return l, np.column_stack([np.ones(len(own)), quality]), absent

    def _require_known(self, absent: NDArray[np.bool_], known: Collection[int]) -> None:
        """Refuse missing systems that are not ``known`` to be absent, and rows without any."""
        counts = absent.sum(axis=0)
        wrong = [k for k in np.flatnonzero(counts) if k not in known]
        rows = np.flatnonzero(absent.any(axis=1) if wrong else absent.all(axis=1))
        if rows.size:
            each = [f"{quote(self.systems_[k])} in {counts[k]}" for k in wrong]
            raise InputError(
                f"X must have the scores of every system; of {len(absent)} samples there is NaN "
                f"for {', '.join(each) or 'all systems'}, in row {rows[0]} first. Drop these "
                f"samples, or fit with missing='adapt' to samples that lack the same systems.",
                rows=rows,
            )

    # --- the map ----------------------------------------------------------------------------

    def _standardize(self, scores: Floats, share: Floats) -> None:
        l, covariates, absent = self._split(scores)
        self._ever_absent = np.flatnonzero(absent.any(axis=0)).tolist()
        self._require_known(absent, self._ever_absent if self.missing == "adapt" else ())
        present = share[:, None] * ~absent
        present /= present.sum(axis=0)
        self._centers = np.einsum("nk,nkj->kj", present, l)
        self._spreads = np.sqrt(np.sum(present * ((l - self._centers) ** 2).mean(axis=2), axis=0))
        u = np.column_stack([covariates, absent[:, self._ever_absent]])
        mean = share @ u
        spread = np.sqrt(share @ (u - mean) ** 2)
        for size, of in ((np.abs(self._centers).max(axis=1), self._spreads), (mean, spread)):
            of[of <= 1e-12 * np.abs(size)] = 1.0  # constants carry no evidence
        mean[0] = 0.0  # of the constant
        self._covariates = np.stack([mean, spread, u.min(axis=0), u.max(axis=0)])

    def _design(self, scores: Floats) -> Design:
        l, covariates, absent = self._split(scores)
        self._require_known(absent, self._ever_absent)
        l = np.where(absent[:, :, None], 0.0, (l - self._centers) / self._spreads[:, None])
        mean, spread, low, high = self._covariates
        u = np.column_stack([covariates, absent[:, self._ever_absent]])
        u = (np.clip(u, low, high) - mean) / spread
        vectors = np.einsum("nu,nkj->ukjn", u, l)
        return Design(vectors.reshape(-1, l.shape[2], len(l)), u.T)

    def _unpack(self) -> tuple[Floats, Floats]:
        """Weights and offsets at mean quality, each with its changes by the measures."""
        (K, k), U = self._centers.shape, self._covariates.shape[1]
        matrices, offsets = unpack(self.coefficients_, self._scale, K * U, k, U)
        matrices = matrices.reshape(U, K, k, k) / self._spreads[:, None, None]
        offsets = offsets - np.einsum("mkij,kj->mi", matrices, self._centers)
        return free_entries(matrices, self._scale), offsets

    def _finish_loading(self) -> None:
        (K, k), U = self._centers.shape, self._covariates.shape[1]
        free = {"scalar": 1, "diagonal": k, "full": k * k}[self._scale]
        if len(self.coefficients_) != U * (K * free + k):
            raise ValueError("coefficients of other systems")
        if 1 + self._n_quality + len(self._ever_absent) != U or len(self.systems_) != K:
            raise ValueError("other systems or quality measures")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "adapt"
        return tags


def _align(X: Any, **others: Any) -> list[Any]:
    """Match a table, or each entry of a mapping, and other arguments by index."""
    if not _is_mapping(X):
        return align_by_index(X=X, **others)
    named = {f"X[{name!r}]": value for name, value in X.items()}
    aligned = align_by_index(**named, **others)
    return [dict(zip(X, aligned, strict=False)), *aligned[len(X) :]]


def _is_mapping(X: Any) -> bool:
    return isinstance(X, Mapping) and not hasattr(X, "toarray")  # SciPy's sparse dicts


def _read_block(value: Any, name: str, classes: tuple[Hashable, ...], n: int) -> Floats:
    """Columns of one system or quality measure."""
    width = 1 if len(classes) in (0, 2) else len(classes)
    if value is None:  # a system that no sample has
        return np.full((n, width), np.nan)
    block = to_numpy(order_by_class(value, classes) if classes else value, quote(name))
    block = block[:, None] if block.ndim == 1 else block
    if len(classes) == 2 and block.shape[1:] == (2,):
        block = block[:, 1:] - block[:, :1]
    if block.shape != (n, width):
        raise InputError(
            f"{quote(name)} must hold {width} {'number' if width == 1 else 'log-likelihoods'} for "
            f"each of {n} samples; got shape {block.shape}. Give all systems the same samples."
        )
    return block
