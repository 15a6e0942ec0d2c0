"""Files that are written whole or not at all, with the mode that they should have."""

import os
import stat
import threading

import pytest

from deciban._persistence.files import open_atomically, require_writable, write_atomically
from deciban.exceptions import InputError


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o022, 0o077, 0o002])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_a_new_file_has_the_mode_that_the_umask_gives(umask, tmp_path):
    write_atomically(tmp_path / "new", "text")
    write_atomically(tmp_path / "newer", "text", replace=False)
    assert mode(tmp_path / "new") == mode(tmp_path / "newer") == 0o666 & ~umask


@pytest.mark.parametrize("before", [0o600, 0o640, 0o666])
def test_a_file_that_is_replaced_keeps_its_mode(before, tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(before)
    write_atomically(path, "new")
    assert path.read_text() == "new"
    assert mode(path) == before


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_whatever_ends_the_writing_leaves_the_old_file_alone(error, tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def write_half():
        with open_atomically(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_of_two_writers_of_a_new_file_one_gets_an_error(tmp_path):
    path = tmp_path / "file"
    with open_atomically(path, replace=False) as file:
        file.write(b"second")
        write_atomically(path, "first", replace=False)
        with pytest.raises(InputError, match="must be a new file; another program has written it"):
            write_atomically(path, "third", replace=False)
        path.unlink()
    assert path.read_text() == "second"
    results, gate = [], threading.Barrier(8)

    def write(k):
        gate.wait()
        try:
            write_atomically(tmp_path / "race", str(k), replace=False)
            results.append(str(k))
        except InputError:
            pass

    threads = [threading.Thread(target=write, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [(tmp_path / "race").read_text()]
    assert {entry.name for entry in tmp_path.iterdir()} == {"file", "race"}


def test_new_files_need_no_hard_links(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError("no links on this file system")

    monkeypatch.setattr(os, "link", refuse)
    write_atomically(tmp_path / "file", "first", replace=False)
    with pytest.raises(InputError, match="must be a new file"):
        write_atomically(tmp_path / "file", "second", replace=False)
    assert (tmp_path / "file").read_text() == "first"


@pytest.mark.parametrize("name", ["a" * 5000, "nul\0", "a" * 256])
def test_names_that_no_file_can_have_are_refused_in_a_short_sentence(name, tmp_path):
    with pytest.raises(InputError, match="Cannot write ") as e:
        write_atomically(tmp_path / name, "text")
    assert len(str(e.value)) < 500


def test_the_longest_name_that_a_file_can_have_is_written(tmp_path):
    write_atomically(tmp_path / ("a" * 255), "text")
    assert [len(entry.name) for entry in tmp_path.iterdir()] == [255]


def test_paths_that_cannot_be_files_are_refused(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere" / "file"):
        with pytest.raises(InputError, match="must be a file in a folder that exists"):
            require_writable(path)
    with pytest.raises(InputError, match="path must be text or a path; got None"):
        require_writable(None)
