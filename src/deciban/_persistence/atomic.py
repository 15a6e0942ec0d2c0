"""Files that are never seen half-written."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from deciban.exceptions import InputError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def require_writable(path: Any) -> Path:
    """A path that can be written to, or a sentence on why not."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path must be text or a path; got {path!r}. Give a file name.")
    path = Path(path)
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(
            f"path must be a file in a folder that exists; got {path}. Make the folder, or name a "
            f"file in it."
        )
    return path


@contextmanager
def open_atomically(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that takes the place of `path` once all is written, and not before."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError(
            f"{path} must be a file that can be written; it cannot be ({error.strerror}). Choose "
            f"another place."
        ) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException as error:
        os.unlink(name)
        if isinstance(error, OSError) and error.errno in _FULL:
            raise InputError(
                f"{path} must be a file that can be written; it cannot be ({error.strerror}). Free "
                f"space, or choose another place."
            ) from None
        raise


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write a file whole or not at all; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_atomically(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)
