"""Figures of three classes and more: each two of them, the plane of ILRLs, the triangle."""

from __future__ import annotations

import math

import numpy as np

from deciban.assessment.results import Assessment
from deciban.assessment.wording import number, percent, short
from deciban.evidence import from_nats
from deciban.exceptions import InputError
from deciban.plots._curves import toward_infinity
from deciban.report.figures.drawing import Canvas, Figure, pair_keys
from deciban.report.figures.samples import Samples
from deciban.report.figures.scales import Axis, linear
from deciban.simplex import Basis

_MOST_POINTS = 1200
_MOST_CLASSES = 100  # of the map; the hardest of them
_WITH_NUMBERS = 12
_WITH_NAMES = 25


def pairwise(assessment: Assessment) -> Figure:
    """A map of what it costs to tell each two classes apart."""
    actual, minimum = (
        np.asarray(c, dtype=float) for c in (assessment.pairwise_cllr, assessment.pairwise_cllr_min)
    )
    kept = _hardest_classes(actual)
    names = [assessment.classes[k] for k in kept]
    inner = np.ix_(kept, kept)
    matrix = np.triu(actual[inner], 1) + np.tril(minimum[inner], -1)
    np.fill_diagonal(matrix, np.nan)
    canvas = _map_of(matrix, names)
    for i, j in np.argwhere(~np.isnan(matrix)):
        a, b = (number(float(cost[inner][i, j])) for cost in (actual, minimum))
        said = f"as it is: {a} bit\nrecalibrated: {b} bit"
        canvas.mark(int(j), int(i), f"{short(names[i], 30)} / {short(names[j], 30)}\n{said}")
    finite = matrix[np.isfinite(matrix)]
    top = min(1.0, float(finite.max(initial=0.0))) or 1.0
    notes = []
    if len(kept) < len(assessment.classes):
        notes.append(f"Of {len(assessment.classes):,} classes the {len(kept)} hardest are drawn.")
    if (matrix > 1).any():
        notes.append("Orange pairs cost more than saying nothing: there, the evidence does harm.")
    return Figure(
        "pairwise",
        "Each two classes",
        f"Cost (Cllr, bit) of telling one class from another: above the diagonal as it is, below "
        f"it after recalibration. The strongest colour is {number(top)} bit; 0 is perfect, 1 is "
        f"what saying nothing costs.",
        canvas,
        (),
        ("class", "class ", "as it is (bit)", "recalibrated (bit)"),
        _pairs(assessment, actual, minimum),
        tuple(notes),
        shape="beside",
    )


def _map_of(matrix: np.ndarray, names: list[object]) -> Canvas:
    D = len(names)
    longest = max(len(short(name, 14)) for name in names)
    room = 14 + 6.6 * longest
    side = 340.0 if D <= 6 else 440.0
    turned = longest * D > 40
    canvas = Canvas(
        Axis("", -0.5, D - 0.5, ()),
        Axis("", D - 0.5, -0.5, ()),
        width=side + room + 16,
        height=side + 14 + (0.72 * room + 12 if turned else 28),
        left=room,
        bottom=0.72 * room + 12 if turned else 28,
        snap="xy",
        frame=False,
    )
    finite = matrix[np.isfinite(matrix)]
    top = min(1.0, float(finite.max(initial=0.0))) or 1.0
    harm = matrix > 1
    canvas.cells(np.where(harm, np.nan, matrix / top), 0)
    canvas.cells(np.where(harm, np.where(np.isinf(matrix), 1.0, 0.75), np.nan), 1)
    every = 1 if D <= _WITH_NAMES else math.ceil(D / 12)
    for k in range(0, D, every):
        name = short(names[k], 14)
        canvas.write(-0.5, k, name, anchor="end", shift=(-6, 4), look="tick end")
        look, right = ("tick end", 4) if turned else ("tick", 0)
        canvas.write(k, D - 0.5, name, shift=(right, 16), look=look, turned=turned)
    if D <= _WITH_NUMBERS:
        _write_costs(canvas, matrix, top)
    return canvas


def _write_costs(canvas: Canvas, matrix: np.ndarray, top: float) -> None:
    for i, j in np.argwhere(~np.isnan(matrix)):
        look = "inside dark" if matrix[i, j] / top > 0.5 else "inside"
        canvas.write(int(j), int(i), _brief(float(matrix[i, j])), look=look, shift=(0, 4))


