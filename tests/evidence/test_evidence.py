import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban import Basis, Evidence, metrics, shift_prior
from deciban.exceptions import CromwellError, InputError, UnknownClassError, ZeroPartsError
from deciban.simplex import logparts
from strategies import bases, log_compositions

ABC = ["a", "b", "c"]


@pytest.fixture
def evidence():
    return Evidence.from_likelihoods([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]], classes=ABC)


# --- Bayes' rule ----------------------------------------------------------------------


@given(st.data(), log_compositions(2))
def test_bayes_rule_is_a_sum_of_ilrs_in_every_basis(data, pair):
    log_w, log_prior = pair
    basis = data.draw(bases(log_w.shape[1]))
    prior = np.exp(logparts.closure(log_prior / 4))
    posterior = logparts.ilr(Evidence(log_w).log_posterior(prior), basis)
    expected = Evidence(log_w).ilr(basis) + logparts.ilr(np.log(prior), basis)
    np.testing.assert_allclose(posterior, expected, rtol=1e-9, atol=1e-9)


@given(log_compositions(1))
def test_bayes_rule_is_the_textbooks(single):
    (log_w,) = single
    log_w = log_w / 4
    prior = np.linspace(1, 2, log_w.shape[1])
    prior /= prior.sum()
    product = np.exp(log_w) * prior
    expected = product / product.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(Evidence(log_w).posterior(prior), expected, rtol=1e-12)


@given(log_compositions(3))
def test_updating_twice_is_updating_once_with_the_sum(triple):
    first, second, log_prior = triple
    prior = np.exp(logparts.closure(log_prior / 4))
    once = (Evidence(first) + Evidence(second)).log_posterior(prior)
    halfway = Evidence(first).posterior(prior)
    if (halfway > 1e-300).all():
        halfway /= halfway.sum(axis=1, keepdims=True)
        twice = Evidence(second).log_posterior(halfway)
        np.testing.assert_allclose(once, twice, rtol=1e-9, atol=1e-9)


@given(st.data(), log_compositions(1))
def test_the_order_of_the_classes_does_not_matter(data, single):
    (log_w,) = single
    D = log_w.shape[1]
    order = data.draw(st.permutations(range(D)))
    here, there = Evidence(log_w), Evidence(log_w[:, order], classes=order)
    prior = {k: (k + 1) / (D * (D + 1) / 2) for k in range(D)}
    np.testing.assert_allclose(there.posterior(prior), here.posterior(prior)[:, order], rtol=1e-12)
    np.testing.assert_allclose(there.strength(), here.strength(), rtol=1e-12)
    np.testing.assert_allclose(there.llr(0, 1), here.llr(0, 1))
    basis = Basis.from_tree(Basis.gram_schmidt(D).tree)
    np.testing.assert_allclose(there.ilr(basis), here.ilr(basis), rtol=1e-9, atol=1e-9)
    assert here.allclose(there)
    assert here.allclose(there.restrict(range(D)))


@given(log_compositions(2))
def test_posteriors_give_back_the_evidence_they_were_made_from(pair):
    log_w, log_prior = pair
    prior = np.exp(logparts.closure(log_prior / 4))
    evidence = Evidence(log_w)
    back = Evidence.from_log_posteriors(evidence.log_posterior(prior), prior)
    np.testing.assert_allclose(back.ilr(), evidence.ilr(), rtol=1e-9, atol=1e-8)


@given(st.data(), log_compositions(1))
def test_ilrls_give_back_the_evidence(data, single):
    (log_w,) = single
    basis = data.draw(bases(log_w.shape[1]))
    evidence = Evidence(log_w)
    assert Evidence.from_ilr(evidence.ilr(basis), basis).allclose(evidence)


def test_a_prior_of_its_own_for_each_sample(evidence):
    prior = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    rows = [evidence[i].posterior(prior[i])[0] for i in range(2)]
    np.testing.assert_allclose(evidence.posterior(prior), rows, rtol=1e-14)


def test_the_prior_may_be_a_mapping_or_a_rounded_vector(evidence):
    by_name = evidence.posterior({"c": 0.5, "a": 0.2, "b": 0.3})
    np.testing.assert_array_equal(by_name, evidence.posterior([0.2, 0.3, 0.5]))
    np.testing.assert_allclose(evidence.posterior([0.333] * 3), evidence.posterior(), rtol=1e-14)


