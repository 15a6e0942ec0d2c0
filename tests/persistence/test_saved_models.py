"""Files that were crafted: refused in a sentence, without much time or memory."""

import json
import struct
import threading
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import save

import deciban
from deciban import LinearDiscriminant
from deciban._persistence import files
from deciban.exceptions import InputError

KIND = "LinearDiscriminant"


@pytest.fixture(scope="module")
def lda():
    rng = np.random.default_rng(0)
    return LinearDiscriminant().fit(
        rng.normal(size=(60, 3)), np.array(list("abc"))[np.arange(60) % 3]
    )


@pytest.fixture
def path(lda, tmp_path):
    lda.save(tmp_path / "model")
    return tmp_path / "model"


def rewrite(path, change):
    """Change the header of a file by hand."""
    whole = path.read_bytes()
    size = struct.unpack("<Q", whole[:8])[0]
    header = json.loads(whole[8 : 8 + size])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + whole[8 + size :])


def reseal(path, arrays, plain):
    """Write a file with a valid checksum but none of the checks of writing."""
    header = json.dumps(plain)
    metadata = {"deciban": header, "sha256": files._checksum(header, arrays)}
    path.write_bytes(save(arrays, metadata=metadata))


def test_a_file_without_its_checksum_is_refused(path):
    rewrite(path, lambda header: header["__metadata__"].pop("sha256"))
    with pytest.raises(InputError, match="model was damaged or edited"):
        deciban.load(path)


def test_an_edited_file_is_refused(path):
    def swap(header):
        metadata = header["__metadata__"]
        metadata["deciban"] = metadata["deciban"].replace('"a", "b"', '"b", "a"')

    rewrite(path, swap)
    with pytest.raises(InputError, match="model was damaged or edited"):
        deciban.load(path)


def test_empty_arrays_are_refused(path):
    arrays, plain = files.read_arrays(path, [KIND])
    reseal(path, arrays | {"_means": np.zeros((10**12, 0))}, plain)
    with pytest.raises(InputError, match="array '_means' is empty"):
        deciban.load(path)


@pytest.mark.parametrize(
    "labels", [["a", "b", "c" * 500_000], ["a" * 9_000, *(str(k) for k in range(20_000))]]
)
@pytest.mark.parametrize("kind", ["str", "object"])
def test_labels_that_would_fill_the_memory_are_refused(labels, kind, path):
    arrays, plain = files.read_arrays(path, [KIND])
    plain["state"]["classes_"] = {"labels": labels, "type": kind}
    reseal(path, arrays, plain)
    tracemalloc.start()
    with pytest.raises(InputError, match="Cannot load model"):
        deciban.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


@pytest.mark.parametrize(
    "text", ["[]", "[" * 100_000 + "]" * 100_000, f"[{','.join(['[]'] * 100_000)}]", "1" * 5000]
)
def test_plain_data_of_other_forms_are_refused(text, path, tmp_path):
    arrays, plain = files.read_arrays(path, [KIND])
    plain["state"]["_means"] = "here"
    header = json.dumps(plain).replace('"here"', text)
    for claim in (header, text):
        metadata = {"deciban": claim, "sha256": files._checksum(claim, arrays)}
        (tmp_path / "crafted").write_bytes(save(arrays, metadata=metadata))
        with pytest.raises(InputError, match="crafted"):
            deciban.load(tmp_path / "crafted")


def test_a_header_that_claims_to_be_long_is_refused_before_the_file_is_read(tmp_path):
    path = tmp_path / "model"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", 2**40))
        file.truncate(2**36)  # a hole of 64 GiB
    with pytest.raises(InputError, match="does not start with a header of at most 8,388,608 bytes"):
        deciban.load(path)


def test_what_is_too_long_to_be_loaded_is_not_saved(lda, tmp_path):
    with pytest.raises(InputError, match="must take less than 8,388,608 bytes"):
        lda.save(tmp_path / "model", extra={"text": "a" * 10**7})
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_overwritten_while_it_loads_is_refused_or_right(lda, path):
    whole, stop = path.read_bytes(), threading.Event()

    def overwrite():
        while not stop.is_set():
            for size in (0, len(whole) // 2, len(whole)):
                with path.open("r+b") as file:
                    file.truncate(size)
                    file.write(whole[:size])

    thread = threading.Thread(target=overwrite)
    thread.start()
    try:
        for _ in range(300):
            try:
                back = deciban.load(path)
            except InputError:
                continue
            assert back.classes_.tolist() == lda.classes_.tolist()
    finally:
        stop.set()
        thread.join()


def test_saving_to_a_new_file_leaves_one_that_exists_alone(lda, path):
    before = path.read_bytes()
    with pytest.raises(InputError, match="must be a new file"):
        lda.save(path, replace=False)
    assert path.read_bytes() == before


def test_a_file_has_the_same_bytes_each_time(tmp_path):
    made = set()
    for k in range(12):  # safetensors alone would shuffle its metadata
        files.write_arrays(
            tmp_path / f"{k}", "thing", {"b": np.ones(3), "a": np.zeros(2)}, {"é": "\n"}
        )
        made.add((tmp_path / f"{k}").read_bytes())
    assert len(made) == 1
    arrays, plain = files.read_arrays(tmp_path / "0", ["thing"])
    np.testing.assert_array_equal(arrays["b"], np.ones(3))
    assert plain["é"] == "\n"
