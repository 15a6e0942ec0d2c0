"""For machine-learning engineers: a classifier that stays right when the class mix changes.

    python examples/classifier.py --output build/classifier

Naive Bayes on handwritten digits is right 9 times out of 10, but nearly always certain. Wrapped in
``CalibratedEvidenceClassifier`` it gives calibrated evidence; prior and costs are applied where the
decision is made, and can differ from those of the training data.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from deciban import Evidence, metrics
from deciban.calibration import CalibratedEvidenceClassifier


def row(name: str, truth: NDArray[Any], evidence: Evidence, prior: NDArray[Any] | None) -> str:
    """Cost of the posteriors under a prior, its parts, and the accuracy of decisions."""
    parts = metrics.decompose(truth, evidence, calibrator="scalar", prior=prior, unit="bit")
    accuracy = metrics.accuracy(truth, evidence, prior=prior)
    return (
        f"  {name:14}cross-entropy {parts.total:7.3f} bit = {parts.discrimination:.3f} "
        f"discrimination + {parts.calibration:.3f} calibration; accuracy {accuracy:.1%}"
    )


def draw(truth: NDArray[Any], raw: Evidence, evidence: Evidence, folder: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from deciban import plots

    fig, axes = plt.subplots(1, 3, figsize=(14, 4.4), layout="constrained")
    plots.ReliabilityDisplay.from_predictions(truth, raw, ax=axes[0])
    axes[0].set_title("Naive Bayes, uncalibrated")
    plots.ReliabilityDisplay.from_predictions(truth, evidence, ax=axes[1])
    axes[1].set_title("Calibrated evidence, uniform prior")
    plots.PairwiseDisplay.from_predictions(truth, evidence, ax=axes[2])
    fig.savefig(folder / "classifier.png", dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("build/classifier"), help="folder")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    args.output.mkdir(parents=True, exist_ok=True)
    X, y = load_digits(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=args.seed, stratify=y)
    naive = GaussianNB(var_smoothing=1e-3)
    model = CalibratedEvidenceClassifier(naive).fit(X, y)

    raw = Evidence.from_log_posteriors(
        model.estimator_.predict_log_proba(X_new), model.training_prior_
    )
    evidence = model.evidence(X_new)
    postal = np.full(10, 0.05)  # where the model is used, more than half of the digits are 0
    postal[0] = 0.55
    for prior, name in ((None, "Equally likely digits"), (postal, "More zeros")):
        print(f"{name}:")
        print(row("naive Bayes", y_new, raw, prior))
        print(row("calibrated", y_new, evidence, prior))

    costs = 1.0 - np.eye(10)
    costs[0] *= 20  # missing a 0 is expensive
    cost = [metrics.expected_cost(y_new, e, costs, prior=postal) for e in (raw, evidence)]
    print(
        f"Cost per digit if missing a 0 costs 20: {cost[0]:.3f} uncalibrated, {cost[1]:.3f} "
        f"calibrated"
    )
    undecided = evidence.decide(prior=postal, reject_cost=0.1)
    left = np.mean([label is None for label in undecided])
    print(f"Passed on to a person, because deciding would cost more than 0.1: {left:.1%}")
    draw(y_new, raw, evidence, args.output)
    print(f"Open {args.output / 'classifier.png'}")


if __name__ == "__main__":
    main()
