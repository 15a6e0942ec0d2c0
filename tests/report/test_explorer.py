"""The explorer, driven as a reader drives it."""

import json
import re
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

from browser import barriers, quiet_page, settle, unpack
from deciban import CalibratedGaussian, Evidence, LinearDiscriminant
from deciban.calibration import AffineCalibrator
from deciban.cli.options import ScoreOptions
from deciban.cli.scores import read_scores
from deciban.exceptions import InputError, TableError, UnknownClassError
from deciban.metrics import cllr
from deciban.report import explorer
from deciban.simplex import Basis

FAMILY = CalibratedGaussian.from_divergences([5, 4, 7], classes=["cat", "dog", "owl"])


@pytest.fixture(scope="module")
def samples():
    ilrls, y_true = FAMILY.sample([300, 200, 250], rng=3)
    return FAMILY.evidence(ilrls), y_true


@pytest.fixture(scope="module")
def paths(tmp_path_factory, samples):
    folder = tmp_path_factory.mktemp("explorer")
    pages = {"empty": explorer(), "table": explorer(*samples, title="Animals")}
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


@pytest.fixture
def open_explorer(browser, paths):
    """What opens a page at an address and waits until it is drawn."""
    from contextlib import contextmanager

    @contextmanager
    def open_page(name="empty", address="", **options):
        options.setdefault("viewport", {"width": 1440, "height": 900})
        with quiet_page(browser, **options) as page:
            page.set_default_timeout(10_000)
            page.goto(paths[name].as_uri() + address)
            page.wait_for_selector(".parts [aria-current=page]")
            yield page

    return open_page


def state_of(page):
    """What the address says, once it has settled."""
    settle(page)
    found = re.findall(r"[#&](\w+)=([^&]*)", page.evaluate("location.hash"))
    return {name: json.loads(unquote(value)) for name, value in found}


def drag(page, handle, dx, dy):
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx / 2, y + dy / 2)
    page.mouse.move(x + dx, y + dy)
    page.mouse.up()


def bars(page):
    """Posteriors as the bars show them."""
    texts = page.locator("[data-box=bars] .bar-number").all_inner_texts()
    return [float(text.split("→")[1].strip(" %<>")) / 100 for text in texts]


@pytest.mark.parametrize("where", ["plane", pytest.param("triangle", marks=pytest.mark.slow)])
def test_dragging_the_prior_moves_the_posterior_as_bayes_rule_does(open_explorer, where):
    with open_explorer() as page:
        drag(page, page.locator(f"[data-box={where}] .handle.is-prior .knob"), -60, -30)
        state = state_of(page)
        piece = [[1.4, -0.2, -1.2]]  # with which the page opens
        expected = Evidence(piece).posterior(state["prior"])[0]
        assert not np.allclose(state["prior"], 1 / 3)
        assert sum(state["prior"]) == pytest.approx(1)
        assert bars(page) == pytest.approx(expected, abs=6e-4)


def test_a_dragged_arrow_changes_the_evidence_and_leaves_the_prior(open_explorer):
    with open_explorer() as page:
        drag(page, page.locator("[data-box=plane] .handle.is-posterior .knob"), -90, 40)
        state = state_of(page)
        assert "prior" not in state
        assert sum(state["pieces"][0]) == pytest.approx(0, abs=1e-3)
        assert bars(page) == pytest.approx(Evidence(state["pieces"]).posterior()[0], abs=6e-4)


def test_arrow_keys_move_the_handle_in_focus_and_delete_removes_an_arrow(open_explorer):
    with open_explorer() as page:
        page.locator("[data-box=plane] .handle.is-prior").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Shift+ArrowUp")
        prior = state_of(page)["prior"]
        assert prior[0] > prior[1] > prior[2]
        page.locator("[data-box=plane] .handle.is-posterior").focus()
        page.keyboard.press("Delete")
        assert state_of(page)["pieces"] == []
        assert bars(page) == pytest.approx(prior, abs=6e-4)


