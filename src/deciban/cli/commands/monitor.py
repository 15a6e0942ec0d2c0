"""``deciban monitor``: detect drift in calibration or class mix."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as opt
from deciban.cli.options import option
from deciban.cli.show import echo, print_json, print_notes
from deciban.cli.words import count, join_words, name_source, quote, quote_name
from deciban.exceptions import InputError

if TYPE_CHECKING:
    from collections.abc import Hashable

    import numpy as np
    import polars as pl

    from deciban.cli.tables import Table
    from deciban.evidence import Evidence
    from deciban.monitoring import Monitor, MonitorState, Watch


@opt.with_options
def monitor(
    columns: opt.ScoreOptions,
    table: opt.Table,
    mix: Annotated[
        str | None, option("Declared class mix: 'a=0.9,b=0.1', 'uniform' (default), or a table of "
                           "classes and probabilities.", "PRIOR"),
    ] = None,
    classes: Annotated[
        str | None, option("Classes, separated by commas; by default those of --state or of "
                           "--truth.", "CLASSES"),
    ] = None,
    state: Annotated[
        Path | None, option("File that stores the monitor between runs. Without such a file, a new "
                            "monitor is started.", "FILE"),
    ] = None,
    alpha: Annotated[
        float | None, option("Largest probability of ever raising a false alarm (default 0.01); "
                             "with --restart, one over the mean number of rows between false "
                             "alarms (default 0.0001).", "0-1"),
    ] = None,
    restart: Annotated[
        bool, option("Stay sensitive to changes after a long calm.", None, "--restart")
    ] = False,
    as_json: opt.Json = False,
) -> None:  # fmt: skip
    """Detect drift in calibration or class mix.

    Rows are taken in the order of the table, and scores are read as by `deciban evaluate`; they
    must be calibrated. Rows without a label, or a table without --truth, count for the class mix
    only. You may look after every row: the error rate holds at all times. Rows are numbered from 1,
    over all tables with the same --state; give each row once. The exit status is 3 if there is
    drift.

    Example: deciban monitor scores.csv --truth class --state monitor.json
    """
    from deciban.cli.provenance import UNMET
    from deciban.monitoring import Monitor

    _check_options(columns, state)
    current = Monitor.load(state) if state is not None and state.exists() else None
    if current is not None:
        _check_same(current, mix, classes, alpha, restart)
    known = None if current is None else current.classes
    source, evidence, y_true, labels = _read(table, columns, known, None if current else classes)
    checksum = hashlib.sha256(source.path.read_bytes()).hexdigest()
    if current is None:
        current = Monitor(labels, _parse_mix(mix, labels), alpha=alpha, restart=restart)
    elif checksum in current.tables:
        raise source.error(
            f"has been counted in {quote(str(state))} already. Give the rows that came since, or "
            f"add a column with the date if these came again."
        )
    found = current.update(evidence, y_true)
    current.tables.append(checksum)
    if state is not None:
        current.save(state)
    if as_json:
        print_json(_to_plain(found, current))
    else:
        for line in _describe(name_source(table), found, current):
            echo(line)
    if found.moved:
        raise typer.Exit(UNMET)


def _check_options(columns: opt.ScoreOptions, state: Path | None) -> None:
    from deciban.cli.outputs import require_outputs

    if columns.key is not None:
        raise InputError("Rows of a monitor have one order. Give a table with labels, not a key.")
    if columns.posteriors == "empirical":
        raise InputError("--posteriors must be 'uniform' or like 'a=0.5,b=0.5'; got empirical.")
    require_outputs({"--state": state}, force=True)


def _parse_mix(mix: str | None, classes: tuple[Hashable, ...]) -> Any:
    from deciban.cli.operating import parse_prior

    return parse_prior(mix, "--mix", classes)


def _check_same(
    before: Monitor, mix: str | None, classes: str | None, alpha: float | None, restart: bool
) -> None:
    """Raise unless the options are those that the monitor was started with, or left out."""
    import numpy as np

    from deciban.cli.words import split_names
    from deciban.evidence.bayes import log_prior

    changed = []
    if mix is not None:
        prior = np.exp(log_prior(_parse_mix(mix, before.classes), before.classes)[0])
        changed += ["--mix"] * (not np.allclose(prior, before.prior))
    known = set(map(_fold, before.classes))
    if classes is not None and set(map(_fold, split_names(classes))) != known:
        changed.append("--classes")
    changed += ["--alpha"] * (alpha is not None and alpha != before.alpha)
    changed += ["--restart"] * (restart and not before.restart)
    if changed:
        raise InputError(f"{' and '.join(changed)} must be as in --state. Leave it out.")


def _read(
    source: str, options: opt.ScoreOptions, known: tuple[Hashable, ...] | None, named: str | None
) -> tuple[Table, Evidence, np.ndarray | None, tuple[Hashable, ...]]:
    """The table, evidence, labels with None where there is none, and the classes."""
    from deciban.cli.score_columns import find_columns, refuse_probabilities
    from deciban.cli.tables import open_table

    table = open_table(source)
    truth = None if options.truth is None else table.require_column(options.truth, "--truth")
    frame = table.read(table.columns)
    if not frame.height:
        raise table.error("has no rows. Give a table with samples.")
    y_true, classes = _read_truth(table, frame, truth, known, named)
    columns = find_columns(options, table, classes, [1] * len(classes), calibrated=True)
    if not columns.is_llr and known is None and named is None:
        _note_unused(frame.drop(truth or [], *columns.columns, *map(str, classes), strict=False))
    values = columns.values(frame, table.name)
    if columns.kind == "log-likelihoods":
        refuse_probabilities(values)
    return table, columns.evidence(values, classes, table.name), y_true, classes


def _note_unused(rest: pl.DataFrame) -> None:
    """Say which columns may be those of classes that the first table has no label of."""
    import polars as pl

    scores = []
    for cells in rest:
        if cells.dtype == pl.String or cells.dtype.is_float():
            numbers = cells.cast(pl.Float64, strict=False)
            if numbers.null_count() == cells.null_count() and (numbers % 1 != 0).any():
                scores.append(cells.name)
    if scores:
        print_notes([
            f"Numbers in {join_words(map(quote_name, scores), 5)} are not used. If they are scores "
            f"of classes that have no label here, start again with all --classes."
        ])  # fmt: skip


def _read_truth(
    table: Table, frame: pl.DataFrame, truth: str | None, known: tuple[Hashable, ...] | None,
    named: str | None,
) -> tuple[np.ndarray | None, tuple[Hashable, ...]]:  # fmt: skip
    """Labels and classes: those that are known or named, or else those of the rows."""
    import numpy as np
    import polars as pl

    from deciban.cli.cells import Column, encode_labels
    from deciban.cli.words import split_names

    if known is None and named is not None:
        known = tuple(_as_numbers(split_names(named)))
    if truth is not None and frame[truth].dtype.is_nested():
        kind = frame[truth].dtype
        raise table.error(f"holds {kind}, not labels. Name another column with --truth.", truth)
    cells = None if truth is None else frame[truth].cast(pl.String)
    filled = np.zeros(frame.height, dtype=bool)
    if cells is not None:
        filled = (cells.str.strip_chars().fill_null("") != "").to_numpy()
    if known is None and not filled.any():
        raise InputError("There are no labels to tell the classes. Name them: --classes a,b.")
    if truth is None or cells is None:
        return None, known or ()
    if known is None:
        known, codes = encode_labels(Column(frame[truth].filter(pl.Series(filled)), table.name))
        found = [known[k] for k in codes.tolist()]
    else:
        found = _find_labels(cells.filter(pl.Series(filled)), known, table)
    y_true = np.full(len(cells), None, dtype=object)
    for row, label in zip(np.flatnonzero(filled), found, strict=True):
        y_true[row] = label
    return y_true, known


def _find_labels(texts: pl.Series, known: tuple[Hashable, ...], table: Table) -> list[Hashable]:
    """Known labels for cells: with the same text, or else the only one that is equal."""
    by_text = {str(label): label for label in known}
    times = Counter(map(_fold, known))
    by_fold = {_fold(label): label for label in known if times[_fold(label)] == 1}
    label_of = {text: by_text.get(text, by_fold.get(_fold(text))) for text in set(texts)}
    unknown = [text for text in texts if label_of[text] is None]
    if unknown:
        raise table.error(
            f"has the label {quote(unknown[0])} in {texts.name}; the classes are "
            f"{join_words(map(quote_name, known), 5)}. Correct it, or start again with all "
            f"--classes."
        )
    return [label_of[text] for text in texts]


def _fold(label: Hashable) -> Hashable:
    """Unify spellings: 1 and 1.0, true and True, blanks around a label."""
    text = str(label).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) and "_" not in text else text


def _as_numbers(names: list[str]) -> list[Hashable]:
    """Names as whole numbers if all are, as labels in a table are read."""
    try:
        numbers = [int(name) for name in names]
    except ValueError:
        return list(names)
    return list(numbers) if list(map(str, numbers)) == names else list(names)


def _to_plain(found: MonitorState, monitor: Monitor) -> dict[str, Any]:
    from deciban._markup import to_plain

    def watch(one: Watch) -> dict[str, Any]:
        rows = {"alarm_row": one.alarm, "since_row": one.since}
        return {
            "e_value_decibans": to_plain(_decibans(one.log_e)),
            "largest_decibans": to_plain(_decibans(one.largest)),
            **{name: None if row is None else row + 1 for name, row in rows.items()},
        }

    shares = None if found.shares is None else [
        {"class": to_plain(label), "share": share} for label, share in found.shares.items()
    ]  # fmt: skip
    return {
        "moved": list(found.moved), "rows": found.n_samples, "labeled": found.n_labeled,
        "classes": to_plain(list(monitor.classes)), "alpha": monitor.alpha,
        "restart": monitor.restart,
        "calibration": watch(found.calibration) | {"fault": found.fault, "factor": found.factor},
        "mix": watch(found.mix) | {"shares": shares},
    }  # fmt: skip


def _decibans(nats: float) -> float:
    from deciban.evidence.units import from_nats

    return float(from_nats(nats, "deciban"))


def _describe(source: str, found: MonitorState, monitor: Monitor) -> list[str]:
    rate = f"The probability of ever raising a false alarm is at most {monitor.alpha:g}"
    if monitor.restart:
        rate = f"A false alarm comes after {1 / monitor.alpha:,.0f} rows on average, or later"
    calibration = "Calibration: cannot be judged without two labels or more."
    if found.n_labeled > 1:
        calibration = _sentence("Calibration", found.calibration, _fault(found), monitor)
    classes = join_words(map(quote_name, monitor.classes), 5)
    return [
        f"{source}: {count(found.n_samples, 'row')} in all, {found.n_labeled:,} with a label; "
        f"classes {classes}",
        calibration,
        _sentence("Class mix", found.mix, _shares(found), monitor),
        f"{rate}, for each of the two.",
    ]


def _fault(found: MonitorState) -> str:
    if found.fault == "not clear":
        return "It is not clear in which way; recalibrate with labeled rows."
    factor = f": multiply it by about {found.factor:g}" if found.factor else ""
    return f"Evidence is probably {found.fault}{factor}; recalibrate with labeled rows."


def _shares(found: MonitorState) -> str:
    shares = sorted((found.shares or {}).items(), key=lambda pair: -pair[1])
    mix = join_words((f"{label} {100 * share:.1f} %" for label, share in shares), 5)
    return f"Since then it has been about {mix}."


def _sentence(what: str, watch: Watch, more: str, monitor: Monitor) -> str:
    largest = "sum of e-values" if monitor.restart else "evidence"
    strength = f"largest {largest} so far: {_decibans(watch.largest):.1f}"
    limit = f"{_decibans(-math.log(monitor.alpha)):.3g}"
    if watch.alarm is None or watch.since is None:
        return f"{what}: no sign of drift ({strength} of the {limit} decibans for an alarm)."
    return (
        f"{what}: DRIFT since about row {watch.since + 1:,}, found at row {watch.alarm + 1:,} "
        f"({strength} decibans; {limit} raise an alarm). {more}"
    )
