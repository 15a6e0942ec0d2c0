"""Names that stand for files."""

import pytest

from deciban._persistence.files import expand_name


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (
        "t/b.parquet",
        "t/a=1/c.parquet",
        "t/.hidden/d.parquet",
        "t/.e.parquet",
        "t/f.csv",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


def test_a_folder_stands_for_its_parquet_files_and_those_of_its_subfolders(folder):
    assert expand_name("t") == expand_name("t/") == ["t/a=1/c.parquet", "t/b.parquet"]


def test_links_that_lead_in_circles_are_not_followed(folder):
    (folder / "t" / "latest").symlink_to(".")
    (folder / "t" / "g.parquet").symlink_to("b.parquet")  # a file by another name is a file
    assert expand_name("t") == ["t/a=1/c.parquet", "t/b.parquet", "t/g.parquet"]


def test_a_file_stands_for_itself_whatever_stars_its_name_has(folder):
    (folder / "[x]*.parquet").touch()
    assert expand_name("[x]*.parquet") == ["[x]*.parquet"]
    assert expand_name("s3://bucket/*.parquet") == ["s3://bucket/*.parquet"]


def test_a_pattern_stands_for_the_files_that_it_matches(folder):
    assert expand_name("t/**/*.parquet") == ["t/a=1/c.parquet", "t/b.parquet"]
    assert expand_name("t/*") == ["t/b.parquet", "t/f.csv"]
    assert expand_name("none/*") == []
