"""Whether the likelihood function of the likelihood function is the likelihood function."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from deciban._validation import align_by_index, is_number, label_array, read_labels
from deciban.evidence import Evidence, Unit, from_nats
from deciban.exceptions import InputError
from deciban.metrics.bootstrap import Interval, Resampler, seed_from
from deciban.metrics.densities import Density, GaussianDensities, KernelDensities, densities
from deciban.metrics.labelled import Labelled, read_labelled
from deciban.reference import CalibratedGaussian, closed_form
from deciban.reference.fitting import fit_covariance
from deciban.simplex import Basis
from deciban.simplex.basis import align_basis

_MOST = 4000  # samples of which the kernel densities are taken: they meet each other
_REDRAWS = 100  # of a resample whose covariances cannot be taken


@dataclass(frozen=True)
class Idempotence:
    """How far evidence is from the likelihood function of itself.

    Distances are root mean squares of the difference between the ILRL of the ILRL and the ILRL,
    each class counted alike, corrected for what estimating the densities adds to them.

    Attributes
    ----------
    distance : Interval
        Over all directions: zero for calibrated evidence.
    by_pair : array of shape (n_classes, n_classes)
        Along the LLR of each two classes.
    by_coordinate : array of shape (n_classes - 1,)
        Along each ILR coordinate.
    by_region : array of shape (n_classes,)
        Over the samples where each class is the likeliest; NaN where there are none.
    statistic, p_value : float
        Likelihood ratio (twice its logarithm) of Gaussian densities without constraint against
        the calibrated Gaussian family, and how often samples of the fitted family reach it. NaN
        where the test was not asked for.
    evidence, again : Evidence
        What was judged, and its likelihood function: one is the other where it is calibrated. With
        kernel densities both are cut off at what the samples can tell.
    labels : array of shape (n_samples,)
        The true classes of these samples.
    density : str
    unit : str
        Of the distances.
    """

    distance: Interval
    by_pair: np.ndarray
    by_coordinate: np.ndarray
    by_region: np.ndarray
    statistic: float
    p_value: float
    evidence: Evidence
    again: Evidence
    labels: np.ndarray
    density: str
    unit: str

    def __repr__(self) -> str:
        d = self.distance
        return (
            f"Idempotence: distance {d.value:.3g} {self.unit} [{d.low:.3g}, {d.high:.3g}], "
            f"p = {self.p_value:.3g} ({self.density} densities, {len(self.evidence)} samples)"
        )


def idempotence(
    y_true: ArrayLike,
    evidence: Any,
    *,
    density: Density = "kernel",
    confidence: float = 0.95,
    n_resamples: int = 200,
    n_draws: int = 199,
    groups: Any = None,
    basis: Basis | None = None,
    unit: Unit = "nat",
    classes: Sequence[Hashable] | None = None,
    sample_weight: ArrayLike | None = None,
    rng: Any = 0,
    n_jobs: int | None = None,
) -> Idempotence:
    """How far evidence is from being the likelihood function of itself, and whether by chance.

    Evidence is calibrated where the likelihood function of the ILRL is what the ILRL says. The
    densities of the ILRLs under each class are estimated, and their likelihood function is
    compared with the evidence. The interval holds the percentiles of bootstrap resamples, moved
    down by the excess that estimating the densities gives them, and cut off at zero. The test is a
    parametric bootstrap of the likelihood ratio: it refuses evidence that is not calibrated, and
    evidence that is calibrated but not Gaussian.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        Every class must occur.
    evidence : array of log-likelihoods of shape (n_samples, n_classes), or Evidence
        Finite: no class may be ruled out.
    density : {"shared", "gaussian", "kernel"}, default "kernel"
        Gaussian with one covariance for all classes, Gaussian with one for each, or kernel
        densities. Gaussian ones suit evidence that is near Gaussian, and are then sharper. Kernels
        see any shape but blur it, so that evidence looks too strong where samples are few, and
        cannot tell how strong it should be beyond the logarithm of their number: there both sides
        are cut off. Of more than 4,000 samples 4,000 are taken at random. The test is against
        Gaussian densities: with one covariance for "shared", else with one for each class.
    confidence : float, default 0.95
    n_resamples : int, default 200
        Of the interval and of the correction, at least 2; 0 for neither.
    n_draws : int, default 199
        Samples of the fitted family that the test draws; 0 for no test.
    groups : array of shape (n_samples,), optional
        What was sampled, such as the speaker, as for :func:`bootstrap`. The test takes the
        samples to be independent all the same.
    basis : Basis, default Gram-Schmidt
        Of ``by_coordinate``.
    unit : {"nat", "bit", "ban", "deciban"}
        Of the distances.
    classes, sample_weight
        As for :func:`cross_entropy`.
    rng : numpy Generator or seed, default 0
    n_jobs : int, optional
        Processes, as in joblib; by default one. The result does not depend on it.

    Returns
    -------
    Idempotence

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
    _require_options(confidence, n_resamples, n_draws)
    y_true, evidence, sample_weight, groups = align_by_index(
        y_true=y_true, evidence=evidence, sample_weight=sample_weight, groups=groups
    )
    data = read_labelled(y_true, evidence, classes, sample_weight)
    seed = seed_from(rng)
    if density == "kernel" and len(data.codes) > _MOST:
        data, groups = _some(data, groups, np.random.default_rng([seed, 0]))
    names = data.evidence.classes
    basis = align_basis(basis, names) or Basis(Basis.gram_schmidt(len(names)).contrast, names)
    judge = _Judge(data, basis.contrast, density)
    weight = np.ones(len(data.codes)) if data.weight is None else data.weight / data.weight.mean()
    here = judge(weight)
    resampler = Resampler(data.codes, groups)
    seeds = np.random.SeedSequence([seed, 1]).spawn(n_resamples)
    test = _Test(data.evidence.ilr(basis), judge, weight, shared=density == "shared")
    with threadpool_limits(limits=1):  # threads only get in each other's way on small matrices
        there = Parallel(n_jobs=n_jobs)(
            delayed(_resampled)(judge, resampler, weight, one) for one in seeds
        )
        seeds = np.random.SeedSequence([seed, 2]).spawn(n_draws)
        statistic, p_value = test.result(seeds, n_jobs)
    return Idempotence(
        *_distances(here, there, confidence, basis.contrast, unit),
        statistic=statistic,
        p_value=p_value,
        evidence=Evidence.from_ilr(judge.l, basis, names),
        again=Evidence.from_ilr(judge.again(weight), basis, names),
        labels=label_array(names)[data.codes],
        density=density,
        unit=unit,
    )


