"""The report is read by people who have only it: in a browser, on paper, or by ear."""

import dataclasses
import html.parser
import json
import re

import numpy as np
import pytest

from browser import barriers, data_in, quiet_page, settle, unpack
from deciban import CalibratedGaussian, Evidence
from deciban.assessment import Assessment, Quantity, assess
from deciban.exceptions import InputError
from deciban.metrics import accuracy, cllr, pairwise_cllr
from deciban.report import report

OF_TWO = {
    "cost", "cross_entropy", "det", "histogram", "idempotence", "meaning", "pav", "ranges",
    "reliability", "selected", "tippett",
}  # fmt: skip
HISTORY = [
    {"epoch": k, "loss": 3 + 2 / (k + 1), "score": 1 + 1 / (k + 1), "seconds": 0.1}
    for k in range(30)
]


class Reader(html.parser.HTMLParser):
    """What a page holds, and whether every element that is opened is closed."""

    VOID = frozenset({"meta", "link", "br", "input"})

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
    return set(re.findall(r'data-figure="(\w+)"', page))


def test_two_classes_have_all_figures_of_two_classes():
    page = page_of(*two(), training=HISTORY, model_card={"kind": "cda"}, data_card={"file": "x"})
    assert figures_in(page) == OF_TWO | {"training"}
    assert figures_in(page_of(*two(), training=[])) == OF_TWO


@pytest.mark.parametrize("D", [3, 10])
def test_several_classes_have_a_matrix_a_plane_and_a_triangle_too(D):
    assert figures_in(page_of(*several(D))) == OF_TWO | {"pairs", "worst", "plane", "ternary"}


def test_a_hundred_classes_fit_into_two_megabytes():
    y, evidence = several(100, n=12)
    assessment = by_hand(y, evidence, cross_entropy=2.0, accuracy=0.5)
    page = report(y, evidence, title="Many", assessment=assessment)
    assert len(page) < 2_000_000
    assert np.shape(data_in(page)["numbers"]["pairwise_cllr"]) == (100, 100)


@pytest.mark.parametrize(("n", "most"), [(100_000, 1_500_000), (1_000_000, 3_000_000)])
def test_a_page_of_very_many_rows_stays_small(n, most):
    y, evidence = two(n)
    page = report(y, evidence, title="Many", assessment=by_hand(y, evidence, cllr=0.3))
    assert len(page) < most
    assert data_in(page)["samples"]["total"] == n
    samples = data_in(page)["samples"]
    if n == 100_000:
        assert samples["rows"] is None  # all of them, counted from 1
    else:
        rows, llr = unpack(samples["rows"]), unpack(samples["evidence"])
        assert np.allclose(llr, evidence.llr("yes", "no")[rows - 1])
    assert ("of 1,000,000 samples, chosen at random" in page) == (n == 1_000_000)


def test_rare_classes_are_shown_whole_where_samples_are_thinned():
    y = np.repeat([0, 1], [320, 400_000])
    evidence = Evidence.from_llr(np.random.default_rng(0).normal(size=len(y)))
    page = report(y, evidence, title="t", assessment=by_hand(y, evidence, cllr=0.4))
    truth = unpack(data_in(page)["samples"]["truth"])
    assert len(truth) == 120_000
    assert (truth == 0).sum() == 320


@pytest.mark.parametrize("make", [two, lambda: several(4)], ids=["two", "four"])
def test_markup_is_whole_ids_are_unique_and_headings_skip_no_level(make):
    read = Reader(page_of(*make(), training=HISTORY, data_card={"a": "b"}, model_card={"c": "d"}))
    assert read.open == []
    assert len(read.ids) == len(set(read.ids))
    assert read.headings[0] == 1
    assert read.headings.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(read.headings, read.headings[1:], strict=False))
    assert {"header", "nav", "main", "footer"} <= {tag for tag, _ in read.tags}
    assert all(named.get("scope") in ("col", "row") for tag, named in read.tags if tag == "th")
    for tag, named in read.tags:
        if tag == "a":
            assert named["href"][1:] in read.ids


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
    assert len([tag for tag, _ in read.tags if tag == "script"]) == 4  # data, two libraries, ours
    assert not [tag for tag, _ in read.tags if tag in ("img", "b")]
    assert not [named for _, named in read.tags if any(key.startswith("on") for key in named)]
    assert data_in(page)["classes"][:2] == NASTY[:2]


