"""Commands run in the process of the tests, with their errors as they are raised."""

from typer.testing import CliRunner


def runner(app, columns):
    """What runs a command on a terminal of so many columns."""

    def run(*args):
        done = CliRunner().invoke(app, [str(a) for a in args], env={"COLUMNS": str(columns)})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done

    return run
