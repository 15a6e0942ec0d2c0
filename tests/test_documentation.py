"""The pages: their code runs, what it writes opens in a browser, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

from browser import find_chromium
from documentation import read_blocks, run_page

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Pages that take more than some seconds: `make docs-test` runs them.
SLOW = {
    "README",
    "docs/guide/cda",
    "docs/guide/command-line",
    "docs/guide/deployment",
    "docs/guide/explorer",
    "docs/guide/scale",
    "docs/reference/file-formats",
    "docs/start/ten-minutes",
    "docs/tutorials/forensic-validation",
    "docs/tutorials/inside-the-evidence",
    "docs/tutorials/speakers-and-languages",
}


def name_page(page):
    return page.relative_to(ROOT).as_posix().removesuffix(".md")


def has_code(page):
    return any(block.is_run for block in read_blocks(page))


def mark(page):
    slow = [pytest.mark.slow] if name_page(page) in SLOW else []
    return pytest.param(page, id=name_page(page), marks=slow)


@pytest.mark.parametrize("path", [mark(page) for page in PAGES if has_code(page)])
def test_the_code_of_a_page_runs_and_its_reports_open(path, tmp_path, monkeypatch, request):
    for library in ("jax", "matplotlib", "polars", "typer", "jinja2", "dask", "pandas"):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    run_page(path, tmp_path)
    reports = list(tmp_path.glob("*.html"))
    if name_page(path) in SLOW and reports and find_chromium():
        page = request.getfixturevalue("page")
        for report in reports:
            page.goto(report.as_uri())
            for figure in page.locator("[data-figure]:visible").all():
                figure.scroll_into_view_if_needed()  # what is seen is drawn
            page.locator("svg:visible").first.wait_for()


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(ROOT / "README.md", tmp_path, languages={"python"})


# --- links: without Sphinx, so that every run of the tests finds a page that was moved ---------


def read_prose(page):
    return re.sub(r"^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def anchors(page):
    """The anchors of a page's headings, as GitHub and MyST make them."""
    headings = re.findall(r"^#{1,4} (.+)$", read_prose(page), re.MULTILINE)
    plain = (re.sub(r"\{\w+\}|`|\*|~", "", text).strip().lower() for text in headings)
    return {re.sub(r"[^\w\- ]", "", text).replace(" ", "-") for text in plain}


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_the_links_of_a_page_lead_somewhere(page):
    lost = []
    for link in re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", read_prose(page)):
        address, _, anchor = "".join(link).partition("#")
        if "://" in address or address.startswith(("/gallery/", "mailto:")):
            continue
        target = (page.parent / address).resolve() if address else page
        built = target.is_relative_to(ROOT / "docs" / "gallery")  # by sphinx-gallery
        if not built and not target.exists():
            lost.append(address)
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            lost.append(f"{address}#{anchor}")
    assert lost == []


# --- the runner itself: a broken page must not pass ---------------------------------------------


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```python\n>>> 1 + 1\n3\n```\n", "Expected"),
        ("```python\nraise ValueError('no')\n```\n", "no"),
        ("```python\nx = 1\n>>> x\n1\n```\n", "before the first prompt"),
        ("```pycon\n>>> 1 + 1\n3\n```\n", "blocks must be"),
        ("```bash\nfalse\n```\n", "blocks must be"),
        ("~~~python\n1 / 0\n~~~\n", "blocks must be"),
        ("```python\n>>> 1 / 0  # doctest: +SKIP\n```\n", "say why"),
        ("```sh\nfalse\ntrue\n```\n", "false"),
        ("```sh\necho one\n```\n\n```text\ntwo\n```\n", "the page shows"),
        ("<!-- exit status: 3 -->\n```sh\ntrue\n```\n", "true"),
    ],
)
def test_a_broken_page_fails(text, complaint, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    with pytest.raises((AssertionError, ValueError), match=complaint):
        run_page(page, tmp_path)


def test_names_and_files_live_from_block_to_block_and_what_is_not_run_is_left_out(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\n>>> x = 2\n```\n<!-- not run: costs money -->\n```sh\nfalse\n```\n"
        "```sh\necho $((1 + 1)) > two\n```\n```python\n>>> x\n2\n```\n"
        "```sh\ncat two\n```\n\n```text\n2\n```\n",
        encoding="utf-8",
    )
    run_page(page, tmp_path)
    assert (tmp_path / "two").read_text() == "2\n"
