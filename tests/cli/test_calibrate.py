"""``deciban calibrate`` and ``deciban apply``, as one types them."""

import json
import re

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from commands import runner
from deciban import CalibratedGaussian, Evidence, LinearDiscriminant, metrics
from deciban._persistence.registry import load_with_extra
from deciban.calibration import AffineCalibrator, GaussianCalibrator
from deciban.cli.app import app
from deciban.exceptions import InputError

CLASSES = ["cat", "dog", "owl"]


run = runner(160)


@pytest.fixture
def two(tmp_path):
    """LLRs that claim three times as much as they may."""
    y = np.arange(400) % 2
    llr = 3 * np.random.default_rng(0).normal(4 * y - 2, 2) + 1
    path = tmp_path / "two.csv"
    pl.DataFrame({"class": np.where(y, "same", "diff"), "note": y * 7, "llr": llr}).write_csv(path)
    return y, llr, path


@pytest.fixture
def three(tmp_path):
    family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    l, y = family.sample([60, 50, 40], rng=0)
    evidence = family.evidence(3 * l).rename(CLASSES)
    columns = {f"ll_{c}": evidence.log_likelihoods[:, k] for k, c in enumerate(CLASSES)}
    path = tmp_path / "three.parquet"
    pl.DataFrame({"class": np.array(CLASSES)[y], **columns}).write_parquet(path)
    return np.array(CLASSES)[y], evidence, path


def fitted(path, *options, truth="class"):
    out = path.parent / "calibrator.deciban"
    done = run("calibrate", path, "--truth", truth, "-o", out, *options)
    return out, done


def applied(calibrator, table, *options, name="out.csv"):
    run("apply", calibrator, table, "-o", table.parent / name, *options)
    return pl.read_csv(table.parent / name)


def test_the_table_has_the_cost_before_and_after(two):
    y, llr, path = two
    _, done = fitted(path, truth="class=same")
    line = next(line for line in done.stdout.splitlines() if line.startswith("Cllr [bit]"))
    before, after = map(float, line.split()[2:4])
    assert before == pytest.approx(metrics.cllr(y, llr), abs=1e-4)
    assert after < 0.8 * before
    assert "cross-validated in 5 folds" in done.stdout
    assert "calibrated_llr = " in done.stdout


def test_new_scores_are_calibrated_without_options_and_other_columns_stay(two):
    y, llr, path = two
    calibrator, _ = fitted(path, truth="class=same")
    expected = AffineCalibrator().fit(llr[:, None], y).evidence(llr[:, None]).llr(1, 0)
    table = applied(calibrator, path)
    assert table.columns == ["class", "note", "llr", "calibrated_llr"]
    np.testing.assert_allclose(table["calibrated_llr"], expected, rtol=1e-6)


def test_the_positive_class_may_come_first_in_the_alphabet(two):
    y, llr, path = two
    calibrator, _ = fitted(path, truth="class=diff")
    mirrored = applied(calibrator, path)["calibrated_llr"]
    expected = AffineCalibrator().fit(llr[:, None], 1 - y).evidence(llr[:, None]).llr(1, 0)
    np.testing.assert_allclose(mirrored, expected, rtol=1e-6)


def test_scores_come_back_in_the_base_they_came_in(two):
    _, _, path = two
    nats = applied(fitted(path, truth="class=same")[0], path)["calibrated_llr"].to_numpy()
    ten = path.parent / "ten.csv"
    pl.read_csv(path).with_columns(pl.col("llr") / np.log(10)).write_csv(ten)
    calibrator, _ = fitted(ten, "--base", "10", "--force", truth="class=same")
    np.testing.assert_allclose(
        applied(calibrator, ten, name="out10.csv")["calibrated_llr"], nats / np.log(10), rtol=1e-6
    )


def test_a_prior_adds_posteriors_and_the_decision(two):
    _, _, path = two
    calibrator, _ = fitted(path, truth="class=same")
    table = applied(calibrator, path, "--prior", "same=0.1,diff=0.9", "--costs", "same>diff=20")
    evidence = Evidence.from_llr(table["calibrated_llr"].to_numpy(), "same", "diff")
    posterior = evidence.posterior({"same": 0.1, "diff": 0.9})
    np.testing.assert_allclose(table["posterior_same"], posterior[:, 1], rtol=1e-9)
    assert set(table["decision"]) == {"same", "diff"}
    decided = table.filter(pl.col("decision") == "same")["posterior_same"]
    assert decided.min() > 1 / 21


