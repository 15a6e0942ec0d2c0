"""Build the release, look into it, and try it in empty environments as a user would.

    python scripts/check_release.py            # all of it: a quarter of an hour
    python scripts/check_release.py --extra cli  # the files, and one extra

Nothing is published. The built files are left in build/release/dist.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email.parser import Parser
from email.policy import compat32
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "release"
DIST = WORK / "dist"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOR_USERS = sorted(set(PROJECT["optional-dependencies"]) - {"dev", "docs"})
# What each extra is for, in a line or two that a user would write.
TRIALS = {
    "": "import deciban as db; print(db.Evidence.from_llr([1.0]).posterior())",
    "all": "from deciban import plots, report, flows",
    "cli": "from deciban.cli import main",
    "flow": "from deciban import CompositionalDiscriminantAnalysis as CDA\n"
    "from deciban.datasets import moons\n"
    "X, y = moons().sample(50, 0)\n"
    "print(CDA(epochs=2, random_state=0).fit(X, y).evidence(X[:2]))",
    "frame": "import pandas as pd, polars as pl, deciban as db\n"
    "f = {'a': [0.0, -1.0], 'b': [-2.0, 0.0]}\n"
    "print(db.Evidence(pd.DataFrame(f)), db.Evidence(pl.DataFrame(f)))",
    "notebook": "import deciban as db; print(db.Evidence.from_llr([1.0, -2.0]).explore([1, 0]))",
    "plot": "import matplotlib; matplotlib.use('Agg')\n"
    "import deciban as db\n"
    "from deciban.plots import TippettDisplay\n"
    "TippettDisplay.from_predictions([1, 0, 1], db.Evidence.from_llr([1.0, -2.0, 0.5]))",
    "report": "import deciban as db; from deciban.report import explorer\n"
    "print(len(explorer(db.Evidence.from_llr([1.0, -2.0]), [1, 0])))",
    "scale": "import dask.array as da, deciban as db\n"
    "print(db.metrics.cllr(da.from_array([1, 0, 1]), da.from_array([1.0, -2.0, 0.5])))",
}
# Settings of a user who checks types strictly; other libraries have none, or half of them.
STRICT = """
[mypy]
strict = True
untyped_calls_exclude = dask,distributed
[mypy-sklearn.*,scipy.*]
ignore_missing_imports = True
"""
# Tests of the repository rather than of the package, and what they would need.
NOT_OF_THE_PACKAGE = ("test_contributing.py", "test_wheel.py", "test_reference.py")


def run(*command: object, cwd: Path = WORK) -> None:
    words = [str(word) for word in command]
    print("$", *words, flush=True)
    subprocess.run(words, cwd=cwd, check=True)


def check(fact: object, sentence: str) -> None:
    if not fact:
        sys.exit(f"Not ready for a release: {sentence}")
    print(f"ok: {sentence}")


# --- the files ---------------------------------------------------------------------------


def build() -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it."""
    shutil.rmtree(WORK, ignore_errors=True)
    DIST.mkdir(parents=True)
    os.environ.setdefault("DECIBAN_REPOSITORY", "https://example.org/deciban")
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    (sdist,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    # Licenses of vendored scripts stand beside these and with the metadata, which is no mistake.
    run(sys.executable, "-m", "check_wheel_contents", "--ignore", "W002", wheel)
    return sdist, wheel


def check_contents(sdist: Path, wheel: Path) -> None:
    """The package alone, with its licenses: no tests, no data but those of `deciban example`."""
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = set(archive.namelist())
        (found,) = (name for name in in_wheel if name.endswith(".dist-info/METADATA"))
        metadata = Parser(policy=compat32).parsestr(archive.read(found).decode("utf-8"))
    with tarfile.open(sdist) as tar:
        in_sdist = {name.partition("/")[2] for name in tar.getnames()}
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src/deciban").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    check(
        {n for n in in_wheel if ".dist-info/" not in n} == source, "the wheel is the package alone"
    )
    check("deciban/py.typed" in in_wheel, "the wheel says that it has types")
    check(any(n.endswith("licenses/LICENSE") for n in in_wheel), "the wheel has the license")
    vendored = {Path(n).stem for n in in_wheel if "/vendor/" in n and n.endswith(".js")}
    licensed = {Path(n).stem for n in in_wheel if "/vendor/" in n and n.endswith(".LICENSE")}
    check(
        vendored and vendored == licensed, f"vendored with licenses: {', '.join(sorted(vendored))}"
    )
    tops = {name.partition("/")[0] for name in in_sdist if name}
    allowed = {
        "src",
        "hatch_build.py",
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "CITATION.cff",
        "pyproject.toml",
    }
    check(tops <= allowed | {"PKG-INFO", ".gitignore"}, f"the sdist has {', '.join(sorted(tops))}")
    check_metadata(metadata)


