"""Draw the pictures of docs/gallery.md from scikit-learn's data, and write the page.

    python docs/make_gallery.py

Each example below is a function whose body is shown on the page as it is written here.
"""

import inspect
import io
import textwrap
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import mpltern  # noqa: F401  registers ternary axes
import numpy as np
from PIL import Image
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deciban import Basis, CalibratedGaussian, Evidence, plots

HERE = Path(__file__).parent
SIZE = (4.6, 3.6)  # inches
WIDTH = 460  # pixels on the page; the files have twice as many, for screens of high density
COLORS = 256  # of a file: a third of the size, without a visible difference


def cross_validated(model, X, y, classes):
    """Evidence about samples that the model was not trained on, and their class names."""
    log_p = cross_val_predict(model, X, y, cv=5, method="predict_log_proba")
    prior = np.bincount(y) / len(y)
    return Evidence.from_log_posteriors(log_p, prior, classes), np.array(classes)[y]


def load_data():
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
# Docstrings: a title, what the picture shows, how to read it.


def histogram(d, ax):
    """LLR histogram.

    LLRs of both classes, with the calibrated Gaussians N(±d, 2d) that fit them best.
    Calibrated Gaussian LLRs would fill the curves; these are skewed, with a long tail.
    """
    plots.LLRHistogramDisplay.from_predictions(d.truth, d.good, pos_label="malignant", ax=ax)


def infinite(d, ax):
    """LLR histogram with infinite LLRs.

    The same evidence after its posteriors were rounded to three digits, so that many are 0 or 1.
    LLRs of ±∞ have bins of their own; a single one on the wrong side makes Cllr infinite.
    """
    rounded = Evidence.from_posteriors(d.good.posterior().round(3), None, d.good.classes)
    plots.LLRHistogramDisplay.from_predictions(
        d.truth, rounded, pos_label="malignant", unit="deciban", ax=ax
    )


def pav(d, ax):
    """PAV plot.

    LLRs of naive Bayes against their best monotone recalibration, by pool adjacent violators.
    They lie in the shaded area, between the identity and zero: the evidence is far too strong.
    """
    plots.PAVDisplay.from_predictions(d.truth, d.bold, pos_label="malignant", ax=ax)


def tippett(d, ax):
    """Tippett plot.

    The share of each class with an LLR of x or more.
    The further apart the curves are at 0 the better; LLRs on the wrong side of 0 mislead.
    """
    plots.TippettDisplay.from_predictions(d.truth, d.good, pos_label="malignant", ax=ax)


def det(d, ax):
    """DET plot.

    Misses against false alarms on probit axes, for two systems; rings mark equal-error rates.
    Lower left is better; the dotted line is the ROC convex hull, the best thresholds can reach.
    """
    plots.DETDisplay.from_predictions(
        d.truth, d.good, pos_label="malignant", name="logistic regression", hull=True, ax=ax
    )
    plots.DETDisplay.from_predictions(
        d.truth, d.bold, pos_label="malignant", name="naive Bayes", ax=ax
    )


def cross_entropy(d, ax):
    """Empirical cross-entropy.

    The cost of the LLRs at each prior: as they are, after recalibration, and without any LLRs.
    The gap to the minimum is miscalibration; above the neutral line the LLRs do harm.
    """
    plots.EmpiricalCrossEntropyDisplay.from_predictions(
        d.truth, d.bold, pos_label="malignant", ax=ax
    )


def bayes_error(d, ax):
    """Normalized Bayes error.

    The error rate of decisions at each prior, relative to deciding by the prior alone.
    Above 1 the LLRs do harm; the gap to the minimum is due to thresholds in the wrong place.
    """
    plots.NormalizedBayesErrorDisplay.from_predictions(
        d.truth, d.good, pos_label="malignant", ax=ax
    )


def reliability(d, ax):
    """Reliability.

    How often events of posterior probability p come true, with a 95 % interval for each bin.
    Reliable posteriors lie on the identity; these, of naive Bayes, are too close to 0 and 1.
    """
    plots.ReliabilityDisplay.from_predictions(
        d.truth, d.bold, pos_label="malignant", n_bins=8, ax=ax
    )


def reliability_of_ten(d, ax):
    """Reliability of the decided class.

    For ten digits, how often the decision is right, against its posterior probability.
    Above the identity the classifier is underconfident, below it overconfident.
    """
    plots.ReliabilityDisplay.from_predictions(d.digit, d.digits, ax=ax)


def idempotence(d, ax):
    """Idempotence.

    The LLR of the LLR against the LLR, from kernel densities of the LLRs of each class.
    Calibrated LLRs lie on the identity; a curve that flattens out shows overconfident LLRs.
    """
    plots.IdempotenceDisplay.from_predictions(
        d.truth, d.good, a="malignant", b="benign", ax=ax, band=0.5
    )


def idempotence_of_three(d, ax):
    """Idempotence of three classes.

    Arrows from the evidence about three digits to the evidence of that evidence.
    Calibrated evidence has short arrows; arrows that point outward show that it is too weak.
    """
    plots.IdempotenceDisplay.from_predictions(d.three_truth, d.three, density="gaussian", ax=ax)


