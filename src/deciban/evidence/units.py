"""Units of weight of evidence: they differ by the base of the logarithm."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any, Literal

from deciban.exceptions import InputError

Unit = Literal["nat", "bit", "ban", "deciban"]

#: How many nats one unit is. A ban is a factor of ten, a deciban a tenth of that: about the
#: smallest change in weight of evidence that a person perceives (Good, 1979).
NATS_PER_UNIT = MappingProxyType(
    {"nat": 1.0, "bit": math.log(2), "ban": math.log(10), "deciban": math.log(10) / 10}
)


def from_nats(value: Any, unit: Unit) -> Any:
    """A number or array of nats in another unit.

    Examples
    --------
    >>> round(from_nats(math.log(100), "deciban"), 10)
    20.0
    """
    return value if unit == "nat" else value / _nats_per(unit)


def to_nats(value: Any, unit: Unit) -> Any:
    """A number or array in a unit, in nats."""
    return value if unit == "nat" else value * _nats_per(unit)


def _nats_per(unit: Unit) -> float:
    if unit not in NATS_PER_UNIT:
        raise InputError(
            f"unit must be one of {', '.join(NATS_PER_UNIT)}; got {unit!r}. Choose one of them."
        )
    return NATS_PER_UNIT[unit]