@pytest.mark.parametrize("method", ["affine", "diagonal", "full", "gaussian", "bounded"])
def test_several_classes_become_calibrated_log_likelihoods(three, method):
    truth, evidence, path = three
    calibrator, done = fitted(path, "--llr", "ll_*", "--method", method, "--json")
    found = {q["key"]: q for q in json.loads(done.stdout)["quantities"]}
    assert found["cross_entropy"]["before"] == pytest.approx(metrics.cross_entropy(truth, evidence))
    assert found["cross_entropy"]["after"] < found["cross_entropy"]["before"]
    assert set(found) == {"cross_entropy", "calibration", "discrimination"}
    table = applied(calibrator, path)
    values = table.select(f"calibrated_{c}" for c in CLASSES).to_numpy()
    after = metrics.cross_entropy(truth, Evidence(values, CLASSES))
    assert after < found["cross_entropy"]["before"]
    if method == "gaussian":
        expected = GaussianCalibrator().fit(evidence, truth).transform(evidence)
        np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-9)


def test_posteriors_are_read_with_the_prior_of_the_fit(three):
    truth, evidence, path = three
    prior = {"cat": 0.6, "dog": 0.3, "owl": 0.1}
    names = [f"ll_{c}" for c in CLASSES]
    posteriors = dict(zip(names, evidence.posterior(prior).T, strict=True))
    given = path.parent / "posteriors.csv"
    pl.DataFrame({"class": truth, **posteriors}).write_csv(given)
    options = ("--llr", "ll_*", "--posteriors", "cat=0.6,dog=0.3,owl=0.1")
    of_posteriors = applied(fitted(given, *options)[0], given)
    of_likelihoods = applied(fitted(path, "--llr", "ll_*", "--force")[0], path, name="ll.csv")
    new = [f"calibrated_{c}" for c in CLASSES]
    np.testing.assert_allclose(
        of_posteriors.select(new).to_numpy(), of_likelihoods.select(new).to_numpy(), rtol=1e-5
    )


def test_the_advice_after_apply_takes_the_scores_before_calibration(tmp_path):
    rng = np.random.default_rng(0)
    truth = np.array(CLASSES)[np.arange(60) % 3]
    scores = 2.0 * (truth[:, None] == CLASSES) + rng.normal(size=(60, 3))
    path = tmp_path / "plain.csv"
    pl.DataFrame({"class": truth, **dict(zip(CLASSES, scores.T, strict=True))}).write_csv(path)
    calibrator, _ = fitted(path)
    out = tmp_path / "out.csv"
    done = run("apply", calibrator, path, "-o", out, "--interval", "0.9")
    assert "dog_high, calibrated_owl, calibrated_owl_low, calibrated_owl_high ->" in done.stderr
    done = run("evaluate", out, "--truth", "class", "--resamples", "0")
    assert "--llr '*' takes those before calibration" in done.stdout
    before = run("evaluate", out, "--truth", "class", "--llr", "*", "--json",
                 "--resamples", "0")  # fmt: skip
    cost = {q["key"]: q["value"] for q in json.loads(before.stdout)["quantities"]}
    expected = metrics.cross_entropy(truth, Evidence(scores, CLASSES))
    assert cost["cross_entropy"] == pytest.approx(expected)


@pytest.mark.parametrize("method", ["isotonic", "kernel"])
def test_two_classes_have_methods_of_their_own(two, method):
    y, llr, path = two
    calibrator, done = fitted(path, "--method", method, truth="class=same")
    assert ("isotonic LLRs are inf" in done.stderr) == (method == "isotonic")
    after = applied(calibrator, path)["calibrated_llr"].to_numpy()
    assert metrics.cllr(y, after) < metrics.cllr(y, llr)


@pytest.mark.parametrize("method", ["affine", "full", "gaussian", "monotone"])
def test_every_method_of_any_number_of_classes_writes_a_calibrator(two, three, method):
    for path, truth, columns in ((two[2], "class=same", "llr"), (three[2], "class", "ll_*")):
        options = ("--method", method, "--force", "--llr", columns)
        calibrator, _ = fitted(path, *options, truth=truth)
        assert load_with_extra(calibrator)[1]["provenance"]["settings"]["method"] == method


