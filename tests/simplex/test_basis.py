import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from deciban import simplex
from deciban.exceptions import InputError, UnknownClassError
from deciban.simplex import Basis
from strategies import bases, sizes, trees


@given(st.data(), sizes)
def test_every_contrast_has_orthonormal_columns_that_sum_to_zero(data, D):
    V = data.draw(bases(D)).contrast
    assert V.shape == (D, D - 1)
    np.testing.assert_allclose(V.T @ V, np.eye(D - 1), atol=1e-12)
    np.testing.assert_allclose(V.sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("D", [2, 3, 7])
def test_gram_schmidt_is_the_papers_formula(D):
    # Equation (ilr component): 1 / sqrt(i (i + 1)) log(prod_{j <= i} p_j / p_{i+1}^i).
    p = np.random.default_rng(D).dirichlet(np.ones(D))
    i = np.arange(1, D)
    expected = (np.cumsum(np.log(p))[:-1] - i * np.log(p[1:])) / np.sqrt(i * (i + 1))
    np.testing.assert_allclose(simplex.ilr(p), expected, atol=1e-13)


def test_two_parts_give_the_log_ratio_over_root_two():
    np.testing.assert_allclose(simplex.ilr([0.8, 0.2]), [np.log(4) / np.sqrt(2)], rtol=1e-15)


def test_the_gram_schmidt_basis_is_a_caterpillar_tree():
    basis = Basis.gram_schmidt(4, classes=["a", "b", "c", "d"])
    assert basis.tree == ((("a", "b"), "c"), "d")
    np.testing.assert_array_equal(
        Basis.from_tree(((("a", "b"), "c"), "d")).contrast.round(14), basis.contrast.round(14)
    )


@given(st.data(), st.integers(2, 20))
def test_a_tree_comes_back_from_its_basis(data, D):
    tree = data.draw(trees(D))
    assert Basis.from_tree(tree, classes=range(D)).tree == tree


@given(st.data(), st.integers(2, 20))
def test_a_partition_comes_back_from_its_basis(data, D):
    signs = Basis.from_tree(data.draw(trees(D)), classes=range(D)).signs
    np.testing.assert_array_equal(Basis.from_partition(signs).signs, signs)


def test_a_balance_compares_geometric_means():
    # Egozcue and Pawlowsky-Glahn (2005): sqrt(rs / (r + s)) log(g(x+) / g(x-)).
    basis = Basis.from_partition([[1, 1, -1, -1, -1], [1, -1, 0, 0, 0], [0, 0, 1, 1, -1],
                                  [0, 0, 1, -1, 0]])  # fmt: skip
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    expected = np.sqrt(6 / 5) * (np.log(x[:2]).mean() - np.log(x[2:]).mean())
    np.testing.assert_allclose(simplex.ilr(x, basis)[0], expected, rtol=1e-14)


def test_the_first_coordinate_compares_the_two_classes_chosen():
    basis = Basis.comparing("d", "b", classes=["a", "b", "c", "d"])
    x = np.array([1.0, 2.0, 3.0, 7.0])
    np.testing.assert_allclose(simplex.ilr(x, basis)[0], np.log(7 / 2) / np.sqrt(2), rtol=1e-14)
    assert basis.tree == ((("d", "b"), "a"), "c")


def test_balances_follow_a_clustering_of_the_parts(rng):
    z = rng.normal(size=(200, 3))
    x = np.exp(np.column_stack([z[:, 0], z[:, 0] + 0.01 * z[:, 1], z[:, 2]]))
    merged = linkage(squareform(simplex.variation_matrix(x), checks=False), "average")
    basis = Basis.from_linkage(merged, classes=["a", "b", "c"])
    assert set(map(str, basis.tree)) == {"c", "('a', 'b')"}
    np.testing.assert_allclose(simplex.ilr(x, basis).var(axis=0)[0], 0.5e-4, rtol=0.5)


def test_a_rotated_basis_has_no_tree():
    V = Basis.gram_schmidt(3).contrast
    turn = np.array([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]])
    basis = Basis(V @ turn)
    assert basis.signs is None
    assert "rotated" in repr(basis)
    with pytest.raises(InputError, match="sequential binary partition"):
        basis.draw()


def test_an_orthonormal_set_of_sign_patterns_need_not_be_a_partition():
    H = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / 2
    assert Basis(H).signs is None
    with pytest.raises(InputError, match="must split every group"):
        Basis.from_partition(np.sign(H).T)


def test_the_tree_is_drawn_with_its_coordinates_and_signs():
    assert Basis.gram_schmidt(3).draw() == "\n".join(
        ["l2", "├─(+) l1", "│     ├─(+) 0", "│     └─(−) 1", "└─(−) 2"]
    )


def test_a_tree_over_positions_compares_the_parts_at_these_positions():
    x = np.array([[0.1, 0.2, 0.7]])
    basis = Basis.from_tree(((2, 0), 1))
    np.testing.assert_array_equal(
        simplex.ilr(x, basis), simplex.ilr(x, Basis.comparing(2, 0, classes=3))
    )
    assert basis.classes == (0, 1, 2)
    np.testing.assert_allclose(simplex.ilr(x, basis)[0, 0], np.log(7) / np.sqrt(2))


def test_a_partition_in_a_frame_names_the_parts():
    pandas = pytest.importorskip("pandas")
    signs = pandas.DataFrame({"x": [1, 1], "y": [1, -1], "z": [-1, 0]})
    assert Basis.from_partition(signs).tree == (("x", "y"), "z")


