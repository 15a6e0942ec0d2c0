"""Training of a CDA's flows: held-out samples, checkpoints, progress and interruptions."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from functools import lru_cache, partial
from typing import Any

import jax
import numpy as np
from sklearn.model_selection import train_test_split

from deciban._estimation.samples import Samples
from deciban.discriminant.checkpoints import Checkpoint
from deciban.discriminant.evaluation import use_precision
from deciban.discriminant.initialization import Start
from deciban.discriminant.objective import Batch, Model, Params
from deciban.discriminant.settings import Settings
from deciban.exceptions import InterruptedFitWarning
from deciban.flows.training import Trainer

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
    with use_precision(settings.dtype):
        params = _first_params(model, start, samples, settings, checkpoint.seed)
        trainer = _trainer(model, settings, len(samples.codes), held_out is not None)
        data = _batch(samples, settings.dtype)
        aside = None if held_out is None else _batch(held_out, settings.dtype)
        state = checkpoint.restore(trainer.start(params, aside))
        states = trainer.run(state, data, aside, checkpoint.seed)
        with _open_bar(settings.epochs, state.epoch) if verbose else nullcontext() as bar:
            try:
                for state in states:
                    checkpoint.save(state)
                    if bar is not None:
                        _advance(bar, state.history[-1])
            except KeyboardInterrupt:
                warnings.warn(
                    f"fit was interrupted after {state.epoch} of {settings.epochs} epochs; the "
                    f"best model so far is kept.",
                    InterruptedFitWarning,
                    stacklevel=3,
                )
        checkpoint.save(state, force=True)
        return jax.tree.map(np.asarray, trainer.choose(state, aside)), list(state.history)


@lru_cache(maxsize=32)
def _trainer(model: Model, settings: Settings, n_samples: int, scored: bool) -> Trainer:
    """One trainer for all fits of one size, as in a cross-validation: it is compiled once."""
    return Trainer(
        partial(
            model.loss, entropy_weight=settings.discriminative_weight, noise=settings.input_noise
        ),
        model.score if scored else None,
        model.decays,
        n_samples,
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        n_members=settings.n_estimators,
    )


def _first_params(
    model: Model, start: Start, samples: Samples, settings: Settings, seed: int
) -> Params:
    # In NumPy: JAX would compile each operation.
    seeds = np.random.default_rng(seed).integers(2**31, size=settings.n_estimators).tolist()
    each = [model.init(k, start, dtype=settings.dtype) for k in seeds]
    params = each[0] if len(each) == 1 else jax.tree.map(lambda *a: np.stack(a), *each)
    mix = np.bincount(samples.codes, weights=samples.weight, minlength=model.n_classes)
    log_mix = np.maximum(np.log(mix / mix.sum()), _LEAST_LOG_MIX).astype(settings.dtype)
    params["log_mix"] = np.broadcast_to(log_mix, params["log_mix"].shape).copy()
    return jax.device_put(params)


def _batch(samples: Samples, dtype: str) -> Batch:
    weight = samples.weight / samples.weight.mean()
    return jax.device_put(
        (samples.X.astype(dtype), samples.codes.astype(np.int32), weight.astype(dtype))
    )


def _open_bar(epochs: int, done: int) -> Any:
    from tqdm.auto import tqdm

    return tqdm(total=epochs, initial=done, unit="epoch")


def _advance(bar: Any, record: dict[str, float]) -> None:
    """Show the loss of an epoch, and the cross-entropy of held-out samples."""
    shown = {"loss": "loss", "score": "C_mc", "best_score": "best"}
    values = {label: f"{record[name]:.4g}" for name, label in shown.items() if name in record}
    bar.set_postfix(values, refresh=False)
    bar.update()
