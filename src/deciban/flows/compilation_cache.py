"""Compiled programs in a folder, so that a later process need not compile them again.

``DECIBAN_COMPILATION_CACHE`` is read when flows are first used: 1 for the user's cache folder, the
path of another folder, or 0, which is the default except on the command line. Programs are native
code: the folder must be one that nobody else can write to.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import jax

SWITCH = "DECIBAN_COMPILATION_CACHE"
_MOST_BYTES = 200_000_000
_LEAST_SECONDS = 0.01  # of a compilation that is worth a file


def start_cache() -> None:
    """Use the folder that the environment asks for, unless JAX has been given one already.

    A folder that cannot be written to is left alone: there is no cache then, and no error.
    """
    asked, config = os.environ.get(SWITCH, "0"), cast(Any, jax.config)
    if asked in ("", "0") or config.jax_compilation_cache_dir is not None:
        return
    folder = (_user_folder() if asked == "1" else Path(asked)) / _machine()
    with suppress(OSError, RuntimeError):  # no home, no room, no permission
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sweep(folder)
        config.update("jax_compilation_cache_dir", str(folder))
        config.update("jax_persistent_cache_min_compile_time_secs", _LEAST_SECONDS)


def _user_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "deciban" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "deciban"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "deciban"


def _machine() -> str:
    """Name for processors that run the same programs: machines may share a home."""
    features = platform.processor()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features += next((line for line in lines if line.lower().startswith("flags")), "")
    return f"{platform.machine()}-{hashlib.sha256(features.encode()).hexdigest()[:8]}"


def _sweep(folder: Path) -> None:
    """Delete programs that were not written to their end, and the oldest of too many.

    JAX would warn of the former at each use and never replace them. Those that were there at the
    time of the last sweep are whole. Raises OSError where the folder cannot be written to.
    """
    stamp = folder / "swept"
    last = stamp.stat().st_mtime if stamp.exists() else 0.0
    stamp.touch()
    files = [(path, path.stat()) for path in folder.glob("*-cache")]
    kept = 0
    for path, found in sorted(files, key=lambda file: -max(file[1].st_atime, file[1].st_mtime)):
        kept += found.st_size
        if kept > _MOST_BYTES or (found.st_mtime >= last and not _is_whole(path)):
            path.unlink(missing_ok=True)


def _is_whole(path: Path) -> bool:
    stream = zlib.decompressobj()
    content = path.read_bytes()
    if content[:1] != b"\x78":  # not zlib's; JAX may have been given another library
        return bool(content)
    try:
        stream.decompress(content)
    except zlib.error:
        return False
    return stream.eof
