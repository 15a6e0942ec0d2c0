"""Draw every picture of docs/gallery.md from scikit-learn's data, and the page itself.

    python docs/make_gallery.py

Each example below is a function whose body is shown on the page as it stands here.
"""

import inspect
import io
import os
import tempfile
import textwrap
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deciban import Basis, CalibratedGaussian, Evidence, plots

HERE = Path(__file__).parent
SIZE = (4.6, 3.6)  # inches


def cross_validated(model, X, y, classes):
    """Evidence on samples that the model was not trained with, and the names of their classes."""
    log_p = cross_val_predict(model, X, y, cv=5, method="predict_log_proba")
    prior = np.bincount(y) / len(y)
    return Evidence.from_log_posteriors(log_p, prior, classes), np.array(classes)[y]


def data():
    logistic = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
    X, y = load_breast_cancer(return_X_y=True)
    names = ["malignant", "benign"]
    good, truth = cross_validated(logistic, X, y, names)
    bold, _ = cross_validated(GaussianNB(), X, y, names)
    X, y = load_digits(return_X_y=True)
    digits, digit = cross_validated(logistic, X, y, [str(k) for k in range(10)])
    some = np.isin(digit, ["1", "8", "9"])
    return SimpleNamespace(
        good=good,
        bold=bold,
        truth=truth,
        digits=digits,
        digit=digit,
        three=digits[some].restrict(["1", "8", "9"]),
        three_truth=digit[some],
    )


# --- the examples -----------------------------------------------------------------------
# Docstring: a title, what it shows, how to read it.


def histogram(d, ax):
    """LLR histogram.

    The LLRs of both classes, and the calibrated Gaussians N(±d, 2d) that fit them best.
    Calibrated Gaussian LLRs would fill the curves; these are skewed, with a long tail.
    """
    plots.LLRHistogramDisplay.from_predictions(d.truth, d.good, pos_label="malignant", ax=ax)


def infinite(d, ax):
    """LLR histogram with infinite LLRs.

    The same after the posteriors were rounded to three digits: many are 0 or 1 then.
    LLRs of ±∞ stand in bins of their own; one on the wrong side makes Cllr infinite.
    """
    rounded = Evidence.from_posteriors(d.good.posterior().round(3), None, d.good.classes)
    plots.LLRHistogramDisplay.from_predictions(
        d.truth, rounded, pos_label="malignant", unit="deciban", ax=ax
    )


def pav(d, ax):
    """PAV plot.

    LLRs of naive Bayes against what they should have been, by pool adjacent violators.
    Right of the identity above zero and left of it below: the evidence is far too strong.
    """
    plots.PAVDisplay.from_predictions(d.truth, d.bold, pos_label="malignant", ax=ax)


def tippett(d, ax):
    """Tippett plot.

    Which share of each class has an LLR of x or more.
    The further apart at 0 the better; what is on the wrong side of 0 misleads.
    """
    plots.TippettDisplay.from_predictions(d.truth, d.good, pos_label="malignant", ax=ax)


def det(d, ax):
    """DET plot.

    Misses against false alarms on probit axes, for two systems; the ring is the equal-error rate.
    Lower left is better; the dotted line is the convex hull, all that thresholds can reach.
    """
    plots.DETDisplay.from_predictions(
        d.truth, d.good, pos_label="malignant", name="logistic regression", hull=True, ax=ax
    )
    plots.DETDisplay.from_predictions(
        d.truth, d.bold, pos_label="malignant", name="naive Bayes", ax=ax
    )


def cross_entropy(d, ax):
    """Empirical cross-entropy.

    What the LLRs cost at each prior: as they are, recalibrated, and with no LLRs at all.
    The gap to the minimum is miscalibration; above the neutral line the LLRs do harm.
    """
    plots.EmpiricalCrossEntropyDisplay.from_predictions(
        d.truth, d.bold, pos_label="malignant", ax=ax
    )


def bayes_error(d, ax):
    """Normalized Bayes error.

    The error rate of decisions at each prior, over that of deciding by the prior alone.
    Above 1 the LLRs do harm; the gap to the minimum is a threshold at the wrong place.
    """
    plots.NormalizedBayesErrorDisplay.from_predictions(
        d.truth, d.good, pos_label="malignant", ax=ax
    )


def reliability(d, ax):
    """Reliability.

    How often what has posterior probability p is true, each bin with its 95 % interval.
    On the identity posteriors mean what they say; these are of naive Bayes, too near to 0 and 1.
    """
    plots.ReliabilityDisplay.from_predictions(
        d.truth, d.bold, pos_label="malignant", n_bins=8, ax=ax
    )


def reliability_of_ten(d, ax):
    """Reliability of the decided class.

    For ten digits: how often the decision is right, against its posterior probability.
    Above the identity the classifier is too modest, below it too sure.
    """
    plots.ReliabilityDisplay.from_predictions(d.digit, d.digits, ax=ax)


def idempotence(d, ax):
    """Idempotence.

    LLRs against the LLRs of the LLRs, from kernel densities of the LLRs of each class.
    Calibrated evidence lies on the identity: it is its own evidence. Too sure: it turns flat.
    """
    plots.IdempotenceDisplay.from_predictions(
        d.truth, d.good, a="malignant", b="benign", ax=ax, band=0.5
    )


