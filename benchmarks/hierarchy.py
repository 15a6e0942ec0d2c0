"""Answers at the level that the evidence supports: how often they are right, and how much they say.

Gaussian classes whose centers follow a tree: the nearer the relation, the closer the centers. The
evidence is the true log-likelihoods times a factor: 0.5 is too weak, 2 too strong. Beside
``Hierarchy.decide``: a class or nothing, with the threshold at which as many answers are right (it
is tuned on the samples judged, which nobody could do), and prediction sets replaced by the lowest
node that holds them. Information is that of right answers, in bits; wrong ones say nothing. Then
the digits of scikit-learn, with noise, and a tree of the distances between their classes.
"""

import argparse

import numpy as np
from scipy.cluster.hierarchy import linkage
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split

from _timing import print_setting
from deciban import Basis, Evidence, Hierarchy, LinearDiscriminant, hierarchy

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


def judge(tree, answers, y):
    answers = np.array(list(answers), dtype=object)
    right = tree.contains(answers, y)
    classes = np.isin(answers.astype(str), [str(label) for label in tree.classes])
    bits = np.where(right, tree.information(answers), 0.0).mean()
    return f"{100 * right.mean():5.1f} % {bits:5.2f} {100 * classes.mean():4.0f} %"


def compare(tree, y, evidence, calibration):
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
    return "  ".join(f"{judge(tree, answers, y):>20}" for answers in ways.values()), ways


def simulate(n):
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
                row, _ = compare(tree, y[1000:], evidence[1000:], (y[:1000], evidence[:1000]))
                print(f"{D:2d} classes, depth {depth}, factor {factor:3.1f}  {row}", flush=True)


def digits():
    X, y = load_digits(return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=3.0, size=X.shape)  # else nearly all are clear
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    whitened = lda.transform(X)
    means = np.array([whitened[y == k].mean(axis=0) for k in range(10)])
    tree = Hierarchy(Basis.from_linkage(linkage(means, "average")).tree)
    evidence = LinearDiscriminant().fit(X, y).evidence(X_new)
    half = len(y_new) // 2
    row, _ = compare(tree, y_new[half:], evidence[half:], (y_new[:half], evidence[:half]))
    print(f"digits with noise, {len(y_new) - half} samples  {row}\n\n{tree}\n")
    cost = hierarchy.hierarchical_cross_entropy(y_new, evidence, tree, unit="bit")
    print("node                              P(node)   cost  of   part of the total (bits)")
    for node, part, p, one, most in zip(*cost[1:], strict=True):
        print(f"{str(node)[:32]:32}  {p:7.2f}  {one:6.3f} {most:6.3f} {part:6.3f}")
    print(f"{'total':32}  {1:7.2f}  {cost.total:6.3f} {np.log2(10):6.3f} {cost.total:6.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=50_000)
    parser.add_argument("--quick", action="store_true", help="3,000 samples")
    args = parser.parse_args()
    print_setting("deciban", "numpy", "scikit-learn")
    print(
        f"confidence {CONFIDENCE:.0%}; share right, bits of right answers, share that are a class"
    )
    names = ("decide", "class or nothing", "posterior sets", "conformal sets", "vague cost 0.5",
             "class always")  # fmt: skip
    print(" " * 34 + "  ".join(f"{name:>20}" for name in names))
    simulate(3000 if args.quick else args.samples)
    digits()


if __name__ == "__main__":
    main()
