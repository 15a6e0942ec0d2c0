"""Figures of the LLRs of two classes: spread, errors, cost, and evidence of the evidence."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from deciban.assessment.wording import number, percent, shorten
from deciban.evidence import Evidence
from deciban.evidence.units import from_nats, to_nats
from deciban.exceptions import InputError
from deciban.metrics import (
    det_curve,
    eer,
    empirical_cross_entropy_curve,
    idempotence,
    tippett_curve,
)
from deciban.metrics.labelled import Scores, Trials
from deciban.metrics.pav import pool
from deciban.plots.histogram import bin_count
from deciban.report.drawing import (
    Canvas,
    Figure,
    Floats,
    Key,
    central,
    class_keys,
    linear,
    probits,
    thin_curve,
)

_MANY = 100_000  # LLRs of a class above which the cost over priors is that of group means
_GROUPS = 20_000
_MOST = 4000  # samples for kernel densities, whose cost is the square of their number
_FEWEST = 10  # samples of a class for a density
_BINS = 50


def llr_axis_label(pair: Trials) -> str:
    """Label of an axis of LLRs."""
    return (
        f"LLR for {shorten(pair.pos_label, 14)} against {shorten(pair.other_label, 14)} (deciban)"
    )


def histogram(pair: Trials) -> Figure:
    """How the LLRs of each class are spread."""
    names = (pair.pos_label, pair.other_label)
    edges, notes = _bin_edges(pair)
    llrs = (from_nats(scores.llr, "deciban") for scores in (pair.target, pair.other))
    counts = [np.histogram(np.clip(llr, edges[0], edges[-1]), edges)[0] for llr in llrs]
    shares = [100 * c / max(c.sum(), 1) for c in counts]
    top = np.maximum(*shares)
    canvas = Canvas(
        linear(llr_axis_label(pair), float(edges[0]), float(edges[-1])),
        linear("share of the class (%)", 0, 1.06 * float(top.max())),
    )
    for k, share in enumerate(shares):
        canvas.bars(edges[:-1], edges[1:], share, k)
    canvas.rule([0, 0], [0, 2 * top.max()])
    return Figure(
        "llr-histogram",
        f"To the right of zero the evidence supports {shorten(names[0], 40)}, to the left "
        f"{shorten(names[1], 40)}; 10 decibans are a factor of ten. The less the two overlap, the "
        f"more the evidence says.",
        canvas,
        class_keys("bar", names),
        ("from (deciban)", "to (deciban)", *(f"samples of {name}" for name in names)),
        [*zip(edges[:-1].tolist(), edges[1:].tolist(), *(c.tolist() for c in counts), strict=True)],
        ((edges[:-1] + edges[1:]) / 2, top),
        notes,
    )


def _bin_edges(pair: Trials) -> tuple[Floats, list[str]]:
    """Edges of the bins, and notes on the LLRs beyond them."""
    llr = np.asarray(from_nats(pair.llr, "deciban"))
    low, high = central(llr)
    if not high > low:
        low, high = low - 1, high + 1
    notes = []
    infinite, far = int(np.isinf(llr).sum()), llr[np.isfinite(llr) & ((llr < low) | (llr > high))]
    if infinite:
        notes.append(f"{infinite:,} infinite {_ratios(infinite)} in the outermost bins.")
    if far.size:
        reach = f"from {number(float(far.min()))} to {number(float(far.max()))} deciban"
        notes.append(f"{far.size:,} {_ratios(far.size)} further out, {reach}, in the outermost "
                     f"bins.")  # fmt: skip
    return np.linspace(low, high, bin_count(len(llr)) + 1), notes


def _ratios(count: int) -> str:
    return "ratio is" if count == 1 else "ratios are"


def tippett(pair: Trials) -> Figure:
    """Cumulative distributions of the LLRs of each class."""
    names = (pair.pos_label, pair.other_label)
    curve = tippett_curve(pair.y_true, pair.llr)
    x = np.asarray(from_nats(curve.llr, "deciban"))
    low, high = central(x)
    canvas = Canvas(
        linear(llr_axis_label(pair), low, high, room=0.03), linear("share at or above (%)", 0, 100)
    )
    canvas.rule([0, 0], [0, 100])
    keep = thin_curve(np.clip(x, low, high), curve.target + curve.other)
    shares = [100 * share for share in (curve.target, curve.other)]
    for k, share in enumerate(shares):
        # The curves go on to both sides: all samples lie above -inf, those at +inf above all.
        last = float(share[-1]) if np.isinf(x[-1]) else 0.0
        after = np.concatenate([share[keep], [last, last]])  # what is left past each of them
        canvas.line(np.concatenate([[-np.inf], x[keep], [np.inf]]), after, k, steps=True)
    wrong = (percent(float(np.mean(pair.other.llr > 0))),
             percent(float(np.mean(pair.target.llr < 0))))  # fmt: skip
    return Figure(
        "tippett",
        f"How much of each class has a ratio of at least this size. Misleading evidence: "
        f"{wrong[0]} of {shorten(names[1], 40)} lies above zero, {wrong[1]} of "
        f"{shorten(names[0], 40)} below.",
        canvas,
        class_keys("line", names),
        ("LLR (deciban)", *(f"{name} at or above (%)" for name in names)),
        np.column_stack([x, *shares])[keep].tolist(),
        (x[keep], shares[0][keep]),
    )


def det(pair: Trials) -> Figure:
    """Misses against false alarms, over all thresholds."""
    a, b = pair.pos_label, pair.other_label
    rates, equal = det_curve(pair.y_true, pair.llr), eer(pair.y_true, pair.llr)
    fewest = min(len(pair.target.llr), len(pair.other.llr))
    low = min(max(0.5 / fewest, 1e-6), 0.02)  # less than one error cannot be seen
    high = min(max(0.5, 2.5 * equal), 0.99)
    canvas = Canvas(
        probits(f"{shorten(b)} taken for {shorten(a)} (%)", low, high),
        probits(f"{shorten(a)} missed (%)", low, high),
        height=380,
        snap="xy",
    )
    canvas.rule([low, high], [low, high])
    x, y = rates.p_false_alarm, rates.p_miss
    keep = thin_curve(np.clip(canvas.x.along(x), 0, 1), np.clip(canvas.y.along(y), 0, 1))
    x, y, threshold = x[keep], y[keep], np.asarray(from_nats(rates.threshold[keep], "deciban"))
    canvas.line(x, y, 0)
    if equal >= low:
        canvas.points([equal], [equal], 1, "ring")
        canvas.write(equal, equal, f"EER {percent(equal, 3)}", anchor="start", shift=(9, -7))
    in_view = (np.minimum(x, y) >= low) & (np.maximum(x, y) <= high)
    return Figure(
        "det",
        f"Each point is a threshold: fewer misses cost more false alarms. At the equal-error rate "
        f"both are {percent(equal, 3)}. Nearer to the lower left is better.",
        canvas,
        (Key("line", 0, "all thresholds"), Key("rule", 0, "equal error rates")),
        ("threshold (deciban)", f"{a} missed (%)", f"{b} taken for {a} (%)"),
        np.column_stack([threshold, 100 * y, 100 * x]).tolist(),
        (np.where(in_view, x, np.nan), y),
        () if equal >= low else ("The errors are fewer than these samples can show.",),
    )


def cross_entropy(pair: Trials) -> Figure:
    """What the posteriors cost over all priors."""
    target, other = (_group_neighbors(scores.llr) for scores in (pair.target, pair.other))
    some = Trials(target, other)
    curve = empirical_cross_entropy_curve(some.y_true, some.llr, sample_weight=some.weight)
    x = np.asarray(from_nats(curve.log_odds, "deciban"))
    finite = curve.actual[np.isfinite(curve.actual)]
    top = min(2.0, max([1.0, *finite.tolist()])) * 1.05
    canvas = Canvas(
        linear(f"prior log-odds of {shorten(pair.pos_label)} (deciban)", float(x[0]), float(x[-1])),
        linear("cross-entropy (bit)", 0, top),
    )
    canvas.rule(x, curve.neutral)
    for k, cost in enumerate((curve.actual, curve.minimum)):
        canvas.line(x, np.where(np.isinf(cost), np.nan, cost), k)
    notes = []
    if np.isinf(curve.actual).any():
        notes.append("As it is, the cost is infinite: the evidence has ruled out a true class.")
    elif (curve.actual > top).any():
        notes.append(
            "Where the curve leaves the frame, the cost is over twice that of no evidence."
        )
    columns = (x, expit(curve.log_odds), curve.actual, curve.minimum, curve.neutral)
    return Figure(
        "cross-entropy",
        "Uncertainty that remains after the evidence, for every prior. The gap between the two "
        "curves is what calibration would save; above the dotted line, the evidence does harm.",
        canvas,
        (Key("line", 0, "as it is"), Key("line", 1, "after recalibration (PAV)"),
         Key("rule", 0, "without evidence")),
        ("prior log-odds (deciban)", f"prior of {pair.pos_label}", "as it is (bit)",
         "recalibrated (bit)", "without evidence (bit)"),
        np.column_stack(columns).tolist(),
        (x, curve.actual),
        notes,
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
        "If an LLR is treated as a score, which LLR does that score deserve? For calibrated "
        "evidence the same one: points and line follow the dotted line. Where their ends bend "
        "towards zero, the samples are too few to support stronger ratios.",
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
            f"Both classes must have {_FEWEST} samples with finite ratios for this figure; one has "
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
    # The evidence as given, not limited to what the samples can support.
    return evidence.llr(1, 0, "deciban"), again.llr(1, 0, "deciban"), notes


def _group_neighbors(llr: Floats) -> Scores:
    """Very many LLRs as the means of groups of neighbors, weighted by size."""
    ordered = np.sort(llr)
    starts = np.arange(0, len(llr), max(1, len(llr) // _GROUPS) if len(llr) > _MANY else 1)
    # Infinite LLRs stay by themselves.
    starts = np.union1d(starts, np.searchsorted(ordered, [-np.finfo(float).max, np.inf]))
    starts = starts[starts < len(llr)]
    size = np.diff(np.append(starts, len(llr)))
    return Scores(np.add.reduceat(ordered, starts) / size, size / len(llr))
