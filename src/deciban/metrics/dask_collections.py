"""Dask arrays, series and frames in the place of arrays: samples in partitions.

Dask computes the partitions: its own scheduler, or the cluster of the client that is active.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._validation.arrays import Floats, is_dask, is_frame, read_llrs
from deciban._validation.labels import encode_labels, factorize_labels, read_labels
from deciban._validation.scalars import quote_each
from deciban._workers import Item, Result, Workers
from deciban.evidence import Evidence
from deciban.exceptions import InputError
from deciban.metrics.partitions import Partitions, Rows, hash_labels, hash_numbers, llr_of_two


class DaskScheduler(Workers):
    """Lets Dask compute a function on some items at a time."""

    def __init__(self) -> None:
        self.n = 2 * (os.cpu_count() or 1)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Results in order; Dask values inside items are computed."""
        from dask.base import compute
        from dask.delayed import delayed

        waiting = iter(items)
        call = delayed(function, pure=False)
        while some := [*islice(waiting, self.n)]:
            wrapped = (x if isinstance(x, list) else delayed(x, traverse=False) for x in some)
            yield from compute(*map(call, wrapped))


def open_collections(
    y_true: Any,
    systems: Sequence[Any],
    groups: Any = None,
    classes: Sequence[Hashable] | None = None,
    sample_weight: Any = None,
) -> Partitions:
    """Evidence is LLRs in favor of class 1, or log-likelihoods; ``classes`` name frame columns."""
    from dask import config
    from dask.base import compute
    from dask.delayed import delayed

    if sample_weight is not None:
        raise InputError(
            "sample_weight must be left out with Dask collections; got one. Repeat samples, or "
            "compute the arrays first."
        )
    if classes is None:
        classes = _find_classes(y_true)
    systems = [one if is_dask(one) else _order_columns(one, classes) for one in systems]
    columns = [y_true, *systems, *([] if groups is None else [groups])]
    length = next(len_of_chunks(one) for one in columns if is_dask(one))
    blocks = [_blocks(one, length) for one in columns]
    if len({len(one) for one in blocks}) > 1:
        raise InputError(
            f"y_true, evidence and groups must have the same partitions; got "
            f"{', '.join(str(len(one)) for one in blocks)} of them. Repartition them alike."
        )
    sizes = compute(*[[delayed(len)(block) for block in one] for one in blocks])
    if any(one != sizes[0] for one in sizes):
        raise InputError(
            "y_true, evidence and groups must have as many rows in each partition; they do not. "
            "Repartition them alike."
        )
    starts = np.cumsum([0, *sizes[0]])
    parts = [
        [int(start), *(one[k] for one in blocks)] for k, start in enumerate(starts[:-1].tolist())
    ]
    read = partial(_read, classes=tuple(classes), n_systems=len(systems))
    return Partitions(
        tuple(classes), parts, read, int(starts[-1]), len(systems), groups is not None,
        DaskScheduler(), config.get("temporary-directory", None),
    )  # fmt: skip


def _find_classes(y_true: Any) -> list[Hashable]:
    from dask.base import compute
    from dask.delayed import delayed

    blocks = _blocks(y_true, len_of_chunks(y_true))
    found: set[Hashable] = set().union(*compute(*map(delayed(_labels), blocks)))
    if len(found) < 2:
        raise InputError(
            f"y_true must hold two classes or more; got {quote_each([*found])}. Add samples."
        )
    try:
        return sorted(found)  # type: ignore[type-var]
    except TypeError:
        raise InputError(
            f"labels must have an order; got {quote_each([*found])}. Write all as text."
        ) from None


def _order_columns(values: Any, classes: Sequence[Hashable]) -> Any:
    """Log-likelihoods in class order."""
    if isinstance(values, Evidence):
        return values.restrict(classes).log_likelihoods
    return Evidence(values, classes).log_likelihoods if is_frame(values) else values


def len_of_chunks(values: Any) -> tuple[int, ...]:
    """Rows in each partition, if known."""
    chunks = getattr(values, "chunks", None)
    return () if chunks is None else tuple(chunks[0])


def _blocks(values: Any, length: tuple[int, ...]) -> list[Any]:
    """One delayed value for each partition; arrays get the same partitions."""
    import dask.array as da

    if not is_dask(values):
        values = da.from_array(np.asarray(values), chunks=-1)
    if hasattr(values, "rechunk"):
        rows = length if sum(length) == values.shape[0] else values.chunks[0]
        values = values.rechunk((rows, *(-1 for _ in values.shape[1:])))
    # Dask would join small files where few columns are read, and others where more are.
    blocks = np.array(values.to_delayed(optimize_graph=False), dtype=object)
    return np.ravel(blocks).tolist()


def _labels(block: Any) -> set[Hashable]:
    return set(factorize_labels(read_labels(block, len(block)))[0]) if len(block) else set()


def _read(part: Sequence[Any], classes: tuple[Hashable, ...], n_systems: int) -> Rows:
    start, y_true, *rest = part
    n = len(y_true)
    numbers = np.arange(start, start + n)
    hashes = hash_numbers(numbers)
    indices = [block.index for block in (y_true, *rest) if hasattr(block, "iloc")]
    if not all(indices[0].equals(index) for index in indices[1:]):
        raise InputError(
            "y_true, evidence and groups must have the same index in each partition; they do not. "
            "Take them from one frame, or sort them alike."
        )
    if not n:
        return Rows(np.empty(0, dtype=np.intp), (), hashes, numbers)
    codes = encode_labels(read_labels(y_true, n), classes)
    evidence = tuple(_read_evidence(block, codes, classes) for block in rest[:n_systems])
    if len(rest) > n_systems:
        hashes = hash_labels(read_labels(rest[-1], n, "groups"))
    return Rows(codes, evidence, hashes, numbers)


def _read_evidence(block: Any, codes: NDArray[np.intp], classes: tuple[Hashable, ...]) -> Floats:
    if np.ndim(block) == 2 and np.shape(block)[1] == 1 and len(classes) == 2:
        block = np.asarray(block)[:, 0]
    if np.ndim(block) == 1:
        if len(classes) > 2:
            raise InputError(
                f"evidence must have a column for each of {len(classes)} classes; got one. Give "
                f"log-likelihoods on rows."
            )
        return read_llrs(block)
    values = Evidence(block, classes).log_likelihoods
    return llr_of_two(values, codes) if len(classes) == 2 else values


def open_dask_trials(
    y_true: Any, llr: Any, sample_weight: Any = None, pos_label: Hashable = 1
) -> Partitions:
    """LLRs in favor of ``pos_label``."""
    found = open_collections(y_true, [llr], sample_weight=sample_weight)
    if len(found.classes) != 2 or pos_label not in found.classes:
        raise InputError(
            f"y_true must hold both classes, one of them pos_label {pos_label!r}; got "
            f"{quote_each(found.classes)}. Choose two of them, or name the class that the LLR "
            f"favors as pos_label."
        )
    other = next(label for label in found.classes if label != pos_label)
    return open_collections(y_true, [llr], classes=[other, pos_label])
