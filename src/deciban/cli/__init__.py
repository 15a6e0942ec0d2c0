"""The command ``deciban``.

Needs ``pip install 'deciban[cli]'``.
"""

from __future__ import annotations

import sys

from deciban.exceptions import DecibanError


def main() -> None:
    """Run the command line. What deciban refuses is one line on stderr, and status 2."""
    try:
        from deciban.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(
            f"deciban's command line must have {error.name}, which is not installed. Run: pip "
            f"install 'deciban[cli]'"
        )
    try:
        app(prog_name="deciban")
    except DecibanError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)


__all__ = ["main"]
