"""What a CDA keeps: settings and epochs by folds, the closed form, and the calibrated finish."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from deciban import CompositionalDiscriminantAnalysis, LinearDiscriminant, metrics
from deciban._estimation.logistic import AffineMap
from deciban._estimation.samples import Samples
from deciban.discriminant.finish import (
    calibrate,
    family_covariance,
    finish_base,
    losses_at,
    losses_at_best_scale,
)
from deciban.discriminant.fitting import HeldOutWatch
from deciban.discriminant.initialization import Tails
from deciban.discriminant.runs import Checkpoint
from deciban.discriminant.selection import Selection, assign_folds
from deciban.discriminant.settings import resolve_settings
from deciban.flows.training import State, Trainer
from deciban.reference import CalibratedGaussian
from deciban.simplex import Basis

V = Basis.gram_schmidt(2).contrast
SMALL = {"n_couplings": 4, "width": 8}  # trained and compiled in little time


def evidence(n, scale=1.0, seed=0, D=2, divergence=2.0):
    """Calibrated ILRLs, made too strong by a scale."""
    family = CalibratedGaussian(divergence * np.eye(D - 1))
    l, codes = family.sample([n] * D, rng=seed)
    return scale * l, Samples(l, codes, np.ones(len(l)))


@pytest.fixture(scope="module")
def flow():
    """A fit of two moons, which no line can tell apart; one small setting, as more take longer."""
    rng = np.random.default_rng(0)
    y = np.arange(150) % 2
    angle = np.pi * rng.random(150)
    X = np.column_stack([np.cos(angle) + y, np.where(y, 0.3 - np.sin(angle), np.sin(angle))])
    X += 0.15 * rng.normal(size=X.shape)
    given = {"options": {"shrinkage": 1.0, "input_noise": 0.1}}
    return CompositionalDiscriminantAnalysis(random_state=0, **given, **SMALL).fit(X, y), X, y


# --- folds ------------------------------------------------------------------------------------


def test_folds_are_alike_in_every_class_and_leave_every_class_outside():
    codes = np.repeat([0, 1, 2, 3], [50, 7, 2, 1])
    fold = assign_folds(codes, 5, seed=0)
    assert fold[codes == 3] == -1
    for f in range(5):
        assert set(codes[fold != f]) == {0, 1, 2, 3}
        assert (fold[codes == 0] == f).sum() == 10


def test_what_the_user_gives_is_not_chosen():
    few = CompositionalDiscriminantAnalysis(options={"input_noise": 0.1, "shrinkage": 0.5})
    options = resolve_settings(few, 1000, 5, 2)
    assert {one.input_noise for one in options} == {0.1}
    assert {one.shrinkage for one in options} == {0.5}
    assert len(options) > 1
    assert len(resolve_settings(CompositionalDiscriminantAnalysis(epochs=3), 1000, 5, 2)) == 1
    many = resolve_settings(CompositionalDiscriminantAnalysis(), 500_000, 50, 2)[0]
    assert many.epochs < 20
    assert resolve_settings(CompositionalDiscriminantAnalysis(), 20_000, 16, 26)[0].augment == 9


@pytest.mark.parametrize(
    ("n", "d", "folds"),
    [(999, 300, 5), (3999, 10, 3), (3999, 100, 1), (10_000, 5, 3), (5000, 20, 1)],
)
def test_large_tables_are_judged_on_one_part(n, d, folds):
    assert resolve_settings(CompositionalDiscriminantAnalysis(), n, d, 2)[0].folds == folds


# --- what is kept -----------------------------------------------------------------------------


def race_of(n):
    """Three settings, and ILRLs of n samples for their members; nothing is trained."""
    l, samples = evidence(n)
    options = resolve_settings(CompositionalDiscriminantAnalysis(), 300, 1, 2)
    selection = Selection.plan(samples, V, options, seed=0)
    vectors = (np.zeros((3 * len(selection.parts), 1)), np.zeros((3 * len(selection.parts), 0)))
    state = State(vectors, {}, vectors, selection.first_kept(vectors), 1.0, 1, ())

    def keep(state, epoch, *ilrs):
        each = np.repeat(ilrs, len(selection.parts), axis=0)
        return selection.keep(replace(state, epoch=epoch), each, n_batches=100)

    return keep, state, l


@pytest.fixture
def race():
    return race_of(300)


def test_evidence_is_kept_that_is_overconfident_and_better(race):
    keep, state, l = race
    noise = np.random.default_rng(1).normal(size=l.shape)
    state = keep(state, 1, l + noise, l + noise, l + noise)
    state = keep(state, 2, 5 * l, l + 2 * noise, l + noise)  # worse than before without a scale
    assert state.kept["epoch"].tolist() == [2, 1, 1]
    np.testing.assert_array_equal(state.kept["ilr"][0], 5 * l)


def test_settings_that_diverge_are_passed_by_in_silence(race):
    keep, state, l = race
    state = keep(state, 5, l, np.full_like(l, np.nan), l)
    assert state.kept["epoch"].tolist() == [5, 0, 5]
    assert state.kept["goes_on"].tolist() == [True, False, True]


def test_settings_rest_that_are_behind_or_have_not_gained_for_long(race):
    keep, state, l = race
    noise = np.random.default_rng(1).normal(size=l.shape)
    state = keep(state, 1, l + noise, l + noise, 0.1 * l + 2 * noise)
    assert state.kept["goes_on"].all()
    state = keep(state, 4, l, l + 2 * noise, 0.1 * l + 2 * noise)
    assert state.kept["goes_on"].tolist() == [True, False, False]
    state = keep(state, 5, l, l, l)
    assert state.kept["epoch"].tolist() == [4, 1, 1]
    assert not keep(state, 10, l, l, l).kept["goes_on"].any()


@pytest.mark.parametrize(("n", "kept"), [(300, 1), (3000, 2)])
def test_the_later_of_two_epochs_that_are_alike_is_kept_where_samples_are_many(n, kept):
    keep, state, l = race_of(n)
    noise = 0.02 * np.random.default_rng(1).normal(size=l.shape)
    state = keep(state, 1, l, l, l)
    state = keep(state, 2, l - noise, l - noise, l + 100 * noise)
    assert state.kept["epoch"].tolist() == [kept, kept, 1]
    assert state.kept["losses"][0].sum() == pytest.approx(state.kept["losses"][2].sum())


# --- the finish -------------------------------------------------------------------------------


@pytest.mark.parametrize("D", [2, 4])
def test_evidence_that_is_too_strong_is_scaled_back(D):
    l, samples = evidence(2000, scale=2.0, D=D)
    basis = Basis.gram_schmidt(D).contrast
    found = calibrate(l, samples, np.full(D, -np.log(D)), basis)
    np.testing.assert_allclose(found.map.matrix, 0.5 * np.eye(D - 1), atol=0.06)
    assert (
        found.losses.mean()
        < calibrate(l, samples, np.full(D, -np.log(D)), basis, affine=False).losses.mean()
    )


def test_calibrated_evidence_of_few_samples_is_left_alone():
    changed = [
        not np.array_equal(
            calibrate(*evidence(30, seed=s), np.log([0.5, 0.5]), V).map.matrix, [[1]]
        )
        for s in range(40)
    ]
    assert np.mean(changed) < 0.2


def test_a_class_that_is_hardly_judged_gets_no_offset():
    l, samples = evidence(200)
    rare = np.concatenate([np.flatnonzero(samples.codes == 0), np.flatnonzero(samples.codes)[:3]])
    found = calibrate(l[rare] + 3, samples.at(rare), np.log([0.98, 0.02]), V)
    assert not found.map.offset.any()
    assert calibrate(l + 3, samples, np.log([0.5, 0.5]), V).map.offset.any()
    none = calibrate(l[:0], samples.at(rare[:0]), np.log([0.5, 0.5]), V)
    assert none.map.matrix == np.eye(1)


def test_evidence_of_no_worth_keeps_an_inverse():
    l = np.random.default_rng(0).normal(size=(500, 1))
    samples = Samples(l, np.arange(500) % 2, np.ones(500))
    found = calibrate(10 * l, samples, np.log([0.5, 0.5]), V)
    assert 0.05 <= found.map.matrix[0, 0] < 0.1


@pytest.mark.parametrize("scale", [0.6, 1.0, 40.0])
def test_losses_at_the_best_scale_are_as_low_as_any_scale_makes_them(scale):
    l, samples = evidence(500, scale, D=3)
    mix, basis = np.log([0.2, 0.3, 0.5]), Basis.gram_schmidt(3).contrast
    found = losses_at_best_scale(l, samples, mix, basis).mean()
    lowest = minimize_scalar(lambda s: losses_at(s * l, samples, mix, basis).mean(), [0.01, 1])
    assert found == pytest.approx(lowest.fun, rel=1e-4)


def test_the_family_of_calibrated_evidence_has_its_covariance():
    l, samples = evidence(5000, D=3, divergence=3.0)
    change = AffineMap(np.eye(2), np.zeros(2))
    basis = Basis.gram_schmidt(3).contrast
    found = family_covariance(l, samples, 7.0 * np.eye(2), change, basis)
    np.testing.assert_allclose(found, 3.0 * np.eye(2), rtol=0.05)


def test_the_finish_takes_what_is_linear_out_of_the_residual():
    rng = np.random.default_rng(0)
    l = rng.normal(size=(3000, 1))
    Z = np.hstack([l, 2 * l + [[1.0]] + rng.normal(size=(3000, 1)), 3 * rng.normal(size=(3000, 1))])
    matrix, offset = finish_base(Z, np.ones(3000), AffineMap(0.5 * np.eye(1), np.ones(1)))
    after = Z @ matrix.T + offset
    np.testing.assert_allclose(after[:, 0], 0.5 * l[:, 0] + 1)
    np.testing.assert_allclose(np.cov(after[:, 1:].T), np.eye(2), atol=0.02)
    np.testing.assert_allclose(np.corrcoef(after.T)[0, 1:], 0, atol=1e-3)


# --- tails ------------------------------------------------------------------------------------


def test_only_long_tails_are_drawn_in_and_come_back():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=1000), rng.standard_cauchy(1000), np.ones(1000)])
    X = np.column_stack([X, np.where(rng.random(1000) < 0.9, 0, rng.lognormal(0, 2, 1000))])
    tails = Tails.fit(X)
    assert np.isfinite(tails.bend).tolist() == [False, True, False, True]
    np.testing.assert_allclose(tails.invert(tails(X)), X, rtol=1e-9, atol=1e-12)
    step = 1e-6 * (1 + np.abs(X))
    slopes = (tails(X + step) - tails(X - step)) / (2 * step)
    np.testing.assert_allclose(tails.log_slopes(X), np.log(slopes).sum(axis=1), atol=1e-3)


# --- held-out samples -------------------------------------------------------------------------


class OneWeight:
    """A model whose ILRL is its only parameter."""

    flow = SimpleNamespace(has_small_kernels=False)

    def init(self, key, *, dtype):
        return {"weight": np.zeros(1, dtype)}

    def decays(self, params):
        return {"weight": True}

    def ilr(self, params, x):
        return 0 * x + params["weight"]


def watch_of(center, n, learned):
    """A watch of samples whose best weight is ``center``."""
    codes = (np.arange(n) < n / (1 + np.exp(-np.sqrt(2) * center))).astype(int)
    samples = Samples(np.zeros((n, 1)), codes, np.ones(n))
    watch = HeldOutWatch(
        OneWeight(), samples, samples.X.astype("float32"), np.log([0.5, 0.5]), -V, "float32"
    )
    best, last = ((np.array([[w]], np.float32), np.zeros((1, 0))) for w in (center, learned))
    kept = {"params": best, "loss": watch.losses(best).mean(axis=1)}
    return watch, State(last, None, last, kept, 1.0, 40, ({"epoch": 39},))


@pytest.mark.parametrize(
    ("n", "learned", "epoch", "kept"),
    [(100, 0.55, 40, 0.55), (1000, 3.0, 40, 0.5), (100, 0.55, 20, 0.5)],
    ids=["the best may be so by chance", "better beyond doubt", "interrupted"],
)
def test_the_last_weights_are_kept_unless_the_best_are_clearly_better(n, learned, epoch, kept):
    watch, state = watch_of(0.5, n, learned)
    assert watch.choose(replace(state, epoch=epoch), 40)[0] == np.float32(kept)
    assert watch.keep_best(state).kept["params"][0] == np.float32(0.5)


# --- whole fits -------------------------------------------------------------------------------


def test_flows_are_chosen_where_they_are_better_than_a_line(flow):
    cda, X, y = flow
    chosen = [one for one in cda.selection_ if one["chosen"]]
    assert [one["model"] for one in chosen] == ["flow"]
    assert len(cda.history_) == chosen[0]["epochs"]
    of_a_line = metrics.cllr(y, LinearDiscriminant().fit(X, y).evidence(X))
    assert metrics.cllr(y, cda.evidence(X)) < 0.7 * of_a_line


def test_the_base_space_is_one_after_the_finish(flow):
    cda, X, _ = flow
    Z = cda.transform(X)
    np.testing.assert_allclose(Z[:, 0], cda.evidence(X).ilr()[:, 0], rtol=1e-4, atol=1e-4)
    sampled, truth = cda.sample(3000, random_state=0)
    assert metrics.cllr(truth, cda.evidence(sampled)) == pytest.approx(
        cda.reference_.expected_cllr(1, 0), abs=0.08
    )


def test_gaussian_classes_are_left_to_the_closed_form(capsys):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 4)) + np.array([[0, 0, 0, 0], [2, 0, 0, 0], [0, 2, 0, 0]])[y]
    cda = CompositionalDiscriminantAnalysis(random_state=0, verbose=1, **SMALL).fit(X, y)
    assert [one["model"] for one in cda.selection_ if one["chosen"]] == ["closed form"]
    assert "the model is its closed form" in capsys.readouterr().err
    assert cda.history_ == []
    new = rng.normal(size=(2000, 4))
    lda = LinearDiscriminant().fit(X, y).evidence(new).ilr()
    slope = np.sum(cda.evidence(new).ilr() * lda) / np.sum(lda**2)
    assert 0.7 < slope < 1.3
    assert cda.inverse_transform(cda.transform(X)) == pytest.approx(X, abs=1e-3)


@pytest.mark.slow
def test_many_classes_find_room_by_themselves():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 6
    X = rng.normal(size=(240, 2)) + 8 * np.column_stack([np.cos(y), np.sin(y)])
    cda = CompositionalDiscriminantAnalysis(random_state=0).fit(X, y)
    assert (cda.predict(X) == y).mean() > 0.9


@pytest.mark.slow
def test_an_ensemble_is_chosen_and_calibrated_as_one(flow):
    _, X, y = flow
    three = CompositionalDiscriminantAnalysis(n_estimators=3, random_state=0).fit(X, y)
    assert metrics.cllr(y, three.evidence(X)) < 0.3
    assert metrics.cllr_cal(y, three.evidence(X)) < 0.1


@pytest.mark.slow
def test_a_choice_that_was_killed_is_continued(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 2)) * np.where(y, 3.0, 0.5)[:, None]
    whole = CompositionalDiscriminantAnalysis(random_state=0).fit(X, y)
    path = tmp_path / "checkpoint"
    step, done = Trainer.step, []

    def fail(self, *args):
        done.append(1)
        if len(done) == 6:
            raise MemoryError
        return step(self, *args)

    monkeypatch.setattr(
        Checkpoint,
        "save",
        lambda c, state, force=True, save=Checkpoint.save: save(c, state, force=True),
    )
    monkeypatch.setattr(Trainer, "step", fail)
    with pytest.raises(MemoryError):
        CompositionalDiscriminantAnalysis(random_state=0, checkpoint=path).fit(X, y)
    again = CompositionalDiscriminantAnalysis(random_state=0, checkpoint=path).fit(X, y)
    assert again.selection_ == whole.selection_
    assert again.evidence(X).allclose(whole.evidence(X), rtol=0, atol=0)


def draw(n, d=4, D=2, sep=1.0, seed=0):
    """Normal classes whose means are the same for every seed."""
    y = np.arange(n) % D
    means = sep * np.random.default_rng(99).normal(size=(D, d))
    return means[y] + np.random.default_rng(seed).normal(size=(n, d)), y


def test_there_is_room_for_many_classes_of_few_features():
    X, y = draw(200, d=3, D=40)
    assert CompositionalDiscriminantAnalysis(epochs=0).fit(X, y).transform(X).shape == (200, 39)


def test_features_that_determine_one_another_leave_a_residual_without_spread():
    X, y = draw(40, d=1)
    X = np.hstack([X, -X])
    cda = CompositionalDiscriminantAnalysis(random_state=0, **SMALL).fit(X, y)
    np.testing.assert_allclose(cda.inverse_transform(cda.transform(X)), X, atol=1e-5)


@pytest.mark.parametrize(("n", "D"), [(4, 2), (5, 3), (6, 2)])
def test_a_handful_of_samples_gives_the_closed_form_without_folds(n, D, capsys):
    X, y = draw(n, D=D)
    cda = CompositionalDiscriminantAnalysis(random_state=0, verbose=1).fit(X, y)
    assert "Too few samples for folds" in capsys.readouterr().err
    assert [one["shrinkage"] for one in cda.selection_ if one["chosen"]] == ["ledoit-wolf"]
    X_new, y_new = draw(2000, D=D, seed=1)
    plain = LinearDiscriminant().fit(X, y).evidence(X_new)
    assert metrics.cross_entropy(y_new, cda.evidence(X_new)) < metrics.cross_entropy(y_new, plain)


def test_flows_of_few_samples_must_lead_by_two_nats():
    X, y = draw(20)
    cda = CompositionalDiscriminantAnalysis(random_state=0, **SMALL).fit(X, y)
    assert next(one for one in cda.selection_ if one["chosen"])["model"] == "closed form"


def test_no_epochs_show_no_bar(capsys):
    CompositionalDiscriminantAnalysis(epochs=0, verbose=1).fit(*draw(40))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("unit", [1e-250, 1e150])
def test_the_unit_of_the_features_does_not_matter(unit):
    X, y = draw(60)
    cda = CompositionalDiscriminantAnalysis(epochs=0, random_state=0)
    fits = [clone(cda).fit(u * X, y) for u in (1.0, unit)]
    found = [cda.predict_proba(u * X) for cda, u in zip(fits, (1.0, unit), strict=True)]
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)
