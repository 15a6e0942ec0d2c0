import pickle

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.stats import kstest, multivariate_normal, norm

from deciban import Basis, CalibratedGaussian, Evidence
from deciban.exceptions import InputError, NotPositiveDefiniteError, UnknownClassError

D574 = np.array([[0, 5, 4], [5, 0, 7], [4, 7, 0.0]])


@pytest.fixture
def family():
    return CalibratedGaussian.from_divergences(D574, classes=["a", "b", "c"])


# --- the paper -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("divergence", "percent"),
    [(6, 4.16), (5, 5.69), (7, 3.07), (4, 7.86), (8, 2.28), (2, 15.87)],
)
def test_the_eers_of_the_papers_captions(divergence, percent):
    eer = CalibratedGaussian.from_divergences([divergence]).eers[0, 1]
    assert round(100 * eer, 2) == percent


@pytest.mark.parametrize(("d12", "d23", "d13"), [(6, 6, 6), (5, 7, 4), (8, 2, 4)])
def test_the_families_of_the_papers_figure_exist(d12, d23, d13):
    family = CalibratedGaussian.from_divergences([[0, d12, d13], [d12, 0, d23], [d13, d23, 0]])
    d = family.divergences
    np.testing.assert_allclose([d[0, 1], d[1, 2], d[0, 2]], [d12, d23, d13], rtol=1e-13)


def test_equal_divergences_give_an_isotropic_covariance():
    family = CalibratedGaussian.from_divergences([6.0, 6.0, 6.0])
    np.testing.assert_allclose(family.covariance, 6 * np.eye(2), atol=1e-13)


@pytest.mark.parametrize(("eer", "printed"), [(0.01, 10.8238), (0.1, 3.28475)])
def test_the_divergences_of_the_papers_two_class_figure(eer, printed):
    divergence = CalibratedGaussian.from_eers([eer]).divergences[0, 1]
    np.testing.assert_allclose(divergence, printed, rtol=5e-6)


def test_two_classes_are_theorem_1():
    # l | H1 ~ N(mu, 2 mu) for the LLR; the ILRL is the LLR over root two.
    mu = 3.5
    family = CalibratedGaussian.from_divergences([mu])
    np.testing.assert_allclose(family.covariance, [[mu]], rtol=1e-15)
    np.testing.assert_allclose(family.means, [[mu / np.sqrt(2)], [-mu / np.sqrt(2)]], rtol=1e-15)
    llr = family.llr_distribution(0, 1)
    np.testing.assert_allclose([llr.mean(), llr.var()], [mu, 2 * mu], rtol=1e-14)
    against = family.llr_distribution(0, 1, given=1)
    np.testing.assert_allclose([against.mean(), against.var()], [-mu, 2 * mu], rtol=1e-14)


# --- distributions -----------------------------------------------------------------------


def test_llrs_of_samples_are_distributed_as_said(family):
    for true in "abc":
        evidence = family.evidence(family.sample(true, rng=3, size=20_000))
        for a, b in ("ab", "bc", "ca"):
            expected = family.llr_distribution(a, b, given=true)
            assert kstest(evidence.llr(a, b), expected.cdf).pvalue > 1e-3


def test_the_eer_is_the_error_rate_of_the_maximum_likelihood_decision(family):
    for truth, other in ("ab", "ba"):
        llr = family.evidence(family.sample(truth, rng=5, size=200_000)).llr(truth, other)
        assert abs((llr < 0).mean() - family.eers[0, 1]) < 4 * np.sqrt(0.06 / 200_000)


def test_an_llr_of_a_calibrated_gaussian_has_variance_twice_its_mean(family):
    for a, b in ("ab", "ac", "bc"):
        llr = family.llr_distribution(a, b)
        np.testing.assert_allclose(llr.var(), 2 * llr.mean(), rtol=1e-12)


def test_samples_have_the_means_and_the_covariance(family):
    l, y = family.sample({"a": 40_000, "c": 10}, rng=0)
    assert y.tolist() == ["a"] * 40_000 + ["c"] * 10
    np.testing.assert_allclose(l[:40_000].mean(axis=0), family.means[0], atol=0.06)
    np.testing.assert_allclose(np.cov(l[:40_000].T), family.covariance, rtol=0.05, atol=0.1)


