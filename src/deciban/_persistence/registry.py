"""Save and load fitted estimators: their parameters and learned attributes.

A class declares with :func:`register` which attributes go into a file and their shapes or types: D
classes, k = D - 1, d features. JSON holds text, booleans, finite numbers, None and lists as they
are; anything else is a dict with one word for its type. Classes named in a file are looked up among
registered ones; nothing is imported by name.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from deciban._persistence import files
from deciban.exceptions import InputError

Spec = Any  # what a value must be: a shape as text, a type, or a list or tuple of these
_LONGEST_LABEL = 10_000  # characters; predictions are arrays with room for the longest everywhere
_MOST_TEXT = 10**7  # characters of an array of labels
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_PARTS: dict[type, dict[str, Spec]] = {}


def register_value(cls: type, **parts: Spec) -> None:
    """Let files hold instances, by constructor arguments and their specs."""
    _PARTS[cls] = parts


class Encoder:
    """Turn values into plain data; arrays gather in ``arrays`` under the value's path."""

    def __init__(self, encode_other: Callable[[Encoder, Any, str], Any]) -> None:
        self.arrays: files.Arrays = {}
        self._encode_other = encode_other

    def __call__(self, value: Any, path: str) -> Any:
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if isinstance(value, np.generic) and not isinstance(value, np.str_):
            return {"scalar": self._array(np.asarray(value), path)["array"]}
        if type(value) in _PARTS:
            parts = {p: self(getattr(value, p), f"{path}.{p}") for p in _PARTS[type(value)]}
            return {"class": type(value).__name__, "parts": parts}
        if isinstance(value, float) and not math.isfinite(value):
            return {"number": str(value)}
        if value is None or isinstance(value, str | bool | int | float):
            return value
        if type(value) in (list, tuple):
            items = [self(inner, f"{path}.{k}") for k, inner in enumerate(value)]
            return items if type(value) is list else {"tuple": items}
        if isinstance(value, Mapping):
            pairs = [
                [self(key, f"{path}.{k}.key"), self(inner, f"{path}.{k}")]
                for k, (key, inner) in enumerate(value.items())
            ]
            return {"mapping": pairs}
        node = self._encode_other(self, value, path)
        if node is None:
            raise _not_storable(path, type(value).__name__)
        return node

    def _array(self, array: np.ndarray, path: str) -> dict[str, Any]:
        if array.dtype.kind in "UO":
            _require_labels(array, path)
            kind = "str" if array.dtype.kind == "U" else "object"
            return {"labels": array.tolist(), "type": kind}
        if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
            raise _not_storable(path, f"an array of {array.dtype}")
        # Products of the same numbers in another order of memory may differ in the last bit.
        transposed = array.flags.f_contiguous and not array.flags.c_contiguous
        stored = array.T if transposed else array
        self.arrays[path] = stored.astype(array.dtype.newbyteorder("="))
        return {"array": path} | ({"order": "F"} if transposed else {})


class Decoder:
    """Turn plain data and arrays back into values; malformed data end in ``DECODING_ERRORS``.

    Each array belongs to one value: a file that names one a thousand times would fill the memory.
    """

    def __init__(
        self, arrays: files.Arrays, decode_other: Callable[[Decoder, dict[str, Any]], Any]
    ) -> None:
        self.arrays = dict(arrays)
        self._decode_other = decode_other

    def __call__(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self(inner) for inner in node]
        if not isinstance(node, dict):
            return node
        if "array" in node:
            array = np.array(self.arrays.pop(node["array"]))  # a writable copy
            return array.T if node.get("order") == "F" else array
        if "scalar" in node:
            return self.arrays.pop(node["scalar"])[()]
        if "labels" in node:
            return _label_array(node["labels"], node["type"])
        if "number" in node:
            return _NOT_FINITE[node["number"]]
        if "tuple" in node:
            return tuple(self(node["tuple"]))
        if "mapping" in node:
            return {self(key): self(inner) for key, inner in node["mapping"]}
        if "class" in node:
            cls = {known.__name__: known for known in _PARTS}[node["class"]]
            return cls(**{name: self(part) for name, part in node["parts"].items()})
        return self._decode_other(self, node)


def _require_labels(labels: np.ndarray, name: str) -> None:
    for label in labels.tolist():
        if not isinstance(label, str | int | float | bool):
            raise InputError(
                f"{name} must be text, numbers or truth values to be saved; got "
                f"{type(label).__name__}. Rename the classes."
            )
        if isinstance(label, str) and len(label) > _LONGEST_LABEL:
            raise InputError(
                f"{name} must be of at most {_LONGEST_LABEL:,} characters each to be saved; got "
                f"{len(label):,}. Shorten the names of the classes."
            )


