"""The object in which everything meets: a batch of likelihood functions over named classes."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from deciban._validation import arrays, scalars
from deciban._validation.arrays import Floats
from deciban._validation.labels import (
    align_by_index,
    as_labels,
    column_order,
    encode_labels,
    index_of,
    label_array,
    read_labels,
)
from deciban._validation.scalars import Rng, is_number, is_whole, quote, quote_each
from deciban.evidence import bayes, class_mix
from deciban.evidence.bayes import Costs, Prior
from deciban.evidence.html import represent_rows
from deciban.evidence.prediction_sets import PredictionSets, conformal_sets, smallest_sets
from deciban.evidence.units import SCALES, Unit, VerbalScale, from_nats, to_nats
from deciban.exceptions import InputError, ZeroPartsError
from deciban.simplex import Basis, logparts
from deciban.simplex.basis import basis_for
from deciban.simplex.samples import Method

_LARGEST_ILRL = 1e12  # beside which float64 still holds four digits of the other coordinates
_ALPHA_REMEDY = "Give 0.1 for sets that hold in 90 % of cases."
_ZERO_REMEDY = (
    "Call evidence.replace_zeros(log_delta=...), or leave the class out with evidence.restrict."
)


class Evidence:
    """A batch of likelihood functions: evidence about the classes, without a prior.

    Immutable. Held as natural logarithms in float64, defined up to a constant for each row.
    A zero likelihood is -inf: allowed wherever the result is defined, refused elsewhere.

    Evidence from a pandas frame or series keeps its index. If both sides have one, sums, metrics
    and assessments match samples by index, and different labels are an error. Otherwise samples
    are matched by position.

    Parameters
    ----------
    log_likelihoods : array of shape (n_samples, n_classes)
        Natural logarithms, up to a constant for each row.
    classes : sequence of labels, default the columns of a frame, else 0 to n_classes - 1
        Class labels, in the order you want. Columns of a frame with these names are put in this
        order; columns with none of these names are renamed.

    Attributes
    ----------
    log_likelihoods, classes
        The parameters, read-only: an array in float64, and a tuple.
    index : pandas Index of the samples, or None

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

    __slots__ = ("classes", "index", "log_likelihoods")
    __array_ufunc__ = None  # NumPy's operators would forget the classes
    classes: tuple[Hashable, ...]
    index: Any
    log_likelihoods: Floats

    def __init__(
        self, log_likelihoods: ArrayLike, classes: Sequence[Hashable] | None = None
    ) -> None:
        name, remedy = "log_likelihoods", "for ratios of two classes use Evidence.from_llr"
        values, labels = _read_table(log_likelihoods, classes, name, remedy)
        arrays.require_log_parts(np, values, name)
        _warn_of_probabilities(values, name, "from_likelihoods")
        self._set(np.array(values), labels, arrays.row_index(log_likelihoods))

    def _set(self, log_likelihoods: Floats, classes: tuple[Hashable, ...], index: Any) -> None:
        object.__setattr__(self, "log_likelihoods", arrays.freeze(log_likelihoods))
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "index", index)

    @classmethod
    def _wrap(cls, log_likelihoods: Floats, classes: tuple[Hashable, ...], index: Any) -> Self:
        """Evidence from values and labels that were checked and that nobody else writes to."""
        evidence = object.__new__(cls)
        evidence._set(log_likelihoods, classes, index)
        return evidence

    @classmethod
    def _wrap_if_possible(
        cls, log_likelihoods: Floats, classes: tuple[Hashable, ...], index: Any
    ) -> Self:
        """Evidence from a sum or product of evidence; raise if the result is not evidence."""
        top = log_likelihoods.max(axis=1)
        arrays.refuse_rows(
            top == -np.inf,
            "evidence must leave at least one class possible",
            "rules out all",
            "Look for samples that contradict each other, or give zeros a small likelihood with "
            "evidence.replace_zeros(log_delta=...).",
            ZeroPartsError,
        )
        if not (top < np.inf).all():
            raise InputError(
                "evidence must stay below 1e308 nats; it does not. Scale it down first."
            )
        return cls._wrap(log_likelihoods, classes, index)

    @classmethod
    def from_scores(cls, scores: ArrayLike, classes: Sequence[Hashable]) -> Evidence:
        """Like the constructor, without its warning: scores may look like probabilities."""
        values, labels = _read_table(scores, classes, "scores", "for one LLR use Evidence.from_llr")
        arrays.require_log_parts(np, values, "scores")
        return cls._wrap(np.array(values), labels, arrays.row_index(scores))

    @classmethod
    def from_likelihoods(cls, w: ArrayLike, classes: Sequence[Hashable] | None = None) -> Evidence:
        """Evidence from likelihoods: not negative, on any scale for each row.

        A zero rules a class out. ``classes`` are as for the constructor.

        >>> Evidence.from_likelihoods([[0.2, 0.0]]).llr(0, 1)
        array([inf])
        """
        remedy = "for ratios of two classes use Evidence.from_llr(log(ratio))"
        values, labels = _read_table(w, classes, "w", remedy)
        arrays.require_nonnegative(np, values, "w", "For logarithms use Evidence(log_likelihoods).")
        with np.errstate(divide="ignore"):
            return cls._wrap(np.log(values), labels, arrays.row_index(w))

    @classmethod
    def from_posteriors(
        cls, p: ArrayLike, prior: Prior, classes: Sequence[Hashable] | None = None
    ) -> Evidence:
        r"""Evidence from posteriors p under a prior :math:`\pi`: :math:`\log p_k - \log \pi_k`.

        Rows of ``p`` sum to one. The prior of a trained classifier is the class mix of its training
        data; None is the uniform prior. See :func:`deciban.shift_prior` for posteriors under
        another prior.

        >>> Evidence.from_posteriors([[0.9, 0.1]], prior=[0.9, 0.1]).llr(0, 1).round(12)
        array([0.])
        """
        values, labels = _read_table(p, classes, "p", "for two classes np.column_stack([1 - p, p])")
        bayes.require_probabilities(values, "p")
        with np.errstate(divide="ignore"):
            log_w = np.log(values) - bayes.log_prior(prior, labels, len(values))
        return cls._wrap(log_w, labels, arrays.row_index(p))

    @classmethod
    def from_log_posteriors(
        cls, log_p: ArrayLike, prior: Prior, classes: Sequence[Hashable] | None = None
    ) -> Evidence:
        """Like :meth:`from_posteriors`, from natural logarithms of posteriors, or logits.

        They are defined up to a constant for each row, and keep more digits.
        """
        remedy = "for log-odds z of two classes np.column_stack([0 * z, z])"
        values, labels = _read_table(log_p, classes, "log_p", remedy)
        arrays.require_log_parts(np, values, "log_p")
        _warn_of_probabilities(values, "log_p", "from_posteriors")
        log_w = values - bayes.log_prior(prior, labels, len(values))
        return cls._wrap(log_w, labels, arrays.row_index(log_p))

    @classmethod
    def from_ilr(
        cls, l: ArrayLike, basis: Basis | None = None, classes: Sequence[Hashable] | None = None
    ) -> Evidence:
        """Evidence from ILRLs: log-likelihoods :math:`V l`; V is the contrast of the basis.

        Several coordinates must lie between -1e12 and 1e12: beside larger ones the others would be
        lost to rounding. The basis is by default Gram-Schmidt, and a named basis names the classes.
        """
        coordinates = arrays.to_numpy(l, "l")
        if coordinates.ndim != 2 or coordinates.shape[1] < 1:
            raise InputError(
                f"l must have shape (n_samples, n_classes - 1); got {coordinates.shape}. "
                f"Write [l] for one sample."
            )
        arrays.require_finite(np, coordinates, "l")
        if coordinates.shape[1] > 1:
            require_moderate_ilrls(coordinates, "l")
        D = coordinates.shape[1] + 1
        basis = basis_for(basis, D)
        labels = as_labels(basis.classes if classes is None else classes, D)
        return cls.from_unbounded_ilr(coordinates, basis, labels, arrays.row_index(l))

    @classmethod
    def from_unbounded_ilr(
        cls, l: Floats, basis: Basis | None, classes: tuple[Hashable, ...], index: Any = None
    ) -> Evidence:
        """Like :meth:`from_ilr`, without its bound: for results from large input."""
        basis = basis_for(basis, len(classes)).align_to(classes)
        return cls._wrap(logparts.ilr_inv(l, basis), classes, index)

    @classmethod
    def from_llr(
        cls, llr: ArrayLike, a: Hashable = 1, b: Hashable = 0, unit: Unit = "nat"
    ) -> Evidence:
        """Evidence from log-likelihood-ratios, finite or infinite: the inverse of :meth:`llr`.

        A positive ratio supports class ``a``, the second of the classes ``(b, a)``. Use the unit
        "ban" for logarithms to the base 10.

        >>> Evidence.from_llr([2.0, -np.inf], "same source", "other source")
        Evidence: 2 samples, 2 classes; decibans below each sample's best class
           other source  same source
        0          -8.7          0.0
        1           0.0         -inf
        """
        ratios = to_nats(arrays.read_llrs(llr), unit)
        certain = ratios == np.inf
        against = np.where(certain, -np.inf, 0.0)
        values = np.column_stack([against, np.where(certain, 0.0, ratios)])
        return cls._wrap(values, as_labels([b, a], 2), arrays.row_index(llr))

    @classmethod
    def concatenate(cls, batches: Iterable[Self]) -> Self:
        """Evidence about more samples: batches below each other, classes matched by name.

        The first batch sets the order of the classes. The index stays if every batch has one.

        >>> halves = Evidence([[1, 0]], ["a", "b"]), Evidence([[5, 2]], ["b", "a"])
        >>> Evidence.concatenate(halves).llr("a", "b")
        array([ 1., -3.])
        """
        batches = list(batches)
        wrong = [batch for batch in batches if not isinstance(batch, Evidence)]
        if not batches or wrong:
            raise InputError(
                f"batches must be a list of Evidence, at least one; got "
                f"{type(wrong[0]).__name__ if wrong else 'none'}. Wrap arrays as Evidence first."
            )
        classes = batches[0].classes
        values = np.concatenate([batch.columns_for(classes) for batch in batches])
        index, *others = (batch.index for batch in batches)
        complete = all(other is not None for other in (index, *others))
        return cls._wrap(values, classes, index.append(others) if complete else None)

    # --- a batch of samples -------------------------------------------------------------

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self)

    @property
    def n_classes(self) -> int:
        """Number of classes, D."""
        return len(self.classes)

    def with_index(self, index: Any) -> Self:
        """The same evidence with another index of n_samples labels, or without one if None."""
        if index is not None:
            pandas = arrays.import_frames("pandas")
            index = index if isinstance(index, pandas.Index) else pandas.Index(index)
            if len(index) != len(self):
                raise InputError(
                    f"index must have a label for each of {len(self)} samples; got {len(index)}. "
                    f"Pass the index of the frame that the evidence came from."
                )
        return self._wrap(self.log_likelihoods, self.classes, index)

    def __len__(self) -> int:
        return int(self.log_likelihoods.shape[0])

    def __getitem__(self, rows: Any) -> Self:
        """Some of the samples: by position, slice, mask or list of positions."""
        if is_whole(rows):
            rows = [rows]
        elif isinstance(rows, tuple) or (not isinstance(rows, slice) and np.ndim(rows) != 1):
            raise InputError(
                f"evidence is indexed by a position, a slice, a mask or a list of samples; got "
                f"{quote(rows)}. Use evidence.restrict(classes) to choose classes."
            )
        elif not isinstance(rows, slice):
            if arrays.row_index(rows) is not None and rows.dtype == bool:
                _, rows = align_by_index(evidence=self, mask=rows)
            rows = np.asarray(rows) if len(rows) else []
        index = None if self.index is None else self.index[rows]
        return self._wrap(np.array(self.log_likelihoods[rows]), self.classes, index)

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.log_likelihoods, dtype=dtype, copy=copy)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self._wrap, (np.array(self.log_likelihoods), self.classes, self.index)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Evidence is immutable; build a new one.")

    def allclose(self, other: Evidence, rtol: float = 1e-9, atol: float = 1e-9) -> bool:
        """Whether two batches agree up to rounding, the order of classes and constants of rows.

        Samples are compared by position, and tolerances are applied to logarithms of likelihoods
        that sum to one.
        """
        if not isinstance(other, Evidence):
            raise InputError(f"other must be Evidence; got {type(other).__name__}. Wrap it first.")
        if len(self) != len(other) or set(self.classes) != set(other.classes):
            return False
        if len(self) == 0:  # the closure needs a row
            return True
        mine = logparts.closure(self.log_likelihoods)
        theirs = logparts.closure(other.columns_for(self.classes))
        return bool(np.allclose(mine, theirs, rtol=rtol, atol=atol))

    def to_polars(self) -> Any:
        """A polars frame of log-likelihoods; the columns are the class labels as text."""
        names = [str(label) for label in self.classes]
        if len(set(names)) != len(names):
            raise InputError(
                f"classes must be distinct as text to name columns; got "
                f"{quote_each(self.classes)}. Rename them with evidence.rename."
            )
        polars = arrays.import_frames("polars")
        return polars.DataFrame(np.array(self.log_likelihoods), schema=names)

    def to_pandas(self) -> Any:
        """A pandas frame of log-likelihoods with the index; the columns are the class labels."""
        pandas = arrays.import_frames("pandas")
        columns = pandas.Index(list(self.classes), tupleize_cols=False)
        return pandas.DataFrame(np.array(self.log_likelihoods), self.index, columns)

    def __repr__(self) -> str:
        """Decibans below the best class of each sample, as a table of the first and last rows."""
        n, D = self.log_likelihoods.shape
        title = (
            f"Evidence: {n:,} sample{'s' * (n != 1)}, {D:,} classes; "
            f"decibans below each sample's best class"
        )
        if n == 0:
            return title
        columns = _first_and_last(D, 8)
        lines = [["", *("..." if c is None else _shorten(self.classes[c]) for c in columns)]]
        for r in _first_and_last(n, 10):
            if r is None:
                lines.append(["..."] * len(lines[0]))
                continue
            below = from_nats(self.log_likelihoods[r] - self.log_likelihoods[r].max(), "deciban")
            lines.append([str(r), *("..." if c is None else f"{below[c]:.1f}" for c in columns)])
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        rows = ("  ".join(map(str.rjust, line, widths)).rstrip() for line in lines)
        return "\n".join([title, *rows])

    def _repr_html_(self) -> str:
        return represent_rows(self.log_likelihoods, self.classes)

    def explore(self, y_true: ArrayLike | Sequence[Hashable] | None = None) -> Any:
        """The page of :func:`deciban.report.explorer` as a widget; needs the extra ``notebook``."""
        # The front end is the layer above all others, so it is imported on demand.
        return importlib.import_module("deciban.report.notebook").explore(self, y_true)

    # --- the vector space ---------------------------------------------------------------

    def __add__(self, other: object) -> Self:
        """Independent evidence adds up; classes are matched by name."""
        return self._combine(other, np.add) if isinstance(other, Evidence) else NotImplemented

    def __radd__(self, other: object) -> Self:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # for sum()

    def __sub__(self, other: object) -> Self:
        """Evidence taken back, such as a part that was counted twice."""
        if not isinstance(other, Evidence):
            return NotImplemented
        other._require_no_zeros("subtraction")
        return self._combine(other, np.subtract)

    def __mul__(self, factor: object) -> Self:
        """Evidence made stronger or weaker by a finite factor."""
        if not is_number(factor):
            return NotImplemented
        if not np.isfinite(factor):
            raise InputError(f"factor must be finite; got {factor}. Give a number.")
        if factor <= 0:
            self._require_no_zeros("a factor that is not positive")
        with np.errstate(over="ignore"):
            scaled = self.log_likelihoods * float(factor)
        return self._wrap_if_possible(scaled, self.classes, self.index)

    __rmul__ = __mul__

    def __truediv__(self, divisor: object) -> Self:
        """Evidence divided by a number, such as a temperature."""
        if not is_number(divisor):
            return NotImplemented
        if divisor == 0:
            raise InputError("divisor must not be zero. Give another number.")
        return self * (1 / float(divisor))

    def __neg__(self) -> Self:
        return self * -1.0

    def sum(self) -> Self:
        r"""All samples as independent evidence about one case: :math:`\sum_n \log w_n`, one row."""
        total = self._below_best().sum(axis=0, keepdims=True)
        return self._wrap_if_possible(total, self.classes, None)

    def add(self, *others: Evidence, dependence: Any = None) -> Evidence:
        """Add evidence from several systems, with or without shared information.

        Samples are matched by index, classes by name, and a single sample is added to every sample.
        A :class:`deciban.reference.Dependence` describes how the systems depend on each other, this
        one first; by default they are independent, as for ``+``.

        >>> from deciban import CalibratedGaussian
        >>> from deciban.reference import Dependence
        >>> a = Evidence.from_llr([2.0])
        >>> family = CalibratedGaussian.from_divergences([3.0])
        >>> a.add(a).llr(1, 0), a.add(a, dependence=Dependence([family] * 2, 1.0)).llr(1, 0)
        (array([4.]), array([2.]))
        """
        if dependence is None:
            return sum(others, start=self)
        if not hasattr(dependence, "combine"):
            raise InputError(
                f"dependence must be a deciban.reference.Dependence; got {quote(dependence)}. For "
                f"correlations, build Dependence(families, correlation)."
            )
        return dependence.combine(self, *others)

    def _combine(self, other: Evidence, operation: np.ufunc) -> Self:
        n = max(len(self), len(other))
        if len(self) != len(other) and 1 not in (len(self), len(other)):
            raise InputError(
                f"evidence must pair sample by sample; got {len(self)} and {len(other)} samples. "
                f"Give both as many, or one of them a single sample."
            )
        if n > 1:
            _, other = align_by_index(evidence=self, other=other)
        with np.errstate(over="ignore", invalid="ignore"):
            total = operation(self.log_likelihoods, other.columns_for(self.classes))
        given = [x.index for x in (self, other) if len(x) == n and x.index is not None]
        index = given[0] if given and given[0].equals(given[-1]) else None
        return self._wrap_if_possible(total, self.classes, index)

    def columns_for(self, classes: tuple[Hashable, ...]) -> Floats:
        """The log-likelihoods with columns in the order of these classes, all of them."""
        if self.classes == classes:
            return self.log_likelihoods
        if set(self.classes) != set(classes):
            raise InputError(
                f"evidence must be over the same classes, {quote_each(classes)}; got "
                f"{quote_each(self.classes)}. Use evidence.restrict or evidence.rename first."
            )
        return self.log_likelihoods[:, [self.classes.index(label) for label in classes]]

    def _below_best(self) -> Floats:
        # Sums of offsets of -1e6 would drown the differences, which are all that counts.
        return self.log_likelihoods - self.log_likelihoods.max(axis=1, keepdims=True)

    def _require_no_zeros(self, operation: str) -> None:
        zero = (self.log_likelihoods == -np.inf).any(axis=1)
        must = f"likelihoods must be positive for {operation}"
        arrays.refuse_rows(zero, must, "has a zero", _ZERO_REMEDY, ZeroPartsError)

    # --- other classes ------------------------------------------------------------------

    def rename(self, classes: Sequence[Hashable] | Mapping[Hashable, Hashable]) -> Self:
        """The same evidence under other class labels; those that a mapping leaves out stay."""
        if isinstance(classes, Mapping):
            for label in classes:
                index_of(label, self.classes)
            classes = [classes.get(label, label) for label in self.classes]
        labels = as_labels(classes, self.n_classes)
        return self._wrap(self.log_likelihoods, labels, self.index)

    def restrict(self, classes: Sequence[Hashable]) -> Self:
        """Evidence about two or more of the classes, in this order: a subcomposition.

        LLRs between these classes stay as they are.

        >>> evidence = Evidence([[0.0, 1.0, 5.0]], classes=["a", "b", "c"])
        >>> evidence.restrict(["c", "a"]).llr("c", "a")
        array([5.])
        """
        labels = as_labels(classes)
        if len(labels) < 2:
            raise InputError(
                f"classes must name at least two classes; got {len(labels)}. Evidence compares."
            )
        values = self.log_likelihoods[:, [index_of(label, self.classes) for label in labels]]
        return self._wrap_if_possible(values, labels, self.index)

    def group(
        self, groups: Mapping[Hashable, Any] | Sequence[Any], prior: Prior = None
    ) -> Evidence:
        r"""Evidence about two or more groups of classes, each a composite hypothesis.

        The likelihood of a group is the mean likelihood of its members, weighted by the prior
        of each member given the group: :math:`w_G = \sum_{k \in G} p_k w_k / \sum_{k \in G} p_k`.
        Under that prior, the posterior of a group is the sum of its members' posteriors.

        Groups are a mapping from names to a class or a list of classes, or a list of these. They
        share no class, and classes in no group are left out, as by :meth:`restrict`. Without names,
        a group is called "a or b" after its members.

        >>> evidence = Evidence.from_likelihoods([[0.6, 0.3, 0.1]], classes=["cat", "dog", "bird"])
        >>> evidence.group({"pet": ["cat", "dog"], "bird": "bird"}).llr("pet", "bird").round(4)
        array([1.5041])
        """
        named = bayes.read_groups(groups, self.classes)
        p = bayes.log_prior(prior, self.classes, len(self))
        pooled = [bayes.pool_members(self.log_likelihoods, at, p) for at in named.values()]
        return self._wrap_if_possible(np.column_stack(pooled), tuple(named), self.index)

    def replace_zeros(self, log_delta: float, method: Method = "multiplicative") -> Self:
        """Evidence with a small likelihood in place of each zero.

        ``log_delta`` is its logarithm, if the likelihoods of each sample sum to one. Set it to the
        strongest exclusion that you trust your model with: -14 for odds of about a million to one.
        See :func:`deciban.simplex.replace_zeros` for the methods.

        >>> sure = Evidence.from_llr([np.inf])
        >>> sure.replace_zeros(log_delta=-14).verbal(1, 0)[0]
        np.str_('extremely strong support for 1 over 0')
        """
        if len(self) == 0:
            return self
        values = logparts.replace_zeros(self.log_likelihoods, method, log_delta=log_delta)
        return self._wrap(np.asarray(values), self.classes, self.index)

    # --- comparisons of classes ---------------------------------------------------------

    def ilr(self, basis: Basis | None = None) -> Floats:
        r"""The ILRLs, :math:`V^T \log w`, of shape (n_samples, n_classes - 1).

        In these coordinates Bayes' rule is a sum. V is the contrast of the basis, by default
        Gram-Schmidt; a named basis is matched with the classes by name.
        """
        self._require_no_zeros("ilr")
        basis = basis_for(basis, self.n_classes).align_to(self.classes)
        return np.asarray(logparts.ilr(self.log_likelihoods, basis))

    def llr(self, a: Any, b: Any, unit: Unit = "nat", *, prior: Prior = None) -> Floats:
        r"""Log-likelihood-ratio of ``a`` against ``b``, :math:`\log w_a - \log w_b`.

        Each is a class, or a list, tuple or set of classes; the two may share classes. A group has
        the mean of its members' likelihoods, weighted by the prior of each member given the group:
        see :meth:`group`. A tuple that is itself a class is that class.

        >>> evidence = Evidence.from_likelihoods([[0.6, 0.3, 0.1]])
        >>> evidence.llr(0, (1, 2), unit="deciban").round(2)
        array([4.77])
        """
        plus, minus = bayes.find_members(a, self.classes), bayes.find_members(b, self.classes)
        p = bayes.log_prior(prior, self.classes, len(self))
        pooled = (bayes.pool_members(self.log_likelihoods, at, p) for at in (plus, minus))
        return np.asarray(from_nats(_difference(*pooled), unit))

    def llr_bounds(self, a: Any, b: Any, unit: Unit = "nat") -> tuple[Floats, Floats]:
        r"""Lower and upper bound on the LLR of two groups, over all priors of the classes within.

        Whatever the prior, a group's likelihood is a mean over its members, so that
        :math:`\log(\min_A w / \max_B w) \le \text{LLR} \le \log(\max_A w / \min_B w)`.
        No closer bounds hold for all priors. The groups share no class.

        >>> evidence = Evidence.from_likelihoods([[0.6, 0.3, 0.1]], classes=["cat", "dog", "bird"])
        >>> low, high = evidence.llr_bounds(["cat", "dog"], "bird", unit="deciban")
        >>> low.round(2), high.round(2)
        (array([4.77]), array([7.78]))
        """
        plus, minus = bayes.find_members(a, self.classes), bayes.find_members(b, self.classes)
        if set(plus) & set(minus):
            raise InputError(
                f"a and b must share no class; got {quote(a)} and {quote(b)}. Name each one once."
            )
        first, second = self.log_likelihoods[:, plus], self.log_likelihoods[:, minus]
        # If all of one side is ruled out, the ratio is infinite under every prior.
        certain = _difference(first.max(axis=1), second.max(axis=1))
        with np.errstate(invalid="ignore"):
            bounds = first.min(axis=1) - second.max(axis=1), first.max(axis=1) - second.min(axis=1)
        low, high = (np.where(np.isinf(certain), certain, bound) for bound in bounds)
        return np.asarray(from_nats(low, unit)), np.asarray(from_nats(high, unit))

    def balance(self, group: Any, against: Any = None, unit: Unit = "nat") -> Floats:
        r"""One class or group of classes against another, by default all others: a coordinate.

        With r classes against s, :math:`\sqrt{rs / (r + s)}` times the difference of their mean
        log-likelihoods; for two single classes, the LLR over the square root of two. A balance is
        a direction. For support of a group of classes use :meth:`llr`.

        >>> Evidence.from_likelihoods([[8, 1, 1]]).balance(0, against=[1, 2]).round(4)
        array([1.6979])
        """
        plus = bayes.find_members(group, self.classes)
        others = [k for k in range(self.n_classes) if k not in plus]
        minus = others if against is None else bayes.find_members(against, self.classes)
        if not minus or len({*plus, *minus}) != len(plus) + len(minus):
            raise InputError(
                f"group and against must be non-empty and share no class; got {quote(group)} and "
                f"{quote(against)}."
            )
        r, s = len(plus), len(minus)
        single = r == s == 1  # a plain difference loses nothing
        values = self.log_likelihoods if single else self._below_best()
        difference = _difference(values[:, plus].mean(axis=1), values[:, minus].mean(axis=1))
        return np.asarray(from_nats(np.sqrt(r * s / (r + s)) * difference, unit))

    def strength(self, unit: Unit = "nat") -> Floats:
        """Aitchison norm of each sample: the distance from prior to posterior.

        Infinite if a class is ruled out.

        >>> Evidence.from_likelihoods([[1, 1, 1], [1, 2, 4], [1, 0, 0]]).strength().round(4)
        array([0.    , 0.9803,    inf])
        """
        finite = np.isfinite(self.log_likelihoods).all(axis=1)
        strength = np.full(len(self), np.inf)
        strength[finite] = logparts.norm(self.log_likelihoods[finite])
        return np.asarray(from_nats(strength, unit))

    def direction(self, basis: Basis | None = None) -> Floats:
        """ILRLs scaled to length one; zero if there is no evidence."""
        l = self.ilr(basis)
        largest = np.abs(l).max(axis=1, keepdims=True)  # its square may over- or underflow
        l = np.divide(l, largest, out=np.zeros_like(l), where=largest > 0)
        length = np.linalg.norm(l, axis=1, keepdims=True)
        return np.divide(l, length, out=l, where=length > 0)

    def in_unit(self, unit: Unit) -> Floats:
        """The log-likelihoods in nats, bits, bans or decibans."""
        return np.asarray(from_nats(self.log_likelihoods, unit))

    def verbal(
        self, a: Any, b: Any, scale: str | VerbalScale = "enfsi", *, prior: Prior = None
    ) -> NDArray[np.str_]:
        """The LLR of ``a`` against ``b`` in words, with arguments as for :meth:`llr`.

        The scale is "enfsi", "jeffreys", "kass-raftery" or a VerbalScale;
        ``deciban.evidence.SCALES[name].source`` cites the publication.

        >>> Evidence.from_llr(np.log([30.0])).verbal(1, 0)[0]
        np.str_('moderate support for 1 over 0')
        """
        if not isinstance(scale, VerbalScale):
            scale = SCALES[scalars.require_one_of(scale, "scale, if not a VerbalScale,", SCALES)]
        llr = self.llr(a, b, prior=prior)
        members = (bayes.find_members(side, self.classes) for side in (a, b))
        return scale.describe(llr, *(bayes.name_group(group, self.classes) for group in members))

    # --- under a prior ------------------------------------------------------------------

    def posterior(self, prior: Prior = None) -> Floats:
        r"""Posterior probabilities by Bayes' rule, :math:`p_k \propto \pi_k w_k`.

        The prior has shape (n_classes,) or (n_samples, n_classes), or is a mapping or series,
        matched by name; by default uniform. It is positive for every class, and sums to one within
        0.002, the error of rounding. A mapping may leave one class out, which gets the rest.

        >>> evidence = Evidence.from_likelihoods([[0.6, 0.3, 0.1]], classes=["cat", "dog", "bird"])
        >>> evidence.posterior({"bird": 0.8, "cat": 0.1, "dog": 0.1}).round(2)
        array([[0.35, 0.18, 0.47]])
        """
        return np.asarray(logparts.to_parts(self._plus_prior(prior)))

    def log_posterior(self, prior: Prior = None) -> Floats:
        """Natural logarithms of the posterior probabilities, which do not underflow."""
        return np.asarray(logparts.closure(self._plus_prior(prior)))

    def _plus_prior(self, prior: Prior) -> Floats:
        return self.log_likelihoods + bayes.log_prior(prior, self.classes, len(self))

    def decide(
        self,
        costs: Costs = None,
        prior: Prior = None,
        *,
        reject_cost: float | None = None,
        reject_label: Hashable = None,
    ) -> NDArray[Any]:
        r"""The class with the least expected cost :math:`\sum_i C_{ij} P(i | x)`, for each sample.

        Parameters
        ----------
        costs : array of shape (n_classes, n_classes), frame or mapping, optional
            ``costs[i, j]`` is the cost of deciding for class j if class i is true. By default
            every error costs 1. Ties go to the first class. A frame is matched by the names of its
            rows and columns. A mapping names classes and leaves other errors at 1:
            ``{("true", "decided"): 5}`` or ``{"true": {"decided": 5}}``.
        prior : as for :meth:`posterior`
        reject_cost : float, optional
            Cost of not deciding, which gives ``reject_label`` and labels of dtype object.

        Examples
        --------
        >>> e = Evidence.from_likelihoods([[0.7, 0.3], [0.95, 0.05]], classes=["no", "yes"])
        >>> e.decide(costs={("yes", "no"): 10})
        array(['yes', 'no'], dtype='<U3')
        >>> e.decide(reject_cost=0.1)
        array([None, 'no'], dtype=object)
        """
        if reject_cost is None and reject_label is not None:
            raise InputError("reject_label must come with a reject_cost; got none. Give both.")
        log_p = self.log_posterior(prior)
        choice = bayes.choose_least_cost(log_p, self.classes, costs, reject_cost)
        if reject_cost is None:
            return label_array(self.classes)[choice]
        if reject_label in self.classes:
            raise InputError(
                f"reject_label must not be a class; got {quote(reject_label)}. Choose another."
            )
        return label_array([*self.classes, reject_label]).astype(object)[choice]

    def prediction_set(
        self,
        alpha: float,
        prior: Prior = None,
        *,
        calibration: tuple[ArrayLike, Evidence] | None = None,
        by_class: bool = False,
    ) -> PredictionSets:
        """Sets of classes, each of which holds the true class with probability 1 - alpha.

        Without ``calibration`` these are the smallest sets with a posterior mass of 1 - alpha:
        valid if the evidence is calibrated and the prior is that of the samples. With labeled
        samples, which the model must not have learned from, they are split-conformal sets: valid
        for any evidence. These hold the classes whose posterior reaches a threshold, the score with
        the smallest sets on average, and always the likeliest class.

        Parameters
        ----------
        alpha : float
            Error rate, between 0 and 1.
        prior : array of shape (n_classes,) or mapping, optional
            Class mix for which the sets hold. By default, that of the calibration samples, which
            gives plain split-conformal sets; without them, uniform.
        calibration : (y_true, Evidence), optional
            Labels and evidence of samples from the same population, in each class. Too few of them
            cause a :class:`~deciban.exceptions.FewSamplesWarning`: every set holds some classes.
        by_class : bool, default False
            Whether the sets hold for the samples of each class, whatever their mix, or on average.
            It takes 1 / alpha - 1 calibration samples of each class.

        References
        ----------
        Sadinle, Lei and Wasserman (2019), Least ambiguous set-valued classifiers with bounded error
        levels; for a prior, Podkopaev and Ramdas (2021).

        Examples
        --------
        >>> likelihoods = [[0.7, 0.2, 0.1], [0.96, 0.03, 0.01]]
        >>> evidence = Evidence.from_likelihoods(likelihoods, classes=["a", "b", "c"])
        >>> evidence.prediction_set(0.15)
        PredictionSets of 2 samples: {a, b}, {a}
        """
        scalars.require_fraction(alpha, "alpha", remedy=_ALPHA_REMEDY)
        if calibration is None:
            if by_class:
                raise InputError("by_class must come with calibration; got none. Give both.")
            members = smallest_sets(self.log_posterior(prior), alpha)
            return PredictionSets(members, self.classes, self.index)
        pair = isinstance(calibration, tuple | list) and len(calibration) == 2
        if not pair or not isinstance(calibration[1], Evidence):
            raise InputError(
                f"calibration must be a pair of labels and evidence; got {quote(calibration)}. "
                f"Write calibration=(y_true, evidence)."
            )
        y_true, evidence = align_by_index(y_true=calibration[0], calibration=calibration[1])
        labeled = evidence.columns_for(self.classes)
        codes = encode_labels(read_labels(y_true, len(labeled)), self.classes)
        p = None if prior is None else np.exp(bayes.log_prior(prior, self.classes)[0])
        by_class = scalars.require_bool(by_class, "by_class")
        both = self._below_best(), labeled - labeled.max(axis=1, keepdims=True)
        members = conformal_sets(*both, codes, self.classes, p, alpha, by_class)
        return PredictionSets(members, self.classes, self.index)

    def confidence_set(self, alpha: float, prior: Prior = None) -> PredictionSets:
        r"""Sets that hold the true class with probability 1 - alpha, for any class mix.

        Class j is in the set if its posterior is more than alpha times its prior,
        :math:`\sum_i \pi_i w_i / w_j < 1 / \alpha`. For calibrated evidence, that sum has a mean
        of at most one under class j, and by Markov's inequality it reaches :math:`1 / \alpha` with
        probability alpha at most, whatever the prior, which decides how large the sets are. A set
        is never empty.

        You may add evidence, sample by sample, until the sets are small enough: by Ville's
        inequality they hold at every such stopping time (Ramdas, Grünwald, Vovk and Shafer, 2023,
        Game-theoretic statistics and safe anytime-valid inference).

        >>> likelihoods = [[0.9, 0.08, 0.02], [0.99, 0.008, 0.002]]
        >>> evidence = Evidence.from_likelihoods(likelihoods, classes=["a", "b", "c"])
        >>> evidence.confidence_set(0.1)
        PredictionSets of 2 samples: {a, b}, {a}
        """
        scalars.require_fraction(alpha, "alpha", remedy=_ALPHA_REMEDY)
        gain = self.log_posterior(prior) - bayes.log_prior(prior, self.classes, len(self))
        return PredictionSets(gain > np.log(alpha), self.classes, self.index)

    def estimate_prior(
        self,
        training_prior: Prior = None,
        *,
        confidence: float = 0.95,
        n_resamples: int = 999,
        rng: Rng = 0,
    ) -> class_mix.PriorEstimate:
        r"""The class mix of unlabeled samples, by maximum likelihood.

        The shares s that maximize :math:`\sum_n \log \sum_k s_k w_{nk}`, each with an interval
        (Saerens, Latinne and Decaestecker, 2002). Samples are assumed independent and the evidence
        calibrated: intervals do not cover the errors of a model trained on few samples. With a
        ``training_prior``, a score test with ``n_resamples`` gives the p-value of no shift. Pass
        the result as ``prior``: it is a mapping from classes to probabilities above zero.

        >>> evidence = Evidence.from_llr([4.0, 5.0, -3.0, 6.0, 3.0, 1.0, 4.0, 5.0])
        >>> evidence.estimate_prior(training_prior=[0.5, 0.5])
        Class mix of 8 samples, 95 % intervals; shift: p = 0.029
          0: 0.0880 (0.0000 to 0.4454)
          1: 0.9120 (0.5546 to 1.0000)
        """
        scalars.require_fraction(confidence, "confidence")
        scalars.require_whole(n_resamples, "n_resamples", 1)
        if len(self) == 0:
            raise InputError("evidence must hold samples to estimate a class mix; got none.")
        L, p_value = np.exp(self._below_best()), None
        shares = class_mix.estimate_shares(L)
        if training_prior is not None:
            p = np.exp(bayes.log_prior(training_prior, self.classes)[0])
            p_value = class_mix.shift_p_value(L, shares, p, n_resamples, scalars.as_generator(rng))
        ends = class_mix.share_intervals(L, shares, confidence)
        n = len(self)
        return class_mix.PriorEstimate(self.classes, shares, *ends, confidence, n, p_value)


