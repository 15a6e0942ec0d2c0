"""A three-hypothesis update and a calibrated Gaussian family, as tables, a figure and a page.

    python examples/demo.py --output build/demo

A recording is in Czech, Polish or Slovak. Its sounds and its words are two independent pieces of
evidence. They add up, a prior is added, and a decision is taken under costs. Then the family of
perfectly calibrated recognisers with given separations between the languages is drawn.
"""

import argparse
import html
import io
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from deciban import Basis, CalibratedGaussian, Evidence
from deciban.simplex import closure, ilr, ilr_inv

CLASSES = ("Czech", "Polish", "Slovak")
COLOURS = ("#0072B2", "#D55E00", "#009E73")  # Okabe and Ito: told apart by every kind of eye
PRIOR = (0.5, 0.3, 0.2)
SOUNDS = (0.30, 0.08, 0.25)
WORDS = (0.15, 0.05, 0.60)
COSTS = ((0, 4, 1), (4, 0, 4), (1, 4, 0))  # the truth on rows, the decision in columns
DIVERGENCES = ((0, 5, 4), (5, 0, 7), (4, 7, 0))


# --- what is computed -------------------------------------------------------------------


def update():
    """The evidence, piece by piece and in total, as rows of a table."""
    pieces = {
        "sounds": Evidence.from_likelihoods([SOUNDS], CLASSES),
        "words": Evidence.from_likelihoods([WORDS], CLASSES),
    }
    pieces["both"] = pieces["sounds"] + pieces["words"]
    rows = []
    for name, evidence in pieces.items():
        llr = evidence.llr("Slovak", "Czech", unit="deciban")[0]
        rows.append(
            {
                "evidence": name,
                "Slovak against Czech (deciban)": f"{llr:+.1f}",
                "in words (ENFSI)": str(evidence.verbal("Slovak", "Czech")[0]),
                "strength (deciban)": f"{evidence.strength('deciban')[0]:.1f}",
                **{
                    f"P({label})": f"{p:.3f}"
                    for label, p in zip(CLASSES, evidence.posterior(PRIOR)[0], strict=True)
                },
                "decision": str(evidence.decide(COSTS, PRIOR)[0]),
            }
        )
    return pieces, rows


def describe(family, seed):
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


# --- what is drawn ----------------------------------------------------------------------


def ellipse(family, k, mass):
    """The ILRLs at the edge of the smallest region that holds this mass under class k."""
    angle = np.linspace(0, 2 * np.pi, 361)
    circle = np.sqrt(-2 * np.log1p(-mass)) * np.column_stack([np.cos(angle), np.sin(angle)])
    return family.means[k] + circle @ family.cholesky.T


def boundaries(reach):
    """Rays between the regions where each class is the most likely."""
    V = Basis.gram_schmidt(3).contrast
    rays = -V / np.linalg.norm(V, axis=1, keepdims=True)
    return [np.outer([0, reach], ray) for ray in rays]


def label_ilr_axes(ax, reach):
    for ray in boundaries(3 * reach):
        ax.plot(*ray.T, color="0.6", lw=1, ls=":", zorder=0)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    ax.set_xlabel("$l_1$ (nat): Czech (+) against Polish (−)")
    ax.set_ylabel("$l_2$ (nat): Czech, Polish (+) against Slovak (−)")