class _Squares(NamedTuple):
    """Mean squares of the difference: its second moments, and those of each region."""

    moments: np.ndarray
    regions: np.ndarray


class _Judge:
    """The difference between the ILRLs of the ILRLs and the ILRLs, for any weights."""

    def __init__(self, data: Labelled, V: np.ndarray, density: Density) -> None:
        D = data.evidence.n_classes
        self.l = data.evidence.ilr(Basis(V, data.evidence.classes))
        self.V, self.truth = V, data.codes
        self.region = np.eye(D)[data.evidence.log_likelihoods.argmax(axis=1)]
        self.densities = densities(self.l, self.truth, D, density)
        if isinstance(self.densities, KernelDensities):
            self.l = self.densities.supported(data.evidence.log_likelihoods) @ V

    def again(self, weight: np.ndarray) -> np.ndarray:
        """The ILRLs of the ILRLs under the densities of the weighted samples."""
        return self.densities(weight) @ self.V

    def __call__(self, weight: np.ndarray) -> _Squares:
        gap = self.again(weight) - self.l
        mass = np.bincount(self.truth, weights=weight)
        share = weight / (len(mass) * mass[self.truth])  # each class counts alike
        in_region = share @ self.region
        squares = (share * np.sum(gap * gap, axis=1)) @ self.region
        with np.errstate(invalid="ignore"):
            return _Squares((gap.T * share) @ gap, squares / in_region)


def _resampled(
    judge: _Judge, resampler: Resampler, weight: np.ndarray, seed: np.random.SeedSequence
) -> _Squares:
    rng = np.random.default_rng(seed)
    for _ in range(_REDRAWS):
        try:
            return judge(weight * resampler.counts(rng))
        except np.linalg.LinAlgError:  # too few distinct samples of a class for its covariance
            continue
    raise InputError(
        f"y_true must hold every class often enough for its covariance; {_REDRAWS} resamples in a "
        f"row did not. Give more samples, density='shared', or n_resamples=0."
    )


