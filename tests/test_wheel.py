"""What `pip install deciban` puts on a user's machine."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

IMPORT_EVERYTHING = """
import importlib, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import deciban
assert deciban.__file__.startswith(sys.argv[1]), deciban.__file__
for module in pkgutil.walk_packages(deciban.__path__, "deciban."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


def run_python(*arguments):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_wheel_holds_the_package_alone_and_every_module_of_it_imports(tmp_path):
    pytest.importorskip("hatchling")
    run_python(
        "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps",
        "--no-build-isolation", "--wheel-dir", tmp_path, ROOT,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "installed")
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"deciban", "-".join(wheel.name.split("-")[:2]) + ".dist-info"}
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src/deciban").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if name.startswith("deciban/")} == source
    run_python("-W", "error", "-c", IMPORT_EVERYTHING, tmp_path / "installed")
