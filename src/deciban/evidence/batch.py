"""The container under :class:`Evidence`: immutable rows of log-likelihoods over named classes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from deciban._validation import as_labels, freeze, index_of, quote_each
from deciban.evidence import frames, printing
from deciban.exceptions import InputError
from deciban.simplex import logparts


class Batch:
    """A batch of samples that behaves like a sequence and never changes.

    It knows about rows, columns and their names; what they mean is for its subclass to say.
    """

    __slots__ = ("_classes", "_log_likelihoods")
    __array_ufunc__ = None  # NumPy's operators would forget the classes
    _classes: tuple[Hashable, ...]
    _log_likelihoods: np.ndarray

    def _set(self, log_likelihoods: np.ndarray, classes: tuple[Hashable, ...]) -> None:
        object.__setattr__(self, "_log_likelihoods", freeze(log_likelihoods))
        object.__setattr__(self, "_classes", classes)

    @classmethod
    def _checked(cls, log_likelihoods: np.ndarray, classes: tuple[Hashable, ...]) -> Self:
        evidence = object.__new__(cls)
        evidence._set(log_likelihoods, classes)
        return evidence

    @classmethod
    def concatenate(cls, batches: Iterable[Self]) -> Self:
        """Batches one after the other; classes are matched by name, in the order of the first."""
        batches = list(batches)
        if not batches or not all(isinstance(batch, Batch) for batch in batches):
            raise InputError(
                "batches must be a list of Evidence, at least one; got something else. "
                "Wrap arrays as Evidence first."
            )
        classes = batches[0].classes
        values = [batch._values_for(classes) for batch in batches]
        return cls._checked(np.concatenate(values), classes)

    @property
    def log_likelihoods(self) -> np.ndarray:
        """Natural logarithms, shape (n_samples, n_classes), read-only."""
        return self._log_likelihoods

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """The class labels."""
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
        if isinstance(rows, tuple):
            raise InputError(
                "evidence is indexed by samples only; got more than one index. "
                "Use evidence.restrict(classes) to choose classes."
            )
        if isinstance(rows, int | np.integer) and not isinstance(rows, bool):
            rows = [rows]
        elif not isinstance(rows, slice) and np.ndim(rows) != 1:
            raise InputError(
                f"evidence is indexed by a position, a slice, a mask or a list; got {rows!r}. "
                f"Give one of these."
            )
        return self._checked(np.array(self._log_likelihoods[rows]), self._classes)

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._log_likelihoods, dtype=dtype, copy=copy)

    def allclose(self, other: Batch, rtol: float = 1e-9, atol: float = 1e-9) -> bool:
        """Whether both say the same of the same classes, whatever constant each row carries."""
        if not isinstance(other, Batch):
            raise InputError(f"other must be Evidence; got {type(other).__name__}. Wrap it first.")
        if len(self) != len(other) or set(self._classes) != set(other._classes):
            return False
        if len(self) == 0:
            return True
        mine = logparts.closure(self._log_likelihoods)
        theirs = logparts.closure(other._values_for(self._classes))
        return bool(np.allclose(mine, theirs, rtol=rtol, atol=atol))

    def to_polars(self) -> Any:
        """A polars frame of log-likelihoods; the columns are the class labels as text."""
        return frames.to_polars(self._log_likelihoods, self._classes)

    def to_pandas(self) -> Any:
        """A pandas frame of log-likelihoods; the columns are the class labels."""
        return frames.to_pandas(self._log_likelihoods, self._classes)

    def __repr__(self) -> str:
        return printing.table(self._log_likelihoods, self._classes)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return type(self), (np.array(self._log_likelihoods), self._classes)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Evidence is immutable; build a new one.")

    def rename(self, classes: Sequence[Hashable] | Mapping[Hashable, Hashable]) -> Self:
        """The same evidence under other class labels."""
        if isinstance(classes, Mapping):
            for label in classes:
                index_of(label, self._classes)
            classes = [classes.get(label, label) for label in self._classes]
        return self._checked(self._log_likelihoods, as_labels(classes, self.n_classes))

    def _values_for(self, classes: tuple[Hashable, ...]) -> np.ndarray:
        if self._classes == classes:
            return self._log_likelihoods
        if set(self._classes) != set(classes):
            raise InputError(
                f"evidence must be over the same classes, {quote_each(classes)}; got "
                f"{quote_each(self._classes)}. Use evidence.restrict or evidence.rename first."
            )
        return self._log_likelihoods[:, [self._classes.index(label) for label in classes]]
