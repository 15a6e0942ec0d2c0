"""Figures of how a model was trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from deciban.assessment.wording import number
from deciban.exceptions import InputError
from deciban.report.drawing import Canvas, Figure, central, linear, thin_curve

FIGURES = {  # title, label of the axis, how to read it
    "loss": ("Training loss", "loss (nat per sample)",
             "What training minimizes, on the samples that the model learns from."),
    "score": ("Cross-entropy of held-out samples", "cross-entropy (nat)",
              "The same model on samples that it has not learned from: where this rises while the "
              "loss falls, the model overfits."),
}  # fmt: skip


def training_curve(history: Sequence[Mapping[str, float]], what: str) -> Figure:
    """One of the numbers of each epoch: "loss" or "score"."""
    _, label, reading = FIGURES[what]
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