def test_a_series_of_priors_is_matched_by_name():
    pandas = pytest.importorskip("pandas")
    evidence = Evidence.from_likelihoods([[1, 9]], classes=["benign", "malignant"])
    prior = pandas.Series(["malignant"] * 9 + ["benign"]).value_counts(normalize=True)
    np.testing.assert_allclose(evidence.posterior(prior), evidence.posterior([0.1, 0.9]))
    by_sample = pandas.DataFrame([[0.9, 0.1]], columns=["malignant", "benign"])
    np.testing.assert_allclose(evidence.posterior(by_sample), evidence.posterior([0.1, 0.9]))
    np.testing.assert_allclose(
        evidence.posterior(pandas.Series([0.1, 0.9])), evidence.posterior([0.1, 0.9])
    )
    with pytest.raises(InputError, match="entries of prior must be named after the classes"):
        evidence.posterior(prior.rename({"benign": "good"}))


@pytest.mark.parametrize("classes", [(1, 0), (0, 1)])
def test_integers_that_name_the_classes_are_names(classes):
    pandas = pytest.importorskip("pandas")
    evidence = Evidence([[0.0, 0.0]], classes=classes)
    by_name = {0: 0.9, 1: 0.1}
    series, turned = pandas.Series(by_name), pandas.Series({1: 0.1, 0: 0.9})
    for prior in (series, turned, pandas.DataFrame([by_name])):
        np.testing.assert_allclose(evidence.posterior(prior), evidence.posterior(by_name))
    p = pandas.DataFrame([[0.5, 0.5]], columns=list(classes))
    flipped = Evidence.from_posteriors(p, prior=series)
    np.testing.assert_allclose(flipped.llr(1, 0), [np.log(9)])
    assert flipped.classes == classes


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_rows_of_costs_without_names_are_in_the_order_of_the_columns(library):
    frames = pytest.importorskip(library)
    costs = frames.DataFrame({"b": [0, 20], "a": [1, 0]})  # the truth a and the decision b: 20
    assert Evidence([[0.0, 0.0]], classes=["a", "b"]).decide(costs).tolist() == ["a"]


def test_costs_may_be_mappings_by_class_name():
    evidence = Evidence(np.log([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.1, 0.8, 0.1]]), list("abc"))
    table = [[0, 1, 1], [9, 0, 1], [1, 4, 0]]
    by_pair = {("b", "a"): 9, ("c", "b"): 4.0}
    nested = {"b": {"a": 9}, "c": {"b": 4, "c": 0}}
    for named in (by_pair, nested, {("b", "a"): 9, "c": {"b": 4}}):
        assert evidence.decide(named).tolist() == evidence.decide(table).tolist() == ["c", "c", "b"]
        cost = metrics.expected_cost(["a", "c", "b"], evidence, named)
        assert cost == metrics.expected_cost(["a", "c", "b"], evidence, table)
    with pytest.raises(InputError, match=r"the true and the decided class; got 'ab'. Give .*'b'"):
        evidence.decide({"ab": 3})
    with pytest.raises(InputError, match="class must be one of 'a', 'b', 'c'; got 'd'"):
        evidence.decide({("a", "d"): 3})
    with pytest.raises(InputError, match="each cost must be a finite number; got 'x'"):
        evidence.decide({("a", "b"): "x"})


def test_evidence_of_evidence_keeps_its_classes():
    evidence = Evidence([[0.0, 1.0]], classes=["a", "b"])
    assert Evidence(evidence).classes == ("a", "b")
    assert Evidence(evidence, classes=["b", "a"]).llr("b", "a").tolist() == [1.0]
    with pytest.raises(InputError, match="over the same classes, 'x', 'y'; got 'a', 'b'"):
        Evidence(evidence, classes=["x", "y"])


@pytest.mark.filterwarnings("ignore:.* should be logarithms")
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_in_another_order_than_the_classes_are_matched_by_name(library):
    frames = pytest.importorskip(library)
    ways = (
        Evidence,
        Evidence.from_likelihoods,
        lambda p, classes: Evidence.from_posteriors(p, None, classes),
        lambda p, classes: Evidence.from_log_posteriors(p, None, classes),
    )
    for way in ways:
        frame = frames.DataFrame({"b": [0.9, 0.2], "a": [0.1, 0.8]})
        evidence = way(frame, classes=["a", "b"])
        assert evidence.classes == ("a", "b")
        assert evidence.decide().tolist() == ["b", "a"]
        assert way(frame, classes=["x", "y"]).decide().tolist() == ["x", "y"]  # renamed
        with pytest.raises(InputError, match="must be named after the classes 'a', 'c'"):
            way(frame, classes=["a", "c"])


