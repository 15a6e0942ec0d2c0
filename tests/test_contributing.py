"""The pages for contributors describe the package as it is, and their recipes were followed."""

import importlib
import inspect
import re
import tomllib
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

from deciban import calibration, discriminant, metrics, open_set, plots, same_source
from deciban._persistence.registry import _find_class

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "deciban"
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [
        *(ROOT / "docs" / "contributing").glob("*.md"),
        *(ROOT / name for name in ("CONTRIBUTING.md", "README.md", "SECURITY.md")),
        ROOT / "docs" / "start" / "support.md",
    ]
}
LAYERS = dict(
    re.findall(r"^\| `(\w+)` \| (.+) \|$", PAGES["docs/contributing/data-flow.md"], re.MULTILINE)
)


def is_module(*parts):
    path = PACKAGE.joinpath(*parts)
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def is_public(layer, name):
    return name in importlib.import_module(f"deciban.{layer}").__all__


def public_names(module, kind):
    return [name for name in module.__all__ if kind(getattr(module, name))]


def is_estimator(value):
    return inspect.isclass(value) and issubclass(value, BaseEstimator)


def is_display(value):
    return inspect.isclass(value) and value.__name__.endswith("Display")


def not_named_in(names, files, containing=""):
    """The names that are in none of the files with this text."""
    texts = [path.read_text(encoding="utf-8") for path in files]
    words = {w for text in texts if containing in text for w in re.findall(r"\w+", text)}
    return [name for name in names if name not in words]


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
    named = {
        name
        for page in PAGES.values()
        for line in re.findall(r"(?:^|`)make ((?:[a-z-]+ ?)+)(?=$|`| *#)", page, re.MULTILINE)
        for name in line.split()
    }
    assert len(named) > 10
    assert named <= set(targets)


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_for_contributors_names_exists(page):
    named = re.findall(r"`((?:\w[\w.-]*|\.\w+)/[\w./*-]*)`", PAGES[page])
    made = ("build/", "dist/")  # by a make target
    places = (ROOT, PACKAGE)
    lost = [
        name
        for name in named
        if not name.startswith(made) and not any(any(place.glob(name)) for place in places)
    ]
    assert lost == []


# --- recipes: what a new metric, calibrator, display or command has ------------------------


def test_every_metric_is_named_in_the_tests_of_its_layer():
    names = public_names(metrics, inspect.isfunction)
    assert len(names) > 20
    assert not_named_in(names, (ROOT / "tests" / "metrics").glob("*.py")) == []


def test_every_estimator_can_be_loaded_from_a_file():
    for module in (calibration, discriminant, open_set, same_source):
        names = public_names(module, is_estimator)
        assert names
        assert [name for name in names if _find_class(name) is not getattr(module, name)] == []


@pytest.mark.parametrize("place", ["tests/plots/test_drawing.py", "examples/gallery/displays/*.py"])
def test_every_display_is_drawn_in_the_tests_and_in_the_gallery(place):
    names = public_names(plots, is_display)
    assert len(names) > 10
    assert not_named_in(names, ROOT.glob(place)) == []


def test_every_command_is_registered_and_is_run_by_a_test():
    from deciban.cli.app import app

    names = [command.name for command in app.registered_commands]
    tests = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "tests" / "cli").glob("*.py"))
    run = r'runner\(\d+, "{0}"|\b(?:run|done)\(\s*f?"{0}[ "]'
    assert [name for name in names if not re.search(run.format(name), tests)] == []
