"""What deciban raises: one clear sentence, and the data behind it as attributes."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

_MOST_ROWS = 5


class DecibanError(Exception):
    """Base of every error that deciban raises itself."""


class InputError(DecibanError, ValueError):
    """An argument that cannot be used; the message says what it must be.

    Attributes
    ----------
    rows : tuple of int
        The offending rows (the first five, where there are more), counted from 0
        after the leading axes are flattened. Empty when the error concerns no row.
    """

    def __init__(self, message: str, *, rows: Iterable[int] = ()) -> None:
        super().__init__(message)
        self.rows = tuple(int(row) for row in itertools.islice(rows, _MOST_ROWS))


class TableError(InputError):
    """A table that cannot be used; the sentence goes on after the name of the file or column.

    Attributes
    ----------
    file : str
        Name of the file, as the user gave it.
    column : str
        Name of the offending column; empty when the error concerns no single column.
    """

    def __init__(
        self, sentence: str, *, file: str = "", column: str = "", rows: Sequence[int] = ()
    ) -> None:
        subject = f"{column} in {file}" if column else file
        super().__init__(f"{subject} {sentence}".strip(), rows=rows)
        self.file, self.column = file, column


class ZeroPartsError(InputError):
    """A zero where a logarithm is needed."""


class CromwellError(InputError):
    """A prior that rules a class out before any evidence is seen.

    Attributes
    ----------
    classes : tuple
        The classes whose prior probability is zero.
    """

    def __init__(
        self, message: str, *, classes: Sequence[Hashable] = (), rows: Iterable[int] = ()
    ) -> None:
        super().__init__(message, rows=rows)
        self.classes = tuple(classes)


class UnknownClassError(InputError, LookupError):
    """A class label that is not among the classes.

    Attributes
    ----------
    label : object
        What was asked for.
    classes : tuple
        What there is.
    """

    def __init__(
        self, message: str, *, label: object = None, classes: Sequence[Hashable] = ()
    ) -> None:
        super().__init__(message)
        self.label = label
        self.classes = tuple(classes)


class NotPositiveDefiniteError(InputError):
    """A matrix that is not, or does not lead to, a covariance.

    Attributes
    ----------
    smallest_eigenvalue : float
    """

    def __init__(self, message: str, *, smallest_eigenvalue: float = float("nan")) -> None:
        super().__init__(message)
        self.smallest_eigenvalue = float(smallest_eigenvalue)


class CheckpointError(InputError):
    """A checkpoint that was written by a fit with other data or settings."""


class ConvergenceError(DecibanError, RuntimeError):
    """An optimizer that stopped before it reached the optimum."""


class ForkedProcessError(DecibanError, RuntimeError):
    """A flow in a process that was forked after JAX was used, where JAX would wait forever."""


class FewSamplesWarning(UserWarning):
    """Too few labeled samples for what is asked.

    Attributes
    ----------
    classes : tuple
        The classes that this concerns.
    """

    def __init__(self, message: str, *, classes: Sequence[Hashable] = ()) -> None:
        super().__init__(message)
        self.classes = tuple(classes)


class InterruptedFitWarning(UserWarning):
    """A fit that was interrupted and keeps the best model so far."""


class UnreachableEvidenceWarning(UserWarning):
    """Features that do not carry the evidence that was asked for, as there may be none that do.

    Attributes
    ----------
    rows : tuple of int
        All such rows, counted from 0.
    left : tuple of float
        For each of them, the largest LLR between what was asked for and what the features carry,
        in nats; infinite where the features are not finite.
    """

    def __init__(
        self, message: str, *, rows: Iterable[int] = (), left: Iterable[float] = ()
    ) -> None:
        super().__init__(message)
        self.rows = tuple(int(row) for row in rows)
        self.left = tuple(float(nats) for nats in left)


class UnseenValueWarning(UserWarning):
    """Values in a column of features that it did not have in ``fit``.

    Attributes
    ----------
    values : dict
        The values, by the name of the column; None is a missing value.
    """

    def __init__(self, message: str, *, values: dict[Hashable, list[Any]] | None = None) -> None:
        super().__init__(message)
        self.values = values or {}


class ClusterError(DecibanError, RuntimeError):
    """A Dask cluster that cannot be used, or that was lost."""


class LostProcessError(ClusterError):
    """Another of the processes that train together has ended, or cannot be reached any more."""


class MissingExtraError(DecibanError, ImportError):
    """An optional dependency that is not installed.

    Attributes
    ----------
    extra : str
        The extra that brings it: ``pip install 'deciban[extra]'``.
    """

    def __init__(self, message: str, *, extra: str = "") -> None:
        super().__init__(message)
        self.extra = extra
