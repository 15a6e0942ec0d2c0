"""The object in which everything meets: a batch of likelihood functions over named classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from deciban._arrays import (
    as_labels,
    columns_of,
    index_of,
    label_array,
    require_finite,
    require_log_parts,
    require_nonnegative,
    to_numpy,
)
from deciban.evidence import decisions
from deciban.evidence.batch import Batch
from deciban.evidence.priors import log_prior, require_probabilities
from deciban.evidence.units import Unit, from_nats
from deciban.evidence.verbal import VerbalScale, scale_named
from deciban.exceptions import InputError, ZeroPartsError
from deciban.simplex import Basis, logparts
from deciban.simplex.zeros import Method

_ZERO_REMEDY = "Call evidence.replace_zeros(), or leave the class out with evidence.restrict()."


class Evidence(Batch):
    """A batch of likelihood functions: what each sample says about the classes, no prior in it.

    Immutable. Held as natural logarithms in float64, defined up to a constant for each row.
    A zero likelihood is -inf: allowed wherever the result is defined, refused elsewhere.

    Parameters
    ----------
    log_likelihoods : array of shape (n_samples, n_classes)
        Natural logarithms, up to a constant for each row.
    classes : sequence of labels, default 0 to n_classes - 1

    Examples
    --------
    >>> evidence = Evidence.from_likelihoods([[0.6, 0.3, 0.1]], classes=["cat", "dog", "bird"])
    >>> evidence
    Evidence: 1 sample, 3 classes; decibans below each sample's best class
       cat   dog  bird
    0  0.0  -3.0  -7.8
    >>> (evidence + evidence).posterior({"cat": 0.2, "dog": 0.2, "bird": 0.6}).round(3)
    array([[0.75 , 0.188, 0.063]])
    """

    __slots__ = ()

    def __init__(self, log_likelihoods: Any, classes: Sequence[Hashable] | None = None) -> None:
        values = np.array(to_numpy(log_likelihoods, "log_likelihoods"))
        _require_table(values, "log_likelihoods")
        require_log_parts(np, values, "log_likelihoods")
        self._set(values, as_labels(classes, values.shape[1]))

    # --- ways in ----------------------------------------------------------------------

    @classmethod
    def from_likelihoods(cls, w: Any, classes: Sequence[Hashable] | None = None) -> Evidence:
        """From likelihoods themselves, of shape (n_samples, n_classes); any scale for each row.

        Examples
        --------
        >>> Evidence.from_likelihoods([[0.2, 0.0]]).llr(0, 1)
        array([inf])
        """
        w = to_numpy(w, "w")
        _require_table(w, "w")
        require_nonnegative(np, w, "w")
        with np.errstate(divide="ignore"):
            return cls._checked(np.log(w), as_labels(classes, w.shape[1]))

    @classmethod
    def from_posteriors(
        cls, p: Any, prior: Any, classes: Sequence[Hashable] | None = None
    ) -> Evidence:
        """From posterior probabilities, by taking out the prior that they were made under.

        For a classifier that was trained on data, that is the class mix of the training data.

        Parameters
        ----------
        p : array of shape (n_samples, n_classes)
            Rows that sum to one.
        prior : array of shape (n_classes,) or (n_samples, n_classes), mapping, or None
            None is the uniform prior.
        classes : sequence of labels, optional

        Examples
        --------
        >>> Evidence.from_posteriors([[0.9, 0.1]], prior=[0.9, 0.1]).llr(0, 1).round(12)
        array([0.])
        """
        p = to_numpy(p, "p")
        _require_table(p, "p")
        require_probabilities(p, "p")
        with np.errstate(divide="ignore"):
            return cls.from_log_posteriors(np.log(p), prior, classes)

    @classmethod
    def from_log_posteriors(
        cls, log_p: Any, prior: Any, classes: Sequence[Hashable] | None = None
    ) -> Evidence:
        """From logarithms of posteriors, or logits: a constant for each row does not matter.

        Parameters
        ----------
        log_p : array of shape (n_samples, n_classes)
        prior : array, mapping or None
            As for :meth:`from_posteriors`.
        classes : sequence of labels, optional
        """
        evidence = cls(log_p, classes)
        values = evidence._log_likelihoods
        return cls._checked(
            values - log_prior(prior, evidence.classes, len(values)), evidence.classes
        )

    @classmethod
    def from_ilr(
        cls, l: Any, basis: Basis | None = None, classes: Sequence[Hashable] | None = None
    ) -> Evidence:
        """From ILRLs: isometric-log-ratio coordinates of likelihood functions.

        Parameters
        ----------
        l : array of shape (n_samples, n_classes - 1)
        basis : Basis, default Gram-Schmidt
            The classes of a named basis are taken over where ``classes`` is not given.
        classes : sequence of labels, optional

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
        if classes is None and basis is not None:
            classes = basis.classes
        labels = as_labels(classes, coordinates.shape[1] + 1)
        basis = _aligned(basis, labels)
        return cls._checked(logparts.ilr_inv(coordinates, basis), labels)

    @classmethod
    def from_llr(cls, llr: Any, classes: Sequence[Hashable] | None = None) -> Evidence:
        """From log-likelihood-ratios (nats) of two classes, in favour of the second: class 1.

        Parameters
        ----------
        llr : array of shape (n_samples,)
            May be infinite.
        classes : pair of labels, default (0, 1)

        Examples
        --------
        >>> Evidence.from_llr([2.0, -np.inf]).llr(1, 0)
        array([  2., -inf])
        """
        llr = to_numpy(llr, "llr")
        if llr.ndim == 2 and llr.shape[1] == 1:
            llr = llr[:, 0]
        if llr.ndim != 1:
            raise InputError(
                f"llr must have shape (n_samples,); got {llr.shape}. Give one ratio for each "
                f"sample; for more than two classes use Evidence(log_likelihoods)."
            )
        if np.isnan(llr).any():
            row = int(np.flatnonzero(np.isnan(llr))[0])
            raise InputError(
                f"llr must hold no NaN; sample {row} is NaN. Drop or impute it first.", rows=[row]
            )
        certain = llr == np.inf
        against = np.where(certain, -np.inf, 0.0)
        return cls._checked(
            np.column_stack([against, np.where(certain, 0.0, llr)]), as_labels(classes, 2)
        )

    @classmethod
    def from_frame(cls, frame: Any, classes: Sequence[Hashable] | None = None) -> Evidence:
        """From a pandas or polars frame of log-likelihoods with one column for each class.

        Parameters
        ----------
        frame : DataFrame
            The column names are the classes.
        classes : sequence of labels, optional
            In place of the column names, in the order of the columns.
        """
        columns = columns_of(frame)
        if columns is None:
            raise InputError(
                f"frame must be a pandas or polars DataFrame; got {type(frame).__name__}. "
                f"For arrays use Evidence(log_likelihoods)."
            )
        return cls(frame, columns if classes is None else classes)

    # --- what it is -------------------------------------------------------------------

    def ilr(self, basis: Basis | None = None) -> np.ndarray:
        """The ILRLs: coordinates in which Bayes' rule is a sum, (n_samples, n_classes - 1).

        Parameters
        ----------
        basis : Basis, default Gram-Schmidt
            A named basis is matched with the classes by name.
        """
        self._require_no_zeros("ilr")
        return np.asarray(logparts.ilr(self._log_likelihoods, _aligned(basis, self._classes)))

    def llr(self, a: Hashable, b: Hashable, unit: Unit = "nat") -> np.ndarray:
        """Log-likelihood-ratio of class ``a`` against class ``b``, for each sample.

        Examples
        --------
        >>> Evidence.from_likelihoods([[0.6, 0.3, 0.1]]).llr(0, 2, unit="deciban").round(2)
        array([7.78])
        """
        i, j = index_of(a, self._classes), index_of(b, self._classes)
        return np.asarray(from_nats(self._difference([i], [j]), unit))

    def balance(self, group: Any, against: Any = None, unit: Unit = "nat") -> np.ndarray:
        """One class or group of classes against another: a coordinate of the simplex.

        With r classes against s, :math:`sqrt(rs / (r + s))` times the difference of their mean
        log-likelihoods. For two single classes it is the LLR over the square root of two.

        Parameters
        ----------
        group, against : label, or list of labels
            By default against all other classes.
        unit : {"nat", "bit", "ban", "deciban"}

        Examples
        --------
        >>> Evidence.from_likelihoods([[8, 1, 1]]).balance(0, against=[1, 2]).round(4)
        array([1.6979])
        """
        plus = self._positions(group)
        if against is None:
            minus = [k for k in range(self.n_classes) if k not in plus]
        else:
            minus = self._positions(against)
        if not plus or not minus or len({*plus, *minus}) != len(plus) + len(minus):
            raise InputError(
                f"group and against must be non-empty and share no class; got {group!r} and "
                f"{against!r}. Name each class on one side."
            )
        r, s = len(plus), len(minus)
        return np.asarray(from_nats(np.sqrt(r * s / (r + s)) * self._difference(plus, minus), unit))

    def strength(self, unit: Unit = "nat") -> np.ndarray:
        """Strength of the evidence whatever its direction: the Aitchison norm of each sample.

        It is how far the posterior lies from the prior; infinite where a class is ruled out.

        Examples
        --------
        >>> Evidence.from_likelihoods([[1, 1, 1], [1, 2, 4], [1, 0, 0]]).strength().round(4)
        array([0.    , 0.9803,    inf])
        """
        finite = np.isfinite(self._log_likelihoods).all(axis=1)
        strength = np.full(len(self), np.inf)
        strength[finite] = logparts.norm(self._log_likelihoods[finite])
        return np.asarray(from_nats(strength, unit))

    def direction(self, basis: Basis | None = None) -> np.ndarray:
        """Where the evidence points: ILRLs of length one; zero where there is no evidence."""
        l = self.ilr(basis)
        length = np.linalg.norm(l, axis=1, keepdims=True)
        return np.divide(l, length, out=np.zeros_like(l), where=length > 0)

    def in_unit(self, unit: Unit) -> np.ndarray:
        """The log-likelihoods in nats, bits, bans or decibans, (n_samples, n_classes).

        Examples
        --------
        >>> Evidence.from_likelihoods([[100.0, 1.0]]).in_unit("deciban").round(10)
        array([[20.,  0.]])
        """
        return np.asarray(from_nats(self._log_likelihoods, unit))

    def verbal(self, a: Hashable, b: Hashable, scale: str | VerbalScale = "enfsi") -> np.ndarray:
        """The LLR of ``a`` against ``b`` in words.

        Parameters
        ----------
        a, b : labels
        scale : {"enfsi", "jeffreys", "kass-raftery"} or VerbalScale
            ``deciban.evidence.SCALES[name].source`` says where each comes from.

        Examples
        --------
        >>> Evidence.from_llr(np.log([30.0])).verbal(1, 0)[0]
        np.str_('moderate support for 1 over 0')
        """
        return scale_named(scale).describe(self.llr(a, b), a, b)

    # --- Bayes ------------------------------------------------------------------------

    def posterior(self, prior: Any = None) -> np.ndarray:
        """Posterior probabilities under a prior: Bayes' rule, (n_samples, n_classes).

        Parameters
        ----------
        prior : array of shape (n_classes,) or (n_samples, n_classes), or mapping
            Positive for every class, summing to one. By default uniform.
        """
        return np.exp(self.log_posterior(prior))

    def log_posterior(self, prior: Any = None) -> np.ndarray:
        """Natural logarithms of the posterior probabilities; see :meth:`posterior`."""
        total = self._log_likelihoods + log_prior(prior, self._classes, len(self))
        return np.asarray(logparts.closure(total)) if len(self) else total

    def decide(
        self,
        costs: Any = None,
        prior: Any = None,
        *,
        reject_cost: float | None = None,
        reject_label: Hashable = None,
    ) -> np.ndarray:
        """The class to decide for at minimum expected cost, for each sample.

        Parameters
        ----------
        costs : array of shape (n_classes, n_classes), optional
            ``costs[i, j]`` is what it costs to decide for class j when class i is true. By
            default every error costs 1. Ties go to the first class.
        prior : array or mapping, default uniform
        reject_cost : float, optional
            What it costs not to decide. Without it every sample is decided.
        reject_label : object, default None
            What stands for a sample that is not decided.

        Returns
        -------
        array of shape (n_samples,)
            Class labels; of dtype object where ``reject_cost`` is given.

        Examples
        --------
        >>> e = Evidence.from_likelihoods([[0.7, 0.3], [0.95, 0.05]], classes=["no", "yes"])
        >>> e.decide(costs=[[0, 1], [10, 0]])
        array(['yes', 'no'], dtype='<U3')
        >>> e.decide(reject_cost=0.1)
        array([None, 'no'], dtype=object)
        """
        choice = decisions.least_cost(self.log_posterior(prior), costs, reject_cost)
        if reject_cost is None:
            return label_array(self._classes)[choice]
        labels = np.empty(len(self._classes) + 1, dtype=object)
        labels[:-1] = label_array(self._classes).tolist()
        labels[decisions.REJECT] = reject_label
        return labels[choice]

    # --- the vector space -------------------------------------------------------------

    def __add__(self, other: object) -> Evidence:
        """Independent evidence adds up; classes are matched by name."""
        if not isinstance(other, Evidence):
            return NotImplemented
        total = self._paired(other, np.add)
        _require_possible(total)
        return Evidence._checked(total, self._classes)

    def __radd__(self, other: object) -> Evidence:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # for sum()

    def __sub__(self, other: object) -> Evidence:
        """Evidence taken back, such as a part that was counted twice."""
        if not isinstance(other, Evidence):
            return NotImplemented
        other._require_no_zeros("subtraction")
        return Evidence._checked(self._paired(other, np.subtract), self._classes)

    def __mul__(self, factor: object) -> Evidence:
        """Evidence made stronger or weaker by a finite factor."""
        if not isinstance(factor, int | float | np.number) or isinstance(factor, bool):
            return NotImplemented
        if not np.isfinite(factor):
            raise InputError(f"factor must be finite; got {factor}. Give a number.")
        if factor <= 0:
            self._require_no_zeros("a factor that is not positive")
        return Evidence._checked(self._log_likelihoods * float(factor), self._classes)

    __rmul__ = __mul__

    def __neg__(self) -> Evidence:
        return self * -1.0

    def sum(self) -> Evidence:
        """All samples as independent evidence about one case: one row."""
        total = self._below_best().sum(axis=0, keepdims=True)
        _require_possible(total)
        return Evidence._checked(total, self._classes)

    # --- other classes ----------------------------------------------------------------

    def restrict(self, classes: Sequence[Hashable]) -> Evidence:
        """The evidence about some of the classes, in the order given: a subcomposition."""
        if isinstance(classes, str | bytes):
            raise InputError(f"classes must be a list of labels; got {classes!r}. Write a list.")
        positions = [index_of(label, self._classes) for label in classes]
        if len(positions) < 2:
            raise InputError(
                f"classes must name at least two classes; got {len(positions)}. Evidence compares."
            )
        values = self._log_likelihoods[:, positions]
        _require_possible(values)
        return Evidence._checked(values, as_labels(classes, len(positions)))

    def replace_zeros(
        self, method: Method = "multiplicative", *, log_delta: float | None = None
    ) -> Evidence:
        """Evidence with a small likelihood in the place of each zero.

        Parameters
        ----------
        method : {"multiplicative", "additive", "simple"}
        log_delta : float, default -2 log(n_classes)
            Logarithm of the likelihood that replaces a zero, where the likelihoods of each
            sample sum to one. It says how much your model can be trusted to rule a class out.
        """
        if len(self) == 0:
            return self
        values = logparts.replace_zeros(self._log_likelihoods, method, log_delta=log_delta)
        return Evidence._checked(np.asarray(values), self._classes)

    # --- inside -----------------------------------------------------------------------

    def _paired(self, other: Evidence, combine: np.ufunc) -> np.ndarray:
        if len(self) != len(other) and 1 not in (len(self), len(other)):
            raise InputError(
                f"evidence must pair sample by sample; got {len(self)} and {len(other)} samples. "
                f"Give both as many, or one of them a single sample."
            )
        result: np.ndarray = combine(self._log_likelihoods, other._values_for(self._classes))
        return result

    def _below_best(self) -> np.ndarray:
        # Sums of offsets of -1e6 would drown the differences, which are all that counts.
        return self._log_likelihoods - self._log_likelihoods.max(axis=1, keepdims=True)

    def _positions(self, group: Any) -> list[int]:
        if isinstance(group, list | set | frozenset | np.ndarray) or (
            isinstance(group, tuple) and group not in self._classes
        ):
            return [index_of(label, self._classes) for label in group]
        return [index_of(group, self._classes)]

    def _difference(self, plus: list[int], minus: list[int]) -> np.ndarray:
        values = self._below_best()
        first, second = values[:, plus].mean(axis=1), values[:, minus].mean(axis=1)
        both = np.flatnonzero((first == -np.inf) & (second == -np.inf))
        if both.size:
            raise ZeroPartsError(
                f"likelihoods compared must not both be zero; they are in row {both[0]}. "
                f"{_ZERO_REMEDY}",
                rows=both[:5].tolist(),
            )
        return np.asarray(first - second)

    def _require_no_zeros(self, what: str) -> None:
        rows = np.flatnonzero((self._log_likelihoods == -np.inf).any(axis=1))
        if rows.size:
            raise ZeroPartsError(
                f"likelihoods must be positive for {what}; row {rows[0]} has a zero. "
                f"{_ZERO_REMEDY}",
                rows=rows[:5].tolist(),
            )


