"""Every array library in, the same kind out, on its device and with its floating type."""

import importlib
import importlib.util

import array_api_compat
import numpy as np
import pytest

from deciban import simplex
from deciban._validation.arrays import to_numpy
from deciban.exceptions import InputError
from deciban.simplex import Basis, logparts

X = np.random.default_rng(0).gamma(1.0, size=(6, 4))
Y = np.random.default_rng(1).gamma(1.0, size=(6, 4))
X_WITH_ZERO = np.where(X < 0.2, 0, X)


def numpy_array(x):
    return np.asarray(x)


def single_precision(x):
    return np.asarray(x, dtype=np.float32)


def strict_array(x):
    return importlib.import_module("array_api_strict").asarray(x)


def jax_array(x):
    return importlib.import_module("jax.numpy").asarray(x)


def dask_array(x):
    return importlib.import_module("dask.array").from_array(x, chunks=(2, 4))


def torch_tensor(x):
    return importlib.import_module("torch").asarray(x)


def torch_tensor_on_gpu(x):
    return importlib.import_module("torch").asarray(x, device="cuda")


def cupy_array(x):
    return importlib.import_module("cupy").asarray(x)


def installed(library):
    return importlib.util.find_spec(library) is not None


LIBRARIES = [numpy_array, single_precision]
LIBRARIES += [strict_array] * installed("array_api_strict") + [jax_array] * installed("jax")
LIBRARIES += [dask_array] * installed("dask") + [cupy_array] * installed("cupy")
if installed("torch"):  # too large to install everywhere: `make test-torch`
    import torch

    LIBRARIES += [torch_tensor] + [torch_tensor_on_gpu] * torch.cuda.is_available()
FUNCTIONS = {
    "closure": lambda x, y: simplex.closure(x),
    "perturb": simplex.perturb,
    "power": lambda x, y: simplex.power(0.5, x),
    "inner": simplex.inner,
    "norm": lambda x, y: simplex.norm(x),
    "distance": simplex.distance,
    "clr": lambda x, y: simplex.clr(x),
    "clr_inv": lambda x, y: simplex.clr_inv(x),
    "alr": lambda x, y: simplex.alr(x, 1),
    "alr_inv": lambda x, y: simplex.alr_inv(x, 1),
    "ilr": lambda x, y: simplex.ilr(x, Basis.comparing(2, 0, classes=4)),
    "ilr_inv": lambda x, y: simplex.ilr_inv(x),
    "mean": lambda x, y: simplex.mean(x),
    "variance": lambda x, y: simplex.variance(x),
    "variation_matrix": lambda x, y: simplex.variation_matrix(x),
    "subcomposition": lambda x, y: simplex.subcomposition(x, [2, 0]),
    "amalgamate": lambda x, y: simplex.amalgamate(x, [[0, 1], [2, 3]]),
    "replace_zeros": lambda x, y: simplex.replace_zeros(x),
    "replace_zeros additive": lambda x, y: simplex.replace_zeros(x, "additive", delta=0.01),
    "replace_zeros limit": lambda x, y: simplex.replace_zeros(x, detection_limit=[0.01] * 4),
    "log closure": lambda x, y: logparts.closure(x),
    "log perturb": logparts.perturb,
    "log power": lambda x, y: logparts.power(2.0, x),
    "log inner": logparts.inner,
    "log norm": lambda x, y: logparts.norm(x),
    "log distance": logparts.distance,
    "log clr": lambda x, y: logparts.clr(x),
    "log clr_inv": lambda x, y: logparts.clr_inv(x),
    "log alr": lambda x, y: logparts.alr(x),
    "log alr_inv": lambda x, y: logparts.alr_inv(x),
    "log ilr": lambda x, y: logparts.ilr(x),
    "log ilr_inv": lambda x, y: logparts.ilr_inv(x),
    "log mean": lambda x, y: logparts.mean(x),
    "log variance": lambda x, y: logparts.variance(x),
    "log variation_matrix": lambda x, y: logparts.variation_matrix(x),
    "log subcomposition": lambda x, y: logparts.subcomposition(x, [2, 0]),
    "log amalgamate": lambda x, y: logparts.amalgamate(x, [[0, 1], [2, 3]]),
    "log replace_zeros": lambda x, y: logparts.replace_zeros(x, log_delta=-9.0),
    "log replace_zeros additive": lambda x, y: logparts.replace_zeros(x, "additive"),
}


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_gives_back_the_kind_of_array_it_was_given(library, name):
    x = X_WITH_ZERO if name.startswith("replace") else X
    given = library(x), library(Y)
    result = FUNCTIONS[name](*given)
    assert isinstance(result, np.generic if np.isscalar(result) else type(given[0]))
    assert result.dtype == given[0].dtype
    assert array_api_compat.device(result) == array_api_compat.device(given[0])
    expected = np.asarray(FUNCTIONS[name](x, Y))
    tolerance = 2e-5 if "float32" in str(result.dtype) else 1e-12
    np.testing.assert_allclose(to_numpy(result, "result"), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda f: f.__name__)
