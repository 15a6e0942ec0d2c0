"""MNIST: where it is looked for, how it is read, and what is said where it is not."""

import gzip
import struct

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from deciban.exceptions import InputError
from reproduction.mnist_files import DataNotFoundError, cache_folder, load_mnist

NAMES = ("train-images", "train-labels", "t10k-images", "t10k-labels")


def idx(array):
    return (
        bytes([0, 0, 8, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + bytes(array.tobytes())
    )


def write(folder, packed=True, mark="-", n=(17, 13), side=4):
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    arrays = []
    for count in n:
        arrays += [rng.integers(0, 256, (count, side, side), np.uint8),
                   np.arange(count).astype(np.uint8) % 10]  # fmt: skip
    for name, array in zip(NAMES, arrays, strict=True):
        data = idx(array)
        path = folder / f"{name}{mark}idx{array.ndim}-ubyte{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(data) if packed else data)
    return arrays


@pytest.fixture(autouse=True)
def _nothing_of_this_machine(monkeypatch, tmp_path):
    monkeypatch.delenv("DECIBAN_DATA", raising=False)
    monkeypatch.setenv("DECIBAN_CACHE", str(tmp_path / "cache"))


def no_network(*args, **options):
    raise OSError("no route to host")


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("mark", ["-", "."])
@pytest.mark.parametrize("inner", ["", "mnist"])
def test_files_are_read_gzipped_or_not_in_the_folder_or_one_below(tmp_path, packed, mark, inner):
    images, labels, new, truth = write(tmp_path / "data" / inner, packed, mark)
    found = load_mnist(tmp_path / "data")
    assert found.side == 4
    assert np.allclose(found.train_images, images.reshape(17, 16) / 255, rtol=0, atol=1e-7)
    assert np.allclose(found.test_images, new.reshape(13, 16) / 255, rtol=0, atol=1e-7)
    assert found.train_images.dtype == np.float32
    assert np.array_equal(found.train_labels, labels)
    assert np.array_equal(found.test_labels, truth)
    assert str(tmp_path) in found.source


def test_the_environment_comes_before_the_cache(tmp_path, monkeypatch):
    write(tmp_path / "cache" / "mnist", n=(15, 12))
    assert len(load_mnist().train_images) == 15
    write(tmp_path / "mine", n=(19, 12))
    monkeypatch.setenv("DECIBAN_DATA", str(tmp_path / "mine"))
    assert len(load_mnist().train_images) == 19


def test_a_folder_with_other_data_leads_on_to_the_cache(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    monkeypatch.setenv("DECIBAN_DATA", str(tmp_path / "mine"))
    write(tmp_path / "cache" / "mnist", n=(15, 12))
    assert len(load_mnist().train_images) == 15


def test_what_openml_gives_is_split_kept_and_read_again(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr("reproduction.mnist_files._TRAINING", 60)
    data = rng.integers(0, 256, (70, 784)).astype(float)
    target = (np.arange(70) % 10).astype(str)
    asked = []

    def fetch(name, **options):
        asked.append(name)
        return Bunch(data=data, target=target)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    first, second = load_mnist(), load_mnist()
    assert asked == ["mnist_784"]
    assert len(first.train_images) == 60
    assert np.array_equal(first.test_images, second.test_images)
    assert np.array_equal(first.test_labels, target[60:].astype(int))
    assert np.array_equal(second.train_labels, first.train_labels)


def test_where_there_is_nothing_one_sentence_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", no_network)
    with pytest.raises(DataNotFoundError, match="Set DECIBAN_DATA to a folder") as caught:
        load_mnist()
    assert "no route to host" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "cache").exists()
    with pytest.raises(DataNotFoundError, match="must be on this machine"):
        load_mnist(fetch=False)


def test_a_folder_that_is_not_there_is_refused_before_anything_is_fetched(monkeypatch, tmp_path):
    monkeypatch.setenv("DECIBAN_DATA", str(tmp_path / "mistyped"))
    with pytest.raises(DataNotFoundError, match="DECIBAN_DATA must be an existing folder"):
        load_mnist()
    with pytest.raises(DataNotFoundError, match="folder must be an existing folder"):
        load_mnist(tmp_path / "mistyped")


def test_a_missing_file_is_named(tmp_path):
    write(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(DataNotFoundError, match=r"t10k-labels-idx1-ubyte\.gz is missing"):
        load_mnist(tmp_path)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda b: b[: len(b) // 2],
        lambda b: gzip.compress(gzip.decompress(b)[:-1]),
        lambda b: gzip.compress(b"\0\0\x09\1" + gzip.decompress(b)[4:]),
        lambda b: b"",
        lambda b: b"\x1f\x8bnot gzip at all",
        lambda b: b[:20] + bytes(20) + b[40:],
    ],
)
def test_a_file_that_is_damaged_is_refused_by_name(tmp_path, spoil):
    write(tmp_path)
    path = tmp_path / "train-labels-idx1-ubyte.gz"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(InputError, match=r"train-labels.*must be"):
        load_mnist(tmp_path)


def test_labels_must_be_as_many_as_images(tmp_path):
    write(tmp_path)
    write(tmp_path / "other", n=(16, 13))
    name = "train-labels-idx1-ubyte.gz"
    (tmp_path / name).write_bytes((tmp_path / "other" / name).read_bytes())
    with pytest.raises(
        InputError, match=r"train set, must hold one label.*16 labels for 17 images"
    ):
        load_mnist(tmp_path)


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("train-labels-idx1", np.full(17, 3, np.uint8), "labels from 0 to 9, all of them"),
        ("t10k-labels-idx1", np.arange(13).astype(np.uint8), "labels from 0 to 9"),
        ("train-images-idx3", np.zeros((17, 4, 5), np.uint8), "square images; got 4 by 5"),
        ("t10k-images-idx3", np.zeros((13, 0, 0), np.uint8), "square images"),
        ("t10k-images-idx3", np.zeros((13, 6, 6), np.uint8), "images of one size"),
    ],
)
def test_files_of_other_data_are_refused(tmp_path, name, array, words):
    write(tmp_path)
    (tmp_path / f"{name}-ubyte.gz").write_bytes(gzip.compress(idx(array)))
    with pytest.raises(InputError, match=words):
        load_mnist(tmp_path)


@pytest.mark.parametrize(
    ("platform", "variables", "end"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/deciban"),
        ("darwin", {}, "Library/Caches/deciban"),
        ("win32", {"LOCALAPPDATA": "/w"}, "/w/deciban"),
    ],
)
def test_the_cache_is_where_each_system_has_its_caches(monkeypatch, platform, variables, end):
    monkeypatch.delenv("DECIBAN_CACHE")
    monkeypatch.setattr("sys.platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder().as_posix().endswith(end)
