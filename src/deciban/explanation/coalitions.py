"""Evidence about samples with some features known and all others from a background."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._estimation import evidence_of
from deciban._estimation.frames import is_table, library_of
from deciban._validation.arrays import (
    Floats,
    import_frames,
    refuse_masked,
    require_finite_log_parts,
    to_numpy,
)
from deciban._validation.scalars import quote, quote_each
from deciban.evidence import Evidence
from deciban.evidence.bayes import Prior
from deciban.exceptions import InputError

Progress = Callable[[Sequence[Any]], Iterable[Any]]

_MAX_ROWS, _MAX_CELLS = 2**16, 2**22  # of a table that the model gets at once
_REMEDY = (
    "Contributions to an infinite LLR are not defined: wrap a classifier in "
    "deciban.calibration.CalibratedEvidenceClassifier, which has a floor, or return "
    "evidence.replace_zeros(log_delta=...) from a function."
)


@dataclass(frozen=True)
class Mixer:
    """Makes tables whose features come from samples or from the background."""

    table: Any  # samples, then background
    n_samples: int
    n_background: int
    columns: list[Any]
    players: NDArray[np.bool_]  # a row for each feature or group: its columns

    def mix(self, samples: NDArray[np.intp], coalitions: NDArray[np.bool_]) -> Any:
        B = self.n_background
        known = coalitions @ self.players
        background = np.tile(np.arange(B) + self.n_samples, len(samples))
        sample = np.repeat(samples, B)
        rows = [np.where(np.repeat(of, B), sample, background) for of in known.T]
        if not is_table(self.table):
            return np.column_stack([self.table[at, k] for k, at in enumerate(rows)])
        library = library_of(self.table)
        pick = "take" if library == "pandas" else "gather"
        picked = zip(self.columns, rows, strict=True)
        cells = {key: getattr(self.table[key], pick)(at) for key, at in picked}
        if library == "pandas":
            cells = {key: column.reset_index(drop=True) for key, column in cells.items()}
        return import_frames(library).DataFrame(cells)


def read_mixer(X: Any, background: Any, feature_groups: Any) -> tuple[Mixer, tuple[Hashable, ...]]:
    if is_table(X) != is_table(background) or library_of(X) != library_of(background):
        raise InputError(
            f"X and background must be both arrays or both frames of one library; got "
            f"{type(X).__name__} and {type(background).__name__}. Convert one of them."
        )
    table, columns = (_stack_frames if is_table(X) else _stack)(X, background)
    names, players = _read_players(feature_groups, columns)
    return Mixer(table, len(X), len(background), columns, players), names


def _stack(X: Any, background: Any) -> tuple[NDArray[Any], list[Any]]:
    refuse_masked(X, "X")
    refuse_masked(background, "background")
    tables = np.asarray(X), np.asarray(background)
    shapes = [table.shape for table in tables]
    if any(len(shape) != 2 or 0 in shape for shape in shapes) or shapes[0][1] != shapes[1][1]:
        raise InputError(
            f"X and background must have shape (n_samples, n_features), with rows and the same "
            f"features; got {shapes[0]} and {shapes[1]}. Write [x] for one sample."
        )
    return np.concatenate(tables), list(range(shapes[0][1]))


def _stack_frames(X: Any, background: Any) -> tuple[Any, list[Any]]:
    columns, repeated = list(background.columns), len(set(background.columns)) < background.shape[1]
    if repeated or sorted(map(str, X.columns)) != sorted(map(str, columns)):
        raise InputError(
            f"X and background must have the same columns, each once; got {quote_each(X.columns)} "
            f"and {quote_each(columns)}. Select the columns that the model takes."
        )
    X = X[columns]
    for key in columns if len(X) and len(background) else ():
        kinds = X[key].dtype, background[key].dtype
        if kinds[0] != kinds[1] and not all(map(_is_number, kinds)):
            raise InputError(
                f"X and background must hold the same type in {quote(key)}; got {kinds[0]} and "
                f"{kinds[1]}. Convert one of them."
            )
    if not (len(X) and len(background)):
        raise InputError(
            f"X and background must have rows; got {len(X)} and {len(background)}. Give some."
        )
    frames = import_frames(library_of(X))
    if library_of(X) == "pandas":
        return frames.concat([X, background], ignore_index=True), columns
    return frames.concat([X, background], how="vertical_relaxed"), columns


def _is_number(dtype: Any) -> bool:
    return dtype.is_numeric() if hasattr(dtype, "is_numeric") else dtype.kind in "iuf"


def _read_players(
    groups: Mapping[Hashable, Any] | None, columns: list[Any]
) -> tuple[tuple[Hashable, ...], NDArray[np.bool_]]:
    """Names of the players and their columns; a column in no group is a player by itself."""
    members: dict[Hashable, list[Any]] = {}
    if groups is not None and not isinstance(groups, Mapping):
        raise InputError(
            f"feature_groups must map names to columns of X; got {type(groups).__name__}. Write "
            f"{{'name': ['column', ...]}}."
        )
    for name, group in (groups or {}).items():
        group = group.tolist() if hasattr(group, "tolist") else group  # an array or an Index
        members[name] = list(group) if isinstance(group, list | tuple | set | range) else [group]
    taken = [key for group in members.values() for key in group]
    wrong = [key for key in taken if key not in columns]
    if wrong or len(set(taken)) != len(taken) or not all(members.values()):
        got = f"{quote(wrong[0])}, which is no column" if wrong else "an empty or a shared one"
        raise InputError(
            f"feature_groups must map names to columns of X, each in one group; got {got}. Name "
            f"columns of a frame, or positions from 0 in an array."
        )
    alone = [key for key in columns if key not in taken]
    if members.keys() & set(alone):
        raise InputError(
            f"feature_groups must not be named like a column outside the group; got "
            f"{quote_each(members.keys() & set(alone))}. Choose other names."
        )
    members |= {key: [key] for key in alone}
    players = np.array([[key in group for key in columns] for group in members.values()])
    return tuple(members), players


def read_model(model: Any, training_prior: Prior) -> Callable[[Any], Evidence]:
    best = getattr(model, "best_estimator_", model)
    last = best[-1] if hasattr(best, "steps") else best
    if hasattr(last, "evidence"):
        if training_prior is not None:
            raise InputError(
                "training_prior must be None if the model gives evidence, which holds no prior; "
                "got a prior. Leave it out."
            )
        return lambda X: evidence_of(model, X)
    if hasattr(best, "predict_proba"):
        from deciban.calibration.scores import log_posteriors

        method = "predict_log_proba" if hasattr(best, "predict_log_proba") else "predict_proba"
        if not hasattr(best, "classes_"):
            got = f"{type(best).__name__}, which has no classes_"
            raise InputError(f"model must be fitted; got {got}. Call fit first.")
        classes = tuple(np.asarray(best.classes_).tolist())
        return lambda X: Evidence.from_log_posteriors(
            log_posteriors(best, X, classes, method), training_prior, classes
        )
    if not callable(model) or isinstance(model, type):
        raise InputError(
            f"model must give evidence or probabilities, or be a function that does; got "
            f"{quote(model)}. Wrap a classifier in "
            f"deciban.calibration.CalibratedEvidenceClassifier."
        )

    def call(X: Any) -> Evidence:
        found = model(X)
        if isinstance(found, Evidence):
            return found
        logs = to_numpy(found, "what model returns")
        if logs.ndim == 2 and (logs >= 0).all() and np.allclose(logs.sum(axis=1), 1, atol=1e-6):
            raise InputError(
                "model must return Evidence or logarithms; got rows that sum to one, which are "
                "probabilities. Pass the classifier itself, or return np.log(p)."
            )
        return Evidence.from_log_posteriors(found, training_prior)

    return call


def evaluate_coalitions(
    evidence: Callable[[Any], Evidence],
    mixer: Mixer,
    coalitions: NDArray[np.bool_],
    track: Progress,
) -> tuple[Floats, tuple[Hashable, ...]]:
    """Aitchison means over the background, (n_coalitions, n_samples, D), and classes."""
    n, B = mixer.n_samples, mixer.n_background
    most = max(1, min(_MAX_ROWS, _MAX_CELLS // len(mixer.columns)) // B)
    games = np.arange(n * len(coalitions))  # each coalition of each sample
    blocks = [games[start : start + most] for start in range(0, len(games), most)]
    values: list[Floats] = []
    classes: tuple[Hashable, ...] = ()
    for block in track(blocks):
        found = evidence(mixer.mix(block % n, coalitions[block // n]))
        if len(found) != len(block) * B:
            raise InputError(
                f"model must give a row of evidence for each row of X; got {len(found):,} for "
                f"{len(block) * B:,}. Return them in the order of X."
            )
        log_w, classes = found.log_likelihoods, found.classes
        require_finite_log_parts(np, log_w, "log-likelihoods of the model", _REMEDY)
        clr = log_w - log_w.mean(axis=1, keepdims=True)
        values.append(clr.reshape(len(block), B, -1).mean(axis=1))
    return np.concatenate(values).reshape(len(coalitions), n, -1), classes
