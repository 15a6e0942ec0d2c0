"""Figures of calibration: what it would save, reliability, and evidence of the evidence."""

from __future__ import annotations

import math

import numpy as np

from deciban.assessment.verdicts import Cost
from deciban.assessment.wording import number, shorten
from deciban.evidence import Evidence
from deciban.evidence.units import from_nats, to_nats
from deciban.exceptions import InputError
from deciban.metrics import idempotence
from deciban.metrics.labelled import Labelled, Trials
from deciban.metrics.pav import pool
from deciban.metrics.reliability import reliability_curves
from deciban.report.drawing import Axis, Canvas, Figure, Floats, Key, central, linear
from deciban.report.figures.ratios import llr_axis_label

_MOST = 4000  # samples for kernel densities, whose cost is the square of their number
_FEWEST = 10  # samples of a class for a density
_BINS = 50


def decomposition(cost: Cost) -> Figure:
    """The cost of the evidence as a bar: what it cannot tell, and what calibration would save."""
    total, calibration, unit = cost.total.value, cost.calibration.corrected, cost.unit
    if not (math.isfinite(total) and math.isfinite(calibration)):
        raise InputError(
            f"The parts of a cost of {number(total)} {unit} are known where no sample rules out a "
            f"class, and each class has two samples or more."
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
        f"The cost is {number(total)} {unit}. Calibration would save {number(calibration)} {unit}; "
        f"{number(discrimination)} {unit} is what the evidence cannot tell. The pale part up to "
        f"the dotted line is what it gains over no evidence.",
        canvas,
        (Key("solid", 0, "discrimination: what it cannot tell"),
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
        raise InputError("Every class must have samples for reliability; some has none.")
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
        f"Of all samples with a posterior of 0.8, eight in ten should be right: points on the "
        f"dotted line. Bars are {100 * confidence:g} % intervals; the histogram below shows how "
        f"often each posterior occurs. Every class has the same weight.",
        canvas,
        (Key("point", 0, "observed frequency"), Key("rule", 0, "calibrated"),
         Key("bar", 6, "spread of the posteriors")),
        ("mean posterior", "observed", "low", "high", "samples"),
        [*zip(*(column.tolist() for column in columns), strict=True)],
        (curve.predicted, curve.observed),
    )  # fmt: skip


def evidence_of_evidence(pair: Trials) -> Figure:
    """The LLR of the LLR against the LLR, by kernel densities and by PAV."""
    llr, again, notes = _llr_of_llr(pair)
    edges = np.linspace(*central(llr), _BINS + 1)
    place = np.clip(np.searchsorted(edges, llr, side="right") - 1, 0, _BINS - 1)
    count = np.bincount(place, minlength=_BINS)
    used = count > 0
    here, there = (np.bincount(place, v, _BINS)[used] / count[used] for v in (llr, again))
    pooled = from_nats(pool(pair).transform(to_nats(here, "deciban")), "deciban")
    shown = np.concatenate([here, there, pooled[np.isfinite(pooled)]])
    ends = (float(shown.min()), float(shown.max()))
    canvas = Canvas(
        linear(llr_axis_label(pair), *ends, room=0.04),
        linear("LLR of the LLR (deciban)", *ends, room=0.04),
        height=380,
        snap="xy",
    )
    canvas.rule(ends, ends)
    canvas.line(here, np.where(np.isfinite(pooled), pooled, np.nan), 1)
    canvas.points(here, there, 0, "dot")
    columns = (here, there, pooled, count[used])
    return Figure(
        "idempotence",
        "Taken as a mere score, what does a ratio mean? For calibrated evidence, what it says: "
        "points and line on the dotted line. Ends that bend towards the middle are where the "
        "samples are too few to support more.",
        canvas,
        (Key("point", 0, "by kernel densities"), Key("line", 1, "by PAV"),
         Key("rule", 0, "calibrated")),
        ("LLR (deciban)", "by kernel densities (deciban)", "by PAV (deciban)", "samples"),
        [*zip(*(column.tolist() for column in columns), strict=True)],
        (here, there),
        notes,
    )  # fmt: skip


def _llr_of_llr(pair: Trials) -> tuple[Floats, Floats, list[str]]:
    """Finite LLRs and LLRs of them in decibans, of at most 4,000 samples, and notes."""
    finite = [one.llr[np.isfinite(one.llr)] for one in (pair.target, pair.other)]
    fewest = min(len(llr) for llr in finite)
    if fewest < _FEWEST:
        raise InputError(
            f"Both classes must have {_FEWEST} samples with finite ratios for this; one has "
            f"{fewest}."
        )
    n_finite, each = sum(len(llr) for llr in finite), _MOST // 2
    if n_finite > _MOST:
        rng = np.random.default_rng(0)
        finite = [x if len(x) <= each else rng.choice(x, each, replace=False) for x in finite]
    labels = np.repeat([1, 0], [len(llr) for llr in finite])
    evidence = Evidence.from_llr(np.concatenate(finite))
    again = idempotence(labels, evidence, n_resamples=0, n_draws=0).again
    notes = []
    if n_finite < len(pair.llr):
        notes.append(f"{len(pair.llr) - n_finite:,} infinite ratios are left out.")
    if len(labels) < n_finite:
        notes.append(f"A random {len(labels):,} of {n_finite:,} samples are used.")
    # Against what was said, not what of it the samples can support.
    return evidence.llr(1, 0, "deciban"), again.llr(1, 0, "deciban"), notes
