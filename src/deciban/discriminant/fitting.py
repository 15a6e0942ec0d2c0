"""Training of a CDA's flows: held-out samples, checkpoints, progress and interruptions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np

from deciban._estimation.samples import Samples
from deciban._validation.arrays import Floats
from deciban.discriminant.checkpoints import Checkpoint
from deciban.discriminant.evaluation import FittedFlows, use_precision
from deciban.discriminant.finish import calibrate, family_covariance, finish_base
from deciban.discriminant.held_out import Watch, hold_out
from deciban.discriminant.initialization import Start, initialize
from deciban.discriminant.objective import Model, Params, covariance_of
from deciban.discriminant.preparation import Preparation
from deciban.discriminant.programs import ilr_program, make_trainer
from deciban.discriminant.progress import Progress
from deciban.discriminant.selection import Selection, judgments
from deciban.discriminant.settings import Settings
from deciban.exceptions import InterruptedFitWarning
from deciban.flows.processes import decide, in_company, is_first
from deciban.flows.training import Report, State

_LEAST_LOG_MIX = -30.0  # of a class that weighs next to nothing
_MOST_FINISHED = 20_000  # samples that the finish of the residual is learned from


class Fitted(NamedTuple):
    """A fitted flow, or an ensemble, and how it came about."""

    settings: Settings
    preparation: Preparation
    params: Params
    history: list[dict[str, float]]
    selection: list[dict[str, Any]]
    held_out: Samples | None  # samples that the flow has not seen


@dataclass(frozen=True)
class Task:
    """Samples to fit flows to, with the best of several settings or with the only ones."""

    samples: Samples
    V: Floats
    options: list[Settings]
    make_model: Callable[[Settings], Model]
    checkpoint: Checkpoint
    verbose: bool


def fit_flows(task: Task) -> Fitted:
    """Flows of the samples of a task."""
    with use_precision(task.options[0].dtype):
        return _fit_chosen(task) if task.options[0].folds else _fit_given(task)


def _fit_chosen(task: Task) -> Fitted:
    """Flows with settings and epochs that are chosen on folds, or LDA itself."""
    samples, V, seed = task.samples, task.V, task.checkpoint.seed
    selection = Selection.plan(samples, V, task.options, seed)
    model = task.make_model(task.options[0])
    state = _train_on_folds(selection, model, task.checkpoint, task.verbose)
    choice = selection.choose(state.kept)
    layout = selection.trainer(model).layout
    prepare, start = initialize(samples, V, choice.settings)
    model = task.make_model(choice.settings)
    if choice.params is not None:
        params = layout.restore(choice.params)
    else:
        one = replace(choice.settings, n_estimators=1)
        params = _first_params(model, [start], seed, samples, one)
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
    stacked = np.stack([X[m[0].shrinkage, m[1]] for m in members])
    data = trainer.spread.replicate((stacked, *(np.broadcast_to(a, (M, len(a))) for a in labels)))
    x = trainer.spread.local(data[0])
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
        state.kept["goes_on"] = decide(state.kept["goes_on"])
        score = float(state.kept["loss"].min())
        return state.record(score=score)

    def is_over(state: State) -> bool:
        return not len(selection.rows) or not state.kept["goes_on"].any()

    what = f"training {M} flows ({len(selection.options)} settings, {settings.folds} folds)"
    with Progress(what, settings.epochs, state.epoch, verbose and is_first()) as progress:
        return _run(state, advance, is_over, settings.epochs, checkpoint, progress)


def _fit_given(task: Task) -> Fitted:
    """Flows of given settings and epochs, watched by held-out samples."""
    samples, V, settings, checkpoint = task.samples, task.V, task.options[0], task.checkpoint
    part, held_out = hold_out(samples, settings.validation_fraction, checkpoint.seed)
    prepare, start = initialize(part, V, settings)
    prepared = part._replace(X=prepare(part.X))
    model, E, n = task.make_model(settings), settings.n_estimators, len(part.codes)
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
    data = trainer.spread.replicate(_batch(prepared, settings.dtype))
    rows = [np.arange(n)] * E
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

    what = "training" if E == 1 else f"training {E} flows"
    verbose = task.verbose and settings.epochs > 0 and is_first()
    with Progress(what, settings.epochs, state.epoch, verbose) as progress:
        state = _run(state, advance, lambda s: False, settings.epochs, checkpoint, progress)
    best = state.average if watch is None else watch.choose(state, settings.epochs)
    at = 0 if E == 1 else slice(None)
    params = trainer.layout.restore(tuple(np.asarray(vector)[at] for vector in best))
    if watch is not None and held_out is not None:
        ilr = watch.ilrs(best).mean(axis=0)
        flows = FittedFlows(model, settings, params)
        params = _finish(flows, ilr, held_out, log_mix, prepared, V)
    return Fitted(settings, prepare, params, list(state.history), [], held_out)


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
            with in_company():
                state = advance(state, progress.advance)
            checkpoint.save(state)
            progress.show(state.history[-1])
    except KeyboardInterrupt:
        if jax.process_count() > 1:  # the others wait for this one
            raise
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
