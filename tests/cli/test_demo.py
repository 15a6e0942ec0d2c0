"""``deciban demo``; what it computes is run as a whole in ``tests/test_examples.py``."""

import json
import sys

import pytest
import typer

from commands import runner
from deciban.cli.commands.demo import EXAMPLE, demo
from deciban.exceptions import InputError, MissingExtraError

app = typer.Typer()
app.command(epilog=EXAMPLE)(demo)


run = runner(app, 100)


@pytest.fixture
def quick(monkeypatch):
    """A demonstration that only says what it was asked for."""
    pytest.importorskip("jax")
    from deciban.report import demonstration

    def demonstrate(folder, *, seed, say):
        for name in demonstration.FILES:
            (folder / name).write_text(str(seed))
        say("a table")

    monkeypatch.setattr(demonstration, "demonstrate", demonstrate)


def test_the_folder_is_made_and_nothing_is_written_over(tmp_path, quick):
    folder = tmp_path / "new" / "demo"
    assert run("-o", folder, "--seed", "3").stdout == "a table\n"
    assert (folder / "report.html").read_text() == "3"
    with pytest.raises(InputError, match=r"without index\.html.* Pass --force"):
        run("-o", folder)
    done = run("-o", folder, "--force", "--json")
    assert json.loads(done.stdout)["written"][0] == str(folder / "index.html")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--seed -1", "--seed must be"),
        ("-o {0}/file", "which is a file"),
        ("-o {0}/file/sub", "folder that can be made"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path, quick, options, words):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=words):
        run(*options.format(tmp_path).split())


def test_a_missing_library_is_said_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "deciban.report.demonstration", None)
    with pytest.raises(MissingExtraError, match="pip install"):
        run("-o", tmp_path)


def test_the_page_links_to_the_report_whatever_learns(tmp_path, monkeypatch):
    pytest.importorskip("mpltern")
    from deciban import discriminant
    from deciban.report.demonstration import FILES

    def stand_in(random_state):
        """In the place of a CDA, which takes half a minute."""
        model = discriminant.LinearDiscriminant(shrinkage=0.1)
        model.history_ = [{"epoch": k, "loss": 1 / k, "score": 0.0, "seconds": k} for k in (1, 2)]
        return model

    monkeypatch.setattr(discriminant, "CompositionalDiscriminantAnalysis", stand_in, raising=False)
    done = run("-o", tmp_path)
    assert done.stdout.endswith(f"Open {tmp_path / 'index.html'}\n")
    assert "Handwritten digits, learnt from 898 images" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)
    assert 'href="report.html"' in (tmp_path / "index.html").read_text()
    assert "899 images that were held out" in (tmp_path / "report.html").read_text()
