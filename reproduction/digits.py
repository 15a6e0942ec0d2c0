"""MNIST: found in a folder, in the cache, or fetched once from OpenML."""

from __future__ import annotations

import gzip
import os
import struct
import sys
import tempfile
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deciban._persistence import write_atomically
from deciban.exceptions import DataNotFoundError, InputError

_FILES = {
    "train_images": ("train-images", 3),
    "train_labels": ("train-labels", 1),
    "test_images": ("t10k-images", 3),
    "test_labels": ("t10k-labels", 1),
}
_TRAINING = 60_000
_SIDE = 28
_BYTES = 8  # the code of idx files for unsigned bytes


@dataclass(frozen=True)
class Digits:
    """Images, one a row, with pixels from 0 (paper) to 1 (ink), and the digits that they show.

    Attributes
    ----------
    train_images, test_images : arrays of shape (n_images, side ** 2), float32
    train_labels, test_labels : arrays of shape (n_images,), int64
    side : int
        Pixels along an edge.
    source : str
        Where they were found.
    """

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    side: int
    source: str

    def fingerprint(self) -> str:
        """Of all images and labels: other data, another fingerprint."""
        arrays = (self.train_images, self.train_labels, self.test_images, self.test_labels)
        mark = zlib.crc32(str([a.shape for a in arrays]).encode())
        for array in arrays:
            mark = zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data, mark)
        return f"{mark:08x}"


def load_mnist(folder: str | os.PathLike[str] | None = None, *, fetch: bool = True) -> Digits:
    """The handwritten digits of MNIST.

    They are looked for in `folder`, or else in the folder that the environment variable
    DECIBAN_DATA names, then in the cache; if they are in neither, they are fetched from OpenML
    into the cache. A folder holds the four idx files, gzipped or not, or a folder ``mnist`` that
    does. The cache is the folder ``deciban`` among the user's caches, or DECIBAN_CACHE.

    Parameters
    ----------
    folder : path, optional
    fetch : bool, default True
        Whether they may be fetched.

    Returns
    -------
    Digits
    """
    given = folder if folder is not None else os.environ.get("DECIBAN_DATA") or None
    looked = []
    if given is not None:
        named = "folder" if folder is not None else "DECIBAN_DATA"
        if not isinstance(given, str | os.PathLike):
            raise InputError(f"folder must be text or a path; got {given!r}. Name a folder.")
        place = Path(given).expanduser()
        if not place.is_dir():
            raise DataNotFoundError(
                f"{named} must name a folder; got {str(given)!r}, which is none. Correct it, or "
                f"unset it to use the cache."
            )
        looked.append(place)
    cache = cache_folder()
    looked.append(cache)
    for place in looked:
        for inner in (place, place / "mnist"):
            paths = _paths(inner)
            if paths is not None:
                return _read(paths, inner)
    return _fetch(cache / "mnist", looked, fetch)


def cache_folder() -> Path:
    """Where fetched data are kept: DECIBAN_CACHE, or a folder among the user's caches."""
    own = os.environ.get("DECIBAN_CACHE")
    if own:
        return Path(own).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "deciban"


def _paths(folder: Path) -> dict[str, Path] | None:
    """The four files; None where there is none of them."""
    found, missing = {}, []
    for name, (stem, dims) in _FILES.items():
        names = [f"{stem}{mark}idx{dims}-ubyte{end}" for mark in ("-", ".") for end in (".gz", "")]
        path = next((folder / n for n in names if (folder / n).is_file()), None)
        if path is None:
            missing.append(names[0])
        else:
            found[name] = path
    if not found:
        return None
    if missing:
        raise DataNotFoundError(
            f"{folder} must hold the four files of MNIST; {missing[0]} is missing. Add it, or "
            f"remove the others."
        )
    return found


def _read(paths: dict[str, Path], folder: Path) -> Digits:
    arrays = {name: _read_idx(path, _FILES[name][1]) for name, path in paths.items()}
    for part in ("train", "test"):
        images, labels = arrays[f"{part}_images"], arrays[f"{part}_labels"]
        if len(images) != len(labels) or len(images) == 0:
            raise InputError(
                f"{folder} must hold as many labels as images, and at least one; got {len(labels)} "
                f"labels for {len(images)} images of the {part} set. Get the files anew."
            )
        _require_digits(folder, part, images, labels)
    if arrays["train_images"].shape[1:] != arrays["test_images"].shape[1:]:
        raise InputError(f"{folder} must hold images of one size; got two. Get the files anew.")
    return _digits(arrays, str(folder))