@pytest.mark.slow
def test_pieces_of_evidence_are_added_and_removed_by_buttons(open_explorer):
    with open_explorer() as page:
        page.get_by_role("button", name="Add evidence").click()
        assert len(state_of(page)["pieces"]) == 2
        page.get_by_role("button", name="Remove evidence 1").click()
        assert len(state_of(page)["pieces"]) == 1


def test_costs_and_no_decision_change_the_decision(open_explorer):
    with open_explorer() as page:
        verdict = page.locator("[data-box=verdict]")
        assert "Decision: A" in verdict.inner_text()
        page.get_by_label("Cost of deciding A when B is true").fill("20")
        page.keyboard.press("Enter")
        verdict.filter(has_text="Decision: B").wait_for()
        page.get_by_label("Allow no decision").check()
        page.get_by_label("at a cost of").fill("0.01")
        page.keyboard.press("Enter")
        verdict.filter(has_text="no decision").wait_for()
        field = page.get_by_label("Prior probability of A, in percent")
        field.fill("150")
        page.keyboard.press("Tab")
        page.set_viewport_size({"width": 1200, "height": 800})  # the page is drawn anew
        settle(page)
        assert field.get_attribute("aria-invalid") == "true"
        sentence = "This must be a number from 0.0001 to 99.9999; got 150. It is still 33.33."
        assert page.get_by_role("alert").inner_text() == sentence
        page.get_by_role("button", name="Reset", exact=True).first.click()
        settle(page)
        assert field.input_value() == "33.33"
        assert page.get_by_role("alert").count() == 0


def test_decisions_on_all_samples_are_those_of_the_library(open_explorer, samples):
    evidence, y_true = samples
    prior = [0.2, 0.5, 0.3]
    with open_explorer("table", f"#prior={json.dumps(prior)}") as page:
        page.wait_for_selector("[data-box=counts] table")
        cells = page.locator("[data-box=counts] tbody td").all_inner_texts()
    decided = evidence.decide(prior=prior)
    expected = [
        np.sum((y_true == true) & (decided == label))
        for true in evidence.classes
        for label in evidence.classes
    ]
    assert [int(cell.replace(",", "")) for cell in cells] == expected


@pytest.mark.slow
@pytest.mark.slow
def test_decisions_on_very_many_samples_are_exact(browser, tmp_path):
    ilrls, codes = FAMILY.sample([50_000, 60_000, 20_000], rng=5)
    log_likelihoods = FAMILY.evidence(ilrls).log_likelihoods.copy()
    log_likelihoods[::1000, 1] = -np.inf  # outside the plane
    log_likelihoods[1::1000] = [0, -50, -90]
    log_likelihoods -= log_likelihoods.max(axis=1, keepdims=True)
    log_likelihoods = log_likelihoods.astype(np.float32).astype(np.float64)  # as in the page
    evidence = Evidence(log_likelihoods, FAMILY.classes)
    prior, costs, reject = [0.2, 0.5, 0.3], [[0, 1, 4], [2, 0, 1], [5, 1, 0]], 0.3
    path = tmp_path / "many.html"
    path.write_text(explorer(evidence, codes), encoding="utf-8")
    with quiet_page(browser) as page:
        page.goto(f"{path.as_uri()}#prior={prior}&costs={costs}&reject={reject}".replace(" ", ""))
        page.wait_for_selector("[data-box=counts] table")
        cells = page.locator("[data-box=counts] tbody td").all_inner_texts()
    posterior = evidence.posterior(prior)
    decided = np.argmin(np.column_stack([posterior @ costs, np.full(len(codes), reject)]), axis=1)
    table = np.zeros((3, 4), dtype=int)
    np.add.at(table, ([FAMILY.classes.index(c) for c in codes], decided), 1)
    assert [int(cell.replace(",", "")) for cell in cells] == table.ravel().tolist()


def log_odds(page, mark):
    """Where a mark lies on the axis of the line."""
    ticks = page.locator("[data-box=other] .axis .tick")
    found = [(t.bounding_box(), t.text_content()) for t in ticks.all()]
    place = [box["x"] + box["width"] / 2 for box, _ in found]
    box = mark.bounding_box()
    value = [float(text.replace("−", "-")) for _, text in found]
    return np.interp(box["x"] + box["width"] / 2, place, value)


