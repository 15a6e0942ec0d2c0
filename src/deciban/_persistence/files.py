"""Files: written completely or not at all; arrays and plain data as safetensors with JSON.

Reading one never runs code. Each file carries the SHA-256 of its content, so damaged or edited
files are refused. That is not a signature: anyone who rewrites a file can compute it anew, so sizes
are bounded by the file's own length before anything is built from them.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from deciban.exceptions import InputError

FilePath = str | os.PathLike[str]
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def require_writable(path: FilePath) -> Path:
    """The path, if a file can be written there."""
    path = _as_path(path)
    if os.path.isdir(path) or not os.path.isdir(path.parent):  # False, too, for impossible names
        raise InputError(
            f"path must be a file in a folder that exists; got {path}. Make the folder, or name a "
            f"file in it."
        )
    return path


def _as_path(path: FilePath) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path must be text or a path; got {path!r}. Give a file name.")
    return Path(path)


@contextmanager
def open_atomically(path: Path, *, replace: bool = True) -> Iterator[BinaryIO]:
    """Open a file for writing that becomes `path` once it is complete.

    With ``replace=False`` `path` must be new: if two processes write at once, one gets an error. A
    new file has the mode that the umask gives; a replaced file keeps its mode.
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
    """Write a complete file or nothing; make its folder if needed."""
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
    return InputError(f"Cannot write {name}: {why}. {remedy}")


def expand_name(name: str) -> list[str]:
    """Sorted files for a file name, folder or pattern; none if nothing matches.

    A folder stands for its ``.parquet`` files at any depth, without hidden files and linked
    folders. A remote address stands for itself, and so does an existing file with stars in its
    name.
    """
    if "://" in name or os.path.isfile(name):
        return [name]
    if not os.path.isdir(name):
        return sorted(path for path in glob.glob(name, recursive=True) if os.path.isfile(path))
    found = []
    for here, folders, files in os.walk(name):  # it follows no links, which may lead in circles
        folders[:] = [one for one in folders if not one.startswith(".")]
        found += [os.path.join(here, one) for one in files if one[0] != "."]
    return sorted(path for path in found if path.endswith(".parquet"))


_VERSION = 1
_KEY, _CHECKSUM = "deciban", "sha256"
_MOST_HEADER = 2**23  # bytes of names, shapes and plain data; read, they take twenty times as many

# What a file of another form may end in.
DECODING_ERRORS = (LookupError, TypeError, ValueError, AttributeError, RecursionError,
                   OverflowError, MemoryError)  # fmt: skip

Arrays = dict[str, np.ndarray]
Plain = dict[str, Any]


def write_arrays(
    path: FilePath,
    kind: str,
    arrays: Arrays,
    plain: Plain,
    extra: Plain | None = None,
    *,
    replace: bool = True,
) -> None:
    """Write a complete file or nothing; ``extra`` is additional plain data."""
    path = require_writable(path)
    if extra is not None:
        _require_plain(extra)
        plain = plain | {"extra": extra}
    header = json.dumps({"kind": kind, "version": _VERSION, **plain})
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    checksum = _checksum(header, contiguous)
    data = _order_metadata(save(contiguous, metadata={_KEY: header, _CHECKSUM: checksum}))
    if int.from_bytes(data[:8], "little") > _MOST_HEADER:
        raise InputError(
            f"names, parameters and extra must take less than {_MOST_HEADER:,} bytes as JSON; they "
            f"take more. Shorten the extra, or the names of classes and features."
        )
    with open_atomically(path, replace=replace) as file:
        file.write(data)


def _order_metadata(data: bytes) -> bytes:
    """Sort the metadata, which safetensors shuffles, so that equal content is equal bytes."""
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # the arrays stay aligned
    return len(text).to_bytes(8, "little") + text + data[end:]


def read_arrays(path: FilePath, kinds: Collection[str] | None) -> tuple[Arrays, Plain]:
    """Read arrays and plain data from a file with one of these kinds, or any kind.

    The plain data include ``kind`` and, if the file has it, ``extra``.
    """
    path = _as_path(path)
    if not os.path.isfile(path):  # False, too, for impossible names
        raise InputError(f"{path} not found. Check its spelling.")
    try:
        arrays, metadata = _parse(path)
        plain = json.loads(metadata.get(_KEY, "null"))
    except (SafetensorError, OSError, *DECODING_ERRORS) as error:
        raise InputError(
            f"Cannot read {path.name} as a deciban file: {error}. Copy or save it again."
        ) from None
    if not isinstance(plain, dict) or not isinstance(plain.get("version"), int):
        raise InputError(f"{path.name} must be a deciban file; it is not. Save one with save().")
    if plain["version"] != _VERSION:
        raise InputError(
            f"{path.name} must have format {_VERSION}; it has format {plain['version']}. "
            f"Update deciban."
        )
    kind = plain.get("kind")
    if not isinstance(kind, str) or (kinds is not None and kind not in kinds):
        raise wrong_kind(path, " or ".join(map(_with_article, kinds or ["model"])), kind)
    if metadata.get(_CHECKSUM) != _checksum(metadata[_KEY], arrays):
        raise InputError(
            f"{path.name} was damaged or edited after it was written. Copy or save it again."
        )
    if not isinstance(plain.get("extra"), dict | None):
        raise InputError(f"the extra of {path.name} must be named data; it is not. Save it again.")
    return arrays, plain


def _parse(path: Path) -> tuple[Arrays, dict[str, str]]:
    """Arrays and metadata.

    The file is read, not mapped: overwriting a mapped file would end the process.
    """
    with path.open("rb") as file:
        start = file.read(8)
        size = int.from_bytes(start, "little")
        if size > _MOST_HEADER:
            raise ValueError(f"it does not start with a header of at most {_MOST_HEADER:,} bytes")
        header = file.read(size)
        metadata = json.loads(header).get("__metadata__", {})
        arrays = load(start + header + file.read())
    for name, array in arrays.items():
        if array.size == 0:  # claims any size, and takes no space
            raise ValueError(f"array {name[:50]!r} is empty")
    return arrays, metadata


def _require_plain(extra: object) -> None:
    """Require a dict that survives JSON unchanged."""
    found = "names that are not text, tuples, or not a dict"
    try:
        if isinstance(extra, dict) and json.loads(json.dumps(extra, allow_nan=False)) == extra:
            return
    except (TypeError, ValueError, RecursionError) as error:
        found = str(error)
    raise InputError(
        f"extra must be a dict of text, finite numbers, truth values, None, lists and dicts; got "
        f"something else ({found}). Convert it to these."
    )


def _checksum(header: str, arrays: Arrays) -> str:
    result = hashlib.sha256(header.encode())
    for name in sorted(arrays):
        array = arrays[name]
        result.update(json.dumps([name, array.dtype.name, array.shape]).encode())
        result.update(array.tobytes())
    return result.hexdigest()


def wrong_kind(path: FilePath, wanted: str, kind: object) -> InputError:
    """The error for a file that holds something else."""
    return InputError(
        f"{Path(path).name} must hold {wanted}; it holds {_with_article(str(kind)[:50])}. Give "
        f"another file."
    )


def _with_article(kind: str) -> str:
    return f"{'an' if kind[:1] in 'AEIOU' else 'a'} {kind}"
