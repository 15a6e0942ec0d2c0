"""Designs: which samples share a group or an item, and how they are drawn again."""

import numpy as np
import pytest
from scipy import stats

from deciban import Evidence, assess, metrics
from deciban.exceptions import InputError
from deciban.metrics.designs import read_design, split_items


def design_of(items=None, groups=None, codes=None):
    columns = list(split_items(items).values())
    n = len(groups) if items is None else len(columns[0])
    return read_design(np.zeros(n, dtype=int) if codes is None else codes, groups, columns)


def all_pairs(m, with_itself=True):
    i, j = (index.ravel() for index in np.indices((m, m)))
    keep = np.full(m * m, True) if with_itself else i != j
    return i[keep], j[keep]


def test_a_pair_is_drawn_as_often_as_the_product_of_its_items_and_itself_as_often_as_its_item(rng):
    i, j = all_pairs(30)
    counts = design_of((i, j)).draw_counts(rng).reshape(30, 30)
    own = np.diag(counts)
    assert own.sum() == 30
    np.testing.assert_array_equal(counts, np.where(np.eye(30), own, np.outer(own, own)))


def test_different_things_on_the_left_and_right_are_drawn_apart(rng):
    left, right = (index.ravel() for index in np.indices((12, 40)))
    design = design_of((left, [f"segment {k}" for k in right]))
    assert design.sizes == (12, 40)
    counts = design.draw_counts(rng).reshape(12, 40)
    assert np.linalg.matrix_rank(counts) == 1
    assert counts.sum() == 12 * 40
    assert "12 items on the left and 40 on the right" in design.description


def test_pairs_that_share_no_item_are_drawn_as_independent_samples(rng):
    design = design_of((np.arange(500), np.arange(500, 1000)))
    draws = np.array([design.draw_counts(rng) for _ in range(400)])
    assert (draws.sum(axis=1) == 500).all()
    np.testing.assert_allclose(draws.var(axis=0).mean(), 1.0, rtol=0.05)
    assert design.effective_size(0, np.arange(500) < 100) == pytest.approx(500, rel=0.01)


def test_an_item_of_one_comparison_leaves_the_draw_to_the_other_item():
    models, segments = np.repeat(np.arange(20), 10), np.arange(200) + 1000
    by_items, by_models = design_of((models, segments)), design_of(groups=models)
    one, other = (design.draw_counts(np.random.default_rng(0)) for design in (by_items, by_models))
    np.testing.assert_array_equal(one, other)


def test_an_item_of_every_comparison_is_not_drawn(rng):
    design = design_of((["suspect"] * 50, [f"trace {k}" for k in range(50)]))
    assert design.draw_counts(rng).sum() == 50
    assert design.n_units == 50


def test_leaving_items_out_leaves_no_comparison_of_theirs():
    i, j = all_pairs(25)
    rest = [*design_of((i, j)).leave_out()]
    assert len(rest) == 25
    for k, left in enumerate(rest):
        assert not left[(i == k) | (j == k)].any()
        assert left.sum() == 24**2


def test_the_effective_size_is_that_of_the_groups_where_they_agree_or_nothing_happened():
    groups, n = np.repeat(np.arange(50), 40), 2000
    design = design_of(groups=groups)
    assert design.effective_size(0, np.zeros(n)) == pytest.approx(50)
    assert design.effective_size(0, groups < 15) == pytest.approx(50, rel=0.1)
    scattered = np.arange(n) % 40 < 12
    assert design.effective_size(0, scattered) == pytest.approx(n, rel=0.01)


def test_resampled_items_vary_as_fresh_ones_do():
    """The standard deviation of the mean over all pairs, against that of 2,000 fresh samples."""
    rng, m = np.random.default_rng(5), 60
    i, j = all_pairs(m, with_itself=False)

    def draw():
        a = rng.normal(size=m)
        return (a[i] + a[j] + rng.normal(size=len(i))) > 2.5

    expected = np.std([draw().mean() for _ in range(2000)])
    found = []
    for _ in range(30):
        x, design = draw(), design_of((i, j))
        counts = (design.draw_counts(rng) for _ in range(100))
        found.append(np.std([np.average(x, weights=c) for c in counts]))
    assert 0.97 <= np.mean(found) / expected <= 1.25


def test_bootstrap_of_crossed_items_is_several_times_wider(rng):
    i, j = all_pairs(40)
    y = (i == j).astype(int)
    a = rng.normal(size=40)
    llr = np.where(y, 2.0, -2.0) + a[i] + a[j] + 0.3 * rng.normal(size=len(y))

    def false_alarms(labels, values):
        return float(np.mean(values[labels == 0] > 0))

    narrow = metrics.bootstrap(false_alarms, y, llr, n_resamples=200)
    forms = ((i, j), np.column_stack([i, j]), [*zip(i.tolist(), j.tolist(), strict=True)])
    found = [metrics.bootstrap(false_alarms, y, llr, n_resamples=200, items=x) for x in forms]
    assert found[0] == found[1] == found[2]
    assert found[0].value == narrow.value
    assert found[0].standard_error > 2 * narrow.standard_error


