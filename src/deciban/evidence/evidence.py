"""The object in which everything meets: a batch of likelihood functions over named classes."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation.arrays import (
    read_llrs,
    refuse_rows,
    require_finite,
    require_log_parts,
    require_nonnegative,
    require_table,
    to_numpy,
)
from deciban._validation.labels import as_labels, column_order
from deciban._validation.scalars import quote, require_one_of
from deciban.evidence.batch import ZERO_REMEDY, Batch
from deciban.evidence.bayes import Prior, log_prior, require_probabilities
from deciban.evidence.decisions import Decisions
from deciban.evidence.groups import find_members, name_group, pool_members, read_groups
from deciban.evidence.html import represent_rows
from deciban.evidence.units import SCALES, Unit, VerbalScale, from_nats, to_nats
from deciban.exceptions import InputError, ZeroPartsError
from deciban.simplex import Basis, logparts
from deciban.simplex.basis import basis_for

_LARGEST_ILRL = 1e12  # beside which float64 still holds four digits of the other coordinates


@runtime_checkable
class _Combines(Protocol):
    """What knows how the evidence of several systems goes together."""

    def combine(self, *systems: Evidence) -> Evidence: ...


class Evidence(Decisions):
    """A batch of likelihood functions: what each sample says about the classes, without a prior.

    Immutable. Held as natural logarithms in float64, defined up to a constant for each row.
    A zero likelihood is -inf: allowed wherever the result is defined, refused elsewhere.

    Parameters
    ----------
    log_likelihoods : array of shape (n_samples, n_classes)
        Natural logarithms, up to a constant for each row.
    classes : sequence of labels, default the columns of a frame, else 0 to n_classes - 1
        The classes in the order wanted. Columns of a frame that bear these names are put in this
        order; columns that bear none of them are taken as they come.

    See Also
    --------
    deciban.evidence_of : Evidence that a fitted estimator or pipeline gives.
    deciban.assess : How good evidence is, with intervals and verdicts.
    deciban.calibration.AffineCalibrator : Evidence that can be taken at face value, from scores.
    deciban.simplex : The geometry in which evidence is a vector.

    Examples
    --------
    >>> evidence = Evidence.from_likelihoods([[0.6, 0.3, 0.1]], classes=["cat", "dog", "bird"])
    >>> evidence
    Evidence: 1 sample, 3 classes; decibans below each sample's best class
       cat   dog  bird
    0  0.0  -3.0  -7.8
    >>> (evidence + evidence).posterior({"cat": 0.2, "dog": 0.2, "bird": 0.6}).round(2)
    array([[0.75, 0.19, 0.06]])
    """

    __slots__ = ()

    def __init__(
        self, log_likelihoods: ArrayLike, classes: Sequence[Hashable] | None = None
    ) -> None:
        name, remedy = "log_likelihoods", "for ratios of two classes use Evidence.from_llr"
        values, labels = _read_table(log_likelihoods, classes, name, remedy)
        require_log_parts(np, values, name)
        _warn_of_probabilities(values, name, "from_likelihoods")
        self._set(np.array(values), labels)

    @classmethod
    def _from_scores(cls, scores: ArrayLike, classes: Sequence[Hashable]) -> Evidence:
        """As the constructor, without its warning: scores may look like probabilities by chance."""
        values, labels = _read_table(scores, classes, "scores", "for one LLR use Evidence.from_llr")
        require_log_parts(np, values, "scores")
        return cls._wrap(np.array(values), labels)

    @classmethod
    def from_likelihoods(cls, w: ArrayLike, classes: Sequence[Hashable] | None = None) -> Evidence:
        """From likelihoods themselves; any scale for each row.

        Parameters
        ----------
        w : array of shape (n_samples, n_classes)
            Not negative; a zero rules a class out.
        classes : sequence of labels, optional
            As for the constructor.

        Returns
        -------
        Evidence

        Examples
        --------
        >>> Evidence.from_likelihoods([[0.2, 0.0]]).llr(0, 1)
        array([inf])
        """
        remedy = "for ratios of two classes use Evidence.from_llr(log(ratio))"
        values, labels = _read_table(w, classes, "w", remedy)
        require_nonnegative(np, values, "w", "For logarithms use Evidence(log_likelihoods).")
        with np.errstate(divide="ignore"):
            return cls._wrap(np.log(values), labels)

    @classmethod
    def from_posteriors(
        cls, p: ArrayLike, prior: Prior, classes: Sequence[Hashable] | None = None
    ) -> Evidence:
        r"""From posterior probabilities, by taking out the prior that they were made under.

        For a classifier that was trained on data, that is the class mix of the training data.

        Parameters
        ----------
        p : array of shape (n_samples, n_classes)
            Rows that sum to one.
        prior : array of shape (n_classes,) or (n_samples, n_classes), mapping, or None
            None is the uniform prior.
        classes : sequence of labels, optional
            As for the constructor.

        Returns
        -------
        Evidence
            Log-likelihoods :math:`\log p_k - \log \pi_k` of posteriors p and the prior :math:`\pi`.

        See Also
        --------
        from_log_posteriors : The same from logarithms or logits, which keep more digits.
        deciban.shift_prior : Posteriors under another prior, without evidence in between.

        Examples
        --------
        >>> Evidence.from_posteriors([[0.9, 0.1]], prior=[0.9, 0.1]).llr(0, 1).round(12)
        array([0.])
        """
        values, labels = _read_table(p, classes, "p", "for two classes np.column_stack([1 - p, p])")
        require_probabilities(values, "p")
        with np.errstate(divide="ignore"):
            return cls._wrap(np.log(values) - log_prior(prior, labels, len(values)), labels)

    @classmethod
    def from_log_posteriors(
        cls, log_p: ArrayLike, prior: Prior, classes: Sequence[Hashable] | None = None
    ) -> Evidence:
        """From logarithms of posteriors, or logits, by taking out the prior they were made under.

        Parameters
        ----------
        log_p : array of shape (n_samples, n_classes)
            Natural logarithms; a constant for each row does not matter.
        prior, classes
            As for :meth:`from_posteriors`.

        Returns
        -------
        Evidence

        Examples
        --------
        >>> Evidence.from_log_posteriors([[-800.0, -803.0]], prior=None).llr(0, 1)
        array([3.])
        """
        remedy = "for log-odds z of two classes np.column_stack([0 * z, z])"
        values, labels = _read_table(log_p, classes, "log_p", remedy)
        require_log_parts(np, values, "log_p")
        _warn_of_probabilities(values, "log_p", "from_posteriors")
        return cls._wrap(values - log_prior(prior, labels, len(values)), labels)

    @classmethod
    def from_ilr(
        cls, l: ArrayLike, basis: Basis | None = None, classes: Sequence[Hashable] | None = None
    ) -> Evidence:
        """From ILRLs: isometric-log-ratio coordinates of likelihood functions.

        Parameters
        ----------
        l : array of shape (n_samples, n_classes - 1)
            Between -1e12 and 1e12 where there are several coordinates: beside larger ones the
            others would be lost to rounding.
        basis : Basis, default Gram-Schmidt
            The classes of a named basis are taken over where ``classes`` is not given.
        classes : sequence of labels, optional

        Returns
        -------
        Evidence
            Log-likelihoods :math:`V l`, with V the contrast of the basis.

        See Also
        --------
        ilr : The way back.

        Examples
        --------
        >>> Evidence.from_ilr([[1.0, -2.0]]).ilr().round(12)
        array([[ 1., -2.]])
        """
        coordinates = to_numpy(l, "l")
        if coordinates.ndim != 2 or coordinates.shape[1] < 1:
            raise InputError(
                f"l must have shape (n_samples, n_classes - 1); got {coordinates.shape}. "
                f"Write [l] for one sample."
            )
        require_finite(np, coordinates, "l")
        if coordinates.shape[1] > 1:
            require_moderate_ilrls(coordinates, "l")
        D = coordinates.shape[1] + 1
        basis = basis_for(basis, D)
        labels = as_labels(basis.classes if classes is None else classes, D)
        return cls._from_ilr(coordinates, basis, labels)

    @classmethod
    def _from_ilr(
        cls, l: NDArray[np.float64], basis: Basis | None, classes: tuple[Hashable, ...]
    ) -> Evidence:
        """As :meth:`from_ilr`, for results that may be large where the input was."""
        basis = basis_for(basis, len(classes)).align_to(classes)
        return cls._wrap(logparts.ilr_inv(l, basis), classes)

    @classmethod
    def from_llr(
        cls, llr: ArrayLike, a: Hashable = 1, b: Hashable = 0, unit: Unit = "nat"
    ) -> Evidence:
        """From log-likelihood-ratios of class ``a`` against class ``b``: what :meth:`llr` gives.

        Parameters
        ----------
        llr : array of shape (n_samples,)
            May be infinite.
        a : label, default 1
            The class that a positive ratio supports. It becomes the second of the classes.
        b : label, default 0
            The other class.
        unit : {"nat", "bit", "ban", "deciban"}
            Unit of the ratios: "ban" for logarithms to the base 10.

        Returns
        -------
        Evidence
            Over the classes ``(b, a)``.

        Examples
        --------
        >>> Evidence.from_llr([2.0, -np.inf], "same source", "other source")
        Evidence: 2 samples, 2 classes; decibans below each sample's best class
           other source  same source
        0          -8.7          0.0
        1           0.0         -inf
        """
        ratios = to_nats(read_llrs(llr), unit)
        certain = ratios == np.inf
        against = np.where(certain, -np.inf, 0.0)
        values = np.column_stack([against, np.where(certain, 0.0, ratios)])
        return cls._wrap(values, as_labels([b, a], 2))

    def ilr(self, basis: Basis | None = None) -> NDArray[np.float64]:
        r"""The ILRLs, :math:`V^T \log w`: coordinates in which Bayes' rule is a sum.

        Parameters
        ----------
        basis : Basis, default Gram-Schmidt
            A named basis is matched with the classes by name.

        Returns
        -------
        array of shape (n_samples, n_classes - 1)

        See Also
        --------
        from_ilr : The way back.
        deciban.simplex.ilr : The same for compositions.

        Examples
        --------
        >>> a = Evidence.from_likelihoods([[0.6, 0.3, 0.1]])
        >>> b = Evidence.from_likelihoods([[0.2, 0.2, 0.6]])
        >>> bool(np.allclose((a + b).ilr(), a.ilr() + b.ilr()))
        True
        """
        self._require_no_zeros("ilr")
        basis = basis_for(basis, self.n_classes).align_to(self._classes)
        return np.asarray(logparts.ilr(self._log_likelihoods, basis))

    def add(self, *others: Evidence, dependence: _Combines | None = None) -> Evidence:
        """Evidence of several systems together: a sum that can be told what they share.

        Parameters
        ----------
        *others : Evidence
            About the same samples; classes are matched by name.
        dependence : deciban.reference.Dependence, optional
            How the systems depend on one another, with this one first. Without it they are taken
            as independent, as ``+`` does.

        Returns
        -------
        Evidence

        See Also
        --------
        deciban.reference.Dependence : Built from families and correlations, or fitted.

        Examples
        --------
        >>> from deciban import CalibratedGaussian
        >>> from deciban.reference import Dependence
        >>> a = Evidence.from_llr([2.0])
        >>> family = CalibratedGaussian.from_divergences([3.0])
        >>> a.add(a).llr(1, 0), a.add(a, dependence=Dependence([family] * 2, 1.0)).llr(1, 0)
        (array([4.]), array([2.]))
        """
        if dependence is None:
            return sum(others, start=self)
        if not isinstance(dependence, _Combines):
            raise InputError(
                f"dependence must be a deciban.reference.Dependence; got {quote(dependence)}. A "
                f"correlation alone does not say how strong each system is: build "
                f"Dependence(families, correlation)."
            )
        return dependence.combine(self, *others)

    def llr(
        self, a: Any, b: Any, unit: Unit = "nat", *, prior: Prior = None
    ) -> NDArray[np.float64]:
        r"""Log-likelihood-ratio of ``a`` against ``b``, :math:`\log w_a - \log w_b`.

        Parameters
        ----------
        a, b : labels, or lists, tuples or sets of labels
            A group has the mean of its members' likelihoods: see :meth:`group`. The two may share
            classes. A tuple that is itself a class is that class.
        unit : {"nat", "bit", "ban", "deciban"}
        prior : array or mapping, default uniform
            Prior of the classes, used within each group only.

        Returns
        -------
        array of shape (n_samples,)

        Examples
        --------
        >>> evidence = Evidence.from_likelihoods([[0.6, 0.3, 0.1]])
        >>> evidence.llr(0, 2, unit="deciban").round(2)
        array([7.78])
        >>> evidence.llr(0, (1, 2), unit="deciban").round(2)
        array([4.77])
        """
        plus, minus = find_members(a, self._classes), find_members(b, self._classes)
        p = log_prior(prior, self._classes, len(self))
        pooled = (pool_members(self._log_likelihoods, at, p) for at in (plus, minus))
        return np.asarray(from_nats(_difference(*pooled), unit))

    def llr_bounds(
        self, a: Any, b: Any, unit: Unit = "nat"
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Bounds of the LLR of two groups over all priors of the classes within them.

        A group's likelihood is a mean of its members' whatever the prior within, so that
        :math:`\log(\min_A w / \max_B w) \le \text{LLR} \le \log(\max_A w / \min_B w)`.
        No closer bounds hold for all priors.

        Parameters
        ----------
        a, b : labels, or lists, tuples or sets of labels
            Groups that share no class.
        unit : {"nat", "bit", "ban", "deciban"}

        Returns
        -------
        low, high : arrays of shape (n_samples,)
            Equal for two single classes.

        See Also
        --------
        llr : The LLR under one prior.

        Examples
        --------
        >>> evidence = Evidence.from_likelihoods([[0.6, 0.3, 0.1]], classes=["cat", "dog", "bird"])
        >>> low, high = evidence.llr_bounds(["cat", "dog"], "bird", unit="deciban")
        >>> low.round(2), high.round(2)
        (array([4.77]), array([7.78]))
        """
        plus, minus = find_members(a, self._classes), find_members(b, self._classes)
        if set(plus) & set(minus):
            raise InputError(
                f"a and b must share no class; got {quote(a)} and {quote(b)}. Name each class on "
                f"one side."
            )
        first, second = self._log_likelihoods[:, plus], self._log_likelihoods[:, minus]
        # Where all of one side is ruled out, the ratio is infinite under every prior.
        certain = _difference(first.max(axis=1), second.max(axis=1))
        with np.errstate(invalid="ignore"):
            low = first.min(axis=1) - second.max(axis=1)
            high = first.max(axis=1) - second.min(axis=1)
        low, high = (np.where(np.isinf(certain), certain, one) for one in (low, high))
        return np.asarray(from_nats(low, unit)), np.asarray(from_nats(high, unit))

    def group(
        self, groups: Mapping[Hashable, Any] | Sequence[Any], prior: Prior = None
    ) -> Evidence:
        r"""The evidence about groups of classes, each a composite hypothesis.

        The likelihood of a group is the mean of its members' likelihoods, weighted by the prior
        of each member given the group: :math:`w_G = \sum_{k \in G} p_k w_k / \sum_{k \in G} p_k`.
        Under that prior, the posterior of a group is the sum of its members' posteriors.

        Parameters
        ----------
        groups : mapping from names to a class or a list of classes, or list of these
            At least two that share no class. Classes in no group are left out, as by
            :meth:`restrict`. Without names, a group is called "a or b" after its members.
        prior : array of shape (n_classes,) or (n_samples, n_classes), or mapping
            Prior of the classes, used within each group only. By default uniform.

        Returns
        -------
        Evidence
            Over the groups.

        Examples
        --------
        >>> evidence = Evidence.from_likelihoods([[0.6, 0.3, 0.1]], classes=["cat", "dog", "bird"])
        >>> evidence.group({"pet": ["cat", "dog"], "bird": "bird"}).llr("pet", "bird").round(4)
        array([1.5041])
        >>> evidence.group((("cat", "dog"), "bird")).classes
        ('cat or dog', 'bird')
        """
        named = read_groups(groups, self._classes)
        p = log_prior(prior, self._classes, len(self))
        pooled = [pool_members(self._log_likelihoods, at, p) for at in named.values()]
        return self._wrap_if_possible(np.column_stack(pooled), tuple(named))

    def balance(self, group: Any, against: Any = None, unit: Unit = "nat") -> NDArray[np.float64]:
        r"""One class or group of classes against another: a coordinate of the simplex.

        With r classes against s, :math:`\sqrt{rs / (r + s)}` times the difference of their mean
        log-likelihoods. For two single classes it is the LLR over the square root of two. It is a
        direction, not support for a group of classes: that is :meth:`llr`.

        Parameters
        ----------
        group : label, or list of labels
        against : label, or list of labels, default all other classes
        unit : {"nat", "bit", "ban", "deciban"}

        Returns
        -------
        array of shape (n_samples,)

        Examples
        --------
        >>> Evidence.from_likelihoods([[8, 1, 1]]).balance(0, against=[1, 2]).round(4)
        array([1.6979])
        """
        plus = find_members(group, self._classes)
        if against is None:
            minus = [k for k in range(self.n_classes) if k not in plus]
        else:
            minus = find_members(against, self._classes)
        if not minus or len({*plus, *minus}) != len(plus) + len(minus):
            raise InputError(
                f"group and against must be non-empty and share no class; got {quote(group)} and "
                f"{quote(against)}. Name each class on one side."
            )
        r, s = len(plus), len(minus)
        single = r == s == 1  # a plain difference loses nothing
        values = self._log_likelihoods if single else self._below_best()
        difference = _difference(values[:, plus].mean(axis=1), values[:, minus].mean(axis=1))
        return np.asarray(from_nats(np.sqrt(r * s / (r + s)) * difference, unit))

    def strength(self, unit: Unit = "nat") -> NDArray[np.float64]:
        """Strength of the evidence whatever its direction: the Aitchison norm of each sample.

        The length of the ILRL: how far the posterior lies from the prior. Infinite where a class is
        ruled out.

        Parameters
        ----------
        unit : {"nat", "bit", "ban", "deciban"}

        Returns
        -------
        array of shape (n_samples,)

        Examples
        --------
        >>> Evidence.from_likelihoods([[1, 1, 1], [1, 2, 4], [1, 0, 0]]).strength().round(4)
        array([0.    , 0.9803,    inf])
        """
        finite = np.isfinite(self._log_likelihoods).all(axis=1)
        strength = np.full(len(self), np.inf)
        strength[finite] = logparts.norm(self._log_likelihoods[finite])
        return np.asarray(from_nats(strength, unit))

    def direction(self, basis: Basis | None = None) -> NDArray[np.float64]:
        """Where the evidence points: ILRLs of length one; zero where there is no evidence.

        Parameters
        ----------
        basis : Basis, default Gram-Schmidt

        Returns
        -------
        array of shape (n_samples, n_classes - 1)

        Examples
        --------
        >>> Evidence.from_ilr([[3.0, -4.0]]).direction().round(12)
        array([[ 0.6, -0.8]])
        """
        l = self.ilr(basis)
        largest = np.abs(l).max(axis=1, keepdims=True)  # its square may over- or underflow
        l = np.divide(l, largest, out=np.zeros_like(l), where=largest > 0)
        length = np.linalg.norm(l, axis=1, keepdims=True)
        return np.divide(l, length, out=l, where=length > 0)

    def in_unit(self, unit: Unit) -> NDArray[np.float64]:
        """The log-likelihoods in nats, bits, bans or decibans.

        Parameters
        ----------
        unit : {"nat", "bit", "ban", "deciban"}

        Returns
        -------
        array of shape (n_samples, n_classes)

        Examples
        --------
        >>> Evidence.from_likelihoods([[100.0, 1.0]]).in_unit("deciban").round(10)
        array([[20.,  0.]])
        """
        return np.asarray(from_nats(self._log_likelihoods, unit))

    def verbal(
        self, a: Any, b: Any, scale: str | VerbalScale = "enfsi", *, prior: Prior = None
    ) -> NDArray[np.str_]:
        """The LLR of ``a`` against ``b`` in words.

        Parameters
        ----------
        a, b, prior
            As for :meth:`llr`.
        scale : {"enfsi", "jeffreys", "kass-raftery"} or VerbalScale
            ``deciban.evidence.SCALES[name].source`` says where each comes from.

        Returns
        -------
        array of str of shape (n_samples,)

        Examples
        --------
        >>> Evidence.from_llr(np.log([30.0])).verbal(1, 0)[0]
        np.str_('moderate support for 1 over 0')
        """
        if not isinstance(scale, VerbalScale):
            scale = SCALES[require_one_of(scale, "scale, if not a VerbalScale,", SCALES)]
        llr = self.llr(a, b, prior=prior)
        names = (name_group(find_members(one, self._classes), self._classes) for one in (a, b))
        return scale.describe(llr, *names)

    def explore(self, y_true: ArrayLike | Sequence[Hashable] | None = None) -> Any:
        """The explorer with this evidence, in a notebook; needs the extra ``notebook``.

        Parameters
        ----------
        y_true : array of shape (n_samples,), optional
            The true class of each sample, for figures that show how good the evidence is.

        Returns
        -------
        widget
            A notebook shows it; its ``html`` is the page, which opens from disk, too.

        See Also
        --------
        deciban.report.explorer : The same page as a file.
        """
        # The front end is the layer above all others, so it is looked up only when it is asked for.
        return importlib.import_module("deciban.report.notebook").explore(self, y_true)

    def _repr_html_(self) -> str:
        """The first samples in words and bars, for notebooks."""
        return represent_rows(self._log_likelihoods, self._classes)


