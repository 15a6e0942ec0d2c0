"""Functions mapped over items: here and on two processes, whatever happens to them."""

import asyncio
import operator
import os
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import dask
import pytest
from distributed import Client

from deciban._workers import open_workers, start_processes
from deciban.exceptions import ClusterError, InputError, MissingExtraError


def test_without_a_cluster_the_work_is_done_here():
    with open_workers() as workers:
        assert list(workers.map(lambda item: (item, os.getpid()), [1, 2])) == [
            (1, os.getpid()),
            (2, os.getpid()),
        ]


def test_results_come_in_the_order_of_the_items(cluster):
    with open_workers(cluster) as workers:
        assert workers.n == 2
        triples = workers.map(partial(operator.mul, 3), range(200))
        assert list(triples) == list(range(0, 600, 3))
        assert list(workers.map(str, [])) == []


def test_a_notebook_may_have_its_event_loop_in_this_thread(cluster):
    async def use():
        with open_workers(cluster) as workers:
            return list(workers.map(abs, [-1, 2]))

    with ThreadPoolExecutor(1) as thread:  # this one may have a loop of the browser's
        assert thread.submit(asyncio.run, use()).result() == [1, 2]


def test_a_function_is_not_unpacked_for_each_item(cluster):
    class Model:
        def __setstate__(self, state):
            import os

            self.unpacked = os.urandom(8)

        def __getstate__(self):
            return {}

    def tell(model, item):
        import os

        return os.getpid(), model.unpacked

    with open_workers(cluster) as workers:
        seen = set(workers.map(partial(tell, Model()), range(50)))
    assert len({process for process, _ in seen}) <= 2
    assert len(seen) <= 4  # a busy cluster may hand it over twice


def test_a_killed_worker_changes_nothing_but_the_time(cluster, tmp_path):
    killed = tmp_path / "killed"

    def die_once(item):
        import os
        import signal

        if item == 5 and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    with open_workers(cluster) as workers:
        assert list(workers.map(die_once, range(20))) == list(range(20))
    assert killed.exists()


def test_an_error_comes_from_a_worker_as_it_was_raised(cluster):
    def refuse(item):
        from deciban.exceptions import InputError

        raise InputError("x must be positive", rows=[item])

    with open_workers(cluster) as workers, pytest.raises(InputError, match="positive") as found:
        list(workers.map(refuse, [3]))
    assert found.value.rows == (3,)


@pytest.fixture
def own_cluster():
    """A cluster that a test may break."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        start_processes(1) as local,
    ):
        yield local


def test_work_that_kills_its_worker_ends_in_a_sentence(own_cluster):
    def die(item):
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)

    with open_workers(own_cluster.scheduler_address) as workers:
        results = workers.map(die, [1])
        with pytest.raises(ClusterError, match=r"workers died of the same part, .* more memory"):
            next(results)


def test_a_lost_cluster_ends_in_a_sentence(own_cluster, monkeypatch):
    monkeypatch.setattr("deciban._workers._PATIENCE", 1)
    with open_workers(own_cluster.scheduler_address) as workers:
        results = workers.map(abs, range(100))
        assert next(results) == 0
        own_cluster.close()
        with pytest.raises(ClusterError, match=r"connection to the cluster at .* was lost"):
            list(results)


@pytest.mark.parametrize("address", ["nonsense", "http://localhost:8786", "tls://localhost:8786"])
def test_what_is_not_an_address_is_refused(address):
    with (
        pytest.raises(ClusterError, match=f"the address of a Dask scheduler; got {address}"),
        open_workers(address),
    ):
        pass


def test_an_address_where_nothing_answers_is_refused(monkeypatch):
    monkeypatch.setattr("deciban._workers._PATIENCE", 0.3)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        for port in (silent.getsockname()[1], 9):
            with (
                pytest.raises(ClusterError, match=r"nothing answered within 0.3 s"),
                open_workers(f"tcp://127.0.0.1:{port}"),
            ):
                pass


def test_the_address_of_a_worker_is_refused(cluster):
    with Client(cluster, set_as_default=False) as client:
        worker = next(iter(client.nthreads()))
    with pytest.raises(ClusterError, match="it is a Dask worker"), open_workers(worker):
        pass


def test_a_cluster_without_workers_is_refused(monkeypatch):
    monkeypatch.setattr("deciban._workers._PATIENCE", 0.3)
    with (
        start_processes(0) as empty,
        pytest.raises(ClusterError, match=r"has no workers"),
        open_workers(empty.scheduler_address),
    ):
        pass


@pytest.mark.parametrize(
    ("installed", "words"),
    [
        (
            {"deciban": "9.9.9"},
            r"the same deciban as this process, .* has 9\.9\.9\. Install",
        ),
        ({"python": "3.9.1.final.0"}, r"the same python as this process, .* has 3\.9\.1\. Install"),
        ({"deciban": None}, r"must have deciban; .* does not"),
        ({"jax": None}, r"must have jax; .* does not\. Run there: .*'deciban\[cli,flow\]'"),
    ],
    ids=["deciban", "python", "no deciban", "no jax"],
)
def test_a_worker_with_other_packages_is_refused(cluster, monkeypatch, installed, words):
    ask = Client.get_versions

    def ask_an_odd_worker(client, packages):
        found = ask(client, packages=packages)
        next(iter(found["workers"].values()))["packages"].update(installed)
        return found

    with open_workers(cluster, packages=("jax",)):
        pass
    monkeypatch.setattr(Client, "get_versions", ask_an_odd_worker)
    with pytest.raises(ClusterError, match=words), open_workers(cluster, packages=("jax",)):
        pass


def test_a_folder_that_workers_do_not_share_is_refused(cluster, tmp_path, monkeypatch):
    file = tmp_path / "table.parquet"
    file.write_bytes(b"1234")
    with open_workers(cluster) as workers:
        workers.require_files([file])
        monkeypatch.setattr("deciban._workers._size", lambda path: 5)  # here, not on the workers
        with pytest.raises(ClusterError, match=r"folder that all workers share; .* another file"):
            workers.require_files([file])
        with pytest.raises(ClusterError, match=r"the worker at .* does not see it"):
            workers.require_files([tmp_path / "nothing"])
    with open_workers() as here:
        here.require_files([file])


@pytest.mark.parametrize("workers", [0, "0", "-1"])
def test_fewer_than_one_process_is_refused(workers):
    with pytest.raises(InputError, match="workers must be at least 1"), open_workers(workers):
        pass


def test_without_the_extra_workers_are_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"'deciban\[scale\]'"), open_workers(workers=1):
        pass


def test_local_processes_take_one_core_each_and_no_interrupts():
    with open_workers(workers=1) as workers:
        assert workers.n == 1
        (pid,) = workers.map(lambda _: os.getpid(), [None])
        os.kill(pid, signal.SIGINT)  # as a terminal does with Ctrl-C
        found = list(workers.map(os.getenv, ["POLARS_MAX_THREADS", "OMP_NUM_THREADS"]))
        assert list(workers.map(lambda _: os.getpid(), [None])) == [pid]
    assert found == ["1", "1"]
