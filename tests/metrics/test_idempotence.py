"""Idempotence on samples whose distance from it is known."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from scipy.stats import gaussian_kde, multivariate_normal
from threadpoolctl import threadpool_info

from deciban import Basis, CalibratedGaussian, Evidence, metrics
from deciban.exceptions import InputError, ZeroPartsError
from strategies import seeds

FAMILY = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0], classes=["a", "b", "c"])
PAIR = CalibratedGaussian.from_divergences([4.0])
QUICK = {"n_resamples": 0, "n_draws": 0}


def sampled(family=FAMILY, n=200, rng=0):
    l, y = family.sample([n] * family.n_classes, rng)
    return y, l


def mean_square(family):
    return np.trace(family.covariance) + np.mean(np.sum(family.means**2, axis=1))


@pytest.mark.parametrize("density", ["shared", "gaussian"])
def test_a_factor_shows_as_the_distance_that_it_makes(density):
    y, l = sampled(n=2000)
    found = metrics.idempotence(y, FAMILY.evidence(1.5 * l), density=density, n_draws=0)
    truth = 0.5 * np.sqrt(mean_square(FAMILY))  # the likelihood function of 1.5 l is l
    np.testing.assert_allclose(found.distance.value, truth, rtol=0.05)
    assert found.distance.low < truth < found.distance.high
    np.testing.assert_allclose(found.again.ilr(), l, atol=1.0)
    llr = Evidence.from_ilr(0.5 * l).log_likelihoods
    for i, j in ((0, 1), (0, 2), (1, 2)):
        along = np.sqrt(np.mean((llr[:, i] - llr[:, j]) ** 2))
        np.testing.assert_allclose(found.by_pair[i, j], along, rtol=0.1)
    np.testing.assert_allclose(np.sum(found.by_coordinate**2), found.distance.value**2)


@pytest.mark.parametrize("density", ["shared", "gaussian", "kernel"])
def test_calibrated_evidence_is_near_its_likelihood_function(density):
    y, l = sampled(n=400)
    found = metrics.idempotence(y, FAMILY.evidence(l), density=density)
    assert found.p_value > 0.05
    assert found.distance.low == 0 or density == "kernel"
    assert found.distance.value < (0.8 if density == "kernel" else 0.3)
    assert (found.labels == y).all()


def test_regions_tell_where_the_fault_is():
    y, l = sampled(n=700)
    evidence = FAMILY.evidence(l)
    stretched = np.where((evidence.log_likelihoods.argmax(axis=1) == 2)[:, None], 1.8 * l, l)
    options = {"density": "kernel", "n_resamples": 10, "n_draws": 0}
    found = metrics.idempotence(y, FAMILY.evidence(stretched), **options)
    assert found.by_region[2] > 1.5 * found.by_region[:2].max()


@pytest.mark.slow
@pytest.mark.parametrize("D", [3, 5])
def test_kernels_hold_zero_for_calibrated_evidence_of_several_classes(D):
    family = CalibratedGaussian.from_divergences(3.0 * (1 - np.eye(D)))
    held = 0
    for seed in range(30):
        y, l = sampled(family, n=100, rng=seed)
        held += metrics.idempotence(y, family.evidence(l), n_draws=0).distance.low == 0
    assert held >= 24


@pytest.mark.slow
def test_the_interval_covers_the_distance():
    held = 0
    truth = 0.3 * np.sqrt(mean_square(PAIR))
    for seed in range(60):
        y, l = sampled(PAIR, n=100, rng=seed)
        found = metrics.idempotence(y, PAIR.evidence(1.3 * l), density="shared", n_draws=0)
        held += found.distance.low <= truth <= found.distance.high
    assert held >= 51


# --- definitions ------------------------------------------------------------------------


@given(seeds, st.booleans())
@settings(max_examples=10)
def test_again_is_the_ratio_of_the_densities(seed, shared):
    rng = np.random.default_rng(seed)
    y, l = sampled(n=30, rng=rng)
    kind = "shared" if shared else "gaussian"
    again = metrics.idempotence(y, FAMILY.evidence(l), density=kind, **QUICK).again
    within = [np.cov(l[y == k].T, bias=True) for k in "abc"]
    log_f = np.column_stack(
        [
            multivariate_normal(l[y == k].mean(axis=0), np.mean(within, axis=0) if shared else S)
            .logpdf(l)
            for k, S in zip("abc", within, strict=True)
        ]
    )  # fmt: skip
    assert again.allclose(Evidence(log_f, ["a", "b", "c"]), atol=1e-7)


def test_kernels_leave_each_sample_out():
    y, l = sampled(PAIR, n=30)
    again = metrics.idempotence(y, PAIR.evidence(l), density="kernel", **QUICK).again
    u = np.arcsinh(l[:, 0] / np.median(np.abs(l)))  # tails drawn in; the ratio stays what it is
    h = (4 / 3 / 30) ** 0.2 * np.sqrt(np.mean([np.var(u[y == k]) for k in (0, 1)]))
    i = int(np.argmin(np.abs(u[y == 0])))
    own, others = np.delete(u[y == 0], i), u[y == 1]
    f = [gaussian_kde(x, h / x.std(ddof=1)).pdf(u[i])[0] for x in (own, others)]
    np.testing.assert_allclose(again.llr(0, 1)[i], np.log(f[0] / f[1]), atol=1e-9)


def test_kernels_do_not_judge_beyond_what_samples_can_tell():
    y, l = sampled(CalibratedGaussian.from_divergences([60.0]), n=100)
    found = metrics.idempotence(y, PAIR.evidence(l), density="kernel", n_draws=0)
    assert np.abs(found.again.llr(0, 1)).max() < np.log(101) + 1e-9
    assert found.distance.value < 0.3


def test_weights_are_repetitions():
    y, l = sampled(n=20)
    weight = np.random.default_rng(0).integers(1, 4, size=60)
    rows = np.repeat(np.arange(60), weight)
    for density in ("shared", "gaussian"):
        options = {"density": density, **QUICK}
        weighted = metrics.idempotence(y, FAMILY.evidence(l), sample_weight=weight, **options)
        repeated = metrics.idempotence(y[rows], FAMILY.evidence(l[rows]), **options)
        np.testing.assert_allclose(weighted.distance.value, repeated.distance.value)


def test_the_order_of_classes_and_the_basis_do_not_matter():
    y, l = sampled(n=40)
    evidence = FAMILY.evidence(1.3 * l)
    plain = metrics.idempotence(y, evidence, n_draws=19)
    turned = metrics.idempotence(y, evidence.restrict(["c", "a", "b"]), n_draws=19)
    tree = metrics.idempotence(y, evidence, n_draws=19, basis=Basis.from_tree((("c", "a"), "b")))
    np.testing.assert_allclose(tree.distance, plain.distance)
    np.testing.assert_allclose(tree.by_pair, plain.by_pair, atol=1e-9)
    np.testing.assert_allclose(turned.distance.value, plain.distance.value, rtol=0.1)
    assert tree.p_value == plain.p_value


def test_units_jobs_groups_and_words():
    y, l = sampled(n=40)
    evidence = FAMILY.evidence(1.3 * l)
    nats = metrics.idempotence(y, evidence, n_resamples=20, n_draws=19)
    with parallel_config(backend="threading"):  # processes take seconds to start
        bits = metrics.idempotence(y, evidence, n_resamples=20, n_draws=19, unit="bit", n_jobs=2)
    np.testing.assert_allclose(np.array(nats.distance) / np.log(2), bits.distance)
    assert nats.p_value == bits.p_value
    groups = np.arange(120) // 2
    grouped = metrics.idempotence(y, evidence, n_resamples=20, n_draws=0, groups=groups)
    assert grouped.distance.high != nats.distance.high
    assert np.isnan(grouped.p_value)
    assert "distance" in repr(nats)
    assert "kernel densities, 120 samples" in repr(nats)


@pytest.mark.slow
def test_many_samples_are_thinned_for_kernels():
    y, l = sampled(n=1500)
    found = metrics.idempotence(
        y, FAMILY.evidence(l), density="kernel", n_resamples=2, n_draws=0,
        sample_weight=np.ones(4500), groups=np.arange(4500) // 3,
    )  # fmt: skip
    assert len(found.evidence) == 4000
    counts = np.unique(found.labels, return_counts=True)[1]
    assert counts.max() - counts.min() <= 1


def test_regions_without_samples_are_nan():
    y, l = sampled(n=50)
    evidence = FAMILY.evidence(l + 30 * FAMILY.basis.contrast[0])
    found = metrics.idempotence(y, evidence, density="gaussian", n_draws=0)
    assert np.isnan(found.by_region[1:]).all()
    assert found.by_region[0] > 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"density": "round"}, "shared, gaussian, kernel; got 'round'"),
        ({"confidence": 95}, "exclusive; got 95"),
        ({"n_draws": -1}, "0 or more; got -1"),
        ({"n_resamples": 1}, "0 or at least 2; got 1"),
    ],
)
def test_bad_options_are_refused(options, message):
    y, l = sampled(n=10)
    with pytest.raises(InputError, match=message):
        metrics.idempotence(y, FAMILY.evidence(l), **options)


def test_too_few_samples_are_refused():
    y, l = sampled(n=10)
    lone = np.concatenate([np.flatnonzero(y != "c"), [29]])
    with pytest.raises(InputError, match="every class at least twice"):
        metrics.idempotence(y[lone], FAMILY.evidence(l[lone]))
    two = np.concatenate([np.flatnonzero(y != "c"), [28, 29]])
    with pytest.raises(InputError, match=r"class number 2 in all 2 directions .* density='shared'"):
        metrics.idempotence(y[two], FAMILY.evidence(l[two]), density="gaussian")
    assert metrics.idempotence(y[two], FAMILY.evidence(l[two]), density="shared").p_value > 0
    with pytest.raises(InputError, match="within the classes in all 2"):
        metrics.idempotence(y, FAMILY.evidence(np.ones_like(l)), density="shared")
    big = CalibratedGaussian.from_divergences(3 * (1 - np.eye(6)))
    l, y = big.sample([6] * 6, rng=0)
    with pytest.raises(InputError, match="100 resamples in a row"):
        metrics.idempotence(y, big.evidence(l), density="gaussian", n_draws=0)


def test_evidence_that_rules_a_class_out_is_refused():
    with pytest.raises(ZeroPartsError, match="positive for ilr"):
        metrics.idempotence([0, 1], Evidence.from_llr([-np.inf, 3.0]))


def test_few_samples_do_not_hide_strong_evidence():
    zeros = 0
    for seed in range(30):
        y, l = sampled(PAIR, n=20, rng=seed)
        found = metrics.idempotence(y, PAIR.evidence(2 * l), density="gaussian", n_draws=0)
        zeros += found.distance.value == 0
    assert zeros <= 6


# --- found by attack --------------------------------------------------------------------


def test_threads_leave_blas_and_the_filters_of_warnings_alone():
    y, l = sampled(n=30)
    evidence = FAMILY.evidence(l + 30 * FAMILY.basis.contrast[0])  # some regions are empty

    def state():
        return [pool["num_threads"] for pool in threadpool_info()], list(warnings.filters)

    before = state()
    with ThreadPoolExecutor(6) as pool:
        options = {"n_resamples": 4, "n_draws": 3, "density": "gaussian"}
        list(pool.map(lambda _: metrics.idempotence(y, evidence, **options), range(12)))
    assert state() == before


@pytest.mark.parametrize("scale", [1e-300, 1e300, 1e308])
def test_the_scale_of_the_weights_does_not_matter(scale):
    y, l = sampled(n=30)
    options = {"n_resamples": 5, "n_draws": 5, "density": "gaussian"}
    plain = metrics.idempotence(y, FAMILY.evidence(l), **options)
    scaled = metrics.idempotence(
        y, FAMILY.evidence(l), sample_weight=np.full(len(y), scale), **options
    )
    np.testing.assert_allclose(scaled.distance, plain.distance, rtol=1e-9)
    assert scaled.test.p_value == plain.test.p_value


@pytest.mark.parametrize("density", ["kernel", "shared", "gaussian"])
@pytest.mark.parametrize("divergences", [[4.0], [3.0, 4.0, 5.0]])
def test_one_sample_that_outweighs_its_class_is_refused(divergences, density):
    family = CalibratedGaussian.from_divergences(divergences)
    l, y = family.sample([60 // len(family.classes)] * len(family.classes), rng=0)
    weight = np.r_[1e300, np.full(59, 1e-300)]
    with pytest.raises(InputError, match="sample_weight must leave every class several samples"):
        metrics.idempotence(y, family.evidence(l), density=density, sample_weight=weight, n_draws=5)


def test_too_few_samples_that_count_for_a_covariance_are_refused():
    family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    l, y = family.sample([20, 20, 20], rng=0)
    weight = np.r_[1e300, 1e300, np.full(18, 1e-300), np.full(40, 1e300)]
    options = {"density": "gaussian", "n_resamples": 0, "n_draws": 0}
    with pytest.raises(InputError, match="sample_weight must leave every class enough samples"):
        metrics.idempotence(y, family.evidence(l), sample_weight=weight, **options)
