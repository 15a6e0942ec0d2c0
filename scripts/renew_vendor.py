"""Fetch the JavaScript libraries of the report again, at the versions below, with their licenses.

Needs npm. Change a version here, run this, look at the report, and commit what changed.
"""

import subprocess
import tarfile
import tempfile
from pathlib import Path

VENDOR = Path(__file__).parents[1] / "src" / "deciban" / "report" / "web" / "vendor"
LIBRARIES = {
    "d3": ("d3@7.9.0", "package/dist/d3.min.js"),
    "plot": ("@observablehq/plot@0.6.17", "package/dist/plot.umd.min.js"),
}

# What their scripts contain of others, by the name of the script.
INSIDE = {
    "d3": ("delaunator@5", "internmap@2", "robust-predicates@3"),
    "plot": ("binary-search-bounds@2", "interval-tree-1d@1", "isoformat@0.2"),
}


def read_package(package, *members):
    """The contents of files of a package of npm."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True)
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as tar:
            return [tar.extractfile(member).read() for member in members]


def main():
    VENDOR.mkdir(parents=True, exist_ok=True)
    for name, (package, script) in LIBRARIES.items():
        code, own = read_package(package, script, "package/LICENSE")
        (VENDOR / f"{name}.js").write_bytes(code)
        parts = [own.decode().strip()]
        for other in INSIDE[name]:
            (text,) = read_package(other, "package/LICENSE")
            parts.append(f"--- {other.partition('@')[0]}, part of {name}.js ---")
            parts.append(text.decode().strip())
        (VENDOR / f"{name}.LICENSE").write_text("\n\n".join(parts) + "\n")
        print(f"{package}: {(VENDOR / f'{name}.js').stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