def test_zeros_are_found_in_every_library_that_can_be_looked_into(library):
    x = library(np.array([[1.0, 2.0], [0.0, 1.0]]))
    if library is dask_array:
        assert np.isinf(simplex.clr(x).compute()).any()
    else:
        with pytest.raises(InputError, match="row 1 has 1 zero"):
            simplex.clr(x)


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda f: f.__name__)
def test_integers_become_floats(library):
    x = library(np.array([[1.0, 2.0, 4.0]]))
    if library is single_precision:
        integers = np.array([[1, 2, 4]])
    else:
        integers = library(np.array([[1, 2, 4]]))
    np.testing.assert_allclose(
        to_numpy(simplex.ilr(integers), "z"), to_numpy(simplex.ilr(x), "z"), rtol=1e-6
    )


def test_second_derivatives_are_right_at_ties():
    jax = pytest.importorskip("jax")
    tied = jax.numpy.zeros(3)
    ours = jax.hessian(lambda z: logparts.closure(z)[0])(tied)
    theirs = jax.hessian(lambda z: jax.nn.log_softmax(z)[0])(tied)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_what_cannot_be_looked_into_is_not_made_to_look_right():
    jax = pytest.importorskip("jax")
    with_zero = jax.numpy.asarray([[0.0, 1, 2], [1, 2, 3], [2, 5, 1]])
    assert np.isnan(jax.jit(simplex.variation_matrix)(with_zero)).any()


def test_dask_arrays_of_unknown_length_work():
    pytest.importorskip("dask")
    x = dask_array(X)
    some = x[x[:, 0] > 0.5]
    known = X[X[:, 0] > 0.5]
    for name, function in FUNCTIONS.items():
        if "alr_inv" in name or name == "log amalgamate":
            continue  # dask joins no arrays whose lengths it does not know
        expected = FUNCTIONS[name](known, known)
        np.testing.assert_allclose(function(some, some).compute(), expected, rtol=1e-9, atol=1e-9)


def test_dask_arrays_may_be_chunked_along_the_parts():
    da = pytest.importorskip("dask.array")
    x = da.from_array(X, chunks=(3, 2))
    for name in ("closure", "clr", "ilr", "norm", "distance", "log closure", "log ilr"):
        np.testing.assert_allclose(
            FUNCTIONS[name](x, x).compute(), FUNCTIONS[name](X, X), atol=1e-9
        )


def test_the_geometry_can_be_traced_and_differentiated_by_jax():
    jax = pytest.importorskip("jax")
    x = jax.numpy.asarray(X[0])
    np.testing.assert_allclose(jax.jit(simplex.ilr)(x), simplex.ilr(x), rtol=1e-6)
    # d/dx_i of the squared norm is 2 clr_i / x_i.
    gradient = jax.grad(lambda x: simplex.norm(x) ** 2)(x)
    np.testing.assert_allclose(gradient, 2 * simplex.clr(X[0]) / X[0], rtol=1e-4)


@pytest.mark.skipif(not installed("torch"), reason="make test-torch has it")
def test_the_geometry_can_be_differentiated_by_torch():
    x = torch.tensor(X[0], requires_grad=True)
    (simplex.norm(x) ** 2).backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * simplex.clr(X[0]) / X[0], rtol=1e-10)
    z = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    simplex.ilr_inv(z)[0].backward()
    np.testing.assert_allclose(z.grad.numpy(), Basis.gram_schmidt(4).contrast[0] / 4, rtol=1e-10)


def test_dask_arrays_are_not_computed_on_the_way():
    dask = pytest.importorskip("dask")

    def refuse(*_args, **_kwargs):
        raise AssertionError("computed")

    with dask.config.set(scheduler=refuse):
        z = simplex.ilr(dask_array(X))
    np.testing.assert_allclose(z.compute(), simplex.ilr(X), rtol=1e-12)


# --- lists, frames and what is no array at all ----------------------------------------


def test_lists_follow_the_array_beside_them():
    result = simplex.perturb(single_precision(X), [1, 2, 3, 4])
    assert result.dtype == np.float32
    pytest.importorskip("jax")
    jax_result = simplex.perturb([1, 2, 3, 4], jax_array(X))
    assert array_api_compat.is_jax_array(jax_result)