def plane(d, ax):
    """The plane of ILRLs.

    Evidence about three digits; the kernel contours hold 50 % and 90 % of each class.
    On gray lines the likeliest digit changes; points further out are stronger evidence.
    """
    plots.ILRDisplay.from_predictions(d.three_truth, d.three, contours="kernel", ax=ax)


def family(d, ax):
    """A calibrated Gaussian family.

    The same plane for the calibrated Gaussian family that fits the digits best.
    The boundaries follow from a prior and costs: an 8 is rare, and missing one costs 200.
    """
    fitted = CalibratedGaussian.fit(d.three, d.three_truth)
    plots.ILRDisplay.from_family(
        fitted, prior=[0.65, 0.05, 0.3], costs=[[0, 1, 1], [200, 0, 200], [1, 1, 0]], ax=ax
    )


def update(d, ax):
    """Bayes' rule.

    The walk from a prior to a posterior; each independent piece of evidence is an arrow.
    The region in which it ends belongs to the most probable language.
    """
    languages = ["Czech", "Polish", "Slovak"]
    sounds = Evidence.from_likelihoods([[0.30, 0.08, 0.25]], languages)
    words = Evidence.from_likelihoods([[0.15, 0.05, 0.60]], languages)
    display = plots.ILRDisplay(sounds + words)
    display.plot_update([0.5, 0.3, 0.2], {"sounds": sounds, "words": words}, ax=ax)


def ternary(d, ax):
    """The simplex.

    The evidence of the plane as normalized likelihoods; numbers have the color of their digit.
    A corner is certainty, the center is no evidence at all.
    """
    plots.TernaryDisplay.from_predictions(d.three_truth, d.three, contours="kernel", ax=ax)


def tree(d, ax):
    """Bifurcation tree.

    A basis as a tree, and what one image says: each node sets a group of digits against another.
    It shows the LLR of the two groups, in decibans; the supported branch is bold.
    """
    basis = Basis.from_tree(((("3", "8"), ("5", "9")), ("1", ("4", "7"))))
    one = d.digits[5].restrict(["3", "8", "5", "9", "1", "4", "7"])
    plots.BifurcationTreeDisplay(basis, one).plot(ax)


def pairwise(d, ax):
    """Pairwise costs.

    Cllr of each pair of digits above the diagonal, Cllr_min below it, in bits.
    Bright pairs are hard to tell apart; recalibration would help where the upper half is brighter.
    """
    plots.PairwiseDisplay.from_predictions(d.digit, d.digits, ax=ax)


EXAMPLES = (
    histogram, infinite, pav, tippett, det, cross_entropy, bayes_error, reliability,
    reliability_of_ten, idempotence, idempotence_of_three, plane, family, update, ternary, tree,
    pairwise,
)  # fmt: skip

PAGE = """# Gallery

Every plot of `deciban.plots`, drawn by `make gallery` from scikit-learn's breast cancer and digits
([the script](make_gallery.py) makes the data `d` and the axes `ax`; everything else comes
`from deciban import Basis, CalibratedGaussian, Evidence, plots`). `d.good` is the cross-validated
evidence of logistic regression and `d.bold` that of naive Bayes, which is overconfident; `d.digits`
is evidence about ten digits, and `d.three` about three of them.

Each display has `from_predictions(y_true, evidence)` and `from_estimator(estimator, X, y)`, draws
into `ax` or a new figure, and keeps what it drew: `display.ax_`, `display.figure_`, its curves and
its lines. `compute(y_true, evidence)` makes a display without drawing it. `unit` is "nat", "bit",
"ban" or "deciban".
"""


# --- writing -------------------------------------------------------------------------


def make_section(example):
    title, _, text = inspect.getdoc(example).partition("\n\n")
    source = inspect.getsource(example)
    body = textwrap.dedent(source.split('"""')[2]).strip()
    shows, _, read = text.partition("\n")
    picture = f'<img src="gallery/{example.__name__}.png" width="{WIDTH}" alt="{shows}">'
    return (
        f"\n## {title.removesuffix('.')}\n\n{picture}\n\n{shows}\n{read}\n\n"
        f"```python\n{body}\n```\n"
    )


def draw_png(example, d):
    fig = plt.figure(figsize=SIZE, layout="constrained")
    example(d, fig.add_subplot(projection="ternary" if example is ternary else None))
    png, small = io.BytesIO(), io.BytesIO()
    fig.savefig(png, dpi=2 * WIDTH / SIZE[0], metadata={"Software": None})
    plt.close(fig)
    with Image.open(png) as image:
        few = image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
        few.save(small, format="png", optimize=True)
    return small.getvalue()


def make_page():
    return PAGE + "".join(map(make_section, EXAMPLES))


def main():
    d = load_data()
    (HERE / "gallery").mkdir(exist_ok=True)
    for example in EXAMPLES:
        (HERE / "gallery" / f"{example.__name__}.png").write_bytes(draw_png(example, d))
    (HERE / "gallery.md").write_text(make_page())
    print(f"Wrote {HERE / 'gallery.md'} and {len(EXAMPLES)} pictures")


if __name__ == "__main__":
    main()