@pytest.mark.parametrize("method", ["affine", "gaussian", "monotone", "isotonic", "kernel"])
def test_bounds_go_around_any_calibrator_and_are_told(two, method):
    _, _, path = two
    calibrator, done = fitted(path, "--method", method, "--bounded", truth="class=same")
    low, high = map(float, re.search(r"stays between (\S+) and (\S+)\.", done.stdout).groups())
    after = applied(calibrator, path)["calibrated_llr"].to_numpy()
    np.testing.assert_allclose([after.min(), after.max()], [low, high], rtol=1e-3)
    assert "--bounded" not in done.stderr
    plain = json.loads(
        fitted(path, "--method", method, "--bounded", "--json", "--force", truth="class=same")[
            1
        ].stdout
    )
    np.testing.assert_allclose(plain["bounds"], [[0, -low], [high, 0]], rtol=1e-3)


def test_bounds_of_three_classes_are_a_table(three):
    done = fitted(three[2], "--llr", "ll_*", "--bounded")[1]
    lines = done.stdout.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("Bounds: largest LLR"))
    assert lines[start + 1].split() == CLASSES
    assert [line.split()[0] for line in lines[start + 2 : start + 5]] == CLASSES
    bounds = load_with_extra(three[2].parent / "calibrator.deciban")[0].bounds_
    assert float(lines[start + 2].split()[1]) == pytest.approx(bounds[0, 1], abs=1e-3)


def test_trial_lists_are_calibrated_with_their_key(two):
    y, llr, path = two
    folder = path.parent
    lines = [f"m{i // 20} s{i % 20} {v}" for i, v in enumerate(llr)]
    (folder / "t.txt").write_text("\n".join(lines))
    key = [f"m{i // 20} s{i % 20} {'target' if v else 'nontarget'}" for i, v in enumerate(y)]
    (folder / "key.txt").write_text("\n".join(key))
    calibrator = folder / "c.deciban"
    run("calibrate", folder / "t.txt", "--key", folder / "key.txt", "-o", calibrator)
    run("apply", calibrator, folder / "t.txt", "-o", folder / "o.tsv")
    table = pl.read_csv(folder / "o.tsv", separator="\t")
    assert table.columns == ["model", "segment", "score", "calibrated_score"]
    assert metrics.cllr(y, table["calibrated_score"].to_numpy()) < metrics.cllr(y, llr)


def test_whole_number_and_truth_value_classes_come_back_as_such(tmp_path):
    llr = np.random.default_rng(1).normal(size=60)
    for name, labels in (("n", [0, 1]), ("b", ["false", "true"])):
        path = tmp_path / f"{name}.csv"
        pl.DataFrame({"class": labels * 30, "llr": llr}).write_csv(path)
        calibrator, _ = fitted(path, "--force")
        table = applied(calibrator, path, "--prior", "uniform", name=f"{name}-out.csv")
        assert table["decision"].dtype == table["class"].dtype


def test_tables_are_streamed_to_standard_output_and_rows_may_be_none(two):
    _, _, path = two
    calibrator, _ = fitted(path, truth="class=same")
    empty = path.parent / "empty.csv"
    empty.write_text("id,llr\n")
    done = run("apply", calibrator, empty, "-o", "-", "--prior", "uniform", "--json")
    assert done.stdout == "id,llr,calibrated_llr,posterior_diff,posterior_same,decision\n"
    assert json.loads(done.stderr)["rows"] == 0


def test_separable_and_reversed_scores_are_said(tmp_path):
    path = tmp_path / "s.csv"
    llr = np.linspace(-5, 5, 40)
    pl.DataFrame({"class": (llr > 0).astype(int), "llr": llr}).write_csv(path)
    done = fitted(path, "--method", "isotonic", truth="class=0")[1]
    assert "If they favor 1, say so in --truth" in done.stderr
    pl.DataFrame({"class": (llr > 0).astype(int), "llr": llr + 90 * np.sign(llr)}).write_csv(path)
    done = fitted(path, "--method", "kernel", "--force")[1]
    assert re.search(r"40 of 40 samples LRs beyond .* Give --bounded", done.stderr)