def test_samples_are_reproducible(family):
    first, _ = family.sample([2, 3, 4], rng=7)
    again, labels = family.sample(np.array([2, 3, 4]), np.random.default_rng(7))
    np.testing.assert_array_equal(first, again)
    assert labels.tolist() == ["a"] * 2 + ["b"] * 3 + ["c"] * 4
    assert family.sample("b", rng=1).shape == (1, 2)


def test_densities_are_those_of_scipy(family):
    l = np.random.default_rng(0).normal(size=(5, 2))
    for k in range(3):
        expected = multivariate_normal(family.means[k], family.covariance).logpdf(l)
        np.testing.assert_allclose(family.log_density(l)[:, k], expected, rtol=1e-12)


def test_the_aitchison_density_is_the_ilr_density(family):
    x = np.random.default_rng(0).dirichlet(np.ones(3), size=4)
    l = Evidence.from_likelihoods(x, classes=["a", "b", "c"]).ilr()
    on_simplex = family.log_density_on_simplex(5 * x)
    np.testing.assert_allclose(on_simplex, family.log_density(l), rtol=1e-12)


def test_the_lebesgue_density_on_the_simplex_integrates_to_one():
    two = CalibratedGaussian([[0.5]])

    def density(p, k):
        return np.exp(two.log_density_on_simplex([[p, 1 - p]], measure="lebesgue")[0, k])

    np.testing.assert_allclose(quad(density, 0, 1, args=(0,))[0], 1, rtol=1e-6)
    three = CalibratedGaussian(0.3 * np.eye(2))

    def joint(q, p):
        x = [[p, q, 1 - p - q]]
        return np.exp(three.log_density_on_simplex(x, measure="lebesgue")[0, 1])

    edge = 1e-9
    total, _ = dblquad(
        joint, edge, 1 - 2 * edge, edge, lambda p: max(1 - p - edge, edge), epsabs=1e-4
    )
    np.testing.assert_allclose(total, 1, rtol=1e-4)


def test_the_evidence_of_a_point_is_the_point(family):
    l = np.array([[1.0, -2.0], [0.0, 0.0]])
    evidence = family.evidence(l)
    assert evidence.classes == ("a", "b", "c")
    np.testing.assert_allclose(evidence.ilr(family.basis), l, atol=1e-14)
    assert Evidence(family.log_density(l), family.classes).allclose(evidence)


def test_evidence_may_be_handed_in_whatever_the_order_of_its_classes(family):
    evidence = family.evidence([[1.0, -2.0]])
    turned = evidence.restrict(["c", "a", "b"])
    np.testing.assert_allclose(family.log_density(turned), family.log_density(evidence))
    with pytest.raises(InputError, match="classes"):
        family.log_density(Evidence([[0.0, 1.0, 2.0]]))


def test_a_frame_of_divergences_names_the_classes():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(D574, index=list("xyz"), columns=list("xyz"))
    assert CalibratedGaussian.from_divergences(frame).classes == ("x", "y", "z")


def test_a_named_basis_names_the_classes():
    basis = Basis.from_tree(("x", ("y", "z")))
    family = CalibratedGaussian(np.eye(2), basis)
    assert family.classes == ("x", "y", "z")
    reordered = CalibratedGaussian(np.eye(2), basis, classes=["z", "y", "x"])
    np.testing.assert_allclose(reordered.means, family.means[::-1], atol=1e-14)


# --- divergences that no family has -------------------------------------------------------


IMPOSSIBLE = [[0, 1, 9], [1, 0, 1], [9, 1, 0]]  # square roots break the triangle: 3 > 1 + 1


def test_impossible_divergences_are_refused_with_the_smallest_eigenvalue():
    with pytest.raises(NotPositiveDefiniteError, match=r"smallest.*eigenvalue.*nearest=True") as e:
        CalibratedGaussian.from_divergences(IMPOSSIBLE)
    V = Basis.gram_schmidt(3).contrast
    expected = np.linalg.eigvalsh(-V.T @ np.array(IMPOSSIBLE) @ V)[0]
    np.testing.assert_allclose(e.value.smallest_eigenvalue, expected, rtol=1e-12)
    assert expected < 0


def test_a_triangle_that_is_flat_is_refused_too():
    flat = [[0, 1, 4], [1, 0, 1], [4, 1, 0]]  # distances 1, 1 and 2: three points on a line
    with pytest.raises(NotPositiveDefiniteError):
        CalibratedGaussian.from_divergences(flat)