def idempotence_of_three(d, ax):
    """Idempotence of three classes.

    Arrows from the evidence about three digits to the evidence of it, from Gaussian densities.
    Calibrated evidence has short arrows; arrows that point outwards say that it is too weak.
    """
    plots.IdempotenceDisplay.from_predictions(d.three_truth, d.three, density="gaussian", ax=ax)


def plane(d, ax):
    """The plane of ILRLs.

    Evidence about three digits; kernel contours hold half and nine tenths of each class.
    Grey: where the most likely digit changes. Further out is stronger evidence.
    """
    plots.ILRDisplay.from_predictions(d.three_truth, d.three, contours="kernel", ax=ax)


def family(d, ax):
    """A calibrated Gaussian family.

    The same plane for the calibrated Gaussian family that fits the digits best.
    The boundaries are those of a prior and of costs: the 8 is rare, and to miss it costs 5.
    """
    fitted = CalibratedGaussian.fit(d.three, d.three_truth)
    plots.ILRDisplay.from_family(
        fitted, prior=[0.45, 0.1, 0.45], costs=[[0, 1, 1], [5, 0, 5], [1, 1, 0]], ax=ax
    )


def update(d, ax):
    """Bayes' rule.

    The walk from a prior to a posterior: every independent piece of evidence is an arrow.
    Where the walk ends says which language is the most probable, and how far it leads.
    """
    languages = ["Czech", "Polish", "Slovak"]
    sounds = Evidence.from_likelihoods([[0.30, 0.08, 0.25]], languages)
    words = Evidence.from_likelihoods([[0.15, 0.05, 0.60]], languages)
    display = plots.ILRDisplay(sounds + words)
    display.plot_update([0.5, 0.3, 0.2], {"sounds": sounds, "words": words}, ax=ax)


def ternary(d, ax):
    """The simplex.

    The evidence of the plane as normalised likelihoods; numbers have the colour of their digit.
    A corner is certainty, the centre no evidence at all.
    """
    plots.TernaryDisplay.from_predictions(d.three_truth, d.three, contours="kernel", ax=ax)


def tree(d, ax):
    """Bifurcation tree.

    A basis as a tree: coordinate l1 compares 3 with 8, l6 all on one side with all on the other.
    At each node the balance of one image, in decibans; the branch that it supports is bold.
    """
    basis = Basis.from_tree(((("3", "8"), ("5", "9")), ("1", ("4", "7"))))
    one = d.digits[5].restrict(["3", "8", "5", "9", "1", "4", "7"])
    plots.BifurcationTreeDisplay(basis, one).plot(ax)


def pairwise(d, ax):
    """Pairwise costs.

    Cllr of the LLRs of each two digits above the diagonal, Cllr_min below, in bits.
    Bright pairs are hard to tell; where the upper half is brighter, recalibration would help.
    """
    plots.PairwiseDisplay.from_predictions(d.digit, d.digits, ax=ax)


EXAMPLES = (
    histogram, infinite, pav, tippett, det, cross_entropy, bayes_error, reliability,
    reliability_of_ten, idempotence, idempotence_of_three, plane, family, update, ternary, tree,
    pairwise,
)  # fmt: skip

PAGE = """# Gallery

Every plot of `deciban.plots`, drawn from scikit-learn's breast cancer and digits by
`make gallery` ([the script](make_gallery.py), which makes `d` and the axes `ax`; the rest comes
`from deciban import Basis, CalibratedGaussian, Evidence, plots`). `d.good` is the cross-validated
evidence of a logistic regression, `d.bold` that of naive Bayes, which is far too sure; `d.digits`
is about ten digits, `d.three` about three of them.

Each display has `from_predictions(truth, evidence)` and `from_estimator(estimator, X, y)`, draws
into `ax` or a new figure, and keeps what it drew: `display.ax_`, `display.figure_`, the curves and
the lines. `unit` is "nat", "bit", "ban" or "deciban".
"""


# --- what is written --------------------------------------------------------------------


def section(example):
    title, _, text = inspect.getdoc(example).partition("\n\n")
    source = inspect.getsource(example)
    body = textwrap.dedent(source.split('"""')[2]).strip()
    shows, _, read = text.partition("\n")
    picture = f"gallery/{example.__name__}.png"
    return (
        f"\n## {title.removesuffix('.')}\n\n![{shows}]({picture})\n\n{shows}\n{read}\n\n"
        f"```python\n{body}\n```\n"
    )


def png_of(example, d):
    ternary_needed = {"projection": "ternary"} if example.__name__ == "ternary" else {}
    if ternary_needed:
        import mpltern  # noqa: F401  registers the projection
    fig = plt.figure(figsize=SIZE, layout="constrained")
    example(d, fig.add_subplot(**ternary_needed))
    png = io.BytesIO()
    fig.savefig(png, dpi=100, metadata={"Software": None})
    plt.close(fig)
    return png.getvalue()


def write_atomically(path, content):
    """Write a file whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    os.chmod(name, 0o644)
    os.replace(name, path)


def main():
    d = data()
    (HERE / "gallery").mkdir(exist_ok=True)
    for example in EXAMPLES:
        write_atomically(HERE / "gallery" / f"{example.__name__}.png", png_of(example, d))
    write_atomically(HERE / "gallery.md", (PAGE + "".join(map(section, EXAMPLES))).encode())
    print(f"Wrote {HERE / 'gallery.md'} and {len(EXAMPLES)} pictures")


if __name__ == "__main__":
    main()
