"""The page on one case, for a reader who is no statistician."""

import math
import re

import numpy as np
import pytest

from browser import barriers, data_in, find_faults_of_text, open_drawn, quiet_page, settle
from deciban import CalibratedGaussian, Evidence
from deciban.calibration.bounded import upper_bound
from deciban.exceptions import InputError
from deciban.metrics.labelled import read_trials
from deciban.report import case_report

expect = pytest.importorskip("playwright.sync_api").expect


@pytest.fixture
def known(rng):
    y = np.arange(400) % 2
    return y, Evidence.from_llr(rng.normal(4 * y - 2, 2))


def write(path, evidence, **more):
    path.write_text(case_report(evidence, title="Row 1", **more))
    return path


def open_page(page, path, address=""):
    open_drawn(page, path.as_uri() + address)


def numbers(path):
    return data_in(path.read_text())


def test_the_ratio_is_said_in_words_for_the_likelier_side(tmp_path):
    path = write(tmp_path / "c.html", Evidence.from_llr([-math.log(30)]))
    text = path.read_text()
    assert "about 30 times as probable if it is 0 as if it is 1" in text
    assert "Moderate support for 0 over 1" in text
    assert numbers(path)["questions"][0]["llr"] == pytest.approx(math.log(30))


def test_evidence_that_says_nothing_is_said_to_say_nothing(tmp_path):
    text = write(tmp_path / "c.html", Evidence.from_llr([0.0])).read_text()
    assert "is as probable if it is 0 as if it is 1" in text


def test_the_page_opens_on_the_likeliest_class_also_where_the_tree_asks_about_it_last(tmp_path):
    groups = [(["a"], ["b"]), (["a", "b"], ["c"])]
    path = write(tmp_path / "c.html", Evidence([[0.0, 1.0, 3.0]], list("abc")), groups=groups)
    questions = numbers(path)["questions"]
    assert [(one["target"], one["other"]) for one in questions] == [("c", "a or b"), ("b", "a")]


def test_questions_and_samples_that_rule_out_both_groups_are_no_obstacle(tmp_path, rng):
    y = np.repeat([0, 1, 2], 40)
    values = np.eye(3)[y] * 2 + rng.normal(size=(120, 3))
    values[0] = [-np.inf, -np.inf, 0]
    tested = Evidence(values)
    groups = [([0], [1]), ([1], [2])]
    path = write(
        tmp_path / "c.html", Evidence([[0.0, -np.inf, -np.inf]]), groups=groups,
        validation=(y, tested),
    )  # fmt: skip
    questions = numbers(path)["questions"]
    assert [one["groups"] for one in questions] == [[[0], [1, 2]], [[0], [1]]]
    case = write(tmp_path / "c.html", Evidence([[0.0, 1.0, -9.0]]), groups=groups,
                 validation=(y, tested))  # fmt: skip
    support = numbers(case)["questions"][1]["support"]
    llr = values[1:40, 1] - values[1:40, 0]
    assert support["as_high"] == (llr >= 1.0).sum() + 1  # the one that rules out its class
    assert (
        "likelihood ratio is over 10³⁴⁷"
        in write(tmp_path / "c.html", Evidence.from_llr([800.0])).read_text()
    )


def test_the_bound_of_a_group_does_not_depend_on_how_many_samples_each_class_has(tmp_path):
    family = CalibratedGaussian.from_divergences([9.0, 9.0, 0.8])
    bounds = []
    for counts in ([1000, 1000, 1000], [4000, 250, 1000]):
        l, y = family.sample(counts, rng=0)
        path = write(
            tmp_path / "c.html", Evidence([[0.0, 1.0, 3.0]]), validation=(y, family.evidence(l))
        )
        bounds.append(numbers(path)["questions"][0]["support"]["bound"])
    assert bounds[1] < bounds[0]  # samples of the hard class are fewer; pooled, it would be larger
    assert bounds[1] > bounds[0] - 1.2


def test_certainty_is_drawn_and_said(page, tmp_path):
    path = write(tmp_path / "c.html", Evidence.from_llr([np.inf]))
    assert "impossible if it is 0" in path.read_text()
    open_page(page, path)
    expect(page.locator(".said strong").nth(1)).to_have_text("100 %")


def test_the_slider_moves_the_posterior_and_the_address(page, tmp_path):
    open_page(page, write(tmp_path / "c.html", Evidence.from_llr([math.log(10)])))
    after = page.locator(".said strong").nth(1)
    expect(after).to_have_text("90.9 %")
    slider = page.get_by_role("slider")
    slider.focus()
    for _ in range(10):  # decibans
        page.keyboard.press("ArrowLeft")
    expect(after).to_have_text("50 %")
    assert "prior=" in page.url
    box = slider.bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.95 * box["width"], box["y"] + box["height"] / 2, steps=10)
    page.mouse.up()
    expect(after).to_have_text("over 99.9 %")


