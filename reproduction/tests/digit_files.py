"""Scikit-learn's digits as the four files of MNIST, for tests of what reads those."""

import gzip
import struct

import numpy as np
from sklearn.datasets import load_digits

TRAINING = 1000


def write_digits(folder):
    """8 x 8 pixels three times as large, with a border of two: 28 x 28."""
    small, labels = load_digits(return_X_y=True)
    large = np.kron(small.reshape(-1, 8, 8), np.ones((3, 3)))
    images = np.pad(large * (255 / 16), ((0, 0), (2, 2), (2, 2))).astype(np.uint8)
    for part, rows in (("train", slice(TRAINING)), ("t10k", slice(TRAINING, None))):
        _write(folder / f"{part}-images-idx3-ubyte.gz", images[rows])
        _write(folder / f"{part}-labels-idx1-ubyte.gz", labels[rows].astype(np.uint8))


def _write(path, array):
    head = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(gzip.compress(head + array.tobytes(), 1))