def test_the_nearest_family_is_the_projection_in_every_basis():
    delta = np.array(IMPOSSIBLE)
    near = CalibratedGaussian.from_divergences(delta, nearest=True)
    V = Basis.gram_schmidt(3).contrast
    wanted = -V.T @ delta @ V
    values, vectors = np.linalg.eigh(wanted)
    projected = (vectors * np.maximum(values, 0)) @ vectors.T
    np.testing.assert_allclose(near.covariance, projected, atol=1e-7 * values[-1])
    other = Basis.comparing(2, 0, classes=3)
    turned = CalibratedGaussian.from_divergences(delta, nearest=True, basis=other)
    np.testing.assert_allclose(turned.divergences, near.divergences, atol=1e-10)
    rng = np.random.default_rng(0)
    best = np.linalg.norm(near.covariance - wanted)
    for _ in range(200):
        A = np.linalg.cholesky(near.covariance + 1e-6 * np.eye(2)) + 0.1 * rng.normal(size=(2, 2))
        assert np.linalg.norm(A @ A.T - wanted) > best - 1e-6


def test_a_possible_family_is_its_own_nearest():
    np.testing.assert_array_equal(
        CalibratedGaussian.from_divergences(D574, nearest=True).covariance,
        CalibratedGaussian.from_divergences(D574).covariance,
    )


def test_the_nearest_family_can_be_found_from_rates():
    eers = norm.cdf(-np.sqrt(np.array([1.0, 9.0, 1.0]) / 2))
    near = CalibratedGaussian.from_divergences([1.0, 9.0, 1.0], nearest=True)
    found = CalibratedGaussian.from_eers(eers, nearest=True)
    np.testing.assert_allclose(found.divergences, near.divergences, atol=1e-6)
    with np.errstate(invalid="ignore"):
        eigenvalues = np.linalg.eigvalsh(found.covariance)
    np.testing.assert_allclose(eigenvalues[0] / eigenvalues[-1], 1e-8, rtol=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CalibratedGaussian([[1, 2], [2, 1]]), "positive definite; its smallest eigenvalue "
                                                       "is -1"),
        (lambda: CalibratedGaussian([[1, 2], [0, 1]]), "symmetric; .* differ by 2"),
        (lambda: CalibratedGaussian([[1, np.nan], [np.nan, 1]]), "covariance must not contain NaN"),
        (lambda: CalibratedGaussian([[1, 2, 3]]), r"square matrix; got shape \(1, 3\)"),
        (lambda: CalibratedGaussian([["a"]]), "real numbers"),
        (lambda: CalibratedGaussian(np.eye(2), Basis.gram_schmidt(4)), "3 parts; got one of 4"),
        (lambda: CalibratedGaussian(np.eye(2), classes=["a", "a", "b"]), "more than once"),
        (lambda: CalibratedGaussian(np.zeros((0, 0))), "square matrix"),
        (lambda: CalibratedGaussian.from_divergences([1.0, 2.0]), "one number for each pair"),
        (lambda: CalibratedGaussian.from_divergences([]), "one number for each pair"),
        (lambda: CalibratedGaussian.from_divergences([[0, 1], [2, 0]]), "symmetric"),
        (lambda: CalibratedGaussian.from_divergences([[1, 1], [1, 0]]), "zero diagonal"),
        (lambda: CalibratedGaussian.from_divergences([-1.0]), "smallest entry is -1"),
        (lambda: CalibratedGaussian.from_divergences([np.nan]), "must not contain NaN"),
        (lambda: CalibratedGaussian.from_divergences([0.0]), "not all zero"),
        (lambda: CalibratedGaussian.from_divergences([0.0], nearest=True), "not all zero"),
        (lambda: CalibratedGaussian.from_eers([0.5]), "between 0 and 0.5, exclusive"),
        (lambda: CalibratedGaussian.from_eers([0.0]), "between 0 and 0.5, exclusive"),
        (lambda: CalibratedGaussian.from_eers([[0.5, 0.1], [0.2, 0.5]]), "symmetric"),
        (lambda: CalibratedGaussian([[1.0]]).log_density([[1.0, 2.0]]), "one ILRL on each row"),
        (lambda: CalibratedGaussian([[1.0]]).log_density([1.0]), r"\(n_samples, 1\)"),
        (lambda: CalibratedGaussian([[1.0]]).log_density([[np.nan]]), "must not contain NaN"),
        (lambda: CalibratedGaussian([[1.0]]).llr_distribution(0, 0), "two classes; got 0 twice"),
        (lambda: CalibratedGaussian([[1.0]]).sample([1, 2, 3]), "each of 2 classes"),
        (lambda: CalibratedGaussian([[1.0]]).sample([1, -2]), "0 or more; got -2"),
        (lambda: CalibratedGaussian([[1.0]]).sample([1, 2.5]), "counts must be a whole number"),
        (lambda: CalibratedGaussian([[1.0]]).sample(0, size=-1), "size must be"),
        (lambda: CalibratedGaussian([[1.0]]).sample([1, 2], size=3), "size must go with a label"),
        (lambda: CalibratedGaussian([[1.0]]).sample(0, rng="x"), "rng must be a NumPy Generator"),
        (lambda: CalibratedGaussian(np.eye(2)).expected_cross_entropy(n_samples=1), "12 or more"),
        (lambda: CalibratedGaussian.from_divergences([1.0], ["a", "b"]), "nearest must be True or"),
        (lambda: CalibratedGaussian.from_eers([5.69]), "got 5.69. Divide percentages by 100"),
        (lambda: CalibratedGaussian([[1.0]]).log_density_on_simplex([0.5, 0.5]),
         r"w must have shape \(n_samples, n_classes\).*got \(2,\)"),
        (lambda: CalibratedGaussian([[1.0]]).log_density_on_simplex([[1, 1]], measure="x"),
         "one of aitchison, lebesgue; got 'x'"),
        (lambda: CalibratedGaussian([[1.0]]).log_likelihood([[1.0]], [0, 1]), "each of 1 samples"),
        (lambda: CalibratedGaussian([[1.0]]).in_basis(Basis.gram_schmidt(3)), "of 2 parts"),
        (lambda: CalibratedGaussian([[1.0]]).expected_cross_entropy([1.0, 0.0]), "Cromwell"),
    ],
)  # fmt: skip
def test_bad_families_are_refused_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_an_unknown_class_names_those_there_are(family):
    for call in (
        lambda: family.llr_distribution("a", "x"),
        lambda: family.expected_cllr("x", "a"),
        lambda: family.sample("x"),
        lambda: family.sample({"x": 1}),
        lambda: family.log_likelihood([[1.0, 1.0]], ["x"]),
        lambda: family.sample(100),
    ):
        with pytest.raises(UnknownClassError, match=r"'a', 'b', 'c'( only)?; got"):
            call()


