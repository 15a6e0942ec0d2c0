"""The files that a name stands for: a file, a folder of Parquet files, or a pattern."""

from __future__ import annotations

import glob
import os


def expand_name(name: str) -> list[str]:
    """The files, sorted; none where nothing is there.

    Of a folder, all files in it and in its subfolders that end in ``.parquet``. A remote address
    stands for itself, and so does a file, whatever stars its name has.
    """
    if "://" in name or os.path.isfile(name):
        return [name]
    pattern = f"{glob.escape(name)}/**/*.parquet" if os.path.isdir(name) else name
    return sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