def test_items_of_frames_are_matched_by_their_index(rng):
    pandas = pytest.importorskip("pandas")
    i, j = all_pairs(15)
    y, llr = (i == j).astype(int), rng.normal(size=len(i))
    frame = pandas.DataFrame({"left": i, "right": j})
    plain = metrics.bootstrap(metrics.cllr, y, llr, n_resamples=50, items=(i, j))
    shuffled = frame.sample(frac=1, random_state=0)
    for items in (frame, shuffled, (shuffled["left"], shuffled["right"])):
        found = metrics.bootstrap(
            metrics.cllr, pandas.Series(y), pandas.Series(llr), n_resamples=50, items=items
        )
        assert found == plain


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"items": ([1, 1, 1, 1], [1, 1, 1, 1])}, "at least two items; got one"),
        ({"items": [1, 2, 3, 4]}, r"two identifiers for each sample; got shape \(4,\)"),
        ({"items": ([1, 2], [1, 2])}, "one label for each of 4 samples"),
        ({"items": (["a", None, "b", "c"], ["a", "b", "b", "c"])}, "missing labels; got None in"),
        ({"groups": [1, 1, 2, 2], "items": ([1, 2, 3, 4], [1, 2, 3, 4])}, "given together"),
        ({"groups": [1, 1, 1, 1]}, "at least two groups; got one"),
    ],
)
def test_designs_that_cannot_be_drawn_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        metrics.bootstrap(metrics.cllr, [0, 0, 1, 1], [-1.0, 0.5, -0.5, 1.0], **options)


def test_a_class_that_most_resamples_would_lose_is_named():
    i, j = all_pairs(20)
    y = ((i == 0) & (j == 1)).astype(int)
    with pytest.warns(UserWarning, match="Only 1 group or item of a class is"):
        found = metrics.bootstrap(
            metrics.cllr, y, np.linspace(-1, 1, 400), n_resamples=20, items=(i, j)
        )
    assert np.isfinite(found.high)
    rare = read_design(np.append(np.zeros(3000, dtype=int), [1]), None, [
        np.append(np.arange(3000), [0]), np.append(np.arange(3000), [1])])  # fmt: skip
    counts = rare.draw_counts(np.random.default_rng(0))
    assert counts[-1] > 0


def test_resampled_means_are_those_of_the_counts(rng):
    i, j = all_pairs(30)
    codes, values = (i == j).astype(int), rng.normal(size=(2, 900))
    values[1, 7] = np.inf
    design = design_of((i, j), codes=codes)
    found, _ = design.resample_means(values, 80, np.random.default_rng(3))
    same = np.random.default_rng(3)
    for row in found:
        counts = design.draw_counts(same)
        with np.errstate(invalid="ignore"):
            terms = np.where(counts > 0, counts * values, 0.0)
        sums = [terms[:, codes == k].sum(axis=1) / counts[codes == k].sum() for k in (0, 1)]
        np.testing.assert_allclose(row, np.sum(sums, axis=0))


def test_means_without_an_item_are_those_of_the_rest(rng):
    i, j = all_pairs(30)
    codes, values = (i == j).astype(int), rng.normal(size=(1, 900))
    _, found = design_of((i, j), codes=codes).resample_means(values, 2, rng)
    rest = (i != 4) & (j != 4)
    means = [values[0, rest & (codes == k)].mean() for k in (0, 1)]
    assert found[4, 0] == pytest.approx(sum(means))


@pytest.mark.parametrize("kind", ["groups", "items", "two factors"])
def test_folds_share_neither_group_nor_item_and_test_every_sample_once(kind, rng):
    i, j = all_pairs(30)
    codes = (i == j).astype(int)
    units = {"groups": (i, []), "items": (None, [i, j])}
    groups, items = units.get(kind, (None, [i, j + 100]))
    tested = np.zeros(900, dtype=int)
    for test, train in read_design(codes, groups, items).folds(4):
        tested[test] += 1
        assert set(codes[train]) == {0, 1}
        assert not set(i[test]) & set(i[train])
        if kind in ("items", "two factors"):  # which the same-source comparisons link
            assert not set(j[test]) & set(j[train])
        if kind == "items":
            assert not set(i[test]) & set(j[train])
    assert (tested == 1).all()


