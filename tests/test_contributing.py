"""CONTRIBUTING.md describes the package as it is."""

import importlib
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "deciban"
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LAYERS = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", TEXT, re.MULTILINE))


def is_module(*parts):
    path = PACKAGE.joinpath(*parts)
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def is_public(layer, name):
    return name in importlib.import_module(f"deciban.{layer}").__all__


def test_the_table_of_layers_is_the_one_that_import_linter_enforces():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    assert list(LAYERS) == [name for layer in layers for name in layer.split(" | ")]


def test_the_table_of_layers_names_every_package_and_only_what_exists():
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} <= set(LAYERS)
    assert [layer for layer in LAYERS if not is_module(layer)] == []
    named = [
        (layer, name) for layer, text in LAYERS.items() for name in re.findall(r"`(\w+)`", text)
    ]
    assert [pair for pair in named if not is_module(*pair) and not is_public(*pair)] == []


def test_every_make_target_that_is_named_exists():
    targets = re.findall(
        r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    pages = [TEXT, (ROOT / "README.md").read_text(encoding="utf-8")]
    named = {
        name for page in pages for name in re.findall(r"(?:^|`)make ([a-z-]+)", page, re.MULTILINE)
    }
    assert named
    assert named <= set(targets)
