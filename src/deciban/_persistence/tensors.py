"""Files of arrays and plain data: safetensors with JSON. Reading one never runs code.

A file carries a seal, a checksum over its arrays and its plain data: one that was damaged or edited
is refused. A seal is no signature: whoever writes a file anew can seal it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from deciban._persistence.atomic import open_atomically, require_writable
from deciban.exceptions import InputError, MissingExtraError

_VERSION = 1
_KEY, _SEAL = "deciban", "sha256"
_UNSEALED = ("CDA", "checkpoint")  # kinds that were written before there were seals


def write(
    path: Any,
    kind: str,
    arrays: dict[str, np.ndarray],
    plain: dict[str, Any],
    extra: dict[str, Any] | None = None,
) -> None:
    """Write a file whole or not at all; ``extra`` is plain data that goes along."""
    _safetensors()
    from safetensors.numpy import save

    path = require_writable(path)
    if extra is not None:
        plain = plain | {"extra": checked_extra(extra)}
    header = json.dumps({"kind": kind, "version": _VERSION, **plain})
    tidy = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    data = save(tidy, metadata={_KEY: header, _SEAL: _seal(header, tidy)})
    with open_atomically(path) as file:
        file.write(data)


def read(
    path: Any, kinds: str | Collection[str], what: str | None = None
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and plain data of a file of this kind, or a sentence on what is wrong with it.

    ``what`` names the kinds where there are several. The kind is in the plain data, and what went
    along, if anything, is there as ``extra``.
    """
    safetensors = _safetensors()
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path must be text or a path; got {path!r}. Give a file name.")
    path = Path(path)
    if not path.is_file():
        raise InputError(f"path must be a file; there is none at {path}. Check its spelling.")
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            plain = json.loads(metadata.get(_KEY, "null"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (safetensors.SafetensorError, OSError, ValueError, TypeError, KeyError, OverflowError,
            AttributeError, RecursionError) as error:  # fmt: skip
        raise InputError(
            f"{path.name} must be a whole deciban file; it cannot be read ({error}). "
            f"Copy or save it again."
        ) from None
    _require_kind(path, plain, [kinds] if isinstance(kinds, str) else kinds, what)
    _require_seal(path, metadata, plain["kind"], arrays)
    if not isinstance(plain.get("extra"), dict | None):
        raise InputError(f"the extra of {path.name} must be named data; it is not. Save it again.")
    return arrays, plain


def checked_extra(extra: Any) -> dict[str, Any]:
    """Data to go along in a file: what JSON gives back as it was."""
    if not isinstance(extra, dict):
        raise InputError(f"extra must be a dict of plain data; got {extra!r}. Give names to it.")
    _require_plain("extra", extra)
    return extra


def _require_plain(name: str, value: Any) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            if type(key) is not str:
                raise InputError(f"the names in {name} must be text; got {key!r}. Rename it.")
            _require_plain(f"{name}[{key!r}]", inner)
    elif isinstance(value, list):
        for k, inner in enumerate(value):
            _require_plain(f"{name}[{k}]", inner)
    elif type(value) not in (str, int, float, bool, type(None)):
        raise InputError(
            f"{name} must be text, a number, a truth value, None, a list or a dict; got "
            f"{type(value).__name__}. Turn it into one of these."
        )
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{name} must be finite; got {value!r}. Write it as text, or None.")


def _safetensors() -> Any:
    try:
        import safetensors
    except ModuleNotFoundError as missing:
        raise MissingExtraError(
            "safetensors must be installed to keep models in files. Run: pip install "
            "'deciban[cli]'",
            extra="cli",
        ) from missing
    return safetensors


def _seal(header: str, arrays: dict[str, np.ndarray]) -> str:
    result = hashlib.sha256(header.encode())
    for name in sorted(arrays):
        array = arrays[name]
        result.update(json.dumps([name, array.dtype.name, array.shape]).encode())
        result.update(array.tobytes())
    return result.hexdigest()


def _require_seal(
    path: Path, metadata: dict[str, str], kind: str, arrays: dict[str, np.ndarray]
) -> None:
    seal = metadata.get(_SEAL)
    if (seal is None and kind in _UNSEALED) or seal == _seal(metadata[_KEY], arrays):
        return
    raise InputError(
        f"{path.name} must be as it was written; it was damaged or edited since. Copy or save it "
        f"again."
    )


def _require_kind(path: Path, plain: Any, kinds: Collection[str], what: str | None) -> None:
    if not isinstance(plain, dict) or not isinstance(plain.get("version"), int):
        raise InputError(f"{path.name} must be a deciban file; it is not. Save one with save().")
    if plain["version"] > _VERSION:
        raise InputError(
            f"{path.name} must be of format {_VERSION} or older; it is of {plain['version']}. "
            f"Update deciban."
        )
    kind = plain.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise InputError(
            f"{path.name} must hold {what or _a(' or '.join(kinds))}; it holds {_a(kind)}. Give "
            f"the other file."
        )


def _a(kind: Any) -> str:
    return f"{'an' if str(kind)[:1] in 'AEIOU' else 'a'} {kind}"
