"""Affine calibration beside scikit-learn, psrcal, probmetrics and netcal, on one thread.

Each fits the log-posteriors of a distorted calibrated family and is judged by the cross-entropy
of fresh samples. All maximize the likelihood but "deciban default", which has a prior for few
samples. Run it with OPENBLAS_NUM_THREADS=1.
"""

import argparse
import contextlib
import io
import logging
import warnings

import numpy as np
import torch
from netcal.scaling import LogisticCalibration, TemperatureScaling
from probmetrics.calibrators import (
    MatrixScalingCalibrator,
    SMSCalibrator,
    SVSCalibrator,
    TemperatureScalingCalibrator,
    VectorScalingCalibrator,
)
from psrcal.calibration import AffineCalLogLoss
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from _timing import print_setting, race
from deciban import CalibratedGaussian
from deciban.calibration import AffineCalibrator


class Logits(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose logits are its features."""

    def __init__(self, n_classes=10):
        self.n_classes = n_classes
        self.classes_ = np.arange(n_classes)

    def fit(self, X, y):
        """Nothing to learn."""
        return self

    def decision_function(self, X):
        """The features themselves."""
        return X

    def predict(self, X):
        """The class of the largest logit."""
        return self.classes_[X.argmax(axis=1)]


def draw(D, n, seed, distort):
    """Log-posteriors of balanced classes, distorted; and the classes."""
    rng = np.random.default_rng(12)
    A = rng.normal(size=(D - 1, D - 1))
    family = CalibratedGaussian(A @ A.T / 3 + np.eye(D - 1))
    matrix = (
        1.7 * (np.eye(D - 1) + 0.1 * rng.normal(size=(D - 1, D - 1))) if distort else np.eye(D - 1)
    )
    l, y = family.sample([n // D] * D, rng=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    return family.evidence(l @ matrix.T).log_posterior()[order], y[order]


def deciban_fit(*options, **named):
    def fit(X, y):
        calibrator = AffineCalibrator(*options, **named).fit(X, y)
        return calibrator.predict_log_proba

    return fit


def psrcal_fit(bias):
    def fit(X, y):
        model = AffineCalLogLoss(torch.as_tensor(X), torch.as_tensor(y), bias=bias)
        model.train()

        def log_posteriors(Z):
            with torch.no_grad():
                return model.calibrate(torch.as_tensor(Z)).numpy()

        return log_posteriors

    return fit


def probmetrics_fit(make):
    def fit(X, y):
        p = np.exp(X)
        calibrator = make().fit(p, y)
        return lambda Z: np.log(np.maximum(calibrator.predict_proba(np.exp(Z)), 1e-300))

    return fit


def netcal_fit(make):
    def fit(X, y):
        calibrator = make()
        calibrator.fit(np.exp(X), y)
        return lambda Z: np.log(np.maximum(calibrator.transform(np.exp(Z)), 1e-300))

    return fit


def scikit_learn_temperature(X, y):
    model = CalibratedClassifierCV(FrozenEstimator(Logits(X.shape[1])), method="temperature")
    model.fit(X, y)
    return lambda Z: np.log(np.maximum(model.predict_proba(Z), 1e-300))


def scikit_learn_logistic(X, y):
    return LogisticRegression(C=np.inf, max_iter=1000).fit(X, y).predict_log_proba


CONTESTS = {
    "scalar (temperature)": {
        "deciban": deciban_fit("scalar", offset=False, ridge=0),
        "deciban default": deciban_fit("scalar", offset=False),
        "scikit-learn": scikit_learn_temperature,
        "psrcal": psrcal_fit(bias=False),
        "probmetrics": probmetrics_fit(TemperatureScalingCalibrator),
        "netcal": netcal_fit(TemperatureScaling),
    },
    "scalar and offset": {
        "deciban": deciban_fit("scalar", ridge=0),
        "deciban default": deciban_fit("scalar"),
        "psrcal": psrcal_fit(bias=True),
    },
    "diagonal and offset": {
        "deciban": deciban_fit("diagonal", ridge=0),
        "deciban default": deciban_fit("diagonal"),
        "probmetrics vector": probmetrics_fit(VectorScalingCalibrator),
        "probmetrics SVS": probmetrics_fit(SVSCalibrator),
        "netcal": netcal_fit(LogisticCalibration),
    },
    "full and offset": {
        "deciban": deciban_fit("full", ridge=0),
        "deciban default": deciban_fit("full"),
        "scikit-learn": scikit_learn_logistic,
        "probmetrics matrix": probmetrics_fit(MatrixScalingCalibrator),
        "probmetrics SMS": probmetrics_fit(SMSCalibrator),
    },
}


def quiet(run):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return run()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--samples", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    print_setting("deciban", "scikit-learn", "psrcal", "probmetrics", "netcal", "torch", "numpy")
    print(f"{args.classes} classes x {args.samples:,}, seed {args.seed}, medians of {args.rounds}")
    X, y = draw(args.classes, args.samples, args.seed, distort=True)
    X_new, y_new = draw(args.classes, args.samples, args.seed + 1, distort=True)
    undistorted, _ = draw(args.classes, args.samples, args.seed + 1, distort=False)
    rows = np.arange(len(y_new))
    print(f"cross-entropy of fresh samples (nat): {-X_new[rows, y_new].mean():.5f} as they are, "
          f"{-undistorted[rows, y_new].mean():.5f} undistorted")  # fmt: skip
    for title, contestants in CONTESTS.items():
        runs, said = {}, {}
        for name, fit in contestants.items():
            try:
                said[name] = -quiet(lambda fit=fit: fit(X, y)(X_new))[rows, y_new].mean()
            except Exception as error:  # a peer that fails here is out of the race, and it says so
                print(f"{title:22}{name:20} fails: {type(error).__name__}: {error}")
                continue
            runs[name] = lambda fit=fit: quiet(lambda: fit(X, y))
        taken = race(runs, args.rounds)
        for name, seconds in taken.items():
            ratio = seconds / taken["deciban"]
            print(f"{title:22}{name:20}{seconds:8.3f} s ({ratio:6.2f}x)  {said[name]:.5f} nat")


if __name__ == "__main__":
    main()
