"""The reference: every public name has an example, says what to use beside it, and is on a page."""

import importlib
import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

import deciban

pytest.importorskip("jax")  # flows and the CDA are public, too
docscrape = pytest.importorskip("numpydoc.docscrape")

PAGES = Path(__file__).parents[1] / "docs" / "reference"
PACKAGES = [
    "assessment", "calibration", "datasets", "discriminant", "evidence", "explanation", "flows",
    "hierarchy", "metrics", "monitoring", "open_set", "plots", "reference", "report",
    "same_source", "simplex",
    "simplex.logparts",
]  # fmt: skip
AT_THE_TOP = {name for name in dir(deciban) if not inspect.ismodule(getattr(deciban, name))}


def list_public_names():
    """Every public name but modules, where it is documented: at the top if it is there."""
    names = sorted(AT_THE_TOP - {"__version__"})
    found = {f"deciban.{name}": getattr(deciban, name) for name in names}
    for package in PACKAGES:
        module = importlib.import_module(f"deciban.{package}")
        for name in module.__all__:
            value = getattr(module, name)
            if not (inspect.ismodule(value) or value is found.get(f"deciban.{name}")):
                found[f"deciban.{package}.{name}"] = value
    for name, value in vars(deciban.exceptions).items():
        if inspect.isclass(value) and value.__module__ == "deciban.exceptions":
            found[f"deciban.exceptions.{name}"] = value
    return found


PUBLIC = list_public_names()
FAULTS = {
    name: value
    for name, value in PUBLIC.items()
    if inspect.isclass(value) and issubclass(value, Exception)
}
DOCUMENTED = {
    name: value
    for name, value in PUBLIC.items()
    if (inspect.isclass(value) or inspect.isfunction(value)) and name not in FAULTS
}


def is_public(name):
    """Whether this is a documented name, a member of one, or a module."""
    owner, _, member = name.rpartition(".")
    module = name.removeprefix("deciban.")
    return name in PUBLIC or hasattr(PUBLIC.get(owner), member) or module in PACKAGES


def read_sections(value):
    return docscrape.NumpyDocString(inspect.getdoc(value) or "")


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_public_name_has_an_example_and_says_what_to_use_beside_it(name):
    sections = read_sections(DOCUMENTED[name])
    assert sections["Summary"]
    assert any(">>> " in line for line in sections["Examples"])
    assert sections["See Also"]


@pytest.mark.parametrize("name", PUBLIC)
def test_what_to_use_beside_a_public_name_exists(name):
    value = PUBLIC[name]
    members = [one for key, one in inspect.getmembers(value) if not key.startswith("_")]
    homes = (name, name.rpartition(".")[0], "")
    for one in (value, *filter(inspect.isroutine, members)):
        for names, _ in read_sections(one)["See Also"]:
            for beside, _ in names:
                assert any(is_public(f"{home}.{beside}".lstrip(".")) for home in homes), beside


def test_every_public_name_is_on_one_page_of_the_reference():
    listed = Counter()
    for page in PAGES.glob("*.md"):
        module = inside = None
        for line in page.read_text(encoding="utf-8").splitlines():
            if found := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = found[1]
            inside = line.startswith(".. autosummary::") or (inside and line[:1] in {"", " "})
            if found := re.match(r"   (\w+)$" if inside else r"\.\. data:: (\w+)$", line):
                listed[f"{module}.{found[1]}"] += 1
    assert listed == Counter(PUBLIC.keys())


@pytest.mark.parametrize("name", FAULTS)
def test_every_error_and_warning_is_explained(name):
    if name != "deciban.exceptions.DecibanError":  # the page begins with it
        words = (PAGES / "errors.md").read_text(encoding="utf-8")
        assert f"\n### {name.rpartition('.')[2]}\n" in words