def test_a_family_is_immutable_and_pickles(family):
    with pytest.raises(AttributeError, match="immutable"):
        family.covariance = np.eye(2)
    for values in (family.covariance, family.means, family.divergences, family.eers):
        with pytest.raises(ValueError, match="read-only"):
            values[0, 0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            values.flags.writeable = True
    twin = pickle.loads(pickle.dumps(family))
    np.testing.assert_array_equal(twin.covariance, family.covariance)
    assert twin.classes == family.classes
    assert repr(family) == "<CalibratedGaussian of 3 classes: divergences 4 to 7 nat>"
    assert repr(CalibratedGaussian([[2.0]])).endswith("divergences 2 nat>")


def test_close_classes_keep_their_digits():
    family = CalibratedGaussian(np.diag([1e-13, 1.0]))
    np.testing.assert_allclose(family.divergences[0, 1], 1e-13, rtol=1e-10)
    np.testing.assert_allclose(family.llr_distribution(0, 1).var(), 2e-13, rtol=1e-10)
    np.testing.assert_allclose(family.expected_cllr(0, 1), 1, atol=1e-10)


def test_a_singular_covariance_is_refused_whatever_rounding_makes_of_it():
    refused = 0
    for seed in range(40):
        A = np.random.default_rng(seed).normal(size=(5, 4))
        with pytest.raises(NotPositiveDefiniteError):
            CalibratedGaussian(A @ A.T)
        refused += 1
    assert refused == 40


def test_a_hundredth_off_symmetry_is_refused_and_rounding_is_not():
    with pytest.raises(InputError, match="symmetric"):
        CalibratedGaussian([[1.0, 0.10001], [0.1, 1.0]])
    CalibratedGaussian([[1.0, 0.1 + 1e-12], [0.1, 1.0]])


def test_densities_of_huge_families_keep_their_digits():
    family = CalibratedGaussian(1e12 * np.array([[2.0, 0.3], [0.3, 1.0]]))
    l = family.means + 1e6
    for k in range(3):
        expected = multivariate_normal(family.means[k], family.covariance).logpdf(l[k])
        np.testing.assert_allclose(family.log_density(l)[k, k], expected, rtol=1e-10)


def test_evidence_of_e_minus_800_has_a_density_on_the_simplex(family):
    evidence = Evidence([[0.0, -800.0, -3.0]], classes=["a", "b", "c"])
    np.testing.assert_allclose(
        family.log_density_on_simplex(evidence), family.log_density(evidence)
    )
    parts = Evidence.from_likelihoods([[0.5, 0.2, 0.3]], classes=["a", "b", "c"])
    for measure in ("aitchison", "lebesgue"):
        np.testing.assert_allclose(
            family.log_density_on_simplex(parts, measure),
            family.log_density_on_simplex([[0.5, 0.2, 0.3]], measure),
        )


def test_a_frame_of_likelihoods_is_matched_by_name(family):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"c": [0.3], "a": [0.5], "b": [0.2]})
    np.testing.assert_allclose(
        family.log_density_on_simplex(frame), family.log_density_on_simplex([[0.5, 0.2, 0.3]])
    )
    counts = pandas.Series({"c": 2, "a": 1})
    assert family.sample(counts, rng=0)[1].tolist() == ["a", "c", "c"]


