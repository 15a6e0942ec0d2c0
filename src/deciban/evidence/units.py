"""How much evidence: units of its weight, and words for likelihood ratios."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._validation.arrays import read_llrs
from deciban._validation.scalars import is_number, quote, require_one_of
from deciban.exceptions import InputError

Unit = Literal["nat", "bit", "ban", "deciban"]

#: How many nats one unit is. A ban is a factor of ten, a deciban a tenth of that: about the
#: smallest change in weight of evidence that a person perceives (Good, 1979).
NATS_PER_UNIT = MappingProxyType(
    {"nat": 1.0, "bit": math.log(2), "ban": math.log(10), "deciban": math.log(10) / 10}
)


def from_nats(value: Any, unit: Unit) -> Any:
    """A number or array of nats in another unit: ``value / NATS_PER_UNIT[unit]``.

    See Also
    --------
    deciban.Evidence.in_unit : Log-likelihoods in a unit.
    deciban.Evidence.from_llr : Evidence from LLRs in any unit.

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
    return NATS_PER_UNIT[require_one_of(unit, "unit", NATS_PER_UNIT)]


@dataclass(frozen=True)
class VerbalScale:
    """Words for ranges of the likelihood ratio.

    Parameters
    ----------
    name : str
    cuts : tuple of float
        Likelihood ratios at which the next word begins, increasing, the first at least 1. A ratio r
        below 1 supports the other class as 1 / r supports this one.
    words : tuple of str
        One for each cut.
    neutral : str
        For ratios below the first cut.
    source : str
        Citation of the publication.

    See Also
    --------
    deciban.Evidence.verbal : Takes a scale, or the name of one of ``deciban.evidence.SCALES``.

    Examples
    --------
    >>> coarse = VerbalScale("coarse", (3, 30), ("some", "much"), source="this example")
    >>> coarse.describe(np.log([1, 0.1, 50]), "a", "b").tolist()
    ['no support for either', 'some support for b over a', 'much support for a over b']
    """

    name: str
    cuts: tuple[float, ...]
    words: tuple[str, ...]
    neutral: str = "no"
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("cuts", "words"):  # lists would make it unhashable
            object.__setattr__(self, name, tuple(getattr(self, name)))
        cuts = self.cuts
        if not all(map(is_number, cuts)):
            raise InputError(f"cuts must be numbers; got {quote(cuts)}. Give likelihood ratios.")
        if not cuts or len(cuts) != len(self.words):
            raise InputError(
                f"words must match cuts one to one; got {len(self.words)} and {len(cuts)}."
            )
        increasing = all(low < high for low, high in itertools.pairwise(cuts))
        if not (increasing and cuts[0] >= 1 and math.isfinite(cuts[-1])):
            raise InputError(
                f"cuts must increase from 1 or more; got {quote(cuts)}. Sort them; a ratio r below "
                f"1 is graded as 1 / r for the other class."
            )

    def describe(self, llr: ArrayLike, a: Hashable, b: Hashable) -> NDArray[np.str_]:
        """Words for log-likelihood-ratios in nats of class ``a`` against class ``b``."""
        llr = read_llrs(llr)
        # The rounding slack puts log(100) and its like on the side where the table has them.
        grade = np.searchsorted(np.log(self.cuts), np.abs(llr) * (1 + 1e-12), side="right")
        either = f"{self.neutral} support for either"
        for_a = np.array([either, *(f"{word} support for {a} over {b}" for word in self.words)])
        for_b = np.array([either, *(f"{word} support for {b} over {a}" for word in self.words)])
        return np.where(llr >= 0, for_a[grade], for_b[grade])


_PUBLISHED = (
    VerbalScale(
        "enfsi",
        (2, 10, 100, 1_000, 10_000, 1_000_000),
        ("weak", "moderate", "moderately strong", "strong", "very strong", "extremely strong"),
        source="ENFSI guideline for evaluative reporting in forensic science, version 3.0 (2015), "
        "European Network of Forensic Science Institutes",
    ),
    VerbalScale(
        "jeffreys",
        (10**0.5, 10, 10**1.5, 100),
        ("substantial", "strong", "very strong", "decisive"),
        neutral="barely any",
        source="Jeffreys (1961), Theory of probability, third edition, appendix B",
    ),
    VerbalScale(
        "kass-raftery",
        (3, 20, 150),
        ("positive", "strong", "very strong"),
        neutral="barely any",
        source="Kass and Raftery (1995), Bayes factors, Journal of the American Statistical "
        "Association 90(430), section 3.2",
    ),
)
SCALES = MappingProxyType({scale.name: scale for scale in _PUBLISHED})
