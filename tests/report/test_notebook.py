"""Pages in notebooks: the widget, its plain counterpart, and the methods that give them."""

import builtins
import html
import json
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from browser import barriers, quiet_page, settle
from deciban import CalibratedGaussian, Evidence, assess, compare
from deciban.exceptions import InputError
from deciban.report import bundle, notebook

PAGE = '<!doctype html><title>t</title><p id="said">a "quoted" &amp; b</p>'
HOME = "http://notebook.test/"
RENDER = """async (page) => {
  const traits = { html: page, name: "A page", height: 321 }, listeners = {};
  const model = {
    get: (name) => traits[name],
    on: (event, listener) => (listeners[event] = listener),
    set: (name, value) => { traits[name] = value; listeners[`change:${name}`](); },
  };
  (await import("/widget.js")).default.render({ model, el: document.getElementById("cell") });
  globalThis.model = model;
}"""


def open_notebook(page, cell=""):
    """A notebook of one cell, which serves the module of the widget."""
    script = (files("deciban.report") / "web" / "widget.js").read_text("utf-8")
    blank = '<!doctype html><meta charset="utf-8"><link rel=icon href="data:,"><h1>Notebook</h1>'

    def answer(route):
        if route.request.url.endswith("/widget.js"):
            route.fulfill(body=script, content_type="text/javascript")
        else:
            route.fulfill(body=f'{blank}<div id="cell">{cell}</div>', content_type="text/html")

    page.route(f"{HOME}**", answer)
    page.goto(HOME)
    return page.frame_locator("iframe")


@pytest.fixture
def without_anywidget(monkeypatch):
    """A machine without the extra: importing anywidget fails."""
    real = builtins.__import__

    def refuse(name, *arguments, **options):
        if name == "anywidget":
            raise ModuleNotFoundError("No module named 'anywidget'", name=name)
        return real(name, *arguments, **options)

    notebook._widget_class.cache_clear()
    monkeypatch.setattr(builtins, "__import__", refuse)


def test_a_page_is_a_widget_where_anywidget_is_installed():
    anywidget = pytest.importorskip("anywidget")
    widget = notebook.show_page(PAGE, "A page", height=500)
    assert isinstance(widget, anywidget.AnyWidget)
    assert (widget.html, widget.name, widget.height) == (PAGE, "A page", 500)
    assert "application/vnd.jupyter.widget-view+json" in widget._repr_mimebundle_()[0]


def test_a_page_is_plain_html_without_anywidget(without_anywidget):
    shown = notebook.show_page(PAGE, 'A "page"')
    assert isinstance(shown, notebook.FramedPage)
    markup = shown._repr_html_()
    assert markup.count("<iframe") == 1
    assert html.unescape(markup.partition('srcdoc="')[2].partition('"')[0]) == PAGE
    assert 'title="A &quot;page&quot;"' in markup
    assert repr(shown) == '<A "page": a page of 0.0 MB, shown in notebooks>'


def test_a_height_that_hides_the_page_is_refused():
    with pytest.raises(InputError, match="height must be"):
        notebook.show_page(PAGE, "A page", height=0)


def test_the_plain_page_is_shown_as_it_is_in_a_frame(page, without_anywidget):
    frame = open_notebook(page, notebook.show_page(PAGE, "A page", 400)._repr_html_())
    assert frame.locator("#said").inner_text() == 'a "quoted" & b'
    assert page.locator("iframe").bounding_box()["height"] == 400


def test_the_widget_shows_its_page_and_follows_its_traits(page):
    frame = open_notebook(page)
    page.evaluate(RENDER, PAGE)
    assert frame.locator("#said").inner_text() == 'a "quoted" & b'
    box, cell = (page.locator(one).bounding_box() for one in ("iframe", "#cell"))
    assert (box["height"], box["width"]) == (321, cell["width"])
    page.evaluate("model.set('height', 555); model.set('html', '<p id=said>other</p>')")
    frame.get_by_text("other").wait_for()
    assert page.locator("iframe").bounding_box()["height"] == 555
    assert page.get_by_title("A page").count() == 1


@pytest.mark.slow
def test_the_page_of_a_widget_is_dark_where_the_notebook_is(browser):
    found = []
    with quiet_page(browser, color_scheme="null") as page:  # or the test would overrule the frame
        frame = open_notebook(page)
        page.evaluate(RENDER, PAGE)
        for style in (
            "background: #222",
            "background: oklch(0.97 0 0); color: #eee",
            "color: #ddd",
        ):
            page.evaluate("style => document.body.setAttribute('style', style)", style)
            settle(page)
            prefers = "() => matchMedia('(prefers-color-scheme: dark)').matches"
            found.append(frame.locator("body").evaluate(prefers))
    assert found == [True, False, True]  # the ground tells; where there is none, the text


# --- the methods that give pages ----------------------------------------------------------


@pytest.fixture(scope="module")
def three():
    family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0], classes=["cat", "dog", "<i>owl"])
    l, y = family.sample([120, 100, 80], rng=0)
    evidence = family.evidence(1.2 * l)
    return y, evidence, assess(y, evidence, n_resamples=50)


def open_framed(page, shown):
    """The frame of a widget's page, as the plain representation has it."""
    plain = notebook.FramedPage(shown.html, shown.name, shown.height)
    frame = open_notebook(page, plain._repr_html_())
    frame.locator("html[data-ready=true]").wait_for()
    return frame


