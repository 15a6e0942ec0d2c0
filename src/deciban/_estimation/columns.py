"""Table columns to model features and back, the same way each time.

A table is read into codes: one float column per table column, NaN for missing values. Features are
made from codes.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._estimation.frames import (
    DAY,
    as_plain,
    factorize,
    is_table,
    library_of,
    read_cells,
    to_pandas,
    to_polars,
)
from deciban._persistence.registry import register_value
from deciban._validation.arrays import Floats
from deciban._validation.scalars import quote, quote_each
from deciban.exceptions import InputError, UnseenValueWarning

_MOST_CATEGORIES = 50  # of a column of text; names and free text have more
_FEWEST_GAPS = 10  # missing values in a column that are worth a feature
_TYPICAL_ROWS = 10_000  # enough for a median
_MOST_NEUTRAL = 100  # columns whose gaps are filled by values that speak for no class
_FLOOR = 1e-6  # smallest eigenvalue of a covariance, relative to the largest
_FIRST, _LAST = -719_162, 2_932_896  # days of the years 1 and 9999
_RARE = -1  # a column with gaps, too few for a feature
_CODED = ("category", "ordered")
_CONTINUOUS = ("number", "datetime", "duration")
_NOUNS = {
    "number": "numbers", "boolean": "truth values", "category": "text or categories",
    "ordered": "ordered categories", "date": "dates", "datetime": "dates",
    "duration": "durations", "": "missing values only",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a table, and how they become features.

    Numbers are features as they are; booleans become 0 or 1, dates and durations days, and ordered
    categories ranks. In other columns with text or categories each value but the first is a feature
    of zeros and ones. The median replaces a missing value, or the most frequent value of booleans
    and categories; if ``fit`` saw ten or more, another feature flags them, shared by columns with
    the same gaps. With fewer missing numbers, values that favor no class replace them.
    """

    names: list[Any] = field(default_factory=list)  # empty for an array
    kinds: dict[int, str] = field(default_factory=dict)  # by position, without numbers
    categories: dict[int, list[Any]] = field(default_factory=dict)  # by position
    fill: Floats = field(default_factory=lambda: np.zeros(0))  # in place of missing values
    gaps: dict[int, int] = field(default_factory=dict)  # and the column that flags them, or -1
    library: str = ""  # "pandas", "polars", or empty for an array

    def __post_init__(self) -> None:
        n = len(self.fill)
        coded = [k for k, kind in self.kinds.items() if kind in _CODED]
        places = [*self.kinds, *self.gaps, *(k for k in self.gaps.values() if k != _RARE)]
        if (
            not all(type(k) is int and 0 <= k < n for k in places)
            or not all(kind in _NOUNS for kind in self.kinds.values())
            or coded != list(self.categories)
            or not all(0 < len(set(values)) == len(values) for values in self.categories.values())
            or not all(0 <= self.fill[k] < len(values) for k, values in self.categories.items())
            or len(self.names) not in (0, n)
            or self.library not in ("pandas", "polars", "")
        ):
            raise ValueError("columns that contradict one another")

    @classmethod
    def describe(cls, X: Any) -> Self:
        """Kinds and categories of a table's columns; an array has numbers only."""
        if not is_table(X):
            return cls()
        by_name = _columns_by_name(X)
        keys = list(by_name)
        kinds, categories = {}, {}
        for k, key in enumerate(by_name.values()):
            kind, cells = read_cells(X[key], key)
            if kind == "date" and (cells[~np.isnan(cells)] % 1).any():
                kind = "datetime"
            if kind not in ("number", ""):
                kinds[k] = kind
            if kind == "ordered":
                categories[k] = [as_plain(value) for value in X[key].dtype.categories.tolist()]
            elif kind == "category":
                categories[k] = _sort({*cells.values} - {None})
        _refuse_free_text({keys[k]: v for k, v in categories.items() if kinds[k] == "category"})
        return cls(keys, kinds, categories, np.zeros(len(keys)), library=library_of(X))

    def join(self, other: Columns) -> Self:
        """Columns of two tables that belong together, before gaps are learned."""
        if self.names != other.names:
            absent = [name for name in self.names if name not in other.names]
            raise InputError(
                f"all batches must have the same columns in the same order; one lacks "
                f"{quote_each(absent or self.names, 5)}. Select the columns of each."
            )
        kinds, categories = self.kinds | other.kinds, self.categories | other.categories
        for k in self.kinds.keys() & other.kinds.keys():
            both = {self.kinds[k], other.kinds[k]}
            if both == {"date", "datetime"}:
                kinds[k] = "datetime"
            elif len(both) > 1:
                nouns = sorted(_NOUNS[kind] for kind in both)
                raise InputError(
                    f"all batches must hold the same in {quote(self.names[k])}; got "
                    f"{' and '.join(nouns)}. Convert the column."
                )
            elif kinds[k] == "category":
                categories[k] = _sort({*self.categories[k], *other.categories[k]})
        kinds, categories = dict(sorted(kinds.items())), dict(sorted(categories.items()))
        found = {self.names[k]: v for k, v in categories.items() if kinds[k] == "category"}
        _refuse_free_text(found)
        return replace(self, kinds=kinds, categories=categories)

    def learn_gaps(self, codes: Floats, classes: NDArray[np.intp] | None = None) -> Self:
        """The same columns, with replacements for missing values and their flags."""
        holes = np.isnan(codes)
        counts = holes.sum(axis=0)
        if (counts == len(codes)).any():
            name = self._names()[int(np.argmax(counts))]
            raise InputError(f"X must hold a value in every column; {name!r} holds none. Drop it.")
        gaps: dict[int, int] = {}
        first: dict[bytes, int] = {}  # the first column with the same gaps
        for k in np.flatnonzero(counts).tolist():
            twin = first.setdefault(np.packbits(holes[:, k]).tobytes(), k)
            gaps[k] = twin if counts[k] >= _FEWEST_GAPS else _RARE
        known = [codes[~holes[:, k], k] if n else codes[:, k] for k, n in enumerate(counts)]
        kinds = [self.kinds.get(k, "number") for k in range(len(known))]
        fill = np.array([_typical(*pair) for pair in zip(known, kinds, strict=True)])
        plain = [k for k, kind in enumerate(kinds) if kind in _CONTINUOUS and gaps.get(k, -1) < 0]
        if classes is not None and 0 < len(plain) <= _MOST_NEUTRAL:
            rows = slice(None, None, 1 + len(codes) // _TYPICAL_ROWS)
            X = np.where(holes[rows, plain], fill[plain], codes[rows, plain])
            fill[plain] = _neutral(X, classes[rows], fill[plain])
        columns = replace(self, fill=fill, gaps=gaps)
        if columns.n_features == 0:
            raise InputError("X must hold different values; got columns of one text each. Add one.")
        return columns

    def read(self, X: Any) -> Floats:
        """Codes for a table with its columns in any order, found by name.

        Other columns are ignored. A value unknown to ``fit`` counts as missing, with a warning.
        """
        keys = _columns_by_name(X, self.names)
        if self.names:
            if absent := [name for name in self.names if name not in keys]:
                raise InputError(
                    f"X must have the columns that it had in fit; it lacks {quote_each(absent, 5)}."
                    f" Add {'them' if len(absent) > 1 else 'it'}."
                )
            keys = {name: keys[name] for name in self.names}
        codes = np.empty((len(X), len(keys)))
        unseen: dict[Hashable, list[Any]] = {}
        for k, key in enumerate(keys.values()):
            codes[:, k] = self._codes(k, X[key], key, unseen)
        if unseen:
            each = [f"{quote_each(v, 3)} in {quote(key)}" for key, v in list(unseen.items())[:5]]
            _warn(f"X has values that fit did not see: {', '.join(each)}. They count as missing.",
                  unseen)  # fmt: skip
        return codes

    def encode(self, codes: Floats) -> Floats:
        holes = np.isnan(codes).any(axis=0)
        found = np.flatnonzero(holes).tolist()
        new: dict[Hashable, list[Any]] = {
            self._names()[k]: [None] for k in found if k not in self.gaps
        }
        if new:
            _warn(f"X has missing values in {quote_each(new, 5)}, where fit saw none. They are "
                  f"filled in by typical values.", new)  # fmt: skip
        if not (self._one_hot or self._flagged or holes.any()):
            return codes
        filled = np.where(np.isnan(codes), self.fill, codes)
        one_hot = [filled[:, [k]] == np.arange(1, len(self.categories[k])) for k in self._one_hot]
        return np.hstack([filled[:, self._direct], *one_hot, np.isnan(codes[:, self._flagged])])

    def decode(self, features: Floats, like: Any = None) -> Any:
        """The table for these features, as nearly as ``encode`` and ``read`` can be inverted.

        It is a frame if ``like`` is one, or if the columns of ``fit`` do not fit in an array of
        numbers, with the columns of ``fit`` and the types in ``like``. A category is the nearest
        one; booleans and missing values are cut at one half.
        """
        codes = self._decode(features)
        like = like if is_table(like) else None
        library = library_of(like) or (self.library if self.kinds else "")
        if not library:
            return codes
        keys = {} if like is None else _columns_by_name(like, self.names)
        values = {
            keys.get(name, name): self._values(k, codes[:, k])
            for k, name in enumerate(self._names())
        }
        return (to_pandas if library == "pandas" else to_polars)(values, like)

    def snap(self, features: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """The nearest features that a table can hold, and flags for those free to vary."""
        codes = self._decode(features)
        kinds = [self.kinds.get(k, "number") for k in self._direct]
        free = np.zeros(features.shape, dtype=bool)
        free[:, : len(kinds)] = np.isin(kinds, _CONTINUOUS) & ~np.isnan(codes[:, self._direct])
        return self.encode(codes), free

    def require_arrays(self) -> None:
        """Refuse arrays if only a frame can hold the columns."""
        k = next((k for k, kind in self.kinds.items() if kind != "boolean"), None)
        if k is not None:
            raise InputError(
                f"X must be a frame with the columns of fit, since {self._names()[k]!r} holds "
                f"{_NOUNS[self.kinds[k]]}; got an array. Give a frame."
            )

    @property
    def n_features(self) -> int:
        return len(self.features)

    @property
    def features(self) -> list[str]:
        """Feature names, such as ``age``, ``site=north`` and ``age missing``."""
        names = [str(name) for name in self._names()]
        levels = [(k, value) for k in self._one_hot for value in self.categories[k][1:]]
        return [
            *(names[k] for k in self._direct),
            *(f"{names[k]}={value}" for k, value in levels),
            *(f"{names[k]} missing" for k in self._flagged),
        ]

    # --- between codes and features -----------------------------------------------------

    @property
    def _one_hot(self) -> list[int]:
        return [k for k, kind in self.kinds.items() if kind == "category"]

    @property
    def _direct(self) -> list[int]:
        return [k for k in range(len(self.fill)) if self.kinds.get(k) != "category"]

    @property
    def _flagged(self) -> list[int]:
        """Columns whose gaps are a feature."""
        return sorted({k for k in self.gaps.values() if k != _RARE})

    def _decode(self, features: Floats) -> Floats:
        """Codes for the nearest values that the columns can hold; NaN if missing."""
        if not self.kinds and not self._flagged:
            return features
        codes = np.empty((len(features), len(self.fill)))
        at = len(self._direct)
        codes[:, self._direct] = features[:, :at]
        for k in self._one_hot:
            end = at + len(self.categories[k]) - 1
            others = features[:, at:end]
            first = 1 - others.sum(axis=1, keepdims=True)
            codes[:, k], at = np.argmax(np.hstack([first, others]), axis=1), end
        for k, kind in self.kinds.items():
            last = len(self.categories.get(k, (False, True))) - 1
            bounds = (0, last) if kind in (*_CODED, "boolean") else (_FIRST, _LAST)
            whole = codes[:, k] if kind in _CONTINUOUS else np.rint(codes[:, k])
            codes[:, k] = np.clip(whole, *bounds)
        for k, flag in self.gaps.items():
            if flag != _RARE:
                codes[features[:, at + self._flagged.index(flag)] > 0.5, k] = np.nan
        return codes

    # --- between cells and codes --------------------------------------------------------

    def _names(self) -> list[Any]:
        return self.names or [f"x{k}" for k in range(len(self.fill))]

    def _codes(self, k: int, column: Any, key: Hashable, unseen: dict[Any, Any]) -> Floats:
        """Codes for a column; unknown values are added to ``unseen``."""
        wanted = self.kinds.get(k, "number")
        kind, cells = read_cells(column, key)
        if wanted in _CODED:
            values = self.categories[k]
            place: dict[Any, float] = {None: np.nan} | {v: i for i, v in enumerate(values)}
            fits = kind in (*_CODED, "") or not all(isinstance(v, str) for v in values)
            factor = cells if kind in _CODED else factorize(cells.tolist(), key)
            each = np.array([place.get(value, -1) for value in factor.values], dtype=np.float64)
            if (each < 0).any():
                unseen[key] = [value for value in factor.values if value not in place]
            codes = each[factor.places]
            codes[codes < 0] = np.nan if k in self.gaps else self.fill[k]
        else:
            allowed = {"number": ("boolean",), "datetime": ("date",)}.get(wanted, ())
            fits = kind in (wanted, "", *allowed)
            if wanted == "boolean" and kind == "number":
                fits = bool(np.isin(cells[~np.isnan(cells)], (0, 1)).all())
            codes = cells
        if not fits:
            raise InputError(
                f"X must hold {_NOUNS[wanted]} in {quote(key)}, as in fit; got {_NOUNS[kind]}. "
                f"Convert the column."
            )
        return codes

    def _values(self, k: int, codes: Floats) -> Any:
        """Numbers, dates or durations as an array; others as a list with None."""
        kind = self.kinds.get(k, "number")
        if kind == "number":
            return codes
        if kind in (*_CODED, "boolean"):
            values = self.categories.get(k, [False, True])
            return [None if c != c else values[int(c)] for c in codes.tolist()]
        steps = np.rint(np.nan_to_num(codes) * DAY.astype(np.int64)).astype("timedelta64[us]")
        steps[np.isnan(codes)] = np.timedelta64("NaT")
        return steps if kind == "duration" else steps + np.datetime64(0, "us")


register_value(
    Columns, names=list, kinds=dict, categories=dict, fill="columns", gaps=dict, library=str
)


def _columns_by_name(X: Any, wanted: Collection[Any] = ()) -> dict[Any, Hashable]:
    """Column keys by name; duplicates are refused, among ``wanted`` if given."""
    found: dict[Any, Hashable] = {}
    for key in X.columns:
        if as_plain(key) in found and (not wanted or as_plain(key) in wanted):
            raise InputError(f"X must have columns of different names; got {quote(key)} twice.")
        found[as_plain(key)] = key
    return found


def _refuse_free_text(categories: dict[Hashable, list[Any]]) -> None:
    many = [name for name, values in categories.items() if len(values) > _MOST_CATEGORIES]
    if many:
        values = categories[many[0]]
        raise InputError(
            f"X must hold at most {_MOST_CATEGORIES} different texts or categories in a column; "
            f"{quote_each(many, 5)} holds more, such as {quote(values[0])} of {len(values):,}. "
            f"Drop it, group its values, or convert it if it should be numbers or dates."
        )


def _sort(values: set[Any]) -> list[Any]:
    return sorted(values, key=str if len({type(value) for value in values}) > 1 else None)


def _typical(codes: Floats, kind: str) -> float:
    """The median, or the most frequent code."""
    if kind in (*_CODED, "boolean"):
        return float(np.bincount(codes.astype(np.intp)).argmax())
    return float(np.median(codes[:: 1 + len(codes) // _TYPICAL_ROWS]))


def _neutral(X: Floats, classes: NDArray[np.intp], start: Floats) -> Floats:
    """Values that favor no class: equally far from all class means, and near ``start``.

    Distances are those of linear discriminant analysis.
    """
    _, classes = np.unique(classes, return_inverse=True)
    means = np.stack([X[classes == k].mean(axis=0) for k in range(classes.max() + 1)])
    if len(means) == 1:  # the others are rare
        return start
    away = X - means[classes]
    scale = away.std(axis=0)
    scale[scale == 0] = 1.0
    away = away / scale
    values, vectors = np.linalg.eigh(away.T @ away / len(away))
    root = np.sqrt(np.maximum(values, _FLOOR * max(values[-1], _FLOOR)))
    M = ((means - start) / scale) @ vectors / root
    # |z - m_a|² = |z - m_b|², where the classes differ by more than a tenth of the most
    z = np.linalg.lstsq(M[1:] - M[0], np.diff(np.sum(M**2, axis=1)).cumsum() / 2, rcond=0.1)[0]
    return np.clip(start + (vectors @ (root * z)) * scale, X.min(axis=0), X.max(axis=0))


def _warn(message: str, values: dict[Hashable, list[Any]]) -> None:
    warnings.warn(UnseenValueWarning(message, values=values), stacklevel=2)
