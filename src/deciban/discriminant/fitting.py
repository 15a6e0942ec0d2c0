"""Training of a CDA's flows, from the start to the calibrated finish."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from deciban._estimation.samples import Samples
from deciban._validation.arrays import Floats
from deciban.discriminant.finish import calibrate, family_covariance, finish_base, losses_at
from deciban.discriminant.initialization import Preparation, Start, initialize
from deciban.discriminant.model import Model, covariance_of
from deciban.discriminant.programs import (
    FittedFlows,
    ilr_program,
    make_trainer,
    select,
    use_precision,
)
from deciban.discriminant.runs import Checkpoint, Progress, interruptible
from deciban.discriminant.selection import Selection, judgments
from deciban.discriminant.settings import Settings
from deciban.discriminant.survey import Shuffle, Survey
from deciban.exceptions import InputError
from deciban.flows import Params
from deciban.flows.processes import decide, in_company
from deciban.flows.training import Report, State, Vectors

_FEW_HELD_OUT = 500  # samples to which the weights are often overfitted
_MIN_LOG_MIX = -30.0  # of a class that weighs next to nothing
_STEPS_OF_A_PART = 4_096  # of a pass over samples beyond memory, between two checkpoints
_MAX_OF_SAMPLE = 0.5  # that is held out
_MAX_FINISHED = 20_000  # samples that the finish of the residual is learned from


class Fitted(NamedTuple):
    settings: Settings
    preparation: Preparation
    params: Params
    history: list[dict[str, float]]
    selection: list[dict[str, Any]]
    held_out: Samples | None  # samples that the flow has not seen


@dataclass(frozen=True)
class Task:
    samples: Samples
    V: Floats
    options: list[Settings]
    make_model: Callable[[Settings], Model]
    checkpoint: Checkpoint
    verbose: bool
    survey: Survey | None = None  # of all samples, where ``samples`` are a sample of them


def fit_flows(task: Task) -> Fitted:
    with use_precision(task.options[0].dtype):
        if task.survey is not None:
            return _fit_stream(task, task.survey)
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
        params = _first_params(model, [start], seed, selection.log_mix, one)
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
    """The last state for all settings and folds, with the best flows so far."""
    settings, samples = selection.options[0], selection.samples
    dtype, seed = settings.dtype, checkpoint.seed
    prepared = {
        (one.shrinkage, p): initialize(samples.at(selection.parts[p]), selection.V, one)
        for one, p in dict.fromkeys(selection.members())
    }
    members = [(one, p, *prepared[one.shrinkage, p]) for one, p in selection.members()]
    starts = [start for *_, start in members]
    params = _first_params(model, starts, seed, selection.log_mix, settings)
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
        state = trainer.step(state, data, rows, numbers | {"goes_on": goes_on}, seed, report)
        if state.epoch not in judged:
            return state
        l = np.asarray(ilrs(state.average, x), dtype=np.float64)
        state = selection.keep(state, l, trainer.n_batches)
        state.kept["goes_on"] = decide(state.kept["goes_on"])
        return state.record(score=float(state.kept["loss"].min()))

    def is_over(state: State) -> bool:
        return not len(selection.rows) or not state.kept["goes_on"].any()

    title = f"training {M} flows ({len(selection.options)} settings, {settings.folds} folds)"
    return _run(title, state, advance, settings.epochs, checkpoint, verbose, is_over)


def _fit_given(task: Task) -> Fitted:
    """Flows with given settings and epochs, watched by held-out samples."""
    samples, V, settings, seed = task.samples, task.V, task.options[0], task.checkpoint.seed
    part, held_out = hold_out(samples, settings.validation_fraction, seed)
    prepare, start = initialize(part, V, settings)
    mass = np.bincount(samples.codes, weights=samples.weight, minlength=len(V))
    job = _Job(task, prepare, start, mass, len(part.codes), held_out)
    prepared = part._replace(X=prepare(part.X))
    data = job.trainer.spread.replicate(_batch(prepared, settings.dtype))
    rows = [np.arange(len(part.codes))] * settings.n_estimators

    def advance(state: State, report: Report) -> State:
        return job.trainer.step(state, data, rows, job.numbers, seed, report)

    return job.run(advance, settings.epochs, prepared)


def _fit_stream(task: Task, survey: Survey) -> Fitted:
    """The same from samples beyond memory; held-out ones come from the survey's sample.

    A pass over many samples is divided into epochs of its own, so that checkpoints come in time.
    """
    samples, V, settings, seed = task.samples, task.V, task.options[0], task.checkpoint.seed
    share = settings.validation_fraction * survey.n / len(samples.codes)
    places: Any = np.arange(len(samples.codes))
    part, aside = hold_out(samples._replace(X=places), min(share, _MAX_OF_SAMPLE), seed)
    left_out = np.ones(len(samples.codes), dtype=bool)
    left_out[part.X] = False
    prepare, start = survey.prepare(left_out, V, settings)
    held_out = None if aside is None else samples.at(aside.X)
    n = survey.n - int(left_out.sum())
    job = _Job(task, prepare, start, survey.mass, n, held_out)
    trainer = job.trainer
    shuffle = Shuffle(trainer.call_size, survey.row_bytes(settings.dtype), survey.memory)
    n_parts = max(1, min(survey.n_parts, trainer.n_batches // _STEPS_OF_A_PART))
    n_chunks = max(1, n // trainer.call_size // n_parts)

    def advance(state: State, report: Report) -> State:
        def chunks() -> Iterator[tuple[np.ndarray, ...]]:
            order = np.random.default_rng([seed, state.epoch // n_parts])  # that of one pass
            some = survey.read(left_out, order, state.epoch % n_parts, n_parts)
            batches = survey.prepared(some, prepare, settings.dtype)
            shuffled = shuffle(batches, np.random.default_rng([seed, state.epoch, 1]))
            first = next(shuffled, None)
            if first is None:
                raise InputError(
                    "batches must give the same samples in each pass; a later pass had hardly any. "
                    "Give a function that starts from the beginning whenever it is called."
                )
            yield first
            yield from shuffled

        return trainer.step_through(state, chunks, n_chunks, job.numbers, seed, report)

    seen = samples.at(~left_out)
    return job.run(advance, settings.epochs * n_parts, seen._replace(X=prepare(seen.X)))


class _Job:
    """Training with given settings, for any source of samples."""

    def __init__(
        self,
        task: Task,
        prepare: Preparation,
        start: Start,
        mass: NDArray[Any],
        n: int,
        held_out: Samples | None,
    ) -> None:
        self._task, self._prepare, self._held_out = task, prepare, held_out
        settings, checkpoint = task.options[0], task.checkpoint
        self._model, E = task.make_model(settings), settings.n_estimators
        self._log_mix = np.log(mass / mass.sum())
        self.numbers = _numbers([settings] * E, settings.dtype)
        batch = min(settings.batch_size, n)
        self.trainer = make_trainer(
            self._model,
            settings.dtype,
            n_batches=max(1, n // batch),
            batch_size=batch,
            learning_rate=settings.learning_rate,
            epochs=settings.epochs,
        )
        params = _first_params(self._model, [start] * E, checkpoint.seed, self._log_mix, settings)
        state = self.trainer.start(params)
        self._watch = None
        if held_out is not None:
            x = jax.device_put(prepare(held_out.X).astype(settings.dtype))
            self._watch = HeldOutWatch(
                self._model, held_out, x, self._log_mix, task.V, settings.dtype
            )
            loss = self._watch.losses(state.params).mean(axis=1)
            state = replace(state, kept={"params": state.params, "loss": loss})
        self._state = checkpoint.restore(state)

    def run(
        self, advance: Callable[[State, Report], State], epochs: int, prepared: Samples
    ) -> Fitted:
        """Flows after the last epoch, with the finish; ``prepared`` are samples they have seen."""
        task, watch = self._task, self._watch
        settings, E = task.options[0], task.options[0].n_estimators

        def step(state: State, report: Report) -> State:
            state = advance(state, report)
            return state if watch is None else watch.keep_best(state)

        title = "training" if E == 1 else f"training {E} flows"
        verbose = task.verbose and epochs > 0
        state = _run(title, self._state, step, epochs, task.checkpoint, verbose)
        best = state.average if watch is None else watch.choose(state, epochs)
        at = 0 if E == 1 else slice(None)
        params = self.trainer.layout.restore(tuple(np.asarray(vector)[at] for vector in best))
        if watch is not None and self._held_out is not None:
            ilr = watch.ilrs(best).mean(axis=0)
            flows = FittedFlows(self._model, settings, params)
            params = _finish(flows, ilr, self._held_out, self._log_mix, prepared, task.V)
        return Fitted(settings, self._prepare, params, list(state.history), [], self._held_out)


def hold_out(samples: Samples, fraction: float, seed: int) -> tuple[Samples, Samples | None]:
    """Split off samples from every class to watch the training by, if there are enough."""
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


@dataclass(frozen=True)
class HeldOutWatch:
    """Held-out samples, prepared as ``x``, and how flows in training do on them."""

    model: Model
    samples: Samples
    x: jax.Array
    log_mix: Floats
    V: Floats
    dtype: str

    def ilrs(self, vectors: Vectors) -> Floats:
        return np.asarray(ilr_program(self.model, self.dtype)(vectors, self.x), dtype=np.float64)

    def losses(self, vectors: Vectors) -> Floats:
        weight = self.samples.weight / self.samples.weight.mean()
        each = [losses_at(l, self.samples, self.log_mix, self.V) for l in self.ilrs(vectors)]
        return np.array(each) * weight

    def keep_best(self, state: State) -> State:
        """The state with each member's best parameters so far."""
        loss = self.losses(state.average).mean(axis=1)
        better = loss < state.kept["loss"]  # never for NaN
        best = select(better, state.average, state.kept["params"])
        kept = {"params": best, "loss": np.where(better, loss, state.kept["loss"])}
        state = replace(state, kept=kept)
        return state.record(score=float(loss.mean()), best_score=float(kept["loss"].mean()))

    def choose(self, state: State, epochs: int) -> Vectors:
        """The parameters to keep.

        After all epochs, whose last steps are small, these are the last ones, unless the best ones
        are clearly better: the best of many noisy scores often comes from an epoch with large
        steps. After an interruption they are the best ones.
        """
        if state.epoch < epochs:
            return state.kept["params"]
        loss = self.losses(state.average) - self.losses(state.kept["params"])
        n = loss.shape[1]
        standard_errors = 1 if n < _FEW_HELD_OUT else 2
        doubt = standard_errors * loss.std(axis=1) / n**0.5
        return select(loss.mean(axis=1) <= doubt, state.average, state.kept["params"])