def test_columns_that_name_numbers_as_text_are_matched_too():
    polars = pytest.importorskip("polars")
    evidence = Evidence([[0.0, 2.0]], classes=[1, 0])
    assert Evidence(evidence.to_polars(), classes=[0, 1]).llr(0, 1).tolist() == [2.0]
    assert isinstance(evidence.to_polars(), polars.DataFrame)


def test_dates_are_not_scores():
    pandas = pytest.importorskip("pandas")
    days = np.array([["2020-01-01", "2020-01-02"]], dtype="datetime64[D]")
    for table in (days, days.astype(object), days - days[:, :1], (days - days[:, :1]).astype("O")):
        with pytest.raises(InputError, match=r"must be real numbers; got (dates|durations)"):
            Evidence(table)
    with pytest.raises(InputError, match="must have numeric columns only"):
        Evidence(pandas.DataFrame(days))


def test_an_ilrl_that_would_swallow_its_other_coordinates_is_refused():
    with pytest.raises(
        InputError, match=r"between -1e12 and 1e12 nats; row 1 reaches 1e\+300"
    ) as e:
        Evidence.from_ilr([[0.0, 1.0], [1e300, 1.0]])
    assert e.value.rows == (1,)
    np.testing.assert_allclose(Evidence.from_ilr([[1e12, 1.0]]).ilr()[0, 1], 1.0, atol=1e-3)
    np.testing.assert_allclose(Evidence.from_ilr([[1e300]]).ilr(), [[1e300]])


def test_errors_are_short_however_long_the_labels():
    with pytest.raises(InputError) as e:
        Evidence([[0.0, 1.0]], classes=["a" * 10**6, "b"]).llr("b", "c" * 10**6)
    assert len(str(e.value)) < 500


def test_columns_of_a_frame_are_its_classes():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"b": [0.7], "a": [0.3]})
    for evidence in (
        Evidence.from_likelihoods(frame),
        Evidence.from_posteriors(frame, prior={"a": 0.5, "b": 0.5}),
        Evidence.from_log_posteriors(np.log(frame), prior=None),
        Evidence(np.log(frame)),
    ):
        assert evidence.classes == ("b", "a")
        assert evidence.decide().tolist() == ["b"]


def test_probabilities_in_the_place_of_logarithms_are_noticed():
    with pytest.warns(UserWarning, match=r"use Evidence.from_likelihoods"):
        Evidence([[0.6, 0.4], [0.9, 0.1]])
    with pytest.warns(UserWarning, match=r"use Evidence.from_posteriors"):
        Evidence.from_log_posteriors([[0.6, 0.4]], prior=None)
    Evidence([[0.6, 0.4], [0.9, 0.2]])
    Evidence([[0.0, 1.0]])


def test_shifting_the_prior_is_taking_one_out_and_putting_the_other_in():
    p = shift_prior([[0.8, 0.2]], old=[0.5, 0.5], new=[0.1, 0.9])
    np.testing.assert_allclose(p, [[0.08 / 0.26, 0.18 / 0.26]], rtol=1e-14)


# --- extremes -------------------------------------------------------------------------


def test_likelihoods_of_e_minus_800_lose_nothing():
    evidence = Evidence([[-800.0, -802.0, -1600.0]])
    np.testing.assert_allclose(evidence.llr(0, 1), [2.0])
    np.testing.assert_allclose(evidence.llr(1, 2), [798.0])
    np.testing.assert_allclose(
        evidence.log_posterior()[0, 2], -800.0 - np.log1p(np.exp(-2.0)), rtol=1e-15
    )
    np.testing.assert_allclose(evidence.posterior().sum(), 1)


