"""The calibrated finish of a CDA: an affine map at the end of its flow.

Flows are overconfident about unseen samples. From evidence about such samples the finish learns an
affine map of the ILRL, at least a scale, and the covariance of the calibrated family for the
result. It removes correlations from the residual, and the part that is linear in the ILRL.
Evidence, densities, samples and their inverse all pass through the finish.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deciban._estimation.affine import fit_affine
from deciban._estimation.logistic import AffineMap, Scale
from deciban._estimation.samples import Samples
from deciban._validation.arrays import Floats
from deciban.reference import family

_MIN_SAMPLES = 10  # samples to learn a scale from
_MIN_OF_A_CLASS = 5  # samples that an offset of its evidence is learned from
_NEWTON_STEPS = 12  # at most
_SMALL_GAIN = 1e-7  # nats
_MAX_SCALE = 2.0  # or evidence without an error would be scaled without end
_MIN_SCALE = 0.05  # evidence that is worth nothing keeps a little, and the map an inverse


class Calibration(NamedTuple):
    map: AffineMap  # for ILRLs
    losses: Floats  # cross-entropy of each sample after it, in nats, times its weight
    criterion: float  # mean loss and what its parameters fit by chance


def losses_at(l: Floats, samples: Samples, log_mix: Floats, V: Floats) -> Floats:
    log_p = l @ V.T + log_mix
    log_p = log_p - np.logaddexp.reduce(log_p, axis=1)[:, None]
    return -log_p[np.arange(len(l)), samples.codes]


def losses_at_best_scale(l: Floats, samples: Samples, log_mix: Floats, V: Floats) -> Floats:
    """Cross-entropy per sample after the best scale for the ILRLs.

    Flows that have learned more are more overconfident but better: a scale is learned in any case.
    The loss is convex in it, so a few Newton steps suffice.
    """
    share = samples.weight / samples.weight.sum()
    evidence = l @ V.T
    true = evidence[np.arange(len(l)), samples.codes]
    scale = 1.0
    best = losses_at(l, samples, log_mix, V)
    for _ in range(_NEWTON_STEPS):
        log_p = scale * evidence + log_mix
        p = np.exp(log_p - np.logaddexp.reduce(log_p, axis=1)[:, None])
        mean = np.sum(p * evidence, axis=1)
        slope = share @ (mean - true)
        bend = share @ np.sum(p * (evidence - mean[:, None]) ** 2, axis=1)
        new = scale - slope / max(bend, 1e-300)
        scale = float(np.clip(new, scale / 2, min(scale * 2, _MAX_SCALE)))
        losses = losses_at(scale * l, samples, log_mix, V)
        gain = share @ best - share @ losses
        if gain > 0:  # never for NaN
            best = losses
        if not gain > _SMALL_GAIN:
            break
    return best


def calibrate(
    l: Floats, samples: Samples, log_mix: Floats, V: Floats, *, affine: bool = True
) -> Calibration:
    """The affine map for unseen samples' ILRLs that is best by Schwarz's criterion.

    Candidates: the identity and, with ``affine``, a scale, a scale with offset, and a full map.
    """
    n, k = l.shape
    if n == 0:
        return Calibration(AffineMap(np.eye(k), np.zeros(k)), np.zeros(0), np.inf)
    share = samples.weight / samples.weight.sum()

    def judge(change: AffineMap, n_parameters: int) -> Calibration:
        losses = losses_at(change(l), samples, log_mix, V) * n * share
        penalty = 0.5 * n_parameters * np.log(max(n, 2)) / n
        return Calibration(change, losses, float(losses.mean()) + penalty)

    best = judge(AffineMap(np.eye(k), np.zeros(k)), 0)
    if not affine or n < _MIN_SAMPLES:
        return best
    sizes = np.bincount(samples.codes, minlength=len(V))
    kinds: list[tuple[Scale, bool, int]] = [("scalar", False, 1)]
    if sizes.min() >= _MIN_OF_A_CLASS:
        kinds.append(("scalar", True, 1 + k))
    if len(kinds) > 1 and k > 1 and k * k + k < n / 20:
        kinds.append(("full", True, k * k + k))
    for scale, offset, n_parameters in kinds:
        data = l, samples.codes, share, log_mix, V
        found = fit_affine(*data, scale, offset=offset, class_sizes=np.maximum(sizes, 1))
        change = _keep_invertible(found)
        if change is not None and (one := judge(change, n_parameters)).criterion < best.criterion:
            best = one
    return best


def _keep_invertible(change: AffineMap) -> AffineMap | None:
    """The map with a scale above zero; None for a full map that is nearly singular."""
    matrix, k = change.matrix, len(change.matrix)
    if np.allclose(matrix, matrix[0, 0] * np.eye(k)):
        return AffineMap(max(matrix[0, 0], _MIN_SCALE) * np.eye(k), change.offset)
    values = np.linalg.svd(matrix, compute_uv=False)
    return change if values[-1] > _MIN_SCALE and np.linalg.det(matrix) > 0 else None


def family_covariance(
    l: Floats, samples: Samples, covariance: Floats, change: AffineMap, V: Floats
) -> Floats:
    """Covariance for the calibrated family after the map.

    It is the flow's covariance after the map, times the most likely c: with mean squares q for the
    ILRLs and m for the means under this covariance, m c² + k c - q = 0.
    """
    S = change.matrix @ covariance @ change.matrix.T
    means = family.means(S, V)
    share = samples.weight / samples.weight.sum()
    squares = np.sum(change(l) * np.linalg.solve(S, change(l).T).T, axis=1)
    of_means = np.sum(means * np.linalg.solve(S, means.T).T, axis=1)[samples.codes]
    q, m, k = float(share @ squares), float(share @ of_means), len(S)
    return S * (2 * q / (k + np.sqrt(k * k + 4 * m * q)))


def finish_base(Z: Floats, weight: Floats, change: AffineMap) -> tuple[Floats, Floats]:
    """The finish ``z @ matrix.T + offset`` for training samples at Z in base space.

    The residual loses its linear part in the ILRL, and is whitened with Ledoit and Wolf's
    shrinkage.
    """
    from sklearn.covariance import ledoit_wolf

    k, n = len(change.offset), Z.shape[1]
    matrix, offset = np.eye(n), np.zeros(n)
    matrix[:k, :k], offset[:k] = change.matrix, change.offset
    if n > k:
        root = np.sqrt(weight / weight.sum())[:, None]
        l, r = np.hstack([np.ones((len(Z), 1)), Z[:, :k]]), Z[:, k:]
        ridge = np.vstack([root * l, 1e-3 * np.eye(k + 1)])
        target = np.vstack([root * r, np.zeros((k + 1, n - k))])
        slopes = np.linalg.lstsq(ridge, target, rcond=None)[0]
        away = (r - l @ slopes) * root * np.sqrt(len(Z))
        varies = np.abs(away).max() > 1e-6  # not where all features depend on one another
        S = ledoit_wolf(away, assume_centered=True)[0] if varies else np.eye(n - k)
        values, vectors = np.linalg.eigh(np.atleast_2d(S))
        W = (vectors / np.sqrt(np.maximum(values, 1e-6 * values[-1]))) @ vectors.T
        matrix[k:, :k], matrix[k:, k:], offset[k:] = -W @ slopes[1:].T, W, -W @ slopes[0]
    return matrix, offset
