"""The size of the package and the clarity of its words, held by a ratchet: tests/budgets.toml.

Lowering a number there is always welcome. Raising one needs a sentence in the commit.
"""

import ast
import os
import re
import sys
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import deciban
from deciban import Evidence, assess
from deciban.cli.app import app

SRC = Path(__file__).parents[1] / "src" / "deciban"
BUDGETS = tomllib.loads((Path(__file__).parent / "budgets.toml").read_text())
FILES = {path.relative_to(SRC).as_posix(): path.read_text() for path in sorted(SRC.rglob("*.py"))}
TREES = {name: ast.parse(text) for name, text in FILES.items()}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def package_of(name):
    return name.split("/")[0].removesuffix(".py")


def over(found, limits):
    """Measurements above their limit; whatever has no limit of its own may be 0."""
    return {key: n for key, n in found.items() if n > limits.get(key, 0)}


def test_packages_keep_their_number_of_lines():
    lines = Counter()
    for name, text in FILES.items():
        lines[package_of(name)] += text.count("\n")
    assert not over(lines, BUDGETS["lines"])
    assert sum(BUDGETS["lines"].values()) <= BUDGETS["total"]["lines"]


def test_pages_keep_their_number_of_lines():
    web = [
        p for p in (SRC / "report" / "web").rglob("*") if p.is_file() and "vendor" not in p.parts
    ]
    assert sum(p.read_text().count("\n") for p in web) <= BUDGETS["total"]["web"]


def test_the_package_keeps_its_number_of_files():
    assert len(FILES) <= BUDGETS["total"]["files"]


def test_files_are_short():
    found = {name: text.count("\n") for name, text in FILES.items() if text.count("\n") > 400}
    assert not over(found, BUDGETS["long-files"])


def test_bodies_are_short():
    found = {}
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                length = node.end_lineno - body[0].lineno + 1 if body else 0
                if length > 40:
                    found[f"{name}:{node.name}"] = length
    assert not over(found, BUDGETS["long-bodies"])


def test_public_names_live_in_one_module():
    homes = defaultdict(list)
    for name, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name[0] != "_":
                homes[node.name].append(name)
    twice = {name: where for name, where in homes.items() if len(where) > 1}
    assert not {n: w for n, w in twice.items() if n not in BUDGETS["total"]["public-twice"]}


def test_commands_and_options_are_few():
    commands = get_command(app).commands
    assert len(commands) <= BUDGETS["total"]["commands"]
    options = {
        name: sum(p.param_type_name == "option" and "--help" not in p.opts for p in command.params)
        for name, command in commands.items()
    }
    assert max(options.values()) <= BUDGETS["total"]["options"], options


def test_only_the_command_line_knows_its_options():
    options = {
        option
        for command in get_command(app).commands.values()
        for p in command.params
        for option in p.opts
        if option.startswith("--") and option != "--help"
    }
    pattern = re.compile("|".join(rf"{re.escape(o)}(?![\w-])" for o in sorted(options)))
    found = {
        name: sorted(set(pattern.findall(text)))
        for name, text in FILES.items()
        if not name.startswith("cli/") and pattern.search(text)
    }
    assert not found


@pytest.mark.parametrize("word", ["of", "what", "where"])
def test_docstrings_use_plain_words(word):
    words = []
    for tree in TREES.values():
        for node in ast.walk(tree):
            if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
                words += re.findall(r"[a-z']+", text.lower())
    assert 1000 * words.count(word) / len(words) <= BUDGETS["words"][word]


def walk(function):
    """Files and functions of the package that a call passes, and how often it checks something."""
    function()  # imports and caches are not part of the walk
    files, functions, checks = set(), set(), 0
    root = os.path.dirname(deciban.__file__)

    def follow(frame, event, _):
        nonlocal checks
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root) and code.co_name[0] != "<":
            files.add(code.co_filename)
            functions.add((code.co_filename, code.co_firstlineno))
            checks += "_validation" in code.co_filename

    sys.setprofile(follow)
    try:
        function()
    finally:
        sys.setprofile(None)
    return {"files": len(files), "functions": len(functions), "checks": checks}


def test_assessments_walk_a_short_way(rng):
    y = np.repeat([0, 1, 2], 50)
    evidence = Evidence(rng.normal(size=(150, 3)) + 1.5 * np.eye(3)[y], [0, 1, 2])
    assert not over(walk(lambda: assess(y, evidence, n_resamples=100)), BUDGETS["walk-assess"])


def test_evaluations_walk_a_short_way(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    run(app, ["example", "--all", "-o", "."])
    command = ["evaluate", "scores.csv", "--truth", "class"]
    assert run(app, command).exit_code == 0
    assert not over(walk(lambda: run(app, command)), BUDGETS["walk-evaluate"])
