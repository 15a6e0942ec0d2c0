import os

from xla_flags import FLAGS

# One test process per core: more threads in each only wait for one another, and nearly double the
# processor time. It must be set before NumPy is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("XLA_FLAGS", " ".join(FLAGS))

# Neither read nor write compiled programs of the user who runs the tests.
os.environ.setdefault("DECIBAN_COMPILATION_CACHE", "0")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# No deadline: the machines that run this are noisy, and speed is measured in benchmarks/.
for profile, examples in {"quick": 25, "thorough": 100}.items():
    settings.register_profile(
        profile,
        deadline=None,
        max_examples=examples,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("quick")  # `make test-all` asks for the other


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)


@pytest.fixture(scope="session")
def cluster():
    """Address of a Dask cluster of two processes, each with one thread."""
    from deciban._workers import start_processes

    with start_processes(2) as local:
        yield local.scheduler_address
