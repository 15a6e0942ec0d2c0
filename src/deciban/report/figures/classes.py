"""Figures of three classes and more: each pair of them, the plane of ILRLs, the triangle."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from itertools import combinations

import numpy as np

from deciban.assessment import Assessment
from deciban.assessment.wording import number, percent, shorten
from deciban.evidence import Evidence, from_nats
from deciban.exceptions import InputError
from deciban.metrics.labelled import Labelled
from deciban.plots import PairwiseDisplay
from deciban.plots._plane import is_finite, toward_infinity
from deciban.report.drawing import Axis, Canvas, Figure, Floats, class_keys, linear
from deciban.simplex import Basis

_MOST_POINTS = 1200
_MOST_CLASSES = 100  # of the map; the hardest of them
_MOST_ROWS = 5000  # pairs of classes in the table
_WITH_NUMBERS = 12
_WITH_NAMES = 25
_HARDEST = " Of all classes, these three are hardest to tell apart."


def hardest_classes(data: Labelled, difficulty: Floats) -> list[int]:
    """Positions of the classes hardest to tell apart: the worst pair, and the worst third to it."""
    present = np.flatnonzero(data.counts > 0).tolist()
    if len(present) < 2:
        raise InputError("y_true must hold two classes; it holds fewer. Add samples of another.")
    pair = max(combinations(present, 2), key=lambda pair: difficulty[pair])
    others = [k for k in present if k not in pair]
    third = sorted(others, key=lambda k: -difficulty[k, list(pair)].sum())[:1]
    return [*pair, *third]


def restrict_samples(data: Labelled, positions: list[int]) -> Labelled:
    """The samples of some classes, and what the evidence says about these alone.

    Evidence that rules all of them out says nothing about them; such samples are left out.
    """
    values = data.evidence.log_likelihoods[:, positions]
    rows = np.isin(data.codes, positions) & np.isfinite(values).any(axis=1)
    place = np.full(data.evidence.n_classes, -1)
    place[positions] = np.arange(len(positions))
    names = [data.evidence.classes[k] for k in positions]
    return Labelled(Evidence(values[rows], names), place[data.codes[rows]])


# --- each pair of classes -----------------------------------------------------------------


def pairwise(assessment: Assessment) -> Figure:
    """A map of what it costs to tell each pair of classes apart."""
    tables = (assessment.pairwise_cllr, assessment.pairwise_cllr_min)
    actual, minimum = (np.asarray(table, dtype=float) for table in tables)
    cost = np.nan_to_num(actual, nan=-1.0, posinf=1e9)
    drawn = np.sort(np.argsort(-cost.max(axis=1), kind="stable")[:_MOST_CLASSES])
    inner = np.ix_(drawn, drawn)
    matrix = PairwiseDisplay(actual[inner], minimum[inner]).matrix
    finite = matrix[np.isfinite(matrix)]
    top = min(1.0, float(finite.max(initial=0.0))) or 1.0
    names = [assessment.classes[k] for k in drawn]
    canvas = _map(matrix, names, top)
    for i, j in np.argwhere(~np.isnan(matrix)):
        a, b = (number(float(table[inner][i, j])) for table in (actual, minimum))
        canvas.mark(j, i, f"{shorten(names[i], 30)} / {shorten(names[j], 30)}\nas it is: {a} bit\n"
                          f"recalibrated: {b} bit")  # fmt: skip
    notes = []
    if len(drawn) < len(assessment.classes):
        notes.append(f"Of {len(assessment.classes):,} classes the {len(drawn)} hardest are drawn.")
    if (matrix > 1).any():
        notes.append("Orange pairs cost more than no evidence: there, the evidence does harm.")
    i, j = np.triu_indices(len(cost), 1)
    order = np.argsort(-cost[i, j], kind="stable")[:_MOST_ROWS]
    return Figure(
        "pairwise",
        f"Cost (Cllr, bit) of telling one class from another: above the diagonal as it is, below "
        f"it after recalibration. The strongest color is {number(top)} bit; 0 is perfect, 1 is "
        f"the cost of no evidence.",
        canvas,
        (),
        ("class", "class ", "as it is (bit)", "recalibrated (bit)"),
        [
            (*(str(assessment.classes[k]) for k in pair), float(actual[pair]), float(minimum[pair]))
            for pair in zip(i[order].tolist(), j[order].tolist(), strict=True)
        ],
        notes=notes,
        shape="beside",
    )


def _map(matrix: Floats, names: Sequence[Hashable], top: float) -> Canvas:
    D = len(names)
    labels = [shorten(name, 14) for name in names]
    longest = max(map(len, labels))
    room = 14 + 6.6 * longest
    side = 340.0 if D <= 6 else 440.0
    turned = longest * D > 40
    bottom = 0.72 * room + 12 if turned else 28
    canvas = Canvas(
        Axis("", -0.5, D - 0.5), Axis("", D - 0.5, -0.5), width=side + room + 16,
        height=side + 14 + bottom, left=room, bottom=bottom, snap="xy", frame=False,
    )  # fmt: skip
    harm = matrix > 1
    canvas.cells(np.where(harm, np.nan, matrix / top), 0)
    canvas.cells(np.where(harm, np.where(np.isinf(matrix), 1.0, 0.75), np.nan), 1)
    for k in range(0, D, 1 if D <= _WITH_NAMES else math.ceil(D / 12)):
        canvas.write(-0.5, k, labels[k], anchor="end", shift=(-6, 4), look="tick end")
        look, right = ("tick end", 4) if turned else ("tick", 0)
        canvas.write(k, D - 0.5, labels[k], shift=(right, 16), look=look, turned=turned)
    for i, j in np.argwhere(~np.isnan(matrix)) if D <= _WITH_NUMBERS else ():
        look = "inside dark" if matrix[i, j] / top > 0.5 else "inside"
        canvas.write(j, i, number(float(matrix[i, j]), 2), look=look, shift=(0, 4))
    return canvas


# --- three classes ------------------------------------------------------------------------


def plane(data: Labelled, all_classes: bool) -> Figure:
    """Three classes in the plane of their ILRLs, where Bayes' rule is a sum."""
    some, notes = _sample_points(data)
    names = some.evidence.classes
    basis = Basis(Basis.gram_schmidt(3).contrast, names)
    l, outside, reach = _in_view(some, basis)
    a, b, c = (shorten(name, 10) for name in names)
    x_axis = linear(f"{a} against {b} (ILR, deciban)", -reach, reach)
    y_axis = linear(f"{a}, {b} against {c} (ILR, deciban)", -reach, reach)
    canvas = Canvas(x_axis, y_axis, height=432, snap="xy", bottom=52)
    for k, corner in enumerate(basis.contrast):
        away = -3 * reach * corner / np.linalg.norm(corner)  # where class k comes last
        canvas.rule([0, away[0]], [0, away[1]])
        canvas.points(l[some.codes == k, 0], l[some.codes == k, 1], k)
    for k, corner in enumerate(basis.contrast):
        at = 0.9 * reach * corner / np.abs(corner).max()
        anchor = "start" if at[0] < -0.3 * reach else "end" if at[0] > 0.3 * reach else "middle"
        canvas.write(at[0], at[1], shorten(names[k], 16), look=f"named s{k}", anchor=anchor)
    if outside:
        notes.append(f"{outside:,} beyond the frame, or infinite, are drawn on it.")
    return Figure(
        "ilr-plane",
        "Each point is a sample. Evidence at the center says nothing; further out, it is stronger. "
        "On dotted lines the likeliest class changes. An ILR is a log-ratio scaled so that "
        "distances are strengths: for two classes, the LLR over the root of two."
        + ("" if all_classes else _HARDEST),
        canvas,
        class_keys("point", names),
        ("ILR 1 (deciban)", "ILR 2 (deciban)", "true class"),
        _rows(l, some),
        (l[:, 0], l[:, 1]),
        notes,
    )