def _difference(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Difference of log-likelihoods; raise where both likelihoods are zero."""
    refuse_rows(
        (first == -np.inf) & (second == -np.inf),
        "one of the likelihoods compared must be positive",
        "has zeros only",
        ZERO_REMEDY,
        ZeroPartsError,
    )
    return first - second


def _read_table(
    table: ArrayLike, classes: Sequence[Hashable] | None, name: str, if_two_classes: str
) -> tuple[NDArray[np.float64], tuple[Hashable, ...]]:
    """Values and class labels of a table, its columns in the order of the classes."""
    if isinstance(table, Batch):
        labels = table.classes if classes is None else as_labels(classes)
        return table._columns_for(labels), labels
    values = to_numpy(table, name)
    require_table(values, name, if_two_classes)
    labels, order = column_order(table, classes, values.shape[1], name)
    return values if order is None else values[:, order], labels


def _warn_of_probabilities(values: NDArray[np.float64], name: str, instead: str) -> None:
    """Warn where values given as logarithms lie in [0, 1] and sum to one in every row."""
    first = values[:1]
    if not np.isclose(first.sum(), 1) or first.min() < 0 or np.array_equal(first, first.round()):
        return
    if values.min() >= 0 and np.allclose(values.sum(axis=1), 1):
        warnings.warn(
            f"{name} should be logarithms; every row is positive and sums to one. If they are "
            f"probabilities, use Evidence.{instead}.",
            stacklevel=3,
        )


def require_moderate_ilrls(l: NDArray[np.float64], name: str) -> None:
    """Raise for coordinates so large that others would be lost to rounding, or squares overflow."""
    largest = np.abs(l).max(axis=1, initial=0)
    must = f"{name} must lie between -1e12 and 1e12 nats"
    refuse_rows(largest > _LARGEST_ILRL, must, "reaches", "Bound it.", values=largest)


def shift_prior(posteriors: ArrayLike, old: Prior, new: Prior) -> NDArray[np.float64]:
    r"""Posteriors made under one prior as they are under another.

    :math:`q_k \propto p_k \pi'_k / \pi_k` for posteriors p, the old prior :math:`\pi` and the new
    :math:`\pi'`.

    Parameters
    ----------
    posteriors : array of shape (n_samples, n_classes)
        Rows that sum to one.
    old, new : arrays of shape (n_classes,) or (n_samples, n_classes), or None
        None is the uniform prior.

    Returns
    -------
    array of shape (n_samples, n_classes)

    See Also
    --------
    deciban.Evidence.from_posteriors : Evidence instead, to which any prior can be applied later.
    deciban.Evidence.estimate_prior : The new prior from unlabeled samples.

    Examples
    --------
    >>> shift_prior([[0.5, 0.5]], old=[0.5, 0.5], new=[0.9, 0.1])
    array([[0.9, 0.1]])
    """
    return Evidence.from_posteriors(posteriors, old).posterior(new)
