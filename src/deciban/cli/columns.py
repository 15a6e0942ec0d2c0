"""A table of scores becomes the truth and the evidence beside it."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deciban.cli.io.formats import names_in
from deciban.cli.io.tables import columns_of_table, nearest, read_table
from deciban.cli.operating import named_class, parsed_prior
from deciban.cli.trials import read_trials
from deciban.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np
    from polars import DataFrame, Series

    from deciban.evidence import Evidence

Labels = tuple[Hashable, ...]
_BASES = {"e": 1.0, "2": math.log(2), "10": math.log(10)}
_AUTO = "auto"
_MOST_FLOOR = 0.1  # of a posterior
_LARGEST = 1e300  # of finite numbers: their sums must not overflow


@dataclass(frozen=True)
class Layout:
    """Which columns hold what; the options of the same names, as they were typed."""

    truth: str | None = None
    llr: str | None = None
    positive: str | None = None
    log_likelihoods: str | None = None
    posteriors: str | None = None
    prefix: str = ""
    prior: str | None = None
    base: str = "e"
    id: str | None = None
    format: str | None = None
    floor: float | None = None

    def __post_init__(self) -> None:
        kinds = {
            "--llr": self.llr,
            "--log-likelihoods": self.log_likelihoods,
            "--posteriors": self.posteriors,
        }
        given = [option for option, value in kinds.items() if value is not None]
        if len(given) > 1:
            raise InputError(f"{given[0]} must stand alone; got {given[1]}, too. Choose one.")
        if self.base not in _BASES:
            raise InputError(f"--base must be e, 2 or 10; got {self.base!r}. Choose one of them.")
        if self.posteriors is not None and self.prior is None:
            raise InputError(
                "--posteriors must come with --prior, the prior that is inside them; got none. "
                "Give --prior 'a=0.5,b=0.5', or --prior empirical for the class mix of this table."
            )
        if self.prior is not None and self.posteriors is None:
            raise InputError(
                "--prior must come with --posteriors, whose prior it takes out; got none. For "
                "results at another prior give --at-prior."
            )

        if self.floor is not None and self.posteriors is None:
            raise InputError(
                "--floor must come with --posteriors, which it raises; got none. Leave it out."
            )
        if self.floor is not None and not 0 < self.floor < _MOST_FLOOR:
            raise InputError(
                f"--floor must lie between 0 and {_MOST_FLOOR}; got {self.floor:g}. Give half of "
                f"the last decimal, such as 0.005."
            )

    @property
    def nats(self) -> float:
        """How many nats a unit of the logarithms is."""
        return _BASES[self.base]


@dataclass(frozen=True)
class Scored:
    """Evidence and, as positions among its classes, the truth."""

    codes: np.ndarray
    evidence: Evidence
    ids: Series | None = None

    @property
    def truth(self) -> np.ndarray:
        """The labels."""
        from deciban._validation import label_array

        return label_array(self.evidence.classes)[self.codes]


def read_scores(source: str, layout: Layout) -> Scored:
    """The truth and the evidence of a table."""
    columns = columns_of_table(source, format=layout.format)
    truth = _require_column(layout.truth, "--truth", columns, source)
    ids = [] if layout.id is None else [_require_column(layout.id, "--id", columns, source)]
    llr = llr_column(layout, columns, source)
    if llr is not None:
        frame = _read(source, [truth, llr, *ids], layout)
        labels, codes = coded(frame[truth], source)
        found = _from_llr(frame[llr], labels, codes, layout, source)
    else:
        named = named_columns(layout)
        for name in named or []:
            _require_column(name, _option(layout), columns, source)
        frame = _read(source, [truth, *(named or []), *ids], layout)
        labels, codes = coded(frame[truth], source)
        chosen = columns_of_classes(labels, named, columns, layout, source)
        if named is None:
            rest = [name for name in chosen.values() if name not in frame.columns]
            frame = frame.hstack(_read(source, rest, layout)) if rest else frame
        found = _from_columns(frame, chosen, labels, codes, layout, source)
    return Scored(*found, frame[ids[0]] if ids else None)


def read_trial_scores(scores: str, key: str, layout: Layout) -> Scored:
    """The truth and the evidence of a score file and its key."""
    taken = {
        "--truth": layout.truth, "--log-likelihoods": layout.log_likelihoods,
        "--posteriors": layout.posteriors, "--prefix": layout.prefix or None, "--id": layout.id,
    }  # fmt: skip
    for option, value in taken.items():
        if value is not None:
            raise InputError(
                f"{option} must be left out with --key, whose file has the truth; got {value!r}. "
                f"Only --llr, the column of the scores, may be named."
            )
    frame = read_trials(scores, key, layout.llr)
    labels, codes = coded(frame["label"], key)
    positive = layout.positive or ("target" if "target" in labels else None)
    layout = Layout(truth="label", positive=positive, base=layout.base)
    return Scored(*_from_llr(frame["score"], labels, codes, layout, scores))


def coded(series: Series, source: str) -> tuple[Labels, np.ndarray]:
    """The distinct labels of a column, in order, and the place of each label among them."""
    import polars as pl

    _refuse_missing(series, source)
    series = _as_labels(series, source)
    labels = series.unique().sort()
    if not 2 <= len(labels) <= 10_000:
        raise InputError(
            f"{series.name} in {source} must hold two classes or more, 10,000 at most; got "
            f"{len(labels):,}. Name the column of the true class."
        )
    places = pl.Series(range(len(labels)), dtype=pl.Int32)
    codes = series.replace_strict(labels, places, return_dtype=pl.Int32)
    return tuple(labels.to_list()), codes.to_numpy()


def _as_labels(series: Series, source: str) -> Series:
    import polars as pl

    if series.dtype == pl.Boolean or series.dtype.is_integer():
        return series
    if series.dtype.is_float():
        whole = series.cast(pl.Int64, strict=False)
        if whole.null_count() == 0 and (whole == series).all():
            return whole
        raise InputError(
            f"{series.name} in {source} must hold classes; got numbers with fractions. Name the "
            f"column of the true class."
        )
    try:
        return series.cast(pl.String)
    except pl.exceptions.PolarsError:
        raise InputError(
            f"{series.name} in {source} must hold text, whole numbers or truth values; got "
            f"{series.dtype}. Name the column of the true class."
        ) from None


def numbers(series: Series, source: str) -> np.ndarray:
    """A column as floats; nothing missing, no NaN. ``inf`` and ``-inf`` are allowed as text."""
    import numpy as np
    import polars as pl

    _refuse_missing(series, source)
    text = series.dtype == pl.String
    values = series
    if text:
        values = series.str.strip_chars().cast(pl.Float64, strict=False)
    elif not series.dtype.is_numeric():
        raise InputError(
            f"{series.name} in {source} must hold numbers; got {series.dtype}. Name another column."
        )
    floats = values.cast(pl.Float64).to_numpy()
    large = (np.abs(floats) > _LARGEST) & np.isfinite(floats)
    bad = np.isnan(floats) | large
    if bad.any():
        row = int(np.argmax(bad))
        what, remedy = "numbers", "Drop or impute them first."
        if large[row]:
            what, remedy = f"numbers up to {_LARGEST:g}, or inf", "Correct them."
        raise InputError(
            f"{series.name} in {source} must hold {what}; row {row + 1} holds {series[row]!r}, "
            f"one of {int(bad.sum()):,} such. {remedy}",
            rows=[row],
        )
    return floats


def _refuse_missing(series: Series, source: str) -> None:
    if len(series) == 0:
        raise InputError(f"{source} must hold rows; it holds none. Give a table with samples.")
    if series.null_count():
        row = int(series.is_null().arg_max() or 0)
        raise InputError(
            f"{series.name} in {source} must have no empty cells; row {row + 1} has one, of "
            f"{series.null_count():,}. Drop or impute them first.",
            rows=[row],
        )


def _require_column(name: str | None, option: str, columns: list[str], source: str) -> str:
    if name is not None and name in columns:
        return name
    got = "nothing" if name is None else repr(name)
    hint = "" if name is None else nearest(name, columns)
    raise InputError(
        f"{option} must be a column of {source}; got {got}, columns are "
        f"{', '.join(columns[:10])}{', …' * (len(columns) > 10)}.{hint or ' Name one of them.'}"
    )


def llr_column(layout: Layout, columns: list[str], source: str) -> str | None:
    """The column of LLRs, where the scores are such."""
    if layout.llr is not None:
        return _require_column(layout.llr, "--llr", columns, source)
    other = layout.log_likelihoods or layout.posteriors or layout.prefix
    return "llr" if not other and "llr" in columns and layout.truth != "llr" else None


def named_columns(layout: Layout) -> list[str] | None:
    """Columns that were named one by one."""
    text = layout.posteriors if layout.log_likelihoods is None else layout.log_likelihoods
    if text is None or text == _AUTO:
        return None
    return names_in(text)


def _option(layout: Layout) -> str:
    return "--log-likelihoods" if layout.posteriors is None else "--posteriors"


def columns_of_classes(
    labels: Labels, named: list[str] | None, columns: list[str], layout: Layout, source: str
) -> dict[Hashable, str]:
    """The column of each class: its name, after the prefix."""
    option = _option(layout)
    if named is not None:
        bare = [name.removeprefix(layout.prefix) for name in named]
        chosen = {named_class(b, option, labels): n for b, n in zip(bare, named, strict=True)}
        missing = [str(label) for label in labels if label not in chosen]
        if missing or len(chosen) < len(named):
            wrong = f"it lacks {', '.join(missing[:5])}" if missing else "one is named twice"
            raise InputError(
                f"{option} must name one column for each class of {layout.truth}; {wrong}. "
                f"Columns are named after the classes, after the --prefix."
            )
        return chosen
    chosen = {label: _column_of(label, columns, layout.prefix) for label in labels}
    missing = [layout.prefix + str(label) for label, name in chosen.items() if name not in columns]
    if missing:
        raise InputError(
            f"{source} must have a column llr, or one for each class of {layout.truth!r}; it lacks "
            f"{', '.join(missing[:5])}, columns are {', '.join(columns[:10])}. Name them with "
            f"--llr, --log-likelihoods, --posteriors or --prefix."
        )
    return chosen


def _column_of(label: Hashable, columns: Sequence[str], prefix: str) -> str:
    name = prefix + str(label)
    lower = prefix + str(label).lower()
    return lower if isinstance(label, bool) and name not in columns else name


def _from_llr(
    series: Series, labels: Labels, codes: np.ndarray, layout: Layout, source: str
) -> tuple[np.ndarray, Evidence]:
    from deciban.evidence import Evidence

    if len(labels) != 2:
        raise InputError(
            f"{layout.truth} must hold two classes, since {series.name!r} is an LLR; got "
            f"{len(labels):,}. Name one column for each class with --log-likelihoods."
        )
    place = labels.index(_positive(layout.positive, labels))
    llr = numbers(series, source) * layout.nats
    evidence = Evidence.from_llr(llr, labels[place], labels[1 - place])
    return codes if place == 1 else 1 - codes, evidence


def _positive(text: str | None, labels: Labels) -> Hashable:
    if text is not None:
        return named_class(text, "--positive", labels)
    if set(labels) == {0, 1}:
        return labels[1]
    raise InputError(
        f"--positive must name the class that LLRs are in favour of; got nothing, classes are "
        f"{', '.join(map(str, labels))}. Give --positive {shlex.quote(str(labels[1]))}, or the "
        f"other."
    )


def _from_columns(
    frame: DataFrame,
    chosen: dict[Hashable, str],
    labels: Labels,
    codes: np.ndarray,
    layout: Layout,
    source: str,
) -> tuple[np.ndarray, Evidence]:
    import numpy as np

    from deciban.evidence import Evidence

    if layout.positive is not None and len(labels) > 2:
        raise InputError(f"--positive must come with two classes; got {len(labels)}. Leave it out.")
    values = np.column_stack([numbers(frame[chosen[label]], source) for label in labels])
    counts = np.bincount(codes).tolist()
    prior = parsed_prior(layout.prior, "--prior", labels, counts)
    try:
        if layout.posteriors is None:
            _refuse_probabilities(values, source)
            evidence = Evidence(values * layout.nats, labels)
        else:
            evidence = Evidence.from_posteriors(shares(values, layout.floor), prior, labels)
    except InputError as error:
        raise _in_file(error, source) from None
    if layout.positive is not None and len(labels) == 2 and named_class(
        layout.positive, "--positive", labels
    ) == labels[0]:  # fmt: skip
        return 1 - codes, evidence.restrict(labels[::-1])
    return codes, evidence


def _refuse_probabilities(values: np.ndarray, source: str) -> None:
    """Logarithms do not happen to be positive and to sum to one in every row."""
    import numpy as np

    if values.min() < 0 or np.isinf(values).any() or not (values % 1 > 0).any():
        return
    for total, what in ((1, "one"), (100, "100")):
        if (np.abs(values.sum(axis=1) / total - 1) <= _rounding(values)).all():
            raise InputError(
                f"the columns must be log-likelihoods; they are positive and sum to {what} in "
                f"every row. Give --posteriors auto and --prior, if they are posteriors."
            )


def _rounding(values: np.ndarray) -> float:
    """How far sums of posteriors of two decimals may be off: half a hundredth for each."""
    return min(0.006 * values.shape[1], 0.05)


def shares(values: np.ndarray, floor: float | None) -> np.ndarray:
    """Posteriors as they should be: percentages and what was rounded sum to one, none too small."""
    import numpy as np

    total = values.sum(axis=1, keepdims=True)
    if values.min() < 0 or not np.isfinite(total).all():
        return values
    for whole in (1.0, 100.0):
        if (np.abs(total / whole - 1) <= _rounding(values)).all():
            values = values / total if floor is None else np.maximum(values / total, floor)
            return np.asarray(values / values.sum(axis=1, keepdims=True))
    whole = 100.0 if abs(float(np.median(total)) - 100) < 50 else 1.0
    row = int(np.argmax(np.abs(total / whole - 1)))
    raise InputError(
        f"the columns must be posteriors, which sum to one in each row (or to 100, as percentages)"
        f"; row {row} sums to {total[row, 0]:.4g}. Name the column of each class.",
        rows=[row],
    )


def _in_file(error: InputError, source: str) -> InputError:
    """The same sentence about a file, whose rows are counted from 1."""
    text = re.sub(r"\brow (\d+)\b", lambda found: f"row {int(found[1]) + 1}", str(error))
    return InputError(f"{source}: {text}", rows=error.rows)


def _read(source: str, columns: Sequence[str], layout: Layout) -> DataFrame:
    return read_table(source, columns=list(dict.fromkeys(columns)), format=layout.format)
