"""The figures of a page show what the samples hold, and answer the mouse and the keyboard."""

import itertools

import numpy as np
import pytest

from browser import find_faults_of_text, quiet_page, serve_web, settle
from deciban import CalibratedGaussian
from deciban.evidence.units import SCALES
from deciban.metrics import pairwise_cllr

BLANK = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Figures</title>
<link rel=icon href=data:,>
<link rel=stylesheet href=/style.css>
<script src=/vendor/d3.js></script><script src=/vendor/plot.js></script>
<main class="figure"><div class="figure-body" id="box"></div></main>"""
DRAW = """async ([module, name, given]) => {
  const draw = (await import(`/${module}.js`))[name];
  const { makeView } = await import("/view.js");
  const box = document.getElementById("box");
  box.style.width = `${given.width}px`;
  const number = (x) => (x === null ? -Infinity : x);
  const samples = {
    classes: given.classes, n: given.truth.length, D: given.classes.length,
    total: given.truth.length,
    truth: Uint16Array.from(given.truth), rows: Int32Array.from(given.truth, (_, i) => i + 1),
    logLikelihoods: Float64Array.from(given.values, number),
  };
  window.state = { ...given.state };
  const view = () => makeView(given.data, samples, window.state, change);
  window.redraw = () => draw(box, { ...view(), width: given.width });
  function change(changes) {
    Object.assign(window.state, changes);
    window.redraw();
  }
  window.redraw();
}"""
FIGURES = {
    "cost": "drawCost", "cross_entropy": "drawCrossEntropy", "det": "drawDet",
    "histogram": "drawHistogram", "idempotence": "drawIdempotence", "pav": "drawPav",
    "plane": "drawPlane", "ranges": "drawRanges", "reliability": "drawReliability",
    "ternary": "drawTernary", "tippett": "drawTippett", "training": "drawTraining",
}  # fmt: skip

FAINT = """() => {
  const light = (color) => {
    const { r, g, b } = d3.rgb(color);
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [x, y, z] = [r, g, b].map((v) => linear(v / 255));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ground = light(getComputedStyle(document.querySelector(".figure")).backgroundColor);
  const kinds = ["svg text", "p", "li", "td", "th", "button"].map((kind) => `#box ${kind}`);
  const texts = [...document.querySelectorAll(kinds.join())];
  return texts.filter((t) => t.textContent.trim()).filter((t) => {
    const style = getComputedStyle(t);
    const ink = light(t instanceof SVGElement ? style.fill : style.color);
    return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05) < 4.5;
  }).map((t) => t.textContent);
}"""


@pytest.fixture(scope="module")
def shown(browser):
    with quiet_page(browser) as page:
        serve_web(page, BLANK)
        yield page


@pytest.fixture
def figure(browser):
    with quiet_page(browser) as page:
        serve_web(page, BLANK)
        yield page


def draw(page, name, data, *, function=None, width=520, keep=False, **state):
    classes, log_likelihoods, truth = data
    D = len(classes)
    given = {
        "classes": list(classes), "truth": np.asarray(truth).tolist(), "width": width,
        "values": [None if np.isinf(x) else x for x in np.ravel(log_likelihoods).tolist()],
        "data": {"training": [{"epoch": k, "loss": 2 / k, "score": 1 / k} for k in (1, 2, 3)]},
        "state": {"pair": [1, 0], "prior": [1 / D] * D, "costs": (1 - np.eye(D)).tolist(),
                  "unit": "deciban", "range": None, "three": [0, 1, 2] if D > 2 else None} | state,
    }  # fmt: skip
    if not keep:
        page.evaluate("document.getElementById('box').replaceChildren()")
    page.evaluate(DRAW, [f"figure_{name}", function or FIGURES[name], given])
    return page.locator("#box")


def of_llr(llr, truth, names=("different source", "same source")):
    llr = np.asarray(llr, dtype=float)
    return names, np.column_stack([np.minimum(0, -llr), np.minimum(0, llr)]), np.asarray(truth)


def gaussian(n_other=300, n_target=200, divergence=6.0, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    spread = np.sqrt(divergence)
    other, target = (
        rng.normal(sign * divergence / 2, spread, n) for sign, n in ((-1, n_other), (1, n_target))
    )
    return of_llr(scale * np.r_[other, target], np.repeat([0, 1], [n_other, n_target]))


def several(D, n=30, long=False, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(D, min(D - 1, 6)))
    truth = np.repeat(np.arange(D), n)
    x = centers[truth] + rng.normal(size=(len(truth), centers.shape[1]))
    values = -0.5 * ((x[:, None] - centers) ** 2).sum(axis=-1)
    names = [
        f"class with a long name of its own, number {k}" if long else f"c{k}" for k in range(D)
    ]
    return names, values - values.max(axis=1, keepdims=True), truth


def with_tail():
    rng = np.random.default_rng(1)
    other, target = -rng.gamma(2.0, 12.0, 3000) + 3, rng.normal(4, 2.8, 320)
    other[:20] = -180
    return of_llr(np.r_[other, target], np.repeat([0, 1], [3000, 320]))


def ruled_out():
    names, values, truth = several(3)
    values[0, 1] = values[40, 2] = values[70, 0] = -np.inf
    return names, values, truth


CASES = {
    "calibrated": gaussian(),
    "too strong": gaussian(scale=2.5),
    "a long tail": with_tail(),
    "no errors": of_llr([-3, -2, -1.5, -1, 1, 2, 3, 4], [0, 0, 0, 0, 1, 1, 1, 1]),
    "all infinite": of_llr([-np.inf] * 30 + [np.inf] * 20, [0] * 30 + [1] * 20),
    "all zero": of_llr([0.0] * 12, [0, 1] * 6),
    "three classes": several(3),
    "classes ruled out": ruled_out(),
    "fifty long names": several(50, n=12, long=True),
}


@pytest.mark.parametrize(
    ("case", "width"),
    [
        *((case, 300) for case in CASES if case != "fifty long names"),
        pytest.param("fifty long names", 300, marks=pytest.mark.slow),
        pytest.param("a long tail", 980, marks=pytest.mark.slow),
        ("three classes", 980),
    ],
)
def test_every_figure_has_a_label_and_a_note_and_no_text_over_text(shown, case, width):
    faults = []
    for name in FIGURES:
        box = draw(shown, name, CASES[case], width=width)
        assert len(box.locator(".note").last.inner_text()) > 20, name
        labels = box.locator("svg").evaluate_all(
            "all => all.map(s => s.getAttribute('aria-label'))"
        )
        assert all(len(label or "") > 20 for label in labels), name
        assert box.evaluate("e => e.scrollWidth - e.clientWidth") <= 1, name
        faults += [(name, pair) for pair in find_faults_of_text(shown, "#box")]
    assert faults == []


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_text_of_figures_can_be_read_in_light_and_in_dark(browser, scheme):
    with quiet_page(browser, color_scheme=scheme) as page:
        serve_web(page, BLANK)
        for name in FIGURES:
            draw(page, name, CASES["three classes"])
            assert page.evaluate(FAINT) == [], name


@pytest.mark.parametrize(
    ("D", "width"),
    [
        (3, 300),
        (50, 300),
        *(pytest.param(*size, marks=pytest.mark.slow) for size in ((10, 300), (50, 980))),
    ],
)
def test_names_of_the_pair_matrix_do_not_overlap(shown, D, width):
    box = draw(shown, "pairs", several(D, long=D == 50), function="drawPairMatrix", width=width)
    assert find_faults_of_text(shown, "#box") == []
    assert box.locator(".cell").count() == D * (D - 1)


def test_the_histogram_tells_how_many_samples_lie_beyond_its_axis(figure):
    box = draw(figure, "histogram", with_tail())
    words = box.get_by_text("◀").evaluate("text => text.firstChild.textContent")
    beyond = int(words.strip("◀ ").replace(",", ""))
    ends = figure.evaluate("d3.select('#box svg').node().scale('x').domain")
    _, values, _ = with_tail()
    llr = 10 / np.log(10) * (values[:, 1] - values[:, 0])
    assert beyond == (llr < ends[0]).sum() > 0
    assert "lie beyond the axis" in box.locator(".note").inner_text()


def test_a_brush_across_the_histogram_chooses_a_range_in_nats(figure):
    box = draw(figure, "histogram", gaussian())
    at = box.locator("svg").bounding_box()
    figure.mouse.move(at["x"] + 150, at["y"] + 150)
    figure.mouse.down()
    figure.mouse.move(at["x"] + 300, at["y"] + 150, steps=4)
    figure.mouse.up()
    low, high = figure.evaluate("state.range")
    shown = [float(box.locator("input").nth(k).input_value()) for k in (0, 1)]
    assert shown == pytest.approx([10 * x / np.log(10) for x in (low, high)], rel=1e-4)
    box.get_by_role("button", name="Clear").click()
    assert figure.evaluate("state.range") is None


def test_the_range_is_typed_where_there_is_no_mouse(figure):
    box = draw(figure, "histogram", gaussian())
    for k, text in enumerate(("-10", "20")):
        box.locator("input").nth(k).fill(text)
        figure.keyboard.press("Tab")
    assert figure.evaluate("state.range") == pytest.approx([-np.log(10), 2 * np.log(10)])


def test_a_drag_and_the_arrow_keys_move_the_prior(figure):
    box = draw(figure, "cross_entropy", gaussian())
    at = box.locator(".cursor-of-prior").bounding_box()
    x, y = at["x"] + at["width"] / 2, at["y"] + 80
    figure.mouse.move(x, y)
    figure.mouse.down()
    figure.mouse.move(x + 30, y)
    figure.wait_for_function("state.prior[1] > 0.6")
    figure.mouse.move(x + 60, y)  # the figure has been drawn again since
    figure.wait_for_function("state.prior[1] > 0.85")
    figure.mouse.up()
    before = figure.evaluate("state.prior[1]")
    box.locator(".cursor-of-prior").focus()
    figure.keyboard.press("ArrowLeft")
    figure.keyboard.press("ArrowLeft")
    odds = [p / (1 - p) for p in (before, figure.evaluate("state.prior[1]"))]
    assert 10 * np.log10(odds[0] / odds[1]) == pytest.approx(2)  # decibans


def test_without_errors_the_det_figure_bounds_the_error_rates(figure):
    box = draw(figure, "det", CASES["no errors"])
    assert box.locator("svg").count() == 0
    assert "No errors" in box.inner_text()
    assert "rule of three" in box.inner_text()


def test_a_click_and_the_enter_key_choose_a_pair_of_the_matrix(figure):
    box = draw(figure, "pairs", several(10), function="drawPairMatrix")
    box.locator("[data-focus=cell-3-6]").click()
    assert figure.evaluate("state.pair") == [3, 6]
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        figure.keyboard.press(key)
    assert figure.evaluate("state.pair") == [4, 7]
    assert box.locator(".cell.chosen").count() == 2


def test_the_worst_pairs_are_sorted_by_the_column_that_is_clicked(figure):
    data = several(10)
    box = draw(figure, "pairs", data, function="drawWorstPairs")
    _names, values, truth = data
    cllr = pairwise_cllr(truth, values)
    first = [float(cell.inner_text()) for cell in box.locator("tbody tr td:nth-child(2)").all()]
    assert first[0] == pytest.approx(np.nanmax(cllr.cllr), abs=5e-3)
    assert first == sorted(first, reverse=True)
    box.get_by_role("button", name="Cllr (bit)").click()
    again = [float(cell.inner_text()) for cell in box.locator("tbody tr td:nth-child(2)").all()]
    assert again == first[::-1]
    box.locator("tbody button").first.click()
    a, b = figure.evaluate("state.pair")
    assert cllr.cllr[a, b] == np.nanmin(cllr.cllr)


def test_classes_that_are_alike_stand_side_by_side(figure):
    blocks = np.kron(np.eye(3), np.ones((4, 4)))
    order = np.random.default_rng(0).permutation(12)
    likeness = blocks[np.ix_(order, order)] + 0.01
    found = figure.evaluate(
        "async (rows) => (await import('/cluster.js')).clusterOrder(rows)", likeness.tolist()
    )
    groups = (order[found] // 4).tolist()
    assert sorted(found) == list(range(12))
    assert sum(a != b for a, b in itertools.pairwise(groups)) == 2


def test_counts_of_the_ranges_are_those_of_the_verbal_scale(figure):
    llr = np.r_[np.log([1, 2, 10, 100, 1e6, 1 / 2, 1 / 100]), -0.3, 5.0, np.inf, -np.inf, -4.0]
    truth = [0, 1] * 6
    box = draw(figure, "ranges", of_llr(llr, truth))
    words = SCALES["enfsi"].describe(llr, "same source", "different source")
    found = {}
    for body in box.locator("tbody").all():
        group = body.locator(".group").inner_text()
        side = group.removeprefix("Support for ")
        other = {"same source": "different source", "different source": "same source"}
        for row in body.locator("tr:not(:first-child)").all():
            word, *counts = row.locator("td").all_inner_texts()
            name = ("no support for either" if side == "neither"
                    else f"{word} support for {side} over {other[side]}")  # fmt: skip
            found[name] = [int(text.split()[0]) for text in counts]
    for name in set(words.tolist()) | set(found):
        expected = [sum((words == name) & (np.array(truth) == side)) for side in (1, 0)]
        assert found[name] == expected, name


def test_the_llr_of_a_calibrated_llr_is_that_llr(figure):
    family = CalibratedGaussian.from_divergences([8.0])
    l, y = family.sample([3000, 3000], rng=0)
    box = draw(figure, "idempotence", of_llr(family.evidence(l).llr(1, 0), y))
    line = box.locator("svg path").last.evaluate("""path => {
      const n = path.getTotalLength();
      const points = [0.35, 0.5, 0.65].map((share) => path.getPointAtLength(share * n));
      return points.map((p) => [p.x, p.y]);
    }""")
    x, y = (box.locator("svg").evaluate(f"s => {{ const a = s.scale('{name}'); "
            f"return [a.invert(100), a.invert(200)]; }}") for name in "xy")  # fmt: skip
    for px, py in line:
        given = x[0] + (px - 100) * (x[1] - x[0]) / 100
        deserved = y[0] + (py - 100) * (y[1] - y[0]) / 100
        assert deserved == pytest.approx(given, abs=4)  # decibans


def test_hover_tells_the_row_and_the_posteriors(figure):
    box = draw(figure, "plane", several(3))
    at = box.locator(".scatter").bounding_box()
    for share in np.linspace(0.3, 0.7, 9):
        figure.mouse.move(at["x"] + share * at["width"], at["y"] + at["height"] / 2)
        settle(figure)
        if box.locator(".scatter.active").count():
            break
    found = box.locator(".tip").inner_text()
    assert found.startswith("row ")
    assert found.count("posterior of") == 3


def test_other_samples_of_the_same_number_give_another_matrix(figure):
    texts = []
    for seed in (0, 1):
        box = draw(
            figure, "pairs", several(3, seed=seed), function="drawPairMatrix", keep=bool(seed)
        )
        texts.append(box.locator(".cell text").all_text_contents())
    assert texts[0] != texts[1]
