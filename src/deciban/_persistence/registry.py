"""Fitted estimators as files, and back: their parameters, and what ``fit`` has learned.

A class says with :func:`register` which attributes go into a file and what they must be when they
come back: D classes, k = D - 1, d features. Files name classes; only registered ones are found.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from deciban._persistence import tensors
from deciban._persistence.encoding import Decoder, Encoder, Spec, require_spec
from deciban.exceptions import InputError

# Where the classes are, so that a file can be loaded before they are imported.
_MODULES = {
    "CompositionalDiscriminantAnalysis": "deciban.discriminant",
    "LinearDiscriminant": "deciban.discriminant",
    "OpenSetDiscriminant": "deciban.discriminant",
    "QuadraticDiscriminant": "deciban.discriminant",
    "SameSourceModel": "deciban.discriminant",
    "AffineCalibrator": "deciban.calibration",
    "BootstrapCalibrator": "deciban.calibration",
    "BoundedCalibrator": "deciban.calibration",
    "CalibratedEvidenceClassifier": "deciban.calibration",
    "CurvedCalibrator": "deciban.calibration",
    "FusionCalibrator": "deciban.calibration",
    "GaussianCalibrator": "deciban.calibration",
    "IdentityCalibrator": "deciban.calibration",
    "IsotonicCalibrator": "deciban.calibration",
    "KernelDensityCalibrator": "deciban.calibration",
    "MixtureCalibrator": "deciban.calibration",
    "MonotoneCalibrator": "deciban.calibration",
}
_REGISTERED: dict[type, dict[str, Spec]] = {}
_COMMON: dict[str, Spec] = {"classes_": np.ndarray, "class_counts_": "D", "n_features_in_": int}
_COLUMNS = "feature_names_in_"  # stored where the features had names
Estimator = TypeVar("Estimator", bound="type[PersistentMixin]")


class PersistentMixin:
    """``save`` and ``load`` of an estimator whose class is registered."""

    #: Parameters that are never stored: they belong to one machine or one run.
    _transient: ClassVar[tuple[str, ...]] = ()

    def save(
        self,
        path: str | os.PathLike[str],
        extra: dict[str, Any] | None = None,
        *,
        replace: bool = True,
    ) -> None:
        """Write the fitted estimator to a file of arrays and plain data (safetensors, JSON).

        Estimators of other libraries inside it cannot be written so, and are refused.

        Parameters
        ----------
        path : path
        extra : dict, optional
            Plain data to store beside it, as JSON has it; ``load`` ignores it.
        replace : bool, default True
            Whether a file that exists is replaced; otherwise it is an error.
        """
        encoder = Encoder(_encode_parameters)
        node = _encode_fitted(encoder, self, "")
        kind = type(self).__name__
        tensors.write(path, kind, encoder.arrays, node, extra, replace=replace)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load an estimator from a file that :meth:`save` wrote; no code from the file is run.

        Parameters
        ----------
        path : path

        Returns
        -------
        estimator
            Of this class; :func:`deciban.load` takes any.
        """
        return _restore(*tensors.read(path, [cls.__name__]), path)

    def _finish_loading(self) -> None:
        """Called last: raise ValueError where attributes contradict one another, beyond shapes."""


def register(**parts: Spec) -> Callable[[Estimator], Estimator]:
    """Let files hold estimators of a class, by attributes that ``fit`` sets and their specs.

    None as a spec is for an attribute that others have and this class has not.
    """

    def add(cls: Estimator) -> Estimator:
        # What a class derives from its other parts is not stored.
        _REGISTERED[cls] = {
            name: spec
            for name, spec in (_COMMON | parts).items()
            if spec is not None and not isinstance(getattr(cls, name, None), property)
        }
        return cls

    return add


