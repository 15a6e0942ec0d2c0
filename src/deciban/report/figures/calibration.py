"""Figures of calibration: what it would save, reliability, and evidence of the evidence."""

from __future__ import annotations

import math

import numpy as np

from deciban.assessment.wording import number, percent, short
from deciban.evidence import Evidence, from_nats
from deciban.exceptions import InputError
from deciban.metrics import idempotence as judged
from deciban.metrics import pav
from deciban.plots.reliability import Reliability, bin_posteriors, predicted_events
from deciban.report.figures.drawing import Canvas, Figure, Key
from deciban.report.figures.ratios import llr_axis_label
from deciban.report.figures.samples import Pair, Samples
from deciban.report.figures.scales import Axis, central, linear

_MOST = 4000  # samples whose densities meet each other
_FEWEST = 10  # samples of a class from which a density can be guessed
_BINS = 50


def decomposition(parts: tuple[float, float, float], nothing: float, unit: str) -> Figure:
    """The cost of the evidence as a bar: what is left to learn, and what calibration would save.

    Parts are the total, the calibration part and the discrimination part; nothing is what saying
    nothing costs.
    """
    total, calibration, discrimination = parts
    if math.isfinite(total) and not math.isfinite(calibration):
        raise InputError(
            "The cost can be taken apart where no class is ruled out by any sample, and each class "
            "has two samples or more; here it cannot."
        )
    if not all(math.isfinite(part) for part in parts):
        raise InputError(
            f"The cost must be finite to be taken apart; it is {number(total)} {unit}: a true "
            f"class was ruled out, or the classes have too few samples."
        )
    canvas = Canvas(
        linear(f"cost ({unit})", 0, max(1.1 * nothing, 1.05 * total)),
        Axis("", 0, 1, ()),
        height=150,
        left=16,
        top=34,
    )
    rows = _stacked(canvas, total, discrimination, nothing, unit)
    return Figure(
        "decomposition",
        "What the evidence costs, and why",
        f"The cost is {number(total)} {unit}, of which {number(calibration)} {unit} would go with "
        f"calibration; {number(discrimination)} {unit} is what the evidence cannot tell. The pale "
        f"part up to the dotted line is what it has told.",
        canvas,
        (Key("solid", 0, "cannot be told apart (discrimination)"),
         Key("solid", 1, "would go with calibration"), Key("bar", 2, "told by the evidence")),
        ("part", f"cost ({unit})", "share of saying nothing (%)"),
        rows,
        shape="beside",
    )  # fmt: skip


def _stacked(
    canvas: Canvas, total: float, discrimination: float, nothing: float, unit: str
) -> list[tuple[str, float, float]]:
    """Draw the parts one after the other; the row of each for the table."""
    spans = [("discrimination", 0.0, discrimination, 0), ("calibration", discrimination, total, 1)]
    if total < nothing:
        spans.append(("told", total, nothing, 2))
    rows = []
    for name, low, high, k in spans:
        canvas.box((low, high), (0.18, 0.82), k, "faint" if name == "told" else "solid")
        size, share = high - low, (high - low) / nothing
        said = f"{name}: {number(size)} {unit}\n{percent(share)} of saying nothing"
        canvas.mark((low + high) / 2, 0.5, said)
        rows.append((name, size, 100 * share))
    canvas.rule([nothing, nothing], [0, 1])
    words = f"saying nothing: {number(nothing)} {unit}"
    canvas.write(nothing, 1, words, anchor="end", shift=(8, -8))
    return [*rows, ("total", total, 100 * total / nothing)]


def reliability(samples: Samples, confidence: float) -> Figure:
    """Posteriors under the uniform prior beside the frequencies of what they are of."""
    D = samples.evidence.n_classes
    if (samples.counts == 0).any():
        raise InputError("Every class must have samples for reliability; some has none.")
    prior = np.full(D, 1 / D)
    weight = (prior / samples.counts)[samples.truth]
    (event,) = predicted_events(samples.evidence, samples.truth, prior, None, None)
    curve = bin_posteriors(*event, weight, 10, confidence)
    of = short(samples.evidence.classes[-1]) if D == 2 else "the likeliest class"
    canvas, rows = _with_intervals(curve, f"posterior of {of}")
    sure = f"{100 * confidence:g} %"
    return Figure(
        "reliability",
        "Reliability",
        f"Of all samples given a posterior of 0.8, eight in ten should be right: points on the "
        f"dotted line. Bars are {sure} intervals; the histogram below shows how often each "
        f"posterior occurs. Every class counts alike.",
        canvas,
        (Key("point", 0, "observed frequency"), Key("rule", 0, "calibrated"),
         Key("bar", 6, "spread of the posteriors")),
        ("mean posterior", "observed", "low", "high", "samples"),
        rows,
    )  # fmt: skip


