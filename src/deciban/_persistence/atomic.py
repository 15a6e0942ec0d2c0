"""Files that are never seen half-written."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from deciban.exceptions import InputError

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def require_writable(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file that can be written, or raise."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path must be text or a path; got {path!r}. Give a file name.")
    path = Path(path)
    if os.path.isdir(path) or not os.path.isdir(path.parent):  # False, too, for impossible names
        raise InputError(
            f"path must be a file in a folder that exists; got {path}. Make the folder, or name a "
            f"file in it."
        )
    return path


@contextmanager
def open_atomically(path: Path, *, replace: bool = True) -> Iterator[BinaryIO]:
    """Open a file for writing that becomes `path` only once all of it is written.

    With ``replace=False`` `path` must be new: of two writers at once, one gets an error. A new file
    has the mode that the umask gives, and a file that is replaced keeps its mode.
    """
    temporary = path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}")
    try:
        with _create(temporary, path) as file:
            yield file
        if replace:
            os.replace(temporary, path)
        else:
            _publish_new(temporary, path)
    except OSError as error:
        if error.errno not in _NO_SPACE:
            raise
        raise _not_writable(path, error, "Free space, or choose another place.") from None
    finally:  # also when a signal ends the process
        if os.path.lexists(temporary):
            temporary.unlink()


def write_atomically(path: Path, content: bytes | str, *, replace: bool = True) -> None:
    """Write a whole file or nothing, and make its folder where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_atomically(path, replace=replace) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def _create(temporary: Path, path: Path) -> BinaryIO:
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
        # The kernel applies the umask to a new file; a private one is private from the start.
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
        handle = os.open(temporary, flags, 0o666 if mode is None else 0o600)
        if mode is not None:
            os.chmod(temporary, mode)
    except (OSError, ValueError) as error:
        raise _not_writable(path, error, "Choose another place.") from None
    return os.fdopen(handle, "wb")


def _publish_new(temporary: Path, path: Path) -> None:
    try:
        try:
            os.link(temporary, path)  # fails where the file exists, unlike a rename
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            os.replace(temporary, path)
    except FileExistsError:
        raise InputError(
            f"{path} must be a new file; another program has written it in the meantime. Choose "
            f"another name."
        ) from None


def _not_writable(path: Path, error: OSError | ValueError, remedy: str) -> InputError:
    why = getattr(error, "strerror", None) or error
    name = str(path) if len(str(path)) <= 200 else f"{str(path)[:100]!r}…"
    return InputError(f"{name} must be a file that can be written; it cannot be ({why}). {remedy}")
