"""Fusion of calibrated systems that share noise, beside the true fusion.

The systems are calibrated, and their joint distribution is known. Printed is the cross-entropy of
fresh samples in excess of that of the true fusion, in millinats, a mean over draws. The sum takes
the systems as independent; the best system stands alone; the discriminant is LDA on the stacked
ILRLs, without the calibrated constraint. "heavy" has noise of two scales, drawn for all systems
together: they stay calibrated, and are not Gaussian. "turned" has another correlation in each
direction, and directions that differ between systems, up to rho. "sharp" doubles the LLRs of
the first system: it is not calibrated, though Dependence.fit takes it to be. "copy" has the first
system once more as the second, with LLRs that are a tenth too strong.
"""

import argparse
import itertools

import numpy as np

from _timing import print_setting
from deciban import CalibratedGaussian, Evidence, LinearDiscriminant
from deciban.calibration import FusionCalibrator
from deciban.metrics import cross_entropy
from deciban.reference import Dependence

N_TEST = 4000
SCALES = (0.4, 1.6)  # of the covariances of the two kinds of samples of "heavy"
METHODS = ("sum", "best alone", "Dependence", "logistic", "logistic full", "discriminant")


def random_families(D, K, rng):
    """Families with divergences of 2 to 6 nats on average."""
    for mean in rng.uniform(2, 6, K):
        A = rng.normal(size=(D - 1, 2 * D))
        family = CalibratedGaussian(A @ A.T)
        pairs = family.divergences[np.triu_indices(D, 1)].mean()
        yield CalibratedGaussian(family.covariance * mean / pairs)


def sample(truth, n, rng):
    """Evidence of each system for n samples of each class, and the labels."""
    K, D = len(truth.families), truth.family.n_classes
    codes = np.repeat(np.arange(D), n)
    noise = rng.normal(size=(len(codes), K * (D - 1))) @ np.linalg.cholesky(truth.correlation).T
    noise = noise.reshape(len(codes), K, D - 1)
    systems = []
    for a, family in enumerate(truth.families):
        values, vectors = np.linalg.eigh(family.covariance)
        root = (vectors * np.sqrt(values)) @ vectors.T
        systems.append(family.evidence(family.means[codes] + noise[:, a] @ root))
    return systems, codes


def draw(kind, truths, n, rng):
    """Evidence of the systems, labels, and the true fusion."""
    if kind != "heavy":
        systems, y = sample(truths[0], n, rng)
        if kind == "copy":
            return [systems[0], 1.1 * systems[0]], y, systems[0]
        fused = truths[0].combine(*systems)
        return ([systems[0] * 2, *systems[1:]] if kind == "sharp" else systems), y, fused
    parts = [sample(truth, n, rng) for truth in truths[1:]]
    y, which = parts[0][1], rng.integers(2, size=len(parts[0][1]))

    def pick(one, other):
        rows = np.where(which[:, None] == 0, one.log_likelihoods, other.log_likelihoods)
        return Evidence(rows)

    systems = [pick(a, b) for a, b in zip(parts[0][0], parts[1][0], strict=True)]
    return systems, y, None


def heavy_fusion(truths, systems):
    """The true fusion of "heavy": both kinds of samples are possible for the stack."""
    l = np.hstack([one.ilr() for one in systems])
    log_f = []
    for truth in truths[1:]:
        M = np.hstack([one.means for one in truth.families])
        roots = np.linalg.inv(_block_roots(truth))
        L = np.linalg.cholesky(truth.correlation)
        white = np.linalg.solve(L, roots @ (l[:, None] - M).reshape(-1, l.shape[1]).T)
        log_det = np.log(np.diag(L)).sum() - np.linalg.slogdet(roots)[1]
        log_f.append(-(white**2).sum(axis=0).reshape(len(l), -1) / 2 - log_det)
    return Evidence(np.logaddexp(*log_f))


