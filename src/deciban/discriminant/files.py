"""A fitted CDA as a file, and back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import numpy as np

from deciban._persistence import tensors
from deciban._persistence.encoding import BROKEN, label_array, label_type
from deciban.discriminant.initialization import Start, Whitening
from deciban.discriminant.settings import checked
from deciban.exceptions import InputError
from deciban.simplex import Basis

_NOT_KEPT = ("basis", "checkpoint", "device")  # of the parameters: of another place or time
_PLAIN = (str, int, float, bool, type(None))


def write_model(model: Any, path: Any, extra: dict[str, Any] | None = None) -> None:
    """Write the fitted model, its parameters included, as far as they are plain data."""
    class_type = label_type(model.classes_)
    leaves = jax.tree.leaves(model._params)
    arrays = {f"parameter {k}": np.asarray(leaf) for k, leaf in enumerate(leaves)}
    arrays |= {f"whitening {k}": v for k, v in model._whitening._asdict().items()}
    arrays |= {
        "contrast": model.basis_.contrast,
        "prior": model.prior_,
        "quantiles": model._density_quantiles,
    }
    given = {name: _plain(value) for name, value in model.get_params(deep=False).items()}
    columns = getattr(model, "feature_names_in_", None)
    plain = {
        "classes": model.classes_.tolist(),
        "class_type": class_type,
        "settings": asdict(model._settings),
        "parameters": {
            name: value
            for name, value in given.items()
            if isinstance(value, _PLAIN) and name not in _NOT_KEPT
        },
        "members": model._members,
        "n_features": model.n_features_in_,
        "features": None if columns is None else [str(name) for name in columns],
        "history": model.history_,
    }
    tensors.write(path, "CDA", arrays, plain, extra)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def read_model(cls: Any, path: Any) -> Any:
    """The model in a file, or a sentence on what is wrong with it."""
    return restored(cls, *tensors.read(path, "CDA"), path)


def restored(cls: Any, arrays: dict[str, np.ndarray], plain: dict[str, Any], path: Any) -> Any:
    """The model of a file that was read, or a sentence on what is wrong with it."""
    try:
        return _restored(cls, arrays, plain)
    except BROKEN as error:
        raise InputError(
            f"{Path(path).name} must be a whole model; a part is missing or does not fit "
            f"({error}). Save it again."
        ) from None


def _restored(cls: Any, arrays: dict[str, np.ndarray], plain: dict[str, Any]) -> Any:
    model = cls(**plain["parameters"])
    model._require_options()
    settings = checked(plain["settings"])
    kind = plain.get("class_type")  # files of old do not say
    names = plain["classes"]
    model.classes_ = np.array(names) if kind is None else label_array(names, kind)
    model.n_features_in_ = int(plain["n_features"])
    D, d = len(model.classes_), model.n_features_in_
    if plain["features"] is not None:
        if len(plain["features"]) != d:
            raise ValueError(f"{len(plain['features'])} names of {d} features")
        model.feature_names_in_ = np.array(plain["features"], dtype=object)
    model.basis_ = Basis(arrays["contrast"], model.classes_.tolist())
    model.prior_ = _shaped(arrays["prior"], (D,))
    if (model.prior_ < 0).any() or abs(model.prior_.sum() - 1) > 1e-6:
        raise ValueError("a prior that is none")
    model._whitening = _whitening(arrays, d)
    quantiles = arrays["quantiles"]
    model._density_quantiles = _shaped(quantiles, (quantiles.size,))
    if quantiles.size == 0 or (np.diff(quantiles) < 0).any():
        raise ValueError("quantiles that do not rise")
    model.history_ = list(plain["history"])
    model._settings, model._members = settings, int(plain["members"])
    model._params = _parameters(model, arrays)
    return model


def _whitening(arrays: dict[str, np.ndarray], d: int) -> Whitening:
    shapes = zip(Whitening._fields, ((d,), (d,), (d, d), (d, d)), strict=True)
    result = Whitening(*(_shaped(arrays[f"whitening {k}"], shape) for k, shape in shapes))
    if (result.scale <= 0).any():
        raise ValueError("a scale that is not positive")
    if not np.allclose(result.matrix @ result.inverse, np.eye(d), atol=1e-4):
        raise ValueError("a matrix and an inverse that is not its own")
    return result


def _parameters(model: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The stored parameters, in the shape that the settings ask for.

    Shapes are worked out without memory, and looked at before anything is made: what a file claims
    may be beyond any machine.
    """
    n, D = model.n_features_in_ + model._settings.augment, len(model.classes_)
    stored = {k: array for k, array in arrays.items() if k.startswith("parameter ")}
    if not any(array.shape[-2:] == (n, n) for array in stored.values()):
        raise ValueError(f"no map of {n} dimensions")
    if not 1 <= model._members <= max(len(array) for array in stored.values() if array.ndim):
        raise ValueError(f"{model._members} members")
    model._model = model._model_of(model._settings, model.basis_, model.n_features_in_)
    model._start = Start(np.eye(n), np.zeros(n), np.eye(D - 1))
    with model._computing():
        template = jax.eval_shape(model._first, jax.random.key(0))
    leaves, tree = jax.tree.flatten(template)
    if len(leaves) != len(stored):
        raise ValueError(f"{len(stored)} parameters where {len(leaves)} are needed")
    return jax.tree.unflatten(
        tree,
        [
            _shaped(stored[f"parameter {k}"], leaf.shape).astype(leaf.dtype)
            for k, leaf in enumerate(leaves)
        ],
    )


def _shaped(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if array.shape != shape or array.dtype.kind != "f" or not np.isfinite(array).all():
        raise ValueError(f"an array of shape {array.shape} where {shape} is needed, finite")
    return array
