"""What the help of a command promises; test_documentation.py runs the commands of the pages."""

import pytest
from typer.testing import CliRunner

from deciban.cli.app import app


@pytest.mark.parametrize("command", [c.name for c in app.registered_commands])
def test_every_command_has_help_with_an_example(command):
    done = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "120"})
    assert done.exit_code == 0
    assert f"Example: deciban {command}" in done.output
