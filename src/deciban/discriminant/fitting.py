"""Training of a CDA's flows: held-out samples, checkpoints, progress and interruptions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np
from sklearn.model_selection import train_test_split

from deciban._estimation.samples import Samples
from deciban._validation.arrays import Floats
from deciban.discriminant.checkpoints import Checkpoint
from deciban.discriminant.evaluation import FittedFlows, use_precision
from deciban.discriminant.finish import calibrate, family_covariance, finish_base, losses_at
from deciban.discriminant.initialization import Start, initialize
from deciban.discriminant.objective import Model, Params, covariance_of
from deciban.discriminant.preparation import Preparation
from deciban.discriminant.programs import ilr_program, make_trainer, select
from deciban.discriminant.progress import Progress
from deciban.discriminant.selection import Selection, judgments
from deciban.discriminant.settings import Settings
from deciban.exceptions import InterruptedFitWarning
from deciban.flows.training import Report, State, Vectors

_LEAST_LOG_MIX = -30.0  # of a class that weighs next to nothing
_FEW_HELD_OUT = 500  # samples to which the weights are often overfitted
_MOST_FINISHED = 20_000  # samples that the finish of the residual is learned from

MakeModel = Callable[[Settings], Model]


class Fitted(NamedTuple):
    """A fitted flow, or an ensemble, and how it came about."""

    settings: Settings
    preparation: Preparation
    params: Params
    history: list[dict[str, float]]
    selection: list[dict[str, Any]]
    held_out: Samples | None  # samples that the flow has not seen


def fit_flows(
    samples: Samples,
    V: Floats,
    options: list[Settings],
    make_model: MakeModel,
    checkpoint: Checkpoint,
    verbose: bool,
) -> Fitted:
    """Flows of the samples, with the best of several settings or with the only ones."""
    fit = _fit_chosen if options[0].folds else _fit_given
    with use_precision(options[0].dtype):
        return fit(samples, V, options, make_model, checkpoint, verbose)


def _fit_chosen(
    samples: Samples,
    V: Floats,
    options: list[Settings],
    make_model: MakeModel,
    checkpoint: Checkpoint,
    verbose: bool,
) -> Fitted:
    """Flows with settings and epochs that are chosen on folds, or LDA itself."""
    selection = Selection.plan(samples, V, options, checkpoint.seed)
    model = make_model(options[0])
    state = _train_on_folds(selection, model, checkpoint, verbose)
    choice = selection.choose(state.kept)
    layout = selection.trainer(model).layout
    prepare, start = initialize(samples, V, choice.settings)
    model = make_model(choice.settings)
    if choice.params is not None:
        params = layout.restore(choice.params)
    else:
        one = replace(choice.settings, n_estimators=1)
        params = _first_params(model, [start], checkpoint.seed, samples, one)
        params = jax.tree.map(lambda a: a[0], params)
        choice = choice._replace(settings=one)
    prepared = samples._replace(X=prepare(samples.X))
    flows = FittedFlows(model, choice.settings, params)
    params = _finish(flows, choice.ilr, samples.at(choice.rows), selection.log_mix, prepared, V)
    history = list(state.history[: choice.settings.epochs])
    return Fitted(choice.settings, prepare, params, history, choice.report, None)


def _train_on_folds(
    selection: Selection, model: Model, checkpoint: Checkpoint, verbose: bool
) -> State:
    """The last state of the flows of all settings and folds, with what is kept of them."""
    settings, samples = selection.options[0], selection.samples
    dtype, seed = settings.dtype, checkpoint.seed
    prepared = {
        (one.shrinkage, p): selection.prepare(one, selection.parts[p])
        for one, p in dict.fromkeys(selection.members())
    }
    members = [(one, p, *prepared[one.shrinkage, p]) for one, p in selection.members()]
    params = _first_params(model, [start for *_, start in members], seed, samples, settings)
    trainer = selection.trainer(model)
    M = len(members)
    X = {at: prepare(samples.X).astype(dtype) for at, (prepare, _) in prepared.items()}
    _, *labels = _batch(samples, dtype)
    x = jax.device_put(np.stack([X[m[0].shrinkage, m[1]] for m in members]))
    data = (x, *(jax.device_put(np.broadcast_to(a, (M, len(a)))) for a in labels))
    rows = [np.flatnonzero(selection.parts[p]) for _, p, *_ in members]
    state = trainer.start(params)
    state = checkpoint.restore(replace(state, kept=selection.first_kept(state.params)))
    numbers = _numbers([one for one, *_ in members], dtype)
    per_setting = M // len(selection.options)
    ilrs, judged = ilr_program(model, dtype, own_data=True), set(judgments(settings.epochs))

    def advance(state: State, report: Report) -> State:
        goes_on = np.repeat(state.kept["goes_on"], per_setting).astype(dtype)
        now = numbers | {"goes_on": goes_on}
        state = trainer.step(state, data, rows, now, checkpoint.seed, report)
        if state.epoch not in judged:
            return state
        found = np.asarray(ilrs(state.average, x), dtype=np.float64)
        state = selection.keep(state, found, trainer.n_batches)
        score = float(state.kept["loss"].min())
        return _record(state, score=score)

    def is_over(state: State) -> bool:
        return not len(selection.rows) or not state.kept["goes_on"].any()

    task = f"training {M} flows ({len(selection.options)} settings, {settings.folds} folds)"
    with Progress(task, settings.epochs, state.epoch, verbose) as progress:
        return _run(state, advance, is_over, settings.epochs, checkpoint, progress)


def _fit_given(
    samples: Samples,
    V: Floats,
    options: list[Settings],
    make_model: MakeModel,
    checkpoint: Checkpoint,
    verbose: bool,
) -> Fitted:
    """Flows of given settings and epochs, watched by held-out samples."""
    settings = options[0]
    part, held_out = hold_out(samples, settings.validation_fraction, checkpoint.seed)
    prepare, start = initialize(part, V, settings)
    prepared = part._replace(X=prepare(part.X))
    model, E, n = make_model(settings), settings.n_estimators, len(part.codes)
    params = _first_params(model, [start] * E, checkpoint.seed, part, settings)
    batch = min(settings.batch_size, n)
    trainer = make_trainer(
        model,
        settings.dtype,
        n_batches=max(1, n // batch),
        batch_size=batch,
        learning_rate=settings.learning_rate,
        epochs=settings.epochs,
    )
    data, rows = jax.device_put(_batch(prepared, settings.dtype)), [np.arange(n)] * E
    numbers = _numbers([settings] * E, settings.dtype)
    mix = np.bincount(samples.codes, weights=samples.weight, minlength=len(V))
    log_mix = np.log(mix / mix.sum())
    watch = (
        None if held_out is None else Watch(model, held_out, prepare, log_mix, V, settings.dtype)
    )
    state = trainer.start(params)
    if watch is not None:
        kept = {"params": state.params, "loss": watch(state.params).mean(axis=1)}
        state = replace(state, kept=kept)
    state = checkpoint.restore(state)

    def advance(state: State, report: Report) -> State:
        state = trainer.step(state, data, rows, numbers, checkpoint.seed, report)
        return state if watch is None else watch.keep_best(state)

    task = "training" if E == 1 else f"training {E} flows"
    with Progress(task, settings.epochs, state.epoch, verbose) as progress:
        state = _run(state, advance, lambda s: False, settings.epochs, checkpoint, progress)
    best = state.average if watch is None else watch.choose(state, settings.epochs)
    at = 0 if E == 1 else slice(None)
    params = trainer.layout.restore(tuple(np.asarray(vector)[at] for vector in best))
    if watch is not None and held_out is not None:
        ilr = watch.ilrs(best).mean(axis=0)
        flows = FittedFlows(model, settings, params)
        params = _finish(flows, ilr, held_out, log_mix, prepared, V)
    return Fitted(settings, prepare, params, list(state.history), [], held_out)


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
        return _record(state, score=float(loss.mean()), best_score=float(kept["loss"].mean()))

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


def _run(
    state: State,
    advance: Callable[[State, Report], State],
    is_over: Callable[[State], bool],
    epochs: int,
    checkpoint: Checkpoint,
    progress: Progress,
) -> State:
    """The state after the last epoch, or after the one in which the user interrupted."""
    try:
        while state.epoch < epochs and not is_over(state):
            state = advance(state, progress.advance)
            checkpoint.save(state)
            progress.show(state.history[-1])
    except KeyboardInterrupt:
        warnings.warn(
            f"fit was interrupted after {state.epoch} of {epochs} epochs; the best model so "
            f"far is kept.",
            InterruptedFitWarning,
            stacklevel=5,
        )
    checkpoint.save(state, force=True)
    return state


def _finish(
    flows: FittedFlows, ilr: Floats, unseen: Samples, log_mix: Floats, prepared: Samples, V: Floats
) -> Params:
    """Parameters with the calibrated finish, learned from ILRLs of unseen samples."""
    if not flows.settings.calibrate:
        return flows.params
    found = calibrate(ilr, unseen, log_mix, V)
    rows = slice(None, None, -(-len(prepared.codes) // _MOST_FINISHED))
    added = np.random.default_rng(0).standard_normal((len(prepared.codes), flows.settings.augment))
    W = np.hstack([prepared.X, added])[rows]
    each = []
    for params in flows.members():
        covariance = covariance_of(params["covariance"])
        if len(ilr):
            covariance = family_covariance(ilr, unseen, covariance, found.map, V)
        finish = finish_base(flows.base_of(params, W), prepared.weight[rows], found.map, covariance)
        each.append(flows.model.finish(params, finish))
    if len(each) == 1:
        return each[0]
    return jax.tree.map(lambda *a: np.stack(a), *each)


def _first_params(
    model: Model, starts: list[Start], seed: int, samples: Samples, settings: Settings
) -> Params:
    """Parameters of members that start where they are told, with the members on the first axis.

    The members of an ensemble differ by their networks; those that are compared have the same.
    """
    E, dtype = settings.n_estimators, np.dtype(settings.dtype)
    seeds = np.random.default_rng(seed).integers(2**31, size=E).tolist()
    made = {
        (id(start), e): model.init(seeds[e], start, dtype=settings.dtype)
        for m, start in enumerate(starts)
        for e in [m % E]
    }
    each = [made[id(start), m % E] for m, start in enumerate(starts)]
    params: Params = jax.tree.map(lambda *a: np.stack(a), *each)
    mix = np.bincount(samples.codes, weights=samples.weight, minlength=model.n_classes)
    log_mix = np.maximum(np.log(mix / mix.sum()), _LEAST_LOG_MIX).astype(dtype)
    params["log_mix"] = np.broadcast_to(log_mix, params["log_mix"].shape).copy()
    return params


def _numbers(members: list[Settings], dtype: str) -> dict[str, np.ndarray]:
    """The numbers of each member that a compiled training takes as arguments."""
    weights = np.array([one.discriminative_weight for one in members])
    return {
        "noise": np.array([one.input_noise for one in members], dtype),
        "weight_decay": np.array([one.weight_decay for one in members], dtype),
        "entropy_share": (weights / (1 + weights)).astype(dtype),
    }


def _batch(samples: Samples, dtype: str) -> Any:
    weight = samples.weight / samples.weight.mean()
    return samples.X.astype(dtype), samples.codes.astype(np.int32), weight.astype(dtype)


def _record(state: State, **values: float) -> State:
    """The state with more about its last epoch in its history."""
    return replace(state, history=(*state.history[:-1], state.history[-1] | values))
