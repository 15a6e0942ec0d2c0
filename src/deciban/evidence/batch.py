"""The container under :class:`Evidence`: rows of log-likelihoods over named classes.

They are a vector space: evidence adds up, and is scaled.
"""

from __future__ import annotations

import importlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from deciban._validation.arrays import freeze, refuse_rows
from deciban._validation.labels import as_labels, index_of
from deciban._validation.scalars import is_number, is_whole, quote, quote_each
from deciban.evidence.units import from_nats
from deciban.exceptions import InputError, MissingExtraError, ZeroPartsError
from deciban.simplex import logparts
from deciban.simplex.zeros import Method

ZERO_REMEDY = (
    "Call evidence.replace_zeros(log_delta=...), or leave the class out with evidence.restrict."
)


class Batch:
    """A batch of samples that behaves like a sequence and never changes.

    It knows about rows, columns and their names; what they mean is for its subclass to say.
    """

    __slots__ = ("_classes", "_log_likelihoods")
    __array_ufunc__ = None  # NumPy's operators would forget the classes
    _classes: tuple[Hashable, ...]
    _log_likelihoods: NDArray[np.float64]

    def _set(self, log_likelihoods: NDArray[np.float64], classes: tuple[Hashable, ...]) -> None:
        object.__setattr__(self, "_log_likelihoods", freeze(log_likelihoods))
        object.__setattr__(self, "_classes", classes)

    @classmethod
    def _wrap(cls, log_likelihoods: NDArray[np.float64], classes: tuple[Hashable, ...]) -> Self:
        """A batch of values and labels that were checked and that nobody else writes to."""
        batch = object.__new__(cls)
        batch._set(log_likelihoods, classes)
        return batch

    @classmethod
    def concatenate(cls, batches: Iterable[Self]) -> Self:
        """Batches one after the other; classes are matched by name, in the order of the first.

        Parameters
        ----------
        batches : iterable of Evidence
            At least one.

        Returns
        -------
        Evidence

        Examples
        --------
        >>> from deciban import Evidence
        >>> halves = Evidence([[1, 0]], ["a", "b"]), Evidence([[5, 2]], ["b", "a"])
        >>> Evidence.concatenate(halves).llr("a", "b")
        array([ 1., -3.])
        """
        batches = list(batches)
        wrong = [batch for batch in batches if not isinstance(batch, Batch)]
        if not batches or wrong:
            raise InputError(
                f"batches must be a list of Evidence, at least one; got "
                f"{type(wrong[0]).__name__ if wrong else 'none'}. Wrap arrays as Evidence first."
            )
        classes = batches[0].classes
        values = [batch._columns_for(classes) for batch in batches]
        return cls._wrap(np.concatenate(values), classes)

    @property
    def log_likelihoods(self) -> NDArray[np.float64]:
        """Natural logarithms, shape (n_samples, n_classes), read-only."""
        return self._log_likelihoods

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """The class labels, in the order of the columns."""
        return self._classes

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self)

    @property
    def n_classes(self) -> int:
        """Number of classes, D."""
        return len(self._classes)

    def __len__(self) -> int:
        return int(self._log_likelihoods.shape[0])

    def __getitem__(self, rows: Any) -> Self:
        """Some of the samples: by position, slice, mask or list of positions."""
        if is_whole(rows):
            rows = [rows]
        elif isinstance(rows, tuple) or (not isinstance(rows, slice) and np.ndim(rows) != 1):
            raise InputError(
                f"evidence is indexed by a position, a slice, a mask or a list of samples; got "
                f"{quote(rows)}. Use evidence.restrict(classes) to choose classes."
            )
        return self._wrap(np.array(self._log_likelihoods[rows]), self._classes)

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._log_likelihoods, dtype=dtype, copy=copy)

    def allclose(self, other: Batch, rtol: float = 1e-9, atol: float = 1e-9) -> bool:
        """Whether both say the same about the same classes, whatever constant each row carries.

        Parameters
        ----------
        other : Evidence
            Its classes may be in another order.
        rtol, atol : float, default 1e-9
            As for :func:`numpy.allclose`; logarithms of likelihoods that sum to one are compared.

        Returns
        -------
        bool

        Examples
        --------
        >>> from deciban import Evidence
        >>> Evidence([[1, 0]], ["a", "b"]).allclose(Evidence([[7, 8]], ["b", "a"]))
        True
        """
        if not isinstance(other, Batch):
            raise InputError(f"other must be Evidence; got {type(other).__name__}. Wrap it first.")
        if len(self) != len(other) or set(self._classes) != set(other._classes):
            return False
        if len(self) == 0:
            return True
        mine = logparts.closure(self._log_likelihoods)
        theirs = logparts.closure(other._columns_for(self._classes))
        return bool(np.allclose(mine, theirs, rtol=rtol, atol=atol))

    def rename(self, classes: Sequence[Hashable] | Mapping[Hashable, Hashable]) -> Self:
        """The same evidence under other class labels.

        Parameters
        ----------
        classes : sequence of n_classes labels, or mapping from old labels to new
            A mapping leaves the labels alone that it does not name.

        Returns
        -------
        Evidence

        Examples
        --------
        >>> from deciban import Evidence
        >>> Evidence([[1, 0]]).rename({0: "benign"}).classes
        ('benign', 1)
        """
        if isinstance(classes, Mapping):
            for label in classes:
                index_of(label, self._classes)
            classes = [classes.get(label, label) for label in self._classes]
        return self._wrap(self._log_likelihoods, as_labels(classes, self.n_classes))

    def to_polars(self) -> Any:
        """A polars frame of log-likelihoods; the columns are the class labels as text.

        Needs the extra ``frame``.
        """
        names = [str(label) for label in self._classes]
        if len(set(names)) != len(names):
            raise InputError(
                f"classes must be distinct as text to name columns; got "
                f"{quote_each(self._classes)}. Rename them with evidence.rename."
            )
        return import_frames("polars").DataFrame(np.array(self._log_likelihoods), schema=names)

    def to_pandas(self) -> Any:
        """A pandas frame of log-likelihoods; the columns are the class labels.

        Needs the extra ``frame``.
        """
        pandas = import_frames("pandas")
        columns = pandas.Index(list(self._classes), tupleize_cols=False)
        return pandas.DataFrame(np.array(self._log_likelihoods), columns=columns)

    def __repr__(self) -> str:
        """Decibans below the best class of each sample, as a table of the first and last rows."""
        n, D = self._log_likelihoods.shape
        title = (
            f"Evidence: {n:,} sample{'s' * (n != 1)}, {D:,} classes; "
            f"decibans below each sample's best class"
        )
        if n == 0:
            return title
        columns = _first_and_last(D, 8)
        lines = [["", *("..." if c is None else _shorten(self._classes[c]) for c in columns)]]
        for r in _first_and_last(n, 10):
            if r is None:
                lines.append(["..."] * len(lines[0]))
                continue
            below = from_nats(self._log_likelihoods[r] - self._log_likelihoods[r].max(), "deciban")
            lines.append([str(r), *("..." if c is None else f"{below[c]:.1f}" for c in columns)])
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        rows = ("  ".join(map(str.rjust, line, widths)).rstrip() for line in lines)
        return "\n".join([title, *rows])

    def __add__(self, other: object) -> Self:
        """Independent evidence adds up; classes are matched by name."""
        if not isinstance(other, Batch):
            return NotImplemented
        return self._combine(other, np.add)

    def __radd__(self, other: object) -> Self:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # for sum()

    def __sub__(self, other: object) -> Self:
        """Evidence taken back, such as a part that was counted twice."""
        if not isinstance(other, Batch):
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
            scaled = self._log_likelihoods * float(factor)
        return self._wrap_if_possible(scaled, self._classes)

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
        r"""All samples as independent evidence about one case: one row.

        Returns
        -------
        Evidence
            One sample, :math:`\sum_n \log w_n`.

        Examples
        --------
        >>> from deciban import Evidence
        >>> Evidence.from_llr([1.0, 2.5, -0.5]).sum().llr(1, 0)
        array([3.])
        """
        total = self._below_best().sum(axis=0, keepdims=True)
        return self._wrap_if_possible(total, self._classes)

    def restrict(self, classes: Sequence[Hashable]) -> Self:
        """The evidence about some of the classes, in the order given: a subcomposition.

        Parameters
        ----------
        classes : sequence of labels
            At least two.

        Returns
        -------
        Evidence
            The LLRs between these classes are as they were.

        Examples
        --------
        >>> from deciban import Evidence
        >>> evidence = Evidence([[0.0, 1.0, 5.0]], classes=["a", "b", "c"])
        >>> evidence.restrict(["c", "a"]).llr("c", "a")
        array([5.])
        """
        labels = as_labels(classes)
        if len(labels) < 2:
            raise InputError(
                f"classes must name at least two classes; got {len(labels)}. Evidence compares."
            )
        values = self._log_likelihoods[:, [index_of(label, self._classes) for label in labels]]
        return self._wrap_if_possible(values, labels)

    def replace_zeros(self, log_delta: float, method: Method = "multiplicative") -> Self:
        """Evidence with a small likelihood in the place of each zero.

        Parameters
        ----------
        log_delta : float
            Logarithm of the likelihood that replaces a zero, where the likelihoods of each
            sample sum to one. It is the most that you trust your model with ruling a class
            out: -14 for odds of about a million to one.
        method : {"multiplicative", "additive", "simple"}

        Returns
        -------
        Evidence
            Without infinite log-likelihoods.

        See Also
        --------
        deciban.simplex.replace_zeros : The methods, for compositions.

        Examples
        --------
        >>> from deciban import Evidence
        >>> sure = Evidence.from_llr([np.inf])
        >>> sure.replace_zeros(log_delta=-14).verbal(1, 0)[0]
        np.str_('extremely strong support for 1 over 0')
        """
        if len(self) == 0:
            return self
        values = logparts.replace_zeros(self._log_likelihoods, method, log_delta=log_delta)
        return self._wrap(np.asarray(values), self._classes)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return type(self)._wrap, (np.array(self._log_likelihoods), self._classes)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Evidence is immutable; build a new one.")

    def _columns_for(self, classes: tuple[Hashable, ...]) -> NDArray[np.float64]:
        """The log-likelihoods with their columns in the order of these classes."""
        if self._classes == classes:
            return self._log_likelihoods
        if set(self._classes) != set(classes):
            raise InputError(
                f"evidence must be over the same classes, {quote_each(classes)}; got "
                f"{quote_each(self._classes)}. Use evidence.restrict or evidence.rename first."
            )
        return self._log_likelihoods[:, [self._classes.index(label) for label in classes]]

    def _combine(self, other: Batch, operation: np.ufunc) -> Self:
        if len(self) != len(other) and 1 not in (len(self), len(other)):
            raise InputError(
                f"evidence must pair sample by sample; got {len(self)} and {len(other)} samples. "
                f"Give both as many, or one of them a single sample."
            )
        with np.errstate(over="ignore", invalid="ignore"):
            total = operation(self._log_likelihoods, other._columns_for(self._classes))
        return self._wrap_if_possible(total, self._classes)

    def _below_best(self) -> NDArray[np.float64]:
        # Sums of offsets of -1e6 would drown the differences, which are all that counts.
        return self._log_likelihoods - self._log_likelihoods.max(axis=1, keepdims=True)

    def _require_no_zeros(self, what: str) -> None:
        zero = (self._log_likelihoods == -np.inf).any(axis=1)
        must = f"likelihoods must be positive for {what}"
        refuse_rows(zero, must, "has a zero", ZERO_REMEDY, ZeroPartsError)

    @classmethod
    def _wrap_if_possible(
        cls, log_likelihoods: NDArray[np.float64], classes: tuple[Hashable, ...]
    ) -> Self:
        """Evidence from a sum or product of evidence; raise where that is not evidence any more."""
        top = log_likelihoods.max(axis=1)
        refuse_rows(
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
        return cls._wrap(log_likelihoods, classes)


def import_frames(library: str) -> Any:
    """The module of a library of frames, or an error that names what to install."""
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise MissingExtraError(
            f"{library} must be installed to make a frame. Run: pip install 'deciban[frame]'",
            extra="frame",
        ) from error


def _first_and_last(count: int, most: int) -> list[int | None]:
    """Positions to print, with None for those left out between the first and the last."""
    if count <= most:
        return list(range(count))
    return [*range(most // 2), None, *range(count - most // 2, count)]


def _shorten(label: Hashable) -> str:
    name = str(label) if str(label).isprintable() else repr(label)  # it could steer a terminal
    return name if len(name) <= 12 else name[:11] + "…"
