"""Other classifiers on the same features, for comparison with a CDA.

Posteriors become evidence by dividing by the class mix of the training images. A posterior that is
zero in floating point counts as the smallest positive number instead (2e-308): a certain but wrong
answer then costs up to 708 nats, which shows, and not infinity, which would make comparison
impossible. The number of such zeros is stored beside the evidence. Scores that are not posteriors
are calibrated on training images that the classifier was not fitted to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from deciban.calibration import AffineCalibrator
from deciban.evidence import Evidence
from reproduction.experiment import Arrays
from reproduction.mnist import Split, center_rows

Score = Callable[[np.ndarray], np.ndarray]

_CALIBRATION = 1 / 6  # share of the training images that scores are calibrated on
_VALIDATION = 1 / 12  # share of the training images that the epoch of a network is chosen on
_RIDGE = 1e-3  # of the calibrator: on few, separable images it would be overconfident


@dataclass(frozen=True)
class Baseline:
    """A classifier to compare with.

    Attributes
    ----------
    title : str
        Name in tables.
    fit : callable
        Takes the features and options; returns the evidence of the test images as arrays.
    options, quick : mapping
        Options of the fit, and those that a quick run replaces.
    seconds : float
    """

    title: str
    fit: Callable[..., Arrays]
    options: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 10.0

    def options_for(self, quick: bool) -> dict[str, Any]:
        """The options of a quick or a full run."""
        return {**self.options, **(self.quick if quick else {})}


def logistic(data: Split) -> Arrays:
    """Logistic regression on standardized features."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    return from_posteriors(model.fit(data.X, data.y).predict_proba(data.X_test), data.y)


