"""The files that a name stands for: a file, a folder of Parquet files, or a pattern."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator


def expand_name(name: str) -> list[str]:
    """The files, sorted; none where nothing is there.

    Of a folder, all files in it and in its subfolders that end in ``.parquet``; hidden ones, and
    links to folders, are passed over. A remote address stands for itself, and so does a file,
    whatever stars its name has.
    """
    if "://" in name or os.path.isfile(name):
        return [name]
    if os.path.isdir(name):
        return sorted(_walk(name))
    return sorted(path for path in glob.glob(name, recursive=True) if os.path.isfile(path))


def _walk(folder: str) -> Iterator[str]:
    for here, folders, files in os.walk(folder):  # it follows no links, which may lead in circles
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if name.endswith(".parquet") and not name.startswith("."):
                yield os.path.join(here, name)