def _require_digits(folder: Path, part: str, images: np.ndarray, labels: np.ndarray) -> None:
    height, width = images.shape[1:]
    if height != width or height == 0:
        raise InputError(
            f"{folder} must hold square images; got {height} by {width} pixels in the {part} set. "
            f"Get the files anew."
        )
    if set(np.unique(labels)) != set(range(10)):
        raise InputError(
            f"{folder} must hold labels from 0 to 9, each of them; got "
            f"{np.unique(labels).tolist()} in the {part} set. Get the files anew."
        )


def _digits(arrays: dict[str, np.ndarray], source: str) -> Digits:
    side = arrays["train_images"].shape[1]
    pixels = {
        name: (arrays[name].reshape(len(arrays[name]), -1) / np.float32(255)).astype(np.float32)
        for name in ("train_images", "test_images")
    }
    labels = {name: arrays[name].astype(np.int64) for name in ("train_labels", "test_labels")}
    return Digits(**pixels, **labels, side=side, source=source)


def _read_idx(path: Path, dims: int) -> np.ndarray:
    """An array of bytes: two zeros, the type, the number of axes, their lengths, the values."""
    try:
        data = path.read_bytes()
        raw = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{path} must be an idx file, gzipped or not; it cannot be read ({error}). Get it anew."
        ) from error
    start = 4 + 4 * dims
    sound = len(raw) >= start and raw[:4] == bytes([0, 0, _BYTES, dims])
    shape = struct.unpack(f">{dims}I", raw[4:start]) if sound else ()
    if not sound or len(raw) != start + int(np.prod(shape, dtype=np.int64)):
        raise InputError(
            f"{path} must be a whole idx file of bytes with {dims} axes; got another, or a part of "
            f"one. Get it anew."
        )
    return np.frombuffer(raw, np.uint8, offset=start).reshape(shape)


def _write_idx(path: Path, array: np.ndarray) -> None:
    head = bytes([0, 0, _BYTES, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    write_atomically(path, gzip.compress(head + array.astype(np.uint8).tobytes(), mtime=0))


def _fetch(folder: Path, looked: list[Path], allowed: bool) -> Digits:
    """From OpenML, and into the cache as idx files."""
    where = " and ".join(str(place) for place in looked)
    remedy = (
        "Set DECIBAN_DATA to a folder with its four idx files (train-images-idx3-ubyte.gz and so "
        "on), or call reproduction.digits.load_mnist() once where openml.org can be reached."
    )
    if not allowed:
        raise DataNotFoundError(f"MNIST must be on this machine; it is not in {where}. {remedy}")
    images, labels = _from_openml(where, remedy)
    arrays = {
        "train_images": images[:_TRAINING],
        "train_labels": labels[:_TRAINING],
        "test_images": images[_TRAINING:],
        "test_labels": labels[_TRAINING:],
    }
    for name, array in arrays.items():
        stem, dims = _FILES[name]
        _write_idx(folder / f"{stem}-idx{dims}-ubyte.gz", array)
    return _digits(arrays, "OpenML, mnist_784")


def _from_openml(where: str, remedy: str) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import fetch_openml

    with tempfile.TemporaryDirectory() as scratch:  # ours is the smaller copy, and the one kept
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of each attempt; the error tells what matters
                found: Any = fetch_openml(
                    "mnist_784", version=1, as_frame=False, parser="liac-arff", data_home=scratch
                )
        except OSError as error:
            raise DataNotFoundError(
                f"MNIST must be on this machine or at OpenML; it is not in {where}, and OpenML "
                f"does not answer ({error}). {remedy}"
            ) from error
    images = np.asarray(found.data, dtype=np.uint8).reshape(-1, _SIDE, _SIDE)
    labels = np.asarray(found.target).astype(np.uint8)
    return images, labels