def _run(
    title: str,
    state: State,
    advance: Callable[[State, Report], State],
    epochs: int,
    checkpoint: Checkpoint,
    verbose: bool,
    is_over: Callable[[State], bool] = lambda state: False,
) -> State:
    """The state after the last epoch, or after the one in which the user interrupted."""
    with Progress(title, epochs, state.epoch, verbose) as progress:
        with interruptible(lambda: f"after {state.epoch} of {epochs} epochs"):
            while state.epoch < epochs and not is_over(state):
                with in_company():
                    state = advance(state, progress.advance)
                checkpoint.save(state)
                progress.show(state.history[-1])
        checkpoint.save(state, force=True)
    return state


def _finish(
    flows: FittedFlows, ilr: Floats, unseen: Samples, log_mix: Floats, prepared: Samples, V: Floats
) -> Params:
    """Parameters with the calibrated finish, learned from unseen samples."""
    if not flows.settings.calibrate:
        return flows.params
    change = calibrate(ilr, unseen, log_mix, V).map
    rows = slice(None, None, -(-len(prepared.codes) // _MAX_FINISHED))
    added = np.random.default_rng(0).standard_normal((len(prepared.codes), flows.settings.augment))
    W = np.hstack([prepared.X, added])[rows]
    each = []
    for params in flows.members():
        covariance = covariance_of(params["covariance"])
        if len(ilr):
            covariance = family_covariance(ilr, unseen, covariance, change, V)
        finish = finish_base(flows.base_of(params, W), prepared.weight[rows], change)
        each.append(flows.model.finish(params, *finish, covariance))
    return each[0] if len(each) == 1 else jax.tree.map(lambda *a: np.stack(a), *each)


def _first_params(
    model: Model, starts: list[Start], seed: int, log_mix: Floats, settings: Settings
) -> Params:
    """Parameters for members with given starts; the members are on the first axis.

    An ensemble's members differ by their networks; compared settings have the same ones.
    """
    E, dtype = settings.n_estimators, np.dtype(settings.dtype)
    seeds = np.random.default_rng(seed).integers(2**31, size=E).tolist()
    made = {
        (id(start), m % E): model.init(seeds[m % E], start, dtype=settings.dtype)
        for m, start in enumerate(starts)
    }
    each = [made[id(start), m % E] for m, start in enumerate(starts)]
    params: Params = jax.tree.map(lambda *a: np.stack(a), *each)
    bounded = np.maximum(log_mix, _MIN_LOG_MIX).astype(dtype)
    params["log_mix"] = np.broadcast_to(bounded, params["log_mix"].shape).copy()
    return params


def _numbers(members: list[Settings], dtype: str) -> dict[str, np.ndarray]:
    weights = np.array([one.discriminative_weight for one in members])
    return {
        "noise": np.array([one.input_noise for one in members], dtype),
        "weight_decay": np.array([one.weight_decay for one in members], dtype),
        "entropy_share": (weights / (1 + weights)).astype(dtype),
    }


def _batch(samples: Samples, dtype: str) -> Any:
    weight = samples.weight / samples.weight.mean()
    return samples.X.astype(dtype), samples.codes.astype(np.int32), weight.astype(dtype)
