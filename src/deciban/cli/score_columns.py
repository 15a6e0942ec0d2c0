"""Score columns: finding them, storing them with a calibrator, and their evidence."""

from __future__ import annotations

import math
import shlex
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from deciban.cli.cells import Column, Labels, find_target, fold_key_word, parse_numbers
from deciban.cli.operating import find_class, parse_prior
from deciban.cli.options import ScoreOptions
from deciban.cli.tables import Table
from deciban.cli.trials import CALIBRATED, find_calibrated
from deciban.cli.words import join_words, one_of_such, quote, quote_name
from deciban.evidence import Evidence
from deciban.exceptions import InputError, TableError

Floats = NDArray[np.float64]
_KEY = "scores"  # where a calibrator's file stores its columns


@dataclass(frozen=True)
class ScoreColumns:
    """One LLR column, or one column per sorted class, as a calibrator's file stores them."""

    kind: str  # "llr", "trials", "log-likelihoods" or "posteriors"
    columns: tuple[str, ...]
    positive: int = 1  # index of the class that LLRs favor; 1 if there are none
    base: str = "e"  # of the logarithms: "e", "2" or "10"
    prior: tuple[float, ...] | None = None  # contained in posteriors; None is the uniform one
    floor: float | None = None  # to which smaller posteriors are raised

    @property
    def nats(self) -> float:
        """Nats per unit of the logarithm."""
        return 1.0 if self.base == "e" else math.log(int(self.base))

    @property
    def is_llr(self) -> bool:
        return self.kind in ("llr", "trials")

    def favored_first(self, classes: Sequence[Any]) -> tuple[Any, Any]:
        """The class that LLRs favor, and the other."""
        return classes[self.positive], classes[1 - self.positive]

    def to_dict(self) -> dict[str, Any]:
        prior = None if self.prior is None else list(self.prior)
        return {_KEY: {**vars(self), "columns": list(self.columns), "prior": prior}}

    @classmethod
    def from_dict(cls, extra: dict[str, Any] | None, n_classes: int, name: str) -> Self:
        """The columns that a calibrator's file stores, or an error."""
        try:
            plain = (extra or {})[_KEY]
            prior = None if plain["prior"] is None else tuple(map(float, plain["prior"]))
            found = cls(**{**plain, "columns": tuple(plain["columns"]), "prior": prior})
            if found._fits(n_classes):
                return found
        except (KeyError, TypeError, ValueError):
            pass
        raise InputError(
            f"{name} does not say which columns it was fitted to. Make it with deciban calibrate."
        )

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
        """The scores as numbers; ``start`` table rows come before the frame."""
        return np.column_stack(
            [parse_numbers(Column(frame[name], source, start)) for name in self.columns]
        )

    def evidence(self, values: Floats, classes: Labels, source: str, start: int = 0) -> Evidence:
        """The evidence in scores; with two classes, LLRs favor the second."""
        if self.is_llr:
            return Evidence.from_llr(values[:, 0] * self.nats, *self.favored_first(classes))
        if self.kind == "posteriors":
            bad, rule = (values < 0).any(axis=1), "posteriors of zero or more"
        else:
            bad = np.isposinf(values).any(axis=1) | np.isneginf(values).all(axis=1)
            rule = "log-likelihoods below +inf, and one above -inf in each row"
        if bad.any():
            row = start + int(np.argmax(bad))
            sentence = f"must hold {rule}; row {row + 1} does not. Correct it."
            raise TableError(sentence, file=source, rows=[row])
        if self.kind == "posteriors":
            shares = _normalize_posteriors(values, self.floor, source, start)
            return Evidence.from_posteriors(shares, self.prior, classes)
        return Evidence.from_scores(values * self.nats, classes)

    def added_names(self, classes: Labels) -> list[str]:
        if self.is_llr:
            return [f"{CALIBRATED}{self.columns[0]}"]
        return [f"{CALIBRATED}{label}" for label in classes]

    def calibrate(self, calibrator: Any, evidence: Any) -> Floats:
        """Calibrated scores in the base of the scores."""
        if not self.is_llr:
            return np.asarray(calibrator.transform(evidence) / self.nats)
        llr = calibrator.evidence(evidence).llr(*self.favored_first(calibrator.classes_.tolist()))
        return np.asarray(llr[:, None] / self.nats)

    def interval(self, calibrator: Any, evidence: Any, confidence: float) -> tuple[Floats, Floats]:
        """Interval ends for calibrated scores, in their base."""
        D = len(calibrator.classes_)
        contrasts = np.eye(D) - 1 / D
        if self.is_llr:
            favored, other = self.favored_first(list(np.eye(D)))
            contrasts = (favored - other)[None, :]
        low, high = calibrator._interval(evidence, contrasts, confidence)
        return low / self.nats, high / self.nats