def test_all_numbers_of_the_assessment_are_in_the_page():
    y, evidence = two()
    assessment = assess(y, evidence, n_resamples=30)
    page = report(y, evidence, title="A report", assessment=assessment)
    assert data_in(page)["numbers"] == json.loads(json.dumps(assessment.to_dict()))


def test_samples_of_one_class_alone_are_refused():
    y, evidence = several(3)
    only = np.asarray(y) == "class 1"
    nothing = np.full((3, 3), np.nan)
    assessment = Assessment(
        evidence.classes, (0, 60, 0), (), nothing, nothing, 0.95, (), even(evidence)
    )
    with pytest.raises(InputError, match="y_true must hold two classes"):
        report(y[only], evidence[only], title="t", assessment=assessment)


def test_hardly_any_error_is_not_called_none_at_all():
    y, evidence = two()
    assessment = by_hand(y, evidence, cllr=0.0001, cllr_cal=0.09, cllr_min=0.0, accuracy=0.99)
    page = report(y, evidence, title="t", assessment=assessment)
    assert "over 99.9 %" in page
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

MEASURE = """() => ({
  drawn: Object.fromEntries([...document.querySelectorAll("[data-figure]")].map((box) => {
    const { width, height } = box.getBoundingClientRect();
    return [box.dataset.figure, [box.childElementCount, width, height, box.textContent]];
  })),
  wide: [...document.querySelectorAll("main *")].filter(
    (e) => !e.closest(".scroll, svg") && e.getBoundingClientRect().right > innerWidth + 1
  ).map((e) => e.tagName + "." + e.className),
  scroll: document.documentElement.scrollWidth,
  paper: getComputedStyle(document.body).backgroundColor,
})"""


def write(folder, text):
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    return path.as_uri()


def open_report(page, address):
    """Open a report in a window so high that every figure is drawn, and measure it."""
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    size = page.viewport_size
    page.set_viewport_size({"width": size["width"], "height": 20_000})
    settle(page)
    page.set_viewport_size(size)
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    return page.evaluate(MEASURE)


@pytest.mark.parametrize(
    ("names", "width"),
    [
        (["no", "yes"], 1440),
        (NASTY, 390),
        pytest.param(["no", "yes"], 390, marks=pytest.mark.slow),
        pytest.param(NASTY, 1440, marks=pytest.mark.slow),
    ],
    ids=["two-1440", "nasty-390", "two-390", "nasty-1440"],
)
def test_a_browser_shows_every_figure_without_complaint_or_sideways_scrolling(
    browser, tmp_path, width, names
):
    y, evidence = two() if len(names) == 2 else several(3, names=names)
    text = page_of(y, evidence, training=HISTORY, data_card={"x": "y" * 300})
    with quiet_page(browser, viewport={"width": width, "height": 900}) as page:
        found = open_report(page, write(tmp_path, text))
    assert found["scroll"] <= width
    assert found["wide"] == []
    assert found["drawn"].keys() == figures_in(text)
    for name, (children, across, down, words) in found["drawn"].items():
        assert children, name
        assert across > 250, name
        assert down > 40, name
        assert "Not drawn" not in words, name
        assert "NaN" not in words, name


def infinite():
    y, evidence = two(300)
    llr = evidence.llr("yes", "no").copy()
    llr[:2], llr[2], llr[-1] = -np.inf, np.inf, np.inf
    evidence = Evidence.from_llr(llr, "yes", "no")
    return y, evidence, by_hand(y, evidence, cllr=np.inf, cllr_min=0.3)


def separate():
    y = np.repeat([0, 1], 40)
    evidence = Evidence.from_llr(np.where(y == 1, 5.0, -5.0) + np.linspace(-1, 1, 80))
    return y, evidence, assess(y, evidence, n_resamples=30)


def empty_of_evidence():
    y = np.repeat(["a", "b"], 40)
    evidence = Evidence(np.zeros((80, 2)), ["a", "b"])
    return y, evidence, assess(y, evidence, n_resamples=30)


def without_a_class():
    y, evidence = several(3)
    kept = np.asarray(y) != "class 1"
    y, evidence = y[kept], evidence[kept]
    nothing = np.full((3, 3), np.nan)
    return y, evidence, Assessment(
        evidence.classes, (60, 0, 60), (), nothing, nothing, 0.95, (), even(evidence)
    )  # fmt: skip


def far_out():
    y, evidence = two()
    llr = evidence.llr("yes", "no").copy()
    llr[-1] = 1e6
    evidence = Evidence.from_llr(llr, "yes", "no")
    return y, evidence, by_hand(y, evidence, cllr=0.4)