def _with_intervals(curve: Reliability, label: str) -> tuple[Canvas, list[tuple[float, ...]]]:
    canvas = Canvas(linear(label, 0, 1), linear("observed frequency", 0, 1), height=380, snap="xy")
    edges = np.linspace(0, 1, len(curve.histogram) + 1)
    scale = 0.2 / max(float(curve.histogram.max()), 1e-300)
    canvas.bars(edges[:-1], edges[1:], scale * curve.histogram, 6)
    canvas.rule([0, 1], [0, 1])
    canvas.whiskers(curve.predicted, curve.low, curve.high, 0)
    canvas.line(curve.predicted, curve.observed, 0)
    canvas.points(curve.predicted, curve.observed, 0, "dot")
    rows: list[tuple[float, ...]] = []
    columns = (curve.predicted, curve.observed, curve.low, curve.high, curve.count)
    for p, seen, low, high, count in zip(*(c.tolist() for c in columns), strict=True):
        rows.append((p, seen, low, high, int(count)))
        said = f"observed: {number(seen)} ({number(low)} to {number(high)})"
        said = f"posterior: {number(p)}\n{said}\n{int(count):,} samples"
        canvas.mark(p, seen, said)
    return canvas, rows


def idempotence(pair: Pair) -> Figure:
    """The LLR of the LLR against the LLR, by kernel densities and by PAV."""
    finite = np.flatnonzero(np.isfinite(pair.llr))
    fewest = int(np.bincount(pair.y_true[finite], minlength=2).min())
    if fewest < _FEWEST:
        raise InputError(
            f"Both classes must have {_FEWEST} samples with finite ratios for this; one has "
            f"{fewest}."
        )
    x, again = _again(pair, finite)
    here, there, count = _in_bins(x, again)
    canvas, rows = _against_itself(pair, here, there, count)
    return Figure(
        "idempotence",
        "Evidence of the evidence",
        "Taken as a mere score, what does a ratio mean? For calibrated evidence, what it says: "
        "points and line on the dotted line. Ends that bend to the middle are where the samples "
        "are too few to support more.",
        canvas,
        (Key("point", 0, "by kernel densities"), Key("line", 1, "by PAV"),
         Key("rule", 0, "means what it says")),
        ("LLR (deciban)", "by kernel densities (deciban)", "by PAV (deciban)", "samples"),
        rows,
        _left_out(len(pair.llr), len(finite), len(x)),
    )  # fmt: skip


def _against_itself(
    pair: Pair, here: np.ndarray, there: np.ndarray, count: np.ndarray
) -> tuple[Canvas, list[tuple[float, ...]]]:
    """What LLRs mean against what they say; the row of each bin for the table."""
    pooled = _pooled(pair, here)
    shown = np.concatenate([here, there, pooled[np.isfinite(pooled)]])
    bottom, top = float(shown.min()), float(shown.max())
    canvas = Canvas(
        linear(llr_axis_label(pair), bottom, top, room=0.04),
        linear("LLR of the LLR (deciban)", bottom, top, room=0.04),
        height=380,
        snap="xy",
    )
    canvas.rule([bottom, top], [bottom, top])
    canvas.line(here, np.where(np.isfinite(pooled), pooled, np.nan), 1)
    canvas.points(here, there, 0, "dot")
    rows: list[tuple[float, ...]] = []
    for a, b, c, n in zip(here.tolist(), there.tolist(), pooled.tolist(), count, strict=True):
        rows.append((a, b, c, int(n)))
        said = f"says: {number(a)} deciban\nmeans: {number(b)} (kernel), {number(c)} (PAV)"
        canvas.mark(a, b, said)
    return canvas, rows


def _left_out(every: int, finite: int, taken: int) -> tuple[str, ...]:
    notes = []
    if finite < every:
        notes.append(f"{every - finite:,} infinite ratios are left out.")
    if taken < finite:
        notes.append(f"Of {finite:,} samples {taken:,} were taken by chance.")
    return tuple(notes)


def _in_bins(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means of both in bins of x, and how many samples each bin has; none is empty."""
    edges = np.linspace(*central(x), _BINS + 1)
    place = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, _BINS - 1)
    count = np.bincount(place, minlength=_BINS)
    used = count > 0
    here, there = (np.bincount(place, v, _BINS)[used] / count[used] for v in (x, y))
    return here, there, count[used]


def _again(pair: Pair, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """LLRs and LLRs of them in decibans, of samples that are not too many."""
    if len(rows) > _MOST:  # before evidence is made of ten million of them
        rng, each = np.random.default_rng(0), _MOST // 2
        groups = (rows[pair.y_true[rows] == k] for k in (0, 1))
        rows = np.concatenate(
            [g if len(g) <= each else rng.choice(g, each, replace=False) for g in groups]
        )
    evidence = Evidence.from_llr(pair.llr[rows])
    found = judged(pair.y_true[rows], evidence, n_resamples=0, n_draws=0)
    # Against what was said, not what of it the samples can support.
    return evidence.llr(1, 0, "deciban"), found.again.llr(1, 0, "deciban")


def _pooled(pair: Pair, at: np.ndarray) -> np.ndarray:
    """Recalibrated LLRs in decibans; infinite where a block holds one class."""
    y_true, llr, weight = pair.grouped()
    blocks = pav(y_true, llr, sample_weight=weight)
    scale = math.log(10) / 10
    return np.asarray(from_nats(blocks.transform(at * scale), "deciban"))
