"""Several processes that train one model together."""

import socket
import subprocess
import sys

import jax
import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_wine

import deciban
from commands import runner
from deciban.discriminant import cda as cda_module
from deciban.discriminant.runs import Checkpoint
from deciban.exceptions import InputError, LostProcessError
from deciban.flows import processes

cli = runner(200)

ERRORS = """
import sys, numpy as np
from deciban.discriminant import CompositionalDiscriminantAnalysis as CDA
from deciban.exceptions import CheckpointError, InputError
from deciban.flows.processes import decide, from_first, is_first, join_processes, together

place, k = sys.argv[1], int(sys.argv[2])
join_processes(place, 2, k)
assert is_first() is (k == 0)
assert from_first(b"abc" if k == 0 else b"") == b"abc"
assert decide(np.array([1 / 3, k])).tolist() == [1 / 3, 0]
try:
    with together():
        if k == 1:
            raise CheckpointError("one has this.")
except CheckpointError as error:
    assert str(error) == "one has this."
else:
    sys.exit("no error")
rng = np.random.default_rng(k)
try:
    CDA(n_couplings=1, width=4, epochs=1).fit(rng.normal(size=(40, 2)), np.arange(40) % 2)
except InputError as error:
    assert "the data of fit must be the same in every process; process 1 has" in str(error)
else:
    sys.exit("no error")
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def start(*command):
    return subprocess.Popen([sys.executable, *map(str, command)], stdout=subprocess.PIPE, text=True)


@pytest.fixture
def table(tmp_path):
    X, y = load_wine(return_X_y=True)
    path = tmp_path / "wine.csv"
    pl.DataFrame(X[:, :4]).with_columns(truth=pl.Series(y)).write_csv(path)
    return path


def test_two_processes_resume_what_one_began_and_end_with_its_model(table, tmp_path):
    def command(output):
        return "fit", table, "--label", "truth", "--epochs", 5, "--json", "-o", tmp_path / output

    class Interrupting(Checkpoint):
        def save(self, state, force=False):
            super().save(state, force=True)
            if state.epoch == 2 and not force:
                raise KeyboardInterrupt

    assert cli(*command("one")).exit_code == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cda_module, "Checkpoint", Interrupting)
        assert cli(*command("two")).exit_code == 130
    assert (tmp_path / "two.checkpoint").exists()
    options = "--coordinator", f"localhost:{free_port()}", "--processes"
    both = [start("-m", "deciban.cli", *command("two"), *options, f"{k}/2") for k in range(2)]
    printed = [one.communicate(timeout=300)[0] for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert printed[0].startswith("{")
    assert printed[1] == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two", "wine.csv"]
    one, two = (deciban.load(tmp_path / name) for name in ("one", "two"))
    assert [len(model.history_) for model in (one, two)] == [5, 5]
    for a, b in zip(*map(jax.tree.leaves, (one._params, two._params)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_an_error_of_one_process_is_raised_by_all_of_them():
    place = f"localhost:{free_port()}"
    both = [start("-c", ERRORS, place, k) for k in range(2)]
    assert [one.communicate(timeout=120)[0] for one in both] == ["", ""]
    assert [one.returncode for one in both] == [0, 0]


def test_processes_that_do_not_come_are_missed_in_a_sentence():
    script = (
        "from deciban.flows import processes; processes._SECONDS = 2.0\n"
        f"processes.join_processes('localhost:{free_port()}', 2, 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 2
    assert "Not all of 2 processes came to localhost" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, 2, 0), "coordinator is missing. Give coordinator node1:7000"),
        (("node1:7000", None, 0), "processes is missing"),
        (("node1:7000", 2, 2), "from 0 to 1; got 2. Start one process with each number"),
        (("node1:7000", 2, None), "from 0 to 1; got None"),
        (("node1", 2, 0), "must be a host and a port; got 'node1'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, message, monkeypatch):
    for name in processes._RANKS:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InputError, match=message):
        processes.join_processes(*arguments)


def test_slurm_and_mpi_say_the_number_of_a_process(monkeypatch):
    monkeypatch.setenv("SLURM_PROCID", "5")
    with pytest.raises(InputError, match="from 0 to 1; got 5"):
        processes.join_processes("node1:7000", 2)


def test_an_address_without_a_coordinator_and_a_port_in_use_are_refused(monkeypatch):
    monkeypatch.setattr(processes, "_SECONDS", 0.1)
    port = free_port()
    with pytest.raises(InputError, match=f"nothing answers at localhost:{port} .*Start process 0"):
        processes.join_processes(f"localhost:{port}", 2, 1)
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"Cannot open port {port} of coordinator"):
            processes.join_processes(f"localhost:{port}", 2, 0)


def test_processes_that_have_used_jax_before_cannot_join():
    jax.numpy.zeros(1)
    with pytest.raises(InputError, match="join the others once, before JAX computes anything"):
        processes.join_processes(f"localhost:{free_port()}", 1, 0)


def test_a_connection_that_breaks_is_one_sentence(monkeypatch):
    with pytest.raises(RuntimeError, match=r"^broken$"), processes.in_company():
        raise RuntimeError("broken")
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    with (
        pytest.raises(LostProcessError, match=r"Lost .*\(broken\).*from its checkpoint"),
        processes.together(),
        processes.in_company(),
    ):
        raise RuntimeError("broken\nand more")
    with pytest.raises(InputError, match="as it is"), processes.in_company():
        raise InputError("as it is")


def test_only_a_flow_is_fitted_by_several_processes(table, tmp_path):
    options = "--label", "truth", "-o", tmp_path / "m", "--processes", 2
    with pytest.raises(InputError, match="--processes trains a CDA; leave it out for --model lda"):
        cli("fit", table, "--model", "lda", *options)
