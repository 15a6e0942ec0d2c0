"""Metrics that take Dask collections in the place of arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from deciban._validation.arrays import is_dask

_P = ParamSpec("_P")
_R = TypeVar("_R")


def beyond_memory(compute: Callable[..., Any]) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Let a metric of two classes take Dask collections.

    ``compute`` gets :class:`~deciban.metrics.dask_collections.DaskTrials` and further options.
    """

    def decorate(metric: Callable[_P, _R]) -> Callable[_P, _R]:
        @functools.wraps(metric)
        def run(*args: _P.args, **options: _P.kwargs) -> _R:
            if not is_dask(*args[:2]):
                return metric(*args, **options)
            from deciban.metrics.dask_collections import read_dask_trials

            given: dict[str, Any] = dict(options)
            reading = {k: given.pop(k) for k in ("sample_weight", "pos_label") if k in given}
            y_true, llr, *rest = args
            return compute(read_dask_trials(y_true, llr, **reading), *rest, **given)

        return run

    return decorate
