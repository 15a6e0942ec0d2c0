"""Idempotence: the likelihood function of the ILRL is the ILRL itself, if it is calibrated."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from deciban._validation.arrays import Floats
from deciban._validation.labels import align_by_index, label_array, read_labels
from deciban._validation.scalars import quote, require_fraction, require_whole
from deciban.evidence import Evidence, Unit, from_nats
from deciban.exceptions import InputError
from deciban.metrics.calibration_test import (
    CalibrationTest,
    balanced_posteriors,
    run_calibration_test,
)
from deciban.metrics.density_estimates import (
    DensityKind,
    KernelDensities,
    estimate_densities,
    multiply_columns,
    scatter_matrix,
)
from deciban.metrics.designs import Design, read_design
from deciban.metrics.intervals import Interval, Seed, seed_from, tails
from deciban.metrics.labelled import EvidenceLike, Labelled, Weights, read_labelled, share_out
from deciban.simplex import Basis
from deciban.simplex.basis import basis_for

_MAX_SAMPLES = 4000  # for kernel densities, which compare all pairs
_OUTWEIGHED = "all others of its class. Limit the weights, or drop the samples that hardly count."
_REDRAWS = 100  # draws of a resample until its covariances have full rank
_LABEL_DRAWS = 20  # show how much kernels blur
Squares = tuple[Floats, Floats]  # second moments of a difference, its mean square by region


@dataclass(frozen=True)
class Idempotence:
    """The distance between evidence and its own likelihood function.

    Distances are root mean squares of the ILRL of the ILRL minus the ILRL. Each class has the same
    weight, and the error of the estimated densities is subtracted.

    Attributes
    ----------
    distance : Interval
        Distance over all directions: zero for calibrated evidence.
    by_pair : array of shape (n_classes, n_classes)
        Distance along the LLR for each pair of classes.
    by_coordinate : array of shape (n_classes - 1,)
        Distance along each ILR coordinate.
    by_region : array of shape (n_classes,)
        Distance over the samples for which each class is likeliest; NaN if there are none.
    test : CalibrationTest, optional
        Result of :func:`calibration_test`, which needs no densities.
    evidence, again : Evidence
        The evidence and its likelihood function. Kernel densities limit both to the strength that
        the number of samples can show.
    labels : array of shape (n_samples,)
        Their true classes.
    density, unit : str

    See Also
    --------
    idempotence, deciban.plots.IdempotenceDisplay

    Examples
    --------
    >>> llr = np.random.default_rng(0).normal([-1] * 50 + [1] * 50, 2**0.5)
    >>> found = idempotence([0] * 50 + [1] * 50, Evidence.from_llr(llr), density="shared")
    >>> found.by_coordinate.shape, found.again.n_samples
    ((1,), 100)
    """

    distance: Interval
    by_pair: Floats
    by_coordinate: Floats
    by_region: Floats
    test: CalibrationTest | None
    evidence: Evidence
    again: Evidence
    labels: NDArray[Any]
    density: str
    unit: str

    @property
    def p_value(self) -> float:
        """p-value of the test; NaN without it."""
        return np.nan if self.test is None else self.test.p_value

    def __repr__(self) -> str:
        d = self.distance
        return (
            f"Idempotence: distance {d.value:.3g} {self.unit} [{d.low:.3g}, {d.high:.3g}], "
            f"p = {self.p_value:.3g} ({self.density} densities, {len(self.evidence)} samples)"
        )


def idempotence(
    y_true: ArrayLike,
    evidence: EvidenceLike,
    *,
    density: DensityKind = "kernel",
    confidence: float = 0.95,
    n_resamples: int = 200,
    n_draws: int = 999,
    groups: ArrayLike | None = None,
    basis: Basis | None = None,
    unit: Unit = "nat",
    classes: Sequence[Hashable] | None = None,
    sample_weight: Weights = None,
    rng: Seed = 0,
    n_jobs: int | None = None,
) -> Idempotence:
    """Idempotence: whether the likelihood function of the ILRL is the ILRL itself.

    If so, evidence is calibrated. The densities of the ILRLs under each class are estimated. The
    interval holds percentiles of bootstrap resamples, less the excess that comes from estimating
    densities. The p-value is from :func:`calibration_test`.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        Every class must occur.
    evidence : array of log-likelihoods of shape (n_samples, n_classes), or Evidence
        Finite: no class may be ruled out.
    density : {"shared", "gaussian", "kernel"}, default "kernel"
        Gaussian with a shared covariance, Gaussian with one for each class, or kernel densities.
        Gaussian densities are sharper for nearly Gaussian evidence. Kernels follow any shape but
        blur it: labels drawn from the posteriors show by how much, which is subtracted. Evidence
        beyond the logarithm of the number of kernels is cut off on both sides. Of more than 4,000
        samples, 4,000 are drawn.
    confidence : float, default 0.95
    n_resamples : int, default 200
        Resamples for the interval and the correction, at least 2; 0 for neither.
    n_draws : int, default 999
        Data sets that the test draws; 0 for no test.
    groups : array of shape (n_samples,), optional
        Sampling unit, such as the speaker, as for :func:`bootstrap`. The test assumes independent
        samples all the same.
    basis : Basis, default Gram-Schmidt
        For ``by_coordinate``.
    unit : {"nat", "bit", "ban", "deciban"}
        Unit of the distances.
    classes, sample_weight
        As for :func:`cross_entropy`.
    rng : numpy Generator or seed, default 0
    n_jobs : int, optional
        Processes, as in joblib; by default one. The result does not depend on it.

    See Also
    --------
    calibration_test, decompose, deciban.plots.IdempotenceDisplay

    Examples
    --------
    >>> from deciban import CalibratedGaussian
    >>> family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    >>> l, y = family.sample([500, 500, 500], rng=0)
    >>> bool(idempotence(y, family.evidence(l)).p_value > 0.05)
    True
    >>> bool(idempotence(y, family.evidence(1.5 * l)).p_value < 0.05)
    True
    """
    require_fraction(confidence, "confidence")
    require_whole(n_draws, "n_draws", 0)
    if require_whole(n_resamples, "n_resamples", 0) == 1:
        raise InputError("n_resamples must be 0 or at least 2; got 1. Give 200.")
    y_true, evidence, sample_weight, groups = align_by_index(
        y_true=y_true, evidence=evidence, sample_weight=sample_weight, groups=groups
    )
    data = read_labelled(y_true, evidence, classes, sample_weight)
    seed = seed_from(rng)
    everything = data
    if density == "kernel" and len(data.codes) > _MAX_SAMPLES:
        rows = _thin(data, np.random.default_rng([seed, 0]))
        groups = None if groups is None else read_labels(groups, len(data.codes), "groups")[rows]
        data = data.select(rows)
    names = data.evidence.classes
    basis = basis_for(basis, len(names)).align_to(names)
    weight = data.weights / data.weights.mean()
    comparison = _Comparison(data, basis, density)
    _check_weights(data)
    generator = np.random.default_rng([seed, 3])
    test = run_calibration_test(everything, n_draws, generator) if n_draws else None
    squares = comparison.of_samples(weight)
    design = read_design(data.codes, groups)
    if design.warning:
        warnings.warn(design.warning, stacklevel=2)
    resamples = Parallel(n_jobs=n_jobs)(
        delayed(_resample)(comparison, design, weight, one)
        for one in np.random.SeedSequence([seed, 1]).spawn(n_resamples)
    )
    blurred = _blurred_squares(data, basis, seed) if resamples and density == "kernel" else []
    V = basis.contrast
    return Idempotence(
        *_distances(squares, resamples, blurred, confidence, V, unit),
        test=test,
        evidence=Evidence.from_unbounded_ilr(comparison.l, basis, names),
        again=Evidence.from_unbounded_ilr(comparison.again(weight), basis, names),
        labels=label_array(names)[data.codes],
        density=density,
        unit=unit,
    )


def _check_weights(data: Labelled) -> None:
    for label, rows in zip(data.evidence.classes, data.rows_by_class, strict=True):
        share = share_out(data.weights[rows])
        if share @ share > 0.999:
            raise InputError(
                f"sample_weight must leave every class several samples that count; a sample "
                f"of class {quote(label)} outweighs {_OUTWEIGHED}"
            )


class _Comparison:
    """The ILRLs of the ILRLs minus the ILRLs, for any weights."""

    def __init__(self, data: Labelled, basis: Basis, density: DensityKind) -> None:
        self.l, self.V = data.evidence.ilr(basis), basis.contrast
        self.codes, self.region = data.codes, data.evidence.log_likelihoods.argmax(axis=1)
        self.densities = estimate_densities(self.l, data.rows_by_class, density)
        if isinstance(self.densities, KernelDensities):
            self.l = self.densities.limit(data.evidence.log_likelihoods) @ self.V

    def again(self, weight: Floats) -> Floats:
        return multiply_columns(self.V.T, self.densities(weight).T).T

    def __call__(self, weight: Floats) -> Squares:
        gap, D = self.again(weight) - self.l, len(self.V)
        mass = np.bincount(self.codes, weights=weight)
        share = weight / (D * mass[self.codes])  # each class has the same weight
        squares = np.bincount(self.region, share * np.sum(gap * gap, axis=1), D)
        with np.errstate(invalid="ignore"):
            regions = squares / np.bincount(self.region, share, D)
        return scatter_matrix(gap.T, share), regions

    def of_samples(self, weight: Floats) -> Squares:
        """Squares of the samples themselves, which must have covariances of full rank."""
        try:
            return self(weight)
        except np.linalg.LinAlgError:
            raise InputError(
                f"sample_weight must leave every class enough samples for its covariance; a few "
                f"samples outweigh {_OUTWEIGHED}"
            ) from None


def _resample(
    comparison: _Comparison, design: Design, weight: Floats, seed: np.random.SeedSequence
) -> Squares:
    rng = np.random.default_rng(seed)
    for _ in range(_REDRAWS):
        try:
            with np.errstate(over="raise"):
                return comparison(weight * design.draw_counts(rng))
        except (np.linalg.LinAlgError, FloatingPointError):  # too few samples
            continue
    raise InputError(
        f"y_true must hold every class often enough for its covariance; {_REDRAWS} resamples in a "
        f"row did not. Give more samples, density='shared', or n_resamples=0."
    )


def _blurred_squares(data: Labelled, basis: Basis, seed: int) -> list[Squares]:
    """Squares of kernel densities under labels drawn from the posteriors."""
    edges = np.cumsum(balanced_posteriors(data), axis=1)[:, :-1]
    rng, weight, found = np.random.default_rng([seed, 2]), data.weights, list[Squares]()
    for _ in range(_REDRAWS):
        codes = (rng.random((len(edges), 1)) > edges).sum(axis=1)
        drawn = Labelled(data.evidence, codes, data.weight)
        if drawn.counts.min() > 1:
            found.append(_Comparison(drawn, basis, "kernel")(weight / weight.mean()))
        if len(found) >= min(_LABEL_DRAWS, 2 + 3 * _MAX_SAMPLES // len(codes)):
            break
    return found


def _distances(
    squares: Squares, resamples: list[Squares], blurred: list[Squares], confidence: float,
    V: Floats, unit: Unit,
) -> tuple[Interval, Floats, Floats, Floats]:  # fmt: skip
    moments, regions = squares
    low = high = spread = np.nan
    if resamples:
        totals, blurs = (
            np.array([np.trace(moments) for moments, _ in some]) for some in (resamples, blurred)
        )
        total, excess = float(np.trace(moments)), float(np.mean(totals) - np.trace(moments))
        # Samples exceed the truth by as much as resamples exceed samples, or as calibrated samples
        # exceed zero. Medians, since means of few heavy-tailed samples would leave nothing.
        surplus, at = (excess, float(np.median(totals)) - total)
        if len(blurs):
            surplus = at = float(np.mean(blurs))
        low, high = _root(np.quantile(totals, tails(confidence)) - excess - surplus)
        spread = np.std(np.sqrt(totals), ddof=1)
        moments = moments * max(0.0, 1 - at / total) if total > 0 else moments
        average = _median([regions for _, regions in blurred or resamples])
        regions = regions - (average if blurred else average - regions)
    distance = (_root(np.trace(moments)), low, high, spread)
    along = V @ moments @ V.T
    pairs = np.diag(along)[:, None] + np.diag(along) - 2 * along
    by_pair, by_coordinate, by_region = (
        np.asarray(from_nats(_root(values), unit)) for values in (pairs, np.diag(moments), regions)
    )
    interval = Interval(*(float(from_nats(float(number), unit)) for number in distance))
    return interval, by_pair, by_coordinate, by_region


def _median(rows: list[Floats]) -> Floats:
    """Median of each column without NaNs; NaN for a region that is always empty."""
    columns = (column[~np.isnan(column)] for column in np.array(rows).T)
    return np.array([np.median(column) if len(column) else np.nan for column in columns])


def _root(squares: Any) -> Any:
    return np.sqrt(np.maximum(squares, 0.0))


def _thin(data: Labelled, rng: np.random.Generator) -> NDArray[np.intp]:
    """Positions of _MAX_SAMPLES samples with the same class shares."""
    n = len(data.codes)
    order = np.argsort(data.codes + rng.random(n), kind="stable")  # by class, else at random
    return np.sort(order[np.linspace(0, n - 1, _MAX_SAMPLES).round().astype(int)])