def test_divergences_in_a_frame_are_matched_by_the_names_of_rows_and_columns():
    pandas = pytest.importorskip("pandas")
    names = ["a", "b", "c"]
    frame = pandas.DataFrame([[0, 5, 4], [5, 0, 7], [4, 7, 0]], index=names, columns=names)
    expected = CalibratedGaussian.from_divergences(frame)
    assert expected.classes == ("a", "b", "c")
    turned = CalibratedGaussian.from_divergences(frame.loc[["b", "c", "a"]], classes=names)
    np.testing.assert_allclose(turned.divergences, expected.divergences)
    turned = CalibratedGaussian.from_divergences(frame, classes=["c", "a", "b"])
    assert turned.divergences[0, 1].round(6) == 4
    rates = pandas.DataFrame(expected.eers, index=names, columns=names)
    from_rates = CalibratedGaussian.from_eers(rates.loc[["c", "a", "b"]])
    np.testing.assert_allclose(from_rates.divergences, expected.divergences)
    triangle = pandas.Series([5.0, 4.0, 7.0])
    assert CalibratedGaussian.from_divergences(triangle, classes=names).classes == ("a", "b", "c")


def test_labels_are_matched_with_ilrls_by_their_index(family):
    pandas = pytest.importorskip("pandas")
    l, y = family.sample({"a": 3, "b": 2, "c": 4}, rng=0)
    frame, labels = pandas.DataFrame(l), pandas.Series(y)
    expected = family.log_likelihood(l, y)
    assert family.log_likelihood(frame, labels[::-1]) == pytest.approx(expected, rel=1e-12)
    fitted = CalibratedGaussian.fit(frame, labels[::-1])
    np.testing.assert_allclose(fitted.covariance, CalibratedGaussian.fit(l, y).covariance)
    with pytest.raises(InputError, match="ilrls and y_true must have the same index"):
        CalibratedGaussian.fit(frame, labels.set_axis(list("abcdefghi")))


def test_evidence_is_fitted_by_the_names_of_its_classes():
    pandas = pytest.importorskip("pandas")
    family = CalibratedGaussian.from_divergences([5.0, 4.0, 7.0], classes=list("abc"))
    l, y = family.sample([30, 30, 30], rng=0)
    values = family.evidence(l).to_pandas()
    there = Evidence(values[["c", "a", "b"]])
    fitted = CalibratedGaussian.fit(there, y, classes=list("abc"))
    np.testing.assert_allclose(
        fitted.divergences, CalibratedGaussian.fit(l, pandas.Series(y)).divergences, rtol=1e-6
    )


def test_the_covariance_handed_in_is_copied():
    sigma = np.eye(2)
    family = CalibratedGaussian(sigma)
    sigma[0, 0] = 9
    assert family.covariance[0, 0] == 1


def test_hundreds_of_classes_work():
    D = 300
    family = CalibratedGaussian(np.eye(D - 1))
    np.testing.assert_allclose(family.divergences[0, 1:], 1, rtol=1e-12)
    again = CalibratedGaussian.from_divergences(family.divergences)
    np.testing.assert_allclose(again.means, family.means, atol=1e-10)
    assert family.sample(D - 1, rng=0).shape == (1, D - 1)