def check_metadata(metadata: object) -> None:
    """One version everywhere, and what a package index shows."""
    version = metadata["Version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    check(
        re.fullmatch(r"\d+\.\d+\.\d+", version), f"version {version} is not a development version"
    )
    check(
        re.search(rf"^## {version} \(\d{{4}}-\d\d-\d\d\)", changelog, re.M),
        "the changelog dates it",
    )
    check(f"version: {version}" in citation.replace('"', ""), "the citation has it")
    check(metadata["Requires-Python"] == ">=3.11", "Python 3.11 or newer")
    check(metadata["License-Expression"] == "Apache-2.0", "the license is Apache-2.0")
    readme = metadata.get_payload()
    check(metadata["Summary"] and readme.startswith("# deciban"), "the README is shown")
    local = re.findall(r"(?:\]\(|src=\")(?![a-z]+:|#)[^)\"]+", readme)
    check(not local, "the README's links leave the package index")
    check(set(metadata.get_all("Provides-Extra")) >= set(FOR_USERS), "extras are declared")


# --- environments ------------------------------------------------------------------------


def make_environment(name: str, *packages: object) -> Path:
    """The folder of programs of a new, empty environment with these packages."""
    folder = WORK / "environments" / name
    venv.create(folder, with_pip=True, clear=True)
    programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
    install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(programs / "python", *install, *packages)
    return programs


def try_extra(wheel: Path, extra: str) -> None:
    """The wheel alone with one extra does what the extra is for, from any folder."""
    programs = make_environment(extra or "core", f"{wheel}[{extra}]" if extra else wheel)
    run(programs / "python", "-W", "error::DeprecationWarning:deciban", "-c", TRIALS[extra])
    if extra in {"cli", "all"}:
        run(programs / "deciban", "--version")
    run(programs / "python", "-m", "pip", "check")
    shutil.rmtree(WORK / "environments")


def try_as_a_user(wheel: Path) -> None:
    """The README, strict types of the examples, and all tests, against the installed wheel."""
    programs = make_environment("user", f"{wheel}[dev]")
    copy = WORK / "copy"  # the repository without the package: only the wheel can be imported
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for name in tracked:
        if not name.startswith("src/") and (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    where = "import deciban; print(deciban.__file__); assert 'site-packages' in deciban.__file__"
    run(programs / "python", "-c", where, cwd=copy)
    settings = copy / "mypy.ini"
    settings.write_text(STRICT)
    run(programs / "mypy", "--config-file", settings, *sorted(copy.glob("examples/*.py")), cwd=copy)
    ignored = [f"--ignore=tests/{name}" for name in NOT_OF_THE_PACKAGE]
    run(programs / "pytest", "tests/test_documentation.py", "-k", "README", "-m", "", cwd=copy)
    run(programs / "pytest", "tests", *ignored, "--numprocesses=auto", "--dist=worksteal", cwd=copy)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extra", choices=FOR_USERS, help="try this extra alone, and no tests")
    only = parser.parse_args().extra
    check(set(TRIALS) == {"", *FOR_USERS}, "there is a trial of every extra")
    sdist, wheel = build()
    check_contents(sdist, wheel)
    for extra in [only] if only else ["", *FOR_USERS]:
        try_extra(wheel, extra)
    if not only:
        try_as_a_user(wheel)
    print(f"Ready for a release: {sdist.name} and {wheel.name} in {DIST}")


if __name__ == "__main__":
    main()
