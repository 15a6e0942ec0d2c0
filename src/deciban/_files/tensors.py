"""Files of arrays and plain data: safetensors with JSON. Reading one never runs code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from deciban._files.whole import checked_path, whole_file
from deciban.exceptions import InputError

_VERSION = 1
_KEY = "deciban"


def write(path: Any, kind: str, arrays: dict[str, np.ndarray], plain: dict[str, Any]) -> None:
    """Write a file whole or not at all."""
    from safetensors.numpy import save

    path = checked_path(path)
    header = json.dumps({"kind": kind, "version": _VERSION, **plain})
    tidy = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    data = save(tidy, metadata={_KEY: header})
    with whole_file(path) as file:
        file.write(data)


def read(path: Any, kind: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and plain data of a file of this kind, or a sentence on what is wrong with it."""
    from safetensors import SafetensorError, safe_open

    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path must be text or a path; got {path!r}. Give a file name.")
    path = Path(path)
    if not path.is_file():
        raise InputError(f"path must be a file; there is none at {path}. Check its spelling.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            plain = json.loads(metadata.get(_KEY, "null"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        raise InputError(
            f"{path.name} must be a whole deciban file; it cannot be read ({error}). "
            f"Copy or save it again."
        ) from None
    _require_kind(path, plain, kind)
    return arrays, plain


def _require_kind(path: Path, plain: Any, kind: str) -> None:
    if not isinstance(plain, dict) or not isinstance(plain.get("version"), int):
        raise InputError(f"{path.name} must be a deciban file; it is not. Save one with save().")
    if plain["version"] > _VERSION:
        raise InputError(
            f"{path.name} must be of format {_VERSION} or older; it is of {plain['version']}. "
            f"Update deciban."
        )
    if plain.get("kind") != kind:
        raise InputError(
            f"{path.name} must hold a {kind}; it holds a {plain.get('kind')}. Give the other file."
        )