def test_one_sample_of_a_class_leaves_after_open(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("class,llr\n0,-1\n0,2\n0,-3\n1,1\n")
    done = fitted(path, "--json")[1]
    found = json.loads(done.stdout)
    assert found["folds"] == 0
    assert found["quantities"][0]["after"] is None
    assert "needs two samples" in found["notes"][0]


def test_a_fold_that_cannot_be_fitted_leaves_after_open(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("class,llr\n" + "0,0\n" * 5 + "1,1\n" * 4 + "1,2\n")
    done = fitted(path, "--method", "gaussian")[1]
    assert "a fold cannot be fitted" in done.stderr
    assert "cross-validated" not in done.stdout


def test_posteriors_that_are_none_are_refused_with_their_row(three):
    truth, evidence, path = three
    given = path.parent / "p.csv"
    frame = pl.DataFrame(dict(zip(CLASSES, evidence.posterior().T, strict=True)))
    frame.with_columns(pl.Series("class", truth)).write_csv(given)
    calibrator, _ = fitted(given, "--posteriors", "uniform")
    given.write_text("cat,dog,owl\n0.2,0.3,0.5\n0.2,0.3,0.9\n")
    with pytest.raises(InputError, match=r"p\.csv must hold posteriors.*row 2"):
        applied(calibrator, given)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--method afine", "Did you mean 'affine'"),
        ("--ridge 1", "has no option --ridge"),
        ("--llr lr", "no column 'lr', which --llr needs.* Did you mean 'llr'"),
    ],
)
def test_options_that_cannot_be_used_are_refused(two, options, words):
    with pytest.raises(InputError, match=words):
        fitted(two[2], *options.split(), truth="class=same")
    assert not (two[2].parent / "calibrator.deciban").exists()


def test_nothing_is_written_over(two):
    _, _, path = two
    calibrator, _ = fitted(path, truth="class=same")
    with pytest.raises(InputError, match=r"--output .* exists"):
        fitted(path, truth="class=same")
    applied(calibrator, path)
    with pytest.raises(InputError, match="or pass --force"):
        applied(calibrator, path)
    applied(calibrator, path, "--force")


def test_methods_for_two_classes_refuse_three(three):
    with pytest.raises(InputError, match="isotonic is for two classes; got 3"):
        fitted(three[2], "--llr", "ll_*", "--method", "isotonic")


def test_infinite_scores_are_refused_with_their_row_but_by_isotonic(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("class,llr\n0,-1\n0,2\n0,-inf\n1,1\n1,-2\n")
    with pytest.raises(InputError, match=r"finite scores.*row 3"):
        fitted(path)
    calibrator, _ = fitted(path, "--method", "isotonic")
    assert applied(calibrator, path)["calibrated_llr"][2] == -np.inf


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lrr\n1\n", "no column 'llr'.* Did you mean 'lrr'"),
        ("llr,calibrated_llr\n1,2\n", "calibrated_llr in .* is there already"),
        ("llr\n1\n\n2\nx\n", "row 4 holds 'x'"),
        ("llr\n1\ninf\n", "row 2 rules a class out"),
    ],
)
def test_tables_that_do_not_fit_are_refused(two, text, words):
    _, _, path = two
    calibrator, _ = fitted(path, truth="class=same")
    new = path.parent / "new.csv"
    new.write_text(text.replace("\n\n", "\n3\n"))
    with pytest.raises(InputError, match=words):
        applied(calibrator, new)
    assert not (path.parent / "out.csv").exists()


def test_rows_are_counted_over_batches(two, monkeypatch):
    from deciban.cli.tables import Table

    _, _, path = two
    calibrator, _ = fitted(path, truth="class=same")
    new = path.parent / "new.csv"
    new.write_text("llr\n" + "1\n" * 6 + "inf\n")
    whole = Table.batches
    monkeypatch.setattr(Table, "batches", lambda self: whole(self, 3))
    with pytest.raises(InputError, match="row 7 rules a class out") as caught:
        applied(calibrator, new)
    assert caught.value.rows == (6,)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--prior empirical", "--prior must be like .* got 'empirical'"),
        ("--prior same=1,diff=1", "sum to 2"),
        ("--costs same>diff=2", "--costs needs a prior"),
    ],
)
def test_priors_and_costs_that_cannot_be_used_are_refused(two, options, words):
    calibrator, _ = fitted(two[2], truth="class=same")
    with pytest.raises(InputError, match=words):
        applied(calibrator, two[2], *options.split())


def test_files_that_are_no_calibrators_are_refused(two):
    y, llr, path = two
    model, bare = path.parent / "lda.deciban", path.parent / "bare.deciban"
    LinearDiscriminant().fit(llr[:, None], y).save(model)
    with pytest.raises(InputError, match="holds a LinearDiscriminant, not a calibrator"):
        applied(model, path)
    AffineCalibrator().fit(llr[:, None], y).save(bare)
    with pytest.raises(InputError, match="does not say which columns"):
        applied(bare, path)
    with pytest.raises(InputError, match="as a deciban file"):
        applied(path, path)
    with pytest.raises(InputError, match="not found"):
        applied(path.parent / "none.deciban", path)


