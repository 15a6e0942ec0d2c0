"""Steps of a run in files: written whole, taken again unless what they depend on changed."""

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
from deciban._persistence import write_atomically
from deciban.exceptions import InputError
from reproduction.experiment import Arrays, Step

_PACKAGES = ("numpy", "scipy", "scikit-learn", "jax", "jaxlib", "optax", "umap-learn")
_DAMAGED = (zipfile.BadZipFile, zlib.error)
_ABOUT = "about"  # the name that a step's record has among its arrays


def digest(settings: Any) -> str:
    """A short fingerprint of settings."""
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def versions() -> dict[str, str]:
    """Of deciban, Python and what the numbers are computed with."""
    found = {"deciban": deciban.__version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


class Shelf:
    """The kept steps of one experiment.

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
            self._keys[step.name] = digest([deciban.__version__, data, step.settings, chain])

    def find(self, step: Step) -> tuple[Arrays, dict[str, Any]] | None:
        """The arrays of a step and its record, if nothing that they depend on has changed."""
        try:
            # Through memory, since NumPy leaves a damaged file open.
            content = io.BytesIO(self._path(step).read_bytes())
            with np.load(content, allow_pickle=False) as kept:
                about = json.loads(str(kept[_ABOUT]))
                if about["key"] != self._keys[step.name]:
                    return None
                return {name: kept[name] for name in kept.files if name != _ABOUT}, about
        except (OSError, ValueError, KeyError, TypeError, EOFError, *_DAMAGED):
            return None  # none, or not a whole file of ours: computed, and written over

    def do(self, step: Step, earlier: Mapping[str, Arrays]) -> tuple[Arrays, dict[str, Any]]:
        """Compute a step and keep it. What it keeps in between goes once it is done."""
        key = self._keys[step.name]
        # Named by the key, since a checkpoint of other settings would be refused.
        between = self.folder / f"{step.name}-{key}.checkpoint"
        between.parent.mkdir(parents=True, exist_ok=True)
        start = time.perf_counter()
        try:
            arrays = dict(step.compute(between, earlier))
        except InputError as error:
            if not between.exists() or str(between.name) not in str(error):
                raise
            between.unlink()  # a checkpoint that cannot be read: from the beginning, then
            arrays = dict(step.compute(between, earlier))
        seconds = round(time.perf_counter() - start, 1)
        about = {
            "key": key,
            "seconds": seconds,
            "versions": versions(),
            "processor": _processor(),
        }
        arrays_and_record: dict[str, Any] = {**arrays, _ABOUT: np.array(json.dumps(about))}
        with io.BytesIO() as out:
            np.savez_compressed(out, **arrays_and_record)
            write_atomically(self._path(step), out.getvalue())
        between.unlink(missing_ok=True)
        return arrays, about

    def _path(self, step: Step) -> Path:
        return self.folder / f"{step.name}.npz"


def _processor() -> str:
    """What JAX computed on, if anything did: "cpu", or the name of the accelerator."""
    jax = sys.modules.get("jax")
    return "cpu" if jax is None else str(jax.devices()[0].device_kind)
