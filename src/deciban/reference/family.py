"""The base of calibrated families: an ILRL is its own likelihood function.

One closed form holds in every basis. With V the contrast matrix, v_i its rows and G = V Σ Vᵀ:

    μ_i  = Σ v_i − ½ Vᵀ diag(G)
    d_ij = ½ (G_ii + G_jj − 2 G_ij)
    Σ    = −Vᵀ Δ V

The last line is the exact inverse of the one before, so that the covariance and the divergences
are two names for one thing. ``docs/ideas/closed-form.md`` derives it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence, Sized
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation.arrays import Floats, column_names, require_finite, row_index, to_numpy
from deciban._validation.labels import (
    align_by_index,
    as_labels,
    encode_labels,
    factorize_labels,
    index_of,
    label_array,
    read_labels,
    reorder_square,
)
from deciban._validation.scalars import Rng, as_generator, quote, require_one_of, require_whole
from deciban.evidence import Evidence
from deciban.evidence.evidence import require_moderate_ilrls
from deciban.exceptions import InputError
from deciban.simplex import Basis
from deciban.simplex.basis import basis_for

_CANCELLED = 1e-3  # of the size of its terms: a divergence under this has lost three digits
_SYMMETRY = 1e-8  # relative difference across the diagonal that counts as rounding


def center(covariance: Floats, contrast: Floats) -> Floats:
    """½ Vᵀ diag(G): minus the mean of the class means."""
    return contrast.T @ np.diag(contrast @ covariance @ contrast.T) / 2


def means(covariance: Floats, contrast: Floats) -> Floats:
    """Mean of the ILRL under each class; (D, D - 1)."""
    return contrast @ covariance - center(covariance, contrast)


def divergences(covariance: Floats, contrast: Floats) -> Floats:
    """Kullback-Leibler divergence between each pair of classes, in nats; (D, D)."""
    G = contrast @ covariance @ contrast.T
    G = (G + G.T) / 2
    g = np.diag(G)
    size = (g[:, None] + g[None, :]) / 2
    delta = size - G
    np.fill_diagonal(delta, 0.0)
    # Where two classes are close, the difference has cancelled; that of the rows has not.
    close = np.argwhere(np.triu(delta < _CANCELLED * size, 1))
    if len(close):
        W = contrast @ np.linalg.cholesky(covariance)
        for i in np.unique(close[:, 0]):
            j = close[close[:, 0] == i, 1]
            delta[i, j] = delta[j, i] = np.sum((W[i] - W[j]) ** 2, axis=1) / 2
    return delta


def covariance_of(delta: Floats, contrast: Floats) -> Floats:
    """Covariance of the family with these divergences; positive definite if there is one."""
    sigma = -contrast.T @ delta @ contrast
    return (sigma + sigma.T) / 2


def is_positive(eigenvalues: NDArray[np.floating[Any]]) -> bool:
    """Whether increasing eigenvalues are all above zero by more than rounding."""
    rounding = 16 * np.finfo(float).eps * len(eigenvalues) * abs(float(eigenvalues[-1]))
    return bool(eigenvalues[0] > rounding)


def read_pairwise(
    values: Any, classes: Sequence[Hashable] | None, name: str
) -> tuple[Floats, Sequence[Hashable] | None]:
    """A square matrix over pairs of classes, and the class labels if known.

    It may be given by its upper triangle, row by row. The rows and the columns of a frame are
    matched with the classes by name.
    """
    M = np.array(to_numpy(values, name))
    if M.ndim == 2 and M.shape[0] == M.shape[1] >= 2:
        if not hasattr(values, "columns"):
            return M, classes
        labels = as_labels(column_names(values) if classes is None else classes, len(M))
        return reorder_square(M, values, labels, name), labels
    D = (1 + math.isqrt(1 + 8 * M.size)) // 2
    if M.ndim != 1 or M.size < 1 or M.size != D * (D - 1) // 2:
        raise InputError(
            f"{name} must have shape (D, D), or (D (D - 1) / 2,) for the upper triangle; got shape "
            f"{M.shape}. Give one number for each pair of classes."
        )
    square = np.zeros((D, D))
    square[np.triu_indices(D, 1)] = M
    return square + square.T, classes


def symmetrize(M: Floats, name: str) -> Floats:
    """A matrix that is symmetric but for rounding, made symmetric to the last bit."""
    if M.ndim != 2 or M.shape[0] != M.shape[1] or M.shape[0] < 1:
        raise InputError(
            f"{name} must be a square matrix; got shape {M.shape}. The covariance of D classes has "
            f"D - 1 rows and columns."
        )
    require_finite(np, M, name)
    gap = float(np.abs(M - M.T).max())
    if gap > _SYMMETRY * float(np.abs(M).max()):
        raise InputError(
            f"{name} must be symmetric; two entries across its diagonal differ by {gap:.2g}. "
            f"Average it with its transpose if that is rounding."
        )
    return (M + M.T) / 2


class CalibratedFamily:
    """Base of the families: immutable, with a density of ILRLs for each class."""

    basis: Basis
    classes: tuple[Hashable, ...]
    means: Any  # of shape (D, D - 1)
    divergences: Any  # of shape (D, D), in nats
    log_density: Any  # of ILRLs under each class, (n_samples, D)
    place: Any  # ILRLs of these classes, given by position, from standard normals

    def _describe(self) -> str:
        upper = self.divergences[np.triu_indices(self.n_classes, 1)]
        low, high = f"{upper.min():.3g}", f"{upper.max():.3g}"
        span = low if low == high else f"{low} to {high}"
        return f"{self.n_classes} classes: divergences {span} nat"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} is immutable; build a new one.")

    @property
    def n_classes(self) -> int:
        """Number of classes, D."""
        return len(self.classes)

    def log_density_on_simplex(
        self, x: ArrayLike | Evidence, measure: Literal["aitchison", "lebesgue"] = "aitchison"
    ) -> Floats:
        """Log-density of likelihood functions on the simplex under each class, (n_samples, D).

        ``x`` holds likelihoods, strictly positive, of shape (n_samples, D), or is Evidence. The
        Aitchison measure gives the same density as in ILR space; the Lebesgue measure is that of
        the first D - 1 closed parts.
        """
        require_one_of(measure, "measure", ("aitchison", "lebesgue"))
        if not isinstance(x, Evidence):
            x = Evidence.from_likelihoods(x, self.classes)
        log_f = self.log_density(x)
        if measure == "aitchison":
            return np.asarray(log_f)
        log_x = x.log_posterior()  # closed, as the parts are
        return np.asarray(log_f - log_x.sum(axis=1, keepdims=True) - 0.5 * math.log(self.n_classes))

    def evidence(self, l: ArrayLike | Evidence) -> Evidence:
        """The evidence in an ILRL: the ILRL itself, since the family is calibrated."""
        evidence = Evidence.from_ilr(read_ilrls(l, self.basis), self.basis, self.classes)
        return evidence.with_index(row_index(l))

    def log_likelihood(
        self, ilrls: ArrayLike | Evidence, y_true: ArrayLike | Sequence[Hashable]
    ) -> float:
        """Log-likelihood of the family for labeled ILRLs, summed over the samples."""
        ilrls, y_true = align_by_index(ilrls=ilrls, y_true=y_true)
        log_f = self.log_density(ilrls)
        codes = encode_labels(read_labels(y_true, len(log_f)), self.classes)
        return float(log_f[np.arange(len(log_f)), codes].sum())

    def sample(self, label_or_counts: Any, rng: Rng = None, *, size: int | None = None) -> Any:
        """Draw ILRLs of one class, or by counts of each class, with their labels.

        A label gives an array of shape (size, D - 1); D counts, or a mapping from labels to counts,
        give ILRLs and labels.

        >>> from deciban import CalibratedGaussian
        >>> family = CalibratedGaussian([[2.0]], classes=["same", "other"])
        >>> family.sample("same", rng=0, size=3).shape
        (3, 1)
        >>> l, y = family.sample({"same": 2, "other": 1}, rng=0)
        >>> y.tolist()
        ['same', 'same', 'other']
        """
        generator = as_generator(rng)
        counts = _read_counts(label_or_counts, self.classes)
        if counts is None:
            k = index_of(label_or_counts, self.classes)
            at = np.full(require_whole(1 if size is None else size, "size"), k)
        elif size is not None:
            raise InputError(f"size must go with a label; got {quote(size)} with counts. Drop it.")
        else:
            at = np.repeat(np.arange(self.n_classes), counts)
        l = self.place(at, generator.standard_normal((len(at), self.n_classes - 1)), generator)
        return l if counts is None else (l, label_array(self.classes)[at])


def read_labeled_ilrls(
    ilrls: Any, y_true: Any, basis: Basis | None, classes: Sequence[Hashable] | None
) -> tuple[Floats, Basis]:
    """ILRLs and their basis, named after the classes; the labels are checked, and not needed."""
    ilrls, y_true = align_by_index(ilrls=ilrls, y_true=y_true)
    n_samples = len(ilrls) if isinstance(ilrls, Sized) else None
    labels = read_labels(y_true, n_samples)
    if classes is None:
        named = ilrls if isinstance(ilrls, Evidence) else basis
        classes = getattr(named, "classes", None) or factorize_labels(labels)[0]
    if len(classes) < 2:
        raise InputError(
            f"y_true must hold at least 2 classes; got {len(classes)}. Pass all of them as "
            f"classes if some have no sample."
        )
    names = as_labels(classes)
    basis = basis_for(basis, len(names)).align_to(names)
    encode_labels(labels, names)
    l = read_ilrls(ilrls, basis)
    require_moderate_ilrls(l, "ilrls")
    return l, basis


def read_ilrls(l: ArrayLike | Evidence, basis: Basis) -> Floats:
    """ILRLs in this basis, (n_samples, D - 1), from an array or from evidence."""
    if isinstance(l, Evidence):
        return l.ilr(basis)
    values = to_numpy(l, "l")
    D = basis.n_parts
    if values.ndim != 2 or values.shape[1] != D - 1:
        raise InputError(
            f"l must have shape (n_samples, {D - 1}), one ILRL on each row, for {D} classes; got "
            f"{values.shape}. Write [l] for a single ILRL; pass likelihoods and posteriors as "
            f"Evidence."
        )
    require_finite(np, values, "l")
    return values


def _read_counts(label_or_counts: Any, classes: tuple[Hashable, ...]) -> list[int] | None:
    """How many samples of each class; None for a label."""
    counts = label_or_counts
    names = column_names(counts)
    if names is not None:
        counts = dict(counts) if set(names) & set(classes) else np.asarray(counts)
    if isinstance(counts, Mapping):
        for label in counts:
            index_of(label, classes)
        counts = [counts.get(label, 0) for label in classes]
    elif not isinstance(counts, list | tuple | np.ndarray) or (
        isinstance(counts, tuple) and counts in classes
    ):
        return None
    if np.shape(counts) != (len(classes),):
        raise InputError(
            f"counts must hold one number for each of {len(classes)} classes; got shape "
            f"{np.shape(counts)}."
        )
    return [require_whole(count, "counts") for count in counts]
