"""The command ``deciban``. Needs ``pip install 'deciban[cli]'``."""

from __future__ import annotations

import atexit
import errno
import os
import signal
import sys
import warnings
from contextlib import ExitStack, suppress
from functools import cache
from types import FrameType
from typing import Any, NoReturn

from deciban.exceptions import DecibanError, LostProcessError

_REFUSED = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)
_EXTRA = ("typer", "rich", "polars")
_MAX_LENGTH = 1_000  # characters of an error message
_INTERRUPTED = 128 + signal.SIGINT

cleanup = ExitStack()  # what must not outlive the process, however it ends
atexit.register(cleanup.close)


class Terminated(BaseException):
    """A signal that asks the program to end; raised so that cleanup runs on the way out."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


def main() -> None:
    """Run the command line and exit with its status.

    An error that deciban raises is one line on standard error and status 2; an internal error is
    one line and status 70. With --debug, both are tracebacks.
    """
    try:
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _terminate)
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # it was closed, which libraries do not expect
                setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        os.environ.setdefault("DECIBAN_COMPILATION_CACHE", "1")
        status = _run(sys.argv[1:])
    except KeyboardInterrupt:
        _leave(_INTERRUPTED, "Interrupted.\n")
    except Terminated as left:
        _leave(128 + left.signum)
    if status == _INTERRUPTED:
        _leave(status)
    sys.exit(status)


def _leave(status: int, last_words: str = "") -> NoReturn:
    """End the process without tearing the interpreter down, which crashes while JAX compiles."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one must not cut cleanup short
    for step in (cleanup.close, lambda: sys.stderr.write(last_words), sys.stdout.flush,
                 sys.stderr.flush):  # fmt: skip
        with suppress(OSError):
            step()
    os._exit(status)


def _terminate(signum: int, frame: FrameType | None) -> None:
    signal.signal(signum, signal.SIG_IGN)  # a second one must not cut cleanup short
    raise Terminated(signum)


def _run(words: list[str]) -> int:
    try:
        try:
            from deciban.cli.app import app

            warnings.showwarning = _print_warning
            app([word for word in words if word != "--debug"], prog_name="deciban")
        finally:
            sys.stdout.flush()  # or Python complains at its end of what it cannot write
    except SystemExit as left:
        # typer leaves with 1 if a reader has closed the pipe; the status of SIGPIPE says so
        if isinstance(left.__context__, BrokenPipeError):
            return _report(left.__context__)
        if left.__context__ and isinstance(left.__context__.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from None  # typer leaves with its status, without a word
        return left.code if isinstance(left.code, int) else 0
    except Exception as error:
        if "--debug" in words:
            raise
        status = _report(error)
        if isinstance(error, LostProcessError):
            _leave(status)  # at its end, Python would wait for that process
        return status
    return 0


def _print_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    _print_note(str(message))


@cache  # each batch of rows may have the same to say
def _print_note(note: str) -> None:
    _print_error(f"Note: {note}")


def _print_error(text: str) -> None:
    from deciban.cli.words import neutralize, shorten

    sys.stderr.write(f"{shorten(neutralize(' '.join(text.split())), _MAX_LENGTH)}\n")


def _report(error: BaseException) -> int:
    """Print the error in one line, and return the status to exit with."""
    unwritable = isinstance(error, OSError) and error.errno in _REFUSED
    if unwritable and error.filename is None:  # type: ignore[attr-defined]
        # What is left goes nowhere, or Python would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):  # `… | head` has read enough
            return 141
    status = 2
    if isinstance(error, DecibanError):
        sentence = str(error)
    elif isinstance(error, ModuleNotFoundError) and error.name in _EXTRA:
        sentence = (
            f"The command line needs {error.name}, which is not installed. Run: pip install "
            "'deciban[cli]'"
        )
    elif isinstance(error, OSError) and error.filename is not None:
        sentence = f"Cannot use {os.fspath(error.filename)}: {error.strerror}."
    elif unwritable:
        sentence = (
            f"Cannot write to standard output: {error.strerror}. "  # type: ignore[attr-defined]
            "Free space, or write somewhere else."
        )
    else:
        status = 70
        sentence = (
            f"deciban hit an internal error ({type(error).__name__}: {error}). Run it again with "
            f"--debug, and report what it prints."
        )
    _print_error(sentence)
    return status


__all__ = ["Terminated", "cleanup", "main"]
