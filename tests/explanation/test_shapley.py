"""Shapley compositions: axioms, brute force, closed forms, tables of any kind, bad input."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deciban import Basis, Evidence, LinearDiscriminant, shapley_compositions
from deciban.exceptions import InputError, ZeroPartsError

seeds = st.integers(0, 2**32 - 1)
EXACT = {"rtol": 0, "atol": 1e-12}


class Game:
    """A random smooth function of features that interact, to log-likelihoods of D classes."""

    def __init__(self, seed, m, D):
        rng = np.random.default_rng(seed)
        self.W, self.Q, self.A = (rng.normal(size=s) for s in ((m, 5), (5, D), (m, m, D)))
        self.X, self.background = rng.normal(size=(2, m)), rng.normal(size=(3, m))

    def __call__(self, X):
        X = np.asarray(X, dtype=float)
        pairs = np.einsum("ni,nj,ijd->nd", X, X, self.A)
        return np.tanh(X @ self.W) @ self.Q + 0.3 * pairs - 800


def clr(log_w):
    return log_w - log_w.mean(axis=-1, keepdims=True)


def value(game, x, background, known):
    rows = background.copy()
    rows[:, list(known)] = x[list(known)]
    return clr(game(rows)).mean(axis=0)


def brute_force(game, x, background):
    """The definition: the mean over all orders of what each feature adds when it comes."""
    m = len(x)
    found = np.zeros((m, game(x[None]).shape[1]))
    for order in permutations(range(m)):
        for place, j in enumerate(order):
            before = value(game, x, background, order[:place])
            found[j] += value(game, x, background, order[: place + 1]) - before
    return found / math.factorial(m)


@given(seeds, st.integers(1, 4), st.integers(2, 5))
def test_exact_contributions_are_the_mean_over_all_orders(seed, m, D):
    game = Game(seed, m, D)
    found = shapley_compositions(game, game.X, game.background)
    assert found.is_exact
    for i, x in enumerate(game.X):
        np.testing.assert_allclose(
            found.contributions[i], brute_force(game, x, game.background), **EXACT
        )


@given(seeds, st.integers(1, 6), st.integers(2, 5), st.booleans())
def test_base_and_contributions_add_up_to_the_evidence(seed, m, D, sampled):
    game = Game(seed, m, D)
    settings = {"max_exact": 0, "n_permutations": 4} if sampled else {}
    found = shapley_compositions(game, game.X, game.background, **settings)
    assert found.is_exact != sampled
    np.testing.assert_allclose(
        clr(found.total.log_likelihoods), clr(game(game.X)), rtol=0, atol=1e-11
    )
    base = clr(game(game.background)).mean(axis=0)
    np.testing.assert_allclose(found.base.log_likelihoods[0], base, **EXACT)
    np.testing.assert_allclose(found.contributions.sum(axis=2), 0, **EXACT)


@given(seeds, st.integers(2, 5), st.booleans())
def test_a_feature_that_the_model_does_not_use_contributes_nothing(seed, m, sampled):
    game = Game(seed, m - 1, 3)
    X, background = np.insert(game.X, 1, 7.0, axis=1), np.insert(game.background, 1, 2.0, axis=1)
    found = shapley_compositions(
        lambda Z: game(np.delete(Z, 1, axis=1)), X, background, max_exact=0 if sampled else 10
    )
    np.testing.assert_allclose(found.contributions[:, 1], 0, **EXACT)


@given(seeds, st.integers(1, 3))
def test_features_that_enter_alike_contribute_alike(seed, others):
    game = Game(seed, others + 2, 3)
    X, background = game.X.copy(), game.background.copy()
    X[:, 1], background[:, 1] = X[:, 0], background[:, 0]
    swapped = [1, 0, *range(2, others + 2)]
    found = shapley_compositions(lambda Z: game(Z) + game(Z[:, swapped]), X, background)
    np.testing.assert_allclose(found.contributions[:, 0], found.contributions[:, 1], **EXACT)


@given(seeds, seeds, st.floats(-3, 3), st.booleans())
def test_contributions_to_a_sum_of_evidence_are_the_sums_of_contributions(a, b, factor, sampled):
    one, two = Game(a, 4, 3), Game(b, 4, 3)
    X, background = one.X, one.background
    settings = {"max_exact": 0 if sampled else 10, "n_permutations": 6}
    parts = [shapley_compositions(g, X, background, **settings).contributions for g in (one, two)]
    both = shapley_compositions(lambda Z: one(Z) + factor * two(Z), X, background, **settings)
    np.testing.assert_allclose(both.contributions, parts[0] + factor * parts[1], rtol=0, atol=1e-11)


@given(seeds, st.integers(2, 5))
def test_the_order_of_classes_and_the_basis_do_not_matter(seed, D):
    game = Game(seed, 3, D)
    order = np.random.default_rng(seed).permutation(D)
    found = shapley_compositions(game, game.X, game.background)
    other = shapley_compositions(lambda Z: game(Z)[:, order], game.X, game.background)
    np.testing.assert_allclose(other.contributions, found.contributions[..., order], **EXACT)
    # Each ILR coordinate is a game of its own: its Shapley values are the coordinates of ours.
    V = Basis.gram_schmidt(D).contrast
    l = shapley_compositions(
        lambda Z: np.column_stack([game(Z) @ V[:, 0], np.zeros(len(Z))]), game.X, game.background
    )
    np.testing.assert_allclose(l.llr(0, 1), found.contributions @ V[:, 0], rtol=0, atol=1e-11)


def test_a_linear_model_has_its_slopes_times_distances_from_the_mean():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    expected = (X[:5] - X[::7].mean(axis=0))[:, :, None] * clr(model.coef_.T)
    for settings in ({}, {"max_exact": 0, "n_permutations": 4}):
        found = shapley_compositions(model, X[:5], X[::7], **settings)
        np.testing.assert_allclose(found.contributions, expected, rtol=0, atol=1e-11)
    assert found.standard_errors.max() < 1e-12  # every order says the same


@given(seeds, st.integers(2, 7))
def test_opposite_orders_are_exact_for_features_that_interact_in_pairs(seed, m):
    game = Game(seed, m, 3)
    game.Q[:] = 0  # what is left is quadratic
    exact = shapley_compositions(game, game.X, game.background)
    sampled = shapley_compositions(
        game, game.X, game.background, max_exact=0, n_permutations=4, rng=seed
    )
    np.testing.assert_allclose(sampled.contributions, exact.contributions, rtol=0, atol=1e-10)


def test_a_prior_changes_the_base_and_no_contribution():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    prior = [0.2, 0.3, 0.5]
    plain, without = (
        shapley_compositions(model, X[:2], X[::9], training_prior=p) for p in (None, prior)
    )
    np.testing.assert_allclose(without.contributions, plain.contributions, rtol=0, atol=1e-12)
    shift = plain.base - without.base
    np.testing.assert_allclose(shift.posterior()[0], prior, rtol=1e-12)


def test_sampled_contributions_lie_within_their_errors_of_the_exact_ones():
    game = Game(11, 8, 3)
    exact = shapley_compositions(game, game.X, game.background)
    sampled = shapley_compositions(
        game, game.X, game.background, max_exact=0, n_permutations=400, rng=1
    )
    error = sampled.standard_errors
    assert error.min() > 0
    assert (np.abs(sampled.contributions - exact.contributions) < 4 * error).all()
    distance = np.abs(sampled.llr(2, 0) - exact.llr(2, 0))
    assert (distance < 4 * sampled.llr_standard_errors(2, 0)).all()
    np.testing.assert_array_equal(
        sampled.draws,
        shapley_compositions(
            game, game.X, game.background, max_exact=0, n_permutations=400, rng=1
        ).draws,
    )


def test_a_group_is_one_player():
    game = Game(5, 4, 3)
    found = shapley_compositions(
        game, game.X, game.background, feature_groups={"pair": [1, 3], "first": 0}
    )
    assert found.features == ("pair", "first", 2)

    def of_blocks(Z):  # the same game with three features: which rows the columns come from
        rows = np.array([[Z[k, 1], Z[k, 0], Z[k, 2], Z[k, 0]] for k in range(len(Z))], dtype=int)
        return game(table[rows, np.arange(4)])

    table = np.vstack([game.X[:1], game.background])
    rows = np.repeat(np.arange(4), 3).reshape(4, 3)
    expected = brute_force(of_blocks, rows[0], rows[1:])
    np.testing.assert_allclose(found.contributions[0], expected, **EXACT)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_their_columns_and_types(library):
    frames = pytest.importorskip(library)
    rng = np.random.default_rng(0)
    cells = {
        "size": rng.normal(size=40),
        "count": rng.integers(0, 9, 40),
        "color": rng.choice(["red", "blue"], 40).tolist(),
    }
    frame = frames.DataFrame(cells)
    y = np.where(np.array(cells["color"]) == "red", "a", "b")
    y[:5] = "b"
    categorical = frame["color"].astype("category") if library == "pandas" else frame["color"]
    frame = frame.assign(color=categorical) if library == "pandas" else frame
    model, seen = LinearDiscriminant().fit(frame, y), []

    def watched(table):
        seen.append(table)
        return model.evidence(table)

    found = shapley_compositions(watched, frame[7:9], frame[20:40])
    assert found.features == ("size", "count", "color")
    assert list(seen[0].columns) == list(frame.columns)
    assert list(seen[0].dtypes) == list(frame.dtypes)
    assert found.total.allclose(model.evidence(frame[7:9]))
    np.testing.assert_allclose(found["color"].strength(), found.strength()[:, 2], **EXACT)


def test_pipelines_and_searches_are_explained():
    X, y = load_iris(return_X_y=True)
    for last in (LinearDiscriminant(), LogisticRegression()):
        model = make_pipeline(StandardScaler(), last).fit(X, y)
        found = shapley_compositions(model, X[:3], X[::10])
        posterior = found.total.posterior(getattr(model[-1], "prior_", None))
        np.testing.assert_allclose(posterior, model.predict_proba(X[:3]), rtol=1e-9, atol=1e-12)


def test_work_is_done_in_blocks_that_can_be_tracked(monkeypatch):
    from deciban.explanation import coalitions

    game, blocks = Game(2, 4, 3), []
    whole = shapley_compositions(game, game.X, game.background)
    monkeypatch.setattr(coalitions, "_MAX_ROWS", 10)

    def track(steps):
        blocks.extend(steps)
        return steps

    found = shapley_compositions(game, game.X, game.background, track=track)
    assert len(blocks) == math.ceil(2 * 16 / 3)
    np.testing.assert_allclose(found.contributions, whole.contributions, **EXACT)


def test_zero_probabilities_are_refused_with_a_remedy():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    with pytest.raises(ZeroPartsError, match=r"must be finite; .* which has a floor"):
        shapley_compositions(forest, X[:1], X[::10])


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"n_permutations": 5}, "n_permutations must be even.*Give 6"),
        ({"n_permutations": 2}, "whole number, 4 or more"),
        ({"max_exact": 21}, "from 0 to 20; got 21"),
        ({"feature_groups": {"g": [0, 9]}}, "got 9, which is no column"),
        ({"feature_groups": {"g": [0], "h": 0}}, "each in one group; got an empty or a shared"),
        ({"feature_groups": {"g": []}}, "got an empty or a shared one"),
        ({"feature_groups": {1: [0, 2]}}, "must not be named like a column outside"),
        ({"X": [0.0, 1.0, 2.0, 3.0]}, r"got \(4,\) and \(3, 4\)\. Write \[x\]"),
        ({"X": np.zeros((0, 4))}, r"with rows"),
        ({"model": "LDA"}, "model must give evidence or probabilities"),
        ({"model": lambda Z: np.zeros((2, 3))}, "a row of evidence for each row of X; got 2"),
        ({"model": lambda Z: np.full((len(Z), 3), np.nan)}, "NaN"),
        ({"background": "frame"}, "both arrays or both frames"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(settings, match):
    game = Game(0, 4, 3)
    arguments = {"model": game, "X": game.X, "background": game.background} | settings
    if settings.get("background") == "frame":
        arguments["background"] = pytest.importorskip("pandas").DataFrame(game.background)
    with pytest.raises(InputError, match=match):
        shapley_compositions(**arguments)


def test_frames_must_have_the_same_columns_types_and_rows():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    for X, match in (
        (frame[["a"]], "same columns, each once"),
        (frame.assign(b=[1, 2]), "the same type in 'b'"),
        (frame[:0], "must have rows; got 0 and 2"),
    ):
        with pytest.raises(InputError, match=match):
            shapley_compositions(lambda Z: np.zeros((len(Z), 2)), X, frame)


def test_a_prior_beside_evidence_and_unknown_names_are_refused():
    X, y = load_iris(return_X_y=True)
    model = LinearDiscriminant().fit(X, y)
    with pytest.raises(InputError, match="training_prior must be None"):
        shapley_compositions(model, X[:1], X[:9], training_prior=[0.2, 0.3, 0.5])
    found = shapley_compositions(model, X[:1], X[:9])
    with pytest.raises(InputError, match=r"one of 0, 1, 2, 3; got 'size'"):
        found["size"]
    with pytest.raises(InputError, match="class must be one of"):
        found.llr("a", 0)


def test_likelihoods_of_e_to_the_minus_800_and_many_classes_are_explained():
    game = Game(4, 2, 300)
    found = shapley_compositions(lambda Z: 1e4 * game(Z), game.X[:1], game.background[:1])
    np.testing.assert_allclose(
        found.total.log_likelihoods, clr(1e4 * game(game.X[:1])), rtol=1e-10, atol=1e-6
    )
    assert isinstance(found[0], Evidence)
    assert not found.standard_errors.any()
    assert not found.llr_standard_errors(0, 1).any()


def test_probabilities_of_a_function_are_not_taken_for_logarithms():
    X, y = load_iris(return_X_y=True)
    for model in (LogisticRegression(max_iter=500), RandomForestClassifier(3, random_state=0)):
        with pytest.raises(InputError, match=r"are probabilities. Pass the classifier itself"):
            shapley_compositions(model.fit(X, y).predict_proba, X[:1], X[::10])
    with pytest.raises(InputError, match="are probabilities"):  # of one class each
        shapley_compositions(lambda rows: np.eye(3)[model.predict(rows)], X[:1], X[::10])
    linear = LogisticRegression(max_iter=500).fit(X, y)
    logs = shapley_compositions(lambda rows: np.log(linear.predict_proba(rows)), X[:1], X[::10])
    whole = shapley_compositions(linear, X[:1], X[::10])
    np.testing.assert_allclose(logs.contributions, whole.contributions, atol=1e-9)


def test_a_classifier_that_is_not_fitted_is_refused():
    X, _ = load_iris(return_X_y=True)
    for model in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        with pytest.raises(InputError, match="model must be fitted"):
            shapley_compositions(model, X[:1], X[::10])


def test_a_group_may_be_an_index_of_columns():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = LinearDiscriminant().fit(X, y)
    found = shapley_compositions(model, X[:1], X[::10], feature_groups={"sepal": X.columns[:2]})
    assert found.features == ("sepal", *X.columns[2:])
