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


def main():
    VENDOR.mkdir(parents=True, exist_ok=True)
    for name, (package, script) in LIBRARIES.items():
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True)
            (archive,) = Path(folder).glob("*.tgz")
            with tarfile.open(archive) as tar:
                for member, target in (
                    (script, f"{name}.js"),
                    ("package/LICENSE", f"{name}.LICENSE"),
                ):
                    (VENDOR / target).write_bytes(tar.extractfile(member).read())
        print(f"{package}: {(VENDOR / f'{name}.js').stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
