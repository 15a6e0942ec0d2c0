"""Errors and warnings: one clear sentence, and the data behind it as attributes."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

_MOST_ROWS = 5


class DecibanError(Exception):
    """Base class for all deciban errors."""


class InputError(DecibanError, ValueError):
    """An argument that cannot be used; the message states the rule.

    Attributes
    ----------
    rows : tuple of int
        The first five offending rows, counted from 0 after flattening the leading axes. Empty if
        the error concerns no row.
    """

    def __init__(self, message: str, *, rows: Iterable[int] = ()) -> None:
        super().__init__(message)
        self.rows = tuple(int(row) for row in itertools.islice(rows, _MOST_ROWS))


class TableError(InputError):
    """A table that cannot be used; the sentence continues after the file or column name.

    Attributes
    ----------
    file : str
        File name, as the user gave it.
    column : str
        Offending column; empty if the error concerns no single column.
    """

    def __init__(
        self, sentence: str, *, file: str = "", column: str = "", rows: Sequence[int] = ()
    ) -> None:
        subject = f"{column} in {file}" if column else file
        super().__init__(f"{subject} {sentence}".strip(), rows=rows)
        self.file, self.column = file, column


class ZeroPartsError(InputError):
    """A zero in place of a number with a logarithm."""


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
    """A label that is not among the classes.

    Attributes
    ----------
    label : object
        The unknown label.
    classes : tuple
        The known classes.
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
    """A checkpoint from a fit with other data or settings."""


class ConvergenceError(DecibanError, RuntimeError):
    """An optimizer that stopped before it reached the optimum."""


class ForkedProcessError(DecibanError, RuntimeError):
    """A flow in a process forked after JAX was used, in which JAX would hang."""


class FewSamplesWarning(UserWarning):
    """Too few labeled samples.

    Attributes
    ----------
    classes : tuple
        The classes concerned.
    """

    def __init__(self, message: str, *, classes: Sequence[Hashable] = ()) -> None:
        super().__init__(message)
        self.classes = tuple(classes)


class InterruptedFitWarning(UserWarning):
    """A fit that was interrupted and keeps the best model so far."""


class UnreachableEvidenceWarning(UserWarning):
    """Features that do not carry the requested evidence, as there may be none that do.

    Attributes
    ----------
    rows : tuple of int
        All such rows, counted from 0.
    left : tuple of float
        For each row, the largest LLR by which the features miss the request, in nats; infinite if
        the features are not finite.
    """

    def __init__(
        self, message: str, *, rows: Iterable[int] = (), left: Iterable[float] = ()
    ) -> None:
        super().__init__(message)
        self.rows = tuple(int(row) for row in rows)
        self.left = tuple(float(nats) for nats in left)


class UnseenValueWarning(UserWarning):
    """Feature values that ``fit`` did not see in their column.

    Attributes
    ----------
    values : dict
        The values, by column name; None is a missing value.
    """

    def __init__(self, message: str, *, values: dict[Hashable, list[Any]] | None = None) -> None:
        super().__init__(message)
        self.values = values or {}


class ClusterError(DecibanError, RuntimeError):
    """A Dask cluster that cannot be used, or that was lost."""


class LostProcessError(ClusterError):
    """Another process in the same training ended or cannot be reached."""


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
