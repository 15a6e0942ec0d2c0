"""A progress bar that says what is being done and, from the first steps on, how long it takes."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self

_FORMAT = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
_SECONDS_IN_A_LOG = 5.0  # between two states of the bar, where each is one more line to read
_SHOWN = {"loss": "loss", "score": "C_mc", "best_score": "best"}


class Progress:
    """Epochs of a task, which begins with a compilation.

    Parameters
    ----------
    task : str
        What is being done.
    epochs, done : int
        Largest number of epochs, and number of those done before.
    verbose : bool
        Whether there is a bar.
    """

    def __init__(self, task: str, epochs: int, done: int, verbose: bool) -> None:
        self._bar: Any = None
        self._task, self._is_compiled = task, False
        if verbose:
            from tqdm.auto import tqdm

            self._bar = tqdm(
                total=epochs,
                initial=done,
                desc=f"compiling, then {task}",
                bar_format=_FORMAT,
                mininterval=0.1 if sys.stderr.isatty() else _SECONDS_IN_A_LOG,
            )

    def advance(self, share: float) -> None:
        """Show that a share of an epoch is done; the rate does not count the compilation."""
        if self._bar is None:
            return
        if not self._is_compiled:
            self._is_compiled = True
            self._bar.unpause()
            self._bar.set_description_str(self._task, refresh=False)
        self._bar.update(share)

    def show(self, record: dict[str, float]) -> None:
        """Show the loss of an epoch, and the cross-entropy of held-out samples."""
        if self._bar is not None:
            values = {label: f"{record[k]:.4g}" for k, label in _SHOWN.items() if k in record}
            self._bar.set_postfix(values, refresh=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            if kind is None:
                self._bar.total = self._bar.n  # fewer epochs were enough
            self._bar.close()
