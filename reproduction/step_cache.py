"""Results of steps in files: written whole, and computed again when what they depend on changes."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import sys
import time
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import deciban
from deciban.exceptions import InputError
from reproduction.experiment import Arrays, Step
from reproduction.files import write_atomically

_PACKAGES = ("numpy", "scipy", "scikit-learn", "jax", "jaxlib", "optax", "umap-learn")
_DAMAGED = (zipfile.BadZipFile, zlib.error)
_RECORD = "about"  # name of a step's record among its arrays


class StepCache:
    """Cached steps of one experiment.

    Parameters
    ----------
    folder : path
    steps : sequence of Step
    data : str
        Fingerprint of the data that the steps read.
    """

    def __init__(self, folder: Path, steps: Sequence[Step], data: str = "") -> None:
        self.folder = folder
        self._keys: dict[str, str] = {}
        for step in steps:
            chain = [self._keys[name] for name in step.after]
            parts = [deciban.__version__, data, step.settings, chain]
            text = json.dumps(parts, sort_keys=True, default=str)
            self._keys[step.name] = hashlib.sha256(text.encode()).hexdigest()[:16]

    def find(self, step: Step) -> tuple[Arrays, dict[str, Any]] | None:
        """The arrays of a step and its record, if nothing that they depend on has changed."""
        try:
            # Through memory, since NumPy leaves a damaged file open.
            content = io.BytesIO(self._path(step).read_bytes())
            with np.load(content, allow_pickle=False) as file:
                record = json.loads(str(file[_RECORD]))
                if record["key"] != self._keys[step.name]:
                    return None
                return {name: file[name] for name in file.files if name != _RECORD}, record
        except (OSError, ValueError, KeyError, TypeError, EOFError, *_DAMAGED):
            return None  # missing or damaged: it is computed and written again

    def compute(self, step: Step, earlier: Mapping[str, Arrays]) -> tuple[Arrays, dict[str, Any]]:
        """Compute a step and write it; its checkpoint is removed once it is done."""
        key = self._keys[step.name]
        # Named by the key, since a checkpoint of other settings would be refused.
        checkpoint = self.folder / f"{step.name}-{key}.checkpoint"
        self.folder.mkdir(parents=True, exist_ok=True)
        start = time.perf_counter()
        try:
            arrays = dict(step.compute(checkpoint, earlier))
        except InputError:
            if not checkpoint.exists():
                raise
            checkpoint.unlink()  # it may be damaged: try once more, from the beginning
            arrays = dict(step.compute(checkpoint, earlier))
        record = {
            "key": key,
            "seconds": round(time.perf_counter() - start, 1),
            "versions": installed_versions(),
            "processor": _processor(),
        }
        contents: dict[str, Any] = {**arrays, _RECORD: np.array(json.dumps(record))}
        with io.BytesIO() as out:
            np.savez_compressed(out, **contents)
            write_atomically(self._path(step), out.getvalue())
        checkpoint.unlink(missing_ok=True)
        return arrays, record

    def _path(self, step: Step) -> Path:
        return self.folder / f"{step.name}.npz"


def installed_versions() -> dict[str, str]:
    """Versions of deciban, Python and the packages that compute the numbers."""
    found = {"deciban": deciban.__version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    """Where JAX computed, if it did: "cpu", or the name of the accelerator."""
    jax = sys.modules.get("jax")
    return "cpu" if jax is None else str(jax.devices()[0].device_kind)
