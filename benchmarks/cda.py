"""Compositional discriminant analysis on the paper's data: cost relative to the floor, and seconds.

Moons, Circles and two Gaussians: Cllr on 100,000 points divided by that of the true densities, for
five draws of 10,000. Three Gaussians in four dimensions: the worst pair's Cllr. With --mnist 40 or
784 (read from DECIBAN_DATA or the cache, or fetched): cross-entropy and accuracy on 40 principal
components, or on the pixels. The last model of each is examined: its calibration, whether its
residuals depend on the class, and how exactly it inverts, near the data and far from them. With
--large: 500,000 rows of 50 features, beside boosted trees.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score, train_test_split

from _timing import print_setting
from deciban import LinearDiscriminant, QuadraticDiscriminant, metrics
from deciban.datasets import circles, moons, three_gaussians, two_gaussians
from deciban.discriminant import CompositionalDiscriminantAnalysis

SMALL = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
}


def examine(model, new, truth):
    """Idempotence, class information in residuals, and errors of the inverse."""
    rows = np.random.default_rng(0).permutation(len(new))[:10_000]
    new, truth = new[rows], truth[rows]
    evidence = model.evidence(new)
    distance = metrics.idempotence(truth[:2000], evidence[:2000])
    shares = np.bincount(np.searchsorted(model.classes_, truth)) / len(truth)
    classifier = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    found = cross_val_score(classifier, model.residual(new, 0), truth, cv=3).mean()
    error = 1.96 * np.sqrt(found * (1 - found) / len(truth))
    print(f"    idempotence: {distance}")
    print(f"    residuals: a classifier has an accuracy of {found:.3f} +- {error:.3f}, chance is "
          f"{shares.max():.3f}")  # fmt: skip
    center = new.mean(axis=0)
    errors = []
    for times in (1, 10, 100):
        far = center + times * (new[:2000] - center)
        gap = model.inverse_transform(model.transform(far)) - far
        errors.append(np.linalg.norm(gap, axis=1).max() / np.linalg.norm(far, axis=1).mean())
    print("    inverse, largest error relative to the mean norm at 1, 10, 100 times the distance "
          f"from the mean: {', '.join(f'{e:.1e}' for e in errors)}", flush=True)  # fmt: skip


def toys(args):
    for population in (moons(), circles(), two_gaussians()):
        name = population.name
        new, truth = population.sample(args.test, 10_000)
        floor = metrics.cllr(truth, population.evidence(new))
        costs, seconds = [], []
        for seed in range(args.draws):
            X, y = population.sample(10_000, seed)
            start = time.perf_counter()
            model = CompositionalDiscriminantAnalysis(random_state=seed).fit(X, y)
            seconds.append(time.perf_counter() - start)
            costs.append(metrics.cllr(truth, model.evidence(new)))
        evidence = model.evidence(new)
        others = [
            f"{cls.__name__[:9]} {metrics.cllr(truth, cls().fit(X, y).evidence(new)):.3f}"
            for cls in (LinearDiscriminant, QuadraticDiscriminant)
        ]
        print(
            f"{name:10} floor {floor:.4f} bit, CDA {np.mean(costs):.4f}, ratio "
            f"{np.mean(costs) / floor:.3f} (each {np.round(np.array(costs) / floor, 3)}), Cllr_cal "
            f"{metrics.cllr_cal(truth, evidence):.4f}, {max(seconds):.1f} s at most; {others}",
            flush=True,
        )
        examine(model, new[::10], truth[::10])


def worst_pair(args):
    population = three_gaussians()
    X, y = population.sample(15_000, 0)
    new, truth = population.sample(args.test, 10_000)
    model = CompositionalDiscriminantAnalysis(random_state=0).fit(X, y)
    excess = metrics.pairwise_cllr(truth, model.evidence(new)).cllr
    floor = metrics.pairwise_cllr(truth, population.evidence(new)).cllr
    print(f"three Gaussians in four dimensions: worst pair {np.nanmax(excess):.2e} bit, with the "
          f"true densities {np.nanmax(floor):.2e}")  # fmt: skip
    examine(model, new, truth)


def mnist(n_features):
    sys.path.insert(0, str(Path(__file__).parents[1]))  # the reproduction is not installed
    from reproduction.mnist_files import load_mnist

    found = load_mnist()
    pixels, new_pixels = (v.astype(np.float64) for v in (found.train_images, found.test_images))
    y, truth = found.train_labels, found.test_labels
    ways = {"default": {}}
    X, new = pixels, new_pixels
    if n_features == 40:
        pca = PCA(40, random_state=0).fit(pixels)
        X, new = pca.transform(pixels), pca.transform(new_pixels)
        ways |= {
            "ensemble of five": {"n_estimators": 5},
            "generative": {
                "n_couplings": 20,
                "options": {"discriminative_weight": 0.0, "input_noise": 0.25},
            },
        }
    for name, options in ways.items():
        start = time.perf_counter()
        model = CompositionalDiscriminantAnalysis(random_state=0, **options).fit(X, y)
        taken = time.perf_counter() - start
        evidence = model.evidence(new)
        print(f"MNIST-{n_features}, {name} {options}: C_mc "
              f"{metrics.cross_entropy(truth, evidence):.4f} nat, accuracy "
              f"{metrics.accuracy(truth, evidence):.4f}, {taken:.0f} s", flush=True)  # fmt: skip
        if model.n_estimators == 1:
            examine(model, new, truth)


def large_table():
    """A table that is learned in few epochs: overlapping clusters in 5 classes."""
    X, y = make_classification(
        550_000, 50, n_informative=20, n_redundant=10, n_classes=5, n_clusters_per_class=4,
        class_sep=0.7, flip_y=0.05, random_state=0,
    )  # fmt: skip
    X, new, y, truth = train_test_split(X, y, test_size=50_000, random_state=0)
    for model in (
        LinearDiscriminant(),
        HistGradientBoostingClassifier(random_state=0),
        CompositionalDiscriminantAnalysis(random_state=0, verbose=1),
    ):
        start = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start
        loss = log_loss(truth, model.predict_proba(new))
        print(f"500,000 x 50, {type(model).__name__}: log loss {loss:.4f} nat, {seconds:.0f} CPU s",
              flush=True)  # fmt: skip


def small_tables():
    """Cross-entropy of a CDA and of LDA on small tables, and what neutralize hides of digits."""
    tables = {name: load(return_X_y=True) for name, load in SMALL.items()}
    for name, (X, y) in tables.items():
        costs = []
        for seed in range(3):
            a, new, b, truth = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
            models = LinearDiscriminant(), CompositionalDiscriminantAnalysis(random_state=seed)
            costs.append([metrics.cross_entropy(truth, m.fit(a, b).evidence(new)) for m in models])
        linear, cda = np.mean(costs, axis=0)
        print(f"{name}, from {len(a)} samples, three splits: LDA {linear:.3f} nat, CDA {cda:.3f}",
              flush=True)  # fmt: skip
    found = [
        cross_val_score(RandomForestClassifier(random_state=0), images, truth, cv=3).mean()
        for images in (new, models[1].neutralize(new))
    ]
    print(f"{name}: accuracy of a random forest {found[0]:.0%}, {found[1]:.0%} after "
          f"neutralize")  # fmt: skip
    costs = []
    for seed in range(3):
        X, y = moons().sample(300, seed)
        new, truth = moons().sample(5000, 10_000)
        models = LinearDiscriminant(), CompositionalDiscriminantAnalysis(random_state=seed)
        costs.append([metrics.cross_entropy(truth, m.fit(X, y).evidence(new)) for m in models])
    linear, cda = np.mean(costs, axis=0)
    print(f"moons, from 300 samples, three draws: LDA {linear:.3f} nat, CDA {cda:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--test", type=int, default=100_000)
    parser.add_argument("--mnist", type=int, choices=(40, 784), metavar="40|784")
    parser.add_argument("--large", action="store_true", help="500,000 rows: half an hour")
    parser.add_argument("--small", action="store_true", help="small tables, beside LDA")
    args = parser.parse_args()
    print_setting("deciban", "jax", "numpy")
    if args.mnist:
        mnist(args.mnist)
    elif args.large:
        large_table()
    elif args.small:
        small_tables()
    else:
        toys(args)
        worst_pair(args)


if __name__ == "__main__":
    main()