def test_many_samples_with_huge_offsets_add_up_without_loss():
    offsets = -(2.0 ** np.arange(20, 40))[:, None]
    evidence = Evidence(offsets + np.array([[0.0, 1.0, 0.5]]))
    np.testing.assert_array_equal(evidence.sum().llr(1, 0), [20.0])
    np.testing.assert_array_equal(
        evidence.balance([0, 1], 2), Evidence([[0.0, 1.0, 0.5]]).balance([0, 1], 2).repeat(20)
    )


def test_infinite_llrs_are_certainties():
    evidence = Evidence.from_llr([np.inf, -np.inf, 0.0, 800.0, -800.0])
    np.testing.assert_array_equal(evidence.llr(1, 0), [np.inf, -np.inf, 0, 800, -800])
    np.testing.assert_array_equal(evidence.posterior()[:3], [[0, 1], [1, 0], [0.5, 0.5]])
    np.testing.assert_array_equal(evidence.decide(), [1, 0, 0, 1, 0])
    np.testing.assert_array_equal(evidence.strength()[:2], [np.inf, np.inf])


def test_a_column_of_llrs_is_taken_too():
    assert len(Evidence.from_llr([[1.0], [2.0]])) == 2


def test_llrs_go_in_as_they_come_out():
    evidence = Evidence.from_llr([2.0, -3.0], "Hp", "Hd", unit="ban")
    np.testing.assert_allclose(evidence.llr("Hp", "Hd", unit="ban"), [2.0, -3.0], rtol=1e-15)
    np.testing.assert_allclose(evidence.llr("Hp", "Hd"), np.log([1e2, 1e-3]), rtol=1e-15)
    assert evidence.decide().tolist() == ["Hp", "Hd"]


def test_a_zero_likelihood_stays_where_the_result_is_defined():
    evidence = Evidence.from_likelihoods([[0.5, 0.0, 0.5]], classes=ABC)
    np.testing.assert_array_equal(evidence.posterior(), [[0.5, 0, 0.5]])
    np.testing.assert_array_equal(evidence.llr("a", "b"), [np.inf])
    np.testing.assert_array_equal(evidence.balance(["a", "c"], "b"), [np.inf])
    np.testing.assert_array_equal((2 * evidence).posterior(), [[0.5, 0, 0.5]])
    assert (evidence + evidence).decide()[0] == "a"


def test_a_zero_likelihood_is_refused_where_it_is_not_and_the_remedies_work():
    evidence = Evidence.from_likelihoods([[1, 1, 1], [0.5, 0.0, 0.5]], classes=ABC)
    with pytest.raises(ZeroPartsError, match=r"row 1 has a zero.*replace_zeros.*restrict") as e:
        evidence.ilr()
    assert e.value.rows == (1,)
    assert np.isfinite(evidence.replace_zeros(log_delta=-50).ilr()).all()
    np.testing.assert_allclose(evidence.restrict(["a", "c"]).ilr(), [[0], [0]], atol=1e-15)
    for call in (lambda: -evidence, lambda: evidence * 0, lambda: evidence - evidence):
        with pytest.raises(ZeroPartsError):
            call()


def test_two_zero_likelihoods_cannot_be_compared():
    evidence = Evidence.from_likelihoods([[1.0, 0.0, 0.0]])
    with pytest.raises(ZeroPartsError, match="compared must be positive; row 0 has zeros only"):
        evidence.llr(1, 2)
    with pytest.raises(ZeroPartsError, match="leave at least one class possible; row 0"):
        evidence.restrict([1, 2])


def test_contradictory_certainties_do_not_add_up():
    with pytest.raises(ZeroPartsError, match="rules out all"):
        Evidence.from_llr([np.inf]) + Evidence.from_llr([-np.inf])
    with pytest.raises(ZeroPartsError, match="rules out all"):
        Evidence.from_llr([np.inf, -np.inf]).sum()


def test_evidence_beyond_float64_is_refused():
    huge = Evidence([[1e308, -1e308]])
    for call in (lambda: huge + huge, lambda: huge * 10.0):
        with pytest.raises(InputError, match="below 1e308 nats"):
            call()
    with pytest.raises(InputError, match="must not be zero"):
        huge / 0


def test_a_thousand_classes_work(rng):
    evidence = Evidence(rng.normal(scale=100, size=(3, 1000)))
    back = Evidence.from_ilr(evidence.ilr())
    np.testing.assert_allclose(back.log_posterior(), evidence.log_posterior(), atol=1e-9)
    assert "1,000 classes" in repr(evidence)


