"""The page on several systems, as a reader's browser shows it."""

import re

import numpy as np
import pytest

from browser import barriers, open_drawn, quiet_page
from deciban import Evidence, compare, metrics
from deciban.report import calibration_report, comparison_report

expect = pytest.importorskip("playwright.sync_api").expect
SETTINGS = {"n_resamples": 100}


@pytest.fixture(scope="module")
def two():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    llr = rng.normal(2 * y - 1, 1) * 2
    return y, {"plain": Evidence.from_llr(llr), "<loud>": Evidence.from_llr(5 * llr)}


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(1)
    y = np.array(["ant", "bee", "cat"])[np.arange(300) % 3]
    scores = 2 * np.eye(3)[np.arange(300) % 3] + rng.normal(size=(300, 3))
    names = ["ant", "bee", "cat"]
    return y, {f"s{k}": Evidence(factor * scores, names) for k, factor in enumerate((1, 4, 0.2))}


def write(path, y, systems, **more):
    text = comparison_report(y, systems, title="Systems", settings=SETTINGS, **more)
    path.write_text(text)
    return path


def open_page(page, path, address=""):
    open_drawn(page, path.as_uri() + address)


def test_the_first_screen_says_which_system_is_better_and_why(two, tmp_path):
    text = write(tmp_path / "c.html", *two).read_text()
    assert "plain is better" in text
    assert "recalibrate &lt;loud&gt; and compare again" in text
    assert "<loud>" not in text.split('<script type="application/json"')[0]


def test_figures_show_every_system_and_obey_the_controls(page, two, tmp_path):
    y, systems = two
    open_page(page, write(tmp_path / "c.html", y, systems))
    for name in ("tippett", "det", "cross_entropy", "pav"):
        lines = page.locator(f"[data-figure={name}] path")
        colors = lines.evaluate_all("all => all.map((one) => getComputedStyle(one).stroke)")
        assert {"rgb(0, 114, 178)", "rgb(213, 94, 0)"} <= set(colors)
    cells = page.locator("[data-figure=numbers] tbody tr").nth(1).locator("td")
    cost = metrics.cllr(y, systems["<loud>"])
    assert float(cells.nth(0).inner_text()) == pytest.approx(cost, rel=5e-3)
    before = cells.nth(4).inner_text()
    page.get_by_label("Prior probability", exact=True).fill("0.01")
    page.keyboard.press("Tab")
    page.locator("[data-figure=numbers]").scroll_into_view_if_needed()  # cells are drawn anew
    expect(cells.nth(4)).not_to_have_text(before)
    assert "prior=" in page.url


def test_a_system_can_be_left_out_and_the_address_says_so(page, two, tmp_path):
    path = write(tmp_path / "c.html", *two)
    open_page(page, path)
    page.locator("#systems input").nth(1).uncheck()
    page.locator("[data-figure=numbers]").scroll_into_view_if_needed()  # what is seen is drawn
    expect(page.locator("[data-figure=numbers] tbody tr")).to_have_count(1)
    assert re.search(r"hidden=%5B1%5D", page.url)
    page.locator("#systems input").nth(0).uncheck()
    page.locator("[data-figure=numbers]").scroll_into_view_if_needed()
    expect(page.locator("[data-figure=numbers]")).to_contain_text("No system is chosen")
    page.reload()
    page.wait_for_selector("html[data-ready=true]")
    assert not page.locator("#systems input").nth(1).is_checked()


def test_three_systems_of_three_classes_show_all_classes_and_a_pair(page, three, tmp_path):
    y, systems = three
    open_page(page, write(tmp_path / "c.html", y, systems))
    costs = page.locator("[data-figure=costs]")
    assert costs.locator("h4").count() == 2
    found = metrics.cross_entropy(y, systems["s1"])
    assert f"s1 costs {found:.3g} nat".rstrip("0") in costs.inner_text()
    page.locator("#controls select").nth(1).select_option("rest")
    costs.scroll_into_view_if_needed()
    expect(costs).to_contain_text("against not")
    assert page.locator("#differences table").count() == 3


