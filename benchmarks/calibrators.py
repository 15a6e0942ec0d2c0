"""What calibrators and fusions cost on fresh samples, beside the floor.

python benchmarks/calibrators.py few_samples|auto|monotone|fusion|dependence [--help]
"""

import argparse
import itertools
import time
import warnings
from collections import Counter

import numpy as np
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity
from sklearn.preprocessing import StandardScaler

from _public_tables import read_table
from _timing import print_setting, run_part
from deciban import CalibratedGaussian, Evidence, LinearDiscriminant, metrics
from deciban.calibration import (
    AffineCalibrator,
    BoundedCalibrator,
    CalibratedEvidenceClassifier,
    CurvedCalibrator,
    FusionCalibrator,
    FusionWarning,
    GaussianCalibrator,
    IsotonicCalibrator,
    MonotoneCalibrator,
)
from deciban.metrics import cllr, cross_entropy
from deciban.reference import Dependence
from tables import learner, log_posteriors, split

# few_samples

AFFINE = {"ML": {"ridge": 0}, "ridge 0.01": {"ridge": 0.01}, "default": {}}
INPUTS = ("calibrated", "distorted")


def family_of(D, divergence):
    """A family whose classes are equally far from one another."""
    return CalibratedGaussian.from_divergences([float(divergence)] * (D * (D - 1) // 2))


def distortion(kind, scale, k, rng):
    """An affine map of ILRLs that the scale family can undo: a factor from 0.3 to 5, an offset."""
    if kind == "calibrated":
        return np.eye(k), np.zeros(k)
    matrix = np.exp(rng.uniform(np.log(0.3), np.log(5))) * np.eye(k)
    if scale == "diagonal":
        matrix = matrix * np.exp(0.5 * rng.normal(size=k))
    if scale == "full":
        matrix = matrix @ (np.eye(k) + 0.5 / np.sqrt(k) * rng.normal(size=(k, k)))
    return matrix, 2 * rng.normal(size=k)


class Contest:
    """Costs on fresh samples of calibrators that were fitted to the same few."""

    def __init__(self, D, divergence, seed):
        self.family, self.seed = family_of(D, divergence), seed
        self.nothing = np.log(D)
        self.l, self.y = self.family.sample([max(200, 4000 // D)] * D, rng=seed)
        self.floor = metrics.cross_entropy(self.y, self.family.evidence(self.l))

    def run(self, calibrators, n, runs, kind, scale="scalar", unit=1.0):
        """Ratios to the floor of each calibrator, and how often it is worse than nothing."""
        k = self.l.shape[1]
        costs = {name: [] for name in calibrators}
        for run in range(runs):
            rng = np.random.default_rng([self.seed, n, run])
            l, y = self.family.sample([n] * (k + 1), rng=rng)
            matrix, offset = distortion(kind, scale, k, rng)
            few, new = (Evidence.from_ilr(unit * (x @ matrix.T + offset)) for x in (l, self.l))
            for name, calibrator in calibrators.items():
                costs[name].append(-calibrator.fit(few, y).score(new, self.y))
        return {name: self.summary(np.array(values)) for name, values in costs.items()}

    def summary(self, costs):
        """Median and mean ratio to the floor, and the percentage worse than nothing."""
        worse = 100 * np.mean(costs > self.nothing)
        median, mean = np.median(costs) / self.floor, np.mean(costs) / self.floor
        return f"{median:6.2f} {min(mean, 999):7.2f} {worse:3.0f} %"


def show(label, found):
    print(
        f"{label:46}" + "".join(f"{'  ' + name + ' ' + text:>34}" for name, text in found.items())
    )


def affine(args):
    print("\nAffine: median and mean of cost / floor, and how often it exceeds saying nothing")
    for D in args.classes:
        for divergence in args.divergences:
            contest = Contest(D, divergence, args.seed)
            for scale in ("scalar", "diagonal", "full") if D > 2 else ("scalar",):
                blank = {name: AffineCalibrator(scale, **a) for name, a in AFFINE.items()}
                for kind in INPUTS:
                    for n in args.sizes:
                        label = f"D={D} {divergence:g} nat {scale} {kind} n={n}"
                        show(label, contest.run(blank, n, args.runs, kind, scale))


def units(args):
    print("\nAffine: calibrated evidence in another unit")
    for unit in (1e-3, 1e6):
        for D in args.classes[:2]:
            blank = {name: AffineCalibrator(**a) for name, a in AFFINE.items()}
            found = Contest(D, 3, args.seed).run(blank, 10, args.runs, "calibrated", unit=unit)
            show(f"D={D} 3 nat scalar x {unit:g} n=10", found)


def gaussian(args):
    print("\nGaussian: plugged in and predictive; and the mean divergence that each finds")
    blank = {p: GaussianCalibrator(predictive=p == "predictive") for p in ("plug-in", "predictive")}
    for D in args.classes:
        for divergence in args.divergences[-2:]:
            contest = Contest(D, divergence, args.seed)
            for n in args.sizes:
                found = contest.run(blank, n, args.runs, "calibrated")
                for name, calibrator in blank.items():
                    values = []
                    for run in range(args.runs):
                        l, y = contest.family.sample([n] * D, rng=[args.seed, n, run])
                        fitted = calibrator.fit(contest.family.evidence(l), y)
                        values.append(fitted.reference_.divergences[0, 1:].mean())
                    found[name] += f" d={np.mean(values):.2f}"
                show(f"D={D} {divergence:g} nat n={n}", found)


def bounds(args):
    print("\nBounds: pairs of classes whose LLR exceeds its bound on evidence 20 times as strong")
    for D in (4, 10):
        rng = np.random.default_rng(args.seed)
        A = rng.normal(size=(D - 1, D - 1))
        family = CalibratedGaussian(A @ A.T + np.eye(D - 1))
        l, y = family.sample(rng.integers(5, 200, size=D), rng=rng)
        fitted = BoundedCalibrator().fit(Evidence.from_ilr(l), y)
        strong = Evidence.from_ilr(20 * l)
        free = fitted.calibrator_.evidence(strong).log_likelihoods
        out = fitted.evidence(strong).log_likelihoods
        best = np.maximum(free - free.max(axis=1, keepdims=True), -fitted.bounds_[free.argmax(1)])
        for name, values in (("none", free), ("best class only", best), ("shortest paths", out)):
            largest = (values[:, :, None] - values[:, None, :]).max(axis=0)
            exceeded = int((largest > fitted.bounds_ + 1e-9).sum())
            print(f"D={D} {name:16} {exceeded:3} of {D * (D - 1)} pairs")


def few_samples_part(arguments):
    """Calibrators fitted to few samples: cost on fresh samples over the cost of calibrated
    evidence.

    Draws from calibrated Gaussian families whose floor, the cross-entropy of the family itself,
    is known. Run it with OPENBLAS_NUM_THREADS=1.
    """
    parser = argparse.ArgumentParser(description=few_samples_part.__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 3, 10])
    parser.add_argument("--divergences", type=float, nargs="+", default=[1, 3, 10])
    parser.add_argument("--sizes", type=int, nargs="+", default=[5, 10, 20, 50, 200])
    parser.add_argument("--quick", action="store_true", help="10 runs, D = 2 and 3, 5 and 20 each")
    args = parser.parse_args(arguments)
    if args.quick:
        args.classes, args.sizes, args.runs = [2, 3], [5, 20], 10
    print_setting("deciban", "numpy", "scipy")
    print(f"{args.runs} runs, seed {args.seed}; n samples of each of D classes")
    warnings.simplefilter("ignore")
    for part in (affine, units, gaussian, bounds):
        part(args)


# auto

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


def auto_part(arguments):
    """What ``CalibratedEvidenceClassifier(calibrator="auto")`` gains behind classifiers, and its
    time.

    Log losses in nats at the class mix of the training part: the classifier as it is, behind an
    affine calibrator, and behind the one that "auto" chooses; the same learners and splits as
    in tables.py. Then Cllr at 1 positive in 1,000 rows, 100,000 rows to learn from and as many
    to test, behind LightGBM. ``choice`` is the share of the fit that the choice takes, in
    seconds of CPU. Run it with OMP_NUM_THREADS=1, in an environment with requirements-
    tables.txt.
    """
    parser = argparse.ArgumentParser(description=auto_part.__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two tables, two learners, one seed")
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--seeds", type=int, default=3, help="draws at 1:1000")
    args = parser.parse_args(arguments)
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


# monotone

CALIBRATORS = {
    "scalar": AffineCalibrator(),
    "full": AffineCalibrator("full"),
    "curved": CurvedCalibrator(),
    "smooth": MonotoneCalibrator(),
}


def bend(family, l, bent):
    return family.evidence(l * np.linalg.norm(l, axis=1, keepdims=True) / 2 if bent else l)


def judge(family, n, bent, draws):
    """Cost on the samples of the fit and on fresh ones, and seconds, of each calibrator."""
    D, found = family.n_classes, {}
    for draw in range(draws):
        rng = np.random.default_rng(100 + draw)  # not those that settings were chosen on
        (l, y), (fresh, y_fresh) = family.sample([n] * D, rng), family.sample([4000] * D, rng)
        X, X_fresh = bend(family, l, bent), bend(family, fresh, bent)
        found.setdefault("raw", []).append((np.nan, cross_entropy(y_fresh, X_fresh), 0.0))
        for name, calibrator in CALIBRATORS.items():
            start = time.perf_counter()
            calibrator.fit(X, y)
            taken = time.perf_counter() - start
            inside = cross_entropy(y, calibrator.evidence(X))
            fresh_cost = cross_entropy(y_fresh, calibrator.evidence(X_fresh))
            found.setdefault(name, []).append((inside, fresh_cost, taken))
    return {name: np.mean(rows, axis=0) for name, rows in found.items()}


def monotone_part(arguments):
    """What monotone maps of several classes learn, and what they take for knowledge.

        python benchmarks/calibrators.py monotone [--quick]

    Calibrated Gaussian evidence with 4 nats between any two classes, as it is and bent (each
    ILRL times half its length, which no affine map undoes). The cross-entropy on the samples of
    the fit, and on fresh ones, of the smooth monotone map, beside scalar, full affine and
    curved maps; means over draws. What is below the true cost on the samples of the fit is
    optimism.
    """
    parser = argparse.ArgumentParser(description=monotone_part.__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one draw, small samples")
    args = parser.parse_args(arguments)
    quick = args.quick
    print_setting("deciban", "numpy", "scipy")
    for D in (3, 5, 10):
        family = CalibratedGaussian.from_divergences(np.full(D * (D - 1) // 2, 4.0))
        truth = family.expected_cross_entropy(rng=0).value
        for bent in (False, True):
            for n in (20, 100) if quick else (20, 100, 1000):
                found = judge(family, n, bent, 1 if quick else 3)
                cells = [
                    f"{name} {inside:.3f}/{fresh:.3f} ({taken:.1f} s)"
                    for name, (inside, fresh, taken) in found.items()
                ]
                what = "bent" if bent else "as it is"
                print(f"D={D} n={n} a class, {what}, true {truth:.3f}: {'; '.join(cells)}")


# fusion

N_TEST_FUSION = 2000


def labels(n):
    return np.repeat([0, 1], n)


def two_systems(y, rng, shared=0.0):
    """Calibrated LLRs of two systems whose errors have a correlation, and those of both."""
    common, *own = rng.normal(size=(3, len(y)))
    a, b = (np.sqrt(shared) * common + np.sqrt(1 - shared) * one for one in own)
    d = 3.0  # nats, of each alone
    a, b = ((2 * y - 1) * d + np.sqrt(2 * d) * e for e in (a, b))
    return np.column_stack([a, b]), (a + b) / (1 + shared)


def mean_costs(run, n, draws):
    costs = [run(n, np.random.default_rng([seed, n])) for seed in range(draws)]
    return {name: np.mean([one[name] for one in costs]) for name in costs[0]}


def fuse(shared, n, rng):
    y, new = labels(n), labels(N_TEST_FUSION)
    X, _ = two_systems(y, rng, shared)
    T, llr = two_systems(new, rng, shared)
    fused = FusionCalibrator().fit(X, y).evidence(T)
    alone = AffineCalibrator().fit(X[:, :1], y).evidence(T[:, :1])
    return {"floor": cllr(new, llr), "fused": cllr(new, fused), "one alone": cllr(new, alone),
            "added up": cllr(new, T.sum(axis=1))}  # fmt: skip


def quality(n, rng):
    """Scores are the true LLR divided by a scale between 0.25 and 1.75, linear in the duration."""

    def draw(y):
        duration = rng.uniform(0, 1, len(y))
        llr = rng.normal((2 * y - 1) * 3.0, np.sqrt(6.0))
        return np.column_stack([llr / (0.25 + 1.5 * duration), duration]), llr

    y, new = labels(n), labels(N_TEST_FUSION)
    (X, _), (T, llr) = draw(y), draw(new)
    with_quality = FusionCalibrator(quality=1).fit(X, y).evidence(T)
    without = FusionCalibrator().fit(X[:, :1], y).evidence(T[:, :1])
    return {"floor": cllr(new, llr), "with quality": cllr(new, with_quality),
            "without": cllr(new, without)}  # fmt: skip


def missing(n, rng):
    """Each system is missing in 30 % of the samples; errors have a correlation of 0.7."""

    def draw(y):
        X, both = two_systems(y, rng, 0.7)
        which = np.repeat([0, 1, 2], [4, 3, 3])[np.arange(len(y)) % 10]  # none, first, second
        llr = np.select([which == 1, which == 2], [X[:, 1], X[:, 0]], both)
        X[which == 1, 0], X[which == 2, 1] = np.nan, np.nan
        return X, llr

    y, new = labels(n), labels(N_TEST_FUSION)
    (X, _), (T, llr) = draw(y), draw(new)
    adapted = FusionCalibrator(missing="adapt").fit(X, y).evidence(T)
    whole = ~np.isnan(X).any(axis=1)
    plain = FusionCalibrator().fit(X[whole], y[whole])
    neutral = plain.evidence(np.where(np.isnan(T), 0.0, T))
    return {"floor": cllr(new, llr), "adapt": cllr(new, adapted),
            "zero for a missing LLR": cllr(new, neutral)}  # fmt: skip


def pairs_of_classes():
    """Features and labels of two classes, from all data sets of scikit-learn and simulated ones."""
    for load in ("breast_cancer", "wine", "iris", "digits"):
        X, y = getattr(datasets, f"load_{load}")(return_X_y=True)
        for i, j in itertools.combinations(np.unique(y), 2):
            rows = np.isin(y, [i, j])
            yield StandardScaler().fit_transform(X[rows]), (y[rows] == j).astype(int)
    for seed in range(10):
        yield datasets.make_classification(
            400, 8, n_informative=4, random_state=seed, class_sep=0.5
        )
    yield datasets.make_moons(400, noise=0.2, random_state=0)
    yield datasets.make_circles(400, noise=0.1, factor=0.5, random_state=0)


def log_likelihoods(X, y, train):
    """Log-likelihoods, or log-posteriors, of both classes by each of seven models."""
    densities = (KernelDensity(bandwidth=0.5), KernelDensity(bandwidth=2.0),
                 GaussianMixture(1, reg_covar=0.05), GaussianMixture(2, reg_covar=0.05,
                                                                     random_state=0))  # fmt: skip
    for density in densities:
        yield np.column_stack([density.fit(X[train & (y == c)]).score_samples(X) for c in (0, 1)])
    bayes = GaussianNB(var_smoothing=1e-2, priors=[0.5, 0.5]).fit(X[train], y[train])
    yield bayes.predict_joint_log_proba(X)
    forest = RandomForestClassifier(50, random_state=0).fit(X[train], y[train])
    yield np.log(np.clip(forest.predict_proba(X), 1e-3, 1))
    yield LogisticRegression().fit(X[train], y[train]).predict_log_proba(X)


def is_taken_for_two_systems(values, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        IsotonicCalibrator().fit(values, y)
    return any(one.category is FusionWarning for one in caught)


def alarms():
    rng, found = np.random.default_rng(0), []
    for X, y in pairs_of_classes():
        train = rng.random(len(y)) < 0.5
        found += [
            is_taken_for_two_systems(values[rows], y[rows])
            for values in log_likelihoods(X, y, train)
            for rows in (train, ~train)
        ]
    print(f"log-likelihoods taken for two systems: {sum(found)} of {len(found)} tables")
    found = []
    for seed, shared, n in itertools.product(range(20), (0.0, 0.5), (50, 500)):
        y = labels(n)
        X, _ = two_systems(y, np.random.default_rng(seed), shared)
        found.append(is_taken_for_two_systems(X, y))
    print(f"two systems in the same unit seen as such: {sum(found)} of {len(found)}")


def fusion_part(arguments):
    """What fusion, quality measures and the rule for missing systems gain, beside the floor.

    All scores are simulated with known likelihood ratios, whose Cllr is the floor. Costs are
    those of fresh samples, means over draws.
    """
    parser = argparse.ArgumentParser(description=fusion_part.__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="20 draws each")
    args = parser.parse_args(arguments)
    draws = 20 if args.quick else args.draws
    print_setting("deciban", "numpy", "scipy")
    print(f"Cllr in bits, mean of {draws} draws")
    alarms()
    cases = {f"two systems, correlation {r:g}": (lambda n, rng, r=r: fuse(r, n, rng))
             for r in (0.0, 0.5, 1.0)}  # fmt: skip
    cases |= {"scale by duration": quality, "systems missing": missing}
    for title, run in cases.items():
        for n in (10, 30, 100, 1000):
            costs = mean_costs(run, n, draws)
            cells = "  ".join(f"{name} {cost:.3f}" for name, cost in costs.items())
            print(f"{title}, {n} per class: {cells}", flush=True)


# dependence

N_TEST_DEPENDENCE = 4000
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
    (train, y, _), (test, new, floor) = (
        draw(kind, truths, m, rng) for m in (n, N_TEST_DEPENDENCE // D)
    )
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


def dependence_part(arguments):
    """Fusion of calibrated systems that share noise, beside the true fusion.

    The systems are calibrated, and their joint distribution is known. Printed is the cross-
    entropy of fresh samples in excess of that of the true fusion, in millinats, a mean over
    draws. The sum takes the systems as independent; the best system stands alone; the
    discriminant is LDA on the stacked ILRLs, without the calibrated constraint. "heavy" has
    noise of two scales, drawn for all systems together: they stay calibrated, and are not
    Gaussian. "turned" has another correlation in each direction, and directions that differ
    between systems, up to rho. "sharp" doubles the LLRs of the first system: it is not
    calibrated, though Dependence.fit takes it to be. "copy" has the first system once more as
    the second, with LLRs that are a tenth too strong.
    """
    parser = argparse.ArgumentParser(description=dependence_part.__doc__)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="few settings and draws")
    args = parser.parse_args(arguments)
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
    run_part(
        few_samples=few_samples_part,
        auto=auto_part,
        monotone=monotone_part,
        fusion=fusion_part,
        dependence=dependence_part,
    )
