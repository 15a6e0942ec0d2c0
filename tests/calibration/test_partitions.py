"""Affine calibrators of Dask collections: the coefficients of the same samples in memory."""

import numpy as np
import pytest

from deciban import Basis, CalibratedGaussian
from deciban._estimation.affine import fit_affine, fit_affine_in_parts, measure_scores
from deciban.calibration import AffineCalibrator, IsotonicCalibrator

da = pytest.importorskip("dask.array")
CHUNKS = (1000, 0, 1, 1999, 3000)


def in_parts(*arrays):
    return [da.from_array(one).rechunk((CHUNKS, *one.shape[1:])) for one in arrays]


@pytest.mark.parametrize(
    "options", [{}, {"ridge": 0.0}, {"ridge": 0.01}, {"offset": False}, {"prior": [0.9, 0.1]}]
)
def test_llrs_in_partitions_have_the_coefficients_in_memory(options):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=6000)
    y[:1000] = 0  # a partition without targets
    X = rng.normal(3 * y - 1, 2)[:, None]
    expected = AffineCalibrator(**options).fit(X, y)
    found = AffineCalibrator(**options).fit(*in_parts(X, y))
    np.testing.assert_allclose(found.matrix_, expected.matrix_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.offset_, expected.offset_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.transform(X), expected.transform(X), rtol=1e-8, atol=1e-8)
    widths = [np.ptp(one.interval(X[:5]), axis=0) for one in (found, expected)]
    np.testing.assert_allclose(*widths, rtol=0.05)


@pytest.mark.parametrize("scale", ["scalar", "diagonal", "full"])
def test_log_likelihoods_in_partitions_have_the_coefficients_in_memory(scale):
    family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    l, y = family.sample([2000, 2500, 1500], rng=0)
    order = np.random.default_rng(1).permutation(len(y))
    X, y = 2 * family.evidence(l).log_likelihoods[order] + [0.0, 1.0, 0.0], y[order]
    expected = AffineCalibrator(scale).fit(X, y)
    found = AffineCalibrator(scale).fit(*in_parts(X, y))
    np.testing.assert_allclose(found.matrix_, expected.matrix_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.offset_, expected.offset_, rtol=1e-9, atol=1e-9)
    assert found.classes_.tolist() == expected.classes_.tolist()


def test_the_largest_scores_in_parts_have_the_map_that_they_have_in_memory():
    rng, V, prior = np.random.default_rng(0), Basis.gram_schmidt(2).contrast, np.full(2, 0.5)
    y = rng.integers(2, size=6000)
    l = 1e307 * rng.normal(0.5 - y, 1)[:, None]
    weight = prior[y] / np.bincount(y)[y]
    in_memory = fit_affine(l, y, weight, np.log(prior), V, "scalar", class_sizes=np.bincount(y))

    def map_rows(function):
        return [function(l[a:b], y[a:b]) for a, b in ((0, 2500), (2500, 2500), (2500, 6000))]

    in_parts = fit_affine_in_parts(map_rows, measure_scores(map_rows, 2), prior, V, "scalar")
    assert in_memory.matrix[0, 0] > 0
    np.testing.assert_allclose(1e307 * in_parts.matrix, 1e307 * in_memory.matrix, rtol=1e-9)
    np.testing.assert_allclose(in_parts.offset, in_memory.offset, rtol=1e-7)


def test_what_partitions_cannot_have_is_refused():
    X, y = in_parts(np.zeros((6000, 1)), np.arange(6000) % 2)
    with pytest.raises(ValueError, match="X must fit into memory for IsotonicCalibrator"):
        IsotonicCalibrator().fit(X, y)
    with pytest.raises(ValueError, match="sample_weight must be left out"):
        AffineCalibrator().fit(X, y, sample_weight=y)
    with pytest.raises(ValueError, match="one column for each of 2 classes or one LLR"):
        AffineCalibrator().fit(da.zeros((6000, 3), chunks=(CHUNKS, 3)), y)