def boosting(data: Split, *, max_iter: int) -> Arrays:
    """Gradient-boosted trees, with early stopping on a tenth of the images."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=max_iter, early_stopping=True, random_state=0)
    return from_posteriors(model.fit(data.X, data.y).predict_proba(data.X_test), data.y)


def network(data: Split, *, width: int, epochs: int, noise: float) -> Arrays:
    """Three hidden layers on standardized features, with fresh noise on them in each epoch.

    The epoch is chosen by the cross-entropy of held-out training images, without noise. The
    standard deviation of the noise was chosen in the same way: 0.5, from 0.5 to 0.7.
    """
    from sklearn.metrics import log_loss
    from sklearn.model_selection import train_test_split
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(data.X)
    X, X_held, y, y_held = train_test_split(
        scaler.transform(data.X).astype(np.float32), data.y,
        test_size=_VALIDATION, stratify=data.y, random_state=0,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    # With an integer as its state it would visit the images in the same order in each epoch.
    model = MLPClassifier((width,) * 3, batch_size=200, random_state=np.random.RandomState(0))
    best, weights = np.inf, None
    for epoch in range(epochs):
        if epoch == 2 * epochs // 3:  # larger batches act like a smaller learning rate
            model.set_params(batch_size=min(2000, len(X)))
        noisy = X + np.float32(noise) * rng.standard_normal(X.shape, dtype=np.float32)
        model.partial_fit(noisy, y, classes=np.unique(data.y))
        loss = log_loss(y_held, model.predict_proba(X_held.astype(np.float64)))
        if loss < best:
            parts = (model.coefs_, model.intercepts_)
            best, weights = loss, [[w.copy() for w in part] for part in parts]
    if weights is not None:
        model.coefs_, model.intercepts_ = weights
    # In float64, since posteriors below 1e-45 would be zero in float32.
    return from_posteriors(model.predict_proba(scaler.transform(data.X_test)), data.y)


def regularized(data: Split, **options: Any) -> Arrays:
    """A network of the same size with input noise, dropout and weight decay.

    Its settings were chosen on a split of the training images, as the CDA's own were.
    """
    from sklearn.preprocessing import StandardScaler

    from reproduction.networks import regularized_posteriors

    scaler = StandardScaler().fit(data.X)
    X, X_test = (scaler.transform(part) for part in (data.X, data.X_test))
    return from_posteriors(regularized_posteriors(X, data.y, X_test, **options), data.y)


def support_vectors(data: Split, *, C: float) -> Arrays:
    """RBF support vectors; the score of a class is the smallest of its margins over the others.

    On training images this cost less than the sum of the margins, their votes, or a fusion of all
    45 margins.
    """
    from sklearn.svm import SVC

    def fit(X: np.ndarray, y: np.ndarray) -> Score:
        model = SVC(C=C, gamma="scale", decision_function_shape="ovo", cache_size=1000).fit(X, y)
        return lambda X: _smallest_margins(model.decision_function(X), len(model.classes_))

    return _calibrate(data, fit, "scalar")


def _smallest_margins(margins: np.ndarray, n_classes: int) -> np.ndarray:
    i, j = np.triu_indices(n_classes, 1)  # the order of scikit-learn's pairs
    over = np.full((len(margins), n_classes, n_classes), np.inf)
    over[:, i, j], over[:, j, i] = margins, -margins
    return over.min(axis=2)


def neighbors(data: Split, *, k: int) -> Arrays:
    """Logarithms of the votes of the nearest images, calibrated."""
    from sklearn.neighbors import KNeighborsClassifier

    def fit(X: np.ndarray, y: np.ndarray) -> Score:
        model = KNeighborsClassifier(k, algorithm="brute").fit(X, y)
        # Half a vote for each class in advance, so that every logarithm is finite.
        return lambda X: np.log(k * model.predict_proba(X) + 0.5)

    return _calibrate(data, fit, "full")


def _calibrate(
    data: Split,
    fit: Callable[[np.ndarray, np.ndarray], Score],
    scale: Literal["scalar", "diagonal", "full"],
) -> Arrays:
    """Evidence of scores that are calibrated on held-out training images."""
    from sklearn.model_selection import train_test_split

    X, X_held, y, y_held = train_test_split(
        data.X, data.y, test_size=_CALIBRATION, stratify=data.y, random_state=0
    )
    score = fit(X, y)
    calibrator = AffineCalibrator(scale, ridge=_RIDGE).fit(score(X_held), y_held)
    return {"log_likelihoods": center_rows(calibrator.evidence(score(data.X_test)))}


def from_posteriors(p: np.ndarray, y: np.ndarray) -> Arrays:
    """Evidence of posteriors that were learned from labels y; zeros as the module describes."""
    p = np.asarray(p, dtype=np.float64)
    floor = np.finfo(np.float64).tiny
    log_p = np.log(np.maximum(p, floor))
    evidence = Evidence.from_log_posteriors(log_p, np.bincount(y) / len(y))
    return {"log_likelihoods": center_rows(evidence), "floored": np.array(np.sum(p < floor))}


BASELINES: dict[str, Baseline] = {
    "logistic": Baseline("logistic regression", logistic),
    "boosting": Baseline(
        "gradient boosting", boosting, {"max_iter": 200}, {"max_iter": 10}, seconds=90.0
    ),
    "neighbours": Baseline(
        "10 nearest neighbours, calibrated", neighbors, {"k": 10}, seconds=30.0
    ),
    "support-vectors": Baseline(
        "RBF support vectors, calibrated", support_vectors, {"C": 10.0}, seconds=180.0
    ),
    "network": Baseline(
        "network of 3 × 512", network,
        {"width": 512, "epochs": 30, "noise": 0.0}, {"width": 64, "epochs": 30}, seconds=300.0,
    ),
    "network-noise": Baseline(
        "network of 3 × 512, input noise", network,
        {"width": 512, "epochs": 60, "noise": 0.5}, {"width": 64, "epochs": 30}, seconds=600.0,
    ),
    "network-regularised": Baseline(
        "network of 3 × 512, noise, dropout, decay", regularized,
        {"width": 512, "epochs": 100, "noise": 0.4, "dropout": 0.2, "decay": 0.3},
        {"width": 64, "epochs": 60}, seconds=900.0,
    ),
}  # fmt: skip