def test_the_table_of_priors_obeys_bayes_rule(tmp_path):
    text = write(tmp_path / "c.html", Evidence.from_llr([math.log(9)])).read_text()
    row = re.search(r"after</th>(.*?)</tr>", text)[1]
    assert re.findall(r"<td>(.*?)</td>", row)[1:5] == ["8.33 %", "50 %", "90 %", "98.8 %"]


def test_a_ratio_beyond_what_the_samples_support_is_not_to_be_quoted(known, tmp_path):
    y, evidence = known
    path = write(tmp_path / "c.html", Evidence.from_llr([40.0]), validation=known)
    bound = upper_bound(read_trials(y, evidence), 200, 200, 1.0)
    found = numbers(path)["questions"][0]
    assert found["support"]["bound"] == pytest.approx(bound)
    assert found["usable"] == pytest.approx(bound)
    assert f"quote “more than {math.exp(bound):.0f}”" in path.read_text()
    within = write(tmp_path / "d.html", Evidence.from_llr([1.0]), validation=known)
    assert numbers(within)["questions"][0]["usable"] == 1.0
    assert "The test supports ratios for 1 up to about" in within.read_text()


def test_samples_of_the_test_are_drawn_and_counted(page, known, tmp_path):
    y, evidence = known
    path = write(tmp_path / "c.html", Evidence.from_llr([1.5]), validation=known)
    higher = int((evidence.llr(1, 0)[y == 0] >= 1.5).sum())
    assert f"{higher} of the 200 samples of 0 had a ratio of 4.5 or more" in path.read_text()
    open_page(page, path)
    assert "tested samples of 1 (200)" in page.locator("[data-figure=scale]").inner_text()


def test_each_question_of_several_classes_has_its_answer(page, rng, tmp_path):
    evidence = Evidence(np.log([[0.6, 0.3, 0.1]]), ["ant", "bee", "cat"])
    y = np.array(["ant", "bee", "cat"])[np.arange(90) % 3]
    tested = Evidence(
        2 * np.eye(3)[np.arange(90) % 3] + rng.normal(size=(90, 3)), ["ant", "bee", "cat"]
    )
    path = write(
        tmp_path / "c.html", evidence, groups=[(["ant"], ["bee"]), (["ant", "bee"], ["cat"])],
        validation=(y, tested), measurements={"legs": 6.0, "<wings>": None}, typicality=0.001,
    )  # fmt: skip
    open_page(page, path)
    expect(page.locator(".answer:visible .big")).to_contain_text("about 3 times")
    page.locator("#question").select_option(label="ant or bee, or cat?")
    expect(page.locator(".answer:visible .big")).to_contain_text("about 4.5 times")
    assert "question=2" in page.url
    assert "an extrapolation" in page.locator("#limits").inner_text()
    assert "missing" in page.locator("#classes").inner_text()
    posteriors = page.locator("#classes tbody").first.inner_text()
    assert re.sub(r"\s+", " ", posteriors) == "ant 60 % bee 30 % cat 10 %"


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_nothing_is_wider_than_a_phone(browser, known, tmp_path, scheme):
    path = write(tmp_path / "c.html", Evidence.from_llr([2.0]), validation=known, lead="x" * 200)
    with quiet_page(browser, viewport={"width": 390, "height": 800}, color_scheme=scheme) as page:
        open_page(page, path)
        assert page.evaluate("() => document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize(
    "llr", [0.9, *(pytest.param(llr, marks=pytest.mark.slow) for llr in (3.5, 16.0))]
)
def test_words_of_the_scale_do_not_touch(page, known, tmp_path, llr):
    open_page(page, write(tmp_path / "c.html", Evidence.from_llr([llr]), validation=known))
    for width in (390, 720, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        page.locator("[data-figure=scale]").scroll_into_view_if_needed()
        settle(page)
        assert find_faults_of_text(page, "[data-figure=scale]") == [], width


def test_an_interval_is_said_from_the_side_that_is_likelier(tmp_path):
    path = write(tmp_path / "c.html", Evidence.from_llr([-2.0]), interval=(-3.0, -1.0))
    assert numbers(path)["questions"][0]["interval"] == [1.0, 3.0]
    assert "leave open a ratio from 2.7 to 20" in path.read_text()


def test_many_classes_of_long_names_are_counted_not_listed(tmp_path):
    names = [f"class number {k} of fifty, which has a long name" for k in range(50)]
    text = write(tmp_path / "c.html", Evidence(np.eye(50)[:1], names)).read_text()
    body = text.split('<script type="application/json"')[0]
    assert "over one of 49 others" in body
    assert max(map(body.count, names[1:])) <= 1  # in the table of all classes


def test_several_samples_are_refused():
    with pytest.raises(InputError, match="evidence must hold one sample; got 2"):
        case_report(Evidence.from_llr([1.0, 2.0]), title="Rows")


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_nothing_keeps_a_reader_out(browser, known, tmp_path, scheme):
    with quiet_page(browser, color_scheme=scheme) as page:
        open_page(page, write(tmp_path / "c.html", Evidence.from_llr([9.0]), validation=known))
        assert barriers(page) == []
