"""Compositional discriminant analysis: cost, seconds, kills, frames and what the residual tells.

python benchmarks/cda.py fits|kills|compilation|frames|residuals [--help]
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from joblib import Parallel, delayed
from safetensors.numpy import load_file
from scipy.special import log_softmax
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from _public_tables import read_rdatasets
from _timing import print_setting, run_part
from deciban import (
    CompositionalDiscriminantAnalysis,
    LinearDiscriminant,
    QuadraticDiscriminant,
    metrics,
)
from deciban._estimation.samples import Samples
from deciban.datasets import circles, moons, three_gaussians, two_gaussians
from deciban.discriminant.cda import _model
from deciban.discriminant.initialization import initialize
from deciban.discriminant.model import train_residual
from deciban.discriminant.programs import FittedFlows
from deciban.discriminant.settings import resolve_settings
from deciban.exceptions import UnreachableEvidenceWarning, UnseenValueWarning
from deciban.flows.training import Layout, Trainer
from deciban.simplex import Basis

# fits

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


def fits_part(arguments):
    """Compositional discriminant analysis on the paper's data: cost relative to the floor, and
    seconds.

    Moons, Circles and two Gaussians: Cllr on 100,000 points divided by that of the true
    densities, for five draws of 10,000. Three Gaussians in four dimensions: the worst pair's
    Cllr. With --mnist 40 or 784 (read from DECIBAN_DATA or the cache, or fetched): cross-
    entropy and accuracy on 40 principal components, or on the pixels. The last model of each is
    examined: its calibration, whether its residuals depend on the class, and how exactly it
    inverts, near the data and far from them. With --large: 500,000 rows of 50 features, beside
    boosted trees.
    """
    parser = argparse.ArgumentParser(description=fits_part.__doc__)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--test", type=int, default=100_000)
    parser.add_argument("--mnist", type=int, choices=(40, 784), metavar="40|784")
    parser.add_argument("--large", action="store_true", help="500,000 rows: half an hour")
    parser.add_argument("--small", action="store_true", help="small tables, beside LDA")
    args = parser.parse_args(arguments)
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


# kills

FIT = """
import sys, deciban.discriminant.runs as checkpoints
from sklearn.datasets import load_digits
from deciban import CompositionalDiscriminantAnalysis
checkpoints._SECONDS = 0.0  # write after each epoch: more moments to be killed in
options = {"checkpoint": sys.argv[2]} if len(sys.argv) > 2 else {}
model = CompositionalDiscriminantAnalysis(epochs=400, random_state=0, **options)
model.fit(*load_digits(return_X_y=True)).save(sys.argv[1])
"""


def fit(*paths):
    return subprocess.Popen([sys.executable, "-c", FIT, *map(str, paths)])


def kills_part(arguments):
    """A fit that is killed at random moments and started again must end with the same model.

    A process fits with a checkpoint; another one kills it repeatedly after a random time,
    before its first epoch or after some, and then lets it finish. The parameters are compared
    with those of an uninterrupted fit, bit by bit.
    """
    parser = argparse.ArgumentParser(description=kills_part.__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    print_setting("deciban", "jax")
    rng = random.Random(args.seed)
    folder = Path(tempfile.mkdtemp())
    fit(folder / "whole").wait()
    start = time.perf_counter()
    run = fit(folder / "resumed", folder / "checkpoint")
    while not (folder / "checkpoint").exists():
        time.sleep(0.01)
    to_first_epoch = time.perf_counter() - start
    run.kill()
    run.wait()
    killed, ended, moved = 1, 0, 1
    for _ in range(args.kills - 1):
        before = (folder / "checkpoint").stat().st_mtime_ns
        run = fit(folder / "resumed", folder / "checkpoint")
        try:
            run.wait(to_first_epoch * rng.uniform(0.5, 1.3))
            ended += 1
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()
            killed += 1
        moved += (folder / "checkpoint").stat().st_mtime_ns != before
    fit(folder / "resumed", folder / "checkpoint").wait()
    whole, resumed = (load_file(folder / name) for name in ("whole", "resumed"))
    same = whole.keys() == resumed.keys() and all(
        whole[name].tobytes() == resumed[name].tobytes() for name in whole
    )
    print(f"{killed} kills, {moved} of them after some epochs, {ended} runs that were "
          f"already finished; same model: {same}")  # fmt: skip
    sys.exit(not same)


# compilation

TABLES_COMPILATION = {
    "iris": "load_iris",
    "wine": "load_wine",
    "breast cancer": "load_breast_cancer",
}
PROCESS = """
import json, sys, time
laps, clock = {}, lambda: (time.perf_counter(), time.process_time())
def lap(name, since=[clock()]):
    now = clock()
    laps[name] = [now[0] - since[0][0], now[1] - since[0][1]]
    since[0] = now
