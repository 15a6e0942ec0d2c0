"""A fitted CDA as a file, and back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import numpy as np

from deciban.discriminant import storage
from deciban.discriminant.settings import Settings
from deciban.discriminant.start import Start, Whitening
from deciban.exceptions import InputError
from deciban.simplex import Basis

_FLOW = ("kind", "depth", "activation", "mixing")
_OPTIONS = ("n_estimators", "dtype", "augment_draws")


def write_model(model: Any, path: Any) -> None:
    """Write what predictions need; what only another fit would need is left out."""
    names = model.classes_.tolist()
    if not all(isinstance(name, str | int | float | bool) for name in names):
        raise InputError(
            "classes must be text, numbers or truth values to be saved; they are not. Rename them."
        )
    leaves = jax.tree.leaves(model._params)
    arrays = {f"parameter {k}": np.asarray(leaf) for k, leaf in enumerate(leaves)}
    arrays |= {f"whitening {k}": v for k, v in model._whitening._asdict().items()}
    arrays |= {
        "contrast": model.basis_.contrast,
        "prior": model.prior_,
        "quantiles": model._density_quantiles,
    }
    plain = {
        "classes": names,
        "settings": asdict(model._settings),
        "flow": {name: getattr(model, name) for name in _FLOW},
        "options": {name: getattr(model, name) for name in _OPTIONS},
        "n_features": model.n_features_in_,
        "history": model.history_,
    }
    storage.write(path, "CDA", arrays, plain)


def read_model(cls: Any, path: Any) -> Any:
    """The model in a file, or a sentence on what is wrong with it."""
    arrays, plain = storage.read(path, "CDA")
    try:
        return _restored(cls, arrays, plain)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(
            f"{Path(path).name} must be a whole model; a part is missing or does not fit "
            f"({error}). Save it again."
        ) from None


def _restored(cls: Any, arrays: dict[str, np.ndarray], plain: dict[str, Any]) -> Any:
    settings = Settings(**plain["settings"])
    model = cls(**plain["flow"], **plain["options"], **asdict(settings))
    model.classes_ = np.array(plain["classes"])
    model.n_features_in_ = int(plain["n_features"])
    D, d = len(model.classes_), model.n_features_in_
    model.basis_ = Basis(arrays["contrast"], model.classes_.tolist())
    model.prior_ = _shaped(arrays["prior"], (D,))
    shapes = zip(Whitening._fields, ((d,), (d,), (d, d), (d, d)), strict=True)
    model._whitening = Whitening(*(_shaped(arrays[f"whitening {k}"], s) for k, s in shapes))
    model._density_quantiles = _shaped(arrays["quantiles"], arrays["quantiles"].shape)
    model.history_ = list(plain["history"])
    model._settings = settings
    model._model = model._model_of(settings, d)
    model._params = _parameters(model, arrays)
    return model


def _parameters(model: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The stored parameters, in the shape that the settings ask for."""
    n, D = model.n_features_in_ + model._settings.augment, len(model.classes_)
    model._start = Start(np.eye(n), np.zeros(n), np.eye(D - 1))
    with model._computing():
        template = jax.tree.map(np.asarray, model._first(jax.random.key(0)))
    leaves, tree = jax.tree.flatten(template)
    stored = [
        _shaped(arrays[f"parameter {k}"], leaf.shape).astype(leaf.dtype)
        for k, leaf in enumerate(leaves)
    ]
    return jax.tree.unflatten(tree, stored)


def _shaped(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if array.shape != shape or array.dtype.kind != "f" or not np.isfinite(array).all():
        raise ValueError(f"an array of shape {array.shape} where {shape} is needed, finite")
    return array
