"""The samples of a page: so many that it stays small, packed for samples.js."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban.exceptions import InputError
from deciban.metrics.labelled import Labelled
from deciban.report.bundle import pack

_MOST_NUMBERS = 120_000  # of evidence in a page; more samples are thinned
_LARGEST = 1e30  # nats of evidence that single precision holds and a browser draws


def thin_samples(data: Labelled, n_systems: int = 1) -> NDArray[np.intp]:
    """Samples that the figures show: all, or so many of each class that the page stays small."""
    n, D = len(data.codes), data.evidence.n_classes
    most = max(200, _MOST_NUMBERS // (n_systems * (1 if D == 2 else D)))
    if n <= most:
        return np.arange(n)
    # Rare classes are kept whole; the others share what is left.
    quota = np.zeros(D, dtype=int)
    left = most
    order = np.argsort(data.counts, kind="stable")
    for place, k in enumerate(order):
        quota[k] = min(int(data.counts[k]), left // (D - place))
        left -= quota[k]
    rng = np.random.default_rng(0)
    chosen = [rng.permutation(np.flatnonzero(data.codes == k))[: quota[k]] for k in range(D)]
    return np.sort(np.concatenate(chosen))


def describe_thinning(n_shown: int, n: int) -> str:
    """What a reader should know where figures show fewer samples than there are."""
    if n_shown == n:
        return ""
    return (
        f"Figures, and tables that follow the controls above, show {n_shown:,} of {n:,} samples, "
        f"chosen at random in each class; the summary and all other tables are of all samples."
    )


def pack_samples(
    data: Labelled, shown: NDArray[np.intp], rows: ArrayLike | None = None
) -> dict[str, Any]:
    """Packed columns of the samples shown: true class, evidence, and row numbers.

    Row numbers count from 1; they are None where the samples are all rows of a table.
    """
    n, D = len(data.codes), data.evidence.n_classes
    if rows is not None and np.shape(rows) != (n,):
        raise InputError(
            f"rows must hold one number for each of {n} samples; got shape {np.shape(rows)}. "
            f"Leave them out to count from 1."
        )
    if rows is None and len(shown) < n:
        rows = np.arange(1, n + 1)
    return {
        "truth": pack(data.codes[shown].astype(np.uint16 if D > 255 else np.uint8)),
        "evidence": pack_evidence(data, shown),
        "rows": None if rows is None else pack(_as_numbers(np.asarray(rows)[shown])),
        "total": n,
    }


def _as_numbers(rows: NDArray[Any]) -> NDArray[Any]:
    """Row numbers of a type that browsers have."""
    return rows.astype(np.int32 if rows.max(initial=0) < 2**31 else np.float64)


def pack_evidence(data: Labelled, rows: NDArray[np.intp]) -> dict[str, str]:
    """The LLRs of two classes, or log-likelihoods whose largest in each row is zero."""
    values = data.evidence.log_likelihoods[rows]
    with np.errstate(invalid="ignore", over="ignore"):
        two = data.evidence.n_classes == 2
        evidence = values[:, 1] - values[:, 0] if two else values - values.max(axis=1)[:, None]
    # What is finite stays so: an infinite LLR on the wrong side would cost without limit.
    limited = np.clip(evidence, -_LARGEST, _LARGEST)
    return pack(np.where(np.isinf(evidence), evidence, limited).astype(np.float32))


def first_state(
    data: Labelled,
    difficulty: NDArray[np.float64],
    prior: ArrayLike,
    costs: ArrayLike | None = None,
) -> dict[str, Any]:
    """What a page shows as it opens: the pair of classes that is hardest to tell apart."""
    D = data.evidence.n_classes
    present = np.flatnonzero(data.counts > 0).tolist()
    if len(present) < 2:
        raise InputError("y_true must hold two classes; it holds fewer. Add samples of another.")
    a, b = max(combinations(present, 2), key=lambda pair: difficulty[pair])
    others = [k for k in range(D) if k not in (a, b)]
    third = sorted(others, key=lambda k: -difficulty[k, [a, b]].sum())[:1]
    p = np.clip(prior, 1e-9, 1 - 1e-9)
    if costs is not None:  # what an error costs beyond the right decision; 1 each where None
        C = np.asarray(costs, dtype=float)
        costs = (C - np.diag(C)[:, None]).tolist()
    return {
        "pair": [b, a],
        "prior": (p / p.sum()).tolist(),
        "costs": costs,
        "unit": "deciban",
        "range": None,
        "three": [a, b, *third] if third else None,
    }
