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

from deciban.exceptions import InputError

Spec = Any  # of a value: a shape as text, a type, or a list or tuple of these
_NUMBERS = frozenset(
    {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
     "float16", "float32", "float64"}
)  # fmt: skip
_MOST_TEXT = 10**7  # characters of an array of labels
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_PARTS: dict[type, dict[str, Spec]] = {}


def register_value(cls: type, **parts: Spec) -> None:
    """Let files hold instances of a class: what to keep of them, and make them of, by name."""
    _PARTS[cls] = parts


class Encoder:
    """Turns values into plain data; arrays gather in ``arrays`` under the path of the value.

    ``other`` is asked for values of any other type, and gives None for those it does not know.
    """

    def __init__(self, other: Callable[[Encoder, Any, str], Any]) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._other = other

    def __call__(self, value: Any, path: str) -> Any:
        """Plain data for a value, or a sentence that it cannot be kept."""
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
            pairs = enumerate(value.items())
            return {"mapping": [[self(key, f"{path}.{k}.key"), self(inner, f"{path}.{k}")]
                                for k, (key, inner) in pairs]}  # fmt: skip
        node = self._other(self, value, path)
        if node is None:
            raise _not_kept(path, type(value).__name__)
        return node

    def _array(self, array: np.ndarray, path: str) -> dict[str, Any]:
        if array.dtype.kind in "UO":
            return {"labels": array.tolist(), "type": label_type(array, path)}
        if array.dtype.name not in _NUMBERS:
            raise _not_kept(path, f"an array of {array.dtype}")
        # Products of the same numbers in another order of memory may differ in the last bit.
        turned = array.flags.f_contiguous and not array.flags.c_contiguous
        stored = array.T if turned else array
        self.arrays[path] = stored.astype(array.dtype.newbyteorder("="))
        return {"array": path} | ({"order": "F"} if turned else {})


class Decoder:
    """Turns plain data and arrays back into values.

    ``other`` is asked for dicts that are none of the above. What does not fit ends in one of the
    errors of :data:`BROKEN`. Each array belongs to one value: a file that names one a thousand
    times would fill the memory.
    """

    def __init__(
        self, arrays: dict[str, np.ndarray], other: Callable[[Decoder, dict[str, Any]], Any]
    ) -> None:
        self._arrays = dict(arrays)
        self._other = other

    def require_all_used(self) -> None:
        """Refuse arrays that no value has asked for."""
        if self._arrays:
            raise ValueError(f"{next(iter(self._arrays))} belongs to nothing")

    def __call__(self, node: Any) -> Any:
        """The value."""
        if isinstance(node, list):
            return [self(inner) for inner in node]
        if not isinstance(node, dict):
            return node
        if "array" in node:
            array = np.array(self._arrays.pop(node["array"]))  # in memory, and to be written
            return array.T if node.get("order") == "F" else array
        if "scalar" in node:
            return self._arrays.pop(node["scalar"])[()]
        if "labels" in node:
            return label_array(node["labels"], node["type"])
        if "number" in node:
            return _NOT_FINITE[node["number"]]
        if "tuple" in node:
            return tuple(self(node["tuple"]))
        if "mapping" in node:
            return {self(key): self(inner) for key, inner in node["mapping"]}
        if "class" in node:
            cls = {known.__name__: known for known in _PARTS}[node["class"]]
            return cls(**{name: self(part) for name, part in node["parts"].items()})
        return self._other(self, node)


BROKEN = (
    KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, OverflowError,
    MemoryError,
)  # fmt: skip


def label_type(labels: np.ndarray, name: str = "classes") -> str:
    """The type of an array of labels by name, or a sentence that they cannot be kept."""
    if not all(isinstance(label, str | int | float | bool) for label in labels.tolist()):
        raise InputError(
            f"{name} must be text, numbers or truth values to be saved; they are not. Rename them."
        )
    return {"U": "str", "O": "object"}.get(labels.dtype.kind, labels.dtype.name)


def label_array(labels: Any, kind: Any) -> np.ndarray:
    """Labels in one dimension, of a type by name."""
    if not isinstance(labels, list) or kind not in (*_NUMBERS, "str", "object"):
        raise ValueError(f"labels of type {kind}")
    if not all(isinstance(label, str | int | float | bool) for label in labels):
        raise ValueError("labels that are none")
    texts = [label for label in labels if isinstance(label, str)]
    # An array of text has room for the longest in each place.
    if kind == "str" and len(labels) * max(map(len, texts), default=0) > _MOST_TEXT:
        raise ValueError("labels that are too long")
    return np.array(labels, dtype=kind)


def require_fit(name: str, value: Any, spec: Spec, sizes: dict[str, int]) -> None:
    """Refuse a value that is not what its spec says.

    A shape is text such as ``"D k"``: an array of numbers, none of them NaN, with the sizes of
    these names; a name without a size takes that of its first array.
    """
    if isinstance(spec, str):
        _require_shape(name, value, spec.split(), sizes)
    elif isinstance(spec, list | tuple):
        if type(value) is not type(spec) or len(value) != len(spec):
            raise ValueError(f"{name} is not {len(spec)} values")
        for k, (inner, its) in enumerate(zip(value, spec, strict=True)):
            require_fit(f"{name}.{k}", inner, its, sizes)
    elif not isinstance(value, spec):
        raise ValueError(f"{name} is of type {type(value).__name__}")
    else:
        own = dict(sizes)
        for part, its in _PARTS.get(type(value), {}).items():
            require_fit(f"{name}.{part}", getattr(value, part), its, own)


def _require_shape(name: str, value: Any, names: list[str], sizes: dict[str, int]) -> None:
    if not isinstance(value, np.ndarray) or value.ndim != len(names) or value.dtype.kind != "f":
        raise ValueError(f"{name} is no array of {len(names)} dimensions")
    wanted = tuple(sizes.setdefault(n, s) for n, s in zip(names, value.shape, strict=True))
    if value.shape != wanted or value.size == 0:
        raise ValueError(f"{name} has shape {value.shape} where {wanted} is needed")
    if np.isnan(value).any():
        raise ValueError(f"{name} holds NaN")


def _not_kept(path: str, what: str) -> InputError:
    return InputError(
        f"{path} must be text, numbers, arrays of numbers or something of deciban to be saved; got "
        f"{what}. Pass it as a list, an array or a dict, and fit again."
    )
