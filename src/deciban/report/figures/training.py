"""Figures of how a model was trained."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from deciban.assessment.wording import number
from deciban.exceptions import InputError
from deciban.report.figures.drawing import Canvas, Figure
from deciban.report.figures.scales import central, linear, thinned

TITLES = {
    "loss": ("Training loss", "loss (nat a sample)", "What training brings down, on the samples "
             "that the model learns from."),
    "score": ("Cross-entropy of the samples set aside", "cross-entropy (nat)", "The same model on "
              "samples it has not learnt from: where this rises while the loss falls, it learns by "
              "heart."),
}  # fmt: skip


def curve(history: Sequence[Mapping[str, float]], what: str) -> Figure:
    """One of the numbers of each epoch: "loss" or "score"."""
    title, label, reading = TITLES[what]
    pairs = [(float(h.get("epoch", n)), float(h[what])) for n, h in enumerate(history) if what in h]
    x, y = np.array(pairs, dtype=float).reshape(-1, 2).T
    if not np.isfinite(y).any():
        raise InputError(f"The history must hold a finite {what}; it holds none.")
    keep = thinned(x, y)
    x, y = x[keep], y[keep]
    low, high = central(y, 0.02)
    canvas = Canvas(
        linear("epoch", float(x.min()), float(x.max())), linear(label, low, high, room=0.06)
    )
    canvas.line(x, y, 0 if what == "loss" else 1, dashes=0)
    best = int(np.nanargmin(np.where(np.isfinite(y), y, np.nan)))
    if what == "score":
        canvas.points(x[best : best + 1], y[best : best + 1], 1, "ring")
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if math.isfinite(b):
            canvas.mark(a, b, f"epoch {number(a)}\n{what}: {number(b, 4)} nat")
    seconds = sum(float(h.get("seconds", 0.0)) for h in history)
    took = f" {len(history):,} epochs in {number(seconds)} s." if seconds > 0 else ""
    return Figure(
        f"training-{what}",
        title,
        f"{reading} The best is {number(float(y[best]), 4)}, at epoch {number(float(x[best]))}."
        f"{took}",
        canvas,
        (),
        ("epoch", f"{what} (nat)"),
        list(zip(x.tolist(), y.tolist(), strict=True)),
    )
