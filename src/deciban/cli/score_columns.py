"""What columns of scores hold, as a calibrator's file stores it, and what they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from deciban.cli.cells import Column, Labels, parse_numbers
from deciban.cli.trials import CALIBRATED
from deciban.cli.words import one_of_such
from deciban.evidence import Evidence
from deciban.exceptions import InputError, TableError

Floats = NDArray[np.float64]
_KEY = "scores"  # where a calibrator's file stores its columns


@dataclass(frozen=True)
class ScoreColumns:
    """Columns of scores and what they hold, as a calibrator's file stores them.

    There is one column of LLRs, or one for each class in the order of the sorted classes.
    """

    kind: str  # "llr", "trials", "log-likelihoods" or "posteriors"
    columns: tuple[str, ...]
    positive: int = 1  # index of the class that LLRs favor; 1 where there are none
    base: str = "e"  # of the logarithms: "e", "2" or "10"
    prior: tuple[float, ...] | None = None  # contained in posteriors; None is the uniform one
    floor: float | None = None  # to which smaller posteriors are raised

    @property
    def nats(self) -> float:
        """How many nats one unit of the logarithms is."""
        return 1.0 if self.base == "e" else math.log(int(self.base))

    @property
    def is_llr(self) -> bool:
        """Whether the scores are LLRs of two classes."""
        return self.kind in ("llr", "trials")

    def favored_first(self, classes: Sequence[Any]) -> tuple[Any, Any]:
        """Of two classes, the one that LLRs favor and the other."""
        return classes[self.positive], classes[1 - self.positive]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a calibrator's file."""
        prior = None if self.prior is None else list(self.prior)
        return {_KEY: {**vars(self), "columns": list(self.columns), "prior": prior}}

    @classmethod
    def from_dict(cls, extra: dict[str, Any] | None, n_classes: int, name: str) -> Self:
        """The columns that a calibrator's file stores, or an error."""
        plain = (extra or {}).get(_KEY)
        if plain is None:
            raise InputError(
                f"{name} must say which columns it was fitted to; it does not. Make it with "
                f"deciban calibrate."
            )
        try:
            prior = None if plain["prior"] is None else tuple(map(float, plain["prior"]))
            found = cls(**{**plain, "columns": tuple(plain["columns"]), "prior": prior})
            if not found._fits(n_classes):
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"{name} must say which columns it was fitted to; what it says does not fit. Make "
                f"it again with deciban calibrate."
            ) from None
        return found

    def _fits(self, n_classes: int) -> bool:
        return (
            self.kind in ("llr", "trials", "log-likelihoods", "posteriors")
            and len(set(self.columns)) == len(self.columns) == (1 if self.is_llr else n_classes)
            and all(isinstance(column, str) for column in self.columns)
            and (n_classes == 2 or not self.is_llr)
            and self.positive in (0, 1)
            and self.base in ("e", "2", "10")
            and (self.prior is None or len(self.prior) == n_classes)
            and (self.floor is None or (isinstance(self.floor, float) and 0 < self.floor < 1))
        )

    def values(self, frame: pl.DataFrame, source: str, start: int = 0) -> Floats:
        """The scores as numbers; ``start`` rows of the table came before the frame."""
        return np.column_stack(
            [parse_numbers(Column(frame[name], source, start)) for name in self.columns]
        )

    def evidence(self, values: Floats, classes: Labels, source: str, start: int = 0) -> Evidence:
        """What the scores say. Of two classes, the one that LLRs favor is the second."""
        if self.is_llr:
            return Evidence.from_llr(values[:, 0] * self.nats, *self.favored_first(classes))
        self._require_rows(values, source, start)
        if self.kind == "posteriors":
            shares = normalize_posteriors(values, self.floor, source, start)
            return Evidence.from_posteriors(shares, self.prior, classes)
        return Evidence.from_scores(values * self.nats, classes)

    def _require_rows(self, values: Floats, source: str, start: int) -> None:
        if self.kind == "posteriors":
            bad, what = (values < 0).any(axis=1), "posteriors of zero or more"
        else:
            bad = np.isposinf(values).any(axis=1) | np.isneginf(values).all(axis=1)
            what = "log-likelihoods below +inf, and one above -inf in each row"
        if bad.any():
            row = start + int(np.argmax(bad))
            sentence = f"must hold {what}; row {row + 1} does not. Correct it."
            raise TableError(sentence, file=source, rows=[row])

    def added_names(self, classes: Labels) -> list[str]:
        """Names of the calibrated columns."""
        if self.is_llr:
            return [f"{CALIBRATED}{self.columns[0]}"]
        return [f"{CALIBRATED}{label}" for label in classes]

    def calibrate(self, calibrator: Any, evidence: Any) -> Floats:
        """Values of the calibrated columns, in the base of the scores."""
        if not self.is_llr:
            return np.asarray(calibrator.transform(evidence) / self.nats)
        llr = calibrator.evidence(evidence).llr(*self.favored_first(calibrator.classes_.tolist()))
        return np.asarray(llr[:, None] / self.nats)

    def interval(self, calibrator: Any, evidence: Any, confidence: float) -> tuple[Floats, Floats]:
        """Ends of the intervals of the calibrated columns, in the base of the scores."""
        D = len(calibrator.classes_)
        contrasts = np.eye(D) - 1 / D
        if self.is_llr:
            favored, other = self.favored_first(list(np.eye(D)))
            contrasts = (favored - other)[None, :]
        low, high = calibrator._interval(evidence, contrasts, confidence)
        return low / self.nats, high / self.nats