def test_an_empty_batch_works():
    evidence = Evidence(np.empty((0, 3)))
    assert evidence.posterior().shape == (0, 3)
    assert evidence.ilr().shape == (0, 2)
    assert evidence.strength().shape == (0,)
    assert evidence.decide().shape == (0,)
    assert evidence.decide(costs=1 - np.eye(3), reject_cost=1).shape == (0,)
    assert evidence.verbal(0, 1).shape == (0,)
    assert len(evidence.replace_zeros(log_delta=-9)) == 0
    assert evidence.allclose(evidence)
    assert repr(evidence).startswith("Evidence: 0 samples, 3 classes")


# --- comparisons ----------------------------------------------------------------------


def test_llrs_are_differences_of_log_likelihoods(evidence):
    np.testing.assert_allclose(evidence.llr("a", "c"), np.log([6.0, 1 / 3]), rtol=1e-14)
    np.testing.assert_allclose(evidence.llr("a", "c", unit="ban"), np.log10([6.0, 1 / 3]))


def test_a_balance_is_an_ilr_coordinate(evidence):
    basis = Basis.from_tree((("a", "b"), "c"))
    np.testing.assert_allclose(evidence.balance(["a", "b"], "c"), evidence.ilr(basis)[:, 1])
    np.testing.assert_allclose(evidence.balance("c"), -evidence.ilr(basis)[:, 1])
    np.testing.assert_allclose(evidence.balance("a", "b"), evidence.llr("a", "b") / np.sqrt(2))


def test_strength_is_the_distance_from_prior_to_posterior(evidence):
    prior = np.array([0.2, 0.3, 0.5])
    moved = logparts.distance(evidence.log_posterior(prior), np.log(prior))
    np.testing.assert_allclose(evidence.strength(), moved, rtol=1e-12)


def test_direction_and_strength_make_up_the_ilrl(evidence):
    l = evidence.direction() * evidence.strength()[:, None]
    np.testing.assert_allclose(l, evidence.ilr(), rtol=1e-12)
    np.testing.assert_array_equal(Evidence([[1.0, 1.0, 1.0]]).direction(), [[0, 0]])


@pytest.mark.parametrize(
    ("unit", "value"), [("nat", np.log(100)), ("bit", np.log2(100)), ("ban", 2), ("deciban", 20)]
)
def test_units_of_a_likelihood_ratio_of_a_hundred(unit, value):
    evidence = Evidence.from_llr([np.log(100)])
    np.testing.assert_allclose(evidence.llr(1, 0, unit=unit), [value], rtol=1e-14)
    np.testing.assert_allclose(evidence.in_unit(unit), [[0, value]], rtol=1e-14)
    np.testing.assert_allclose(evidence.strength(unit), [value / np.sqrt(2)], rtol=1e-14)


# --- the vector space -----------------------------------------------------------------


def test_evidence_adds_subtracts_and_scales(evidence):
    np.testing.assert_allclose((evidence + evidence).ilr(), 2 * evidence.ilr())
    assert (evidence + evidence - evidence).allclose(evidence)
    assert (0.5 * evidence + evidence * np.float64(0.5)).allclose(evidence)
    assert (-evidence + evidence).allclose(evidence * 0)
    assert sum([evidence, evidence, evidence]).allclose(3 * evidence)
    assert (evidence / 2 + evidence / 2).allclose(evidence)
    assert isinstance(np.float64(2) * evidence, Evidence)


def test_one_sample_is_added_to_each_of_many(evidence):
    total = evidence + evidence[0]
    np.testing.assert_allclose(total[1].ilr(), evidence[1].ilr() + evidence[0].ilr())


def test_classes_are_matched_by_name_when_evidence_is_added(evidence):
    turned = evidence.restrict(["c", "a", "b"])
    assert (evidence + turned).allclose(2 * evidence)
    assert Evidence.concatenate([evidence, turned])[2:].allclose(evidence)


# --- a batch of samples ---------------------------------------------------------------


def test_samples_are_chosen_as_from_an_array(evidence):
    assert len(evidence) == 2
    assert len(evidence[0]) == 1
    assert len(evidence[np.int64(-1)]) == 1
    assert evidence[1:].allclose(evidence[[1]])
    assert evidence[np.array([False, True])].allclose(evidence[-1])
    assert [len(one) for one in evidence] == [1, 1]
    assert Evidence.concatenate(list(evidence)).allclose(evidence)
    with pytest.raises(IndexError):
        evidence[2]