def _block_roots(truth):
    k = truth.family.n_classes - 1
    roots = np.zeros_like(truth.correlation)
    for a, family in enumerate(truth.families):
        values, vectors = np.linalg.eigh(family.covariance)
        roots[a * k : a * k + k, a * k : a * k + k] = (vectors * np.sqrt(values)) @ vectors.T
    return roots


def correlation(kind, D, K, rho, rng):
    """One number for all pairs of systems, or a matrix whose directions differ."""
    if kind != "turned":
        return rho
    k = D - 1
    shared = np.kron(1 - np.eye(K), np.diag(rng.uniform(0, rho, k))) + np.eye(K * k)
    turns = np.zeros((K * k, K * k))
    for a in range(K):
        turns[a * k : a * k + k, a * k : a * k + k] = np.linalg.qr(rng.normal(size=(k, k)))[0]
    return turns @ shared @ turns.T


def excess(kind, D, K, rho, n, seed):
    """Excess cross-entropy of each method in one draw, in nats."""
    rng = np.random.default_rng([seed, D, K, n, round(100 * rho)])
    families = list(random_families(D, K, rng))
    scaled = [[CalibratedGaussian(s * one.covariance) for one in families] for s in SCALES]
    R = correlation(kind, D, K, rho, rng)
    truths = [Dependence(some, R) for some in (families, *scaled)]
    (train, y, _), (test, new, floor) = (draw(kind, truths, m, rng) for m in (n, N_TEST // D))
    floor = heavy_fusion(truths, test) if floor is None else floor
    names = [str(a) for a in range(K)]
    given, fresh = (dict(zip(names, some, strict=True)) for some in (train, test))
    X, T = (np.hstack([one.ilr() for one in some]) for some in (train, test))
    alone = min(range(K), key=lambda a: cross_entropy(y, train[a]))
    fused = {
        "sum": test[0].add(*test[1:]),
        "best alone": test[alone],
        "Dependence": Dependence.fit(train, y).combine(*test),
        "logistic": FusionCalibrator().fit(given, y).evidence(fresh),
        "logistic full": FusionCalibrator("full").fit(given, y).evidence(fresh),
    }
    if len(y) - D > 2 * X.shape[1]:
        fused["discriminant"] = LinearDiscriminant().fit(X, y).evidence(T)
    least = cross_entropy(new, floor)
    return [cross_entropy(new, fused[m]) - least if m in fused else np.nan for m in METHODS]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="few settings and draws")
    args = parser.parse_args()
    sizes = [5, 50] if args.quick else [5, 20, 100, 1000]
    settings = [(2, 2), (3, 2)] if args.quick else [(2, 2), (3, 2), (5, 2), (3, 4)]
    rhos = [0.5] if args.quick else [0.0, 0.5, 0.9, 0.95]
    draws = 3 if args.quick else args.draws
    print_setting("deciban", "numpy", "scikit-learn")
    print(f"millinats above the true fusion, means of {draws} draws; n samples of each class")
    print(f"{'truth':>9}{'D':>3}{'K':>3}{'rho':>6}{'n':>6}" + "".join(f"{m:>15}" for m in METHODS))
    kinds = itertools.product(
        ("gaussian", "heavy", "turned", "sharp", "copy"), settings, rhos, sizes
    )
    for kind, (D, K), rho, n in kinds:
        if (kind == "turned" and D == 2) or (kind == "copy" and rho != 0.5):
            continue
        if kind != "gaussian" and ((D, K) not in settings[:2] or rho not in (0.5, 0.9)):
            continue
        costs = np.mean([excess(kind, D, K, rho, n, seed) for seed in range(draws)], axis=0)
        row = "".join(f"{1000 * cost:15.1f}" for cost in costs)
        print(f"{kind:>9}{D:3}{K:3}{rho:6.2f}{n:6}{row}", flush=True)


if __name__ == "__main__":
    main()