def test_alignment_moves_rows_with_their_names():
    basis = Basis.from_tree((("a", "b"), "c"))
    moved = basis.align_to(["c", "a", "b"])
    np.testing.assert_array_equal(moved.contrast, basis.contrast[[2, 0, 1]])
    np.testing.assert_allclose(basis.rotation_to(moved), np.eye(2), atol=1e-15)
    with pytest.raises(InputError, match="must be over the classes"):
        basis.align_to(["a", "b", "x"])


def test_a_frame_in_another_order_than_the_basis_is_refused():
    pandas = pytest.importorskip("pandas")
    basis = Basis.from_tree((("a", "b"), "c"))
    frame = pandas.DataFrame({"a": [1.0], "c": [2.0], "b": [3.0]})
    with pytest.raises(InputError, match="columns of the basis"):
        simplex.ilr(frame, basis)
    assert simplex.ilr(frame[["a", "b", "c"]], basis).shape == (1, 2)
    with pytest.raises(InputError, match="columns of the basis"):
        simplex.ilr(frame.iloc[0], basis)
    with pytest.raises(InputError, match="same columns in the same order"):
        simplex.distance(frame, frame[["a", "b", "c"]])


def test_a_basis_is_immutable_hashable_and_pickles():
    basis = Basis.from_tree((("a", "b"), "c"))
    with pytest.raises(AttributeError, match="immutable"):
        basis.contrast = None
    with pytest.raises(ValueError, match="read-only"):
        basis.contrast[0, 0] = 1
    assert pickle.loads(pickle.dumps(basis)) == basis
    assert len({basis, pickle.loads(pickle.dumps(basis))}) == 1
    assert basis != "basis"
    turned = Basis(-Basis.gram_schmidt(3).contrast)
    again = Basis.from_partition([[-1, 1, 0], [-1, -1, 1]])
    assert turned == again
    assert hash(turned) == hash(again)
    with pytest.raises(ValueError, match="WRITEABLE"):
        Basis.gram_schmidt(4).contrast.flags.writeable = True


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Basis.gram_schmidt(1), "D must be a whole number, 2 or more; got 1"),
        (lambda: Basis.gram_schmidt(2.5), "D must be a whole number"),
        (lambda: Basis([[1.0], [1.0]]), "orthonormal columns that sum to zero"),
        (lambda: Basis([1.0, 2.0]), r"shape \(D, D - 1\)"),
        (lambda: Basis([[np.nan], [1.0]]), "contrast must not contain NaN"),
        (lambda: Basis.gram_schmidt(2, classes=["a", "a"]), "'a' more than once"),
        (lambda: Basis.gram_schmidt(3, classes=["a", "b"]), "name each of the 3 classes"),
        (lambda: Basis.gram_schmidt(2, classes="ab"), "in the order of the columns; got 'ab'"),
        (lambda: Basis.gram_schmidt(2, classes=[[1], [2]]), "hashable"),
        (lambda: Basis.from_partition([[1, -1]] * 2), r"shape \(D - 1, D\)"),
        (lambda: Basis.from_partition([[2, -1]]), "-1, 0 or \\+1"),
        (lambda: Basis.from_partition([[1, 1]]), "row 0 does not"),
        (lambda: Basis.from_partition([[1, -1, 0], [0, 0, 0]]), "row 1 does not"),
        (lambda: Basis.from_partition([[1, 1, -1], [1, 0, -1]]), "must split every group"),
        (lambda: Basis.from_tree(("a", "b", "c")), "node with 3 branches"),
        (lambda: Basis.from_tree("a"), "at least two leaves"),
        (lambda: Basis.from_tree(("a", "a")), "more than once"),
        (lambda: Basis.from_tree(("a", "b"), classes=["a", "c"]), "hold each class once"),
        (lambda: Basis.comparing("a", "a", classes=["a", "b"]), "two classes"),
        (lambda: Basis.comparing("a", "x", classes=["a", "b"]), "'a', 'b'; got 'x'"),
        (lambda: Basis.from_linkage([[0, 1]]), r"shape \(D - 1, 4\)"),
        (lambda: Basis.from_linkage([[0, 0, 1, 2]]), "out of turn"),
        (lambda: Basis.from_linkage([[0, 9, 1, 2]]), "out of turn"),
        (lambda: Basis.from_linkage([[0, np.nan, 1, 2]]), "must not contain NaN"),
        (lambda: Basis.comparing(0, 1, 3.0), "list of labels"),
        (lambda: Basis.gram_schmidt(3).rotation_to(Basis.gram_schmidt(4)), "3 parts"),
        (lambda: Basis.gram_schmidt(3).rotation_to(np.eye(2)), "must be a Basis"),
        (lambda: simplex.ilr([1, 2, 3], Basis.gram_schmidt(4)), "must be of 3 parts; got one of 4"),
        (lambda: simplex.ilr([1, 2, 3], np.eye(3)[:, :2]), "must be a Basis; got ndarray"),
    ],
)  # fmt: skip
def test_bad_bases_are_refused_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_an_unknown_class_names_those_there_are():
    with pytest.raises(UnknownClassError) as caught:
        Basis.comparing(7, 0, classes=3)
    assert caught.value.label == 7
    assert caught.value.classes == (0, 1, 2)