def load(path: str | os.PathLike[str]) -> Any:
    """Load any fitted model or calibrator from a file that ``save`` wrote; no code is run.

    Parameters
    ----------
    path : path

    Returns
    -------
    estimator
        Of the class that was saved.

    See Also
    --------
    deciban.LinearDiscriminant.save : Writes such a file; every model and calibrator has it.

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
    arrays, plain = tensors.read(path, _MODULES, "a model or a calibrator")
    return _restore(arrays, plain, path), plain.get("extra")


def _find_class(kind: str) -> type[PersistentMixin]:
    """A class that files may hold; a missing extra is an error of its own."""
    return getattr(importlib.import_module(_MODULES[kind]), kind)


def _restore(arrays: tensors.Arrays, plain: tensors.Plain, path: str | os.PathLike[str]) -> Any:
    try:
        if plain["estimator"] != plain["kind"] or plain["state"] is None:
            raise ValueError("not a fitted estimator of its kind")
        decoder = Decoder(arrays, _decode_estimator)
        estimator = _decode_estimator(decoder, plain)
        decoder.require_all_used()
        return estimator
    except tensors.DECODING_ERRORS as error:
        raise InputError(
            f"{Path(path).name} must be a whole model; a part is missing or does not fit "
            f"({str(error)[:200]}). Save it again."
        ) from None


def _parts_of(estimator: Any) -> dict[str, Spec]:
    if type(estimator) not in _REGISTERED:
        raise InputError(
            f"the estimator must be one of {', '.join(_MODULES)} to be saved; got "
            f"{type(estimator).__name__}. Keep it by its own means, and save "
            f"CalibratedEvidenceClassifier('probabilities'), fitted to its left-out probabilities."
        )
    return _REGISTERED[type(estimator)]


def _encode_fitted(encoder: Encoder, estimator: Any, path: str) -> dict[str, Any]:
    names = list(_parts_of(estimator))
    check_is_fitted(estimator, names)
    if _COLUMNS in vars(estimator):
        names.append(_COLUMNS)
    at = f"{path}." if path else ""
    state = {}
    for name in names:
        state[name] = _encode_state(encoder, getattr(estimator, name), at + name)
    return _encode_parameters(encoder, estimator, path) | {"state": state}


def _encode_state(encoder: Encoder, value: Any, path: str) -> Any:
    if type(value) is list:
        return [_encode_state(encoder, inner, f"{path}.{k}") for k, inner in enumerate(value)]
    encode = _encode_fitted if hasattr(value, "get_params") else Encoder.__call__
    return encode(encoder, value, path)


def _encode_parameters(encoder: Encoder, estimator: Any, path: str) -> Any:
    """An unfitted estimator; what it may have learned is left out, as ``clone`` does."""
    if not hasattr(estimator, "get_params") or isinstance(estimator, type):
        return None
    _parts_of(estimator)
    at = f"{path}." if path else ""
    parameters = {}
    for name, value in estimator.get_params(deep=False).items():
        if name not in estimator._transient:
            # Its state has moved on: the same instance would not give the same fit again.
            value = None if isinstance(value, np.random.RandomState) else value
            parameters[name] = encoder(value, at + name)
    return {"estimator": type(estimator).__name__, "parameters": parameters, "state": None}


def _decode_estimator(decoder: Decoder, node: dict[str, Any]) -> Any:
    cls = _find_class(node["estimator"])
    parameters = {name: decoder(value) for name, value in node["parameters"].items()}
    if not parameters.keys().isdisjoint(cls._transient):
        raise ValueError("parameters that are not stored")
    estimator: Any = cls(**parameters)
    if node["state"] is None:
        return estimator
    state = {name: decoder(value) for name, value in node["state"].items()}
    parts = _parts_of(estimator)
    if state.keys() - {_COLUMNS} != parts.keys():
        raise ValueError(f"the attributes of a {cls.__name__} are not all there")
    sizes = _sizes(state)
    for name, spec in parts.items():
        require_spec(name, state[name], spec, sizes)
    counts = state.get("class_counts_", np.ones(1))
    if not ((counts > 0) & (counts < np.inf)).all():
        raise ValueError("counts of the classes that are not positive")
    for name, value in state.items():
        setattr(estimator, name, value)
    estimator._finish_loading()
    return estimator


def _sizes(state: dict[str, Any]) -> dict[str, int]:
    classes, d = state["classes_"], state.get("n_features_in_", 1)
    D = len(set(classes.tolist()))
    if classes.shape != (D,) or D < 2 or type(d) is not int or d < 1:
        raise ValueError(f"{D} classes and {d} features")
    columns = state.get(_COLUMNS)
    if columns is not None and (
        columns.shape != (d,) or {type(name) for name in columns.tolist()} != {str}
    ):
        raise ValueError(f"names that are not those of {d} features")
    features = getattr(state.get("columns_"), "n_features", d)  # a column may give several
    return {"D": D, "k": D - 1, "columns": d, "d": features, "2": 2}