def ruled_out():
    y, evidence = several(3)
    values = evidence.log_likelihoods.copy()
    values[0, 1] = -np.inf
    values[-1, :2] = -np.inf
    evidence = Evidence(values, evidence.classes)
    return y, evidence, by_hand(y, evidence, cross_entropy=0.5, accuracy=0.8)


@pytest.mark.parametrize(
    "make",
    [
        infinite,
        ruled_out,
        *(
            pytest.param(make, marks=pytest.mark.slow)
            for make in (separate, empty_of_evidence, without_a_class, far_out)
        ),
    ],
)
def test_a_page_stands_whatever_the_evidence_is(page, tmp_path, make):
    y, evidence, assessment = make()
    text = report(y, evidence, title="t", assessment=assessment)
    found = open_report(page, write(tmp_path, text))
    assert "e−1" not in found["drawn"]["cost"][-1] + found["drawn"]["pav"][-1]  # rounding
    assert all(children for children, *_ in found["drawn"].values())
    assert not [name for name, (*_, words) in found["drawn"].items() if "NaN" in words]


@pytest.mark.slow
def test_classes_may_have_the_names_of_numbers_and_of_parts_of_objects(page, tmp_path):
    names = ["NaN", "constructor", "__proto__"]
    found = open_report(page, write(tmp_path, page_of(*several(3, names=names))))
    assert (
        page.evaluate("[...document.querySelector('#controls select').options].map((o) => o.text)")
        == names
    )
    assert not [name for name, (*_, words) in found["drawn"].items() if "Not drawn" in words]


def test_the_rest_is_mixed_by_the_prior_and_evidence_that_rules_out_both_sides_misleads(
    page, tmp_path
):
    family = CalibratedGaussian.from_divergences([9.0, 9.0, 0.8])
    l, y = family.sample([600, 30, 300], rng=0)
    values = family.evidence(l).log_likelihoods.copy()
    values[0] = [-np.inf, 0.0, -np.inf]  # a sample of the first class
    y, evidence = np.asarray(y, dtype=int), Evidence(values)
    text = report(y, evidence, title="t", assessment=by_hand(y, evidence, cross_entropy=0.5))
    address = write(tmp_path, text)
    costs = page.locator("[data-figure=cost] .note")
    open_report(page, f"{address}#pair=[0,2]")
    assert pairwise_cllr(y, evidence).cllr[0, 2] == np.inf
    assert "Between 0 and 2 the cost is infinite" in costs.inner_text()
    page.goto("about:blank")
    open_report(page, address + '#pair={"one":2}')
    weight = (1 / np.bincount(y))[y]
    llr = evidence.llr(2, [0, 1])
    cost = cllr(y == 2, llr, pos_label=True, sample_weight=weight)
    assert abs(cost - cllr(y == 2, llr, pos_label=True)) > 0.1
    assert f"Between 2 and not 2 the evidence costs {cost:.3g} bit" in costs.inner_text()
    misleading = np.average(llr[y != 2] > 0, weights=weight[y != 2])
    words = page.text_content("[data-figure=histogram]")
    assert f"{100 * misleading:.3g} % of those of not 2. Classes of a group count by" in words


def test_the_page_says_what_python_says_of_costs_priors_and_certainty(page, tmp_path):
    y, evidence = several(3, names=["a", "b", "evil\u202egnirts"])
    costs, prior = np.array([[0.5, 1, 2], [3, -2, 1], [1, 1, 0.1]]), [0.2, 0.3, 0.5]
    assessment = assess(y, evidence, n_resamples=20, costs=costs, prior=prior)
    text = report(y, evidence, title="t", assessment=assessment)
    found = open_report(page, write(tmp_path, text) + "#pair=[0,1]")
    words = {name: words for name, (*_, words) in found["drawn"].items()}
    # The right decision costs something, too: only what an error costs beyond it counts.
    threshold = 10 * np.log10((costs[1, 0] - costs[1, 1]) / (costs[0, 1] - costs[0, 0]) * 0.3 / 0.2)
    assert f"a is decided from {threshold:.3g} deciban on" in words["histogram"]
    total = assessment["cross_entropy"].value
    share = 100 * total / -(np.array(prior) @ np.log(prior))
    assert "For all 3 classes together, at the prior of the summary" in words["cost"]
    assert f"costs {total:.3g} nat, {share:.3g} % of what no evidence costs" in words["cost"]
    right = accuracy(y, evidence, prior=prior, costs=costs)
    assert (
        f"{100 * right:.3g} % of decisions are right if classes are as frequent as the prior"
        in (words["ternary"])
    )
    page.locator("[data-figure=meaning] input").fill("60")
    said = page.text_content("[data-figure=meaning]")
    assert "1,000,000 times as probable" in said
    assert "over 99.9 % probable after" in said
    assert "\u202e" not in text  # it would turn the words around it


