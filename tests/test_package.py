"""The package as a whole: what importing it loads, its names, its documentation."""

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import deciban

ROOT = Path(__file__).parents[1]
HEAVY = ["jax", "matplotlib", "polars", "pandas", "torch", "dask", "sklearn", "scipy.stats"]


def modules_after(statement):
    code = f"{statement}; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import deciban",
        "import deciban; deciban.Evidence([[0.0, 1.0]]).posterior()",
        "import deciban; deciban.CalibratedGaussian([[1.0]]).expected_cllr(0, 1)",
        "import deciban.simplex as s; s.ilr([1, 2, 3])",
        "import deciban.plots",
    ],
)
def test_nothing_heavy_is_loaded(statement):
    assert not modules_after(statement) & set(HEAVY)


def test_all_names_load_only_the_base_of_scikit_learn():
    slow = {
        f"sklearn.{part}" for part in ("covariance", "linear_model", "model_selection", "metrics")
    }
    assert not modules_after("from deciban import *") & {"jax", "matplotlib", "polars", *slow}


def test_importing_the_package_alone_does_not_even_load_numpy():
    assert "numpy" not in modules_after("import deciban")


def test_every_public_name_can_be_had_and_is_listed():
    for name in deciban.__all__:
        assert getattr(deciban, name) is not None
    extra = {"CompositionalDiscriminantAnalysis", "flows"}
    assert set(dir(deciban)) == {*deciban.__all__, *extra}
    assert {"assess", "compare", "load", "report"} <= set(deciban.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = deciban.nothing


def test_the_listing_of_metrics_shows_public_names_only():
    from deciban import metrics

    assert dir(metrics) == sorted(metrics.__all__)


@pytest.mark.parametrize(
    "module",
    [
        "simplex",
        "simplex.logparts",
        "evidence",
        "reference",
        "metrics",
        "calibration",
        "explanation",
        "hierarchy",
        "monitoring",
        "plots",
        "flows",
    ],
)
def test_every_public_name_is_documented(module):
    module = importlib.import_module(f"deciban.{module}")
    for name in getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]:
        thing = getattr(module, name)
        if getattr(thing, "__module__", "").startswith("deciban"):
            assert thing.__doc__, name


def test_parts_and_log_parts_have_the_same_functions():
    from deciban import simplex

    functions = {name for name in simplex.__all__ if name not in {"Basis", "logparts"}}
    missing = {name for name in functions if not callable(getattr(simplex.logparts, name, None))}
    assert not missing
    assert set(simplex.logparts.__all__) == {*functions, "to_parts"}


def test_the_changelog_has_the_version():
    assert f"## {deciban.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_core_needs_only_what_it_says():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    core = {requirement.partition(">")[0] for requirement in project["dependencies"]}
    assert core == {"numpy", "scipy", "scikit-learn", "array-api-compat", "safetensors"}