def _brief(cost: float) -> str:
    if math.isinf(cost):
        return "∞"
    if cost < 0.005:
        return "0" if cost == 0 else "<.01"
    said = f"{cost:.2f}" if cost < 10 else f"{cost:.0f}"
    return said.removeprefix("0") if cost < 0.995 else said


def _hardest_classes(cost: np.ndarray) -> list[int]:
    worst = np.nan_to_num(cost, nan=-1.0, posinf=1e9).max(axis=1)
    return sorted(np.argsort(-worst, kind="stable")[:_MOST_CLASSES].tolist())


def _pairs(a: Assessment, actual: np.ndarray, minimum: np.ndarray) -> list[tuple[object, ...]]:
    """A row for each two classes, the hardest first; of very many, the first five thousand."""
    i, j = np.triu_indices(len(a.classes), 1)
    order = np.argsort(-np.nan_to_num(actual[i, j], nan=-1.0, posinf=1e9), kind="stable")[:5000]
    names = [str(name) for name in a.classes]
    return [
        (names[b], names[c], float(actual[b, c]), float(minimum[b, c]))
        for b, c in zip(i[order].tolist(), j[order].tolist(), strict=True)
    ]


def plane(samples: Samples, all_of_them: bool) -> Figure:
    """Three classes in the plane of their ILRLs, where Bayes' rule is a sum."""
    some = _three(samples).some(_MOST_POINTS)
    names = some.evidence.classes
    basis = Basis(Basis.gram_schmidt(3).contrast, names)
    l, outside, reach = _in_view(some, basis)
    width, height = 440.0, 420.0
    axes = [linear(label, -reach, reach) for label in _labels(names, basis)]
    canvas = Canvas(axes[0], axes[1], width=width, height=height, snap="xy", bottom=52)
    canvas.height = canvas.top + canvas.bottom + (width - canvas.left - canvas.right)
    for k in range(3):
        away = -basis.contrast[k] / np.linalg.norm(basis.contrast[k])  # where class k comes last
        canvas.rule([0, 3 * reach * away[0]], [0, 3 * reach * away[1]])
    rows = _scatter(canvas, some, l[:, 0], l[:, 1])
    for k in range(3):
        at = 0.9 * reach * basis.contrast[k] / np.abs(basis.contrast[k]).max()
        anchor = "start" if at[0] < -0.3 * reach else "end" if at[0] > 0.3 * reach else "middle"
        canvas.write(at[0], at[1], short(names[k], 16), look=f"named s{k}", anchor=anchor)
    notes = [] if len(some.truth) == len(samples.truth) else [_thinned(some, samples)]
    if outside:
        notes.append(f"{outside:,} beyond the frame, or infinite, are drawn on it.")
    which = "" if all_of_them else " Of all classes, these three are hardest to tell apart."
    return Figure(
        "ilr-plane",
        "Evidence in the plane of its log-ratios",
        "Each point is a sample. The centre says nothing; the further out, the stronger; dotted "
        "lines part where each class is the likeliest. An ILR is a log-ratio scaled so that "
        "distances are strengths: of two classes, the LLR over the root of two." + which,
        canvas,
        pair_keys("point", *names),
        ("ILR 1 (deciban)", "ILR 2 (deciban)", "true class"),
        rows,
        tuple(notes),
    )