def test_systems_without_errors_and_with_infinite_evidence_are_drawn(page, tmp_path):
    y = np.arange(40) % 2
    systems = {
        "sure": Evidence.from_llr(np.where(y, np.inf, -np.inf)),
        "wrong once": Evidence.from_llr(np.where(np.arange(40) == 3, -np.inf, 4.0 * y - 2)),
    }
    open_page(page, write(tmp_path / "c.html", y, systems))
    assert "without limit" in page.locator("[data-figure=costs]").inner_text()
    assert "there is no curve" in page.locator("[data-figure=det]").inner_text()


def test_systems_that_all_cost_without_limit_or_nothing_are_compared(rng):
    y = np.arange(60) % 3
    right = np.where(np.eye(3)[y] > 0, 0.0, -np.inf)
    wrong = rng.normal(size=(60, 3))
    wrong[0] = [-np.inf, 0.0, 0.0]
    for a, b in ((right, right), (wrong, wrong + 0.1), (right, wrong)):
        systems = {"a": Evidence(a), "b": Evidence(b)}
        comparison = compare(y, systems, n_resamples=10)
        text = comparison_report(
            y, systems, title="t", comparison=comparison, settings={"n_resamples": 10}
        )
        nothing = re.findall(r'"nothing":([\d.]+)', text)
        assert [float(one) for one in nothing] == pytest.approx([np.log(3)] * 2)


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_nothing_is_wider_than_a_phone(browser, three, tmp_path, scheme):
    path = write(tmp_path / "c.html", *three, descriptions={"s0": "a" * 200})
    with quiet_page(browser, viewport={"width": 390, "height": 800}, color_scheme=scheme) as page:
        open_page(page, path)
        assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.slow
def test_a_system_that_shouts_does_not_squeeze_the_others(page, two, tmp_path):
    y, systems = two
    loud = Evidence.from_llr(200 * systems["plain"].llr(1, 0))
    open_page(page, write(tmp_path / "c.html", y, {"plain": systems["plain"], "loud": loud}))
    reach = 10 / np.log(10) * np.abs(systems["plain"].llr(1, 0)).max()
    for name in ("tippett", "pav"):
        texts = page.locator(f"[data-figure={name}] svg text").all_text_contents()
        plain = (text.replace("−", "-").replace(",", "") for text in texts)
        shown = [float(text) for text in plain if re.fullmatch(r"-?\d+", text)]
        assert max(shown) < 4 * reach
    assert "loud" in page.locator("[data-figure=cross_entropy] .note").inner_text()
    assert "above the frame" in page.locator("[data-figure=cross_entropy] .note").inner_text()


def test_what_calibration_changed_is_said_first(page, two, tmp_path):
    y, systems = two
    path = tmp_path / "c.html"
    path.write_text(
        calibration_report(y, systems["<loud>"], systems["plain"], title="Scores", folds=5)
    )
    open_page(page, path)
    first = page.locator("#summary").inner_text()
    assert "It helps" in first
    assert "judged on samples that it had not seen" in first


def test_many_samples_make_a_small_page(rng):
    y = np.arange(200_000) % 2
    systems = {k: Evidence.from_llr(rng.normal(4 * y - 2, 2)) for k in "abc"}
    comparison = compare(y, systems, n_resamples=0)
    text = comparison_report(
        y, systems, title="Many", comparison=comparison, settings={"n_resamples": 0}
    )
    assert len(text) < 1_500_000
    assert "of 200,000 samples, chosen at random" in text


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_nothing_keeps_a_reader_out(browser, three, tmp_path, scheme):
    with quiet_page(browser, color_scheme=scheme) as page:
        open_page(page, write(tmp_path / "c.html", *three))
        assert barriers(page) == []
