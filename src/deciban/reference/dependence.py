"""Dependent evidence from several systems, added up without counting twice.

With Σ_a the covariance of system a, v_i the rows of the contrast, B the stack of all Σ_a and S the
covariance of the stacked ILRLs, whose diagonal blocks are the Σ_a, the stacked mean of class i is
B v_i and a constant. The log-likelihood ratios of the stack are affine in it, and give

    A = S⁻¹ B    Σ_fused = Bᵀ S⁻¹ B    fused = Aᵀ (l + c / 2) − c_fused / 2,

with the mean −c / 2 of the class means. ``docs/ideas/dependent-evidence.md`` derives it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import block_diag

from deciban._validation.arrays import Floats, freeze, to_numpy
from deciban._validation.labels import align_by_index, encode_labels, read_labels
from deciban._validation.scalars import quote, quote_each, require_whole
from deciban.evidence import Evidence, Unit, from_nats
from deciban.exceptions import InputError, NotPositiveDefiniteError
from deciban.reference.calibrated_gaussian import CalibratedGaussian, align_families
from deciban.reference.family import center, is_positive, symmetrize
from deciban.simplex import Basis

_ROUNDING = 1e-12  # eigenvalues of a correlation matrix that count as zero
_PRIVATE = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # shares of noise that are not shared
_CLEAR_GAIN = 0.5  # nats of all samples by which a larger share must explain the labels better
_CANCELS = 1e-6  # share of the evidence in directions without noise that counts as none


class Dependence:
    r"""Dependence between the evidence from several calibrated systems.

    The ILRLs of K systems about the same D classes, stacked, are normal under each class with one
    covariance S. Its diagonal blocks are the covariances :math:`\Sigma_a` of calibrated families,
    which fix the means; the other blocks are the shared noise. The fused ILRL is affine in the
    stack, and it is calibrated again, with the covariance :math:`B^T S^{-1} B` in which B stacks
    the :math:`\Sigma_a`. Without shared noise it is the sum; the same evidence given twice counts
    once.

    Immutable. Build it from families and correlations, :meth:`from_covariance`, or :meth:`fit` it.

    Parameters
    ----------
    families : sequence of K CalibratedGaussian
        Of the same classes, one for each system; the first sets the basis and the order of classes.
    correlation : float, or array of shape (K, K) or (K (D - 1), K (D - 1))
        Correlation between the noise of the systems within a class: one for all, one for each pair
        of systems, or one for each pair of coordinates, which is the attribute. The noise of each
        system is whitened by the symmetric root of its covariance in the basis of the first family.

    Attributes
    ----------
    weights : array of shape (K, D - 1, D - 1)
        Matrices by which the ILRLs are multiplied; identities for independent systems. A weak
        system can have negative weights, which take noise away that it shares with a strong one.

    See Also
    --------
    deciban.Evidence.add : Adds up evidence with a dependence.
    deciban.calibration.FusionCalibrator : Learns weights of scores that need not be calibrated.

    Examples
    --------
    >>> voice = CalibratedGaussian.from_divergences([3.0])
    >>> face = CalibratedGaussian.from_divergences([2.0])
    >>> both = Dependence([voice, face], correlation=0.5)
    >>> both.family.divergences[0, 1].round(3)  # (3 + 2 - 2 * 0.5 * sqrt(3 * 2)) / (1 - 0.5**2)
    np.float64(3.401)
    >>> both.double_counting("nat")[0, 1].round(3)  # of the 5 nats that the sum would report
    np.float64(1.599)
    """

    families: tuple[CalibratedGaussian, ...]
    correlation: Floats
    weights: Floats
    _covariance: Floats

    def __init__(self, families: Sequence[CalibratedGaussian], correlation: ArrayLike) -> None:
        members = _align_families(families)
        R = _read_correlation(correlation, len(members), members[0].n_classes - 1)
        weights, covariance = _fuse(R, [_root(one.covariance) for one in members])
        object.__setattr__(self, "families", members)
        object.__setattr__(self, "correlation", freeze(R))
        object.__setattr__(self, "weights", freeze(weights))
        object.__setattr__(self, "_covariance", freeze(covariance))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Dependence is immutable; build a new one.")

    @classmethod
    def from_covariance(
        cls,
        covariance: ArrayLike,
        n_systems: int,
        basis: Basis | None = None,
        classes: Sequence[Hashable] | None = None,
    ) -> Dependence:
        """From the covariance of the stacked ILRLs within a class, of shape (K (D - 1), K (D - 1)).

        The D - 1 coordinates of the first of ``n_systems`` come first, then those of the second.
        """
        S = symmetrize(to_numpy(covariance, "covariance"), "covariance")
        K = require_whole(n_systems, "n_systems", 2)
        if len(S) % K:
            raise InputError(
                f"covariance must have D - 1 rows for each of {K} systems; got {len(S)} rows. "
                f"Correct n_systems."
            )
        k = len(S) // K
        blocks = [S[a * k : a * k + k, a * k : a * k + k] for a in range(K)]
        families = [CalibratedGaussian(block, basis, classes) for block in blocks]
        return cls(families, _whiten(S, [_root(one.covariance) for one in families]))

    @classmethod
    def fit(
        cls,
        systems: Sequence[Evidence],
        y_true: ArrayLike | Sequence[Hashable],
        families: Sequence[CalibratedGaussian] | None = None,
    ) -> Dependence:
        r"""The dependence of calibrated evidence, from labeled samples.

        Noise is the difference of ILRLs from the mean of their class in the family of their system.
        For three classes or more, the correlations of two systems are shrunk towards one number for
        all directions, by as much as their own errors of estimation ask for (Schäfer and Strimmer,
        2005). If one system would be subtracted from another and the labels speak against it, a
        share of the noise is taken as each system's own: near copies would otherwise be told apart
        by errors of estimation or of calibration.

        Parameters
        ----------
        systems : sequence of K Evidence
            Calibrated, about the same samples, matched by index.
        y_true : array of shape (n_samples,)
        families : sequence of K CalibratedGaussian, default fitted to each system

        Examples
        --------
        >>> family = CalibratedGaussian([[4.0]])
        >>> l, y = family.sample([100, 100], rng=0)
        >>> same = family.evidence(l)
        >>> Dependence.fit([same, same], y).combine(same, same).allclose(same)
        True
        """
        y_true, *given = align_by_index(y_true=y_true, **_read_systems(systems))
        if families is None:
            classes = given[0].classes
            families = [CalibratedGaussian.fit(one, y_true, classes=classes) for one in given]
        members = _align_families(families)
        if len(members) != len(given):
            raise InputError(
                f"families must hold one for each of {len(given)} systems; got {len(members)}."
            )
        codes = encode_labels(read_labels(y_true, len(given[0])), members[0].classes)
        if not len(codes):
            raise InputError("systems must have samples; got none. Give samples of each class.")
        noise = [
            np.linalg.solve(_root(one.covariance), (its.ilr(one.basis) - one.means[codes]).T).T
            for one, its in zip(members, given, strict=True)
        ]
        R = _estimate_correlation(np.stack(noise, axis=1))
        return _choose_private_share(members, R, given, codes)

    @cached_property
    def family(self) -> CalibratedGaussian:
        """The family of the fused evidence."""
        first = self.families[0]
        return CalibratedGaussian(self._covariance, first.basis, first.classes)

    def combine(self, *systems: Evidence) -> Evidence:
        """The evidence of all systems together, with nothing counted twice.

        One Evidence for each family, in their order, about the same samples; without zero
        likelihoods. See :meth:`deciban.Evidence.add` for an example.
        """
        given = align_by_index(**_read_systems(systems))
        if len(given) != len(self.families):
            raise InputError(
                f"systems must be {len(self.families)}, one for each family; got {len(given)}."
            )
        classes = self.family.classes
        wrong = [one.classes for one in given if {*one.classes} != {*classes}]
        if wrong:
            raise InputError(
                f"systems must be about the classes {quote_each(classes)} of the families; got "
                f"{quote_each(wrong[0])}. Pass classes= where the families are built."
            )
        basis = self.family.basis
        V = basis.contrast
        l = -center(self.family.covariance, V) * np.ones((len(given[0]), 1))
        for one, its, A in zip(self.families, given, self.weights, strict=True):
            l += (its.ilr(basis) + center(one.covariance, V)) @ A.T
        index = next((its.index for its in given if its.index is not None), None)
        return Evidence.from_unbounded_ilr(l, basis, classes, index)

    def double_counting(self, unit: Unit = "deciban") -> Floats:
        r"""How much the sum of the evidence overstates, (D, D): :math:`\sum_a d_a - d_{fused}`.

        The sum reports an LLR of :math:`\sum_a d_{a,ij}` on average if class i is true, and the
        systems together hold :math:`d_{fused,ij}`. A negative number means that the sum
        understates, since the systems tell more through their difference.
        """
        total = sum(one.divergences for one in self.families)
        return np.asarray(from_nats(total - self.family.divergences, unit))

    def canonical_correlations(self, a: int = 0, b: int = 1) -> Floats:
        """Canonical correlations of the noise of systems ``a`` and ``b`` within a class, (D - 1,).

        The largest comes first.
        """
        K, k = len(self.families), self.families[0].n_classes - 1
        a, b = (require_whole(at, name, 0, K - 1) for at, name in ((a, "a"), (b, "b")))
        block = self.correlation[a * k : a * k + k, b * k : b * k + k]
        return np.asarray(np.linalg.svd(block, compute_uv=False))

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return Dependence, (self.families, np.array(self.correlation))

    def __repr__(self) -> str:
        K, D = len(self.families), self.families[0].n_classes
        pairs = [(a, b) for a in range(K) for b in range(a)]
        top = max(float(self.canonical_correlations(a, b)[0]) for a, b in pairs)
        return f"<Dependence of {K} systems, {D} classes: canonical correlations up to {top:.3g}>"


def _choose_private_share(
    members: tuple[CalibratedGaussian, ...],
    R: Floats,
    systems: list[Evidence],
    codes: NDArray[np.intp],
) -> Dependence:
    """The dependence whose fused evidence explains the labels, with as little as needed added."""
    weight = 1 / np.bincount(codes)[codes]
    weight *= len(codes) / weight.sum()
    best, most = None, -np.inf
    for share in _PRIVATE:
        try:
            found = Dependence(members, (1 - share) * R + share * np.eye(len(R)))
        except NotPositiveDefiniteError:  # without noise a difference would be infinite evidence
            continue
        log_p = found.combine(*systems).log_posterior()[np.arange(len(codes)), codes]
        fit = float(weight @ log_p)
        if best is None or fit > most + _CLEAR_GAIN:
            best, most = found, fit
        if share == 0 and np.linalg.norm(found.weights, 2, axis=(1, 2)).max() <= 1 + _CANCELS:
            break  # no system is subtracted from another, which small errors would make wild
    return cast("Dependence", best)  # the last share leaves the identity


def _fuse(R: Floats, roots: list[Floats]) -> tuple[Floats, Floats]:
    values, vectors = np.linalg.eigh(R)
    smallest = float(values[0])
    if smallest < -_ROUNDING * len(R):
        raise NotPositiveDefiniteError(
            f"correlation must have no negative eigenvalue; its smallest is {smallest:.6g}. "
            f"Give correlations that can hold together, or fit them to evidence.",
            smallest_eigenvalue=smallest,
        )
    noisy = values > _ROUNDING * len(R)
    signal = vectors.T @ np.concatenate(roots)
    if np.linalg.norm(signal[~noisy]) > _CANCELS * np.linalg.norm(signal):
        raise NotPositiveDefiniteError(
            f"correlation must leave noise wherever the systems tell classes apart; its smallest "
            f"eigenvalue is {smallest:.3g}, and a difference between systems would be infinite "
            f"evidence. Give a smaller correlation, or one system.",
            smallest_eigenvalue=smallest,
        )
    # Directions without noise hold copies: what they differ in is nothing, and is left out.
    scaled = signal[noisy] / values[noisy, None]
    parts = np.split(vectors[:, noisy] @ scaled, len(roots))
    maps = [np.linalg.solve(root, part).T for root, part in zip(roots, parts, strict=True)]
    return np.stack(maps), signal[noisy].T @ scaled


def _root(sigma: Floats) -> Floats:
    """The symmetric root, which turns with the basis as a Cholesky factor does not."""
    values, vectors = np.linalg.eigh(sigma)
    return np.asarray((vectors * np.sqrt(values)) @ vectors.T)


def _whiten(S: Floats, roots: list[Floats]) -> Floats:
    inverse = block_diag(*map(np.linalg.inv, roots))
    R = inverse @ S @ inverse
    return np.asarray((R + R.T) / 2)


def _align_families(families: Sequence[CalibratedGaussian]) -> tuple[CalibratedGaussian, ...]:
    members = tuple(families) if isinstance(families, list | tuple) else ()
    if len(members) < 2 or not all(isinstance(one, CalibratedGaussian) for one in members):
        raise InputError(
            f"families must be two or more of CalibratedGaussian; got {quote(families)}."
        )
    return align_families(members, members[0].basis)


def _read_correlation(correlation: ArrayLike, K: int, k: int) -> Floats:
    """The correlation of all coordinates, with identities as its diagonal blocks."""
    R = to_numpy(correlation, "correlation")
    if R.ndim == 0:
        R = np.where(np.eye(K, dtype=bool), 1.0, float(R))
    R = symmetrize(R, "correlation")
    if len(R) == K:
        R = np.kron(R, np.eye(k))
    if len(R) != K * k:
        raise InputError(
            f"correlation must be a number, or have shape ({K}, {K}) or ({K * k}, {K * k}) for {K} "
            f"systems; got {R.shape}."
        )
    within = np.kron(np.eye(K), np.ones((k, k))) > 0
    if np.abs(R - np.eye(K * k))[within].max() > 1e-6:
        raise InputError(
            "correlation must have ones on its diagonal, and zeros between the coordinates of "
            "one system. Use Dependence.from_covariance for covariances."
        )
    return np.where(within, np.eye(K * k), R)


def _read_systems(systems: Sequence[Evidence]) -> dict[str, Evidence]:
    """Names and evidence of two or more systems about the same samples."""
    given = list(systems) if isinstance(systems, list | tuple) else []
    if len(given) < 2 or not all(isinstance(one, Evidence) for one in given):
        raise InputError(
            f"systems must be two or more of Evidence; got {quote(systems)}. Give one for each."
        )
    sizes = sorted({len(one) for one in given})
    if len(sizes) > 1:
        raise InputError(
            f"systems must have the same samples; got {sizes[0]} and {sizes[-1]} of them. Give all "
            f"systems the same samples in the same order."
        )
    return {f"systems[{k}]": evidence for k, evidence in enumerate(given)}


def _estimate_correlation(noise: Floats) -> Floats:
    """Correlation of noise of shape (n, K, k), shrunk to one number for a pair of systems."""
    n, K, k = noise.shape
    moments = noise.reshape(n, -1).T @ noise.reshape(n, -1) / n
    blocks = [moments[a * k : a * k + k, a * k : a * k + k] for a in range(K)]
    if n < 2 or not all(is_positive(np.linalg.eigvalsh(block)) for block in blocks):
        raise InputError(
            f"systems must have noise in all {k} directions; got {n} samples that do not. Give "
            f"more samples, or pass a correlation."
        )
    roots = [_root(block) for block in blocks]
    R = _whiten(moments, roots)
    if k == 1:
        return R
    flat = noise.reshape(n, -1) @ block_diag(*map(np.linalg.inv, roots))
    share = np.einsum("naj,nbj->ab", *[flat.reshape(n, K, k)] * 2) / (n * k)
    target = np.kron(share, np.eye(k))
    error = ((flat**2).T @ flat**2 / n - R**2) / (n - 1)
    across = np.kron(1 - np.eye(K), np.ones((k, k))) > 0
    gap = float(np.sum((R - target)[across] ** 2))
    amount = 1.0 if gap == 0 else min(1.0, float(error[across].sum()) / gap)
    return (1 - amount) * R + amount * target
