"""Figures of all classes together: cost, reliability, and how the model was trained."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from deciban.assessment.actions import Cost
from deciban.assessment.wording import number, shorten
from deciban.exceptions import InputError
from deciban.metrics.labelled import Labelled
from deciban.metrics.reliability import reliability_curves
from deciban.report.drawing import Axis, Canvas, Figure, Key, central, linear, thin_curve

TRAINING = {  # title, label of the axis, how to read it
    "loss": ("Training loss", "loss (nat per sample)",
             "What training minimizes, on the samples that the model learns from."),
    "score": ("Cross-entropy of held-out samples", "cross-entropy (nat)",
              "The same model on samples that it has not learned from: where this rises while the "
              "loss falls, the model overfits."),
}  # fmt: skip


def decomposition(cost: Cost) -> Figure:
    """The cost of the evidence as a bar: its discrimination, and what calibration would save."""
    total, calibration, unit = cost.total.value, cost.calibration.corrected, cost.unit
    if not (math.isfinite(total) and math.isfinite(calibration)):
        raise InputError(
            f"The parts of a cost of {number(total)} {unit} are known only where no sample rules "
            f"out a class and each class has two samples or more."
        )
    discrimination, nothing = total - calibration, cost.no_evidence
    canvas = Canvas(
        linear(f"cost ({unit})", 0, max(1.1 * nothing, 1.05 * total)),
        Axis("", 0, 1),
        height=150,
        left=16,
        top=34,
    )
    spans = [("discrimination", 0.0, discrimination), ("calibration", discrimination, total)]
    if total < nothing:
        spans.append(("gained", total, nothing))
    for k, (name, low, high) in enumerate(spans):
        canvas.box((low, high), (0.18, 0.82), k, "faint" if name == "gained" else "solid")
    canvas.rule([nothing, nothing], [0, 1])
    words = f"no evidence: {number(nothing)} {unit}"
    canvas.write(nothing, 1, words, anchor="end", shift=(8, -8))
    spans.append(("total", 0.0, total))
    return Figure(
        "decomposition",
        f"The cost is {number(total)} {unit} {cost.at}. Calibration would save "
        f"{number(calibration)} {unit}; {number(discrimination)} {unit} is due to classes that the "
        f"evidence cannot tell apart. The pale part up to the dotted line is what it gains over no "
        f"evidence.",
        canvas,
        (Key("solid", 0, "discrimination: what it cannot tell apart"),
         Key("solid", 1, "calibration: what calibration would save"),
         Key("bar", 2, "gained by the evidence")),
        ("part", f"cost ({unit})", "share of the cost of no evidence (%)"),
        [(name, high - low, 100 * (high - low) / nothing) for name, low, high in spans],
        ([(low + high) / 2 for _, low, high in spans[:-1]] + [math.nan], [0.5] * len(spans)),
        shape="beside",
    )  # fmt: skip


def reliability(data: Labelled, confidence: float) -> Figure:
    """Posteriors under the uniform prior beside the frequencies of what they predict."""
    D = data.evidence.n_classes
    if (data.counts == 0).any():
        raise InputError("Every class must have samples for reliability; some class has none.")
    (curve,) = reliability_curves(data, confidence=confidence)
    of = shorten(data.evidence.classes[-1]) if D == 2 else "the likeliest class"
    canvas = Canvas(linear(f"posterior of {of}", 0, 1), linear("observed frequency", 0, 1),
                    height=380, snap="xy")  # fmt: skip
    edges = np.linspace(0, 1, len(curve.histogram) + 1)
    scale = 0.2 / max(float(curve.histogram.max()), 1e-300)
    canvas.bars(edges[:-1], edges[1:], scale * curve.histogram, 6)
    canvas.rule([0, 1], [0, 1])
    canvas.whiskers(curve.predicted, curve.low, curve.high, 0)
    canvas.line(curve.predicted, curve.observed, 0)
    canvas.points(curve.predicted, curve.observed, 0, "dot")
    columns = (curve.predicted, curve.observed, curve.low, curve.high, curve.count)
    return Figure(
        "reliability",
        f"Of all samples with a posterior of 0.8, eight in ten should be right: points then lie on "
        f"the dotted line. Bars are {100 * confidence:g} % intervals; the histogram shows how "
        f"often each posterior occurs. Every class has the same weight, whatever the prior.",
        canvas,
        (Key("point", 0, "observed frequency"), Key("rule", 0, "calibrated"),
         Key("bar", 6, "spread of the posteriors")),
        ("mean posterior", "observed", "low", "high", "samples"),
        [*zip(*(column.tolist() for column in columns), strict=True)],
        (curve.predicted, curve.observed),
    )  # fmt: skip


def training_curve(history: Sequence[Mapping[str, float]], what: str) -> Figure:
    """One of the numbers of each epoch: "loss" or "score"."""
    _, label, reading = TRAINING[what]
    pairs = [(float(h.get("epoch", n)), float(h[what])) for n, h in enumerate(history) if what in h]
    x, y = np.array(pairs, dtype=float).reshape(-1, 2).T
    if not np.isfinite(y).any():
        raise InputError(f"The history must hold a finite {what}; it holds none.")
    keep = thin_curve(x, y)
    x, y = x[keep], np.where(np.isfinite(y[keep]), y[keep], np.nan)
    canvas = Canvas(
        linear("epoch", float(x.min()), float(x.max())), linear(label, *central(y, 0.02), room=0.06)
    )
    canvas.line(x, y, 0 if what == "loss" else 1, dashes=0)
    best = int(np.nanargmin(y))
    if what == "score":
        canvas.points(x[best : best + 1], y[best : best + 1], 1, "ring")
    seconds = sum(float(h.get("seconds", 0.0)) for h in history)
    took = f" {len(history):,} epochs in {number(seconds)} s." if seconds > 0 else ""
    return Figure(
        f"training-{what}",
        f"{reading} The best is {number(float(y[best]), 4)}, at epoch {number(float(x[best]))}."
        f"{took}",
        canvas,
        (),
        ("epoch", f"{what} (nat)"),
        np.column_stack([x, y]).tolist(),
        (x, y),
    )