def test_frames_are_taken_as_their_numbers():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = dict(zip("abcd", X.T, strict=True))
    expected = simplex.ilr(X)
    frame = pandas.DataFrame(columns)
    for given in (frame, polars.DataFrame(columns), X.tolist(), tuple(map(tuple, X))):
        result = simplex.ilr(given)
        assert isinstance(result, np.ndarray)
        np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(simplex.ilr(frame.convert_dtypes()), expected)
    np.testing.assert_allclose(simplex.closure(frame["a"]).sum(), 1)
    np.testing.assert_allclose(simplex.closure(polars.Series([1, 3])), [0.25, 0.75])
    shuffled = frame.sample(frac=1, random_state=0)
    np.testing.assert_array_equal(simplex.ilr(shuffled), simplex.ilr(shuffled.to_numpy()))


def test_arrays_of_two_libraries_are_refused():
    with pytest.raises(InputError, match=r"x and y must be arrays of one library; x is a numpy"):
        simplex.perturb(X, jax_array(Y))


def frames_with_text():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"a": [1.0], "name": ["cat"]})


def lazy_frame():
    return pytest.importorskip("polars").LazyFrame({"a": [1.0], "b": [2.0]})


def sparse():
    from scipy.sparse import csr_array

    return csr_array(np.eye(2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: [[1, 2], [3]], "x must be rectangular"),
        (lambda: [["a", "b"]], "x must be real numbers; got text"),
        (lambda: np.array([["a", "b"]]), "x must be real numbers"),
        (lambda: [[1, None]], "x must not contain NaN; row 0 has 1 NaN"),
        (lambda: [[1, {}]], "x must be real numbers; got dtype object"),
        (lambda: [[1j, 1]], "x must be real numbers; got dtype complex128"),
        (lambda: jax_array(np.array([1j, 1])), "x must be real; got complex64"),
        (lambda: np.array(["2020-01-01"], dtype="datetime64"), "x must be real numbers"),
        (lambda: np.ma.masked_array([1.0, 2.0], mask=[0, 1]), "not contain masked values; got 1"),
        (lambda: [np.ma.masked_array([1.0, 2.0], mask=[0, 1])], "not contain masked values; got 1"),
        (frames_with_text, r"numeric columns only; got 'name' \((str|object)\)"),
        (lazy_frame, r"must hold data; got a polars.LazyFrame. Call x.collect\(\)"),
        (sparse, r"must be dense.*toarray\(\)"),
        (lambda: [[1, np.nan], [1, 1]], "x must not contain NaN; row 0 has 1 NaN. Drop or impute"),
        (lambda: [[1, 1], [-1, -2]], "must not be negative; row 1 has 2 negative parts.*logparts"),
        (lambda: [[1, np.inf]], "x must be finite; row 0 has 1 infinite part"),
        (lambda: [[0, 0], [1, 1]], "positive part in every row; row 0 is all zeros"),
        (lambda: None, "x must be an array; got None"),
        (lambda: [[10**400, 1]], "x must be real numbers; got dtype object"),
        (lambda: 3.0, "axis of parts; got a single number"),
        (list, r"at least 1 part on its last axis; got shape \(0,\)"),
        (lambda: np.empty((3, 0)), "at least 1 part"),
    ],
)
def test_bad_arrays_are_refused_in_one_sentence(make, message):
    with pytest.raises(InputError, match=message):
        simplex.closure(make())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: logparts.closure([0, np.nan]), "log_x must not contain NaN; it has 1 NaN"),
        (lambda: logparts.closure([0, np.inf]), r"below \+inf; it has 1 \+inf"),
        (lambda: logparts.closure([[0, 1], [-np.inf] * 2]), "row 1 is -inf throughout"),
        (lambda: logparts.ilr([0.0]), "at least 2 parts"),
        (lambda: simplex.ilr([0.0]), "at least 2 parts"),
        (lambda: simplex.ilr_inv([np.inf]), "z must be finite"),
        (lambda: simplex.ilr_inv([np.nan]), "z must not contain NaN"),
        (lambda: simplex.perturb([1, 2], [1, 2, 3]), r"same number of parts; got shapes \(2,\)"),
        (lambda: simplex.distance([[1, 2]] * 2, [[1, 2]] * 3), "pair row by row"),
        (lambda: simplex.power(np.inf, [1, 2]), "a must be finite"),
        (lambda: simplex.power([1, 2, 3], [[1, 2]]), r"a must be a number or have shape \(1,\)"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()
