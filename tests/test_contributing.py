"""CONTRIBUTING.md describes the package as it is."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "deciban"
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LAYERS = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", TEXT, re.MULTILINE))


def exists(*parts):
    path = PACKAGE.joinpath(*parts)
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def test_the_table_of_layers_is_the_one_that_import_linter_enforces():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    assert list(LAYERS) == [name for layer in layers for name in layer.split(" | ")]


def test_the_table_of_layers_names_every_package_and_only_modules_that_exist():
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} <= set(LAYERS)
    named = [
        (layer, name) for layer, text in LAYERS.items() for name in re.findall(r"`(\w+)`", text)
    ]
    assert [name for name in [*((layer,) for layer in LAYERS), *named] if not exists(*name)] == []


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