@pytest.mark.slow
def test_evidence_beyond_single_precision_is_finite_in_the_page(page, tmp_path):
    y = np.repeat([0, 1], 20)
    llr = np.where(y == 1, 4.0, -4.0)
    llr[0], llr[1] = 1e300, -1e300
    evidence = Evidence.from_llr(llr)
    text = report(y, evidence, title="t", assessment=by_hand(y, evidence, cllr=0.4))
    found = open_report(page, write(tmp_path, text))
    assert "infinite" not in found["drawn"]["cost"][-1]
    assert "are infinite" not in found["drawn"]["histogram"][-1]


def test_a_print_is_whole_and_light_whatever_the_reader_prefers(browser, tmp_path):
    colors = """() => [...document.querySelectorAll("[data-figure=histogram] .key")]
      .map((key) => key.style.getPropertyValue("--c"))"""
    with quiet_page(browser, color_scheme="dark") as page:
        page.goto(write(tmp_path, page_of(*several(3))))
        page.wait_for_selector("html[data-ready]")
        page.emulate_media(media="print")
        settle(page)
        found = page.evaluate(MEASURE)
        assert found["paper"] == "rgb(255, 255, 255)"
        assert all(children for children, *_ in found["drawn"].values())  # out of sight, too
        assert set(page.evaluate(colors)) < {"#0072b2", "#d55e00", "#009e73"}
        page.emulate_media(media="screen")
        page.locator("[data-figure=histogram]").scroll_into_view_if_needed()
        settle(page)
        assert set(page.evaluate(colors)) < {"#56b4e9", "#f08a3c", "#2cc79a"}


@pytest.mark.parametrize(
    ("width", "height"),
    [
        (390, 844),
        *(pytest.param(*size, marks=pytest.mark.slow) for size in ((768, 1024), (1440, 900))),
        pytest.param(844, 390, marks=pytest.mark.slow),
    ],
)
def test_a_link_leads_to_a_heading_that_the_controls_do_not_cover(browser, tmp_path, width, height):
    options = {"viewport": {"width": width, "height": height}, "reduced_motion": "reduce"}
    with quiet_page(browser, **options) as page:
        open_report(page, write(tmp_path, page_of(*two())))
        page.get_by_role("link", name="Likelihood ratios").click()
        settle(page)
        top = page.locator("#ratios-heading").bounding_box()["y"]
        controls = page.locator("#controls").bounding_box()
    covered = max(0, controls["y"] + controls["height"])
    assert covered <= top <= covered + 40
    assert covered < 0.15 * height


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_nothing_keeps_a_reader_out(browser, tmp_path, scheme):
    text = page_of(*several(3), training=HISTORY, data_card={"a": "b"}, model_card={"c": "d"})
    with quiet_page(browser, color_scheme=scheme) as page:
        open_report(page, write(tmp_path, text))
        assert barriers(page) == []


def test_a_click_on_a_pair_chooses_it_for_all_figures(page, tmp_path):
    open_report(page, write(tmp_path, page_of(*several(4))))
    chosen = set()
    for k in (0, 3, 5):
        page.locator("[data-figure=pairs] [role=button]").nth(k).click()
        page.locator("[data-figure=tippett]").scroll_into_view_if_needed()  # what is seen is drawn
        settle(page)
        chosen.add(page.text_content("[data-figure=tippett] .legend"))
    assert len(chosen) == 3


@pytest.fixture
def calm_page(browser):
    """A page that does not scroll smoothly, so that places stay where they were measured."""
    with quiet_page(browser, reduced_motion="reduce") as page:
        yield page


def test_a_range_is_brushed_and_its_samples_are_listed(calm_page, tmp_path):
    page = calm_page
    y_true, evidence = two()
    open_report(page, write(tmp_path, page_of(y_true, evidence)))
    page.locator("[data-figure=histogram]").scroll_into_view_if_needed()
    settle(page)
    box = page.locator("[data-figure=histogram] svg").last.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.3 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], y, steps=5)
    page.mouse.up()
    page.wait_for_function("location.hash.includes('range=')")
    page.wait_for_selector("[data-figure=selected] td")
    assert "samples with LLRs from" in page.text_content("[data-figure=selected]")
    row, label, llr, _ = page.locator("[data-figure=selected] tbody tr").first.locator("*").all()
    at = int(row.inner_text()) - 1  # rows count from 1
    assert label.inner_text() == y_true[at]
    decibans = evidence.llr("yes", "no", unit="deciban")[at]
    assert float(llr.inner_text().replace("−", "-")) == pytest.approx(decibans, rel=6e-3)
    page.click("text=Clear the range")
    page.wait_for_function("!location.hash.includes('range=')")


