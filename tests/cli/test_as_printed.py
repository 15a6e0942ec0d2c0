"""Commands as the README, the documentation and the help print them, by the installed command."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from browser import find_chromium
from deciban.cli.app import app

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).with_name("deciban")


def commands(page):
    """Lines of the page's shell blocks that begin with the command's name."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    lines = "".join(blocks).splitlines()
    return [line.partition("  #")[0].strip() for line in lines if line.startswith("deciban ")]


@pytest.mark.slow
@pytest.mark.skipif(not COMMAND.exists(), reason="deciban is not installed as a command")
def test_the_commands_of_the_pages_run_one_after_the_other(tmp_path, request):
    pages = [commands(page) for page in ("README.md", "docs/command-line.md")]
    assert min(map(len, pages)) > 5
    done_before = set()
    for line in (line for page in pages for line in page):
        target = re.search(r" -o (\S+)", line)
        if line in done_before or (target and (tmp_path / target[1]).is_file()):
            continue  # the pages share some
        done_before.add(line)
        done = subprocess.run(
            [COMMAND, *shlex.split(line)[1:]], cwd=tmp_path, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        assert "Traceback" not in done.stderr
    reports = list(tmp_path.glob("*.html"))
    assert reports
    assert max(report.stat().st_size for report in reports) < 5_000_000
    if find_chromium():
        page = request.getfixturevalue("page")
        for report in reports:
            page.goto(report.as_uri())
            for figure in page.locator("[data-figure]:visible").all():
                figure.scroll_into_view_if_needed()  # what is seen is drawn
            page.locator("svg:visible").first.wait_for()


@pytest.mark.parametrize("command", [c.name for c in app.registered_commands])
def test_every_command_has_help_with_an_example(command):
    done = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "120"})
    assert done.exit_code == 0
    assert f"Example: deciban {command}" in done.output
