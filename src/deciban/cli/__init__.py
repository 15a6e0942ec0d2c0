"""The command ``deciban``.

Needs ``pip install 'deciban[cli]'``.
"""

from __future__ import annotations

import errno
import os
import sys

from deciban.exceptions import DecibanError

_REFUSED = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)


def main() -> None:
    """Run the command line.

    What deciban refuses is one line on stderr, and status 2; a fault of its own one line and status
    70. With --debug, both are tracebacks.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed, which libraries do not expect
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    try:
        from deciban.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(
            f"deciban's command line must have {error.name}, which is not installed. Run: pip "
            f"install 'deciban[cli]'"
        )
    debug = "--debug" in sys.argv
    arguments = [word for word in sys.argv[1:] if word != "--debug"]
    try:
        try:
            app(arguments, prog_name="deciban")
        finally:
            sys.stdout.flush()  # or what cannot be written is told by Python at its end
    except Exception as error:
        if debug:
            raise
        sys.exit(_told(error))


def _told(error: Exception) -> int:
    """Say on stderr what went wrong, in one line; the status to leave with."""
    said = " ".join(str(error).split())
    if isinstance(error, DecibanError):
        sys.stderr.write(f"{said}\n")
        return 2
    if isinstance(error, OSError) and error.errno in _REFUSED:
        # What is left goes nowhere, or Python would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # `… | head` has read enough
            return 141
        sys.stderr.write(
            f"standard output must take what is written; it does not ({error.strerror}). Free "
            f"space, or write somewhere else.\n"
        )
        return 2
    sys.stderr.write(
        f"deciban has met a fault of its own ({type(error).__name__}: {said}). Run it again "
        f"with --debug, and report what it prints.\n"
    )
    return 70


__all__ = ["main"]
