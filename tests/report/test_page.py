"""The report is read by people who have only it: in a browser, on paper, or by ear."""

import base64
import csv
import dataclasses
import html.parser
import io
import json
import re

import numpy as np
import pytest

from browser import quiet_page
from deciban import CalibratedGaussian, Evidence
from deciban.assessment.assess import assess
from deciban.assessment.results import Assessment, Quantity
from deciban.exceptions import InputError
from deciban.metrics import pairwise_cllr
from deciban.report.page import report

SVG_FIGURES = {"decomposition", "reliability", "idempotence", "llr-histogram", "tippett", "det",
               "cross-entropy"}  # fmt: skip
HISTORY = [
    {"epoch": k, "loss": 3 + 2 / (k + 1), "score": 1 + 1 / (k + 1), "seconds": 0.1}
    for k in range(30)
]


class Reader(html.parser.HTMLParser):
    """What a page holds, and whether every element that is opened is closed."""

    VOID = frozenset({"meta", "link", "br", "path", "rect", "circle"})

    def __init__(self, page):
        super().__init__()
        self.open, self.headings, self.ids, self.links, self.scripts = [], [], [], [], []
        self.words, self.tags = [], []
        self.feed(page)
        self.close()

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes, closed=True)

    def handle_starttag(self, tag, attributes, closed=False):
        named = dict(attributes)
        self.tags.append((tag, named))
        if "id" in named:
            self.ids.append(named["id"])
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if not closed and tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def two(n=600, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(["no", "yes"], [2 * n // 3, n - 2 * n // 3])
    llr = scale * (np.where(y == "yes", 3.0, -3.0) + rng.normal(0, np.sqrt(6), n))
    return y, Evidence.from_llr(llr, "yes", "no")


def several(D, n=60, names=None, seed=0):
    family = CalibratedGaussian(2 * np.eye(D - 1))
    l, y = family.sample([n] * D, rng=seed)
    names = names or [f"class {k}" for k in range(D)]
    return np.array(names, dtype=object)[np.asarray(y, dtype=int)], family.evidence(l).rename(names)


def even(evidence):
    return (1 / evidence.n_classes,) * evidence.n_classes


def by_hand(y, evidence, **values):
    """An assessment without intervals, for when computing one would take long."""
    found = pairwise_cllr(y, evidence)
    quantities = tuple(
        Quantity(key, key, value, np.nan, np.nan, "nat", "lower", "Says something.", value)
        for key, value in values.items()
    )
    counts = tuple(int((np.asarray(y) == name).sum()) for name in evidence.classes)
    return Assessment(evidence.classes, counts, quantities, *found, 0.95, (), even(evidence))


def page_of(y, evidence, **options):
    assessment = assess(y, evidence, n_resamples=30)
    return report(y, evidence, title="A report", assessment=assessment, **options)


def figures_in(page):
    return set(re.findall(r'<figure id="([\w-]+)"', page))


def file_in(page, name):
    """The rows of a file to download."""
    found = re.search(rf'download="{name}"\s+href="data:[^,]*;base64,([^"]*)"', page)
    return base64.b64decode(found[1]).decode()


def test_two_classes_have_all_figures_of_two_classes():
    page = page_of(*two(), training=HISTORY, model_card={"kind": "cda"}, data_card={"file": "x"})
    assert figures_in(page) == SVG_FIGURES | {"training-loss", "training-score"}
    assert "Not drawn" not in page


@pytest.mark.parametrize("D", [3, 10])
def test_several_classes_have_a_matrix_a_plane_and_a_triangle_too(D):
    page = page_of(*several(D))
    assert figures_in(page) == SVG_FIGURES | {"pairwise", "ilr-plane", "ternary"}
    assert "Not drawn" not in page


def test_a_hundred_classes_fit_into_two_megabytes():
    y, evidence = several(100, n=12)
    page = report(
        y, evidence, title="Many", assessment=by_hand(y, evidence, cross_entropy=2.0, accuracy=0.5)
    )
    assert {"pairwise", "ilr-plane", "ternary"} <= figures_in(page)
    assert len(page) < 2_000_000
    assert len(file_in(page, "pairwise.csv").splitlines()) == 1 + 100 * 99 // 2


def test_a_page_of_very_many_rows_is_hardly_larger_than_one_of_a_thousand():
    y, evidence = two(330_000)
    page = report(y, evidence, title="Many", assessment=by_hand(y, evidence, cllr=0.3))
    assert len(page) < 500_000
    assert figures_in(page) >= SVG_FIGURES - {"decomposition"}


@pytest.mark.parametrize("make", [two, lambda: several(4)], ids=["two", "four"])
def test_markup_is_whole_ids_are_unique_and_headings_skip_no_level(make):
    read = Reader(page_of(*make(), training=HISTORY, data_card={"a": "b"}, model_card={"c": "d"}))
    assert read.open == []
    assert len(read.ids) == len(set(read.ids))
    assert read.headings[0] == 1
    assert read.headings.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(read.headings, read.headings[1:], strict=False))
    tags = [tag for tag, _ in read.tags]
    assert {"header", "nav", "main", "footer"} <= set(tags)
    drawings = [named for tag, named in read.tags if named.get("class") == "drawing"]
    assert drawings
    assert all(named["role"] == "img" and len(named["aria-label"]) > 20 for named in drawings)
    assert all(named.get("scope") in ("col", "row") for tag, named in read.tags if tag == "th")
    for tag, named in read.tags:
        if tag == "a" and named["href"].startswith("#"):
            assert named["href"][1:] in read.ids


def test_nothing_is_loaded_from_anywhere():
    page = page_of(*two())
    addresses = re.findall(r'(?:src|href|action)="([^"]*)"', page)
    assert addresses
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert "http:" not in page.replace("http-equiv", "")
    assert "https:" not in page
    assert "@import" not in page
    assert "url(" not in page


NASTY = ["<script>alert(1)</script>", "\"quoted\" 'single' & </script>", "=1+1 " + "long " * 80]


def test_names_and_titles_are_text_whatever_they_look_like():
    y, evidence = several(3, names=NASTY)
    page = report(
        y,
        evidence,
        title="<img src=x onerror=alert(1)> \x00\ud800",
        assessment=assess(y, evidence, n_resamples=20),
        data_card={"<b>": "<script>"},
    )
    read = Reader(page)
    assert read.open == []
    page.encode("utf-8")
    assert [named for tag, named in read.tags if tag == "script"][:-1] == [
        {"type": "application/json", "class": "marks"}
    ] * len(figures_in(page))
    assert not [tag for tag, _ in read.tags if tag in ("img", "b")]
    assert not [named for _, named in read.tags if any(key.startswith("on") for key in named)]
    rows = list(csv.reader(io.StringIO(file_in(page, "pairwise.csv"))))
    names = {name for row in rows[1:] for name in row[:2]}
    assert f"'{NASTY[2]}" in names  # a spreadsheet would take it for a formula
    assert NASTY[0] in names


def test_numbers_behind_a_figure_are_those_of_the_metric():
    y, evidence = two()
    rows = list(csv.reader(io.StringIO(file_in(page_of(y, evidence), "llr-histogram.csv"))))
    counts = np.array(rows[1:], dtype=float)[:, 2:].sum(axis=0)
    assert counts.tolist() == [(y == "yes").sum(), (y == "no").sum()]
    tippett = np.array(
        list(csv.reader(io.StringIO(file_in(page_of(y, evidence), "tippett.csv"))))[1:], dtype=float
    )
    llr = 10 / np.log(10) * evidence.llr("yes", "no")
    for at, target, other in tippett[::40]:
        assert target == pytest.approx(100 * np.mean(llr[y == "yes"] >= at - 1e-6), abs=0.51)
        assert other == pytest.approx(100 * np.mean(llr[y == "no"] >= at - 1e-6), abs=0.51)


def test_all_numbers_of_the_assessment_can_be_downloaded():
    y, evidence = two()
    assessment = assess(y, evidence, n_resamples=30)
    page = report(y, evidence, title="A report", assessment=assessment)
    assert json.loads(file_in(page, "assessment.json")) == assessment.to_dict()


def test_infinite_ratios_are_drawn_and_noted():
    y, evidence = two(300)
    llr = evidence.llr("yes", "no").copy()
    llr[:2], llr[2], llr[-1] = -np.inf, np.inf, np.inf
    evidence = Evidence.from_llr(llr, "yes", "no")
    page = report(
        y, evidence, title="t", assessment=by_hand(y, evidence, cllr=np.inf, cllr_min=0.3)
    )
    assert "4 infinite ratios are in the outermost bins" in page
    assert "the cost is infinite" in page
    assert "ruled out the true class" in page
    assert figures_in(page) == SVG_FIGURES - {"decomposition"}
    assert page.count("Not drawn.") == 1
    assert "nan" not in re.sub(r"<[^>]*>", " ", page.split("<main")[1]).lower().split()


def test_evidence_that_rules_a_class_out_lies_on_the_frame():
    y, evidence = several(3)
    values = evidence.log_likelihoods.copy()
    values[0, 1] = -np.inf
    values[-1, :2] = -np.inf
    evidence = Evidence(values, evidence.classes)
    page = report(
        y, evidence, title="t", assessment=by_hand(y, evidence, cross_entropy=0.5, accuracy=0.8)
    )
    assert {"ilr-plane", "ternary", "pairwise"} <= figures_in(page)
    assert re.search(r"[2-9]\d* beyond the frame, or infinite", page)


def test_a_part_that_cannot_be_computed_says_why_and_the_rest_stands():
    y, evidence = two(60)
    few = np.r_[0:30, -3:0]
    page = page_of(y[few], evidence[few])
    assert "one has 3." in page
    assert "idempotence" not in figures_in(page)
    assert "tippett" in figures_in(page)


def test_perfect_separation_gives_a_sound_page():
    y = np.repeat([0, 1], 40)
    evidence = Evidence.from_llr(np.where(y == 1, 5.0, -5.0) + np.linspace(-1, 1, 80))
    page = page_of(y, evidence)
    assert "No decision was wrong" in page
    assert "the true rate may be up to 6.2&nbsp;%" in page
    assert "det" in figures_in(page)


def test_evidence_that_says_nothing_gives_a_sound_page():
    y = np.repeat(["a", "b"], 40)
    page = page_of(y, Evidence(np.zeros((80, 2)), ["a", "b"]))
    assert {"tippett", "det", "cross-entropy", "llr-histogram"} <= figures_in(page)


def test_a_class_without_samples_leaves_the_rest_of_the_page():
    y, evidence = several(3)
    kept = np.asarray(y) != "class 1"
    y, evidence = y[kept], evidence[kept]
    nothing = np.full((3, 3), np.nan)
    assessment = Assessment(
        evidence.classes, (60, 0, 60), (), nothing, nothing, 0.95, (), even(evidence)
    )
    page = report(y, evidence, title="t", assessment=assessment)
    assert {"tippett", "det", "pairwise"} <= figures_in(page)
    assert "Every class must have samples for reliability" in page
    assert "Three classes with samples are needed" in page


def test_samples_of_one_class_alone_are_refused():
    y, evidence = several(3)
    only = np.asarray(y) == "class 1"
    nothing = np.full((3, 3), np.nan)
    assessment = Assessment(
        evidence.classes, (0, 60, 0), (), nothing, nothing, 0.95, (), even(evidence)
    )
    with pytest.raises(InputError, match="y_true must hold two classes"):
        report(y[only], evidence[only], title="t", assessment=assessment)


def test_of_very_many_classes_the_hardest_are_drawn():
    y, evidence = several(120, n=2)
    cost = np.full((120, 120), 0.01)
    cost[7, 119] = cost[119, 7] = np.inf
    np.fill_diagonal(cost, np.nan)
    assessment = Assessment(evidence.classes, (2,) * 120, (), cost, cost, 0.95, (), even(evidence))
    page = report(y, evidence, title="t", assessment=assessment)
    assert "Of 120 classes the 100 hardest are drawn" in page
    assert "the evidence does harm" in page
    assert file_in(page, "pairwise.csv").splitlines()[1].startswith("class 7,class 119,inf")


def test_a_ratio_far_from_all_others_does_not_squeeze_them():
    y, evidence = two()
    llr = evidence.llr("yes", "no").copy()
    llr[-1] = 1e6
    evidence = Evidence.from_llr(llr, "yes", "no")
    page = report(y, evidence, title="t", assessment=by_hand(y, evidence, cllr=0.4))
    rows = np.array(
        list(csv.reader(io.StringIO(file_in(page, "llr-histogram.csv"))))[1:], dtype=float
    )
    assert rows[-1, 1] < 1000
    assert rows[:, 2:].sum() == len(y)
    assert "1 ratio is further out" in page


def test_training_without_samples_set_aside_has_a_loss_only():
    history = [{"epoch": k, "loss": 2.0 - k / 10, "score": float("nan")} for k in range(5)]
    page = page_of(*two(), training=history)
    assert "training-loss" in figures_in(page)
    assert "The history must hold a finite score" in page
    assert "training" not in "".join(figures_in(page_of(*two(), training=[])))


def test_hardly_any_error_is_not_called_none_at_all():
    y, evidence = two()
    assessment = by_hand(y, evidence, cllr=0.0001, cllr_cal=0.09, cllr_min=0.0, accuracy=0.99)
    page = report(y, evidence, title="t", assessment=assessment)
    assert "over 99.9&nbsp;%" in page
    assert "1 in 100" in page
    assert "without intervals that may be chance" in page


def test_summary_says_when_evidence_does_harm_and_what_calibration_would_save():
    page = page_of(*two(scale=12.0))
    assert "does more harm than good" in page
    assert "would save" in page
    calm = page_of(*two(6000))
    assert "The evidence can be taken at face value" in calm
    assert "does more harm" not in calm


def test_quantities_that_are_undefined_are_called_so():
    y, evidence = two()
    assessment = by_hand(y, evidence, cllr=np.nan, dev_pav=np.nan)
    page = report(y, evidence, title="t", assessment=assessment)
    assert page.count("not defined") == 2
    assert "How much the evidence says is not known" in page


def test_warnings_of_the_assessment_are_in_the_summary():
    y, evidence = two()
    assessment = dataclasses.replace(by_hand(y, evidence, cllr=0.4), warnings=("Mind the <gap>.",))
    page = report(y, evidence, title="t", assessment=assessment)
    assert "Mind the &lt;gap&gt;." in page.split('id="quality"')[0]


def test_the_same_input_gives_the_same_page():
    y, evidence = several(3)
    assert page_of(y, evidence) == page_of(y, evidence)


def test_an_assessment_of_other_classes_is_refused():
    y, evidence = two()
    other = by_hand(*several(3), cross_entropy=1.0)
    with pytest.raises(InputError, match="assessment must be of the same classes"):
        report(y, evidence, title="t", assessment=other)
    with pytest.raises(InputError, match="evidence must be Evidence"):
        report(y, np.zeros((3, 2)), title="t", assessment=other)


# --- in a browser -----------------------------------------------------------------------

PROBE = """() => {
  const seen = [...document.querySelectorAll("svg.drawing")].map((svg) => {
    const box = svg.getBoundingClientRect();
    return [svg.closest("figure").id, Math.round(box.width), Math.round(box.height)];
  });
  const wide = [...document.querySelectorAll("main *")].filter(
    (e) => !e.closest(".scroll, svg") && e.getBoundingClientRect().right > innerWidth + 1
  ).map((e) => e.tagName + "." + e.className);
  return { seen, wide, scroll: document.documentElement.scrollWidth };
}"""


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("names", [["no", "yes"], NASTY], ids=["two", "nasty"])
def test_a_browser_shows_every_figure_without_complaint_or_sideways_scrolling(page, width, names):
    y, evidence = two() if len(names) == 2 else several(3, names=names)
    text = page_of(y, evidence, training=HISTORY, data_card={"x": "y" * 300})
    page.set_viewport_size({"width": width, "height": 900})
    page.set_content(text)
    found = page.evaluate(PROBE)
    assert found["scroll"] <= width
    assert found["wide"] == []
    assert {name for name, *_ in found["seen"]} == figures_in(text)
    assert all(w > 250 and h > 80 for _, w, h in found["seen"])
    plot = page.locator("#tippett .plot")
    plot.press("ArrowRight")
    assert plot.locator(".tip").is_visible()
    assert "LLR (deciban): " in plot.locator(".tip").text_content()


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_the_page_is_dark_where_the_reader_wants_it(browser, scheme):
    with quiet_page(browser, color_scheme=scheme) as page:
        page.set_content(page_of(*two()))
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", paper)[:3]))
    assert brightness < 150 if scheme == "dark" else brightness > 600