def test_samples_of_two_classes_lie_on_the_line_where_their_posteriors_are(browser, tmp_path):
    evidence = Evidence.from_llr([2.0, -1.0, np.inf], "guilty", "innocent")
    path = tmp_path / "two.html"
    path.write_text(explorer(evidence, ["guilty", "innocent", "guilty"]), encoding="utf-8")
    with quiet_page(browser) as page:
        page.goto(f'{path.as_uri()}#unit="nat"&prior=[0.2,0.8]')
        page.wait_for_selector("[data-box=other] path.samples")
        lanes = page.locator("path.samples")
        assert [text.split()[-1] for text in lanes.all_text_contents()] == ["innocent", "guilty"]
        assert lanes.nth(1).get_attribute("d").count("M") == 2
        assert log_odds(page, lanes.nth(0)) == pytest.approx(-1 + np.log(4), abs=0.1)
        verdict = page.locator("[data-box=verdict]")
        assert "guilty is the most probable (80.0%)" in verdict.inner_text()
        page.get_by_role("button", name="Even prior").click()
        verdict.filter(has_text="innocent and guilty are equally probable (50.0% each)").wait_for()
        assert "innocent or guilty, at the same expected cost of 0.5" in verdict.inner_text()
        assert log_odds(page, lanes.nth(0)) == pytest.approx(-1, abs=0.1)
        lanes.nth(0).click()
        assert "Row 2 of 3" in page.locator("[data-box=sample] .lead").inner_text()


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_nothing_keeps_a_reader_out(open_explorer, scheme):
    found = []
    with open_explorer("table", "#step=1", color_scheme=scheme) as page:
        for part in ("walk", "family", "scores", "sample"):
            page.locator(f".parts [data-part={part}]").click()
            settle(page)
            found += [(part, *one) for one in barriers(page)]
    assert found == []


@pytest.mark.parametrize(
    "names", [["guilty", "innocent"], pytest.param(list("ABCDE"), marks=pytest.mark.slow)]
)
def test_any_number_of_hypotheses_can_be_named(open_explorer, names):
    with open_explorer() as page:
        page.get_by_label("Hypotheses, separated by commas").first.fill(", ".join(names))
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Add evidence").click()
        assert state_of(page)["names"] == names
        assert page.locator("[data-box=other] svg").is_visible()
        assert not page.locator("[data-box=plane]").is_visible()
        assert bars(page)[0] == max(bars(page))


def test_the_family_follows_its_divergences(open_explorer):
    with open_explorer(address='#part="family"&unit="nat"') as page:
        page.get_by_label("Divergence of A and B, in nat, as a number").fill("6")
        page.keyboard.press("Enter")
        assert state_of(page)["divergences"] == [6, 4, 7]
        cells = page.locator("[data-box=family-table] tbody td").all_inner_texts()
    family = CalibratedGaussian.from_divergences([6, 4, 7])
    for k, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        d, eer, cllr = (float(text.strip("%")) for text in cells[4 * k : 4 * k + 3])
        assert d == pytest.approx(family.divergences[a, b], rel=1e-3)
        assert eer / 100 == pytest.approx(family.eers[a, b], abs=6e-4)
        assert cllr == pytest.approx(family.expected_cllr(a, b), abs=6e-4)


@pytest.mark.slow
def test_an_impossible_triple_is_told_and_the_nearest_family_is_offered(open_explorer):
    with open_explorer(address='#part="family"&divergences=[1,1,20]') as page:
        assert "No calibrated Gaussian family" in page.get_by_role("alert").inner_text()
        page.get_by_role("button", name="Take the nearest family").click()
        divergences = state_of(page)["divergences"]
        assert page.get_by_role("alert").count() == 0
    nearest = CalibratedGaussian.from_divergences([1, 1, 20], nearest=True).divergences
    assert divergences == pytest.approx(nearest[[0, 0, 1], [1, 2, 2]], rel=1e-4)


