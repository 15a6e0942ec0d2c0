"""The reproduction uses deciban as anyone would: through its public names."""

import ast
import importlib
from pathlib import Path

import pytest

FILES = sorted(Path(__file__).parents[1].glob("*.py"))


def public_names(module):
    found = importlib.import_module(module)
    return set(getattr(found, "__all__", None) or (n for n in vars(found) if n[0] != "_"))


def private_names_in(code):
    """Names of deciban in the code that it does not export."""
    modules, private = {}, []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            private += [a.name for a in node.names if a.name.startswith("deciban.")]
            modules |= {a.name: a.name for a in node.names if a.name == "deciban"}
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "deciban":
            deep = node.module.count(".") > 1 or "._" in node.module
            public = set() if deep else public_names(node.module)
            private += [f"{node.module}.{a.name}" for a in node.names if a.name not in public]
            if node.module == "deciban":
                modules |= {a.name: f"deciban.{a.name}" for a in node.names if a.name.islower()}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id)
            if module and node.attr not in public_names(module):
                private.append(f"{module}.{node.attr}")
    return private


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_module_uses_only_what_deciban_exports(path):
    assert private_names_in(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "code",
    [
        "from deciban._validation import x",
        "from deciban.plots._style import x",
        "from deciban.metrics.pav import pav",
        "from deciban.metrics import np",
        "import deciban.metrics.pav",
        "from deciban import metrics\nmetrics.np",
        "import deciban\ndeciban._HOME",
    ],
)
def test_what_is_not_exported_is_noticed(code):
    assert len(private_names_in(code)) == 1
