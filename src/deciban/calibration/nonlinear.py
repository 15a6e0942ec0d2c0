"""Nonlinear recalibration: PAV, gradients of convex functions, and factors by strength."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from deciban._estimation.monotone import ConvexGradient, fit_monotone
from deciban._persistence.registry import register, register_value
from deciban._validation.arrays import Floats
from deciban._validation.scalars import require_positive_number
from deciban.calibration.base import Calibrator, TwoClassCalibrator, finite_ilr
from deciban.calibration.fusion import FusionCalibrator
from deciban.calibration.scores import ScoreReader
from deciban.evidence import Evidence
from deciban.evidence.bayes import balance_weights
from deciban.metrics.labelled import Labelled, Trials
from deciban.metrics.pav import PooledBlocks, count_runs, pool
from deciban.simplex import Basis

register_value(PooledBlocks, low="n", high="n", target="n", other="n")


class ReversedScoresWarning(UserWarning):
    """Scores fall with the class they should rise with."""


@register(_reader=ScoreReader, blocks_=PooledBlocks)
class IsotonicCalibrator(TwoClassCalibrator):
    """Evidence for two classes through the monotone map with the smallest cost: PAV.

    On its training samples the remaining cost is ``cllr_min``. Beyond the last sample of a class
    the map returns -inf or inf, with infinite cost for one new sample on the wrong side: put it
    into :class:`BoundedCalibrator` for evidence on new samples.

    Parameters
    ----------
    prior, fuse
        As for :class:`AffineCalibrator`; the map does not depend on ``prior``.

    Attributes
    ----------
    blocks_ : PooledBlocks

    See Also
    --------
    deciban.metrics.pav : The map, without an estimator.

    Examples
    --------
    >>> llr, y = [[-2.0], [-1.0], [0.0], [3.0]], [0, 1, 0, 1]
    >>> IsotonicCalibrator().fit(llr, y).evidence(llr).llr(1, 0)
    array([-inf,   0.,   0.,  inf])
    """

    _poor_score = True
    blocks_: PooledBlocks

    def _fit_trials(self, trials: Trials, mass: Floats) -> None:
        self.blocks_ = pool(trials)
        if len(self.blocks_.llr) == 1 and trials.target.llr.mean() != trials.other.llr.mean():
            first, second = self.classes_.tolist()
            warnings.warn(
                f"X should rise with class {second!r}; it does not, so that no evidence is left "
                f"after a monotone map. Where it rises with {first!r}, pass "
                f"Evidence.from_llr(x, {first!r}, {second!r}).",
                ReversedScoresWarning,
                stacklevel=5,
            )

    def _calibrate_llr(self, llr: Floats) -> Floats:
        return self.blocks_.transform(llr)


class Steps(NamedTuple):
    """Two-class map in files from version 0.1: ``values[k]`` up to ``edges[k]``."""

    edges: Floats
    values: Floats

    def __call__(self, l: Floats) -> Floats:
        """Recalibrated ILRLs, samples on rows."""
        return self.values[np.searchsorted(self.edges, l[:, 0])][:, None]


register_value(Steps, edges="E", values="P")


@register(_reader=ScoreReader, map_=ConvexGradient | PooledBlocks | Steps)
class MonotoneCalibrator(Calibrator):
    r"""Evidence through a monotone map, for any number of classes.

    A map of ILRLs is monotone if it is the gradient of a convex function:
    :math:`(y_m - y_n) \cdot (l_m - l_n) \ge 0` for all samples, and the same around each cycle. For
    two classes it is the map with the smallest cross-entropy, that of :class:`IsotonicCalibrator`
    with misleading samples that keep it finite. For more classes the best map overfits at any
    number of samples, and the map is the gradient of a log-sum-exp of 8 affine functions plus a
    quadratic form. It does not depend on a basis or on the order of the classes.

    Parameters
    ----------
    misleading : float, default 1.0
        Number of misleading samples to add to each class, beyond all others for two classes and at
        the means of the other classes for more.
    prior, fuse
        As for :class:`AffineCalibrator`.

    Attributes
    ----------
    map_ : PooledBlocks or callable
        Blocks of LLRs for two classes; for more, the map from ILRLs in the Gram-Schmidt basis to
        calibrated ones.

    See Also
    --------
    deciban.metrics.decompose : With ``calibrator="monotone"``, what the map would save.

    Examples
    --------
    >>> from deciban import CalibratedGaussian
    >>> family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    >>> l, y = family.sample([1000, 1000, 1000], rng=0)
    >>> bent = family.evidence(l * np.linalg.norm(l, axis=1, keepdims=True))
    >>> calibrator = MonotoneCalibrator().fit(bent, y)
    >>> new, y_new = family.sample([3000, 3000, 3000], rng=1)
    >>> bent = family.evidence(new * np.linalg.norm(new, axis=1, keepdims=True))
    >>> bool(calibrator.score(bent, y_new) > -1.05 * family.expected_cross_entropy(rng=0)[0])
    True
    """

    _former = ("method", "gap_")
    _poor_score = True
    map_: ConvexGradient | PooledBlocks | Steps

    def __init__(
        self, *, misleading: float = 1.0, prior: Any = "uniform", fuse: bool | None = None
    ) -> None:
        self.misleading = misleading
        self.prior = prior
        self.fuse = fuse

    def _fit(self, samples: Labelled) -> None:
        misleading = require_positive_number(self.misleading, "misleading")
        l = finite_ilr(samples.evidence)
        if samples.evidence.n_classes == 2:
            # Their mass in the unit of the cells, which are counts without weights.
            sizes = np.ones(2) if samples.weight is None else samples.sizes
            cells = count_runs(samples.pair(1, 0))
            self.map_ = cells.add_misleading(*(misleading / sizes[::-1])).pool().shares()
            return
        V = Basis.gram_schmidt(samples.evidence.n_classes).contrast
        weight = balance_weights(samples.codes, samples.weight, self.prior_)
        self.map_ = fit_monotone(
            l, samples.codes, weight, np.log(self.prior_), V, samples.sizes, misleading
        )

    def _calibrate(self, evidence: Evidence) -> Evidence:
        l = finite_ilr(evidence)
        if isinstance(self.map_, PooledBlocks):
            first, second = Basis.gram_schmidt(2).contrast
            # As in fit: an LLR by way of the ILRL may fall beside the edge of its block.
            llr = self.map_.transform(evidence.llr(evidence.classes[1], evidence.classes[0]))
            calibrated = (llr / (second - first))[:, None]
        else:
            calibrated = self.map_(l)
        return Evidence.from_unbounded_ilr(calibrated, None, evidence.classes)

    def _finish_loading(self) -> None:
        super()._finish_loading()
        found, D = self.map_, 2
        if isinstance(found, ConvexGradient):
            D = len(found.center) + 1
            fits = found.temperature >= 0 and found.size > 0 and found.tie >= 0
        else:
            fits = isinstance(found, PooledBlocks) or len(found.values) == len(found.edges) + 1
        if not fits or len(self.classes_) != D:
            raise ValueError("a map that does not fit the classes")


@register(_reader=ScoreReader, fusion_=FusionCalibrator, _typical=float, _largest=float)
class CurvedCalibrator(Calibrator):
    r"""Evidence through a factor that depends on its strength.

    The calibrated ILRL is :math:`(a + b / \sqrt{1 + r / s}) l + c` with the length r of l and its
    mean s: strong evidence may be overstated more than weak evidence, as in forests and naive
    Bayes. It is linear in a, b and c, and fitted as a fusion of two systems. Evidence stronger than
    any in ``fit`` is cut off there.

    Parameters
    ----------
    ridge : float, default 0.01
        Penalty for a and b, as in :class:`FusionCalibrator`; it vanishes with samples.
    prior, fuse
        As for :class:`AffineCalibrator`.

    Attributes
    ----------
    fusion_ : FusionCalibrator
        Its ``weights_`` are a and b.

    See Also
    --------
    AffineCalibrator : The same factor at any strength.

    Examples
    --------
    >>> from deciban import CalibratedGaussian
    >>> family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    >>> l, y = family.sample([2000, 2000, 2000], rng=0)
    >>> exaggerated = family.evidence(l * np.linalg.norm(l, axis=1, keepdims=True))
    >>> curved = CurvedCalibrator().fit(exaggerated, y).score(exaggerated, y)
    >>> bool(curved > -1.05 * family.expected_cross_entropy(rng=0)[0])
    True
    """

    def __init__(
        self, *, ridge: float = 0.01, prior: Any = "uniform", fuse: bool | None = None
    ) -> None:
        self.ridge = ridge
        self.prior = prior
        self.fuse = fuse

    def _fit(self, samples: Labelled) -> None:
        r = np.linalg.norm(finite_ilr(samples.evidence), axis=1)
        self._typical = float(np.average(r, weights=samples.weights / samples.weights.max())) or 1.0
        self._largest = float(r.max())
        self.fusion_ = FusionCalibrator(ridge=self.ridge, prior=self.prior)
        systems = self._systems(samples.evidence)
        self.fusion_._learn(systems, self.classes_[samples.codes], samples.weights)

    def _systems(self, evidence: Evidence) -> dict[str, Evidence]:
        l = finite_ilr(evidence)
        r = np.linalg.norm(l, axis=1, keepdims=True)
        l = l * np.minimum(1.0, self._largest / np.maximum(r, 1e-300))
        bent = l / np.sqrt(1 + np.minimum(r, self._largest) / self._typical)
        straight, bent = (Evidence.from_unbounded_ilr(x, None, evidence.classes) for x in (l, bent))
        return {"straight": straight, "bent": bent}

    def _calibrate(self, evidence: Evidence) -> Evidence:
        return self.fusion_.evidence(self._systems(evidence))

    def _finish_loading(self) -> None:
        super()._finish_loading()
        if not (self._typical > 0 and self._largest >= 0):
            raise ValueError("strengths that are not positive")
        self._require_same_classes(self.fusion_)