def ternary(data: Labelled, all_classes: bool) -> Figure:
    """Three classes in a triangle: posteriors under the uniform prior."""
    some, notes = _sample_points(data)
    names, posterior = some.evidence.classes, some.evidence.posterior()
    corners = np.array([[0.5, math.sqrt(3) / 2], [0.0, 0.0], [1.0, 0.0]])
    xy = posterior @ corners
    canvas = Canvas(
        Axis("", 0, 1), Axis("", 0, math.sqrt(3) / 2), width=440, height=412, left=34, right=34,
        top=32, bottom=58, snap="xy", frame=False,
    )  # fmt: skip
    _draw_triangle(canvas, corners)
    canvas.write(0.5, 0, "probability (of the right corner, along the floor)", look="tick",
                 shift=(0, 48))  # fmt: skip
    places = (("middle", (0, -10)), ("start", (-24, 38)), ("end", (24, 38)))
    for k, (anchor, shift) in enumerate(places):
        canvas.points(xy[some.codes == k, 0], xy[some.codes == k, 1], k)
        canvas.write(corners[k, 0], corners[k, 1], shorten(names[k], 20),
                     look=f"named s{k}", anchor=anchor, shift=shift)  # fmt: skip
    right = float(np.mean(posterior.argmax(axis=1) == some.codes))
    return Figure(
        "ternary",
        f"Each point is a sample, with even priors: the nearer to a corner, the more probable that "
        f"class. Dotted lines separate the decisions; {percent(right)} of these points are on "
        f"their own side." + ("" if all_classes else _HARDEST),
        canvas,
        class_keys("point", names),
        (*(f"posterior of {name}" for name in names), "true class"),
        _rows(posterior, some),
        (xy[:, 0], xy[:, 1]),
        notes,
    )


