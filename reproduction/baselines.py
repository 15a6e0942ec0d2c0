"""Other classifiers on the same features, so that the reader sees what a CDA is worth.

Posteriors become evidence by taking the class mix of the training images out. A posterior that is
zero in floating point counts as the smallest positive number instead (2e-308): a wrong and certain
answer costs up to 708 nats, which shows, and not infinity, which would end all comparison. How many
there were is kept beside the evidence. Scores that are no posteriors are calibrated on training
images that the classifier was not fitted to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deciban._estimation.affine import Scale
from deciban.calibration import AffineCalibrator
from deciban.evidence import Evidence
from reproduction.experiment import Arrays
from reproduction.mnist import Split, kept

Scores = Callable[[np.ndarray], np.ndarray]

_ASIDE = 1 / 6  # of the training images, to calibrate scores with
_WATCHED = 1 / 12  # of the training images, to choose the epoch of a network by
_RIDGE = 1e-3  # of the calibrator: few images would let it be as sure as it likes


@dataclass(frozen=True)
class Baseline:
    """A classifier to compare with.

    Attributes
    ----------
    title : str
        As tables name it.
    fit : callable
        From the features and options to arrays: the evidence of the test images.
    options, quick : mapping
        Of the fit, and what a quick run has instead of them.
    seconds : float
    """

    title: str
    fit: Callable[..., Arrays]
    options: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 10.0

    def chosen(self, quick: bool) -> dict[str, Any]:
        """The options of a run."""
        return {**self.options, **(self.quick if quick else {})}


def logistic(data: Split) -> Arrays:
    """Logistic regression on standardised features."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    return from_posteriors(model.fit(data.X, data.y).predict_proba(data.new), data.y)


def boosting(data: Split, *, max_iter: int) -> Arrays:
    """Gradient-boosted trees, stopped early where a tenth of the images no longer gains."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=max_iter, early_stopping=True, random_state=0)
    return from_posteriors(model.fit(data.X, data.y).predict_proba(data.new), data.y)


def network(data: Split, *, width: int, epochs: int, noise: float) -> Arrays:
    """Three hidden layers on standardised features, with fresh noise on them in each epoch.

    The epoch is chosen by the cross-entropy of training images that are set aside, without noise.
    So was the amount of noise, in standard deviations of the features: 0.5, of 0.5 to 0.7.
    """
    from sklearn.metrics import log_loss
    from sklearn.model_selection import train_test_split
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(data.X)
    X, aside, y, watched = train_test_split(
        scaler.transform(data.X).astype(np.float32), data.y,
        test_size=_WATCHED, stratify=data.y, random_state=0,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    # With a number as its state it would go through the images in the same order each epoch.
    model = MLPClassifier((width,) * 3, batch_size=200, random_state=np.random.RandomState(0))
    best, weights = np.inf, None
    for epoch in range(epochs):
        if epoch == 2 * epochs // 3:  # larger batches do what a smaller learning rate does
            model.set_params(batch_size=min(2000, len(X)))
        noisy = X + np.float32(noise) * rng.standard_normal(X.shape, dtype=np.float32)
        model.partial_fit(noisy, y, classes=np.unique(data.y))
        loss = log_loss(watched, model.predict_proba(aside.astype(np.float64)))
        if loss < best:
            best, weights = loss, [[w.copy() for w in part] for part in _weights(model)]
    if weights is not None:
        model.coefs_, model.intercepts_ = weights
    # In float64, or posteriors below 1e-45 were zero.
    return from_posteriors(model.predict_proba(scaler.transform(data.new)), data.y)


def regularised(data: Split, **options: Any) -> Arrays:
    """The same size with dropout and weight decay as well.

    Chosen on a split of the training images, as the CDA's own settings were.
    """
    from sklearn.preprocessing import StandardScaler

    from reproduction.networks import regularised_posteriors

    scaler = StandardScaler().fit(data.X)
    X, new = (scaler.transform(part) for part in (data.X, data.new))
    return from_posteriors(regularised_posteriors(X, data.y, new, **options), data.y)


def _weights(model: Any) -> tuple[Any, Any]:
    return model.coefs_, model.intercepts_


def support_vectors(data: Split, *, C: float) -> Arrays:
    """RBF support vectors; the score of a class is the least of its margins over the others.

    Chosen on training images: the sum of the margins, their votes, and all 45 of them fused cost
    more.
    """
    from sklearn.svm import SVC

    def fit(X: np.ndarray, y: np.ndarray) -> Scores:
        model = SVC(C=C, gamma="scale", decision_function_shape="ovo", cache_size=1000).fit(X, y)
        return lambda new: _least_margins(model.decision_function(new), len(model.classes_))

    return _calibrated(data, fit, "scalar")


def _least_margins(margins: np.ndarray, n_classes: int) -> np.ndarray:
    i, j = np.triu_indices(n_classes, 1)  # the order of scikit-learn's pairs
    over = np.full((len(margins), n_classes, n_classes), np.inf)
    over[:, i, j], over[:, j, i] = margins, -margins
    return over.min(axis=2)


def neighbours(data: Split, *, k: int) -> Arrays:
    """Logarithms of the votes of the nearest images, calibrated."""
    from sklearn.neighbors import KNeighborsClassifier

    def fit(X: np.ndarray, y: np.ndarray) -> Scores:
        model = KNeighborsClassifier(k, algorithm="brute").fit(X, y)
        # Half a vote for each class beforehand, so that there is a logarithm.
        return lambda new: np.log(k * model.predict_proba(new) + 0.5)

    return _calibrated(data, fit, "full")


def _calibrated(
    data: Split, fit: Callable[[np.ndarray, np.ndarray], Scores], scale: Scale
) -> Arrays:
    """Evidence of scores that are calibrated on training images set aside."""
    from sklearn.model_selection import train_test_split

    X, aside, y, known = train_test_split(
        data.X, data.y, test_size=_ASIDE, stratify=data.y, random_state=0
    )
    scores = fit(X, y)
    calibrator = AffineCalibrator(scale, ridge=_RIDGE).fit(scores(aside), known)
    return {"log_likelihoods": kept(calibrator.evidence(scores(data.new)))}


def from_posteriors(p: np.ndarray, y: np.ndarray) -> Arrays:
    """Evidence of posteriors that were learnt from labels y; zeros as the module says."""
    p = np.asarray(p, dtype=np.float64)
    floor = np.finfo(np.float64).tiny
    log_p = np.log(np.maximum(p, floor))
    evidence = Evidence.from_log_posteriors(log_p, np.bincount(y) / len(y))
    return {"log_likelihoods": kept(evidence), "floored": np.array(np.sum(p < floor))}


BASELINES: dict[str, Baseline] = {
    "logistic": Baseline("logistic regression", logistic),
    "boosting": Baseline(
        "gradient boosting", boosting, {"max_iter": 200}, {"max_iter": 10}, seconds=90.0
    ),
    "neighbours": Baseline(
        "10 nearest neighbours, calibrated", neighbours, {"k": 10}, seconds=30.0
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
        "network of 3 × 512, noise, dropout, decay", regularised,
        {"width": 512, "epochs": 100, "noise": 0.4, "dropout": 0.2, "decay": 0.3},
        {"width": 64, "epochs": 60}, seconds=900.0,
    ),
}  # fmt: skip