def test_evidence_is_immutable_and_does_not_share_memory():
    values = np.zeros((1, 2))
    evidence = Evidence(values)
    values[0, 0] = 9
    assert evidence.log_likelihoods[0, 0] == 0
    with pytest.raises(ValueError, match="read-only"):
        evidence.log_likelihoods[0, 0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        evidence.log_likelihoods.flags.writeable = True
    with pytest.raises(AttributeError, match="immutable"):
        evidence.classes = ("x", "y")


def test_evidence_pickles_copies_and_becomes_an_array(evidence):
    for twin in (pickle.loads(pickle.dumps(evidence)), copy.deepcopy(evidence)):
        assert twin.allclose(evidence)
        assert twin.classes == evidence.classes
        assert not twin.log_likelihoods.flags.writeable
    np.testing.assert_array_equal(np.asarray(evidence), evidence.log_likelihoods)
    assert np.asarray(evidence, dtype=np.float32).dtype == np.float32


def test_classes_can_be_renamed(evidence):
    assert evidence.rename(["x", "y", "z"]).classes == ("x", "y", "z")
    assert evidence.rename({"b": "dog"}).classes == ("a", "dog", "c")


def test_labels_keep_their_types():
    mixed = Evidence([[0.0, 1.0, 2.0]], classes=[1, "one", (1, 1)])
    assert mixed.decide()[0] == (1, 1)
    assert mixed.llr((1, 1), "one") == [1.0]
    assert Evidence([[0.0, 1.0]]).decide().dtype.kind == "i"
    assert Evidence([[0.0, 1.0]], classes=[-1, 2**63]).decide()[0] == 2**63
    assert Evidence([[0.0, 1.0]], classes=["a", "b\0"]).decide()[0] == "b\0"
    assert Evidence([[0.0, 1.0]], classes=np.array(["x", "y"])).classes == ("x", "y")


def test_evidence_that_differs_is_not_close(evidence):
    assert not evidence.allclose(evidence[:1])
    assert not evidence.allclose(evidence.rename(["x", "y", "z"]))
    assert not evidence.allclose(2 * evidence)


# --- frames and printing --------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_there_and_back(evidence, library):
    pytest.importorskip(library)
    frame = getattr(evidence, f"to_{library}")()
    assert list(frame.columns) == ABC
    back = Evidence(frame)
    np.testing.assert_array_equal(back.log_likelihoods, evidence.log_likelihoods)
    assert back.classes == evidence.classes
    numbered = Evidence([[0.0, -1.0]])
    back = Evidence(getattr(numbered, f"to_{library}")(), classes=numbered.classes)
    assert back.classes == (0, 1)


def test_a_missing_library_names_the_extra(evidence, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(ImportError, match=r"pip install 'deciban\[frame\]'"):
        evidence.to_polars()


def test_labels_that_are_the_same_as_text_cannot_name_columns():
    with pytest.raises(InputError, match="distinct as text"):
        Evidence([[0.0, 0.0]], classes=[1, "1"]).to_polars()


def test_evidence_prints_as_a_table_in_decibans(evidence):
    assert repr(evidence) == "\n".join(
        [
            "Evidence: 2 samples, 3 classes; decibans below each sample's best class",
            "      a     b     c",
            "0   0.0  -3.0  -7.8",
            "1  -4.8  -4.8   0.0",
        ]
    )


def test_labels_that_would_steer_a_terminal_are_printed_as_they_are_written():
    assert "\x1b" not in repr(Evidence([[0.0, 1.0]], classes=["\x1b[31m", "b"]))


def test_large_evidence_prints_its_ends():
    text = repr(
        Evidence(np.zeros((5000, 40)), classes=[f"a long class name {i}" for i in range(40)])
    )
    assert len(text.splitlines()) == 1 + 1 + 11
    assert "4999" in text
    assert "…" in text
    assert max(map(len, text.splitlines())) < 140


# --- what is refused ------------------------------------------------------------------


def family_of_errors():
    e = Evidence([[0.0, -1.0, -2.0]], classes=ABC)
    nan = np.nan
    return [
        (lambda: Evidence([0.0, 1.0]), r"shape \(n_samples, n_classes\).*got \(2,\).*from_llr"),
        (lambda: Evidence([[0.0]]), "two classes or more"),
        (lambda: Evidence([[0.0, nan]]), "log_likelihoods must not contain NaN; row 0"),
        (lambda: Evidence([[0.0, np.inf]]), r"below \+inf; row 0 has 1 \+inf.*-inf instead"),
        (lambda: Evidence([[-np.inf, -np.inf]]), "row 0 is -inf throughout"),
        (lambda: Evidence([["a", "b"]]), "must be real numbers"),
        (lambda: Evidence([[1, 2], [3]]), "must be rectangular"),
        (lambda: Evidence([[0.0, 1.0]], classes=["a", "a"]), "'a' more than once"),
        (lambda: Evidence([[0.0, 1.0]], classes=["a"]), "name each of the 2 classes; got 1"),
        (lambda: Evidence.from_likelihoods([[1.0, -1.0]]), "w must not be negative; row 0"),
        (lambda: Evidence.from_likelihoods([[0.0, 0.0]]), "row 0 is all zeros"),
        (lambda: Evidence.from_posteriors([[0.5, 0.6]], [0.5, 0.5]), "p must sum to one; row 0"),
        (lambda: Evidence.from_posteriors([[0.5, 0.5]], [0.9, 0.2]), "prior must sum to one"),
        (lambda: Evidence.from_ilr([1.0, 2.0]), r"Write \[l\] for one sample"),
        (lambda: Evidence.from_ilr([[np.inf]]), "l must be finite"),
        (lambda: Evidence.from_llr([nan]), "row 0 has 1 NaN"),
        (lambda: Evidence.from_llr([[1.0, 2.0]]), r"shape \(n_samples,\)"),
        (lambda: Evidence.from_llr([1.0], "a", "a"), "more than once"),
        (lambda: Evidence.concatenate([]), "list of Evidence, at least one"),
        (lambda: e.posterior([0.5, 0.5]), "one probability for each of the 3 classes"),
        (lambda: e.posterior({"a": 0.5, "b": 0.5}), "it lacks 'c'"),
        (lambda: e.posterior([[0.2, 0.3, 0.5]] * 2), "prior must hold one probability"),
        (lambda: e.posterior([nan, 0.5, 0.5]), "prior must not contain NaN"),
        (lambda: e.decide(costs=[[0, 1], [1, 0]]), r"shape \(3, 3\), the truth on rows"),
        (lambda: e.decide(costs=np.full((3, 3), nan)), "costs must not contain NaN"),
        (lambda: e.decide(reject_cost=nan), "a finite number; got nan"),
        (lambda: e.in_unit("dB"), "nat, bit, ban, deciban; got 'dB'"),
        (lambda: e.verbal("a", "b", scale="court"), "enfsi, jeffreys, kass-raftery; got 'court'"),
        (lambda: e.balance("a", "a"), "share no class"),
        (lambda: e.balance(ABC), "non-empty"),
        (lambda: e.restrict(["a"]), "at least two classes"),
        (lambda: e.restrict("ab"), "list of labels"),
        (lambda: e.restrict({"a", "b"}), "list of labels, in the order"),
        (lambda: e.restrict(3), "list of labels"),
        (lambda: e.allclose(5), "must be Evidence; got int"),
        (lambda: Evidence([[0.0, 1.0]], classes={"a", "b"}), "in the order of the columns"),
        (lambda: Evidence.from_likelihoods([[10**400, 1]]), "must be real numbers"),
        (lambda: Evidence.from_likelihoods([[-1.0, 1.0]]), r"use Evidence\(log_likelihoods\)"),
        (lambda: Evidence.from_posteriors([[-1.0, 2.0]], None), "probabilities, not logarithms"),
        (lambda: Evidence.from_posteriors([0.3, 0.4], None), r"column_stack\(\[1 - p, p\]\)"),
        (lambda: Evidence.from_log_posteriors([0.3], None), r"column_stack\(\[0 \* z, z\]\)"),
        (lambda: Evidence(None), "must be an array; got None"),
        (lambda: Evidence(np.zeros((2, 2, 2))), "Put one sample on each row"),
        (lambda: Evidence.from_ilr([[1.0, 2.0]], ABC), "must be a Basis; got list.*from_tree"),
        (lambda: e.ilr(Basis.from_tree(("a", "b"))), "must be of 3 parts; got one of 2"),
        (lambda: e.restrict(["a", "a"]), "more than once"),
        (lambda: e * np.inf, "factor must be finite"),
        (lambda: e[0, 1], "a list of samples; got"),
        (lambda: e[None], "a position, a slice, a mask or a list"),
        (lambda: e[True], "a position, a slice, a mask or a list"),
        (lambda: e[np.array(0)], "a position, a slice, a mask or a list"),
        (lambda: e[[[0]]], "a position, a slice, a mask or a list"),
        (lambda: Evidence.concatenate([np.zeros((1, 2))]), "list of Evidence"),
        (lambda: e.posterior([0.3, 0.3, 0.35]), "sums to 0.95"),
        (lambda: e + Evidence([[0.0, 1.0]]), "same classes"),
        (lambda: e + Evidence([[0.0, 1.0, 2.0]]), "same classes, 'a', 'b', 'c'; got 0, 1, 2"),
        (lambda: Evidence(np.zeros((2, 2))) + Evidence(np.zeros((3, 2))), "got 2 and 3 samples"),
        (lambda: e.ilr(Basis.gram_schmidt(4)), "must be of 3 parts; got one of 4"),
        (lambda: e.ilr(Basis.gram_schmidt(3, classes=["x", "y", "z"])), "classes"),
        (lambda: e.ilr("basis"), "must be a Basis; got str"),
    ]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), family_of_errors())
