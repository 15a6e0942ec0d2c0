"""The HTML page of the committed results, as a reader sees it on a phone and on a desk."""

import json
import re
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from browser import quiet_page
from reproduction import markup, pages, results

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "docs" / "paper"
CSS = (ROOT / "reproduction" / "page.css").read_text()


@pytest.fixture(scope="module")
def page():
    return (PAPER / "index.html").read_text(encoding="utf-8")


@pytest.fixture
def open_page(browser):
    """Opens the page at a width; what it complains of fails the test."""
    with ExitStack() as opened:

        def open_at(width, scheme="light", fragment=""):
            options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
            tab = opened.enter_context(quiet_page(browser, **options))
            tab.goto((PAPER / "index.html").as_uri() + fragment)
            return tab

        yield open_at


# --- what it says -------------------------------------------------------------------------


def test_a_tile_counts_each_verdict(page):
    numbers = json.loads((PAPER / "results.json").read_text(encoding="utf-8"))["numbers"]
    counts = Counter()
    for n in numbers:
        one = (n["described"] or n["ours"]) if n["group"] == "parameters" else n["ours"]
        known = one and one["verdict"] in ("matched", "beaten", "worse")
        counts[one["verdict"] if known else "unknown"] += 1
    tiles = re.findall(r'<li class="(\w+)"><strong>(\d+)</strong>', page)
    assert [word for word, _ in tiles] == ["matched", "beaten", "worse", "unknown"]
    assert {word: int(count) for word, count in tiles} == counts
    assert sum(counts.values()) == len(numbers)


def test_verdicts_have_a_color_a_sign_and_a_word(page):
    for word in ("matched", "beaten", "worse", "not comparable"):
        name = word.replace(" ", "-")
        sign = f'<span aria-hidden="true">{markup.SIGNS[word]}</span>'
        assert f'<td class="short"><span class="verdict {name}">{sign} {word}</span></td>' in page
        assert re.search(rf"\.{name}\b[^{{]*{{ color: var", CSS)


def test_no_remark_is_repeated():
    records = results.read_records(PAPER)
    numbers = results.compare_numbers(records)
    text = markup.as_markdown(pages._summary(numbers) + pages._computation(records))
    remarks = {n["remark"] for n in numbers if n["remark"]}
    versions = {", ".join(f"{k} {v}" for k, v in step["versions"].items())
                for record in records for step in record["steps"].values()}  # fmt: skip
    assert max(text.count(remark) for remark in remarks) == 1
    assert [text.count(one) for one in versions] == [1] * len(versions)


def test_contents_come_before_the_content(page):
    assert page.index("<nav") < page.index("<h1") < page.index("<table")
    links = re.findall(r'<li><a href="#([^"]+)">', page)
    assert len(links) == len(set(links)) == 14
    for link in links:
        assert len(re.findall(rf"id=['\"]{re.escape(link)}['\"]", page)) == 1
    read_me = (PAPER / "README.md").read_text(encoding="utf-8")
    assert read_me.index("In detail: ") < read_me.index("| --- |")


def test_colors_of_text_can_be_read_by_day_and_by_night():
    def luminance(color):
        color = color if len(color) == 7 else "#" + "".join(2 * c for c in color[1:])
        parts = (int(color[k : k + 2], 16) / 255 for k in (1, 3, 5))
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    def contrast(one, other):
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    day, night = (dict(re.findall(r"--([\w-]+): (#\w+)", part)) for part in CSS.split("@media")[:2])
    assert set(day) == set(night)
    for colors in (day, night):
        for name in ("text", "soft", "link"):
            assert contrast(colors[name], colors["ground"]) > 4.5, name
        for name in ("matched", "beaten", "worse", "unknown"):
            assert contrast(colors[name], colors[f"{name}-ground"]) > 4.5, name


# --- how it looks -------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "height"), [(390, 6000), (1440, 3400)])
def test_it_is_a_tenth_as_tall_as_the_whole_until_a_reader_opens_its_sections(
    open_page, width, height
):
    tab = open_page(width)
    assert tab.evaluate("document.documentElement.scrollHeight") < height


@pytest.mark.parametrize(
    "width", [390, *(pytest.param(w, marks=pytest.mark.slow) for w in (768, 1440))]
)
def test_tables_scroll_within_their_box_and_the_page_does_not(open_page, page, width):
    tab = open_page(width)
    tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    beyond = """[...document.querySelectorAll("main *")].filter(e => !e.closest(".wide") &&
        e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML.slice(0, 80))"""
    assert tab.evaluate(beyond) == []
    boxes = tab.evaluate("[...document.querySelectorAll('.wide:has(table)')].map(e => e.tabIndex)")
    assert len(boxes) == page.count("<table>")
    assert set(boxes) == {0}  # so that keys can scroll them


def test_broad_figures_are_not_shrunk_on_a_phone_until_nothing_can_be_read(open_page):
    tab = open_page(390)
    tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    widths = tab.evaluate("[...document.images].filter(i => i.getAttribute('width') > 800)"
                          ".map(i => i.getBoundingClientRect().width)")  # fmt: skip
    assert len(widths) > 3
    assert min(widths) > 600


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_axe_finds_nothing_serious(open_page, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    tab = open_page(390, scheme)
    tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    found = axe.Axe().run(tab, options={"preload": False}).response["violations"]  # files only
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []


@pytest.mark.parametrize("width", [390, pytest.param(1440, marks=pytest.mark.slow)])
def test_a_link_of_the_contents_opens_its_section_and_the_contents_stay_in_view(open_page, width):
    tab = open_page(width)
    tab.click("nav a:text-is('Two circles')")
    tab.wait_for_function("document.querySelectorAll('details[open]').length == 1")
    seen = "e => { const b = e.getBoundingClientRect(); return [b.top, b.bottom] }"
    top, _ = tab.eval_on_selector("details[open]", seen)
    nav_top, nav_bottom = tab.eval_on_selector("nav", seen)
    assert tab.evaluate("scrollY") > 500
    assert nav_top == 0
    assert (nav_bottom if width == 390 else 0) <= top < 200


@pytest.mark.slow
def test_an_address_with_a_section_opens_it(open_page):
    tab = open_page(1440, fragment="#two-moons-figures-6-b-8-and-11-b-table-1")
    assert tab.eval_on_selector_all("details[open] h2", "all => all.map(e => e.textContent)") == [
        "Two moons"
    ]


@pytest.mark.slow
def test_it_is_dark_where_the_reader_prefers_it(open_page):
    ground = "getComputedStyle(document.body).backgroundColor"
    assert open_page(1440).evaluate(ground) == "rgb(255, 255, 255)"
    assert open_page(1440, "dark").evaluate(ground) == "rgb(22, 24, 27)"


def test_every_picture_loads_and_has_a_text(open_page):
    tab = open_page(1440)
    tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    tab.evaluate("document.querySelectorAll('img').forEach(i => i.loading = 'eager')")
    tab.wait_for_function("[...document.images].every(i => i.complete && i.naturalWidth > 0)")
    assert tab.evaluate("[...document.images].filter(i => !i.alt).length") == 0


def test_a_printed_page_is_whole(open_page):
    tab = open_page(1440)
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.evaluate("document.querySelectorAll('details:not([open])').length") == 0