def find_columns(
    options: ScoreOptions, table: Table, labels: Labels, counts: Sequence[int], *, calibrated: bool
) -> ScoreColumns:
    """The score columns in a table; ``counts`` has the samples in each class."""
    if options.llr is not None:
        return llr_columns("llr", table.require_column(options.llr, "--llr"), labels, options)
    free = not options.pattern and not options.posteriors
    llr = find_calibrated(table, "llr") if free and calibrated else None
    if llr is None and free and "llr" in table.schema and options.truth != "llr":
        llr = "llr"
    if llr is not None:
        return llr_columns("llr", llr, labels, options)
    columns = tuple(f"{CALIBRATED}{label}" for label in labels)
    if not (free and calibrated and table.schema.keys() >= set(columns)):
        columns = _find_class_columns(labels, table, options)
    positive = 1
    if options.positive is not None:
        if len(labels) > 2:
            raise InputError(
                f"Scores favor one class if there are two; got {len(labels)} classes. Leave out "
                f"={options.positive} in --truth."
            )
        positive = labels.index(find_class(options.positive, "--truth", labels))
    if options.posteriors is None:
        return ScoreColumns("log-likelihoods", columns, positive, options.base)
    prior = parse_prior(options.posteriors, "--posteriors", labels, counts)
    inside = None if prior is None else tuple(prior[label] for label in labels)
    return ScoreColumns("posteriors", columns, positive, options.base, inside)


def llr_columns(kind: str, column: str, labels: Labels, options: ScoreOptions) -> ScoreColumns:
    """The LLR column for two classes, and the class that it favors."""
    if len(labels) != 2:
        raise InputError(
            f"{quote(column)} is an LLR of two classes, and there are {len(labels):,}: "
            f"{join_words([quote(label) for label in labels], 5)}. Correct labels that are "
            "misspelled, or name one column for each class with --llr '*'."
        )
    favored = find_target(labels)
    if options.positive is not None:
        favored = find_class(options.positive, "--truth", labels)
    if favored is None:
        remedy = f"{options.truth or options.key or 'COLUMN'}={quote_name(labels[1])}"
        raise InputError(
            f"Which class do the LLRs favor, {' or '.join(map(quote_name, labels))}? Say so with "
            f"--truth {shlex.quote(remedy)}, for instance."
        )
    return ScoreColumns(kind, (column,), labels.index(favored), options.base)


def _find_class_columns(labels: Labels, table: Table, options: ScoreOptions) -> tuple[str, ...]:
    """The column named after each class; if there is none, as `deciban predict` names it."""
    pattern = options.pattern or "*"
    found = [pattern.replace("*", str(label)) for label in labels]
    for k, label in enumerate(labels):
        if isinstance(label, bool) and found[k] not in table.schema:
            found[k] = pattern.replace("*", str(label).lower())
    missing = [name for name in found if name not in table.schema]
    if len(missing) == len(found) and pattern == "*":
        written = "log_likelihood_" if options.posteriors is None else "posterior_"
        predicted = tuple(f"{written}{label}" for label in labels)
        if table.schema.keys() >= set(predicted):
            return predicted
    if missing:
        remedy = "Name them with --llr: a column of LLRs, or 'll_*' with * for the class."
        if len(missing) < len(found):
            remedy = "Add it, also for a class that is out of the set, or leave its samples out."
        raise table.error(
            f"has no column llr, or lacks one for a class of {quote(options.truth)}: "
            f"{join_words(missing, 5)}; its columns are {join_words(table.columns)}. {remedy}"
        )
    return tuple(found)


def describe_columns(
    columns: ScoreColumns, classes: Sequence[Hashable], options: ScoreOptions
) -> tuple[str, ...]:
    """Which column was taken, and which class it favors."""
    names, notes = columns.columns, []
    calibrated = all(name.startswith(CALIBRATED) for name in names) and not options.llr
    before = quote_name(names[0].removeprefix(CALIBRATED)) if columns.is_llr else "'*'"
    remedy = f" They are calibrated; --llr {before} takes those before calibration."
    if columns.is_llr:
        assumed = options.positive is None and fold_key_word(classes[1]) != "target"
        why = " (by its name; --truth COLUMN=CLASS changes it)" * assumed
        notes.append(
            f"LLRs: column {names[0]}; positive class: {classes[1]}{why}.{remedy * calibrated}"
        )
        if columns.base == "e" and "log10" in names[0].lower():
            notes.append("They are read as natural logarithms; for base 10 give --base 10.")
    elif calibrated:
        notes.append(f"Log-likelihoods: columns {join_words(names, 5)}.{remedy}")
    elif not options.pattern and all(map(str.endswith, names, (f"_{c}" for c in classes))):
        notes.append(f"{columns.kind.capitalize()}: columns {join_words(names, 5)}.")
    return tuple(notes)


def refuse_probabilities(values: Floats) -> None:
    """Raise on values that are positive and sum to one in every row, as logarithms do not."""
    if values.min() < 0 or np.isinf(values).any() or not (values % 1 > 0).any():
        return
    if whole := _common_sum(values):
        raise InputError(
            f"The columns seem to be posteriors, not log-likelihoods: they are positive and "
            f"sum to {whole} in every row. Pass --posteriors and the prior that they contain."
        )


def _common_sum(values: Floats) -> int | None:
    """1 or 100 if all rows sum to it, up to rounding to two decimals."""
    rounding = min(0.006 * values.shape[1], 0.05)
    sums = values.sum(axis=1)
    return next((n for n in (1, 100) if (np.abs(sums / n - 1) <= rounding).all()), None)


def _normalize_posteriors(values: Floats, floor: float | None, source: str, start: int) -> Floats:
    """Posteriors that sum to one, from percentages or rounded ones; none is below the floor."""
    total = values.sum(axis=1, keepdims=True)
    if _common_sum(values):
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
    """Raise if a class is ruled out, unless the calibrator can deal with that."""
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
