"""Settings, and the number of epochs, chosen on folds of the samples.

Flows with several settings are trained at once, under one compilation: for each fold on the
samples outside it, and on all samples. The flows that have not seen a fold judge its samples. When
a setting improves, its flow trained on all samples is kept; a setting that has not improved for
long, or is far behind the best, rests. Linear discriminant analysis competes in closed form, and
wins unless flows are better.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._estimation.samples import Samples
from deciban._validation.arrays import Floats
from deciban.discriminant.finish import Calibration, calibrate, losses_at, losses_at_best_scale
from deciban.discriminant.initialization import initialize
from deciban.discriminant.model import Model
from deciban.discriminant.programs import make_trainer, select
from deciban.discriminant.settings import LEDOIT_WOLF, Settings
from deciban.flows.processes import decide
from deciban.flows.training import State, Trainer, Vectors

_GROWTH = 1.2  # of the epochs from one judgment to the next
_GAIN = 0.003  # of the lowest loss: what counts as getting better
_MIN_GAIN = 0.5  # nats of all samples together; less may be due to one of them
_AS_GOOD = 0.5  # standard errors that a later epoch of many samples may be worse by
_MANY = 2_000  # samples that are not learned by heart in a few epochs
_MIN_LEAD = 2.0  # the same for flows before the closed form, as they are the best of many
_PATIENCE = 2.0  # times the epoch of the last gain: so long training goes on without another
_PATIENT_STEPS = 60  # and so many steps more
_FAIR_STEPS = 400  # after which settings are given up that are behind the best one
_MANY_STEPS = 800  # before which flows of many samples gain more than the judged samples can show
_BEHIND = 3.0  # standard errors of the difference
_IN_DOUBT = 0.5  # standard errors by which flows must be better than the closed form
_MIN_FREEDOM = 3  # samples beyond one of each class, outside of every fold
_PARTS = 4  # of which one is held out where one is enough


class Choice(NamedTuple):
    """The chosen settings, with their flow unless LDA itself is chosen."""

    settings: Settings
    params: Vectors | None  # with the members of an ensemble on the first axis
    rows: NDArray[np.intp]  # samples that were judged
    ilr: Floats  # their ILRLs, from models that have not seen them
    report: list[dict[str, Any]]  # each setting and its loss


def assign_folds(codes: NDArray[np.intp], n_folds: int, seed: int) -> NDArray[np.intp]:
    """Folds, alike in every class; -1 for a class's only sample.

    Every class then occurs outside each fold.
    """
    rng = np.random.default_rng(seed)
    fold = np.full(len(codes), -1)
    for k, count in enumerate(np.bincount(codes)):
        rows = rng.permutation(np.flatnonzero(codes == k))
        if count > 1:
            fold[rows] = (np.arange(count) + rng.integers(n_folds)) % n_folds
    return fold


@dataclass(frozen=True)
class Selection:
    samples: Samples
    V: Floats
    options: list[Settings]
    fold: NDArray[np.intp]

    @classmethod
    def plan(cls, samples: Samples, V: Floats, options: list[Settings], seed: int) -> Selection:
        """Folds as the settings ask for them; a single fold is one part in four."""
        n_folds = options[0].folds
        fold = assign_folds(samples.codes, n_folds if n_folds > 1 else _PARTS, seed)
        fold = np.where(fold < n_folds, fold, -1)
        least = min(int(np.sum(fold != f)) for f in range(n_folds))
        if least < len(V) + _MIN_FREEDOM:
            fold[:] = -1  # nothing is judged
        return cls(samples, V, options, fold)

    @property
    def rows(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.fold >= 0)

    @property
    def log_mix(self) -> Floats:
        mass = np.bincount(self.samples.codes, weights=self.samples.weight, minlength=len(self.V))
        return np.log(mass / mass.sum())

    @property
    def parts(self) -> list[NDArray[np.bool_]]:
        """Samples to train on: all but a fold, for every fold, and then all."""
        n_folds = self.options[0].folds
        return [*(self.fold != f for f in range(n_folds)), np.ones(len(self.fold), dtype=bool)]

    @property
    def judged(self) -> Samples:
        return self.samples.at(self.rows)

    def trainer(self, model: Model) -> Trainer:
        least = min(int(part.sum()) for part in self.parts)
        batch = min(self.options[0].batch_size, least)
        return make_trainer(
            model,
            self.options[0].dtype,
            n_batches=max(1, least // batch),
            batch_size=batch,
            learning_rate=self.options[0].learning_rate,
            own_data=True,
        )

    def members(self) -> Iterator[tuple[Settings, int]]:
        for settings in self.options:
            for p in range(len(self.parts)):
                yield from [(settings, p)] * settings.n_estimators

    def keep(self, state: State, ilrs: Floats, n_batches: int) -> State:
        """The state with the best flows so far, and with the settings that go on.

        ``ilrs`` are those of all samples from all members, of shape (n_members, n, D - 1).
        """
        shape = (len(self.options), len(self.parts), self.options[0].n_estimators)
        each = ilrs.reshape(*shape, *ilrs.shape[1:]).mean(axis=2)
        kept = {k: v if k == "params" else v.copy() for k, v in state.kept.items()}
        judged, better = self.judged, np.zeros(shape[0], dtype=bool)
        weight = judged.weight / judged.weight.mean()
        judge = losses_at_best_scale if self.options[0].calibrate else losses_at
        many, steps = len(self.fold) >= _MANY, state.epoch * n_batches
        for c in np.flatnonzero(kept["goes_on"]):
            l = each[c, self.fold[self.rows], self.rows]
            if not np.isfinite(l).all():  # the flow has diverged
                continue
            losses = judge(l, judged, self.log_mix, self.V) * weight
            is_lower = (kept["loss"][c] - losses.mean()) * len(losses) > _MIN_GAIN
            better[c] = is_lower or (many and not _is_worse(losses, kept["losses"][c], _AS_GOOD))
            if is_lower:
                kept["loss"][c], kept["losses"][c] = losses.mean(), losses
            if better[c]:
                kept["ilr"][c], kept["epoch"][c] = l, state.epoch
        gains = kept["loss"] < (1 - _GAIN) * kept["low"]
        kept["low"][gains], kept["gained"][gains] = kept["loss"][gains], state.epoch
        patience = -(-_PATIENT_STEPS // n_batches)
        if steps >= _MANY_STEPS or not many:
            kept["goes_on"] &= state.epoch < _PATIENCE * kept["gained"] + patience
        if steps >= _FAIR_STEPS:
            best = kept["losses"][np.argmin(kept["loss"])]
            kept["goes_on"] &= ~_is_worse(kept["losses"], best, _BEHIND)
        if better.any():
            final = self._all_samples(state.average)
            kept["params"] = select(better[:, None], final, kept["params"])
        return replace(state, kept=kept)

    def _all_samples(self, vectors: Vectors) -> Vectors:
        shape = (len(self.options), len(self.parts), self.options[0].n_estimators)
        return tuple(np.asarray(vector).reshape(*shape, -1)[:, -1] for vector in vectors)

    def first_kept(self, vectors: Vectors) -> dict[str, Any]:
        C = len(self.options)
        return {
            "ilr": np.zeros((C, len(self.rows), self.V.shape[1])),
            "loss": np.full(C, np.inf),
            "epoch": np.zeros(C, dtype=np.int64),
            "losses": np.full((C, len(self.rows)), np.inf),
            "low": np.full(C, np.inf),  # loss, and epoch, when the setting last gained
            "gained": np.zeros(C, dtype=np.int64),
            "goes_on": np.ones(C, dtype=bool),
            "params": self._all_samples(vectors),
        }

    def choose(self, kept: dict[str, Any]) -> Choice:
        """The settings with the lowest loss on the folds, calibrated; LDA itself when in doubt."""
        judged, first = self.judged, self.options[0]
        tried = [
            replace(s, epochs=int(e)) for s, e in zip(self.options, kept["epoch"], strict=True)
        ]
        ilrs = list(kept["ilr"])
        room = max(0, len(self.V) - 1 - self.samples.X.shape[1])
        linear = replace(first, n_couplings=0, epochs=0, augment=room)
        shrinkages: list[float | str] = [LEDOIT_WOLF, 0.0]
        for shrinkage, tails in product(shrinkages, sorted({False, first.draw_in_tails})):
            tried.append(replace(linear, shrinkage=shrinkage, draw_in_tails=tails))
            ilrs.append(self._linear_ilr(tried[-1]))
        found = [calibrate(l, judged, self.log_mix, self.V, affine=first.calibrate) for l in ilrs]
        criteria = np.array([one.criterion for one in found])
        n_flows = len(self.options)
        criteria[:n_flows][kept["epoch"] == 0] = np.inf  # interrupted before it was judged
        # Plain LDA of few samples is the more confident, and must be the better by as much.
        n, plain = max(1, len(judged.codes)), [one.shrinkage == 0.0 for one in tried[n_flows:]]
        criteria[n_flows:] += np.where(plain, _MIN_GAIN / n, 0.0)
        flow, lda = int(np.argmin(criteria[:n_flows])), n_flows + int(np.argmin(criteria[n_flows:]))
        best = lda
        if criteria[flow] < criteria[lda]:
            gain = found[lda].losses - found[flow].losses
            doubt = max(_IN_DOUBT * gain.std() / len(gain) ** 0.5, _MIN_LEAD / len(gain))
            best = flow if criteria[lda] - criteria[flow] > doubt else lda
        best = int(decide(np.array(best)))
        report = [_describe(s, one) for s, one in zip(tried, found, strict=True)]
        report[best]["chosen"] = True
        params = None
        if best == flow:
            at = (best, 0) if first.n_estimators == 1 else (best,)
            params = tuple(vector[at] for vector in kept["params"])
        return Choice(tried[best], params, self.rows, ilrs[best], report)

    def _linear_ilr(self, settings: Settings) -> Floats:
        ilr = np.zeros((len(self.fold), self.V.shape[1]))
        for f, part in enumerate(self.parts[:-1]):
            prepare, start = initialize(self.samples.at(part), self.V, settings)
            held = self.fold == f
            ilr[held] = start.evidence(prepare(self.samples.X[held]), self.V) @ self.V
        return ilr[self.rows]


def _is_worse(losses: Floats, best: Floats, n_errors: float) -> NDArray[np.bool_]:
    """Whether losses, on the last axis, exceed the best by so many standard errors."""
    with np.errstate(invalid="ignore"):  # losses are infinite until the first that is finite
        gap = losses - best
        doubt = gap.std(axis=-1) / max(1, gap.shape[-1]) ** 0.5
    return np.asarray(gap.mean(axis=-1) > n_errors * doubt)


def describe_choice(report: list[dict[str, Any]]) -> str:
    chosen = next(one for one in report if one["chosen"])
    if np.isnan(chosen["cross_entropy"]):
        return "Too few samples for folds: the model is linear discriminant analysis."
    least = [
        min((one["cross_entropy"] for one in report if one["model"] == model), default=np.nan)
        for model in ("flow", "closed form")
    ]
    losses = f"{least[0]:.4g} nat, the closed form {least[1]:.4g}"
    if chosen["model"] == "flow":
        epochs = f"a flow of {chosen['epochs']} epochs"
        return f"On folds, flows have a cross-entropy of {losses}: {epochs} is kept."
    return (
        f"On folds, flows are not clearly better than linear discriminant analysis ({losses}): the "
        f"model is its closed form."
    )


def judgments(epochs: int) -> Iterable[int]:
    """Epochs after which the folds are judged: all at first, then fewer and fewer."""
    epoch = 1
    while epoch < epochs:
        yield epoch
        epoch = max(epoch + 1, round(_GROWTH * epoch))
    yield epochs


def _describe(settings: Settings, found: Calibration) -> dict[str, Any]:
    names = ("epochs", "input_noise", "weight_decay", "shrinkage", "draw_in_tails")
    return {
        "model": "flow" if settings.epochs else "closed form",
        **{name: getattr(settings, name) for name in names},
        "cross_entropy": float(found.losses.mean()) if len(found.losses) else np.nan,
        "chosen": False,
    }