import deciban, sklearn.datasets
X, y = getattr(sklearn.datasets, sys.argv[1])(return_X_y=True)
if sys.argv[2] == "fit":
    CDA = deciban.CompositionalDiscriminantAnalysis
    lap("import")
    cda = CDA(random_state=0).fit(X, y)
    lap("first fit")
    cda.evidence(X)
    lap("first evidence")
    CDA(random_state=1).fit(X, y)
    lap("again")
    cda.save(sys.argv[3])
else:
    cda = deciban.load(sys.argv[3])
    lap("import")
    cda.evidence(X[:100])
    lap("first evidence, loaded")
    cda.evidence(X[:100])
    lap("second evidence, loaded")
print(json.dumps(laps))
"""


def run_compilation(loader, task, model, cache):
    """Seconds of the parts of a fresh process."""
    environment = os.environ | {"DECIBAN_COMPILATION_CACHE": cache}
    command = [sys.executable, "-c", PROCESS, loader, task, model]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def compilation_part(arguments):
    """What a first fit and a first evidence take, in fresh processes.

    Without a cache of programs, with an empty one, and with one that an earlier process has
    filled. Seconds on the clock and, in parentheses, of the processors, which other work on the
    machine hardly changes; medians of several rounds. Each fit is one with the default
    settings. "again" is a second fit in the same process, with another seed; "loaded" a new
    process that reads the model.
    """
    parser = argparse.ArgumentParser(description=compilation_part.__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one table, one round")
    args = parser.parse_args(arguments)
    print_setting("deciban", "jax", "numpy")
    for name, loader in list(TABLES_COMPILATION.items())[: 1 if args.quick else None]:
        taken = defaultdict(list)
        for _ in range(1 if args.quick else args.rounds):
            with tempfile.TemporaryDirectory() as folder:
                model, cache = (str(Path(folder) / part) for part in ("model", "cache"))
                for label, where in (("none", "0"), ("empty", cache), ("filled", cache)):
                    for task in ("fit", "loaded"):
                        for part, seconds in run_compilation(loader, task, model, where).items():
                            if part != "import" or task == "fit":
                                taken[part, label].append(seconds)
        print(f"\n{name}{'cache:':>24}{'none':>16}{'empty':>16}{'filled':>16}")
        for part in dict.fromkeys(part for part, _ in taken):
            cells = (
                map(statistics.median, zip(*taken[part, at], strict=True))
                for at in ("none", "empty", "filled")
            )
            print(f"{part:>28}" + "".join("{:>8.2f} ({:5.2f})".format(*cell) for cell in cells))


# frames

TABLES_FRAMES = {
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


def frames_part(arguments):
    """Frames as they come: log losses on penguins and on the Titanic, and what neutralize leaves.

    Both tables have missing values and text. The discriminants take them as they are, boosted
    trees take text as categories, and logistic regression stands behind imputation with
    indicators, one-hot codes and scaling. All have the same five folds; the loss is in nats, at
    the class mix of the folds, and beside it is the share of it that a single row has.
    """
    parser = argparse.ArgumentParser(description=frames_part.__doc__)
    parser.add_argument("--quick", action="store_true", help="without CDA")
    quick = parser.parse_args(arguments).quick
    print_setting("deciban", "scikit-learn", "rdatasets")
    warnings.simplefilter("ignore", UnseenValueWarning)  # folds without some gap or category
    warnings.filterwarnings("ignore", message="features must be able to carry")
    for name, source in TABLES_FRAMES.items():
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


# residuals


@dataclass(frozen=True)
class Way:
    """Shares of the default weight and noise at the first and last epoch, and two penalties."""

    name: str
    weight: tuple[float, float] = (1.0, 1.0)
    noise: tuple[float, float] = (1.0, 1.0)
    kernel: float = 0.0
    adversary: float = 0.0

    def values(self, progress, settings):
        """What the loss of an epoch takes; the falls are linear."""

        def between(ends):
            return (1 - progress) * ends[0] + progress * ends[1]

        return {
            "weight": settings.discriminative_weight * between(self.weight),
            "noise": settings.input_noise * between(self.noise),
            "kernel": self.kernel,
            "adversary": self.adversary,
            "weight_decay": settings.weight_decay,
        }


WAYS = (
    Way("default"),
    Way("weight falls to zero", weight=(1.0, 0.0)),
    Way("a quarter of the weight", weight=(0.25, 0.25)),
    Way("a quarter of the noise", noise=(0.25, 0.25)),
    Way("noise falls to zero", noise=(1.0, 0.0)),
    Way("weight and noise fall to zero", weight=(1.0, 0.0), noise=(1.0, 0.0)),
    Way("kernel penalty", kernel=1.0),
    Way("adversary", adversary=2.0),
)


def dependence(r, truth, shares):
    """Unbiased HSIC of residuals (n, m) and classes: zero in the mean where they are independent.

    The kernel compares means, covariances and the distribution of each dimension.
    """
    n = len(r)
    r = 4 * jnp.tanh(r / 4)  # outliers would rule the fourth moments
    same = (truth[:, None] == truth) / shares[truth] - 1
    products = r @ r.T
    K = products + products**2 / 2
    K += jnp.sum(jnp.exp(-0.5 * (r[:, None] - r) ** 2), axis=2)
    return jnp.sum(K * same * (1 - jnp.eye(n))) / (n * (n - 1))


def adversary_loss(layers, r, truth, strength):
    """Cross-entropy of a classifier of residuals, whose gradient is reversed on its way back."""
    h = (1 + strength) * jax.lax.stop_gradient(r) - strength * r
    for k, (weight, bias) in enumerate(layers):
        h = (jax.nn.silu(h) if k else h) @ weight + bias
    log_p = jax.nn.log_softmax(h)
    return -jnp.mean(jnp.take_along_axis(log_p, truth[:, None], axis=1))


def loss(model, params, options, batch):
    x, truth, _ = batch
    scores, common = model.parts_at(params, *model.forward(params, x))
    log_mix = jax.lax.stop_gradient(params["log_mix"])
    at = partial(jnp.take_along_axis, indices=truth[:, None], axis=1)
    log_p = jax.nn.log_softmax(scores + log_mix)
    total = -jnp.mean(options["weight"] * at(log_p) + at(scores + common[:, None]))
    r = model.forward(params, x)[0][:, model.n_classes - 1 :]
    total += options["kernel"] * dependence(r, truth, jnp.exp(log_mix))
    return total + adversary_loss(params["adversary"], r, truth, options["adversary"])


def first_params(model, start, samples):
    """Parameters of a flow, and of an adversary of its residual."""
    params = model.init(0, start, dtype="float32")
    shares = np.bincount(samples.codes, minlength=model.n_classes) / len(samples.codes)
    params["log_mix"] = np.log(shares).astype(np.float32)
    sizes = [model.flow.n_features - model.n_classes + 1, 256, 256, model.n_classes]
    rng = np.random.default_rng(0)
    params["adversary"] = [
        (rng.normal(0, (2 / a) ** 0.5, (a, b)).astype(np.float32), np.zeros(b, np.float32))
        for a, b in pairwise(sizes)
    ]
    return params


def decays(model, params):
    return model.decays(params) | {"adversary": jax.tree.map(lambda _: False, params["adversary"])}


def train_ways(ways, model, start, samples, settings):
    """Parameters of one flow for each way, all trained at once from the same start."""
    n = len(samples.codes)
    first = first_params(model, start, samples)
    layout = Layout.of(first, decays(model, first))
    trainer = Trainer(
        partial(loss, model), layout, perturb=model.perturb, n_batches=n // settings.batch_size,
        batch_size=settings.batch_size, learning_rate=settings.learning_rate,
        epochs=settings.epochs,
    )  # fmt: skip
    data = (
        jnp.asarray(samples.X, jnp.float32), jnp.asarray(samples.codes, jnp.int32), jnp.ones(n),
    )  # fmt: skip
    state = trainer.start(jax.tree.map(lambda a: jnp.stack([jnp.asarray(a)] * len(ways)), first))
    for epoch in range(settings.epochs):
        progress = epoch / max(1, settings.epochs - 1)
        values = [way.values(progress, settings) for way in ways]
        options = {k: jnp.asarray([v[k] for v in values], jnp.float32) for k in values[0]}
        state = trainer.step(state, data, [np.arange(n)] * len(ways), options, 1)
    average = layout.restore(tuple(map(np.asarray, state.average)))
    learned = {k: v for k, v in average.items() if k != "adversary"}
    return [jax.tree.map(lambda a, e=e: np.asarray(a[e]), learned) for e in range(len(ways))]


def find_class(kind, residual, y):
    """Accuracy of a classifier of residuals, in three folds."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.neural_network import MLPClassifier

    classifier = {
        "trees": HistGradientBoostingClassifier(max_iter=50, random_state=0),
        "network": MLPClassifier((256,), early_stopping=True, random_state=0),
    }[kind]
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    return float(np.mean(cross_val_predict(classifier, residual, y, cv=folds) == y))


