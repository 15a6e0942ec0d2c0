"""``deciban fuse``, quality measures and intervals, as one types them."""

import json

import numpy as np
import polars as pl
import pytest

import deciban
from commands import runner
from deciban import CalibratedGaussian, metrics
from deciban.calibration import AffineCalibrator, FusionCalibrator
from deciban.exceptions import InputError

run = runner(160)


@pytest.fixture
def systems(tmp_path):
    """Two independent calibrated systems; the second table has its rows in another order."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    a, b = (rng.normal(3 * y - 1.5, 3**0.5) for _ in range(2))
    table = {"sample": [f"s{k}" for k in range(400)], "class": y}
    pl.DataFrame({**table, "llr": a}).write_csv(tmp_path / "a.csv")
    pl.DataFrame({**table, "llr": b}).sample(fraction=1, shuffle=True, seed=0).write_csv(
        tmp_path / "b.csv"
    )
    return y, a, b, tmp_path


def fuse(folder, *options, files=("a.csv", "b.csv")):
    paths = [folder / file for file in files]
    return run("fuse", *paths, "--truth", "class", "-o", folder / "fused.deciban", *options)


def test_two_files_are_fused_and_applied(systems):
    y, a, b, folder = systems
    done = fuse(folder, "--id", "sample")
    fused = deciban.load(folder / "fused.deciban")
    expected = FusionCalibrator().fit({"a": a, "b": b}, y)
    np.testing.assert_allclose(fused.weights_, expected.weights_, rtol=1e-6)
    assert fused.systems_ == ("a", "b")
    lines = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line.strip()}
    assert float(lines["a"][1]) == pytest.approx(metrics.cllr(y, a), abs=1e-4)
    assert float(lines["fused"][1]) < 0.75 * float(lines["a"][2])
    assert float(lines["a"][3]) == pytest.approx(fused.weights_[0], abs=1e-3)
    model, tables = folder / "fused.deciban", (folder / "a.csv", folder / "b.csv")
    run("apply", model, *tables, "--id", "sample", "--interval", "0.9", "-o", folder / "out.csv")
    out = pl.read_csv(folder / "out.csv")
    assert out.columns[3:] == ["calibrated_llr", "calibrated_llr_low", "calibrated_llr_high"]
    llr = expected.evidence({"a": a, "b": b}).llr(1, 0)
    np.testing.assert_allclose(out["calibrated_llr"], llr, rtol=1e-6)
    low, high = expected.interval({"a": a, "b": b}, confidence=0.9)
    np.testing.assert_allclose(out["calibrated_llr_low"], low, rtol=1e-5)
    np.testing.assert_allclose(out["calibrated_llr_high"], high, rtol=1e-5)


def test_a_file_fused_with_itself_shows_how_double_counting_looks(systems):
    y, a, _, folder = systems
    done = fuse(folder, "--json", files=("a.csv", "a.csv"))
    found = json.loads(done.stdout)
    assert [one["name"] for one in found["systems"]] == ["a 1", "a 2"]
    weights = [one["weight"] for one in found["systems"]]
    assert sum(weights) == pytest.approx(FusionCalibrator().fit(a[:, None], y).weights_[0])
    assert found["added_up"] == pytest.approx(metrics.cllr(y, 2 * a))
    assert found["added_up"] > 1.03 * found["fused"]
    assert found["provenance"]["scores"][1]["rows_used"] == 400


def test_systems_in_columns_of_one_table_are_fused_and_applied(systems):
    y, a, b, folder = systems
    pl.DataFrame({"class": y, "voice": a, "face": b}).write_csv(folder / "both.csv")
    done = fuse(folder, "--llr", "voice,face", files=("both.csv",))
    assert "voice " in done.stdout
    fused = deciban.load(folder / "fused.deciban")
    assert fused.systems_ == ("voice", "face")
    run("apply", folder / "fused.deciban", folder / "both.csv", "-o", folder / "out.csv")
    found = pl.read_csv(folder / "out.csv")["calibrated_voice"].to_numpy()
    expected = fused.evidence({"voice": a, "face": b}).llr(1, 0)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    words = "its columns are class, voice, face. Name one of them; deciban fuse takes several"
    with pytest.raises(InputError, match=words):
        run("calibrate", folder / "both.csv", "--truth", "class", "--llr", "voice,face",
            "-o", folder / "c.deciban")  # fmt: skip


def test_three_classes_in_three_files(tmp_path):
    family = CalibratedGaussian.from_divergences([2.0, 3.0, 4.0])
    for k, name in enumerate("xyz"):
        l, y = family.sample([40] * 3, rng=k)
        values = family.evidence(l).rename(["cat", "dog", "owl"]).to_polars()
        values.with_columns(pl.Series("class", np.array(["cat", "dog", "owl"])[y])).write_parquet(
            tmp_path / f"{name}.parquet"
        )
    files = [f"{name}.parquet" for name in "xyz"]
    found = json.loads(fuse(tmp_path, "--json", "--scale", "diagonal", files=files).stdout)
    assert found["cost"] == "cross_entropy"
    assert found["fused"] < 0.7 * min(one["given"] for one in found["systems"])
    assert np.shape(found["systems"][0]["weight"]) == (2,)
    tables = [tmp_path / file for file in files]
    options = ("--interval", "0.95", "--prior", "uniform", "-o", tmp_path / "out.csv")
    run("apply", tmp_path / "fused.deciban", *tables, *options)
    out = pl.read_csv(tmp_path / "out.csv")
    for label in ("cat", "dog", "owl"):
        low, high = out[f"calibrated_{label}_low"], out[f"calibrated_{label}_high"]
        assert ((low < out[f"calibrated_{label}"]) & (out[f"calibrated_{label}"] < high)).all()
    assert (out["decision"] == out["class"]).mean() > 0.85


def test_trial_lists_are_matched_by_their_trials(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    trials = [(f"m{k}", f"t{k}") for k in range(200)]
    label = np.where(y, "target", "nontarget")
    (tmp_path / "key").write_text(
        "\n".join(f"{m} {t} {c}" for (m, t), c in zip(trials, label, strict=True))
    )
    for name, order in (("a.scores", np.arange(200)), ("b.scores", np.arange(200)[::-1])):
        s = rng.normal(3 * y - 1.5, 1.5)
        rows = [f"{trials[k][0]} {trials[k][1]} {s[k]:.6f}" for k in order]
        (tmp_path / name).write_text("\n".join(rows))
    paths = (tmp_path / "a.scores", tmp_path / "b.scores")
    model = tmp_path / "fused.deciban"
    run("fuse", *paths, "--key", tmp_path / "key", "-o", model)
    run("apply", model, *paths, "-o", tmp_path / "out.csv")
    fused = pl.read_csv(tmp_path / "out.csv")["calibrated_score"].to_numpy()
    assert metrics.cllr(y, fused) < 0.45


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--id", "name"), "'name'"),
        (("--llr", "llr,llr,llr"), "one name, or 2 names; got 3"),
        (("--scale", "round"), "--scale must"),
        (("--quality", "snr"), "'snr'"),
        ((), "differ in the truth of"),
    ],
)
def test_what_does_not_fit_is_named(systems, options, message):
    with pytest.raises(InputError, match=message):
        fuse(systems[-1], *options)


def test_apply_says_which_tables_a_fusion_takes(systems):
    *_, folder = systems
    fuse(folder, "--id", "sample")
    model, a = folder / "fused.deciban", folder / "a.csv"
    with pytest.raises(InputError, match=r"This calibrator takes 2 tables \(a, b\); got 1"):
        run("apply", model, a, "-o", folder / "out.csv")
    pl.read_csv(folder / "b.csv").head(30).write_csv(folder / "short.csv")
    with pytest.raises(InputError, match=r"as many rows as .*, 400; got 30"):
        run("apply", model, a, folder / "short.csv", "-o", folder / "out.csv")
    with pytest.raises(InputError, match=r"370 of .* are not in"):
        run("apply", model, a, folder / "short.csv", "--id", "sample", "-o", folder / "out.csv")
    with pytest.raises(InputError, match="two systems or more, or a table with --llr a,b"):
        fuse(folder, files=("a.csv",))


def test_intervals_of_one_system(systems):
    y, a, _, folder = systems
    model, out = folder / "a.deciban", folder / "out.csv"
    run("calibrate", folder / "a.csv", "--truth", "class", "-o", model)
    run("apply", model, folder / "a.csv", "--interval", "0.95", "-o", out)
    low, high = AffineCalibrator().fit(a[:, None], y).interval(a[:, None])
    table = pl.read_csv(out)
    np.testing.assert_allclose(table["calibrated_llr_low"], low, rtol=1e-5)
    np.testing.assert_allclose(table["calibrated_llr_high"], high, rtol=1e-5)
    with pytest.raises(InputError, match="--interval must lie between 0 and 1; got 95"):
        run("apply", model, folder / "a.csv", "--interval", "95", "-o", folder / "two.csv")


@pytest.fixture
def with_duration(tmp_path):
    """Scores whose scale falls with the duration."""
    rng = np.random.default_rng(0)
    y = np.arange(600) % 2
    llr, duration = rng.normal(4 * y - 2, 2), rng.uniform(0, 1, 600)
    path = tmp_path / "scores.csv"
    score = llr / (0.3 + 2 * duration)
    pl.DataFrame({"class": y, "llr": score, "duration": duration}).write_csv(path)
    return y, llr, score, duration, path


def test_quality_measures_are_columns_of_the_table(with_duration):
    y, llr, score, duration, path = with_duration
    model, out = path.parent / "c.deciban", path.parent / "out.csv"
    common = ("calibrate", path, "--truth", "class", "--json")
    plain = json.loads(run(*common, "-o", path.parent / "plain.deciban").stdout)
    found = json.loads(run(*common, "-o", model, "--quality", "duration").stdout)
    before, after = (one["quantities"][0]["after"] for one in (plain, found))
    assert after < 0.97 * before
    shown = run(*common[:-1], "-o", model, "--force", "--quality", "duration").stdout
    weight = found["quality_weights"]["duration"]
    assert (
        f"duration changes the factor, {found['factor']:.3f} at its mean, by {weight:.3f}" in shown
    )
    assert after < 1.05 * metrics.cllr(y, llr)
    run("apply", model, path, "--interval", "0.95", "-o", out)
    X = {"score": score, "duration": duration}
    expected = FusionCalibrator(quality=["duration"]).fit(X, y).evidence(X).llr(1, 0)
    np.testing.assert_allclose(pl.read_csv(out)["calibrated_llr"], expected, rtol=1e-6)
    pl.read_csv(path).drop("duration").write_csv(path.parent / "without.csv")
    with pytest.raises(InputError, match="duration"):
        run("apply", model, path.parent / "without.csv", "-o", path.parent / "two.csv")
    with pytest.raises(InputError, match="--quality needs --method affine"):
        run(*common, "-o", model, "--quality", "duration", "--method", "kernel")


def test_any_method_has_intervals_by_resamples(with_duration):
    path = with_duration[-1]
    pl.read_csv(path).with_columns(speaker=np.arange(600) // 10).write_csv(path)
    model, out = path.parent / "c.deciban", path.parent / "out.csv"
    options = ("--truth", "class", "-o", model, "--method", "kernel")
    run("calibrate", path, *options)
    with pytest.raises(InputError, match="Make it with deciban calibrate --resamples 200"):
        run("apply", model, path, "--interval", "0.95", "-o", out)
    run("calibrate", path, *options, "--resamples", "30", "--group", "speaker", "--force")
    run("apply", model, path, "--interval", "0.95", "-o", out)
    table = pl.read_csv(out)
    inside = (table["calibrated_llr_low"] <= table["calibrated_llr"]) & (
        table["calibrated_llr"] <= table["calibrated_llr_high"]
    )
    assert inside.mean() > 0.95
    report = path.parent / "r.html"
    run("calibrate", path, *options, "--group", "speaker", "--report", report, "--force")
    page = report.read_text()
    assert "Rows of the same speaker were held out together." in page
    assert "whole groups were resampled" in page


def test_calibration_is_not_judged_on_what_it_has_seen_of_the_same_group(tmp_path, rng):
    path, model = tmp_path / "s.csv", tmp_path / "c.deciban"
    each = pl.DataFrame({"class": np.arange(40) % 2, "llr": rng.normal(size=40), "one": range(40)})
    pl.concat([each] * 6).write_csv(path)  # six rows of each sample
    command = ("calibrate", path, "--truth", "class", "-o", model, "--method", "kernel", "--json")
    leaking, honest = (
        json.loads(run(*command, *more, "--force").stdout)["quantities"][0]["after"]
        for more in ((), ("--group", "one"))
    )
    assert leaking < 1 < honest  # the scores say nothing


def test_rows_whose_names_are_in_another_order_are_not_matched_by_their_position(systems):
    """Shuffled within the classes, so that the truth is the same in each row."""
    *_, folder = systems
    fuse(folder, "--id", "sample")
    table = pl.read_csv(folder / "b.csv").sort("class", "sample", descending=[False, True])
    table.write_csv(folder / "b.csv")
    pl.read_csv(folder / "a.csv").sort("class", "sample").write_csv(folder / "a.csv")
    files = folder / "a.csv", folder / "b.csv"
    for command in (
        ("fuse", *files, "--truth", "class", "-o", folder / "other.deciban"),
        ("compare", *files, "--truth", "class"),
        ("apply", folder / "fused.deciban", *files, "-o", folder / "out.csv"),
    ):
        with pytest.raises(InputError, match="have 'sample' in different orders"):
            run(*command)
    assert not (folder / "out.csv").exists()
