import matplotlib as mpl
import numpy as np
import pytest

from deciban import CalibratedGaussian, Evidence

mpl.use("Agg")


@pytest.fixture(autouse=True)
def figures():
    """No figure outlives its test, and no drawing changes how others look."""
    import matplotlib.pyplot as plt

    before = dict(mpl.rcParams)
    yield plt
    plt.close("all")
    assert dict(mpl.rcParams) == before


@pytest.fixture
def llrs():
    """Truth and LLRs of 400 samples; two infinite ones of each sign, one of them misleading."""
    rng = np.random.default_rng(3)
    y = np.repeat([1, 0], [150, 250])
    llr = np.where(y == 1, 4.0, -4.0) + rng.normal(0, np.sqrt(8), 400)
    llr[:2] = np.inf
    llr[150] = np.inf
    llr[151:153] = -np.inf
    return y, llr


@pytest.fixture
def family():
    return CalibratedGaussian.from_divergences(
        [[0, 5, 4], [5, 0, 7], [4, 7, 0]], classes=["Czech", "Polish", "Slovak"]
    )


@pytest.fixture
def three(family):
    """Truth and evidence about three languages."""
    l, y = family.sample([40, 50, 60], rng=5)
    return y, family.evidence(l)


@pytest.fixture
def three_with_zeros(three):
    """The same; one sample rules a class out, and one all classes but Slovak."""
    y, evidence = three
    values = evidence.log_likelihoods.copy()
    values[0, 1] = -np.inf
    values[-1, :2] = -np.inf
    return y, Evidence(values, evidence.classes)
