"""The folder of compiled programs: it saves compilation, and its state never stops a program."""

import os
import subprocess
import sys

import pytest

COMPUTE = """
import jax
from deciban.flows import Flow
# Each program is worth a file here, however long a busy machine takes to compile it.
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
flow = Flow(2, 1, width=4)
events = []
jax.monitoring.register_event_listener(lambda event, **_: events.append(event))
print(flow.forward(flow.init(0), [[1.0, 2.0]])[0].tolist())
found, missed = (f"/jax/compilation_cache/cache_{end}" in events for end in ("hits", "misses"))
print(found and not missed)
"""


def compute(switch, **more):
    """Whether a new process finds all programs in the cache; it must compute in any case."""
    environment = os.environ | {"DECIBAN_COMPILATION_CACHE": str(switch)} | more
    command = [sys.executable, "-W", "error", "-c", COMPUTE]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.stdout.startswith("[[1.0, 2.0]]"), done.stderr
    return done.stdout.endswith("True\n")


def test_a_second_process_finds_programs_and_mends_what_was_cut_short(tmp_path):
    assert not compute(tmp_path)
    (path,) = tmp_path.glob("*/*_forward*-cache")
    assert path.parent.stat().st_mode & 0o077 == 0
    assert compute(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])  # as a process leaves it that is killed
    assert not compute(tmp_path)
    assert path.stat().st_size > len(whole) // 2
    assert compute(tmp_path)


@pytest.mark.parametrize(
    "switch",
    [*(pytest.param(off, marks=pytest.mark.slow) for off in ("", "0")), "/dev/null/folder"],
)
def test_without_a_folder_that_can_be_written_to_there_is_no_cache(switch):
    assert not compute(switch)
