"""How JAX runs here: precision, compilation and its cache, and the devices that share a step.

Float64 is computed only on request and never after a fork. ``DECIBAN_COMPILATION_CACHE`` is read
when flows are first used: 1 for the user's cache folder, the path of another folder, or 0, the
default except on the command line. Compiled programs are native code: nobody else may be able to
write to that folder.
"""

from __future__ import annotations

import hashlib
import importlib
import math
import os
import platform
import sys
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from numpy.typing import DTypeLike

from deciban.exceptions import ForkedProcessError, InputError

Tree = Any
_spec: Any = PartitionSpec  # JAX has no type for its arguments
_ALLOWED = (np.dtype(np.float32), np.dtype(np.float64))
# Half the time to compile many small kernels, which run as fast. Large ones run 7 % slower.
_QUICK = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 1}
_used_by: list[int] = []  # the process that first computed with JAX
_MAX_BYTES = 200_000_000
_MIN_SECONDS = 0.01  # of a compilation that is worth a file


def double_precision() -> AbstractContextManager[Any]:
    """Context in which JAX computes in float64.

    Use it around ``init`` and whenever the parameters are used. The global flag stays unchanged,
    so nothing else in the process changes.

    See Also
    --------
    deciban.flows.Flow.init : Makes parameters with a given precision.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from deciban.flows import Flow, double_precision
    >>> with double_precision():
    ...     flow = Flow(n_features=1)
    ...     z, _ = flow.forward(flow.init(jax.random.key(0), dtype=jnp.float64), [[0.1]])
    >>> z.dtype
    dtype('float64')
    """
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    older = importlib.import_module("jax.experimental")  # where it was before 0.8
    return older.enable_x64(True)


def check_unforked() -> None:
    """Raise in a process forked after JAX was used, in which JAX would wait forever."""
    if not _used_by:
        _used_by.append(os.getpid())
    if _used_by[0] != os.getpid():
        raise ForkedProcessError(
            "This process was forked after JAX was used, and a flow would wait forever. Start "
            "processes by 'spawn' or 'forkserver': multiprocessing.get_context('spawn')."
        )


def read_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    check_unforked()
    found = np.dtype(dtype)
    if found not in _ALLOWED:
        raise InputError(
            f"dtype must be float32 or float64; got {found}. Lower precision does not invert."
        )
    if jax.dtypes.canonicalize_dtype(found) != found:
        raise InputError(
            "JAX is set to float32. Put the call inside `with deciban.flows.double_precision():`."
        )
    return found


def jit(function: Callable[..., Any], *, quick: bool = False, **options: Any) -> Any:
    if quick and (found := _quick_options()):
        options["compiler_options"] = found
    return jax.jit(function, **options)


def map_members(function: Callable[..., Any], in_axes: Sequence[int | None]) -> Callable[..., Any]:
    """``jax.vmap`` over first axes; on a CPU a loop: it compiles faster and skips idle members."""
    if jax.default_backend() != "cpu":
        return jax.vmap(function, in_axes=tuple(in_axes))

    def run(*values: Any) -> Any:
        pairs = list(zip(values, in_axes, strict=True))

        def run_one(own: list[Any]) -> Any:
            rest = iter(own)
            return function(*(value if axis is None else next(rest) for value, axis in pairs))

        return jax.lax.map(run_one, [value for value, axis in pairs if axis is not None])

    return run


@cache
def _quick_options() -> dict[str, Any]:
    given = os.environ.get("XLA_FLAGS", "")
    found = {name: value for name, value in _QUICK.items() if name not in given}
    if jax.default_backend() != "cpu":
        return {}
    try:
        jax.jit(lambda: 0, compiler_options=found)()
    except (TypeError, ValueError, RuntimeError):
        return {}
    return found