def measure(fitted, W, y):
    """C_mc in nats, accuracy, log-likelihood per sample, and the residuals."""
    log_p = log_softmax(fitted.log_likelihoods(W), axis=1)
    costs = -log_p[np.arange(len(y)), y]
    c_mc = np.mean(np.bincount(y, costs) / np.bincount(y))
    density = np.median(fitted.log_densities(W)[np.arange(len(y)), y])
    residual = fitted.to_base(W)[:, fitted.model.n_classes - 1 :]
    return c_mc, np.mean(log_p.argmax(axis=1) == y), density, residual.astype(np.float32)


def run_residuals(data, ways, stages, options):
    """One row for each way and each number of couplings of the residual."""
    X, y, new, truth = data
    estimator = CompositionalDiscriminantAnalysis(augment=0, residual_couplings=0, **options)
    V = Basis.gram_schmidt(len(np.unique(y)))
    settings = resolve_settings(estimator, *X.shape, len(V.contrast))[0]
    samples = Samples(X, y, np.ones(len(y)))
    prepare, start = initialize(samples, V.contrast, settings)
    samples = samples._replace(X=prepare(X))
    model = _model(settings, V, X.shape[1])
    began = time.perf_counter()
    every = train_ways(ways, model, start, samples, settings)
    print(f"{len(every)} trainings of {settings.n_couplings} couplings at once: "
          f"{time.perf_counter() - began:.0f} s", flush=True)  # fmt: skip
    rows = []
    for way, params in zip(ways, every, strict=True):
        Z = FittedFlows(model, settings, params).to_base(samples.X)
        for n in stages if way.name == "default" else stages[:2]:
            began = time.perf_counter()
            if n:
                params = params | {
                    "residual": train_residual(
                        Z, samples.weight, len(V.contrast) - 1, n, "float32", 0
                    )
                }
            seconds = time.perf_counter() - began
            fitted = FittedFlows(model, settings, params)
            rows.append((way.name, settings.n_couplings, n, seconds,
                         *measure(fitted, prepare(new), truth)))  # fmt: skip
    return rows


