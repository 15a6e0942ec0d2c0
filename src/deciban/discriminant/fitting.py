"""Training of a CDA's flows: held-out samples, checkpoints, progress and interruptions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.model_selection import train_test_split

from deciban._estimation.samples import Samples
from deciban.discriminant.checkpoints import Checkpoint
from deciban.discriminant.evaluation import computing_in
from deciban.discriminant.initialization import Start
from deciban.discriminant.objective import Batch, Model, Params
from deciban.discriminant.settings import Settings
from deciban.exceptions import InterruptedFitWarning
from deciban.flows.training import State, Trainer, Training

_LEAST_LOG_MIX = -30.0  # of a class that weighs next to nothing


def hold_out(samples: Samples, fraction: float, seed: int) -> tuple[Samples, Samples | None]:
    """Split off some samples of every class to watch the training by, where there are enough."""
    n, counts = len(samples.codes), np.bincount(samples.codes)
    D, count = len(counts), round(fraction * n)
    if count < D or n - count < D or counts.min() < 2:
        return samples, None
    a, b = train_test_split(
        np.arange(n), test_size=count, stratify=samples.codes, random_state=seed
    )
    if np.bincount(samples.codes[a], minlength=D).min() == 0:
        return samples, None  # every class must be learned from
    train_part, held_out = (Samples(*(values[rows] for values in samples)) for rows in (a, b))
    return train_part, held_out


def train(
    model: Model,
    start: Start,
    samples: Samples,
    held_out: Samples | None,
    settings: Settings,
    checkpoint: Checkpoint,
    verbose: bool,
) -> tuple[Params, list[dict[str, float]]]:
    """Parameters and history of flows trained on samples of whitened features."""
    with computing_in(settings.dtype):
        key = jax.random.key(checkpoint.seed)
        params = _first_params(model, start, samples, settings, key)
        trainer = _trainer(model, settings, len(samples.codes), held_out is not None)
        data = _batch(samples, settings.dtype)
        aside = None if held_out is None else _batch(held_out, settings.dtype)
        state = checkpoint.restore(trainer.start(params, aside))
        last = [state]  # so that an interruption leaves the last epoch
        with _progress_bar(settings.epochs, state.epoch, verbose) as show:

            def after_epoch(state: State) -> None:
                last[0] = state
                checkpoint.save(state)
                show(state)

            try:
                last[0] = trainer.run(state, data, aside, jax.random.fold_in(key, 1), after_epoch)
            except KeyboardInterrupt:
                warnings.warn(
                    f"fit was interrupted after {last[0].epoch} of {settings.epochs} epochs; the "
                    f"best model so far is kept.",
                    InterruptedFitWarning,
                    stacklevel=3,
                )
        result = jax.tree.map(np.asarray, trainer.choose(last[0], aside))
        checkpoint.save(last[0], force=True)
    return result, list(last[0].history)


@lru_cache(maxsize=32)
def _trainer(model: Model, settings: Settings, n_samples: int, scored: bool) -> Trainer:
    """One trainer for all fits of one size, as in a cross-validation: it is compiled once."""
    training = Training(
        settings.epochs,
        settings.batch_size,
        settings.learning_rate,
        weight_decay=settings.weight_decay,
        n_members=settings.n_estimators,
    )
    loss = partial(
        model.loss, entropy_weight=settings.discriminative_weight, noise=settings.input_noise
    )
    return Trainer(loss, model.score if scored else None, training, n_samples, model.decays)


def _first_params(
    model: Model, start: Start, samples: Samples, settings: Settings, key: jax.Array
) -> Params:
    keys = jax.random.split(key, settings.n_estimators)
    each = [model.init(k, start, dtype=settings.dtype) for k in keys]
    params = each[0] if len(each) == 1 else jax.tree.map(lambda *a: jnp.stack(a), *each)
    mix = np.bincount(samples.codes, weights=samples.weight, minlength=model.n_classes)
    log_mix = jnp.asarray(np.maximum(np.log(mix / mix.sum()), _LEAST_LOG_MIX), settings.dtype)
    params["log_mix"] = jnp.broadcast_to(log_mix, params["log_mix"].shape)
    return params


def _batch(samples: Samples, dtype: str) -> Batch:
    return (
        jnp.asarray(samples.X, dtype),
        jnp.asarray(samples.codes, jnp.int32),
        jnp.asarray(samples.weight / samples.weight.mean(), dtype),
    )


@contextmanager
def _progress_bar(epochs: int, done: int, verbose: bool) -> Iterator[Callable[[State], None]]:
    """A bar with the loss, the cross-entropy of held-out samples, and the time left."""
    if not verbose:
        yield lambda state: None
        return
    from tqdm.auto import tqdm

    with tqdm(total=epochs, initial=done, unit="epoch") as bar:

        def show(state: State) -> None:
            last = state.history[-1]
            shown = {"loss": f"{last['loss']:.4g}"}
            if "score" in last:
                shown |= {"C_mc": f"{last['score']:.4g}", "best": f"{last['best_score']:.4g}"}
            bar.set_postfix(shown, refresh=False)
            bar.update()

        yield show