def draw_update(ax, pieces):
    """Bayes' rule as a walk from the prior to the posterior."""
    reach = 3.2
    label_ilr_axes(ax, reach)
    V = Basis.gram_schmidt(3).contrast
    for k, label in enumerate(CLASSES):
        direction = V[k] / np.linalg.norm(V[k])
        ax.text(*(0.88 * reach * direction), label, color=COLOURS[k], ha="center", weight="bold")
    here = ilr(np.array(PRIOR))
    ax.plot(*here, "o", color="k")
    ax.annotate("prior", here, (-6, 8), textcoords="offset points", ha="right")
    for name in ("sounds", "words"):
        there = here + pieces[name].ilr()[0]
        arrow = {"arrowstyle": "-|>", "color": "k", "lw": 1.6, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", there, here, arrowprops=arrow)
        ax.annotate(
            f"+ {name}",
            (here + there) / 2,
            xytext=(8, 4),
            textcoords="offset points",
            style="italic",
        )
        here = there
    ax.plot(*here, "s", color="k")
    ax.annotate("posterior", here, (-8, -14), textcoords="offset points", ha="right")
    ax.set_title("Bayes' rule is a vector sum")


def draw_family(ax, ternary, family, seed):
    """Samples and contours of the family, in ILR space and on the simplex."""
    reach = 14
    label_ilr_axes(ax, reach)
    for k, label in enumerate(CLASSES):
        l = family.sample(label, rng=seed + k, size=150)
        style = {"color": COLOURS[k], "alpha": 0.35, "lw": 0}
        ax.scatter(*l.T, s=9, **style)
        ternary.scatter(*ilr_inv(l).T, s=9, **style)
        for mass, dashes in ((0.5, "-"), (0.9, (0, (4, 1.5)))):
            edge = ellipse(family, k, mass)
            ax.plot(*edge.T, color=COLOURS[k], lw=1.5, ls=dashes)
            ternary.plot(*ilr_inv(edge).T, color=COLOURS[k], lw=1.5, ls=dashes)
        outwards = family.basis.contrast[k]
        tip = edge[np.argmax(edge @ outwards)] + 2.2 * outwards / np.linalg.norm(outwards)
        ax.text(*tip, label, color=COLOURS[k], ha="center", va="center", weight="bold")
    for ray in boundaries(40):
        path = ilr_inv(np.linspace(0, 1, 200)[:, None] * ray[1])
        ternary.plot(*path.T, color="0.6", lw=1, ls=":", zorder=0)
    ax.set_title("Calibrated family: 50 % (solid), 90 % (dashed)")
    for axis, label, colour in zip("tlr", CLASSES, COLOURS, strict=True):
        getattr(ternary, f"set_{axis}label")(label, color=colour, weight="bold")
        side = getattr(ternary, f"{axis}axis")
        side.set_ticks([0.2, 0.4, 0.6, 0.8])
        side.set_tick_params(labelcolor=colour)  # whose share the numbers are
    ternary.set_title("The same on the simplex", pad=30)


def figure(pieces, family, seed):
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt
    import mpltern  # noqa: F401  registers the ternary projection

    fig = plt.figure(figsize=(13.5, 4.8), layout="constrained")
    left, middle = fig.add_subplot(1, 3, 1), fig.add_subplot(1, 3, 2)
    right = fig.add_subplot(1, 3, 3, projection="ternary")
    draw_update(left, pieces)
    draw_family(middle, right, family, seed)
    return fig


# --- what is written --------------------------------------------------------------------


def text_table(rows):
    widths = {key: max(len(key), *(len(row[key]) for row in rows)) for key in rows[0]}
    lines = ["  ".join(key.ljust(width) for key, width in widths.items())]
    lines += ["  ".join(row[key].ljust(width) for key, width in widths.items()) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


def html_table(rows):
    head = "".join(f"<th scope='col'>{html.escape(key)}</th>" for key in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(value)}</td>" for value in row.values()) + "</tr>"
        for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div class='wide'>{table}</div>"


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>deciban: a demonstration</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
       color: #1a1a1a; background: #fff }}
.wide {{ overflow-x: auto }}
table {{ border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }}
td {{ min-width: 4rem }}
th, td {{ text-align: left; padding: .35rem .9rem .35rem 0; border-bottom: 1px solid #ccc }}
svg {{ width: 100%; height: auto; min-width: 52rem; background: #fff }}
</style></head><body>
<h1>deciban: a demonstration</h1>
<p>A recording is in Czech, Polish or Slovak. The prior probabilities are {prior}. To confuse Czech
with Slovak costs 1, to confuse either with Polish costs 4.</p>
<h2>Evidence adds up</h2>
{update}
<h2>What perfectly calibrated recognisers look like</h2>
<p>The divergences between the languages fix everything else: the covariance, the means, the error
rates. The expected cross-entropy over all three is {entropy}, which is what the prior alone leaves
when each language is as likely.</p>
{family}
<div class="wide" role="img" aria-label="Three panels: the walk from prior to posterior in the plane
of isometric log-ratios; samples and contours of the calibrated family in that plane; the same on
the ternary simplex.">{figure}</div>
<p>Made by <code>examples/demo.py</code> with seed {seed}.</p>
</body></html>
"""


def write_whole(path, data):
    """Write a file whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.chmod(name, 0o644)
    os.replace(name, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("build/demo"), help="folder to write")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()

    pieces, update_rows = update()
    family = CalibratedGaussian.from_divergences(DIVERGENCES, classes=CLASSES)
    family_rows = describe(family, args.seed)
    value, error = family.expected_cross_entropy(unit="bit", rng=args.seed)
    entropy = f"{value:.4f} ± {error:.4f} bit of {np.log2(3):.4f}"

    prior = ", ".join(f"{c} {p:.2f}" for c, p in zip(CLASSES, closure(PRIOR), strict=True))
    print(f"Prior: {prior}\n\n{text_table(update_rows)}\n")
    print(f"{text_table(family_rows)}\n\nExpected cross-entropy: {entropy}\n")

    try:
        fig = figure(pieces, family, args.seed)
    except ImportError as missing:
        sys.exit(f"{missing.name} must be installed to draw. Run: pip install 'deciban[plot]'")
    svg = io.StringIO()
    fig.savefig(svg, format="svg")
    page = PAGE.format(
        prior=prior,
        update=html_table(update_rows),
        family=html_table(family_rows),
        entropy=entropy,
        figure=svg.getvalue()[svg.getvalue().index("<svg") :],
        seed=args.seed,
    )
    png = io.BytesIO()
    fig.savefig(png, format="png", dpi=110)
    args.output.mkdir(parents=True, exist_ok=True)
    write_whole(args.output / "figure.png", png.getvalue())
    write_whole(args.output / "index.html", page.encode())
    print(f"Open {args.output / 'index.html'}")


if __name__ == "__main__":
    main()