@pytest.mark.slow
def test_families_can_be_given_by_their_eers(open_explorer):
    with open_explorer(address='#part="family"&by="eer"') as page:
        page.get_by_label("EER of A and C, in percent, as a number").fill("10")
        page.keyboard.press("Enter")
        d = state_of(page)["divergences"][1]
    assert d == pytest.approx(CalibratedGaussian.from_eers([0.1]).divergences[0, 1], rel=1e-6)


def drop(page, name, text, onto=".drop"):
    """Drop a file of text or bytes onto the page, as from a folder."""
    data = text if isinstance(text, bytes) else text.encode()
    transfer = page.evaluate_handle(
        """([name, bytes]) => { const t = new DataTransfer();
        t.items.add(new File([Uint8Array.from(bytes)], name)); return t; }""",
        [name, list(data)],
    )
    page.dispatch_event(onto, "drop", {"dataTransfer": transfer})


def test_a_dropped_table_is_recognized_shown_and_calibrated(open_explorer, rng):
    llr = 3 * np.concatenate([rng.normal(1, 1.5, 200), rng.normal(-1, 1.5, 300)]) + 1
    label = ["target"] * 200 + ["nontarget"] * 300
    text = "trial,score,key\n" + "".join(
        f"t{i},{score:.17g},{key}\n" for i, (score, key) in enumerate(zip(llr, label, strict=True))
    )
    scores = Evidence.from_llr(llr, "target", "nontarget")
    calibrated = AffineCalibrator().fit(scores, label).evidence(scores).llr("target", "nontarget")
    least = cllr(np.equal(label, "target"), calibrated)
    with open_explorer(address='#part="scores"') as page:
        drop(page, "trials.csv", text)
        page.wait_for_selector(".tile")
        assert page.get_by_label("True class").input_value() == "key"
        assert page.get_by_label("LLRs", exact=True).input_value() == "score"
        assert page.get_by_label("in favor of").input_value() == "target"
        assert "500 samples of 2 classes" in page.locator("[role=status]").inner_text()
        before = page.locator(".tile .big").all_inner_texts()
        page.get_by_role("switch").check()
        page.wait_for_function(
            "cost => parseFloat(document.querySelector('.tile .big').textContent) < cost",
            arg=least + 2e-3,  # the end of the way there
        )
        after = page.locator(".tile .big").all_inner_texts()
        sentence = page.locator(".edit-line .note").inner_text()
        assert page.locator(".figure svg").count() >= 3
    scale = float(re.search(r"times ([\d.]+)", sentence)[1])
    assert scale == pytest.approx(np.ptp(calibrated) / np.ptp(llr), rel=2e-3)
    assert least < float(before[0].split()[0]) - 0.01
    assert after[1] == before[1]  # discrimination stays


def test_a_table_of_three_classes_is_calibrated_by_a_scale_and_offsets(open_explorer, samples):
    evidence, y_true = samples
    values = 2.5 * evidence.log_likelihoods + [1, 0, -2]
    rows = [
        ",".join([*(f"{v:.17g}" for v in row), str(label)])
        for row, label in zip(values, y_true, strict=True)
    ]
    with open_explorer(address='#part="scores"&unit="nat"') as page:
        drop(page, "animals.csv", "\n".join(["ll_cat,ll_dog,ll_owl,truth", *rows]))
        page.wait_for_selector(".tile")
        assert page.get_by_label("dog", exact=True).input_value() == "ll_dog"
        page.get_by_role("switch").check()
        sentence = page.locator(".edit-line .note").filter(has_text="times").inner_text()
    scale = float(re.search(r"times ([\d.]+)", sentence)[1])
    offsets = [float(x.replace("−", "-")) for x in re.findall(r"[+−][\d.]+", sentence)]
    scores = Evidence(values, evidence.classes)
    calibrator = AffineCalibrator(scale="scalar").fit(scores, y_true)
    assert scale == pytest.approx(calibrator.matrix_[0, 0], rel=2e-3)
    expected = Basis.gram_schmidt(3).contrast @ calibrator.offset_
    assert offsets == pytest.approx(expected.tolist(), abs=0.006)