def show(rows, truth):
    kinds = ("trees", "network")
    found = Parallel(n_jobs=-1)(
        delayed(find_class)(kind, row[-1], truth) for row in rows for kind in kinds
    )
    print("way | couplings | of the residual | seconds | C_mc (nat) | accuracy | median "
          "log-density | class by trees | by a network")  # fmt: skip
    for k, (name, couplings, n, seconds, c_mc, accuracy, density, _) in enumerate(rows):
        trees, network = found[2 * k : 2 * k + 2]
        print(f"{name} | {couplings} | {n} | {seconds:.0f} | {c_mc:.4f} | {accuracy:.4f} | "
              f"{density:.2f} | {trees:.1%} | {network:.1%}")  # fmt: skip
    print(f"most common class: {np.bincount(truth).max() / len(truth):.1%}", flush=True)


def read_data(quick):
    if quick:
        from sklearn.datasets import load_digits
        from sklearn.model_selection import train_test_split

        X, y = load_digits(return_X_y=True)
        X, new, y, truth = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
        return X, y, new, truth
    sys.path.insert(0, str(Path(__file__).parents[1]))  # the reproduction is not installed
    from reproduction.mnist import principal_components

    data = principal_components(False)
    return data.X, data.y, data.X_test, data.y_test


def nested_rings():
    rng = np.random.default_rng(0)
    y = np.arange(3000) % 3
    angle = rng.uniform(0, 2 * np.pi, len(y))
    X = 0.5 * (1 + y)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X += 0.1 * rng.normal(size=X.shape)
    model = CompositionalDiscriminantAnalysis(random_state=0).fit(X, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnreachableEvidenceWarning)
        model.neutralize(X)
    print(f"three nested rings: {caught[0].message if caught else 'neutral points were found'}")


def residuals_part(arguments):
    """Whether the residual of a CDA tells the class, and what each way against it costs in nats.

    Ways within one training: a weight of the cross-entropy that falls to zero, less of it, less
    noise, a kernel dependence penalty, an adversary, more couplings. After each, a second stage
    that maps the residual given the evidence (residual_couplings), which leaves the evidence as
    it is. Accuracies are those of two classifiers that predict the class from the residuals of
    the test samples, in three folds. MNIST on 40 principal components (read from DECIBAN_DATA
    or the cache, or fetched), meant for a GPU; --quick takes scikit-learn's digits. At last,
    what neutralize leaves on three nested rings.
    """
    parser = argparse.ArgumentParser(description=residuals_part.__doc__)
    parser.add_argument("--quick", action="store_true", help="scikit-learn's digits, five epochs")
    args = parser.parse_args(arguments)
    print_setting("deciban", "jax", "optax", "numpy")
    data = read_data(args.quick)
    quick = {"epochs": 5, "width": 32} if args.quick else {}
    rows = run_residuals(data, WAYS, (0, 2) if args.quick else (0, 8, 4, 12, 16), quick)
    rows += run_residuals(data, WAYS[:1], (0,), quick | {"n_couplings": 12 if args.quick else 24})
    show(rows, data[3])
    nested_rings()


if __name__ == "__main__":
    run_part(
        fits=fits_part,
        kills=kills_part,
        compilation=compilation_part,
        frames=frames_part,
        residuals=residuals_part,
    )