def test_bad_evidence_is_refused_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_an_unknown_class_names_those_there_are():
    for call in (
        lambda e: e.llr("a", "x"),
        lambda e: e.balance("x"),
        lambda e: e.restrict(["a", "x"]),
        lambda e: e.rename({"x": "y"}),
        lambda e: e.posterior({"a": 0.5, "x": 0.5}),
    ):
        with pytest.raises(UnknownClassError, match="'a', 'b'; got 'x'"):
            call(Evidence([[0.0, 1.0]], classes=["a", "b"]))


@pytest.mark.parametrize("prior", [[0.5, 0.5, 0.0], {"a": 0.5, "b": 0.5, "c": 0}])
def test_a_prior_with_a_zero_breaks_cromwells_rule(prior):
    evidence = Evidence([[0.0, 1.0, 2.0]], classes=ABC)
    for call in (
        lambda: evidence.posterior(prior),
        lambda: evidence.decide(prior=prior),
        lambda: Evidence.from_posteriors([[0.5, 0.5, 0.0]], prior, classes=ABC),
    ):
        with pytest.raises(CromwellError, match=r"zero for 'c'.*restrict") as caught:
            call()
        assert caught.value.classes == ("c",)


def test_evidence_combines_with_evidence_and_numbers_only():
    evidence = Evidence([[0.0, 1.0]])
    for call in (
        lambda: evidence + 1,
        lambda: 1 + evidence,
        lambda: evidence - 1,
        lambda: evidence * "2",
        lambda: evidence * True,
        lambda: evidence / "2",
        lambda: evidence + np.log([0.5, 0.5]),
        lambda: np.log([0.5, 0.5]) + evidence,
        lambda: evidence * np.array([1.0, 2.0]),
        lambda: np.exp(evidence),
    ):
        with pytest.raises(TypeError):
            call()


def test_one_class_that_a_prior_leaves_out_gets_the_rest():
    evidence = Evidence([[0.0, 1.0, 2.0]], ["a", "b", "c"])
    whole = evidence.posterior({"a": 0.2, "b": 0.3, "c": 0.5})
    np.testing.assert_allclose(evidence.posterior({"b": 0.3, "a": 0.2}), whole, rtol=1e-12)
    almost = {"a": 0.5, "b": 0.499}  # rounded, or a class that was forgotten
    for prior, lacks in (({"a": 0.2}, "'b'"), ({"a": 0.5, "b": 0.5}, "'c'"), (almost, "'c'")):
        with pytest.raises(InputError, match=f"prior must name every class; it lacks {lacks}"):
            evidence.posterior(prior)
    with pytest.raises(InputError, match="prior must be a finite number; got 'much'"):
        evidence.posterior({"a": "much", "b": 0.5})
