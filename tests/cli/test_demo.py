"""``deciban demo``; with a CDA it is run in ``tests/test_examples.py``."""

import json
import sys
from functools import partial

import pytest
import typer

from commands import runner
from deciban.cli.commands.demo import EXAMPLE, FILES, demo
from deciban.exceptions import InputError, MissingExtraError

app = typer.Typer()
app.command(epilog=EXAMPLE)(demo)

run = runner(app, 100)


@pytest.fixture
def quick(monkeypatch):
    """A demo whose files hold only its seed."""
    pytest.importorskip("mpltern")
    from deciban.report import demo as module

    def run_demo(seed, verbose):
        return "a table\n", dict.fromkeys(FILES, str(seed))

    monkeypatch.setattr(module, "run_demo", run_demo)


def test_the_folder_is_made_and_nothing_is_overwritten(tmp_path, quick):
    folder = tmp_path / "new" / "demo"
    assert run("-o", folder, "--seed", "3").stdout == f"a table\n\nOpen {folder / 'index.html'}\n"
    assert (folder / "report.html").read_text() == "3"
    with pytest.raises(InputError, match=r"index\.html exists.* only --force"):
        run("-o", folder)
    done = run("-o", folder, "--force", "--json")
    assert json.loads(done.stdout)["written"] == [str(folder / name) for name in FILES]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--seed -1", "--seed must be"),
        ("-o {0}/file", "folder that can be made"),
        ("-o {0}/file/sub", "folder that can be made"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path, quick, options, words):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=words):
        run(*options.format(tmp_path).split())


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "deciban.report.demo", raising=False)
    monkeypatch.setitem(sys.modules, "mpltern", None)
    with pytest.raises(MissingExtraError, match=r"mpltern must be installed .* pip install"):
        run("-o", tmp_path)


def test_the_page_has_tables_figures_and_the_report(tmp_path, monkeypatch):
    pytest.importorskip("mpltern")
    from deciban import discriminant
    from deciban.report import page as report_page

    def stand_in(random_state, verbose):
        """In place of a CDA, which takes a minute or two."""
        model = discriminant.LinearDiscriminant(shrinkage=0.1)
        model.history_ = [{"epoch": k, "loss": 1 / k, "score": 0.0, "seconds": k} for k in (1, 2)]
        return model

    few = partial(report_page.assess, n_resamples=20)
    monkeypatch.setattr(report_page, "assess", few)
    monkeypatch.setattr(discriminant, "CompositionalDiscriminantAnalysis", stand_in, raising=False)
    done = run("-o", tmp_path)
    assert done.stdout.endswith(f"Open {tmp_path / 'index.html'}\n")
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)
    page = (tmp_path / "index.html").read_text()
    assert "weak support for Slovak over Czech" in page
    assert "Handwritten digits, learned from 898 images" in page
    for name in FILES[1:]:
        assert f'="{name}"' in page
    assert "899 held-out images" in (tmp_path / "report.html").read_text()