LATIN = "class,llr\nKöln,1\nBern,-1\n".encode("latin-1")
REFUSED = {  # file, its text, and the sentence
    "Q.parquet": ("x", "Q.parquet must be a CSV or TSV file"),
    "few.csv": ("llr\n1\n", "few.csv must have a header and rows of two columns or more"),
    "Short.csv": ("class,llr\n0,1\n\n1\n", "Short.csv must have 2 cells in each row; row 2 has 1."),
    "split.csv": ("class,llr\n0,0,5\n", "row 1 has 3. Quote cells that hold the separator"),
    "word.csv": ("class,llr\n0,x\n1,2\n", "llr in word.csv must hold numbers; row 1 holds 'x'."),
    "One.csv": ("class,llr\n0,1\n0,2\n", "class in One.csv must hold from two to 200 classes; it"),
    "Latin.csv": (LATIN, "Latin.csv must be UTF-8 text; line 2 is not. Save it as UTF-8"),
    "Photo.csv": (
        b"\x89PNG\r\n\x1a\n\0\0\xff",
        "Photo.csv must be text; line 3 has a NUL byte, as",
    ),
    "utf16.csv": ("class,llr\na,1\n".encode("utf-16"), "utf16.csv must be text; line 1 has a NUL"),
    "comma.csv": (
        "class;llr\n" + "a;-0,5\nb;1,25\n" * 3,
        "llr in comma.csv must hold numbers; row 1 holds '-0,5', one of 6 such. It has decimal "
        "commas: save it with decimal points.",
    ),
}


def test_a_table_that_cannot_be_read_is_told_in_a_sentence(open_explorer):
    with open_explorer(address='#part="scores"') as page:
        for name, (text, sentence) in REFUSED.items():
            drop(page, name, text)
            page.locator("[role=status] .alarm").filter(has_text=sentence).wait_for()


# Recognized in spite of the empty cell, and refused in the words of the command line.
GAPS = {
    "Scores.csv": "class,llr\n0,-1\n1,2\n0,\n1,3\n1,\n0,-2\n",
    "Words.csv": "speaker,truth,llr\na,0,-1\nb,1,2\nc,0,NA\nd,1,nan\n",
    "Classes.csv": "truth,cat,dog\ncat,0.9,0.1\ndog,,0.8\ncat,0.7,0.3\ndog,0.1,0.9\n",
    "Truth.csv": "llr,truth\n-1,0\n2,\n-3,0\n3,1\n1,\n-2,0\n1,1\n",
    "Blank.csv": "llr,truth\n-1,0\n\n,\n-3,0\n3,1\n",
    "Label.csv": "llr,truth\n-1,a\n2,NA\n-3,b\n1,a\n",
}


