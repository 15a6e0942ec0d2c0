"""The scripts around the site and the release: versions, links, the README of a package index."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def load_script(name, folder=ROOT / "scripts"):
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    (folder / "guide").mkdir(parents=True)
    (folder / "index.html").write_text('<h1 id="top">Front</h1><a href="guide/one.html#here">x</a>')
    (folder / "guide/one.html").write_text('<p id="here"><a href="../index.html#top">y</a></p>')
    return folder


def test_versions_stand_beside_one_another_and_the_newest_release_is_the_front_door(site, tmp_path):
    place = load_script("place_docs").place_version
    (tmp_path / "all/pictures").mkdir(parents=True)  # what is not a version stays as it is
    (tmp_path / "all/pictures/index.html").touch()
    for version in ("dev", "0.9", "0.10"):
        place(site, tmp_path / "all", version, "https://example.org/deciban/")
    versions = json.loads((tmp_path / "all/versions.json").read_text())
    assert [one["version"] for one in versions] == ["0.10", "0.9", "dev"]
    assert [one["preferred"] for one in versions] == [True, False, False]
    assert versions[0]["url"] == "https://example.org/deciban/0.10/"
    assert "url=0.10/" in (tmp_path / "all/index.html").read_text()


def test_a_version_is_replaced_whole_and_a_name_that_is_none_writes_nothing(site, tmp_path):
    place = load_script("place_docs").place_version
    place(site, tmp_path / "all", "dev", "https://example.org")
    (site / "guide/one.html").unlink()
    place(site, tmp_path / "all", "dev", "https://example.org")
    assert not (tmp_path / "all/dev/guide/one.html").exists()
    with pytest.raises(ValueError, match="latest"):
        place(site, tmp_path / "other", "latest", "https://example.org")
    assert not (tmp_path / "other").exists()


def test_links_that_lead_nowhere_are_found_and_others_are_not(site):
    find = load_script("check_links").find_broken_links
    assert find(site) == []
    (site / "two.html").write_text(
        '<a href="nothing.html"></a><a href="guide/one.html#gone"></a><img src="no.png">'
        '<a href="https://example.org/x"></a><iframe src="index.html#part=%22walk%22"></iframe>'
        '<img src="index.html" srcset="index.html, lost.png 2x">'
    )
    broken = {line.partition(": ")[2] for line in find(site)}
    assert broken == {"nothing.html", "guide/one.html#gone", "no.png", "lost.png"}


def test_the_readme_of_a_package_index_leads_back_to_the_repository():
    pytest.importorskip("hatchling")
    lengthen = load_script("hatch_build", ROOT).with_absolute_links
    text = '[a](docs/a.md#b) [c](#c) [d](https://d.org) <img src="docs/e.png" alt="f">'
    assert lengthen(text, "https://x.org/y", "v1.2.3") == (
        "[a](https://x.org/y/blob/v1.2.3/docs/a.md#b) [c](#c) [d](https://d.org) "
        '<img src="https://x.org/y/raw/v1.2.3/docs/e.png" alt="f">'
    )