def shift_prior(posteriors: Any, old: Any, new: Any) -> np.ndarray:
    """Posteriors made under one prior, as they are under another.

    Parameters
    ----------
    posteriors : array of shape (n_samples, n_classes)
    old, new : array of shape (n_classes,) or (n_samples, n_classes), or None for uniform

    Returns
    -------
    array of shape (n_samples, n_classes)

    Examples
    --------
    >>> shift_prior([[0.5, 0.5]], old=[0.5, 0.5], new=[0.9, 0.1])
    array([[0.9, 0.1]])
    """
    return Evidence.from_posteriors(posteriors, old).posterior(new)


def _require_table(values: np.ndarray, name: str) -> None:
    if values.ndim != 2 or values.shape[1] < 2:
        raise InputError(
            f"{name} must have shape (n_samples, n_classes) with two classes or more; got "
            f"{values.shape}. Write [{name}] for one sample; for ratios of two classes use "
            f"Evidence.from_llr."
        )


def _require_possible(log_likelihoods: np.ndarray) -> None:
    rows = np.flatnonzero(log_likelihoods.max(axis=1) == -np.inf)
    if rows.size:
        raise ZeroPartsError(
            f"evidence must leave at least one class possible; row {rows[0]} rules out all. "
            f"{_ZERO_REMEDY}",
            rows=rows[:5].tolist(),
        )


def _aligned(basis: Basis | None, classes: tuple[Hashable, ...]) -> Basis | None:
    """A named basis in the order of the classes; an unnamed one as it is."""
    if not isinstance(basis, Basis) or basis.classes is None:
        return basis
    return basis.aligned_to(classes)
