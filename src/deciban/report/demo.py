"""The built-in demo: evidence that adds up, a calibrated family, and evidence learned from data."""

from __future__ import annotations

import html
import io
from itertools import combinations
from typing import Any

import mpltern  # noqa: F401 (it registers ternary axes)
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from deciban import discriminant
from deciban.assessment import assess
from deciban.datasets import moons
from deciban.evidence import Evidence
from deciban.metrics import accuracy, decompose
from deciban.plots import ILRDisplay, PairwiseDisplay, TernaryDisplay
from deciban.reference import CalibratedGaussian
from deciban.report.page import report

# A recording is in one of three languages; its sounds and its words are independent evidence.
_CLASSES = ("Czech", "Polish", "Slovak")
_PRIOR = (0.5, 0.3, 0.2)
_SOUNDS, _WORDS = (0.30, 0.08, 0.25), (0.15, 0.05, 0.60)  # likelihoods
_COSTS = ((0, 4, 1), (4, 0, 4), (1, 4, 0))  # true class in rows, decision in columns
_DIVERGENCES = ((0, 5, 4), (5, 0, 7), (4, 7, 0))  # nats
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>deciban: a demonstration</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto }}
body {{ padding: 0 1rem }} pre {{ overflow-x: auto }} img {{ max-width: 100% }}</style>
<h1>deciban: a demonstration</h1>
<p>A recording is in Czech, Polish or Slovak, with prior probabilities of 0.5, 0.3 and 0.2.
Confusing Czech with Slovak costs 1, confusing either with Polish costs 4.</p>
{}{}<p><img src="demo.png" alt="Three panels: the way from prior to posterior in the plane of
isometric log-ratios; samples and contours of the calibrated family in that plane; the same on the
ternary simplex."></p>
<p>Compositional discriminant analysis learns an invertible map whose first dimensions are
calibrated evidence. On the digits, the linear and quadratic analyses have a shrinkage of 0.1.</p>
{}{}<p><img src="learned.png" alt="Left: the evidence for one moon against the other, as a map with
the points. Right: for each pair of digits, the cost of the evidence that tells them apart."></p>
<p>The <a href="report.html">full report on the digits</a> is what <code>deciban evaluate
--report</code> writes for any scores.</p></html>
"""

Samples = tuple[np.ndarray, np.ndarray]
Rows = list[dict[str, str]]


def run_demo(seed: int = 7) -> tuple[str, dict[str, str | bytes]]:
    """The demo's tables as text, and the contents of its files by name.

    Parameters
    ----------
    seed : int
        Seed of all random numbers.
    """
    CDA = discriminant.CompositionalDiscriminantAnalysis
    sounds, words = (Evidence.from_likelihoods([w], _CLASSES) for w in (_SOUNDS, _WORDS))
    pieces = {"sounds": sounds, "words": words, "both": sounds + words}
    family = CalibratedGaussian.from_divergences(_DIVERGENCES, classes=_CLASSES)
    train, test = (moons().sample(n, random_state=seed + k) for k, n in enumerate((10_000, 20_000)))
    digits, new_digits = _split_digits(seed)
    on_moons, on_digits = (CDA(random_state=seed).fit(*data) for data in (train, digits))
    evidence, best = on_digits.evidence(new_digits[0]), moons().evidence(test[0])
    sections = {
        "Evidence adds up": [_update(*piece) for piece in pieces.items()],
        "Perfectly calibrated recognizers": _describe(family),
        "Two moons, learned from 10,000 points, tested on 20,000": [
            *_compare(on_moons, train, test, shrinkage=0.0),
            _judge("the true densities", test[1], best),
        ],
        f"Handwritten digits, learned from {len(digits[1])} images, tested on {len(evidence)}": (
            _compare(on_digits, digits, new_digits, shrinkage=0.1)
        ),
    }
    tables = {heading: _table(rows) for heading, rows in sections.items()}
    parts = (f"<h2>{heading}</h2><pre>{html.escape(t)}</pre>" for heading, t in tables.items())
    files: dict[str, str | bytes] = {
        "index.html": _PAGE.format(*parts),
        "report.html": _report(on_digits, evidence, new_digits[1], seed),
        "demo.png": _draw_family(sounds, words, family, seed),
        "learned.png": _draw_learned(on_moons, train, evidence, new_digits[1]),
    }
    return "\n".join(f"{heading}\n\n{table}\n" for heading, table in tables.items()), files


def _split_digits(seed: int) -> tuple[Samples, Samples]:
    X, y = load_digits(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    return (X, y), (X_new, y_new)


def _update(name: str, evidence: Evidence) -> dict[str, str]:
    """What a piece of evidence says, and the posterior and decision that it leads to."""
    llr = evidence.llr("Slovak", "Czech", unit="deciban")[0]
    posterior = zip(_CLASSES, evidence.posterior(_PRIOR)[0], strict=True)
    return {
        "evidence": name,
        "Slovak against Czech (deciban)": f"{llr:+.1f}",
        "in words (ENFSI)": str(evidence.verbal("Slovak", "Czech")[0]),
        **{f"P({label})": f"{p:.3f}" for label, p in posterior},
        "decision": str(evidence.decide(_COSTS, _PRIOR)[0]),
    }


def _describe(family: CalibratedGaussian) -> Rows:
    """What the divergence of each pair of classes determines."""
    return [
        {
            "pair": f"{a} against {b}",
            "divergence (nat)": f"{family.divergences[i, j]:.2f}",
            "EER": f"{family.eers[i, j]:.2%}",
            "expected Cllr (bit)": f"{family.expected_cllr(a, b):.4f}",
        }
        for (i, a), (j, b) in combinations(enumerate(_CLASSES), 2)
    ]


def _compare(cda: Any, train: Samples, test: Samples, shrinkage: float) -> Rows:
    """A CDA beside linear and quadratic discriminant analysis, on held-out samples."""
    models = {
        "linear": discriminant.LinearDiscriminant(shrinkage=shrinkage).fit(*train),
        "quadratic": discriminant.QuadraticDiscriminant(shrinkage=shrinkage).fit(*train),
        "compositional": cda,
    }
    X, y = test
    return [_judge(name, y, model.evidence(X)) for name, model in models.items()]


def _judge(name: str, y_true: np.ndarray, evidence: Evidence) -> dict[str, str]:
    cost = decompose(y_true, evidence, calibrator="scalar", unit="bit")
    return {
        "discriminant analysis": name,
        "cross-entropy (bit)": f"{cost.total:.4f}",
        "of which calibration (bit)": f"{cost.calibration:.4f}",
        "accuracy": f"{accuracy(y_true, evidence):.2%}",
    }


def _table(rows: Rows) -> str:
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _report(cda: Any, evidence: Evidence, y_true: np.ndarray, seed: int) -> str:
    return report(
        y_true,
        evidence,
        title="Handwritten digits",
        assessment=assess(y_true, evidence, rng=seed),
        training=cda.history_,
        model_card={"Model": "compositional discriminant analysis, default settings"},
        data_card={"Data": f"{len(y_true)} held-out images of 8 x 8 pixels, from scikit-learn"},
    )


def _draw_family(sounds: Evidence, words: Evidence, family: CalibratedGaussian, seed: int) -> bytes:
    """The way from prior to posterior, and the family in the ILR plane and on the simplex."""
    fig = Figure(figsize=(13.5, 4.8), layout="constrained")
    left, middle = fig.add_subplot(1, 3, 1), fig.add_subplot(1, 3, 2)
    right = fig.add_subplot(1, 3, 3, projection="ternary")
    ILRDisplay(sounds + words).plot_update(_PRIOR, {"sounds": sounds, "words": words}, left)
    ILRDisplay.from_family(family, n_samples=150, rng=seed, ax=middle)
    TernaryDisplay.from_family(family, n_samples=150, rng=seed, ax=right)
    left.set_title("Bayes' rule is a vector sum")
    middle.set_title("Calibrated family: 50 % and 90 % of each class")
    right.set_title("The same on the simplex", pad=30)
    return _as_png(fig)


def _draw_learned(cda: Any, train: Samples, digits: Evidence, y_digits: np.ndarray) -> bytes:
    """The evidence of a CDA on two moons, as a map, and its cost on each pair of digits."""
    fig = Figure(figsize=(13.5, 5.2), layout="constrained")
    left, right = fig.subplots(1, 2)
    x, y = np.linspace(-1.8, 2.8, 160), np.linspace(-1.4, 1.9, 120)
    grid = np.column_stack([a.ravel() for a in np.meshgrid(x, y)])
    llr = cda.evidence(grid).llr(1, 0, unit="deciban").reshape(len(y), len(x))
    shades = left.contourf(x, y, llr, np.linspace(-50, 50, 11), cmap="PuOr", extend="both")
    left.contour(x, y, llr, [0.0], colors="k", linewidths=1.5)
    for label, marker, color in ((0, "o", "#7f3b08"), (1, "^", "#2d004b")):
        points = train[0][train[1] == label][:150]
        left.scatter(*points.T, s=18, marker=marker, c=color, ec="w", lw=0.4, label=f"moon {label}")
    fig.colorbar(shades, ax=left, label="evidence for moon 1 against moon 0 (deciban)")
    left.set(title="Learned from 10,000 points (300 drawn)", xlabel="x", ylabel="y", aspect=1)
    left.legend(loc="upper right")
    PairwiseDisplay.from_predictions(y_digits, digits, ax=right)
    right.set_title("Cost of telling two digits apart (bit)")
    return _as_png(fig)


def _as_png(figure: Any) -> bytes:
    figure.savefig(out := io.BytesIO(), format="png", dpi=110)
    return out.getvalue()
