"""Held-out samples that a training of given epochs is watched by."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
from sklearn.model_selection import train_test_split

from deciban._estimation.samples import Samples
from deciban._validation.arrays import Floats
from deciban.discriminant.finish import losses_at
from deciban.discriminant.objective import Model
from deciban.discriminant.preparation import Preparation
from deciban.discriminant.programs import ilr_program, select
from deciban.flows.training import State, Vectors

_FEW_HELD_OUT = 500  # samples to which the weights are often overfitted


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
    return samples.at(a), samples.at(b)


class Watch:
    """Held-out samples, and what flows in training make of them."""

    def __init__(
        self,
        model: Model,
        held_out: Samples,
        prepare: Preparation,
        log_mix: Floats,
        V: Floats,
        dtype: str,
    ) -> None:
        self._samples, self._log_mix, self._V = held_out, log_mix, V
        self._x = jax.device_put(prepare(held_out.X).astype(dtype))
        self._ilrs = ilr_program(model, dtype)

    def ilrs(self, vectors: Vectors) -> Floats:
        """ILRLs of the held-out samples from each member."""
        return np.asarray(self._ilrs(vectors, self._x), dtype=np.float64)

    def __call__(self, vectors: Vectors) -> Floats:
        """Cross-entropy of each held-out sample from each member, weighted."""
        weight = self._samples.weight / self._samples.weight.mean()
        losses = [losses_at(l, self._samples, self._log_mix, self._V) for l in self.ilrs(vectors)]
        return np.array(losses) * weight

    def keep_best(self, state: State) -> State:
        """The state with the best parameters so far of each member."""
        loss = self(state.average).mean(axis=1)
        better = loss < state.kept["loss"]  # never for NaN
        best = select(better, state.average, state.kept["params"])
        kept = {"params": best, "loss": np.where(better, loss, state.kept["loss"])}
        state = replace(state, kept=kept)
        return state.record(score=float(loss.mean()), best_score=float(kept["loss"].mean()))

    def choose(self, state: State, epochs: int) -> Vectors:
        """The vectors of parameters to keep.

        After all epochs, whose last steps are small, these are the last ones, unless the best ones
        are clearly better: the best of many noisy scores is often that of an epoch in which the
        steps were still large. After an interruption they are the best ones.
        """
        if state.epoch < epochs:
            return state.kept["params"]
        loss = self(state.average) - self(state.kept["params"])
        n = loss.shape[1]
        standard_errors = 1 if n < _FEW_HELD_OUT else 2
        doubt = standard_errors * loss.std(axis=1) / n**0.5
        return select(loss.mean(axis=1) <= doubt, state.average, state.kept["params"])
