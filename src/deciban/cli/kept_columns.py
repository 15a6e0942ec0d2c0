"""Which columns a calibrator was fitted to: kept in its file, for ``apply`` to need no options."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from deciban.cli.columns import (
    Layout,
    Scored,
    columns_of_classes,
    llr_column,
    named_columns,
    numbers,
    shares,
)
from deciban.cli.io.formats import listed
from deciban.cli.io.tables import columns_of_table, nearest
from deciban.cli.operating import parsed_prior
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np
    from polars import DataFrame

    from deciban.evidence import Evidence

    Classes = tuple[Hashable, ...]

_KEY = "scores"
_KINDS = ("llr", "trials", "log-likelihoods", "posteriors")


@dataclass(frozen=True)
class KeptColumns:
    """What scores are called and what they are.

    Attributes
    ----------
    kind : {"llr", "trials", "log-likelihoods", "posteriors"}
    columns : tuple of str
        One LLR, or one column for each class of the calibrator, in their order.
    positive : int
        Place of the class that LLRs are in favour of; 1 where there are none.
    base : {"e", "2", "10"}
    prior : tuple of float, or None
        What is inside posteriors; None is the uniform one.
    floor : float, or None
        To which smaller posteriors are raised.
    """

    kind: str
    columns: tuple[str, ...]
    positive: int = 1
    base: str = "e"
    prior: tuple[float, ...] | None = None
    floor: float | None = None

    @classmethod
    def of(
        cls, source: str, layout: Layout, scored: Scored, classes: Classes, trials: bool
    ) -> Self:
        """Those that scores were read from; the classes as the calibrator has them."""
        import numpy as np

        positive = classes.index(scored.evidence.classes[1])
        if trials:
            return cls("trials", (layout.llr or "score",), positive, layout.base)
        there = columns_of_table(source, format=layout.format)
        llr = llr_column(layout, there, source)
        if llr is not None:
            return cls("llr", (llr,), positive, layout.base)
        chosen = columns_of_classes(classes, named_columns(layout), there, layout, source)
        columns = tuple(chosen[label] for label in classes)
        if layout.posteriors is None:
            return cls("log-likelihoods", columns, base=layout.base)
        order = [scored.evidence.classes.index(label) for label in classes]
        counts = np.bincount(scored.codes, minlength=len(classes))[order].tolist()
        prior = parsed_prior(layout.prior, "--prior", classes, counts)
        inside = None if prior is None else tuple(prior[label] for label in classes)
        return cls("posteriors", columns, 1, layout.base, inside, layout.floor)

    def to_plain(self) -> dict[str, Any]:
        """As it goes into the file."""
        prior = None if self.prior is None else list(self.prior)
        return {_KEY: {"kind": self.kind, "columns": list(self.columns), "base": self.base,
                       "positive": self.positive, "prior": prior,
                       "floor": self.floor}}  # fmt: skip

    @classmethod
    def from_plain(cls, extra: dict[str, Any] | None, n_classes: int, name: str) -> Self:
        """As it comes back, or a sentence on why it does not."""
        plain = (extra or {}).get(_KEY)
        if plain is None:
            raise InputError(
                f"{name} must say which columns it was fitted to; it does not. Make it with "
                f"deciban calibrate."
            )
        try:
            prior = plain["prior"]
            kept = cls(plain["kind"], tuple(plain["columns"]), plain["positive"], plain["base"],
                       None if prior is None else tuple(map(float, prior)),
                       plain.get("floor"))  # fmt: skip
            if not kept._is_whole(n_classes):
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"{name} must say which columns it was fitted to; what it says does not fit. Make "
                f"it again with deciban calibrate."
            ) from None
        return kept

    def _is_whole(self, n_classes: int) -> bool:
        of_two = self.kind in ("llr", "trials")
        return (
            self.kind in _KINDS
            and len(set(self.columns)) == len(self.columns) == (1 if of_two else n_classes)
            and all(isinstance(column, str) for column in self.columns)
            and (n_classes == 2 or not of_two)
            and self.positive in (0, 1)
            and self.base in ("e", "2", "10")
            and (self.prior is None or len(self.prior) == n_classes)
            and (self.floor is None or (isinstance(self.floor, float) and 0 < self.floor < 1))
        )

    @property
    def nats(self) -> float:
        """How many nats a unit of the logarithms is."""
        return 1.0 if self.base == "e" else math.log(int(self.base))

    @property
    def of_two(self) -> bool:
        """Whether they are LLRs."""
        return len(self.columns) == 1

    def added(self, classes: Classes) -> list[str]:
        """What calibrated columns are called."""
        if self.of_two:
            return [f"calibrated_{self.columns[0]}"]
        return [f"calibrated_{label}" for label in classes]

    def require_in(self, there: list[str], source: str) -> None:
        """Refuse a table without them."""
        for name in self.columns:
            if name not in there:
                raise InputError(
                    f"{source} must have the column {name!r}, which the calibrator was fitted to; "
                    f"its columns are {listed(there)}.{nearest(name, there) or ' Rename one.'}"
                )

    def evidence(self, frame: DataFrame, classes: Classes, source: str, start: int) -> Evidence:
        """What the rows say before calibration; ``start`` rows of the table came before them."""
        import numpy as np

        try:
            values = np.column_stack([numbers(frame[name], source) for name in self.columns])
        except InputError as error:
            raise _moved(error, start) from None
        try:
            return self._evidence(values, classes)
        except InputError as error:
            raise _moved(InputError(f"{source}: {error}", rows=error.rows), start + 1) from None

    def _evidence(self, values: np.ndarray, classes: Classes) -> Evidence:
        from deciban.evidence import Evidence

        if self.of_two:
            pair = classes[self.positive], classes[1 - self.positive]
            return Evidence.from_llr(values[:, 0] * self.nats, *pair)
        if self.kind == "posteriors":
            return Evidence.from_posteriors(shares(values, self.floor), self.prior, classes)
        return Evidence._from_scores(values * self.nats, classes)

    def calibrated(self, calibrator: Any, evidence: Evidence) -> np.ndarray:
        """The values of the new columns, in the base of the old, (n_samples, n_columns)."""
        if not self.of_two:
            return calibrator.transform(evidence) / self.nats
        classes = calibrator.classes_.tolist()
        llr = calibrator.evidence(evidence).llr(classes[self.positive], classes[1 - self.positive])
        return llr[:, None] / self.nats


def _moved(error: InputError, by: int) -> InputError:
    """The same sentence with rows counted from further up."""
    text = re.sub(r"\brow (\d+)\b", lambda found: f"row {int(found[1]) + by}", str(error))
    return InputError(text, rows=[row + by for row in error.rows])


def require_finite(evidence: Evidence, calibrator: Any, source: str, start: int = 0) -> None:
    """Most calibrators cannot do with a class ruled out."""
    import numpy as np

    from deciban.calibration import IsotonicCalibrator

    ruled_out = np.isneginf(evidence.log_likelihoods).any(axis=1)
    if ruled_out.any() and not isinstance(calibrator, IsotonicCalibrator):
        row = start + int(np.argmax(ruled_out))
        remedy = "Clip them first, or posteriors with --floor 0.005, half of the last decimal, say."
        if evidence.n_classes == 2:
            remedy = "Clip them (posteriors with --floor 0.005, say), or give --method isotonic."
        raise InputError(
            f"{source} must have finite scores for this calibrator; row {row + 1} rules a class "
            f"out, one of {int(ruled_out.sum()):,} such. {remedy}",
            rows=[row],
        )
