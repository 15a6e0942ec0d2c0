import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# No deadline: the machines that run this are noisy, and speed is measured in benchmarks/.
settings.register_profile(
    "deciban", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("deciban")


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)
