"""Frames as they come: log losses on penguins and on the Titanic, and what neutralize leaves.

Both tables have missing values and text. The discriminants take them as they are, boosted trees
take text as categories, and logistic regression stands behind imputation with indicators, one-hot
codes and scaling. All have the same five folds; the loss is in nats, at the class mix of the folds,
and beside it is the share of it that a single row has.
"""

import argparse
import warnings

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from _public_tables import read_rdatasets
from _timing import print_setting
from deciban import CompositionalDiscriminantAnalysis, LinearDiscriminant
from deciban.exceptions import UnseenValueWarning

TABLES = {
    "penguins": ("palmerpenguins", "penguins", ["species"], []),
    "Titanic": ("carData", "TitanicSurvival", ["survived"], []),
}


def logistic():
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    texts = OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(
        make_column_transformer(
            (numbers, make_column_selector(dtype_include="number")),
            (texts, make_column_selector(dtype_exclude="number")),
        ),
        LogisticRegression(max_iter=1000),
    )


def losses(X, y, quick):
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    typed = X.astype(dict.fromkeys(X.select_dtypes(exclude="number"), "category"))
    contestants = {
        "LinearDiscriminant": (LinearDiscriminant(), X),
        "logistic": (logistic(), X),
        "HGB": (HistGradientBoostingClassifier(random_state=0), typed),
    }
    if not quick:
        contestants["CDA"] = CompositionalDiscriminantAnalysis(random_state=0), X
    for name, (model, frame) in contestants.items():
        p = cross_val_predict(model, frame, y, cv=folds, method="predict_proba")
        each = -np.log(p[np.arange(len(y)), np.searchsorted(np.unique(y), y)])
        yield name, each.mean(), each.max() / each.sum()


def evidence_left(model, X, y):
    """Largest LLRs of the rows before and after neutralize, by their median and 90 % quantile."""
    model.fit(X, y)
    both = [model.evidence(frame).log_likelihoods for frame in (X, model.neutralize(X))]
    return [np.quantile(np.ptp(values, axis=1), [0.5, 0.9]) for values in both]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without CDA")
    quick = parser.parse_args().quick
    print_setting("deciban", "scikit-learn", "rdatasets")
    warnings.simplefilter("ignore", UnseenValueWarning)  # folds without some gap or category
    warnings.filterwarnings("ignore", message="features must be able to carry")
    for name, source in TABLES.items():
        X, y = read_rdatasets(*source)
        print(f"\n{name}: {X.shape[0]} rows, {X.shape[1]} columns, {X.isna().sum().sum()} missing")
        for learner, loss, share in losses(X, y.to_numpy(), quick):
            print(f"  {learner:20s} {loss:.3f} nat, {share:.0%} of it in one row")
        models = [LinearDiscriminant(), CompositionalDiscriminantAnalysis(random_state=0)]
        for model in models[: 1 if quick else 2]:
            before, after = evidence_left(model, X, y.to_numpy())
            print(
                f"  neutralize, {type(model).__name__}: median {before[0]:.2f} nat, after "
                f"{after[0]:.2f}; 90 % quantile {before[1]:.2f}, after {after[1]:.2f}"
            )


if __name__ == "__main__":
    main()