@pytest.mark.parametrize("metric", ["cllr", "cllr_min", "cllr_cal", "eer", "min_detection_cost"])
def test_functions_have_the_intervals_of_the_assessment_by_items(metric, rng):
    i, j = all_pairs(25)
    shuffled = rng.permutation(len(i))
    i, j = i[shuffled], j[shuffled]
    a, y = rng.normal(size=25), (i == j).astype(int)
    llr = 4.0 * y - 2 + a[i] + a[j] + rng.normal(size=len(y))
    found = assess(y, Evidence.from_llr(llr), n_resamples=100, items=(i, j))[metric]
    interval = metrics.bootstrap(getattr(metrics, metric), y, llr, n_resamples=100, items=(i, j))
    np.testing.assert_allclose(
        [interval.low, interval.high], [found.low, found.high], rtol=0.1, atol=0.01
    )


def test_items_that_same_source_comparisons_link_are_one_source(rng):
    of = np.repeat(np.arange(20), 3)  # three measurements of each source
    i, j = np.triu_indices(60, 1)
    codes = (of[i] == of[j]).astype(int)
    design = design_of((i, j), codes=codes)
    said = "60 items of 20 sources, each in 174 comparisons; sources were resampled"
    assert design.description == said
    by_source = design_of((of[i], of[j]), codes=codes)
    one, other = (d.draw_counts(np.random.default_rng(0)) for d in (design, by_source))
    np.testing.assert_array_equal(one, other)


def test_items_of_a_few_sources_are_resampled_as_items():
    of = np.repeat(np.arange(3), 15)  # three cultivars, which nobody sampled
    i, j = np.triu_indices(45, 1)
    assert design_of((i, j), codes=(of[i] == of[j]).astype(int)).sizes == (45,)


def test_classes_that_do_not_mean_the_same_source_link_nothing(rng):
    i, j = np.triu_indices(30, 1)
    design = design_of((i, j), codes=rng.integers(2, size=len(i)))
    assert design.sizes == (30,)
    assert "sources" not in design.description


def test_an_item_of_one_comparison_in_its_class_is_not_counted_twice_there(rng):
    models, segments = (index.ravel() for index in np.indices((15, 30)))
    codes = np.where(segments // 2 == models, 1, 0)
    codes[(models == 3) & (segments == 20)] = 2  # three classes: sources are not looked for
    design = design_of((models, segments + 100), codes=codes)
    counts, drawn = design.draw_counts(rng), codes == 1
    assert (counts[drawn].reshape(15, 2)[:, 0] == counts[drawn].reshape(15, 2)[:, 1]).all()


@pytest.mark.slow
def test_intervals_of_crossed_items_contain_the_truth_as_often_as_they_say():
    """By fresh items; ``benchmarks/intervals.py designs`` has more designs and quantities."""
    m, rng = 40, np.random.default_rng(11)
    i, j = all_pairs(m)
    y, shift = (i == j).astype(int), np.where(i == j, 2.0, -2.0)
    sd = np.sqrt(1 + 2 * 0.7**2), np.sqrt(1 + (2 * 0.7) ** 2)  # of two items, and of one twice
    truth = stats.norm.sf(2 / sd[0]), stats.norm.sf(2 / sd[1])
    held = np.zeros(2)
    for _ in range(200):
        a = 0.7 * rng.normal(size=m)
        llr = shift + a[i] + a[j] + rng.normal(size=len(y))
        found = assess(y, Evidence.from_llr(llr), items=(i, j), n_resamples=2)
        rates = found["misleading_other"], found["misleading_target"]
        held += [q.low <= p <= q.high for q, p in zip(rates, truth, strict=True)]
    assert (held >= 0.91 * 200).all()  # 93 % or more, less three standard errors of 200 draws


def test_one_suspect_in_every_comparison_is_taken_as_given():
    """Same-source comparisons of one suspect link one source, whose mean would never vary."""
    rng, y = np.random.default_rng(0), np.repeat([0, 1], 100)
    llr = rng.normal((2 * y - 1) * 2, 2)
    items = np.zeros(200, dtype=int), np.arange(1, 201)
    found = metrics.bootstrap(metrics.cllr, y, llr, items=items)
    expected = metrics.bootstrap(metrics.cllr, y, llr, groups=np.arange(200))
    assert found == expected
    words = design_of(items, codes=y).description
    assert words == (
        "one item in every comparison, 200 others each in 1 comparison; the others were resampled"
    )


def test_a_class_of_few_groups_is_cautioned_against_however_many_there_are():
    y, groups = np.repeat([0, 1], 100), np.concatenate([np.arange(100), np.full(100, 100)])
    with pytest.warns(UserWarning, match="Only 1 group or item of a class is"):
        metrics.bootstrap(metrics.cllr, y, 2.0 * y - 1, groups=groups, n_resamples=10)
    left, right = np.arange(200) % 3, 1000 + np.arange(200) % 50
    assert design_of((left, right), codes=y).min_units == 3
