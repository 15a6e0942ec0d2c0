"""Estimators on Dask arrays and frames: what they give is that of the same rows in memory."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from pandas.testing import assert_frame_equal, assert_series_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from deciban import Evidence, LinearDiscriminant, QuadraticDiscriminant
from deciban.calibration import (
    AffineCalibrator,
    BootstrapCalibrator,
    CalibratedEvidenceClassifier,
    FusionCalibrator,
    GaussianCalibrator,
)
from deciban.discriminant import CompositionalDiscriminantAnalysis
from deciban.exceptions import InputError

ESTIMATORS = {
    "lda": LinearDiscriminant(),
    "qda": QuadraticDiscriminant(),
    "cda": CompositionalDiscriminantAnalysis(n_couplings=2, width=4, epochs=1, random_state=0),
    "classifier": CalibratedEvidenceClassifier(LogisticRegression(), cv=2),
    "affine": AffineCalibrator(),
    "gaussian": GaussianCalibrator(),
    "bootstrap": BootstrapCalibrator(AffineCalibrator(), n_resamples=20, random_state=0),
    "fusion": FusionCalibrator(),
}
NAMES = ["x", "y", "z"]


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(2)
    y = np.arange(240) % 3
    X = rng.normal(size=(240, 3)) + 1.5 * np.eye(3)[y]
    return X, np.array(["a", "b", "c"])[y]


@pytest.fixture(scope="module", params=ESTIMATORS)
def fitted(request, samples):
    return ESTIMATORS[request.param].fit(*samples)


def in_blocks(X, *rows):
    return da.from_array(X, chunks=(rows, (2, 1)))


@pytest.mark.parametrize("method", ["evidence", "predict_log_proba", "predict_proba", "predict"])
def test_blocks_of_rows_give_what_the_rows_give(fitted, samples, method):
    X, _ = samples
    lazy = getattr(fitted, method)(in_blocks(X, 100, 0, 1, 139))
    assert isinstance(lazy, da.Array)
    expected = getattr(fitted, method)(X)
    if isinstance(expected, Evidence):
        expected = expected.log_likelihoods
    assert lazy.shape == expected.shape
    assert lazy.dtype == expected.dtype
    assert lazy.chunks[0] == (100, 0, 1, 139)
    with dask.config.set(scheduler="synchronous"):
        found = lazy.compute()
    assert np.array_equal(found, expected) if method == "predict" else np.allclose(found, expected)


def test_frames_give_frames_with_the_classes_as_columns(samples):
    X, y = samples
    frame = pd.DataFrame(X, columns=NAMES, index=np.arange(1000, 1240))
    model = LinearDiscriminant().fit(frame, y)
    lazy = dd.concat([dd.from_pandas(frame.iloc[:0], npartitions=1), dd.from_pandas(frame, 3)])
    assert lazy.npartitions == 4
    evidence = model.evidence(lazy)
    assert list(evidence.columns) == ["a", "b", "c"]
    expected = pd.DataFrame(model.evidence(frame).log_likelihoods, frame.index, list("abc"))
    decisions = pd.Series(model.predict(frame), frame.index)
    with dask.config.set(scheduler="synchronous"):
        assert_frame_equal(evidence.compute(), expected)
        found = model.predict(lazy).compute()
    assert_series_equal(found, decisions, check_dtype=False)


def test_calibrators_transform_blocks(samples):
    X, y = samples
    calibrator = AffineCalibrator().fit(X, y)
    with dask.config.set(scheduler="synchronous"):
        found = calibrator.transform(in_blocks(X, 200, 40)).compute()
    assert np.allclose(found, calibrator.transform(X))


def test_rows_of_unknown_number_are_mapped(samples):
    X, y = samples
    model = LinearDiscriminant().fit(X, y)
    some = in_blocks(X, 200, 40)
    some = some[some[:, 0] > 0]
    with dask.config.set(scheduler="synchronous"):
        assert np.allclose(model.evidence(some).compute(), model.evidence(X[X[:, 0] > 0]))


def test_a_cluster_maps_blocks_with_the_model_sent_once(cluster, samples):
    X, y = samples
    model = LinearDiscriminant().fit(X, y)

    class Counted(LinearDiscriminant):
        """Says, in its evidence, when it was unpacked."""

        unpacked = 0

        def __setstate__(self, state):
            import os

            self.__dict__.update(state)
            self.unpacked = int.from_bytes(os.urandom(6))

        def _log_densities(self, X):
            import os

            row = np.array([os.getpid(), self.unpacked, 0.0])
            return np.broadcast_to(row, (len(X), 3)).copy()

    counted = Counted().fit(X, y)
    with Client(cluster):
        found = model.evidence(in_blocks(X, *[24] * 10)).compute()
        told = counted.evidence(in_blocks(X, *[24] * 10)).compute()
    assert np.array_equal(found, model.evidence(X).log_likelihoods)
    differences = {tuple(row) for row in told[:, :2] - told[:, 2:]}
    assert len(differences) == len({process for process, _ in differences}) <= 2


def test_what_cannot_be_mapped_is_refused_at_once(samples):
    X, y = samples
    model = LinearDiscriminant()
    with pytest.raises(NotFittedError):
        model.evidence(in_blocks(X, 240))
    with pytest.raises(InputError, match=r"X must have two dimensions, .*; got 1\."):
        model.fit(X, y).evidence(da.ones(5))
    with pytest.raises(InputError, match="X must have two dimensions"):
        model.predict(dd.from_pandas(pd.Series(X[:, 0]), 2))
