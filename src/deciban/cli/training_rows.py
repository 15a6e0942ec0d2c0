"""The rows that a model is fitted to, and those that are set aside to assess it by."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._validation.labels import label_array
from deciban.cli.cells import DOUBTFUL, Column, Labels, encode_labels
from deciban.cli.features import describe_doubts, select_features, type_columns
from deciban.cli.files import find_files
from deciban.cli.tables import open_table
from deciban.cli.words import count
from deciban.exceptions import InputError, TableError

_MOST_ASIDE = 50_000  # rows to assess a model by that are read in parts
_MOST_GIGABYTES = 1e6

Rows = NDArray[np.intp]


class Columns(NamedTuple):
    """Columns that are asked for."""

    label: str
    features: str | None
    ignore: str | None
    impute: bool


class Data(NamedTuple):
    """What a model is fitted to and assessed by."""

    name: str
    n_rows: int  # to learn from
    train: tuple[Any, ...]  # arguments of fit
    held_out: tuple[Rows, Any, np.ndarray] | None  # their numbers, features and classes
    notes: list[str]


def read_table(
    table: str, table_format: str | None, wanted: Columns, share: float, seed: int, needed: bool
) -> Data:
    """All rows of a table."""
    source, label = open_table(table, table_format), wanted.label
    names = select_features(source, label, wanted.features, wanted.ignore)
    frame = source.read([label, *names])
    labels, codes = encode_labels(Column(frame[label], source.name))
    if len(labels) == len(codes):
        raise InputError(
            f"{label} has {len(labels):,} classes in {len(codes):,} rows; a class needs at least "
            "two rows. Is it the right --label?"
        )
    train, aside = split_rows(codes, labels, share, seed, needed)
    X = type_columns([Column(frame[name], source.name) for name in names], wanted.impute)
    notes = [
        f"{label!r} is taken as a class. If it stands for a missing label, give a copy of the "
        "table without such rows."
        for label in labels
        if str(label).strip().lower() in DOUBTFUL
    ]
    y = label_array(labels)[codes]
    held_out = None if aside is None else (aside, X[aside], y[aside])
    notes += describe_doubts(frame, X)
    return Data(source.name, len(train), (X[train], y[train]), held_out, notes)


def read_parquet(
    table: str, wanted: Columns, share: float, seed: int, needed: bool, gigabytes: float
) -> Data:
    """The rows of Parquet files, read in parts; some are set aside, at random."""
    from deciban.discriminant.batches import Batches

    if not 0 < gigabytes < _MOST_GIGABYTES:
        raise InputError(f"--memory must be a positive number of GB; got {gigabytes:g}. Give 1.")
    files = find_files(table)
    first = open_table(files[0], "parquet")
    names = select_features(first, wanted.label, wanted.features, wanted.ignore)
    memory = int(gigabytes * 1e9)
    batches = Batches.from_parquet(files, wanted.label, features=names, memory=memory)
    _require_labels(files, table, wanted.label)
    if not wanted.impute:
        batches.require_complete()
    rng, n = np.random.default_rng(seed), batches.n_rows
    most = min(_MOST_ASIDE, memory // (16 * 8 * len(names)))
    aside = np.sort(rng.choice(n, min(round(share * n), most), replace=False))
    held_out = None
    if len(aside):
        _, X, y, _ = batches.read_rows(aside)
        held_out = aside, X, y
    elif needed:
        raise InputError(
            "--report must have rows to assess the model by; got --validation 0. Give 0.2."
        )
    train = batches.without(aside)
    return Data(table, n - len(aside), (train,), held_out, [])


def _require_labels(files: list[str], table: str, label: str) -> None:
    """Raise unless every row of the files has a label, and there are two classes or more."""
    found: set[Any] = set()
    for file in files:
        cells = open_table(file, "parquet").read([label])[label]
        if len(cells):
            Column(cells, file).require_filled()
        found |= set(cells.unique().to_list())
    if len(found) < 2:
        raise TableError(
            f"must hold two classes or more; got {len(found)}. Name the column of the true class.",
            file=table, column=label,
        )  # fmt: skip


def is_data_set(table: str) -> bool:
    """Whether this is a folder, or a pattern of file names."""
    return find_files(table) != [table]


def split_rows(
    codes: Rows, labels: Labels, share: float, seed: int, needed: bool
) -> tuple[Rows, Rows | None]:
    """Rows to learn from, and rows to assess the model by: the same share of every class."""
    counts = np.bincount(codes, minlength=len(labels))
    rarest, n = labels[int(np.argmin(counts))], int(counts.min())
    aside = np.round(share * counts).astype(int)  # of each class
    too_rare = n < 2 or int(aside.min()) < 1
    if needed and share == 0:
        raise InputError(
            "--report must have rows to assess the model by; got --validation 0. Give 0.2."
        )
    if needed and too_rare:
        remedy = "Add rows of it" if n < 2 else f"Give --validation {min(0.5 / n + 0.005, 0.5):.2f}"
        raise InputError(
            f"--report must have rows of every class to assess the model by; class {rarest!r} has "
            f"{count(n, 'row')}, of which --validation {share:g} sets none aside. {remedy}, "
            "or leave out --report."
        )
    if too_rare:
        return np.arange(len(codes)), None
    if int((counts - aside).min()) < 1:
        raise InputError(
            f"--validation must leave rows of every class to learn from; got {share:g}, and class "
            f"{rarest!r} has {count(n, 'row')}. Give 0.2."
        )
    order = np.random.default_rng(seed).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]  # class by class
    rank = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    held_out = rank < np.repeat(aside, counts)
    return np.sort(order[~held_out]), np.sort(order[held_out])
