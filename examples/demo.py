"""Evidence that adds up, a calibrated family, and evidence learned from data, as a page.

Run ``make demo``, or ``python examples/demo.py --output build/demo``: three minutes.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import mpltern  # noqa: F401 (it registers ternary axes)
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from deciban import CalibratedGaussian, Evidence, __version__, discriminant
from deciban.datasets import moons
from deciban.metrics import accuracy, decompose
from deciban.plots import ILRDisplay, PairwiseDisplay, TernaryDisplay
from deciban.report import explorer, report

# A recording is in one of three languages; its sounds and its words are independent evidence.
CLASSES, PRIOR = ("Czech", "Polish", "Slovak"), (0.5, 0.3, 0.2)
SOUNDS, WORDS = (0.30, 0.08, 0.25), (0.15, 0.05, 0.60)  # likelihoods
COSTS = ((0, 4, 1), (4, 0, 4), (1, 4, 0))  # true class in rows, decision in columns
DIVERGENCES = ((0, 5, 4), (5, 0, 7), (4, 7, 0))  # nats


class Table(NamedTuple):
    """A table of the demo, for the terminal and for its page."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    def __str__(self) -> str:
        cells = [self.columns, *self.rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
        return "\n".join([self.title, "", *lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("build/demo"), help="folder")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()

    args.output.mkdir(parents=True, exist_ok=True)
    text, files = run_demo(args.seed)
    for name, content in files.items():
        data = content if isinstance(content, bytes) else content.encode()
        (args.output / name).write_bytes(data)
    print(f"{text}\nOpen {args.output / 'index.html'}")


def run_demo(seed: int = 7) -> tuple[str, dict[str, str | bytes]]:
    """The demo's tables as text, and the contents of its files by name."""
    sounds, words = (Evidence.from_likelihoods([w], CLASSES) for w in (SOUNDS, WORDS))
    family = CalibratedGaussian.from_divergences(DIVERGENCES, classes=CLASSES)
    X, y = moons().sample(2_000, random_state=seed)
    X_new, y_new = moons().sample(20_000, random_state=seed + 1)
    cda_of_moons, on_moons = learn(X, y, X_new, seed, shrinkage=0.0)
    on_moons["the true densities"] = moons().evidence(X_new)
    images, digits = load_digits(return_X_y=True)
    images, images_new, digits, digits_new = train_test_split(
        images, digits, test_size=0.5, stratify=digits, random_state=seed
    )
    cda_of_digits, on_digits = learn(images, digits, images_new, seed, shrinkage=0.1)
    learned = f"learned from {len(digits)} images, tested on {len(digits_new)}"
    tables = [
        tabulate_pieces({"sounds": sounds, "words": words, "both": sounds + words}),
        tabulate_pairs(family),
        tabulate_costs("Two moons, learned from 2,000 points, tested on 20,000", y_new, on_moons),
        tabulate_costs(f"Handwritten digits, {learned}", digits_new, on_digits),
    ]
    title = f"Compositional discriminant analysis of {len(digits_new)} held-out images of digits"
    evidence = on_digits["compositional"]
    pages = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True
    )
    files: dict[str, str | bytes] = {
        "index.html": pages.get_template("demo.html").render(tables=tables, version=__version__),
        "report.html": report(digits_new, evidence, title=title, training=cda_of_digits.history_),
        "explorer.html": explore(family, seed),
        "demo.png": draw_family(sounds, words, family, seed),
        "learned.png": draw_learned(cda_of_moons, X, y, digits_new, evidence),
    }
    return "\n".join(map(str, tables)), files


def explore(family: CalibratedGaussian, seed: int) -> str:
    """An explorer that opens with samples of a perfectly calibrated recognizer."""
    l, y = family.sample([500] * len(CLASSES), rng=seed)
    return explorer(family.evidence(l), y, title="Explore evidence about three languages")


def learn(
    X: np.ndarray, y: np.ndarray, X_new: np.ndarray, seed: int, shrinkage: float
) -> tuple[Any, dict[str, Evidence]]:
    """A fitted CDA, and the evidence of three discriminant analyses about new samples."""
    models = {
        "linear": discriminant.LinearDiscriminant(shrinkage=shrinkage),
        "quadratic": discriminant.QuadraticDiscriminant(shrinkage=shrinkage),
        "compositional": discriminant.CompositionalDiscriminantAnalysis(
            random_state=seed, verbose=int(sys.stderr.isatty())
        ),
    }
    evidence = {name: model.fit(X, y).evidence(X_new) for name, model in models.items()}
    return models["compositional"], evidence


def tabulate_pieces(pieces: dict[str, Evidence]) -> Table:
    """What each piece of evidence says, and the posterior and decision that it leads to."""
    rows = []
    for name, evidence in pieces.items():
        llr = evidence.llr("Slovak", "Czech", unit="deciban")[0]
        words = evidence.verbal("Slovak", "Czech")[0]
        posterior = [f"{p:.3f}" for p in evidence.posterior(PRIOR)[0]]
        decision = str(evidence.decide(COSTS, PRIOR)[0])
        rows.append((name, f"{llr:+.1f}", str(words), *posterior, decision))
    columns = ("evidence", "Slovak against Czech (deciban)", "in words (ENFSI)",
               *(f"P({name})" for name in CLASSES), "decision")  # fmt: skip
    return Table("Evidence adds up", columns, rows)


def tabulate_pairs(family: CalibratedGaussian) -> Table:
    """What the divergence of each pair of classes determines."""
    rows = [
        (f"{a} against {b}", f"{family.divergences[i, j]:.2f}", f"{family.eers[i, j]:.2%}",
         f"{family.expected_cllr(a, b):.4f}")
        for (i, a), (j, b) in combinations(enumerate(CLASSES), 2)
    ]  # fmt: skip
    columns = ("pair", "divergence (nat)", "EER", "expected Cllr (bit)")
    return Table("Perfectly calibrated recognizers", columns, rows)


def tabulate_costs(title: str, y_true: np.ndarray, systems: dict[str, Evidence]) -> Table:
    """What the evidence of each system costs, and how often it decides right."""
    rows = []
    for name, evidence in systems.items():
        cost = decompose(y_true, evidence, calibrator="scalar", unit="bit")
        right = f"{accuracy(y_true, evidence):.2%}"
        rows.append((name, f"{cost.total:.4f}", f"{cost.calibration:.4f}", right))
    columns = ("discriminant analysis", "cross-entropy (bit)", "of which calibration (bit)",
               "accuracy")  # fmt: skip
    return Table(title, columns, rows)


def draw_family(sounds: Evidence, words: Evidence, family: CalibratedGaussian, seed: int) -> bytes:
    """The way from prior to posterior, and the family in the ILR plane and on the simplex."""
    fig = Figure(figsize=(13.5, 4.8), layout="constrained")
    left, middle = fig.add_subplot(1, 3, 1), fig.add_subplot(1, 3, 2)
    right = fig.add_subplot(1, 3, 3, projection="ternary")
    ILRDisplay(sounds + words).plot_update(PRIOR, {"sounds": sounds, "words": words}, left)
    ILRDisplay.from_family(family, n_samples=150, rng=seed, ax=middle)
    TernaryDisplay.from_family(family, n_samples=150, rng=seed, ax=right)
    left.set_title("Bayes' rule is a vector sum")
    middle.set_title("Calibrated family: 50 % and 90 % of each class")
    right.set_title("The same on the simplex", pad=30)
    return as_png(fig)


def draw_learned(
    cda: Any, X: np.ndarray, y: np.ndarray, digits: np.ndarray, evidence: Evidence
) -> bytes:
    """The evidence of a CDA on two moons, as a map, and its cost on each pair of digits."""
    fig = Figure(figsize=(13.5, 5.2), layout="constrained")
    left, right = fig.subplots(1, 2)
    across, up = np.linspace(-1.8, 2.8, 160), np.linspace(-1.4, 1.9, 120)
    grid = np.column_stack([a.ravel() for a in np.meshgrid(across, up)])
    llr = cda.evidence(grid).llr(1, 0, unit="deciban").reshape(len(up), len(across))
    shades = left.contourf(across, up, llr, np.linspace(-50, 50, 11), cmap="PuOr", extend="both")
    left.contour(across, up, llr, [0.0], colors="k", linewidths=1.5)
    for k, marker, fill, edge in ((0, "o", "w", "k"), (1, "^", "k", "w")):  # seen on any ground
        points = X[y == k][:150].T
        left.scatter(*points, s=20, marker=marker, c=fill, ec=edge, lw=0.6, label=f"moon {k}")
    fig.colorbar(shades, ax=left, label="evidence for moon 1 against moon 0 (deciban)")
    left.set(title="Learned from 2,000 points (300 drawn)", xlabel="x", ylabel="y", aspect=1)
    left.legend(loc="upper right")
    PairwiseDisplay.from_predictions(digits, evidence, ax=right)
    right.set_title("Cost of telling two digits apart (bit)")
    return as_png(fig)


def as_png(figure: Any) -> bytes:
    figure.savefig(out := io.BytesIO(), format="png", dpi=200)
    return out.getvalue()


if __name__ == "__main__":
    main()
