"""Figures of the LLRs of two classes: histograms, Tippett, DET and empirical cross-entropy."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from deciban.assessment.wording import number, percent, short
from deciban.evidence import from_nats
from deciban.metrics import ErrorRates, det_curve, eer, empirical_cross_entropy_curve, tippett_curve
from deciban.report.figures.drawing import Canvas, Figure, Key, pair_keys
from deciban.report.figures.samples import Pair
from deciban.report.figures.scales import central, linear, probits, thinned


def llr_axis_label(pair: Pair) -> str:
    """The label of an axis of LLRs."""
    return f"LLR for {short(pair.a, 14)} against {short(pair.b, 14)} (deciban)"


# --- histograms -------------------------------------------------------------------------


def histogram(pair: Pair) -> Figure:
    """How the LLRs of each class are spread."""
    edges, notes = _edges(pair)
    inside = (np.clip(pair.of(k), edges[0], edges[-1]) for k in (True, False))
    counts = [np.histogram(llr, edges)[0] for llr in inside]
    shares = [100 * c / max(c.sum(), 1) for c in counts]
    top = max(float(s.max()) for s in shares)
    canvas = Canvas(
        linear(llr_axis_label(pair), float(edges[0]), float(edges[-1])),
        linear("share of the class (%)", 0, 1.06 * top),
    )
    for k, share in enumerate(shares):
        canvas.bars(edges[:-1], edges[1:], share, k)
    canvas.rule([0, 0], [0, 2 * top])
    return Figure(
        "llr-histogram",
        "Histogram of the log-likelihood ratios",
        f"To the right of zero the evidence supports {short(pair.a, 40)}, to the left "
        f"{short(pair.b, 40)}; 10 decibans are a factor of ten. The less the two overlap, the more "
        f"the evidence tells.",
        canvas,
        pair_keys("bar", pair.a, pair.b),
        ("from (deciban)", "to (deciban)", f"samples of {pair.a}", f"samples of {pair.b}"),
        _marked_bins(canvas, pair, edges, counts, shares),
        notes,
    )


def _marked_bins(
    canvas: Canvas,
    pair: Pair,
    edges: np.ndarray,
    counts: list[np.ndarray],
    shares: list[np.ndarray],
) -> list[tuple[float, ...]]:
    """Say what each bin holds; the row of each for the table."""
    rows: list[tuple[float, ...]] = []
    for i, (low, high) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        rows.append((low, high, *(int(c[i]) for c in counts)))
        said = "\n".join(
            f"{short(name)}: {number(float(s[i]))} % ({c[i]:,})"
            for name, s, c in zip((pair.a, pair.b), shares, counts, strict=True)
        )
        words = f"{number(low)} to {number(high)} deciban\n{said}"
        canvas.mark((low + high) / 2, max(float(s[i]) for s in shares), words)
    return rows


def _edges(pair: Pair) -> tuple[np.ndarray, tuple[str, ...]]:
    """Edges of the bins, and what is to be said of the LLRs beyond them."""
    llr = pair.decibans
    low, high = central(llr)
    if not high > low:
        low, high = low - 1, high + 1
    bins = min(60, max(10, math.ceil(3 * np.cbrt(len(llr) / 2))))
    notes = []
    infinite, far = int(np.isinf(llr).sum()), np.isfinite(llr) & ((llr < low) | (llr > high))
    if infinite:
        notes.append(f"{infinite:,} infinite {_ratios(infinite)} in the outermost bins.")
    if far.any():
        reach = f"from {number(float(llr[far].min()))} to {number(float(llr[far].max()))} deciban"
        count = int(far.sum())
        notes.append(f"{count:,} {_ratios(count)} further out, {reach}, in the outermost bins.")
    return np.linspace(low, high, bins + 1), tuple(notes)


def _ratios(count: int) -> str:
    return "ratio is" if count == 1 else "ratios are"


# --- over all thresholds ----------------------------------------------------------------


def tippett(pair: Pair) -> Figure:
    """Cumulative distributions of the LLRs of each class."""
    curve = tippett_curve(pair.y_true, pair.llr)
    x = np.asarray(from_nats(curve.llr, "deciban"))
    low, high = central(x)
    canvas = Canvas(
        linear(llr_axis_label(pair), low, high, room=0.03), linear("share at or above (%)", 0, 100)
    )
    canvas.rule([0, 0], [0, 100])
    keep = thinned(np.clip(x, low, high), curve.target + curve.other)
    shares = [100 * share for share in (curve.target, curve.other)]
    for k, share in enumerate(shares):
        # The curves go on to both sides: all samples lie above -inf, those at +inf above all.
        last = float(share[-1]) if np.isinf(x[-1]) else 0.0
        after = np.concatenate([share[keep], [last, last]])  # what is left past each of them
        canvas.line(np.concatenate([[-np.inf], x[keep], [np.inf]]), after, k, steps=True)
    rows = [tuple(float(column[i]) for column in (x, *shares)) for i in keep.tolist()]
    for at, target, other in rows:
        said = f"{short(pair.a)}: {number(target)} %\n{short(pair.b)}: {number(other)} %"
        canvas.mark(at, target, f"LLR of {number(at)} deciban or more\n{said}")
    wrong = percent(float(np.mean(pair.of(False) > 0))), percent(float(np.mean(pair.of(True) < 0)))
    return Figure(
        "tippett",
        "Tippett plot",
        f"How much of each class has a ratio of at least this size. Misleading evidence: "
        f"{wrong[0]} of {short(pair.b, 40)} lies above zero, {wrong[1]} of {short(pair.a, 40)} "
        f"below.",
        canvas,
        pair_keys("line", pair.a, pair.b),
        ("LLR (deciban)", f"{pair.a} at or above (%)", f"{pair.b} at or above (%)"),
        rows,
    )


def det(pair: Pair) -> Figure:
    """Misses against false alarms, over all thresholds."""
    rates, equal = det_curve(pair.y_true, pair.llr), eer(pair.y_true, pair.llr)
    fewest = min(int(pair.y_true.sum()), int((1 - pair.y_true).sum()))
    low = min(max(0.5 / fewest, 1e-6), 0.02)  # less than one error cannot be seen
    high = min(max(0.5, 2.5 * equal), 0.99)
    canvas = Canvas(
        probits(f"{short(pair.b)} taken for {short(pair.a)} (%)", low, high),
        probits(f"{short(pair.a)} missed (%)", low, high),
        height=380,
        snap="xy",
    )
    canvas.rule([low, high], [low, high])
    x, y = rates.p_false_alarm, rates.p_miss
    keep = thinned(*(np.clip(axis.along(r), 0, 1) for axis, r in ((canvas.x, x), (canvas.y, y))))
    canvas.line(x[keep], y[keep], 0)
    rows = _marked_thresholds(canvas, rates, keep, (low, high))
    if equal >= low:
        canvas.points([equal], [equal], 1, "ring")
        canvas.write(equal, equal, f"EER {percent(equal, 3)}", anchor="start", shift=(9, -7))
    return Figure(
        "det",
        "Detection error trade-off",
        f"Each point is a threshold: fewer misses cost more false alarms. At the equal-error rate "
        f"both are {percent(equal, 3)}. Nearer to the lower left is better.",
        canvas,
        (Key("line", 0, "all thresholds"), Key("rule", 0, "equal error rates")),
        ("threshold (deciban)", f"{pair.a} missed (%)", f"{pair.b} taken for {pair.a} (%)"),
        rows,
        () if equal >= low else ("The errors are fewer than these samples can show.",),
    )


def _marked_thresholds(
    canvas: Canvas, rates: ErrorRates, keep: np.ndarray, view: tuple[float, float]
) -> list[tuple[float, ...]]:
    """Say what each threshold in view leads to; the row of each for the table."""
    rows: list[tuple[float, ...]] = []
    for i in keep.tolist():
        miss, alarm = float(rates.p_miss[i]), float(rates.p_false_alarm[i])
        at = float(from_nats(rates.threshold[i], "deciban"))
        rows.append((at, 100 * miss, 100 * alarm))
        if view[0] <= min(alarm, miss) and max(alarm, miss) <= view[1]:
            said = f"missed: {percent(miss, 3)}\nfalse alarms: {percent(alarm, 3)}"
            canvas.mark(alarm, miss, f"threshold {number(at)} deciban\n{said}")
    return rows


# --- over all priors --------------------------------------------------------------------


def cross_entropy(pair: Pair) -> Figure:
    """What the posteriors cost over all priors."""
    y_true, llr, weight = pair.grouped()
    curve = empirical_cross_entropy_curve(y_true, llr, sample_weight=weight)
    x = np.asarray(from_nats(curve.log_odds, "deciban"))
    finite = curve.actual[np.isfinite(curve.actual)]
    top = min(2.0, max([1.0, *finite.tolist()])) * 1.05
    canvas = Canvas(
        linear(f"prior log-odds of {short(pair.a)} (deciban)", float(x[0]), float(x[-1])),
        linear("cross-entropy (bit)", 0, top),
    )
    canvas.rule(x, curve.neutral)
    for k, cost in enumerate((curve.actual, curve.minimum)):
        canvas.line(x, np.where(np.isinf(cost), np.nan, cost), k)
    columns = (x, expit(curve.log_odds), curve.actual, curve.minimum, curve.neutral)
    rows = [tuple(float(column[i]) for column in columns) for i in range(len(x))]
    for at, prior, actual, best, none in rows:
        canvas.mark(
            at,
            actual,
            f"prior of {short(pair.a)}: {percent(prior, 3)}\nas it is: {number(actual)} bit\n"
            f"recalibrated: {number(best)} bit\nwithout evidence: {number(none)} bit",
        )
    return Figure(
        "cross-entropy",
        "Empirical cross-entropy",
        "What is left to learn after the evidence, for every prior. The gap between the two curves "
        "is what calibration would save; above the dotted line, the evidence does harm.",
        canvas,
        (Key("line", 0, "as it is"), Key("line", 1, "after recalibration (PAV)"),
         Key("rule", 0, "without evidence")),
        ("prior log-odds (deciban)", f"prior of {pair.a}", "as it is (bit)", "recalibrated (bit)",
         "without evidence (bit)"),
        rows,
        _beyond(curve.actual, top),
    )  # fmt: skip


def _beyond(cost: np.ndarray, top: float) -> tuple[str, ...]:
    if np.isinf(cost).any():
        return ("As it is, the cost is infinite: a class was ruled out that was the true one.",)
    if (cost > top).any():
        return ("Where the cost leaves the frame, it is above twice that of no evidence.",)
    return ()