def _label_array(labels: Any, kind: Any) -> np.ndarray:
    if not isinstance(labels, list) or kind not in ("str", "object"):
        raise ValueError(f"labels of type {str(kind)[:50]}")
    if not all(isinstance(label, str | int | float | bool) for label in labels):
        raise ValueError("labels that are not text, numbers or truth values")
    longest = max((len(label) for label in labels if isinstance(label, str)), default=0)
    if longest > _LONGEST_LABEL or (kind == "str" and len(labels) * longest > _MOST_TEXT):
        raise ValueError("labels that are too long")
    return np.array(labels, dtype=kind)


def require_spec(name: str, value: Any, spec: Spec, sizes: dict[str, int]) -> None:
    """Require a value that matches its spec.

    A shape is text such as ``"D k"``: a real array without NaN; each name keeps one size.
    """
    if isinstance(spec, str):
        names = spec.split()
        if not isinstance(value, np.ndarray) or value.ndim != len(names) or value.dtype.kind != "f":
            raise ValueError(f"{name} is not an array of {len(names)} dimensions")
        wanted = tuple(sizes.setdefault(n, s) for n, s in zip(names, value.shape, strict=True))
        if value.shape != wanted:
            raise ValueError(f"{name} has shape {value.shape}, not {wanted}")
        if np.isnan(value).any():
            raise ValueError(f"{name} holds NaN")
    elif isinstance(spec, list | tuple):
        if type(value) is not type(spec) or len(value) != len(spec):
            raise ValueError(f"{name} is not {len(spec)} values")
        for k, (inner, inner_spec) in enumerate(zip(value, spec, strict=True)):
            require_spec(f"{name}.{k}", inner, inner_spec, sizes)
    elif not isinstance(value, spec):
        raise ValueError(f"{name} is of type {type(value).__name__}")
    else:
        own_sizes = dict(sizes)
        for part, part_spec in _PARTS.get(type(value), {}).items():
            require_spec(f"{name}.{part}", getattr(value, part), part_spec, own_sizes)


def _not_storable(path: str, what: str) -> InputError:
    return InputError(
        f"{path} must be text, numbers, arrays of numbers or something of deciban to be saved; got "
        f"{what}. Convert it, or set another value with set_params, before you save."
    )


# The package of an estimator by the ending of its name: a file is loaded before they are imported.
_HOMES = {
    "Calibrator": "deciban.calibration",
    "EvidenceClassifier": "deciban.calibration",
    "OpenSetDiscriminant": "deciban.open_set",
    "Discriminant": "deciban.discriminant",
    "DiscriminantAnalysis": "deciban.discriminant",
    "SameSourceModel": "deciban.same_source",
}
_REMOVED = {"MixtureCalibrator": "Fit AffineCalibrator('full') to the same scores instead."}
_REGISTERED: dict[type, dict[str, Spec]] = {}
_COMMON: dict[str, Spec] = {"classes_": np.ndarray, "class_counts_": "D", "n_features_in_": int}
_COLUMNS = "feature_names_in_"  # stored where the features had names
Estimator = TypeVar("Estimator", bound="type[PersistentMixin]")