def test_what_a_reader_chooses_is_in_the_address_and_comes_back_with_it(page, tmp_path):
    address = write(tmp_path, page_of(*several(4)))
    open_report(page, address)
    page.select_option("#controls label:nth-child(1) select", label="class 2")
    page.select_option("#controls label:nth-child(2) select", label="all others")
    page.fill("#controls input[aria-label='Prior probability']", "0.2")
    page.keyboard.press("Enter")
    page.select_option("#controls label:last-of-type select", "bit")
    settle(page)
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector("html[data-ready]")
    shown = "(s) => [...document.querySelectorAll(s)].map((e) => e.selectedOptions[0].text)"
    assert page.evaluate(shown, "#controls select")[:2] == ["class 2", "all others"]
    assert page.input_value("#controls input[aria-label='Prior probability']") == "0.2"
    assert "not class 2" in page.text_content("[data-figure=meaning]")
    page.click("text=Reset")
    settle(page)
    assert page.url.endswith("#")


def test_a_prior_or_cost_that_cannot_be_is_marked_and_told_and_changes_nothing(page, tmp_path):
    open_report(page, write(tmp_path, page_of(*two())))
    prior = page.get_by_label("Prior probability", exact=True)
    miss, alarm = page.get_by_label("Miss costs"), page.get_by_label("False alarm costs")
    told = page.locator("#controls [role=alert]")
    refused = [
        (
            prior,
            "1.5",
            "This must be a number from 0.000000001 to 0.999999999; got 1.5. It is still 0.5.",
        ),
        (miss, "-1", "This must be a number of 0 or more; got -1. It is still 1."),
        (alarm, "", "This must be a number of 0 or more; got none. It is still 1."),
    ]
    for field, text, sentence in refused:
        field.fill(text)
        page.keyboard.press("Tab")
        assert field.get_attribute("aria-invalid") == "true"
        assert told.last.inner_text() == sentence
        assert told.last.get_attribute("id") == field.get_attribute("aria-errormessage")
    assert told.count() == 3
    assert page.evaluate("location.hash") == ""
    miss.fill("0")
    page.keyboard.press("Tab")
    assert told.count() == 2  # the others are still wrong
    alarm.fill("0")
    page.keyboard.press("Tab")
    told.filter(has_text="One of the two costs must be above 0; got 0. It is still 1.").wait_for()
    page.click("text=Reset")
    assert told.count() == 0
    assert [prior.input_value(), miss.input_value(), alarm.input_value()] == ["0.5", "1", "1"]


@pytest.mark.slow
def test_an_address_that_was_damaged_opens_the_page_as_it_is(page, tmp_path):
    address = write(tmp_path, page_of(*two()))
    for wrong in (
        'pair=[0,9]&prior=%7B&unit="inch"&range=[3',
        'unit="constructor"&prior=["0.5","0.5"]&range=["a","b"]&toString=1&__proto__=[1]',
    ):
        found = open_report(page, f"{address}#{wrong}")
        words = {name: words for name, (*_, words) in found["drawn"].items()}
        assert "prior above" in words["meaning"]
        assert "from 0 deciban on" in words["histogram"]
        assert "Drag across the histogram" in words["selected"]
        assert not [name for name, said in words.items() if "Not drawn" in said]
        page.goto("about:blank")


def test_numbers_and_tables_can_be_downloaded(page, tmp_path):
    y, evidence = two()
    assessment = assess(y, evidence, n_resamples=30)
    open_report(page, write(tmp_path, report(y, evidence, title="t", assessment=assessment)))
    with page.expect_download() as whole:
        page.click("button[data-download=json]")
    numbers = json.loads(whole.value.path().read_text("utf-8"))
    assert numbers["counts"] == list(assessment.counts)
    with page.expect_download() as table:
        page.click("button[data-download=quantities]")
    first = table.value.path().read_text("utf-8").splitlines()[1]
    assert float(first.split(",")[1]) == pytest.approx(assessment["cllr"].value)
