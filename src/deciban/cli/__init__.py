"""The command ``deciban``.

Needs ``pip install 'deciban[cli]'``.
"""

from __future__ import annotations

import sys

from deciban.exceptions import DecibanError


def main() -> None:
    """Run the command line.

    What deciban refuses is one line on stderr, and status 2; a fault of its own one line and status
    70. With --debug, both are tracebacks.
    """
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
        app(arguments, prog_name="deciban")
    except DecibanError as error:
        if debug:
            raise
        sys.stderr.write(f"{' '.join(str(error).split())}\n")
        sys.exit(2)
    except Exception as error:
        if debug:
            raise
        said = " ".join(str(error).split())
        sys.stderr.write(
            f"deciban has met a fault of its own ({type(error).__name__}: {said}). Run it again "
            f"with --debug, and report what it prints.\n"
        )
        sys.exit(70)


__all__ = ["main"]