def ternary(samples: Samples, all_of_them: bool) -> Figure:
    """Three classes in a triangle: posteriors under the uniform prior."""
    some = _three(samples).some(_MOST_POINTS)
    names = some.evidence.classes
    corners = np.array([[0.5, math.sqrt(3) / 2], [0.0, 0.0], [1.0, 0.0]])
    posterior = some.evidence.posterior()
    xy = posterior @ corners
    canvas = Canvas(
        Axis("", 0, 1, ()), Axis("", 0, math.sqrt(3) / 2, ()),
        width=440, height=412, left=34, right=34, top=32, bottom=58, snap="xy", frame=False,
    )  # fmt: skip
    _triangle(canvas, corners)
    canvas.write(
        0.5, 0, "probability (of the right corner, along the floor)", look="tick", shift=(0, 48)
    )
    rows = _scatter(canvas, some, xy[:, 0], xy[:, 1], posterior)
    for k, anchor in enumerate(("middle", "start", "end")):
        at, down = corners[k], (-10 if k == 0 else 38)
        canvas.write(at[0], at[1], short(names[k], 20), look=f"named s{k}", anchor=anchor,
                     shift=(0, down) if k == 0 else (-24 if k == 1 else 24, down))  # fmt: skip
    right = float(np.mean(posterior.argmax(axis=1) == some.truth))
    which = "" if all_of_them else " Of all classes, these three are hardest to tell apart."
    return Figure(
        "ternary",
        "Posteriors in the triangle",
        f"Each point is a sample, with even priors: the nearer to a corner, the more probable that "
        f"class. Dotted lines part the decisions; {percent(right)} of these points are on their "
        f"own side." + which,
        canvas,
        pair_keys("point", *names),
        (*(f"posterior of {name}" for name in names), "true class"),
        rows,
        () if len(some.truth) == len(samples.truth) else (_thinned(some, samples),),
    )


def _triangle(canvas: Canvas, corners: np.ndarray) -> None:
    middle = corners.mean(axis=0)
    for k in range(3):
        a, b = corners[(k + 1) % 3], corners[(k + 2) % 3]
        canvas.line([a[0], b[0]], [a[1], b[1]], 6, dashes=0)
        canvas.rule([middle[0], (a[0] + b[0]) / 2], [middle[1], (a[1] + b[1]) / 2])
    for share in (0.2, 0.4, 0.6, 0.8):
        for k in range(3):
            ends = [(1 - share) * corners[(k + n) % 3] + share * corners[k] for n in (1, 2)]
            canvas.thin(*np.transpose(ends))
        canvas.write(share, 0, f"{share:g}", look="tick", shift=(0, 16))


def _scatter(
    canvas: Canvas, some: Samples, x: np.ndarray, y: np.ndarray, shares: np.ndarray | None = None
) -> list[tuple[object, ...]]:
    """Draw the samples by class; the row of each for the table."""
    names = some.evidence.classes
    posterior = some.evidence.posterior()
    rows: list[tuple[object, ...]] = []
    for k in range(len(names)):
        mine = some.truth == k
        canvas.points(x[mine], y[mine], k)
    for i, k in enumerate(some.truth.tolist()):
        said = "\n".join(
            f"P({short(n)}): {number(p)}" for n, p in zip(names, posterior[i].tolist(), strict=True)
        )
        canvas.mark(float(x[i]), float(y[i]), f"true class: {short(names[k])}\n{said}")
        values = (float(x[i]), float(y[i])) if shares is None else tuple(shares[i].tolist())
        rows.append((*values, str(names[k])))
    return rows


def _three(samples: Samples) -> Samples:
    if samples.evidence.n_classes != 3:
        raise InputError("Three classes with samples are needed for this figure; there are fewer.")
    return samples


def _in_view(some: Samples, basis: Basis) -> tuple[np.ndarray, int, float]:
    """ILRLs in decibans, those outside of the view on its frame, how many, and its half width."""
    finite = np.isfinite(some.evidence.log_likelihoods).all(axis=1)
    l = np.empty((len(some.evidence), 2))
    l[finite] = from_nats(some.evidence[finite].ilr(basis), "deciban")
    size = np.abs(l[finite]).max(axis=1) if finite.any() else np.ones(1)
    reach = float(min(size.max(), 1.5 * np.quantile(size, 0.99))) or 1.0
    l[~finite] = 9 * reach * toward_infinity(some.evidence[~finite], basis)
    size = np.abs(l).max(axis=1)
    out = size > reach
    l[out] *= (reach / size[out])[:, None]
    return l, int(out.sum()), 1.02 * reach


def _labels(names: tuple[object, ...], basis: Basis) -> list[str]:
    """What each coordinate sets against what."""
    labels = []
    for column in basis.contrast.T:
        sides = (
            ", ".join(short(n, 10) for n, v in zip(names, column, strict=True) if sign * v > 1e-9)
            for sign in (1, -1)
        )
        labels.append(" against ".join(sides) + " (ILR, deciban)")
    return labels


def _thinned(some: Samples, samples: Samples) -> str:
    return (
        f"{len(some.truth):,} of {len(samples.truth):,} samples, taken by chance within each class."
    )
