"""Fitted estimators as files, and back: their parameters, and what each class says it has learnt.

A class says with :func:`register` what of it goes into a file and in which shape it must come
back: D classes, k = D - 1, d features. Files name classes; only registered ones are found.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from deciban._persistence import tensors
from deciban._persistence.encoding import BROKEN, Decoder, Encoder, Spec, require_fit
from deciban.exceptions import InputError

_KEPT: dict[str, tuple[type[PersistentMixin], dict[str, Spec]]] = {}
# Where the classes are, so that a file can be loaded before they are imported.
_HOMES = {
    "deciban.discriminant": ("LinearDiscriminant", "QuadraticDiscriminant"),
    "deciban.calibration": ("AffineCalibrator", "GaussianCalibrator", "IsotonicCalibrator",
                            "KernelDensityCalibrator", "BoundedCalibrator"),
}  # fmt: skip
_COMMON = ("classes_", "prior_", "n_features_in_")
_NAMES = "feature_names_in_"
Kind = TypeVar("Kind", bound="type[PersistentMixin]")


class PersistentMixin:
    """``save`` and ``load`` of an estimator whose class is registered."""

    def save(self, path: Any, extra: dict[str, Any] | None = None) -> None:
        """Write the fitted estimator to a file of arrays and plain data (safetensors, JSON).

        Parameters
        ----------
        path : path
        extra : dict, optional
            Plain data to go along, as JSON has it: ``load`` does not look at it.
        """
        encoder = Encoder(_unfitted)
        node = _fitted(encoder, self, "")
        tensors.write(path, type(self).__name__, encoder.arrays, node, extra)

    @classmethod
    def load(cls, path: Any) -> Self:
        """An estimator from a file that :meth:`save` wrote. It never runs code from the file."""
        return restored(*tensors.read(path, cls.__name__), path)

    def _require_whole(self) -> None:
        """Raise ValueError where parts of a file do not fit together, beyond their shapes."""


def register(**parts: Spec) -> Callable[[Kind], Kind]:
    """Let files hold estimators of a class: attributes that ``fit`` sets, and what they must be."""

    def add(cls: Kind) -> Kind:
        _KEPT[cls.__name__] = (cls, parts)
        return cls

    return add


def load(path: str | os.PathLike[str]) -> Any:
    """Load any fitted model or calibrator from a file that ``save`` wrote; no code is run.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> import deciban as db
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "iris.deciban"
    ...     db.LinearDiscriminant().fit(*load_iris(return_X_y=True)).save(path)
    ...     db.load(path)
    LinearDiscriminant()
    """
    return load_with_extra(path)[0]


def load_with_extra(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any] | None]:
    """Load any fitted estimator, and the ``extra`` data that it was saved with."""
    kinds = ["CDA", *(kind for names in _HOMES.values() for kind in names)]
    arrays, plain = tensors.read(path, kinds, "a model or a calibrator")
    if plain["kind"] == "CDA":
        cls = importlib.import_module("deciban.discriminant").CompositionalDiscriminantAnalysis
        files = importlib.import_module("deciban.discriminant.files")
        return files.restored(cls, arrays, plain, path), plain.get("extra")
    for module, names in _HOMES.items():
        if plain["kind"] in names:
            importlib.import_module(module)
    return restored(arrays, plain, path), plain.get("extra")


def restored(arrays: dict[str, np.ndarray], plain: dict[str, Any], path: Any) -> Any:
    """The estimator of a file that was read, or a sentence on what is wrong with it."""
    try:
        if plain["estimator"] != plain["kind"] or plain["state"] is None:
            raise ValueError("no fitted estimator of its kind")
        decoder = Decoder(arrays, _estimator)
        estimator = _estimator(decoder, plain)
        decoder.require_all_used()
        return estimator
    except BROKEN as error:
        raise InputError(
            f"{Path(path).name} must be a whole model; a part is missing or does not fit "
            f"({error}). Save it again."
        ) from None


def _parts_of(estimator: Any) -> dict[str, Spec]:
    cls, parts = _KEPT.get(type(estimator).__name__, (None, {}))
    if cls is not type(estimator):
        raise InputError(
            f"the estimator must be one of {', '.join(_KEPT)} to be saved; got "
            f"{type(estimator).__name__}. Use one of these."
        )
    return parts


def _fitted(encoder: Encoder, estimator: Any, path: str) -> dict[str, Any]:
    names = [*_COMMON, *_parts_of(estimator)]
    check_is_fitted(estimator, names)
    at = f"{path}." if path else ""
    columns = getattr(estimator, _NAMES, None)
    state: dict[str, Any] = {_NAMES: None if columns is None else [str(name) for name in columns]}
    for name in names:
        value = getattr(estimator, name)
        inner = isinstance(value, PersistentMixin)
        state[name] = (_fitted if inner else Encoder.__call__)(encoder, value, at + name)
    return _unfitted(encoder, estimator, path) | {"state": state}


def _unfitted(encoder: Encoder, estimator: Any, path: str) -> Any:
    """An estimator as it is made; what it may have learnt is left out, as ``clone`` does."""
    if not hasattr(estimator, "get_params") or isinstance(estimator, type):
        return None
    _parts_of(estimator)
    at = f"{path}." if path else ""
    given = estimator.get_params(deep=False).items()
    return {
        "estimator": type(estimator).__name__,
        "parameters": {name: encoder(value, at + name) for name, value in given},
        "state": None,
    }


def _estimator(decoder: Decoder, node: dict[str, Any]) -> Any:
    cls, parts = _KEPT[node["estimator"]]
    estimator: Any = cls(**{name: decoder(value) for name, value in node["parameters"].items()})
    if node["state"] is None:
        return estimator
    state = {name: decoder(value) for name, value in node["state"].items()}
    columns = state.pop(_NAMES)
    if set(state) != {*_COMMON, *parts}:
        raise ValueError(f"what {cls.__name__} has learnt is not all there")
    sizes = _sizes(state)
    for name, spec in {"prior_": "D", **parts}.items():
        require_fit(name, state[name], spec, sizes)
    prior = state["prior_"]
    if (prior < 0).any() or abs(prior.sum() - 1) > 1e-6:
        raise ValueError("a prior that is none")
    for name, value in state.items():
        setattr(estimator, name, value)
    if columns is not None:
        estimator.feature_names_in_ = _columns(columns, sizes["d"])
    estimator._require_whole()
    return estimator


def _sizes(state: dict[str, Any]) -> dict[str, int]:
    classes, d = state["classes_"], state["n_features_in_"]
    if not isinstance(classes, np.ndarray) or classes.ndim != 1:
        raise ValueError("classes that are no list")
    D = len(set(classes.tolist()))
    if len(classes) != D or D < 2 or type(d) is not int or d < 1:
        raise ValueError(f"{D} classes and {d} features")
    return {"D": D, "k": D - 1, "d": d, "2": 2}


def _columns(names: Any, d: int) -> np.ndarray:
    if not isinstance(names, list) or len(names) != d:
        raise ValueError(f"names that are not those of {d} features")
    if not all(isinstance(name, str) for name in names):
        raise ValueError("names of features that are no text")
    return np.array(names, dtype=object)
