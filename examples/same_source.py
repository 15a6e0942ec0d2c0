"""For forensic and speaker scientists: from comparison scores to likelihood ratios to report.

    python examples/same_source.py --output build/same-source

Do two bottles of wine come from the same cultivar? A score says how similar their chemistry is. A
calibrator, fitted to some of the bottles, turns scores into LLRs, bounded by what the data can
support. Their quality is measured on the other bottles, with intervals that resample bottles, not
comparisons, since these share bottles. For LLRs from the features themselves, without a score, see
SameSourceModel in docs/guide/same-source.md; it needs more sources than three cultivars.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from deciban import Evidence, metrics
from deciban.calibration import BoundedCalibrator, KernelDensityCalibrator
from deciban.same_source import pairs

SAME, OTHER = "same source", "different sources"
Array = NDArray[Any]


def comparisons(
    X: Array, cultivar: Array, bottles: Array
) -> tuple[Array, Array, tuple[Array, Array]]:
    """Score, true relation and both bottles of each pair of bottles."""
    left, right, y_true = pairs(cultivar[bottles])
    items = bottles[left], bottles[right]
    score = -np.linalg.norm(X[items[0]] - X[items[1]], axis=1)
    return score[:, None], np.where(y_true, SAME, OTHER), items


def describe_quality(truth: Array, llr: Evidence, items: tuple[Array, Array]) -> str:
    """Metrics of LLRs with their intervals, as text."""
    rows = []
    for name, metric in (
        ("Cllr", metrics.cllr),
        ("Cllr_min", metrics.cllr_min),
        ("EER", metrics.eer),
    ):
        value, low, high, _ = metrics.bootstrap(
            metric, truth, llr, items=items, n_resamples=200, pos_label=SAME
        )
        unit = "" if name == "EER" else " bit"
        rows.append(f"  {name:9}{value:.3f}{unit}, 95 % interval {low:.3f} to {high:.3f}")
    rates = metrics.misleading_rates(truth, llr, strength=1, unit="ban", pos_label=SAME)
    rows.append(f"  misleading by a factor of 10 or more: {rates.target:.1%} of same-source, "
                f"{rates.other:.1%} of different-source comparisons")  # fmt: skip
    return "\n".join(rows)


def draw(truth: Array, llr: Evidence, folder: Path) -> None:
    """Draw the four figures of a validation report."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from deciban import plots

    fig, axes = plt.subplots(2, 2, figsize=(10, 8), layout="constrained")
    plots.LLRHistogramDisplay.from_predictions(truth, llr, pos_label=SAME, ax=axes[0, 0])
    plots.TippettDisplay.from_predictions(truth, llr, pos_label=SAME, ax=axes[0, 1])
    plots.PAVDisplay.from_predictions(truth, llr, pos_label=SAME, ax=axes[1, 0])
    plots.EmpiricalCrossEntropyDisplay.from_predictions(truth, llr, pos_label=SAME, ax=axes[1, 1])
    fig.savefig(folder / "validation.png", dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("build/same-source"), help="folder")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    args.output.mkdir(parents=True, exist_ok=True)
    X, cultivar = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    bottles = np.random.default_rng(args.seed).permutation(len(X))
    train, test = bottles[:90], bottles[90:]  # no bottle is in both

    score, truth, _ = comparisons(X, cultivar, train)
    calibrator = BoundedCalibrator(KernelDensityCalibrator()).fit(score, truth)
    low, high = -calibrator.bounds_[0, 1], calibrator.bounds_[1, 0]
    print(f"Supported by {len(truth)} comparisons: LLRs from {low / np.log(10):.2f} to "
          f"{high / np.log(10):.2f} ban\n")  # fmt: skip

    score, truth, items = comparisons(X, cultivar, test)
    evidence = calibrator.evidence(score)
    raw = Evidence.from_llr(score, SAME, OTHER)
    print(f"Scores taken as LLRs:\n{describe_quality(truth, raw, items)}")
    print(f"Calibrated LLRs:\n{describe_quality(truth, evidence, items)}\n")

    likely = int(np.argmax(score))
    print(f"The most similar pair: {evidence.llr(SAME, OTHER, unit='ban')[likely]:.2f} ban, "
          f"{evidence.verbal(SAME, OTHER)[likely]} (ENFSI)")  # fmt: skip
    draw(truth, evidence, args.output)
    print(f"Open {args.output / 'validation.png'}")


if __name__ == "__main__":
    main()