def _difference(first: Floats, second: Floats) -> Floats:
    arrays.refuse_rows(
        (first == -np.inf) & (second == -np.inf),
        "one of the likelihoods compared must be positive",
        "has zeros only",
        _ZERO_REMEDY,
        ZeroPartsError,
    )
    return first - second


def _read_table(
    table: ArrayLike, classes: Sequence[Hashable] | None, name: str, if_two_classes: str
) -> tuple[Floats, tuple[Hashable, ...]]:
    if isinstance(table, Evidence):
        labels = table.classes if classes is None else as_labels(classes)
        return table.columns_for(labels), labels
    values = arrays.to_numpy(table, name)
    arrays.require_table(values, name, if_two_classes)
    labels, order = column_order(table, classes, values.shape[1], name)
    return values if order is None else values[:, order], labels


def _warn_of_probabilities(values: Floats, name: str, instead: str) -> None:
    """Warn if values given as logarithms lie in [0, 1] and sum to one in every row."""
    first = values[:1]
    if not np.isclose(first.sum(), 1) or first.min() < 0 or np.array_equal(first, first.round()):
        return
    if values.min() >= 0 and np.allclose(values.sum(axis=1), 1):
        warnings.warn(
            f"{name} should be logarithms; every row is positive and sums to one. If they are "
            f"probabilities, use Evidence.{instead}.",
            stacklevel=3,
        )


def _first_and_last(count: int, limit: int) -> list[int | None]:
    if count <= limit:
        return list(range(count))
    return [*range(limit // 2), None, *range(count - limit // 2, count)]


def _shorten(label: Hashable) -> str:
    name = str(label) if str(label).isprintable() else repr(label)  # it could steer a terminal
    return name if len(name) <= 12 else name[:11] + "…"


def require_moderate_ilrls(l: Floats, name: str) -> None:
    """Raise for coordinates so large that others would be lost to rounding, or squares overflow."""
    largest = np.abs(l).max(axis=1, initial=0)
    must = f"{name} must lie between -1e12 and 1e12 nats"
    arrays.refuse_rows(largest > _LARGEST_ILRL, must, "reaches", "Bound it.", values=largest)


def shift_prior(posteriors: ArrayLike, old: Prior, new: Prior) -> Floats:
    r"""Convert posteriors p from one prior to another: :math:`q_k \propto p_k \pi'_k / \pi_k`.

    Rows of ``posteriors`` sum to one. Priors have shape (n_classes,) or (n_samples, n_classes), or
    are None, which is uniform.

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
