"""MNIST: read from a folder or the cache, or fetched once from OpenML."""

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

from deciban.exceptions import DecibanError, InputError
from reproduction.files import write_atomically

_FILES = {
    "train_images": ("train-images", 3),
    "train_labels": ("train-labels", 1),
    "test_images": ("t10k-images", 3),
    "test_labels": ("t10k-labels", 1),
}
_TRAINING = 60_000
_SIDE = 28
_BYTES = 8  # the code of idx files for unsigned bytes
_REMEDY = (
    "Set DECIBAN_DATA to a folder with its four idx files (train-images-idx3-ubyte.gz and so on), "
    "or run this once where openml.org can be reached."
)


class DataNotFoundError(DecibanError, FileNotFoundError):
    """Data that are not on this machine and cannot be fetched; the message says how to get them."""


@dataclass(frozen=True)
class Digits:
    """Images, one in each row, and the digits that they show.

    Attributes
    ----------
    train_images, test_images : arrays of shape (n_images, side ** 2), float32
        Pixels from 0 (paper) to 1 (ink).
    train_labels, test_labels : arrays of shape (n_images,), int64
    side : int
        Number of pixels along an edge.
    source : str
        Where the files were found.
    """

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    side: int
    source: str

    def fingerprint(self) -> str:
        """Checksum of all images and labels."""
        arrays = (self.train_images, self.train_labels, self.test_images, self.test_labels)
        checksum = zlib.crc32(str([a.shape for a in arrays]).encode())
        for array in arrays:
            checksum = zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data, checksum)
        return f"{checksum:08x}"


def load_mnist(folder: str | os.PathLike[str] | None = None, *, fetch: bool = True) -> Digits:
    """Load the handwritten digits of MNIST.

    They are looked for in `folder`, or otherwise in the folder that the environment variable
    DECIBAN_DATA names, then in the cache; if neither has them, they are fetched from OpenML into
    the cache. A folder holds the four idx files, gzipped or not, directly or in a folder ``mnist``.
    The cache is the folder ``deciban`` among the user's caches, or DECIBAN_CACHE.

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
    places = [cache_folder()]
    if given is not None:
        places.insert(0, Path(given).expanduser())
        if not places[0].is_dir():
            name = "folder" if folder is not None else "DECIBAN_DATA"
            raise DataNotFoundError(
                f"{name} must be an existing folder; got {str(given)!r}. Correct it, or unset it "
                f"to use the cache."
            )
    for place in places:
        for inner in (place, place / "mnist"):
            paths = _find_files(inner)
            if paths is not None:
                return _read(paths, inner)
    return _fetch(places, fetch)


def cache_folder() -> Path:
    """Folder of fetched data: DECIBAN_CACHE, or a folder among the user's caches."""
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


def _find_files(folder: Path) -> dict[str, Path] | None:
    """The four files; None if the folder has none of them."""
    found, missing = {}, []
    for name, (stem, dims) in _FILES.items():
        names = [f"{stem}{mark}idx{dims}-ubyte{end}" for mark in ("-", ".") for end in (".gz", "")]
        path = next((folder / n for n in names if (folder / n).is_file()), None)
        if path is None:
            missing.append(names[0])
        else:
            found[name] = path
    if found and missing:
        raise DataNotFoundError(
            f"{folder} must hold the four files of MNIST; {missing[0]} is missing. Add it, or "
            f"remove the others."
        )
    return found or None


def _read(paths: dict[str, Path], folder: Path) -> Digits:
    arrays = {name: _read_idx(path, _FILES[name][1]) for name, path in paths.items()}
    for part in ("train", "test"):
        _require_digits(arrays[f"{part}_images"], arrays[f"{part}_labels"], f"{folder}, {part} set")
    if arrays["train_images"].shape[1:] != arrays["test_images"].shape[1:]:
        raise InputError(f"{folder} must hold images of one size; got two sizes. Get the files "
                         f"again.")  # fmt: skip
    return _digits(arrays, str(folder))


def _require_digits(images: np.ndarray, labels: np.ndarray, place: str) -> None:
    height, width = images.shape[1:]
    if len(images) != len(labels):
        must, got = "one label for each image", f"{len(labels)} labels for {len(images)} images"
    elif height != width or height == 0:
        must, got = "square images", f"{height} by {width} pixels"
    elif set(np.unique(labels)) != set(range(10)):
        must, got = "labels from 0 to 9, all of them", str(np.unique(labels).tolist())
    else:
        return
    raise InputError(f"{place}, must hold {must}; got {got}. Get the files again.")


def _digits(arrays: dict[str, np.ndarray], source: str) -> Digits:
    pixels = {
        name: (arrays[name].reshape(len(arrays[name]), -1) / np.float32(255)).astype(np.float32)
        for name in ("train_images", "test_images")
    }
    labels = {name: arrays[name].astype(np.int64) for name in ("train_labels", "test_labels")}
    return Digits(**pixels, **labels, side=arrays["train_images"].shape[1], source=source)


def _read_idx(path: Path, dims: int) -> np.ndarray:
    """An array of bytes: two zeros, the type, the number of axes, their lengths, the values."""
    try:
        data = path.read_bytes()
        raw = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{path} must be an idx file, gzipped or not; reading it failed ({error}). Get it "
            f"again."
        ) from error
    start = 4 + 4 * dims
    sound = len(raw) >= start and raw[:4] == bytes([0, 0, _BYTES, dims])
    shape = struct.unpack(f">{dims}I", raw[4:start]) if sound else ()
    if not sound or len(raw) != start + int(np.prod(shape, dtype=np.int64)):
        raise InputError(
            f"{path} must be a complete idx file of bytes with {dims} axes; it is another kind of "
            f"file, or cut short. Get it again."
        )
    return np.frombuffer(raw, np.uint8, offset=start).reshape(shape)


def _fetch(places: list[Path], allowed: bool) -> Digits:
    """Fetch the images from OpenML and write them into the cache as idx files."""
    where = " or ".join(str(place) for place in places)
    if not allowed:
        raise DataNotFoundError(f"MNIST must be on this machine; it is not in {where}. {_REMEDY}")
    images, labels = _fetch_openml(where)
    arrays = {
        "train_images": images[:_TRAINING],
        "train_labels": labels[:_TRAINING],
        "test_images": images[_TRAINING:],
        "test_labels": labels[_TRAINING:],
    }
    for name, array in arrays.items():
        stem, dims = _FILES[name]
        head = bytes([0, 0, _BYTES, dims]) + struct.pack(f">{dims}I", *array.shape)
        path = places[-1] / "mnist" / f"{stem}-idx{dims}-ubyte.gz"
        write_atomically(path, gzip.compress(head + array.tobytes(), mtime=0))
    return _digits(arrays, "OpenML, mnist_784")


def _fetch_openml(where: str) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import fetch_openml

    with tempfile.TemporaryDirectory() as scratch:  # our own copy is smaller, and is the one kept
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # one for each attempt; the error says it all
                found: Any = fetch_openml(
                    "mnist_784", version=1, as_frame=False, parser="liac-arff", data_home=scratch
                )
        except OSError as error:
            raise DataNotFoundError(
                f"MNIST must be on this machine or at OpenML; it is not in {where}, and OpenML "
                f"does not answer ({error}). {_REMEDY}"
            ) from error
    images = np.asarray(found.data, dtype=np.uint8).reshape(-1, _SIDE, _SIDE)
    return images, np.asarray(found.target).astype(np.uint8)