@pytest.mark.parametrize(
    "change",
    [{"kind": "other"}, {"columns": ["a", "b"]}, {"columns": 3}, {"base": "7"}, {"positive": 2},
     {"prior": ["x"]}, {"prior": [0.5]}],
)  # fmt: skip
def test_columns_that_were_tampered_with_are_refused(two, change):
    calibrator, _ = fitted(two[2], truth="class=same")
    fitted_one, extra = load_with_extra(calibrator)
    fitted_one.save(calibrator, extra={"scores": extra["scores"] | change})
    with pytest.raises(InputError, match="does not say which columns"):
        applied(calibrator, two[2])


def test_a_named_column_of_a_trial_list_is_calibrated_and_applied(tmp_path, monkeypatch):

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    score = rng.normal(np.arange(80) % 2 * 4 - 2, 2)
    rows = [f"m{k} s{k} 0.0 {x:.4f}" for k, x in enumerate(score)]
    (tmp_path / "t.txt").write_text("model segment score cosine\n" + "\n".join(rows))
    labels = ["target" if k % 2 else "nontarget" for k in range(80)]
    lines = [f"m{k} s{k} {label}" for k, label in enumerate(labels)]
    (tmp_path / "k.txt").write_text("\n".join(lines))
    for words in (
        ["calibrate", "t.txt", "--key", "k.txt", "--llr", "cosine", "-o", "c.deciban"],
        ["apply", "c.deciban", "t.txt", "-o", "out.csv"],
    ):
        assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    out = pl.read_csv("out.csv")
    assert out.columns == ["model", "segment", "score", "cosine", "calibrated_cosine"]
    assert np.corrcoef(out["calibrated_cosine"], score)[0, 1] > 0.999


def test_posteriors_of_zero_are_refused_until_they_are_raised(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    family = CalibratedGaussian(6 * np.eye(2))
    l, y = family.sample([60] * 3, rng=0)
    percent = (100 * family.evidence(2 * l).posterior()).round()
    names = np.array(["a", "b", "c"])
    for name, least in (("p.csv", 0), ("raised.csv", 0.5)):
        table = pl.DataFrame(np.maximum(percent, least), schema=list(names))
        table.with_columns(y=names[y]).write_csv(name)
    given = ("--truth", "y", "--posteriors", "uniform", "-o", "c.deciban")
    with pytest.raises(InputError, match=r"rules a class out, .* Raise posteriors of 0"):
        run("calibrate", "p.csv", *given)
    run("calibrate", "raised.csv", *given)
    run("apply", "c.deciban", "raised.csv", "-o", "out.csv")
    out = pl.read_csv("out.csv")
    assert np.isfinite(out.select("calibrated_a", "calibrated_b", "calibrated_c").to_numpy()).all()


def test_calibrate_and_evaluate_call_a_quantity_by_one_name(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    scores = rng.normal(size=(60, 3)) + 2 * np.eye(3)[y]
    names = ["a", "b", "c"]
    table = pl.DataFrame(scores, schema=names).with_columns(truth=np.array(names)[y])
    table.write_csv(tmp_path / "t.csv")
    base = (tmp_path / "t.csv", "--truth", "truth")
    for words in (("evaluate", *base), ("calibrate", *base, "-o", tmp_path / "c.deciban")):
        assert "Cross-entropy [nat]" in run(*words).stdout


def test_the_report_compares_scores_before_and_after_on_held_out_samples(two, tmp_path):
    _y, _llr, path = two
    report = tmp_path / "r.html"
    words = ["calibrate", path, "--truth", "class", "-o", tmp_path / "c", "--report", report]
    found = json.loads(run(*words, "--json").stdout)
    page = report.read_text()
    assert "It helps" in page
    assert "samples that it had not seen" in page
    after = next(one["after"] for one in found["quantities"] if one["key"] == "cllr")
    assert f"after it {after:.3g}" in page
    with pytest.raises(InputError, match="--force"):
        run(*words[:-1], report, "-o", tmp_path / "d")


def test_without_samples_to_judge_by_neither_report_nor_calibrator_is_written(tmp_path):
    path, report = tmp_path / "few.csv", tmp_path / "r.html"
    path.write_text("class,llr\n0,-1\n1,2\n")
    with pytest.raises(InputError, match="There are no costs to report"):
        run("calibrate", path, "--truth", "class", "-o", tmp_path / "c", "--report", report)
    assert not report.exists()
    assert not (tmp_path / "c").exists()
