"""Same source or not, from features: the two-level model of forensic and speaker work."""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from deciban._estimation.samples import require_numbers
from deciban._persistence.registry import PersistentMixin, register
from deciban._validation.arrays import Floats, is_frame, refuse_rows, to_numpy
from deciban._validation.labels import align_by_index, factorize_labels, read_labels
from deciban._validation.scalars import (
    Rng,
    as_generator,
    quote_each,
    require_fraction,
    require_one_of,
    require_whole,
)
from deciban.discriminant.initialization import FLOOR, shrink
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.same_source.two_level import (
    Rows,
    Sets,
    SourceDensity,
    Sources,
    diagonalize,
    estimate_components,
)

Density = Literal["normal", "kernel", "aitken-lucy"]
Estimator = Literal["corrected", "ml", "moments"]
_ROUNDING = 1e-12  # standard deviation below this share of a feature's size is rounding
_MAX_PAIRS = 10**8  # pairs above which a limit must be given
_AT_ONCE = 1 << 22  # pairs
_FARTHEST = 1e100  # standard deviations within sources; squares of more overflow


@register(
    class_counts_=None, mean_="d", within_="d d", between_="d d", bandwidth_=float,
    log_likelihoods_="t", _source_means="m d", _source_counts="m",
)  # fmt: skip
class SameSourceModel(PersistentMixin, BaseEstimator):  # type: ignore[misc]
    r"""Do two sets of measurements come from the same source? The two-level Gaussian model.

    A measurement is :math:`x = \mu + b + e`; :math:`b \sim N(0, B)` belongs to its source and
    :math:`e \sim N(0, W)` to itself. The likelihood ratio for two sets compares one :math:`b` for
    both with one for each. This is Aitken and Lucy's model for glass and, as two-covariance PLDA,
    the standard model in speaker recognition.

    Parameters
    ----------
    density : {"normal", "kernel", "aitken-lucy"}, default "normal"
        Density of the source means. "kernel" puts a normal density with covariance :math:`h^2 B` at
        each source, drawn towards the mean so that the mixture has covariance B: from the normal
        density (h = 1) to the sources themselves (h = 0). "aitken-lucy" leaves the kernels at the
        sources, as Aitken and Lucy do; the mixture is wider than B.
    estimator : {"corrected", "ml", "moments"}, default "corrected"
        "ml" is maximum likelihood (by EM if sources differ in number of measurements). "corrected"
        multiplies its W by :math:`\nu / (\nu - d - 1)`, for :math:`\nu` more measurements than
        sources: with few, the LLRs would be far too large. "moments" are the unbiased estimates
        from the analysis of variance. Negative variances become zero.
    bandwidth : "silverman" or float, default "silverman"
        The bandwidth h, from 0 to 1, or Silverman's :math:`(4 / ((d + 2) m))^{1 / (d + 4)}` for m
        sources with d features.
    shrinkage : float, default 0
        Shrinkage for W, with features in units of their standard deviation within sources, from 0
        (none) to 1 (a multiple of the identity). Needed if W is singular.

    Attributes
    ----------
    mean_ : array of shape (n_features,)
    within_, between_ : arrays of shape (n_features, n_features)
        The covariances W and B.
    bandwidth_ : float
    log_likelihoods_ : array
        Log-likelihood of the fit, at the start and after each step of EM.
    classes_ : array([0, 1])
        Different sources, the same source.
    n_features_in_ : int

    See Also
    --------
    deciban.same_source.pairs : Pairs of rows to calibrate and judge it on.
    deciban.calibration.AffineCalibrator : Calibrates its LLRs.
    deciban.metrics.bootstrap : Intervals for pairs that share items.

    References
    ----------
    Aitken and Lucy (2004), Evaluation of trace evidence in the form of multivariate data.
    Brümmer and de Villiers (2010), The speaker partitioning problem.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> source = np.repeat(np.arange(200), 5)
    >>> X = rng.normal(size=(200, 2))[source] * 3 + rng.normal(size=(1000, 2))
    >>> model = SameSourceModel().fit(X, source)
    >>> model.llr([[0.0, 0.0], [0.0, 0.0]], [[0.5, 0.5], [4.0, 4.0]]).round(1)
    array([ 1.5, -5.4])
    >>> model.llr([[[0.0, 0.0], [1.0, 1.0]]], [[[0.5, 0.5]]]).round(1)  # two against one
    array([1.9])
    """

    def __init__(
        self,
        *,
        density: Density = "normal",
        estimator: Estimator = "corrected",
        bandwidth: Literal["silverman"] | float = "silverman",
        shrinkage: float = 0.0,
    ) -> None:
        self.density = density
        self.estimator = estimator
        self.bandwidth = bandwidth
        self.shrinkage = shrinkage

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the covariances from measurements with known sources.

        Parameters
        ----------
        X : array of shape (n_measurements, n_features)
        y : array of shape (n_measurements,)
            Sources, as text or numbers; some must have two measurements or more.
        """
        require_one_of(self.density, "density", get_args(Density))
        require_one_of(self.estimator, "estimator", get_args(Estimator))
        require_fraction(self.shrinkage, "shrinkage", inclusive=True, remedy="Give 0 for none.")
        X, codes = self._read_measurements(X, y)
        center = X.mean(axis=0)
        sources = Sources.summarize(X - center, codes)
        sources = sources._replace(scatter=self._shrink(sources, np.abs(X).max(axis=0)))
        estimate, history = estimate_components(sources, unbiased=self.estimator == "moments")
        mean, self.within_, self.between_ = estimate
        m, d = sources.means.shape
        if self.estimator == "corrected":
            free = len(X) - m
            self.within_ *= free / max(free - d - 1, 1)
        self.mean_, self.log_likelihoods_ = center + mean, np.array(history)
        self._source_means, self._source_counts = center + sources.means, sources.counts
        self.bandwidth_ = float((4 / ((d + 2) * m)) ** (1 / (d + 4)))
        if self.bandwidth != "silverman":
            h, remedy = self.bandwidth, "Give 'silverman' for a rule."
            self.bandwidth_ = require_fraction(h, "bandwidth", inclusive=True, remedy=remedy)
        self.classes_ = np.array([0, 1])
        self._finish_loading()
        return self

    def llr(self, left: Any, right: Any) -> Floats:
        """Log-likelihood ratio for one source against two, in nats, for each pair.

        Parameters
        ----------
        left, right : arrays of shape (n, n_features) or (n, k, n_features), or lists of n tables
            n single measurements, or n sets with several measurements from one source each. The
            size of a set counts. A single set is paired with every set on the other side.

        Returns
        -------
        array of shape (n,)
        """
        a, b = self._read_sets(left, "left"), self._read_sets(right, "right")
        n = max(len(a.counts), len(b.counts))
        if {len(a.counts), len(b.counts)} - {1, n}:
            raise InputError(
                f"left and right must have as many sets; got {len(a.counts)} and {len(b.counts)}. "
                f"For all against all, call llr_matrix."
            )
        rows = np.arange(n)
        return self._density.llr(a, b, rows % len(a.counts), rows % len(b.counts))

    def llr_matrix(self, left: Any, right: Any) -> Floats:
        """Log-likelihood ratios as from :meth:`llr` for all pairs, of shape (n_left, n_right)."""
        a, b = self._read_sets(left, "left"), self._read_sets(right, "right")
        return self._density.llr_matrix(a, b)

    def evidence(self, left: Any, right: Any) -> Evidence:
        """Evidence about 0 (different sources) and 1 (same source), as :meth:`llr` takes pairs."""
        return Evidence.from_llr(self.llr(left, right))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _read_measurements(self, X: Any, y: Any) -> tuple[Floats, NDArray[np.intp]]:
        X, y = align_by_index(X=X, y=y)
        require_numbers(X)
        labels = None if y is None else read_labels(y, name="y")
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        names, codes = factorize_labels(y if labels is None else labels)
        if not 1 < len(names) < len(X):
            got = "one source" if len(names) < 2 else "one measurement of each source"
            raise InputError(
                f"y must hold two sources or more, some of them several times; got {got}, "
                f"{quote_each(names, 3)}. Add measurements."
            )
        return X, codes

    def _shrink(self, sources: Sources, size: Floats) -> Floats:
        N, (m, d) = sources.counts.sum(), sources.means.shape
        sd = np.sqrt(np.diag(sources.scatter) / (N - m))
        constant = (sd <= _ROUNDING * size).any()
        unit = np.outer(sd, sd)
        S = np.zeros_like(unit) if constant else sources.scatter / unit
        singular = np.linalg.eigvalsh(S)[0] <= FLOOR * np.trace(S) / d
        if constant or (singular and self.shrinkage == 0):
            raise InputError(
                f"X must vary within sources in each of {d} features, independently of the others; "
                f"it does not in {N:.0f} measurements of {m} sources. Drop features, add repeated "
                f"measurements, or pass shrinkage=0.1."
            )
        if m <= d:
            warnings.warn(
                f"{m} sources are too few for {d} features: LLRs will be too strong. Add sources, "
                f"drop features, or calibrate on pairs of other sources.",
                stacklevel=3,
            )
        return shrink(S, self.shrinkage) * unit

    def _finish_loading(self) -> None:
        learned = self.mean_, self.within_, self.between_, self._source_means
        finite = all(np.isfinite(x).all() for x in learned)
        if not finite or (self._source_counts < 1).any() or not 0 <= self.bandwidth_ <= 1:
            raise ValueError("numbers that are not finite or out of range")
        self._matrix, _, lam = diagonalize(self.within_, self.between_)
        if self.density == "normal":
            self._density = SourceDensity(np.zeros((1, len(lam))), lam)
            return
        centers, h = (self._source_means - self.mean_) @ self._matrix.T, self.bandwidth_
        if self.density == "kernel":
            centers *= np.sqrt((1 - h**2) * lam / (lam + 1 / self._source_counts[:, None]))
        self._density = SourceDensity(centers, h**2 * lam)

    def _read_sets(self, X: Any, name: str) -> Sets:
        check_is_fitted(self)
        for table in X if isinstance(X, list | tuple) else [X]:
            if is_frame(table):
                validate_data(self, table, reset=False, skip_check_array=True)  # names of columns
        rows, counts = _stack(X, name, self.n_features_in_)
        with np.errstate(over="ignore", invalid="ignore"):
            z = (rows - self.mean_) @ self._matrix.T
        refuse_rows(
            ~(np.abs(z) < _FARTHEST).all(axis=1),
            f"{name} must hold finite numbers",
            f"has NaN, infinity or a number beyond {_FARTHEST:g} standard deviations",
            "Drop or correct it.",
        )
        means = np.add.reduceat(z, np.cumsum(counts) - counts) / counts[:, None]
        return Sets(means, counts.astype(np.float64))


def _stack(X: Any, name: str, d: int) -> tuple[Floats, NDArray[np.intp]]:
    """Measurements from several sets, one below the other, and the sizes of the sets."""
    singles = False
    if isinstance(X, list | tuple) and X and all(np.ndim(x) == 2 for x in X):
        tables = [to_numpy(x, name) for x in X]
    else:
        values = to_numpy(X, name)
        singles = values.ndim == 2
        tables = list(values) if values.ndim == 3 else [values]
    if not tables or any(t.ndim != 2 or t.shape[1] != d or not t.size for t in tables):
        got = quote_each(dict.fromkeys(table.shape for table in tables), 3)
        raise InputError(
            f"{name} must be a table with {d} features, or a list of such tables; got shape {got}. "
            f"Give every set one measurement or more."
        )
    counts = np.ones(len(tables[0])) if singles else np.array([len(table) for table in tables])
    return np.concatenate(tables), counts.astype(np.intp)


class Pairs(NamedTuple):
    """Pairs of rows, and whether they come from the same source.

    Attributes
    ----------
    left, right : arrays of int of shape (n_pairs,)
        Rows on either side.
    y_true : array of shape (n_pairs,)
        1 for the same source, else 0.

    See Also
    --------
    pairs : Returns it.

    Examples
    --------
    >>> pairs(["a", "b", "a"]).y_true
    array([1, 0, 0])
    """

    left: Rows
    right: Rows
    y_true: NDArray[np.int_]


def pairs(
    source: ArrayLike, *, apart: ArrayLike | None = None, limit: int | None = None, rng: Rng = None
) -> Pairs:
    """Pairs of rows, same-source pairs first; each pair once, the earlier row on the left.

    Parameters
    ----------
    source : array of shape (n,)
        The source of each row.
    apart : array of shape (n,), optional
        Groups, such as sessions, numbered apart from those of other sources. Rows in one group are
        never paired.
    limit : int, optional
        Largest number of pairs of each kind, drawn without replacement if there are more.
    rng : Generator, int or None

    Returns
    -------
    Pairs

    See Also
    --------
    deciban.SameSourceModel.llr : Compares the rows of each pair.

    Examples
    --------
    >>> left, right, y_true = pairs(["a", "b", "a"])
    >>> left, right, y_true
    (array([0, 0, 1]), array([2, 1, 2]), array([1, 0, 0]))
    """
    source, apart = align_by_index(source=source, apart=apart)
    s = factorize_labels(read_labels(source, name="source"))[1]
    n = len(s)
    g = np.arange(n) if apart is None else factorize_labels(read_labels(apart, n, "apart"))[1]
    limit = None if limit is None else require_whole(limit, "limit", least=1)
    rng, order = as_generator(rng), np.lexsort((g, s))
    s, g = s[order], g[order]
    cell = s * n + g
    cell_end, source_end = (np.searchsorted(x, x, side="right") for x in (cell, s))
    shared = _count_pairs(g) - _count_pairs(cell)  # pairs of two sources in one group
    same = _Candidates("the same source", cell_end, source_end - cell_end, g, 0)
    different = _Candidates("different sources", source_end, n - source_end, g, shared)
    found = [candidates.draw(limit, rng) for candidates in (same, different)]
    p, q = (order[np.concatenate(side)] for side in zip(*found, strict=True))
    y_true = np.repeat([1, 0], [len(left) for left, _ in found])
    return Pairs(np.minimum(p, q), np.maximum(p, q), y_true)


class _Candidates(NamedTuple):
    """Pairs of each position p with counts[p] positions from first[p] on, numbered row by row."""

    kind: str
    first: Rows
    counts: Rows
    group: Rows
    n_forbidden: int  # pairs within one group

    def draw(self, limit: int | None, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """All allowed pairs, or as many as the limit, drawn without replacement."""
        total = int(self.counts.sum())
        available = total - self.n_forbidden
        if not available or (limit is None and available > _MAX_PAIRS):
            remedy = "Give limit=100_000, for instance." if available else "Add rows."
            raise InputError(
                f"source must give from 1 to {_MAX_PAIRS:,} pairs of {self.kind}; it gives "
                f"{available:,}. {remedy}"
            )
        wanted = available if limit is None else min(limit, available)
        ranks = np.empty(0, dtype=np.intp)
        if 2 * wanted > available:  # go through all
            blocks = (np.arange(k, min(k + _AT_ONCE, total)) for k in range(0, total, _AT_ONCE))
            ranks = np.concatenate([self._allowed(block) for block in blocks])
        while len(ranks) < wanted:
            size = min(_AT_ONCE, int(1.1 * wanted * total / available) + 10)
            more = self._allowed(rng.integers(total, size=size))
            ranks = np.sort(np.concatenate([ranks, more]))  # np.unique hashes, which is slower
            ranks = ranks[np.diff(ranks, prepend=-1) > 0]
        if len(ranks) > wanted:
            ranks = np.sort(rng.choice(ranks, wanted, replace=False))
        return self._pairs(ranks)

    def _allowed(self, ranks: Rows) -> Rows:
        if not self.n_forbidden:
            return ranks
        p, q = self._pairs(ranks)
        return ranks[self.group[p] != self.group[q]]

    def _pairs(self, ranks: Rows) -> tuple[Rows, Rows]:
        ends = np.cumsum(self.counts)
        p = np.searchsorted(ends, ranks, side="right")
        return p, self.first[p] + ranks - (ends - self.counts)[p]


def _count_pairs(labels: Rows) -> int:
    n = np.unique(labels, return_counts=True)[1]
    return int(n @ (n - 1)) // 2
