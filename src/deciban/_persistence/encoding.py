"""Values as plain data and arrays, and back: those of an explicit list of types, and no others.

JSON holds text, truth values, finite numbers, None and lists as they are; anything else is a
dict that says in one word what it is. Names of classes are looked up among those that the package
has registered; nothing is imported by what a file says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from deciban._persistence.tensors import Arrays
from deciban.exceptions import InputError

Spec = Any  # what a value must be: a shape as text, a type, or a list or tuple of these
_LONGEST_LABEL = 10_000  # characters; predictions are arrays with room for the longest everywhere
_MOST_TEXT = 10**7  # characters of an array of labels
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_PARTS: dict[type, dict[str, Spec]] = {}


def register_value(cls: type, **parts: Spec) -> None:
    """Let files hold instances of a class, by the arguments that make one and their specs."""
    _PARTS[cls] = parts


class Encoder:
    """Turns values into plain data; arrays gather in ``arrays`` under the path of the value.

    ``encode_other`` is asked for values of any other type, and returns None for unknown ones.
    """

    def __init__(self, encode_other: Callable[[Encoder, Any, str], Any]) -> None:
        self.arrays: Arrays = {}
        self._encode_other = encode_other

    def __call__(self, value: Any, path: str) -> Any:
        """Plain data for a value; raise where it cannot be stored."""
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if isinstance(value, np.generic) and not isinstance(value, np.str_):
            return {"scalar": self._array(np.asarray(value), path)["array"]}
        if type(value) in _PARTS:
            parts = {p: self(getattr(value, p), f"{path}.{p}") for p in _PARTS[type(value)]}
            return {"class": type(value).__name__, "parts": parts}
        return self._plain(value, path)

    def _plain(self, value: Any, path: str) -> Any:
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
    """Turns plain data and arrays back into values.

    ``decode_other`` is asked for dicts of unknown kinds. What does not fit ends in one of
    ``DECODING_ERRORS``. Each array belongs to one value: a file that names one a thousand times
    would fill the memory.
    """

    def __init__(
        self, arrays: Arrays, decode_other: Callable[[Decoder, dict[str, Any]], Any]
    ) -> None:
        self._arrays = dict(arrays)
        self._decode_other = decode_other

    def require_all_used(self) -> None:
        """Raise where an array belongs to no value."""
        if self._arrays:
            raise ValueError(f"{next(iter(self._arrays))} belongs to nothing")

    def __call__(self, node: Any) -> Any:
        """The value of a piece of plain data."""
        if isinstance(node, list):
            return [self(inner) for inner in node]
        if not isinstance(node, dict):
            return node
        if "array" in node:
            array = np.array(self._arrays.pop(node["array"]))  # a writable copy
            return array.T if node.get("order") == "F" else array
        if "scalar" in node:
            return self._arrays.pop(node["scalar"])[()]
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
    """Labels in one dimension, as text or as they are."""
    if not isinstance(labels, list) or kind not in ("str", "object"):
        raise ValueError(f"labels of type {str(kind)[:50]}")
    if not all(isinstance(label, str | int | float | bool) for label in labels):
        raise ValueError("labels that are not text, numbers or truth values")
    longest = max((len(label) for label in labels if isinstance(label, str)), default=0)
    if longest > _LONGEST_LABEL or (kind == "str" and len(labels) * longest > _MOST_TEXT):
        raise ValueError("labels that are too long")
    return np.array(labels, dtype=kind)


def require_spec(name: str, value: Any, spec: Spec, sizes: dict[str, int]) -> None:
    """Raise unless a value is what its spec says.

    A shape is text such as ``"D k"``: an array of real numbers without NaN, with the sizes of these
    names; a name without a size takes that of its first array.
    """
    if isinstance(spec, str):
        _require_shape(name, value, spec.split(), sizes)
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


def _require_shape(name: str, value: Any, names: list[str], sizes: dict[str, int]) -> None:
    if not isinstance(value, np.ndarray) or value.ndim != len(names) or value.dtype.kind != "f":
        raise ValueError(f"{name} is not an array of {len(names)} dimensions")
    wanted = tuple(sizes.setdefault(n, s) for n, s in zip(names, value.shape, strict=True))
    if value.shape != wanted:
        raise ValueError(f"{name} has shape {value.shape}, not {wanted}")
    if np.isnan(value).any():
        raise ValueError(f"{name} holds NaN")


def _not_storable(path: str, what: str) -> InputError:
    return InputError(
        f"{path} must be text, numbers, arrays of numbers or something of deciban to be saved; got "
        f"{what}. Convert it, or set another value with set_params, before you save."
    )