def _draw_triangle(canvas: Canvas, corners: Floats) -> None:
    middle = corners.mean(axis=0)
    for k in range(3):
        ends = corners[[(k + 1) % 3, (k + 2) % 3]]
        canvas.line(ends[:, 0], ends[:, 1], 6, dashes=0)
        half = ends.mean(axis=0)
        canvas.rule([middle[0], half[0]], [middle[1], half[1]])
        for share in (0.2, 0.4, 0.6, 0.8):
            at = (1 - share) * ends + share * corners[k]
            canvas.rule(at[:, 0], at[:, 1], "grid")
    for share in (0.2, 0.4, 0.6, 0.8):
        canvas.write(share, 0, f"{share:g}", look="tick", shift=(0, 16))


def _rows(values: Floats, some: Labelled) -> list[tuple[object, ...]]:
    names = [str(some.evidence.classes[k]) for k in some.codes]
    return [(*row, name) for row, name in zip(values.tolist(), names, strict=True)]


def _sample_points(data: Labelled) -> tuple[Labelled, list[str]]:
    """Few enough samples to draw, each class with an equal share where it has it, and a note."""
    if data.evidence.n_classes != 3:
        raise InputError("Three classes with samples are needed for this figure; there are fewer.")
    rng, share = np.random.default_rng(0), _MOST_POINTS // 3
    rows = np.sort(np.concatenate([rng.permutation(mine)[:share] for mine in data.rows_by_class]))
    if len(rows) == len(data.codes):
        return data, []
    note = f"A random {len(rows):,} of {len(data.codes):,} samples, chosen within each class."
    return data.select(rows), [note]


def _in_view(some: Labelled, basis: Basis) -> tuple[Floats, int, float]:
    """ILRLs in decibans, those outside of the view on its frame, how many, and its half width."""
    finite = is_finite(some.evidence)
    l = np.empty((len(some.evidence), 2))
    l[finite] = from_nats(some.evidence[finite].ilr(basis), "deciban")
    size = np.abs(l[finite]).max(axis=1) if finite.any() else np.ones(1)
    reach = float(min(size.max(), 1.5 * np.quantile(size, 0.99))) or 1.0
    l[~finite] = 9 * reach * toward_infinity(some.evidence[~finite], basis)
    size = np.abs(l).max(axis=1)
    out = size > reach
    l[out] *= (reach / size[out])[:, None]
    return l, int(out.sum()), 1.02 * reach
