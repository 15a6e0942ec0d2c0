"""Statistics, zeros, subcompositions and amalgamation."""

import numpy as np
import pytest
from hypothesis import given

from deciban import simplex
from deciban.exceptions import InputError
from deciban.simplex import logparts
from strategies import log_compositions


@given(log_compositions(1, rows=6))
def test_the_mean_minimises_the_squared_distance(single):
    (x,) = single
    centre = logparts.mean(x)
    np.testing.assert_allclose(logparts.ilr(centre), logparts.ilr(x).mean(axis=0), atol=1e-10)
    best = (logparts.distance(x, centre) ** 2).sum()
    for k in range(len(x)):
        assert (logparts.distance(x, x[k]) ** 2).sum() >= best - 1e-9
        nudged = logparts.perturb(centre, 1e-3 * x[k])
        assert (logparts.distance(x, nudged) ** 2).sum() >= best * (1 - 1e-12)


@given(log_compositions(1, rows=6))
def test_the_total_variance_is_the_trace_of_the_ilr_covariance(single):
    (x,) = single
    z = logparts.ilr(x)
    np.testing.assert_allclose(logparts.variance(x), z.var(axis=0, ddof=1).sum(), rtol=1e-9)
    T = logparts.variation_matrix(x)
    np.testing.assert_allclose(T.sum() / (2 * len(T)), logparts.variance(x), rtol=1e-9)


@given(log_compositions(1, rows=6))
def test_the_variation_matrix_holds_the_variances_of_log_ratios(single):
    (x,) = single
    ratios = x[:, :, None] - x[:, None, :]
    expected = ratios.var(axis=0, ddof=0)
    T = logparts.variation_matrix(x, ddof=0)
    np.testing.assert_allclose(T, expected, rtol=1e-7, atol=1e-12 * expected.max())
    np.testing.assert_array_equal(np.diag(T), 0)


def test_statistics_keep_the_leading_axes(rng):
    x = rng.gamma(1, size=(2, 5, 3))
    assert simplex.mean(x).shape == (2, 3)
    assert simplex.variance(x).shape == (2,)
    assert simplex.variation_matrix(x).shape == (2, 3, 3)


def test_one_sample_has_a_mean_and_a_zero_spread():
    x = [[1.0, 2.0]]
    np.testing.assert_allclose(simplex.mean(x), [1 / 3, 2 / 3], rtol=1e-14)
    assert simplex.variance(x, ddof=0) == 0
    with pytest.raises(InputError, match=r"more than 1 compositions; got 1.*ddof=0"):
        simplex.variance(x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simplex.mean([1.0, 2.0]), r"sample of shape \(n, D\)"),
        (lambda: simplex.mean(np.empty((0, 2))), "more than 0 compositions"),
        (lambda: simplex.variance([[1, 2], [2, 1]], ddof=-1), "ddof must be a whole number"),
    ],
)
def test_bad_samples_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


# --- zeros ----------------------------------------------------------------------------


def test_multiplicative_replacement_keeps_the_ratios_of_the_other_parts():
    x = np.array([[2.0, 0.0, 6.0, 0.0]])
    r = simplex.replace_zeros(x, delta=[0.1, 0.01, 0.1, 0.03])
    np.testing.assert_allclose(r, [[0.24, 0.01, 0.72, 0.03]], rtol=1e-14)


def test_simple_replacement_closes_again():
    r = simplex.replace_zeros([[0.2, 0.0, 0.8]], "simple", delta=0.25)
    np.testing.assert_allclose(r, [[0.16, 0.2, 0.64]], rtol=1e-14)


def test_additive_replacement_is_the_published_formula():
    # Martín-Fernández et al. (2003), with D = 4, Z = 2: zeros become delta (Z+1)(D-Z)/D^2,
    # the others lose delta (Z+1) Z / D^2.
    delta = 0.08
    r = simplex.replace_zeros([[0.5, 0.0, 0.5, 0.0]], "additive", delta=delta)
    zero, other = delta * 3 * 2 / 16, 0.5 - delta * 3 * 2 / 16
    np.testing.assert_allclose(r, [[other, zero, other, zero]], rtol=1e-14)


def test_additive_replacement_with_one_limit_for_each_part_still_sums_to_one():
    r = simplex.replace_zeros([[0.6, 0.0, 0.4, 0.0]], "additive", delta=[0.1, 0.01, 0.1, 0.05])
    np.testing.assert_allclose(r.sum(), 1, rtol=1e-14)
    np.testing.assert_allclose(r[0, 3] / r[0, 1], 5, rtol=1e-13)


def test_detection_limits_are_in_the_units_of_the_data():
    x = np.array([[20.0, 0.0, 80.0], [200.0, 0.0, 800.0]])
    r = simplex.replace_zeros(x, detection_limit=[1.0, 2.0, 1.0])
    np.testing.assert_allclose(r[:, 1], [0.65 * 2 / 100, 0.65 * 2 / 1000], rtol=1e-14)
    np.testing.assert_allclose(r.sum(axis=1), 1, rtol=1e-14)


@pytest.mark.parametrize("method", ["multiplicative", "additive", "simple"])
@pytest.mark.parametrize("delta", [None, 0.01, [0.01, 0.02, 0.03, 0.04]])
def test_zeros_are_replaced_alike_in_parts_and_log_parts(method, delta):
    x = np.array([[0.5, 0.0, 0.5, 0.0], [0.1, 0.2, 0.3, 0.4], [0.0, 0.9, 0.05, 0.05]])
    with np.errstate(divide="ignore"):
        log_x = np.log(x)
    log_delta = None if delta is None else np.log(delta)
    expected = simplex.replace_zeros(x, method, delta=delta)
    actual = logparts.replace_zeros(log_x - 7, method, log_delta=log_delta)
    np.testing.assert_allclose(np.exp(actual), expected, rtol=1e-13)
    assert (expected > 0).all()