def _distances(
    here: _Squares, there: list[_Squares], confidence: float, V: np.ndarray, unit: Unit
) -> tuple[Interval, np.ndarray, np.ndarray, np.ndarray]:
    """Root mean squares, corrected for what estimating the densities adds."""
    moments, regions = here
    low = high = spread = np.nan
    if there:
        totals = np.array([np.trace(squares.moments) for squares in there])
        # The samples have as much more than the truth as the resamples have more than they.
        total = np.trace(moments)
        tails = [(1 - confidence) / 2, (1 + confidence) / 2]
        low, high = _root(np.quantile(totals, tails) - 2 * (np.mean(totals) - total))
        spread = np.std(np.sqrt(totals), ddof=1)
        # Of the means of heavy tails nothing would be left with few samples; medians are steadier.
        moments = moments * max(0.0, 2 - float(np.median(totals)) / total) if total > 0 else moments
        with warnings.catch_warnings():  # a region that is always empty has no median
            warnings.simplefilter("ignore", RuntimeWarning)
            regions = 2 * regions - np.nanmedian([squares.regions for squares in there], axis=0)
    distance = (_root(np.trace(moments)), low, high, spread)
    along = V @ moments @ V.T
    pairs = np.diag(along)[:, None] + np.diag(along) - 2 * along
    by_pair, by_coordinate, by_region = (
        np.asarray(from_nats(_root(squares), unit))
        for squares in (pairs, np.diag(moments), regions)
    )
    interval = Interval(*(float(from_nats(float(number), unit)) for number in distance))
    return interval, by_pair, by_coordinate, by_region


def _root(squares: Any) -> Any:
    return np.sqrt(np.maximum(squares, 0.0))


class _Test:
    """Parametric bootstrap of the likelihood ratio against the calibrated Gaussian family."""

    def __init__(self, l: np.ndarray, judge: _Judge, weight: np.ndarray, shared: bool) -> None:
        self.l, self.truth, self.weight = l, judge.truth, weight
        self.V, self.shared = judge.V, shared

    def result(self, seeds: list[np.random.SeedSequence], n_jobs: int | None) -> Tested:
        """The statistic and its p-value."""
        if not seeds:
            return Tested(np.nan, np.nan)
        free = GaussianDensities(self.l, self.truth, len(self.V), self.shared)
        free.require_spread(np.ones(len(self.l)))
        sigma = fit_covariance(self.l, self.V, self.weight)
        statistic = self._statistic(self.l, sigma)
        drawn = Parallel(n_jobs=n_jobs)(delayed(self._drawn)(sigma, seed) for seed in seeds)
        reached = int(np.sum(np.array(drawn) >= statistic))
        return Tested(float(statistic), (1 + reached) / (1 + len(seeds)))

    def _drawn(self, sigma: np.ndarray, seed: np.random.SeedSequence) -> float:
        noise = np.random.default_rng(seed).standard_normal(self.l.shape)
        l = closed_form.means(sigma, self.V)[self.truth] + noise @ np.linalg.cholesky(sigma).T
        return self._statistic(l, fit_covariance(l, self.V, self.weight, start=sigma))

    def _statistic(self, l: np.ndarray, sigma: np.ndarray) -> float:
        free = GaussianDensities(l, self.truth, len(self.V), self.shared)(self.weight)
        family = CalibratedGaussian(sigma, Basis(self.V)).log_density(l)
        at = np.arange(len(l)), self.truth
        return 2 * float(self.weight @ (free[at] - family[at]))


class Tested(NamedTuple):
    """A likelihood ratio statistic and its p-value."""

    statistic: float
    p_value: float


def _some(
    data: Labelled, groups: Any, rng: np.random.Generator
) -> tuple[Labelled, np.ndarray | None]:
    """As many samples as kernels can take, with the same share of each class."""
    n = len(data.codes)
    order = np.argsort(data.codes + rng.random(n), kind="stable")  # by class, else at random
    rows = np.sort(order[np.linspace(0, n - 1, _MOST).round().astype(int)])
    kept = None if groups is None else read_labels(groups, n, "groups")[rows]
    return data.select(rows), kept


def _require_options(confidence: float, n_resamples: int, n_draws: int) -> None:
    if not is_number(confidence) or not 0 < confidence < 1:
        raise InputError(f"confidence must lie between 0 and 1; got {confidence!r}. Give 0.95.")
    for name, count in (("n_resamples", n_resamples), ("n_draws", n_draws)):
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 0:
            raise InputError(f"{name} must be a whole number, 0 or more; got {count!r}. Give 199.")
    if n_resamples == 1:
        raise InputError("n_resamples must be 0, or 2 and more; got 1. Give 200.")
