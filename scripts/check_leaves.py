"""Check that no module or test depends on a leaf: delete each leaf in a copy, and run what is left.

python scripts/check_leaves.py [LEAF ...]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEEDED = ("src", "tests", "reproduction", "conftest.py", "pyproject.toml", "README.md")
TESTS = (
    "tests/evidence", "tests/metrics/test_two_classes.py", "tests/metrics/test_multiclass.py",
    "tests/assessment/test_conditions.py", "tests/calibration/test_files.py",
    "tests/discriminant/test_closed_form.py", "tests/report/test_page.py",
)  # fmt: skip
LEAVES = ("explanation", "hierarchy", "monitoring", "open_set", "same_source")
IMPORTS = """
import importlib, pkgutil, sys, deciban

for module in pkgutil.walk_packages(deciban.__path__, "deciban."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


def check(leaf: str) -> bool:
    """Whether the package imports and its tests pass without the folder of a leaf."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in NEEDED:
            source, target = ROOT / name, copy / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        shutil.rmtree(copy / "src" / "deciban" / leaf)
        environment = os.environ | {"PYTHONPATH": str(copy / "src")}
        pytest = [
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "--hypothesis-seed=0",
            *TESTS,
        ]
        return all(
            subprocess.run([sys.executable, *arguments], cwd=copy, env=environment).returncode == 0
            for arguments in (["-c", IMPORTS], pytest)
        )


def main(names: list[str]) -> int:
    """Check the leaves of these names, by default all; return the exit status."""
    unknown = set(names) - set(LEAVES)
    if unknown:
        print(f"No leaf is called {', '.join(sorted(unknown))}. Choose from {', '.join(LEAVES)}.")
        return 2
    needed = [leaf for leaf in names or LEAVES if not check(leaf)]
    for leaf in needed:
        print(f"{leaf} is no leaf: what is left fails without it (see above).")
    return bool(needed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
