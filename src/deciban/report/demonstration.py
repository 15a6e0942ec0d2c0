"""Evidence that adds up, a calibrated family, and evidence learnt from data, as a page.

A recording is in Czech, Polish or Slovak. Its sounds and its words are two independent pieces of
evidence. They add up, a prior is added, and a decision is taken under costs. Then the family of
perfectly calibrated recognisers with given separations between the languages is drawn. Last, a
compositional discriminant analysis (CDA) learns to give evidence: on two moons, where the best
possible result is known, and on small images of handwritten digits, with a report on the latter.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deciban import discriminant, metrics
from deciban._persistence.atomic import write_atomically
from deciban.assessment.assess import assess
from deciban.datasets import moons
from deciban.evidence import Evidence
from deciban.reference import CalibratedGaussian
from deciban.report.demonstration_figures import figure, learnt_figure, require_drawing
from deciban.report.demonstration_page import PAGE, Rows, as_png, as_svg, html_table, text_table
from deciban.report.page import report
from deciban.simplex import closure

FILES = ("index.html", "report.html", "figure.png", "learnt.png")

_CLASSES = ("Czech", "Polish", "Slovak")
_PRIOR = (0.5, 0.3, 0.2)
_SOUNDS = (0.30, 0.08, 0.25)
_WORDS = (0.15, 0.05, 0.60)
_COSTS = ((0, 4, 1), (4, 0, 4), (1, 4, 0))  # the truth on rows, the decision in columns
_DIVERGENCES = ((0, 5, 4), (5, 0, 7), (4, 7, 0))

Data = tuple[np.ndarray, np.ndarray]


def demonstrate(folder: Path, *, seed: int = 7, say: Callable[[str], Any]) -> None:
    """Run the demonstration: tables to ``say``, and :data:`FILES` into a folder.

    Parameters
    ----------
    folder : Path
        Made where it is missing; files of these names are written over.
    seed : int
    say : callable
        Takes text to print, such as ``print``.
    """
    require_drawing()
    cda = discriminant.CompositionalDiscriminantAnalysis  # or a sentence, where JAX is missing
    pieces, added = _update()
    family = CalibratedGaussian.from_divergences(_DIVERGENCES, classes=_CLASSES)
    pairs = _describe(family, seed)
    value, error = family.expected_cross_entropy(unit="bit", rng=seed)
    entropy = f"{value:.4f} ± {error:.4f} bit of {np.log2(3):.4f}"
    prior = ", ".join(f"{c} {p:.2f}" for c, p in zip(_CLASSES, closure(_PRIOR), strict=True))
    say(f"Prior: {prior}\n\n{text_table(added)}\n")
    say(f"{text_table(pairs)}\n\nExpected cross-entropy: {entropy}\n")
    of_moons = _learn_moons(cda(random_state=seed), seed)
    say(f"Two moons, learnt from 10,000 points\n\n{text_table(of_moons.rows)}\n")
    of_digits = _learn_digits(cda(random_state=seed), seed)
    say(f"Handwritten digits, learnt from 898 images\n\n{text_table(of_digits.rows)}\n")
    drawn = figure(pieces, _PRIOR, family, seed)
    learnt = learnt_figure(of_moons.model, of_moons.data, of_digits.evidence, of_digits.truth)
    page = PAGE.format(
        prior=prior, update=html_table(added), family=html_table(pairs), entropy=entropy,
        figure=as_svg(drawn), moons=html_table(of_moons.rows), learnt=as_svg(learnt),
        digits=html_table(of_digits.rows), seed=seed,
    )  # fmt: skip
    contents: tuple[str | bytes, ...] = (
        page, _report(of_digits, seed), as_png(drawn), as_png(learnt)
    )  # fmt: skip
    for name, content in zip(FILES, contents, strict=True):
        write_atomically(folder / name, content)
    say(f"Open {folder / 'index.html'}")


def _update() -> tuple[dict[str, Evidence], Rows]:
    """The evidence, piece by piece and in total, as rows of a table."""
    pieces = {
        "sounds": Evidence.from_likelihoods([_SOUNDS], _CLASSES),
        "words": Evidence.from_likelihoods([_WORDS], _CLASSES),
    }
    pieces["both"] = pieces["sounds"] + pieces["words"]
    rows = []
    for name, evidence in pieces.items():
        llr = evidence.llr("Slovak", "Czech", unit="deciban")[0]
        posterior = zip(_CLASSES, evidence.posterior(_PRIOR)[0], strict=True)
        rows.append(
            {
                "evidence": name,
                "Slovak against Czech (deciban)": f"{llr:+.1f}",
                "in words (ENFSI)": str(evidence.verbal("Slovak", "Czech")[0]),
                "strength (deciban)": f"{evidence.strength('deciban')[0]:.1f}",
                **{f"P({label})": f"{p:.3f}" for label, p in posterior},
                "decision": str(evidence.decide(_COSTS, _PRIOR)[0]),
            }
        )
    return pieces, rows


def _describe(family: CalibratedGaussian, seed: int) -> Rows:
    """What the family says of each pair of classes, beside what its samples do."""
    l, y = family.sample([20_000] * 3, rng=seed)
    evidence = family.evidence(l)
    rows = []
    for i in range(3):
        for j in range(i + 1, 3):
            a, b = family.classes[i], family.classes[j]
            llr = evidence.llr(a, b)
            misses, alarms = (llr[y == a] < 0).mean(), (llr[y == b] > 0).mean()
            rows.append(
                {
                    "pair": f"{a} against {b}",
                    "divergence (nat)": f"{family.divergences[i, j]:.2f}",
                    "mean LLR of 20,000 samples (nat)": f"{llr[y == a].mean():.2f}",
                    "EER": f"{family.eers[i, j]:.2%}",
                    "error rate of the samples": f"{(misses + alarms) / 2:.2%}",
                    "expected Cllr (bit)": f"{family.expected_cllr(a, b):.4f}",
                }
            )
    return rows


class _Learnt(NamedTuple):
    """A CDA fitted to data, and what it says of samples that were held out."""

    model: Any
    data: Data
    evidence: Evidence
    truth: np.ndarray
    rows: Rows


def _learn(cda: Any, data: Data, held_out: Data, shrinkage: float) -> _Learnt:
    """The CDA, beside the analyses that are known in closed form."""
    new, truth = held_out
    models = {
        "linear": discriminant.LinearDiscriminant(shrinkage=shrinkage),
        "quadratic": discriminant.QuadraticDiscriminant(shrinkage=shrinkage),
        "compositional": cda,
    }
    rows = []
    for name, model in models.items():
        evidence = model.fit(*data).evidence(new)
        rows.append({"discriminant analysis": name, **_quality(truth, evidence)})
    return _Learnt(cda, data, evidence, truth, rows)


def _quality(truth: np.ndarray, evidence: Evidence) -> dict[str, str]:
    found = (
        metrics.decompose(truth, evidence, calibrator=map_, unit="bit")
        for map_ in ("scalar", "full")
    )
    parts = min(found, key=lambda one: one.discrimination)  # as in the report
    return {
        "cross-entropy (bit)": f"{parts.total:.4f}",
        "of which calibration (bit)": f"{parts.calibration:.4f}",
        "accuracy": f"{metrics.accuracy(truth, evidence):.2%}",
    }


def _learn_moons(cda: Any, seed: int) -> _Learnt:
    """On the two moons, beside the best that any classifier can do."""
    population = moons()
    data, held_out = (
        population.sample(n, random_state=seed + k) for k, n in enumerate((10_000, 20_000))
    )
    learnt = _learn(cda, data, held_out, 0.0)
    best = population.evidence(held_out[0])
    learnt.rows.append(
        {"discriminant analysis": "the true densities", **_quality(learnt.truth, best)}
    )
    return learnt


def _learn_digits(cda: Any, seed: int) -> _Learnt:
    """On half of the digits; the other half is judged."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, digit = load_digits(return_X_y=True)
    X, new, y, truth = train_test_split(
        images, digit, test_size=0.5, stratify=digit, random_state=seed
    )
    return _learn(cda, (X, y), (new, truth), 0.1)


def _report(digits: _Learnt, seed: int) -> str:
    """All there is to say of the digits that were held out."""
    return report(
        digits.truth,
        digits.evidence,
        title="Handwritten digits",
        assessment=assess(digits.truth, digits.evidence, rng=seed),
        training=digits.model.history_,
        model_card={
            "Model": "compositional discriminant analysis, as it comes",
            "Learnt from": f"{len(digits.data[1])} images",
            "Seed": str(seed),
        },
        data_card={
            "Data": "images of handwritten digits, 8 x 8 pixels, from scikit-learn",
            "Judged on": f"{len(digits.truth)} images that were held out, as many of each digit "
            "in both halves",
        },
    )