@pytest.mark.slow
def test_missing_cells_are_refused_as_by_the_command_line(open_explorer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open_explorer(address='#part="scores"') as page:
        for name, text in GAPS.items():
            Path(name).write_text(text, encoding="utf-8")
            truth = "class" if text.startswith("class") else "truth"
            kind = {"posteriors": "uniform"} if "cat" in text else {}
            options = ScoreOptions([truth], **kind)
            with pytest.raises(TableError) as refused:
                read_scores(name, options)
            drop(page, name, text)
            sentence, _ = str(refused.value).split(". ", 1)
            page.locator("[role=status] .alarm").filter(has_text=f"{sentence}. ").wait_for()
            assert page.get_by_label("True class").input_value() == truth
            held = page.get_by_label("Scores are").input_value()
            assert held == ("posteriors" if kind else "llr")
        drop(page, "Truth.csv", GAPS["Truth.csv"])
        page.get_by_label("Rows without a class").select_option("leave")
        left = "Truth.csv: 5 samples of 2 classes. Left out: 2 rows without a class (first row 2)."
        page.locator("[role=status]").filter(has_text=left).wait_for()


def test_a_wrong_column_can_be_corrected(open_explorer):
    text = "class,score,better\n" + "0,5,-1\n1,5,2\n" * 10
    with open_explorer(address='#part="scores"') as page:
        drop(page, "a.csv", text)
        page.wait_for_selector(".tile")
        page.get_by_label("LLRs", exact=True).select_option("better")
        settle(page)
        cost = float(page.locator(".tile .big").first.inner_text().split()[0])
    expected = (np.log2(1 + np.exp(-2)) + np.log2(1 + np.exp(-1))) / 2
    assert cost == pytest.approx(expected, abs=6e-4)


@pytest.mark.slow
def test_a_table_dropped_anywhere_is_opened_and_kept_at_a_reset(open_explorer):
    with open_explorer() as page:
        drop(page, "a.csv", "class,llr\n" + "0,-1\n1,2\n" * 10, onto="h1")
        page.wait_for_selector(".tile")
        page.get_by_role("button", name="Reset", exact=True).first.click()
        page.wait_for_selector("[data-box=counts] table")
        assert state_of(page)["names"] == ["0", "1"]
        assert "20 of 20 are right" in page.locator("[data-box=counts]").inner_text()


def test_a_sample_is_told_in_the_words_of_the_library(open_explorer, samples):
    evidence, y_true = samples
    with open_explorer("table", '#part="sample"&row=17') as page:
        text = page.locator("[data-box=sample]").inner_text()
        page.get_by_role("button", name="Next", exact=True).click()
        assert state_of(page)["row"] == 18
    assert f"Row 18 of 750: true class {y_true[17]}" in text
    one = evidence[17:18]
    order = np.argsort(-one.log_likelihoods[0])
    best, next_best = (evidence.classes[k] for k in order[:2])
    assert str(one.verbal(best, next_best)[0]) in text


def test_the_prior_at_which_a_decision_flips_is_where_it_ties(open_explorer, samples):
    evidence, _ = samples
    with open_explorer("table", '#part="sample"&row=17') as page:
        page.get_by_role("button", name="Set this prior").click()
        prior = state_of(page)["prior"]
    posterior = np.sort(evidence[17:18].posterior(prior)[0])
    assert posterior[-1] == pytest.approx(posterior[-2], rel=1e-6)
    with open_explorer("table", '#part="sample"&row=17&reject=0.3') as page:
        assert "to no decision where" in page.inner_text("[data-section=sample]")
        page.get_by_role("button", name="Set this prior").click()
        prior = state_of(page)["prior"]
    assert evidence[17:18].posterior(prior).max() == pytest.approx(0.7, rel=1e-6)
    with open_explorer("table", '#part="sample"&row=17&reject=0') as page:
        said = page.inner_text("[data-section=sample]")
    assert "the decision is: no decision. If one had to be made, it would flip from" in " ".join(
        said.split()
    )


def test_a_model_shows_neighbors_and_counterfactuals(browser, tmp_path, rng):
    X = rng.normal(size=(90, 2)) + [[0, 0], [2, 0], [0, 3]] * 30
    y = ["a", "b", "c"] * 30
    model = LinearDiscriminant().fit(X, y)
    path = tmp_path / "page.html"
    path.write_text(explorer(model=model, X=X, y_true=y), encoding="utf-8")
    with quiet_page(browser) as page:
        page.goto(f'{path.as_uri()}#part="sample"&row=4')
        page.wait_for_selector("text=Nearest samples")
        cells = page.locator(".wide tbody tr").nth(0).locator("td").all_inner_texts()
        nearest = page.locator("text=Nearest samples >> xpath=.. >> tbody th").first.inner_text()
    expected = [X[4, 0], *(model.convert(X[4:5], label)[0, 0] for label in "abc")]
    assert [float(c.replace("−", "-")) for c in cells] == pytest.approx(expected, rel=1e-3)
    Z = model.transform(X)
    apart = np.linalg.norm(Z - Z[4], axis=1)
    apart[4] = np.inf
    assert int(nearest) == np.argmin(apart) + 1


def test_the_story_has_six_steps_through_the_parts(open_explorer):
    with open_explorer() as page:
        page.get_by_role("button", name="Take the story").click()
        seen = []
        for _ in range(6):
            settle(page)
            seen.append(page.locator(".parts [aria-current=page]").inner_text())
            assert page.locator(".story li:visible").count() == 1
            page.locator("[data-go=next]").click()
        settle(page)
        assert not page.locator("#story").is_visible()
    assert seen == ["Bayes’ walk"] * 3 + ["The calibrated family", "Your scores", "A sample"]


def test_a_part_alone_stays_alone_when_a_reader_changes_things(browser, paths):
    with quiet_page(browser) as page:
        page.goto(f"{paths['empty'].as_uri()}#alone=true&part=%22walk%22")
        page.locator("[data-box=plane] svg").wait_for()
        assert page.locator("header, nav.parts, footer").filter(visible=True).count() == 0
        names = page.get_by_label("Hypotheses, separated by commas")
        names.fill("rain, sun")
        names.press("Enter")
        assert state_of(page) == state_of(page) | {"alone": True, "names": ["rain", "sun"]}
        assert page.locator("header, nav.parts, footer").filter(visible=True).count() == 0


def test_a_link_shows_what_it_says_and_a_broken_one_opens_the_page(open_explorer):
    with open_explorer(address="#prior=[0.7,0.2,0.1]&pieces=[]") as page:
        assert bars(page) == pytest.approx([0.7, 0.2, 0.1])
    damaged = '#prior=[0.7,0.3]&names=["A"]&pieces=[[1]]&part="none"&costs=%5B%5B'
    beyond = "#pieces=[[1e308,-1e308,0],[1e308,-1e308,0]]"  # sums would overflow
    for broken in (damaged, beyond):
        with open_explorer(address=broken) as page:
            assert page.locator("[data-box=plane] .handle").count() == 2
    with open_explorer(address='#names=["A","B","C","D"]') as page:
        page.wait_for_selector("[data-box=other] svg")
        assert bars(page) == pytest.approx([0.25] * 4)


@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 390),
        *(
            pytest.param(*way, marks=pytest.mark.slow)
            for way in (("light", 1440), ("dark", 390), ("dark", 1440))
        ),
    ],
)
def test_no_part_is_wider_than_the_screen(open_explorer, scheme, width):
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    with open_explorer("table", **options) as page:
        for part in ("walk", "family", "scores", "sample"):
            page.locator(f".parts [data-part={part}]").click()
            settle(page)
            over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert over <= 0, part


