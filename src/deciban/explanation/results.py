"""Contributions of features to evidence, with their standard errors."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from deciban._validation.arrays import Floats
from deciban._validation.labels import index_of
from deciban._validation.scalars import quote, quote_each
from deciban.evidence import Evidence, Unit, from_nats
from deciban.exceptions import InputError


@dataclass(frozen=True, eq=False)
class ShapleyCompositions:
    r"""What each feature contributes to the evidence about each sample.

    Contributions are vectors of the Aitchison geometry, held as centered log-ratios in nats:
    :math:`\log w(x) = v(\emptyset) + \sum_j \phi_j` up to a constant, exactly. A prior moves the
    base and the total alike, so that contributions to the posterior are the same ones.

    Parameters
    ----------
    base : Evidence
        One row: the mean over the background, before any feature of the sample is known.
    contributions : array of shape (n_samples, n_features, n_classes)
        Each row sums to zero.
    features : tuple
        Names of the features or of the groups of features.
    draws : array of shape (n_draws, n_samples, n_features, n_classes), optional
        Contributions by each draw of two opposite orders of the features, where orders were
        sampled; their mean is ``contributions``.

    See Also
    --------
    deciban.shapley_compositions : Computes them.
    deciban.plots.ShapleyDisplay : Draws them.

    Examples
    --------
    >>> base = Evidence([[0.0, 0.0]], ["benign", "malignant"])
    >>> found = ShapleyCompositions(base, np.array([[[-1.0, 1.0], [0.2, -0.2]]]), ("size", "age"))
    >>> found.llr("malignant", "benign")
    array([[ 2. , -0.4]])
    >>> found.total.llr("malignant", "benign")
    array([1.6])
    """

    base: Evidence
    contributions: Floats
    features: tuple[Hashable, ...]
    draws: Floats | None = None

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """The classes, in the order of the last axis of the contributions."""
        return self.base.classes

    @property
    def total(self) -> Evidence:
        """The evidence about each sample: the base and all contributions."""
        return self.base + Evidence(self.contributions.sum(axis=1), self.classes)

    @property
    def is_exact(self) -> bool:
        """Whether every coalition of features was computed."""
        return self.draws is None

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of the contributions, of the same shape; zero where they are exact.

        They are those of the sampled orders; that the background is a sample, too, is not in them.
        """
        if self.draws is None:
            return np.zeros_like(self.contributions)
        return _standard_error(self.draws)

    def __getitem__(self, feature: Hashable) -> Evidence:
        """What one feature contributes to the evidence about each sample."""
        if feature not in self.features:
            raise InputError(
                f"feature must be one of {quote_each(self.features)}; got {quote(feature)}. Check "
                f"its spelling and its type."
            )
        return Evidence(self.contributions[:, self.features.index(feature)], self.classes)

    def llr(self, a: Hashable, b: Hashable, unit: Unit = "nat") -> Floats:
        """Contributions to the LLR of class ``a`` against class ``b``.

        Parameters
        ----------
        a, b : labels
            Single classes: the LLR of groups is no sum of contributions.
        unit : {"nat", "bit", "ban", "deciban"}

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        return np.asarray(from_nats(self._ratio(self.contributions, a, b), unit))

    def llr_standard_errors(self, a: Hashable, b: Hashable, unit: Unit = "nat") -> Floats:
        """Standard errors of :meth:`llr`; zero where contributions are exact.

        Parameters
        ----------
        a, b, unit
            As for :meth:`llr`.

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        if self.draws is None:
            return np.zeros(self.contributions.shape[:2])
        return np.asarray(from_nats(_standard_error(self._ratio(self.draws, a, b)), unit))

    def strength(self, unit: Unit = "nat") -> Floats:
        """Size of each contribution whatever its direction: its Aitchison norm.

        Parameters
        ----------
        unit : {"nat", "bit", "ban", "deciban"}

        Returns
        -------
        array of shape (n_samples, n_features)
        """
        return np.asarray(from_nats(np.linalg.norm(self.contributions, axis=-1), unit))

    def _ratio(self, values: Floats, a: Hashable, b: Hashable) -> Floats:
        first, second = (index_of(label, self.classes) for label in (a, b))
        return np.asarray(values[..., first] - values[..., second])


def _standard_error(draws: Floats) -> Floats:
    return np.asarray(draws.std(axis=0, ddof=1) / np.sqrt(len(draws)))
