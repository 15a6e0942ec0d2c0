"""Whether the residual of a CDA tells the class, and what each way against it costs in nats.

Ways within one training: a weight of the cross-entropy that falls to zero, less of it, less noise,
a kernel dependence penalty, an adversary, more couplings. After each, a second stage that maps the
residual given the evidence (residual_couplings), which leaves the evidence as it is. Accuracies are
those of two classifiers that predict the class from the residuals of the test samples, in three
folds. MNIST on 40 principal components (read from DECIBAN_DATA or the cache, or fetched), meant for
a GPU; --quick takes scikit-learn's digits. At last, what neutralize leaves on three nested rings.
"""

import argparse
import sys
import time
import warnings
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from joblib import Parallel, delayed
from scipy.special import log_softmax

from _timing import print_setting
from deciban import CompositionalDiscriminantAnalysis
from deciban._estimation.samples import Samples
from deciban.discriminant.cda import _model
from deciban.discriminant.initialization import initialize
from deciban.discriminant.model import train_residual
from deciban.discriminant.programs import FittedFlows
from deciban.discriminant.settings import resolve_settings
from deciban.exceptions import UnreachableEvidenceWarning
from deciban.flows.training import Layout, Trainer
from deciban.simplex import Basis


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


def run(data, ways, stages, options):
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="scikit-learn's digits, five epochs")
    args = parser.parse_args()
    print_setting("deciban", "jax", "optax", "numpy")
    data = read_data(args.quick)
    quick = {"epochs": 5, "width": 32} if args.quick else {}
    rows = run(data, WAYS, (0, 2) if args.quick else (0, 8, 4, 12, 16), quick)
    rows += run(data, WAYS[:1], (0,), quick | {"n_couplings": 12 if args.quick else 24})
    show(rows, data[3])
    nested_rings()


if __name__ == "__main__":
    main()
