"""Affine recalibration in ILR coordinates: temperature, diagonal and full."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from deciban._estimation.affine import Scale, fit_affine
from deciban._estimation.samples import balance_weights
from deciban._persistence.registry import register
from deciban._validation import is_number
from deciban.calibration.base import Calibrator, finite_ilr
from deciban.calibration.scores import Reader
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.simplex import Basis
from deciban.simplex.basis import align_basis

_SEPARABLE = 2e-5  # nats a sample


class SeparableWarning(UserWarning):
    """Classes that can be told apart without error set no limit to an affine map."""


@register(_reader=Reader, matrix_="k k", offset_="k")
class AffineCalibrator(Calibrator):
    """Evidence through the affine map of its ILRLs with the smallest cross-entropy.

    The calibrated ILRL is :math:`A l + b`. The cross-entropy of the posteriors under ``prior`` is
    convex in A and b; it is minimised by a safeguarded Newton method until a further step would
    gain less than 1e-11 of what the prior alone leaves. For two classes it is linear logistic
    regression, the calibration of speaker recognition; with a scalar and no offset it is
    temperature scaling.

    Parameters
    ----------
    scale : {"scalar", "diagonal", "full"}, default "scalar"
        One factor for all ILR coordinates, one for each (in ``basis``), or a whole matrix. The
        first and the last do not depend on the basis.
    offset : bool, default True
    ridge : float, default 0
        Weight of the squared distance of the parameters from the identity map, beside the
        cross-entropy in nats a sample. With few samples 0.001 to 0.1 helps the full map.
    prior : "uniform", "empirical", array of shape (n_classes,) or mapping, default "uniform"
        How much each class counts, and the prior of ``predict_proba``. It is not part of the
        evidence.
    basis : Basis, default Gram-Schmidt
        Of ``matrix_`` and ``offset_``; a named one is matched with the classes by name.
    fuse : bool, optional
        Whether the columns are scores of several systems, to be fused by logistic regression. By
        default where they are not one for each class nor one LLR, with a warning.

    Attributes
    ----------
    matrix_ : array of shape (n_classes - 1, n_classes - 1)
    offset_ : array of shape (n_classes - 1,)
    classes_ : array of shape (n_classes,)
    prior_ : array of shape (n_classes,)
    n_features_in_ : int

    References
    ----------
    Brümmer and van Leeuwen (2006), On calibration of language recognition scores.
    Guo et al. (2017), On calibration of modern neural networks.

    Examples
    --------
    >>> from deciban import CalibratedGaussian
    >>> family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    >>> l, y = family.sample([2000, 2000, 2000], rng=0)
    >>> overconfident = family.evidence(3 * l)
    >>> calibrator = AffineCalibrator().fit(overconfident, y)
    >>> bool(abs(3 * calibrator.matrix_[0, 0] - 1) < 0.05)
    True
    """

    def __init__(
        self,
        scale: Scale = "scalar",
        offset: bool = True,
        *,
        ridge: float = 0.0,
        prior: Any = "uniform",
        basis: Basis | None = None,
        fuse: bool | None = None,
    ) -> None:
        self.scale = scale
        self.offset = offset
        self.ridge = ridge
        self.prior = prior
        self.basis = basis
        self.fuse = fuse

    def _fit(self, evidence: Evidence, truth: np.ndarray, weight: np.ndarray) -> None:
        if not is_number(self.ridge) or not 0 <= self.ridge < np.inf:
            raise InputError(f"ridge must be 0 or more; got {self.ridge!r}. Give 0 for none.")
        basis = align_basis(self.basis, evidence.classes) or Basis.gram_schmidt(evidence.n_classes)
        l = finite_ilr(evidence, self.basis)
        self.matrix_, self.offset_ = fit_affine(
            l,
            truth,
            balance_weights(truth, weight, self.prior_),
            np.log(self.prior_),
            basis.contrast,
            self.scale,
            offset=self.offset,
            ridge=self.ridge,
        )
        first = slice(None, None, max(1, len(truth) // 1000))  # most often enough to see
        if self._is_separable(evidence[first], truth[first]):
            self._warn_if_separable(evidence, truth)

    def _is_separable(self, evidence: Evidence, truth: np.ndarray) -> bool:
        log_p = self._calibrated(evidence).log_posterior(self.prior_)
        return -float(log_p[np.arange(len(truth)), truth].mean()) < _SEPARABLE

    def _warn_if_separable(self, evidence: Evidence, truth: np.ndarray) -> None:
        """Nothing holds the map of separable classes: it makes evidence as strong as it likes."""
        if self._is_separable(evidence, truth):
            warnings.warn(
                "the classes are separable in X, so that the calibrated evidence is as strong as "
                "you like. Pass ridge=0.01, or put the calibrator into BoundedCalibrator.",
                SeparableWarning,
                stacklevel=4,
            )

    def _calibrated(self, evidence: Evidence) -> Evidence:
        l = finite_ilr(evidence, self.basis) @ self.matrix_.T + self.offset_
        return Evidence.from_ilr(l, self.basis, evidence.classes)


def fresh_calibrator(calibrator: Any) -> Any:
    """A calibrator to be fitted: a clone of the one given, by default an affine one."""
    if calibrator is None:
        return AffineCalibrator()
    if not hasattr(calibrator, "evidence") or not hasattr(calibrator, "get_params"):
        raise InputError(
            f"calibrator must be one of deciban.calibration; got {calibrator!r}. "
            f"Pass AffineCalibrator(), say."
        )
    return clone(calibrator)
