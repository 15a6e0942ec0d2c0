"""What ``CalibratedEvidenceClassifier(calibrator="auto")`` gains behind classifiers, and its time.

Log losses in nats at the class mix of the training part: the classifier as it is, behind an affine
calibrator, and behind the one that "auto" chooses; the same learners and splits as in tables.py.
Then Cllr at 1 positive in 1,000 rows, 100,000 rows to learn from and as many to test, behind
LightGBM. ``choice`` is the share of the fit that the choice takes, in seconds of CPU.
Run it with OMP_NUM_THREADS=1, in an environment with requirements-tables.txt.
"""

import argparse
import time
import warnings
from collections import Counter

import numpy as np

from _public_tables import read_table
from _timing import print_setting
from deciban import Evidence, metrics
from deciban.calibration import AffineCalibrator, CalibratedEvidenceClassifier
from tables import learner, log_posteriors, split

TABLES = ["penguins", "heart", "pima", "sonar", "glass", "vehicle", "ionosphere", "breast-cancer",
          "german", "phoneme", "segment"]  # fmt: skip
LEARNERS = ["logistic", "bayes", "forest", "LightGBM"]


def make_learner(name):
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB() if name == "bayes" else learner(name, 0)


def compare(table, name):
    """Mean log losses, the choices, and the seconds of the fit with and without the choice."""
    X, y = read_table(table)
    losses, seconds, choices = [], np.zeros(2), Counter()
    for rows, held_out in split(X, y):
        plain = make_learner(name).fit(X[rows], y[rows])
        found = [plain.predict_proba(X[held_out])]
        for k, calibrator in enumerate((AffineCalibrator(), "auto")):
            start = time.process_time()
            model = CalibratedEvidenceClassifier(make_learner(name), calibrator)
            model.fit(X[rows], y[rows])
            seconds[k] += time.process_time() - start
            found.append(model.predict_proba(X[held_out]))
        choices[model.choice_] += 1
        true = np.arange(len(held_out)), y[held_out]
        losses.append([-log_posteriors(p)[true].mean() for p in found])
    return np.mean(losses, axis=0), choices, seconds


def compare_rare(seed):
    """Cllr and decisions at 1:1000, behind LightGBM."""
    from sklearn.datasets import make_classification
    from sklearn.model_selection import train_test_split

    X, y = make_classification(
        200_000, weights=[0.999], flip_y=0, n_clusters_per_class=1, random_state=seed
    )
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    model = CalibratedEvidenceClassifier(learner("LightGBM", 0)).fit(X, y)
    prior = model.training_prior_
    raw = Evidence.from_log_posteriors(log_posteriors(model.estimator_.predict_proba(X_new)), prior)
    affine = CalibratedEvidenceClassifier(learner("LightGBM", 0), AffineCalibrator()).fit(X, y)
    evidence, before = model.evidence(X_new), affine.evidence(X_new)
    print(
        f"1:1000, seed {seed}: Cllr {metrics.cllr(y_new, raw):.3f} raw "
        f"(Cllr_min {metrics.cllr_min(y_new, raw):.3f}), {metrics.cllr(y_new, before):.3f} affine, "
        f"{metrics.cllr(y_new, evidence):.3f} auto ({model.choice_}); {y_new.sum()} of "
        f"{len(y_new):,} rows are positive, {np.sum(model.predict(X_new) == 1)} are called so "
        f"({np.sum(evidence.decide() == 1):,} at even odds)",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two tables, two learners, one seed")
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--seeds", type=int, default=3, help="draws at 1:1000")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print_setting("deciban", "scikit-learn", "lightgbm")
    print(f"{'table':15}{'learner':10}{'raw':>7}{'affine':>8}{'auto':>7}  choices, seconds")
    ratios = []
    for table in args.tables[:2] if args.quick else args.tables:
        for name in LEARNERS[:2] if args.quick else LEARNERS:
            (raw, affine, auto), choices, (plain, chosen) = compare(table, name)
            ratios.append(np.log([affine / raw, auto / raw]))
            of = ", ".join(f"{n} {one}" for one, n in choices.most_common())
            took = f"{chosen:.1f} s, choice {max(0, 1 - plain / chosen):.0%}"
            print(
                f"{table:15}{name:10}{raw:7.3f}{affine:8.3f}{auto:7.3f}  {of}; {took}", flush=True
            )
    affine, auto = np.exp(np.mean(ratios, axis=0))
    worst = np.exp(np.max(ratios, axis=0))
    print(f"Geometric mean of the ratio to raw: {affine:.3f} affine, {auto:.3f} auto; "
          f"highest: {worst[0]:.2f} and {worst[1]:.2f}")  # fmt: skip
    for seed in range(1 if args.quick else args.seeds):
        compare_rare(seed)


if __name__ == "__main__":
    main()
