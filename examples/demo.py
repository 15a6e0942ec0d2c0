"""Evidence that adds up, a calibrated family, and evidence learnt from data, as a page.

    python examples/demo.py --output build/demo

A recording is in Czech, Polish or Slovak. Its sounds and its words are two independent pieces of
evidence. They add up, a prior is added, and a decision is taken under costs. Then the family of
perfectly calibrated recognisers with given separations between the languages is drawn. Last, a
compositional discriminant analysis (CDA) learns to give evidence: on two moons, where the best
possible result is known, and on small images of handwritten digits.
"""

import argparse
import html
import io
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from deciban import (
    CalibratedGaussian,
    CompositionalDiscriminantAnalysis,
    Evidence,
    LinearDiscriminant,
    QuadraticDiscriminant,
    metrics,
)
from deciban.datasets import moons
from deciban.plots import ILRDisplay, PairwiseDisplay, TernaryDisplay
from deciban.simplex import closure

CLASSES = ("Czech", "Polish", "Slovak")
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


def learn(data, held_out, shrinkage, seed):
    """A CDA fitted to data, and a table of how good evidence of held-out samples is."""
    new, truth = held_out
    models = {
        "linear": LinearDiscriminant(shrinkage=shrinkage),
        "quadratic": QuadraticDiscriminant(shrinkage=shrinkage),
        "compositional": CompositionalDiscriminantAnalysis(random_state=seed),
    }
    rows = []
    for name, model in models.items():
        evidence = model.fit(*data).evidence(new)
        rows.append({"discriminant analysis": name, **quality(truth, evidence)})
    return models["compositional"], rows


def quality(truth, evidence):
    parts = metrics.decompose(truth, evidence, unit="bit")
    return {
        "cross-entropy (bit)": f"{parts.total:.4f}",
        "of which calibration (bit)": f"{parts.calibration:.4f}",
        "accuracy": f"{metrics.accuracy(truth, evidence):.2%}",
    }


def learn_moons(seed):
    """On the two moons, beside the best that any classifier can do."""
    population = moons()
    data, held_out = (
        population.sample(n, random_state=seed + k) for k, n in enumerate((10_000, 20_000))
    )
    cda, rows = learn(data, held_out, 0.0, seed)
    new, truth = held_out
    best = population.evidence(new)
    rows.append({"discriminant analysis": "the true densities", **quality(truth, best)})
    return cda, data, rows


def learn_digits(seed):
    """On half of the digits; the other half is judged."""
    images, digit = load_digits(return_X_y=True)
    X, new, y, truth = train_test_split(
        images, digit, test_size=0.5, stratify=digit, random_state=seed
    )
    cda, rows = learn((X, y), (new, truth), 0.1, seed)
    return cda, (new, truth), rows


# --- what is drawn ----------------------------------------------------------------------


def figure(pieces, family, seed):
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt
    import mpltern  # noqa: F401  registers the ternary projection

    fig = plt.figure(figsize=(13.5, 4.8), layout="constrained")
    left, middle = fig.add_subplot(1, 3, 1), fig.add_subplot(1, 3, 2)
    right = fig.add_subplot(1, 3, 3, projection="ternary")
    walk = {name: pieces[name] for name in ("sounds", "words")}
    ILRDisplay(pieces["both"]).plot_update(PRIOR, walk, left)
    ILRDisplay.from_family(family, n_samples=150, seed=seed, ax=middle)
    TernaryDisplay.from_family(family, n_samples=150, seed=seed, ax=right)
    left.set_title("Bayes' rule is a vector sum")
    middle.set_title("Calibrated family: 50 % and 90 % of each class")
    right.set_title("The same on the simplex", pad=30)
    return fig


def learnt_figure(moons, moons_data, digits, digits_data):
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    fig, (left, right) = plt.subplots(1, 2, figsize=(13.5, 5.2), layout="constrained")
    x, y = np.linspace(-1.8, 2.8, 160), np.linspace(-1.4, 1.9, 120)
    grid = np.column_stack([a.ravel() for a in np.meshgrid(x, y)])
    llr = moons.evidence(grid).llr(1, 0, unit="deciban").reshape(len(y), len(x))
    shades = left.contourf(x, y, llr, np.linspace(-50, 50, 11), cmap="PuOr", extend="both")
    left.contour(x, y, llr, [0.0], colors="k", linewidths=1.5)
    X, truth = moons_data
    for label, marker, color in ((0, "o", "#7f3b08"), (1, "^", "#2d004b")):
        some = X[truth == label][:150]
        left.scatter(
            *some.T, s=18, marker=marker, c=color, ec="w", linewidths=0.4, label=f"moon {label}"
        )
    fig.colorbar(shades, ax=left, label="evidence for moon 1 against moon 0 (deciban)")
    left.set(title="Learnt from 10,000 points (300 drawn)", xlabel="x", ylabel="y", aspect=1)
    left.legend(loc="upper right")
    new, truth = digits_data
    PairwiseDisplay.from_predictions(truth, digits.evidence(new), ax=right)
    right.set_title("Cost of telling two digits apart (bit)")
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
<h2>Evidence learnt from data</h2>
<p>Compositional discriminant analysis learns an invertible map whose first dimensions are
calibrated evidence. Two moons of 10,000 points, judged on 20,000 others:</p>
{moons}
<p>Handwritten digits, images of 8 x 8 pixels, learnt from one half (898 images), judged on the
other; the linear and the quadratic analysis with a shrinkage of 0.1:</p>
{digits}
<div class="wide" role="img" aria-label="Left: the evidence that the discriminant analysis gives for
one moon against the other, as a map with the points. Right: for each pair of digits the cost of the
evidence that tells them apart, of images that were held out.">{learnt}</div>
<p>Made by <code>examples/demo.py</code> with seed {seed}.</p>
</body></html>
"""


def as_svg(fig):
    svg = io.StringIO()
    fig.savefig(svg, format="svg")
    return svg.getvalue()[svg.getvalue().index("<svg") :]


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

    moons, moons_data, moons_rows = learn_moons(args.seed)
    print(f"Two moons, learnt from 10,000 points\n\n{text_table(moons_rows)}\n")
    digits, digits_data, digits_rows = learn_digits(args.seed)
    print(f"Handwritten digits, learnt from 898 images\n\n{text_table(digits_rows)}\n")

    try:
        fig = figure(pieces, family, args.seed)
        learnt = learnt_figure(moons, moons_data, digits, digits_data)
    except ImportError as missing:
        sys.exit(f"{missing.name} must be installed to draw. Run: pip install 'deciban[plot]'")
    page = PAGE.format(
        prior=prior,
        update=html_table(update_rows),
        family=html_table(family_rows),
        entropy=entropy,
        figure=as_svg(fig),
        moons=html_table(moons_rows),
        digits=html_table(digits_rows),
        learnt=as_svg(learnt),
        seed=args.seed,
    )
    args.output.mkdir(parents=True, exist_ok=True)
    for name, drawn in (("figure", fig), ("learnt", learnt)):
        png = io.BytesIO()
        drawn.savefig(png, format="png", dpi=110)
        write_whole(args.output / f"{name}.png", png.getvalue())
    write_whole(args.output / "index.html", page.encode())
    print(f"Open {args.output / 'index.html'}")


if __name__ == "__main__":
    main()