def test_the_report_works_in_the_frame_of_a_notebook(page, three):
    y, evidence, assessment = three
    frame = open_framed(page, assessment.show(y, evidence))
    frame.get_by_label("Unit").select_option("bit")
    frame.get_by_label("against").select_option("all others")
    histogram = frame.locator("[data-figure=histogram]")
    histogram.scroll_into_view_if_needed()
    histogram.get_by_text("bit").first.wait_for()
    frame.get_by_role("link", name="Class by class").click()
    frame.locator("[data-figure=pairs] svg.pairs").wait_for()
    assert frame.get_by_text("below it after recalibration").count() == 1  # from the assessment
    assert frame.get_by_label("Unit").input_value() == "bit"
    assert frame.get_by_role("button", name="Copy link").count() == 0  # there is no address to copy
    assert page.url == HOME


def test_an_assessment_without_samples_shows_what_it_holds(page, three):
    assessment = three[2]
    frame = open_framed(page, assessment.show())
    assert frame.get_by_text(assessment.verdicts[0].big, exact=True).count() == 1
    for q in assessment.quantities:
        assert frame.locator(".quantities").get_by_text(q.label, exact=True).count() == 1
    frame.get_by_role("link", name="Class by class").click()
    frame.get_by_role("button", name="cat and dog").first.click()
    cost = f"{assessment.pairwise_cllr[0, 1]:.3g}"
    assert f"cat and dog: Cllr {cost} bit" in frame.locator("#chosen").inner_text()
    with page.expect_download() as download:
        frame.get_by_role("button", name="Download all numbers as JSON").click()
    numbers = json.loads(Path(download.value.path()).read_text("utf-8"))
    assert numbers["pairwise_cllr"][0][1] == assessment.pairwise_cllr[0, 1]


@pytest.mark.slow
def test_two_classes_have_no_pairs_to_choose_from(page, rng):
    y = np.arange(200) % 2
    found = assess(y, Evidence.from_llr(rng.normal(size=200) + 2 * y - 1), n_resamples=0)
    frame = open_framed(page, found.show())
    assert frame.get_by_role("heading", name="Class by class").count() == 0
    assert frame.get_by_text("Cllr_min").count() > 0


def test_the_explorer_opens_on_the_evidence_with_or_without_its_truth(page, three):
    y, evidence, _ = three
    for truth, said in ((y, "0 is perfect"), (None, "true classes of these samples are not known")):
        frame = open_framed(page, evidence.explore(truth))
        frame.locator("[data-part=scores]").click()
        frame.locator("[data-section=scores]").get_by_text(said).first.wait_for()
        assert not frame.locator("#copy").is_visible()  # there is no address to copy
        page.unroute_all()


def test_samples_must_come_whole(three):
    y, evidence, assessment = three
    with pytest.raises(InputError, match="y_true and evidence must come together"):
        assessment.show(y)
    with pytest.raises(InputError, match="same classes"):
        assessment.show(y, evidence.rename(["a", "b", "c"]))


def test_without_jinja2_the_error_names_the_extra(three, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    bundle.load_templates.cache_clear()
    with pytest.raises(ImportError, match=r"pip install 'deciban\[report\]'"):
        three[2].show()


# --- for every reader ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "colors",
    [
        pytest.param("color: #111; background: #fff", marks=pytest.mark.slow),
        "color: #ddd; background: #111",
    ],
)
def test_tables_are_legible_in_light_and_dark_notebooks_and_fit_a_phone(browser, three, colors):
    y, evidence, assessment = three
    family = CalibratedGaussian.from_eers([0.05, 0.2, 0.2])
    shown = [
        evidence, family, assessment, compare(y, {"A": evidence, "B": 2 * evidence}, n_resamples=20)
    ]  # fmt: skip
    body = "".join(one._repr_html_() for one in shown)
    with quiet_page(browser, viewport={"width": 390, "height": 800}) as page:
        page.set_content(
            f'<!doctype html><html lang="en"><title>n</title><body style="{colors}"><main>'
            f"<h1>Notebook</h1>{body}</main>"
        )
        assert barriers(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize(
    ("scheme", "width"),
    [("dark", 390), pytest.param("light", 1440, marks=pytest.mark.slow)],
)
def test_the_page_of_an_assessment_is_for_every_reader(browser, three, tmp_path, scheme, width):
    path = tmp_path / "assessment.html"
    path.write_text(three[2].show().html, encoding="utf-8")
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    with quiet_page(browser, **options) as page:
        page.goto(path.as_uri())
        page.get_by_role("link", name="Class by class").click()
        page.locator("svg.pairs").wait_for()
        assert barriers(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_many_classes_are_listed_by_their_hardest_pairs(browser, rng, tmp_path):
    y, values = np.arange(900) % 60, rng.normal(size=(900, 60))
    values[np.arange(900), y] += 2
    found = assess(y, Evidence(values), n_resamples=0)
    path = tmp_path / "assessment.html"
    path.write_text(found.show().html, encoding="utf-8")
    with quiet_page(browser) as page:
        page.goto(path.as_uri())
        assert page.get_by_text("The first 20 of 1,770.").count() == 1
        page.get_by_role("link", name="Class by class").click()
        page.locator("svg.pairs").wait_for()
