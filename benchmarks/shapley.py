"""How well standard errors of Shapley compositions hold, and how values compare with shap's.

Prints how often contributions +- 2 standard errors contain the exact ones, for a calibrated
random forest and a CDA; and, where shap is installed, values and seconds
beside its PermutationExplainer and KernelExplainer on centered log-posteriors.
"""

import argparse
import importlib.util
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier

import deciban as db
from _timing import print_setting, race
from deciban.calibration import CalibratedEvidenceClassifier

PLAYERS = 9


def models(X, y, quick):
    forest = RandomForestClassifier(20 if quick else 50, random_state=0)
    yield "forest", CalibratedEvidenceClassifier(forest).fit(X, y)
    if importlib.util.find_spec("jax") and not quick:
        yield "CDA", db.CompositionalDiscriminantAnalysis(random_state=0).fit(X, y)


def clr(evidence):
    log_w = evidence.log_likelihoods
    return log_w - log_w.mean(axis=1, keepdims=True)


def coverage(quick):
    print("\ncontributions +- 2 standard errors that contain the exact ones")
    print("data    model      orders  coverage  median s.e. / median |contribution|")
    repeats = 3 if quick else 20
    for name, load in (("wine", load_wine), ("cancer", load_breast_cancer)):
        X, y = load(return_X_y=True)
        X = X[:, :PLAYERS]
        for kind, model in models(X[::2], y[::2], quick):
            x, background = X[1:8:2], X[::40]
            exact = db.shapley_compositions(model, x, background).contributions
            for n in (20, 100):
                inside, ratio = [], []
                for seed in range(repeats):
                    found = db.shapley_compositions(
                        model, x, background, max_exact=0, n_permutations=n, rng=seed
                    )
                    error = found.standard_errors
                    inside.append(np.abs(found.contributions - exact) <= 2 * error + 1e-12)
                    ratio.append(np.median(error) / np.median(np.abs(exact)))
                print(f"{name:7} {kind:10} {n:6} {np.mean(inside):9.3f} {np.mean(ratio):12.3f}")


def beside_shap(quick):
    if importlib.util.find_spec("shap") is None:
        print("\nshap is not installed: no comparison")
        return
    import shap

    print("\nbeside shap, wine, quadratic discriminant, one sample")
    X, y = load_wine(return_X_y=True)
    X, x, background = X[:, :PLAYERS], X[1:2, :PLAYERS], X[::4, :PLAYERS]
    model = db.QuadraticDiscriminant().fit(X[::2], y[::2])
    exact = db.shapley_compositions(model, x, background).contributions[0]

    def log_ratios(Z):
        return clr(model.evidence(Z))

    masker = shap.maskers.Independent(background, max_samples=len(background))
    runs = {
        "deciban, exact": lambda: db.shapley_compositions(model, x, background).contributions[0],
        "deciban, 20 orders": lambda: db.shapley_compositions(
            model, x, background, max_exact=0, n_permutations=20
        ).contributions[0],
        "shap, exact": lambda: shap.explainers.Exact(log_ratios, masker)(x).values[0],
        "shap, 20 orders": lambda: shap.PermutationExplainer(log_ratios, masker, seed=0)(
            x, max_evals=20 * (PLAYERS + 1), silent=True
        ).values[0],
        "shap, kernel": lambda: np.asarray(
            shap.KernelExplainer(log_ratios, background).shap_values(x, silent=True)
        )[0],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of shap's own making
        off = {name: np.abs(run() - exact).max() for name, run in runs.items()}
        seconds = race(runs, 3 if quick else 11)
    for name in runs:
        print(f"{name:20} {1e3 * seconds[name]:8.1f} ms, largest difference {off[name]:.1e} nats")
    print_setting("numpy", "shap")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    quick = parser.parse_args().quick
    print_setting("numpy", "scikit-learn")
    coverage(quick)
    beside_shap(quick)