class PersistentMixin:
    """``save`` and ``load`` for registered estimators."""

    #: Parameters that are never stored: they belong to one machine or one run.
    _transient: ClassVar[tuple[str, ...]] = ()
    #: Parameters and attributes in files of earlier versions, which are passed over.
    _former: ClassVar[tuple[str, ...]] = ()

    def save(
        self, path: files.FilePath, extra: files.Plain | None = None, *, replace: bool = True
    ) -> None:
        """Write the fitted estimator to a file (safetensors with JSON).

        Estimators from other libraries inside it are refused. ``extra`` is additional plain data,
        which ``load`` ignores; with ``replace=False`` an existing file is an error.
        """
        encoder = Encoder(_encode_parameters)
        node, kind = _encode_fitted(encoder, self, ""), type(self).__name__
        files.write_arrays(path, kind, encoder.arrays, node, extra, replace=replace)

    @classmethod
    def load(cls, path: files.FilePath) -> Self:
        """Load an estimator of this class; no code from the file is run."""
        return _restore(*files.read_arrays(path, [cls.__name__]), path)

    @classmethod
    def _upgrade(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        """Parameters from a file by an earlier version, as ``__init__`` takes them now."""
        return parameters

    def _finish_loading(self) -> None:
        """Called last: raise ValueError if attributes contradict one another."""


def register(**parts: Spec) -> Callable[[Estimator], Estimator]:
    """Let files hold estimators, by learned attributes and specs; None drops a common one."""

    def add(cls: Estimator) -> Estimator:
        # What a class derives from its other parts is not stored.
        _REGISTERED[cls] = {
            name: spec
            for name, spec in (_COMMON | parts).items()
            if spec is not None and not isinstance(getattr(cls, name, None), property)
        }
        return cls

    return add


def load(path: files.FilePath) -> Any:
    """Load any fitted model or calibrator from a file that ``save`` wrote; no code is run.

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


def load_with_extra(path: files.FilePath) -> tuple[Any, dict[str, Any] | None]:
    """Load any fitted estimator, and the ``extra`` data that it was saved with."""
    arrays, plain = files.read_arrays(path, None)
    if _home_of(plain["kind"]) is None and plain["kind"] not in _REMOVED:
        raise files.wrong_kind(path, "a model or a calibrator", plain["kind"])
    return _restore(arrays, plain, path), plain.get("extra")


class _RemovedError(InputError):
    pass


def _home_of(kind: str) -> Any:
    """The package with an estimator of this name, if there is one."""
    home = next((home for ending, home in _HOMES.items() if kind.endswith(ending)), "deciban")
    package = importlib.import_module(home)
    return package if home != "deciban" and kind in package.__all__ else None


def _find_class(kind: str) -> type[PersistentMixin]:
    if kind in _REMOVED:
        raise _RemovedError(f"deciban no longer has {kind}. {_REMOVED[kind]}")
    return getattr(_home_of(kind), kind)


def _restore(arrays: files.Arrays, plain: files.Plain, path: files.FilePath) -> Any:
    try:
        if plain["estimator"] != plain["kind"] or plain["state"] is None:
            raise ValueError("not a fitted estimator of its kind")
        decoder = Decoder(arrays, _decode_estimator)
        estimator = _decode_estimator(decoder, plain)
        if decoder.arrays:
            raise ValueError(f"{next(iter(decoder.arrays))} belongs to nothing")
        return estimator
    except _RemovedError as error:
        raise InputError(f"{Path(path).name} cannot be loaded: {error}") from None
    except files.DECODING_ERRORS as error:
        raise InputError(
            f"Cannot load {Path(path).name}: a part is missing or does not fit "
            f"({str(error)[:200]}). Save it again."
        ) from None


def _parts_of(estimator: Any) -> dict[str, Spec]:
    if type(estimator) not in _REGISTERED:
        raise InputError(
            f"the estimator must be one of deciban's to be saved; got {type(estimator).__name__}. "
            f"Keep it by its own means, and save CalibratedEvidenceClassifier('probabilities'), "
            f"fitted to its left-out probabilities."
        )
    return _REGISTERED[type(estimator)]


def _encode_fitted(encoder: Encoder, estimator: Any, path: str) -> dict[str, Any]:
    names = list(_parts_of(estimator))
    from sklearn.utils.validation import check_is_fitted  # slow to import

    check_is_fitted(estimator, names)
    if _COLUMNS in vars(estimator):
        names.append(_COLUMNS)
    at = f"{path}." if path else ""
    state = {name: _encode_state(encoder, getattr(estimator, name), at + name) for name in names}
    return _encode_parameters(encoder, estimator, path) | {"state": state}


def _encode_state(encoder: Encoder, value: Any, path: str) -> Any:
    if type(value) is list:
        return [_encode_state(encoder, inner, f"{path}.{k}") for k, inner in enumerate(value)]
    encode = _encode_fitted if hasattr(value, "get_params") else Encoder.__call__
    return encode(encoder, value, path)


def _encode_parameters(encoder: Encoder, estimator: Any, path: str) -> Any:
    """An unfitted estimator, without learned attributes."""
    if not hasattr(estimator, "get_params") or isinstance(estimator, type):
        return None
    _parts_of(estimator)
    at = f"{path}." if path else ""
    parameters = {  # the state of a generator has moved on: it would not give the same fit again
        name: encoder(None if isinstance(value, np.random.RandomState) else value, at + name)
        for name, value in estimator.get_params(deep=False).items()
        if name not in estimator._transient
    }
    return {"estimator": type(estimator).__name__, "parameters": parameters, "state": None}


def _decode_estimator(decoder: Decoder, node: dict[str, Any]) -> Any:
    cls = _find_class(node["estimator"])
    parameters = {name: decoder(value) for name, value in node["parameters"].items()}
    parameters = {name: x for name, x in parameters.items() if name not in cls._former}
    if not parameters.keys().isdisjoint(cls._transient):
        raise ValueError("parameters that are not stored")
    estimator: Any = cls(**cls._upgrade(parameters))
    if node["state"] is None:
        return estimator
    state = {name: decoder(value) for name, value in node["state"].items()}
    state = {name: x for name, x in state.items() if name not in cls._former}
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