class Spread:
    """Placement on all devices of this process and others, for steps of ``batch_size`` samples.

    As many devices share a step as divide its samples evenly; the others repeat the same.
    """

    def __init__(self, batch_size: int) -> None:
        devices = np.array(jax.devices())
        self.n_shares = math.gcd(batch_size, len(devices))
        self._mesh: Mesh | None = None
        self.options: dict[str, Any] = {}  # of ``jax.jit``, for results on every device
        if len(devices) > 1:
            self._mesh = Mesh(devices.reshape(self.n_shares, -1), ("batch", "copy"))
            self.options["out_shardings"] = NamedSharding(self._mesh, _spec())

    def replicate(self, tree: Tree) -> Tree:
        if self._mesh is None:
            return jax.device_put(tree)
        return _place(tree, NamedSharding(self._mesh, _spec()))

    def divide(self, rows: Any) -> Any:
        """Rows, on the last axis, divided among the devices."""
        if self._mesh is None:
            return rows
        spec = _spec(*[None] * (np.ndim(rows) - 1), "batch")
        return _place(rows, NamedSharding(self._mesh, spec))

    def add_up(self, function: Callable[..., Tree]) -> Callable[..., Tree]:
        """The function's sum over devices; its last argument is a divided batch."""
        if self.n_shares == 1:
            return function

        def run(*args: Tree) -> Tree:
            specs = (*(_spec() for _ in args[1:]), _spec("batch"))
            return _shard_map(add_here, self._mesh, specs, _spec())(*args)

        def add_here(*args: Tree) -> Tree:
            psum: Any = jax.lax.psum  # which has no types
            return psum(function(*args), "batch")

        return run

    def local(self, tree: Tree) -> Tree:
        """The copies on this process's first device."""
        if self._mesh is None:
            return tree
        return jax.tree.map(lambda array: array.addressable_data(0), tree)


def _shard_map(function: Callable[..., Tree], *places: Any) -> Callable[..., Tree]:
    options: dict[str, Any] = dict(zip(("mesh", "in_specs", "out_specs"), places, strict=True))
    if hasattr(jax, "shard_map"):
        return jax.shard_map(function, check_vma=False, **options)
    older = importlib.import_module("jax.experimental.shard_map")  # where it was before 0.6
    return older.shard_map(function, check_rep=False, **options)


def _place(tree: Tree, sharding: NamedSharding) -> Tree:
    def place(values: Any) -> jax.Array:
        whole = np.asarray(values)
        return jax.make_array_from_callback(whole.shape, sharding, lambda at: whole[at])

    return jax.tree.map(place, tree)


def start_cache() -> None:
    """Use the folder that the environment names, if it is writable and JAX has none already."""
    asked = os.environ.get("DECIBAN_COMPILATION_CACHE", "0")
    config: Any = jax.config
    if asked in ("", "0") or config.jax_compilation_cache_dir is not None:
        return
    folder = (_user_folder() if asked == "1" else Path(asked)) / _machine()
    with suppress(OSError, RuntimeError):  # no home, no room, no permission
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sweep(folder)
        config.update("jax_compilation_cache_dir", str(folder))
        config.update("jax_persistent_cache_min_compile_time_secs", _MIN_SECONDS)


def _user_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "deciban" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "deciban"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "deciban"


def _machine() -> str:
    """A name shared by processors that run the same programs: machines may share a home."""
    features = platform.processor()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features += next((line for line in lines if line.lower().startswith("flags")), "")
    return f"{platform.machine()}-{hashlib.sha256(features.encode()).hexdigest()[:8]}"


def _sweep(folder: Path) -> None:
    """Delete incomplete programs, which JAX never replaces, and the oldest of too many.

    Programs from before the last sweep are complete. Raises OSError if the folder is not writable.
    """
    stamp = folder / "swept"
    last = stamp.stat().st_mtime if stamp.exists() else 0.0
    stamp.touch()
    files = [(path, path.stat()) for path in folder.glob("*-cache")]
    kept = 0
    for path, found in sorted(files, key=lambda file: -max(file[1].st_atime, file[1].st_mtime)):
        kept += found.st_size
        if kept > _MAX_BYTES or (found.st_mtime >= last and not _is_whole(path)):
            path.unlink(missing_ok=True)


def _is_whole(path: Path) -> bool:
    content = path.read_bytes()
    if content[:1] != b"\x78":  # not zlib's; JAX may have been given another library
        return bool(content)
    try:
        zlib.decompress(content)
    except zlib.error:
        return False
    return True
