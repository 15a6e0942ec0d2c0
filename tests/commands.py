"""Commands run in the process of the tests, with their errors as they are raised."""

from typer.testing import CliRunner

from deciban.cli.app import app


def runner(columns, *words):
    """What runs a command that begins with these words on a terminal of so many columns."""

    def run(*args):
        line = [*words, *map(str, args)]
        done = CliRunner().invoke(app, line, env={"COLUMNS": str(columns)})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done

    return run