def test_compositions_without_zeros_stay_as_they_are():
    x = np.array([[0.1, 0.2, 0.7]])
    for method in ("multiplicative", "additive", "simple"):
        np.testing.assert_allclose(simplex.replace_zeros(x, method), x, rtol=1e-15)


def test_a_zero_likelihood_may_be_replaced_by_e_minus_800():
    r = logparts.replace_zeros([[0.0, -np.inf]], log_delta=-800.0)
    np.testing.assert_allclose(r, [[0.0, -800.0]], atol=1e-15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simplex.replace_zeros([[0.0, 1.0]], "magic"), "method must be one of"),
        (lambda: logparts.replace_zeros([[0.0, 1.0]], "magic"), "method must be one of"),
        (lambda: simplex.replace_zeros([[0.0, 1.0]], delta=0), "strictly positive"),
        (lambda: simplex.replace_zeros([[0.0, 1.0]], delta=[0.1] * 3), "one for each of 2 parts"),
        (lambda: simplex.replace_zeros([[0.0, 1.0]], delta=1.5), "smaller delta"),
        (lambda: logparts.replace_zeros([[-np.inf, 0.0]], log_delta=0.5), "smaller delta"),
        (lambda: simplex.replace_zeros([[0.0, 0.01, 0.99]], "additive", delta=0.9), "smaller"),
        (lambda: simplex.replace_zeros([[0.0, 1.0]], delta=0.1, detection_limit=1), "both"),
    ],
)
def test_bad_replacements_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


# --- fewer parts ----------------------------------------------------------------------


def test_a_subcomposition_keeps_the_ratios_of_its_parts(rng):
    x = rng.gamma(1, size=(4, 5))
    s = simplex.subcomposition(x, [3, -4])
    np.testing.assert_allclose(s[:, 0] / s[:, 1], x[:, 3] / x[:, 1], rtol=1e-14)
    np.testing.assert_allclose(s.sum(axis=1), 1, rtol=1e-15)


def test_parts_of_a_frame_go_by_their_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0], "b": [2.0], "c": [5.0]})
    np.testing.assert_allclose(simplex.subcomposition(frame, ["c", "b"]), [[5 / 7, 2 / 7]])
    np.testing.assert_allclose(simplex.amalgamate(frame, [["a", "c"], ["b"]]), [[6 / 8, 2 / 8]])
    np.testing.assert_allclose(simplex.alr(frame, "b"), np.log([[1 / 2, 5 / 2]]))
    logs = np.log(frame)
    np.testing.assert_allclose(
        np.exp(logparts.amalgamate(logs, [["a", "c"], ["b"]])), [[6 / 8, 2 / 8]]
    )
    np.testing.assert_allclose(logparts.alr(logs, "b"), np.log([[1 / 2, 5 / 2]]))
    with pytest.raises(InputError, match="or one of 'a', 'b', 'c'; got 'd'"):
        simplex.subcomposition(frame, ["a", "d"])


def test_the_distance_of_subcompositions_is_never_larger(rng):
    x, y = rng.gamma(1, size=(50, 5)), rng.gamma(1, size=(50, 5))
    parts = [0, 2, 3]
    shorter = simplex.distance(simplex.subcomposition(x, parts), simplex.subcomposition(y, parts))
    assert (shorter <= simplex.distance(x, y) + 1e-12).all()


def test_amalgamation_adds_the_parts_of_each_group():
    x = [[0.1, 0.2, 0.3, 0.4]]
    np.testing.assert_allclose(simplex.amalgamate(x, [[0, 3], [1]]), [[5 / 7, 2 / 7]], rtol=1e-14)
    zeros = logparts.amalgamate([[-np.inf, -np.inf, 0.0]], [[0, 1], [2]])
    np.testing.assert_array_equal(zeros, [[-np.inf, 0.0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simplex.subcomposition([1, 2, 3], []), "at least one"),
        (lambda: simplex.subcomposition([1, 2, 3], [0, 3]), "from 0 to 2"),
        (lambda: simplex.subcomposition([1, 2, 3], [0, -3]), "Name each part once"),
        (lambda: simplex.subcomposition([0, 0, 3], [0, 1]), "among those kept"),
        (
            lambda: logparts.subcomposition([-np.inf, -np.inf, 3], [0, 1]),
            "log_x must have a positive part among",
        ),
        (lambda: simplex.amalgamate([1, 2, 3], [[0], []]), "at least one"),
        (lambda: simplex.amalgamate([1, 2, 3], [[0], [0, 1]]), "share no part"),
        (lambda: simplex.amalgamate([1, 2, 3], [0, 1]), "list of distinct parts"),
        (lambda: simplex.amalgamate([1, 2, 3], 0), "list of groups"),
        (lambda: simplex.amalgamate([1, 2, 3], [[0], [-3]]), "share no part"),
        (lambda: simplex.subcomposition([1, 2, 3], [True, False]), "got True"),
        (lambda: simplex.subcomposition([1, 2, 3], 0), "list of distinct parts"),
        (lambda: simplex.subcomposition([1, 2, 3], slice(0, 2)), "list of distinct parts"),
        (lambda: simplex.subcomposition([1, 2, 3], ["a"]), "pass a frame to use its column names"),
        (lambda: simplex.alr([1, 2, 3], reference=3), "from 0 to 2; got 3"),
        (lambda: simplex.alr([1, 2, 3], reference="a"), "position from 0 to 2; got 'a'"),
    ],
)
def test_bad_selections_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