def test_what_does_not_fit_together_is_refused(samples):
    evidence, y_true = samples
    with pytest.raises(InputError, match="y_true must come with evidence"):
        explorer(y_true=y_true)
    with pytest.raises(InputError, match="model and X must come together"):
        explorer(evidence, model=LinearDiscriminant())
    with pytest.raises(InputError, match="max_samples must be at least 1"):
        explorer(evidence, y_true, max_samples=0)
    with pytest.raises(UnknownClassError):
        explorer(evidence, ["bat"] * len(evidence))


def test_of_classes_that_come_in_turns_none_is_thinned_away():
    page = explorer(Evidence(np.zeros((900, 3))), max_samples=300)
    data = re.search(r'id="data">(.*?)</script>', page)[1]
    rows = unpack(json.loads(data)["samples"]["rows"])
    assert len(np.unique(rows)) == 300
    assert np.bincount(rows % 3).min() > 80  # every third row would be of one class


def test_thinned_pages_say_how_many_samples_there_are(samples, browser, tmp_path):
    path = tmp_path / "thinned.html"
    path.write_text(explorer(*samples, max_samples=100), encoding="utf-8")
    with quiet_page(browser) as page:
        page.goto(f'{path.as_uri()}#part="scores"')
        page.get_by_text("100 samples, chosen at random, of the 750 of the table").wait_for()
        page.locator(".parts [data-part=walk]").click()
        page.get_by_text("Decisions on 100 of 750 samples").wait_for()


@pytest.mark.parametrize("D", [2, 10])
def test_a_page_of_very_many_samples_stays_under_three_megabytes(rng, D):
    scores = 5 * rng.normal(size=(450_000 if D == 2 else 45_000, D))
    evidence = Evidence(scores)
    page = explorer(evidence, rng.integers(0, D, len(scores)))
    assert len(page.encode()) < 3_000_000