def refuse_probabilities(values: Floats) -> None:
    """Raise on values that are positive and sum to one in every row, as logarithms do not."""
    if values.min() < 0 or np.isinf(values).any() or not (values % 1 > 0).any():
        return
    for total, what in ((1, "one"), (100, "100")):
        if (np.abs(values.sum(axis=1) / total - 1) <= _rounding(values)).all():
            raise InputError(
                f"the columns must be log-likelihoods; they are positive and sum to {what} in "
                "every row. If they are posteriors, give --posteriors and the prior they contain."
            )


def _rounding(values: Floats) -> float:
    """How far sums of posteriors with two decimals may be off: half a hundredth for each."""
    return min(0.006 * values.shape[1], 0.05)


def normalize_posteriors(values: Floats, floor: float | None, source: str, start: int) -> Floats:
    """Posteriors that sum to one, from percentages or rounded ones; none is below the floor."""
    total = values.sum(axis=1, keepdims=True)
    for whole in (1.0, 100.0):
        if (np.abs(total / whole - 1) <= _rounding(values)).all():
            values = values / total if floor is None else np.maximum(values / total, floor)
            return np.asarray(values / values.sum(axis=1, keepdims=True))
    whole = 100.0 if abs(float(np.median(total)) - 100) < 50 else 1.0
    row = int(np.argmax(np.nan_to_num(np.abs(total / whole - 1), nan=np.inf)))
    raise TableError(
        "must hold posteriors, which sum to one in each row (or to 100, as percentages); row "
        f"{start + row + 1} sums to {total[row, 0]:.4g}. Name the column of each class.",
        file=source,
        rows=[start + row],
    )


def require_finite(evidence: Evidence, calibrator: Any, source: str, start: int = 0) -> None:
    """Raise where a class is ruled out, unless the calibrator can deal with that."""
    from deciban.calibration import IsotonicCalibrator  # evaluate need not wait for scikit-learn

    ruled_out = np.isneginf(evidence.log_likelihoods).any(axis=1)
    inner = getattr(calibrator, "calibrator", calibrator)  # of bounds
    if ruled_out.any() and not isinstance(inner, IsotonicCalibrator):
        row = start + int(np.argmax(ruled_out))
        remedy = "Raise posteriors of 0 first, to half of the last decimal, or clip log-likelihoods"
        if evidence.n_classes == 2:
            remedy += ", or give --method isotonic"
        raise TableError(
            f"must have finite scores for this calibrator; row {row + 1} rules a class out"
            f"{one_of_such(int(ruled_out.sum()))}. {remedy}.",
            file=source,
            rows=[row],
        )
