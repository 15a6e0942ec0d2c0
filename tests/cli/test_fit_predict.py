"""``deciban fit``, ``predict`` and ``explain``: from a table to decisions, without Python."""

import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

import deciban
from browser import unpack
from deciban import LinearDiscriminant
from deciban.cli.app import app
from deciban.discriminant import CompositionalDiscriminantAnalysis
from deciban.exceptions import InputError, InterruptedFitWarning, UnseenValueWarning

run = CliRunner().invoke
NAMES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


def iris():
    data = load_iris()
    frame = pl.DataFrame({name: data.data[:, k] for k, name in enumerate(NAMES)})
    site = pl.Series("site", ["north", "south", "east"] * 50)
    return frame.with_columns(site, pl.Series("species", data.target_names[data.target]))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    iris().write_csv("iris.csv")
    iris().drop("species").with_row_index("id").write_parquet("new.parquet")
    return tmp_path


def done(*words):
    result = run(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def refused(*words):
    with pytest.raises(InputError) as caught:
        run(app, list(words), catch_exceptions=False)
    assert "\n" not in str(caught.value)
    return str(caught.value)


FITTED = {}


def fitted(*more):
    """What a fit to iris.csv said; the same words about the same table are not fitted twice."""
    table, path = Path("iris.csv").read_bytes(), Path("m.deciban")
    if (table, more) not in FITTED:
        words = ("fit", "iris.csv", "--label", "species", "-o", str(path), "--model", "lda")
        FITTED[table, more] = done(*words, *more), path.read_bytes()
    told, model = FITTED[table, more]
    path.write_bytes(model)
    return told


def test_a_table_becomes_a_model_and_a_model_decisions(folder):
    told = fitted()
    assert "120 rows of iris.csv: 6 features, 3 classes" in told.output
    assert "Accuracy" in told.output
    done("predict", "m.deciban", "new.parquet", "-o", "out.csv")
    out = pl.read_csv("out.csv")
    assert len(out) == 150
    assert "id" in out.columns
    assert "petal_width" not in out.columns
    assert (out["decision"] == iris()["species"]).mean() > 0.95
    p = out.select(f"posterior_{name}" for name in load_iris().target_names).to_numpy()
    assert np.allclose(p.sum(axis=1), 1)
    ll = out.select(f"log_likelihood_{name}" for name in load_iris().target_names).to_numpy()
    assert np.allclose(ll.sum(axis=1), 0, atol=1e-9)


def test_the_model_is_the_one_that_python_fits(folder):
    fitted("--validation", "0", "--ignore", "site")
    model = LinearDiscriminant.load("m.deciban")
    frame = iris()
    X, y = frame.select(NAMES), frame["species"].to_numpy()
    same = LinearDiscriminant().fit(X.to_numpy(), y).evidence(X.to_numpy())
    assert model.evidence(X).allclose(same)


def test_a_model_of_python_that_was_fitted_to_a_frame_predicts(folder):
    frame = iris().with_columns(pl.Series("day", [f"2020-01-{k % 28 + 1:02}" for k in range(150)]))
    X = frame.drop("species").with_columns(pl.col("day").str.to_date())
    model = LinearDiscriminant().fit(X, frame["species"].to_numpy())
    model.save("m.deciban")
    frame.write_csv("iris.csv")
    done("predict", "m.deciban", "iris.csv", "-o", "out.csv")
    assert pl.read_csv("out.csv")["decision"].to_list() == model.predict(X).tolist()


def test_a_cda_is_fitted_with_a_report_and_its_checkpoint_goes(folder):
    done("fit", "iris.csv", "--label", "species", "-o", "cda.deciban", "--epochs", "3",
         "--report", "r.html")  # fmt: skip
    assert CompositionalDiscriminantAnalysis.load("cda.deciban").columns_.n_features == 6
    page = (folder / "r.html").read_text()
    rows = json.loads(re.search(r'"rows":(\{.*?\})', page)[1])
    assert np.bincount((unpack(rows) - 1) // 50).tolist() == [
        10,
        10,
        10,
    ]  # rows of iris.csv, from 1
    assert {p.name for p in folder.iterdir()} == {
        "iris.csv",
        "new.parquet",
        "cda.deciban",
        "r.html",
    }
    done("predict", "cda.deciban", "new.parquet", "-o", "out.jsonl", "--outlier", "0")
    assert "is_outlier" not in pl.read_ndjson("out.jsonl").columns


def test_the_same_table_gives_the_same_model(folder):
    for name in ("a", "b"):
        done("fit", "iris.csv", "--label", "species", "-o", name, "--model", "qda")
        done("predict", name, "new.parquet", "-o", f"{name}.csv")
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()


def test_priors_and_costs_change_decisions_but_not_the_evidence(folder):
    fitted()
    done("predict", "m.deciban", "new.parquet", "-o", "a.csv")
    done("predict", "m.deciban", "new.parquet", "-o", "b.csv", "--prior",
         "setosa=0.98,versicolor=0.01,virginica=0.01", "--costs", "setosa>versicolor=1e12,"
         "setosa>virginica=1e40")  # fmt: skip
    a, b = pl.read_csv("a.csv"), pl.read_csv("b.csv")
    assert a["log_likelihood_setosa"].equals(b["log_likelihood_setosa"])
    assert (b["decision"] == "setosa").sum() > (a["decision"] == "setosa").sum()


def test_decisions_are_at_the_class_mix_of_the_fit_unless_a_prior_is_given(folder):
    rng = np.random.default_rng(0)
    y = np.arange(3000) % 1000 == 0
    rare = pl.DataFrame({"x": rng.normal(size=len(y)) + 1.5 * y, "fraud": np.where(y, "yes", "no")})
    rare.write_csv("rare.csv")
    done("fit", "rare.csv", "--label", "fraud", "-o", "rare.deciban", "--model", "lda",
         "--validation", "0")  # fmt: skip
    model = deciban.load("rare.deciban")
    words = ["predict", "rare.deciban", "rare.csv", "--json", "-o"]
    decisions = {
        prior: json.loads(done(*words, f"{prior}.csv", "--prior", prior).output)["decisions"]
        for prior in ("empirical", "uniform")
    }
    plain = json.loads(done(*words, "plain.csv").output)
    assert plain["decisions"] == decisions["empirical"] == {"no": 3000, "yes": 0}
    assert decisions["uniform"]["yes"] > 300
    found = pl.read_csv("plain.csv")["posterior_yes"].to_numpy()
    np.testing.assert_allclose(found, model.predict_proba(rare[["x"]])[:, 1])
    told = json.loads(done("explain", "rare.deciban", "rare.csv", "--json").output)
    np.testing.assert_allclose(told["posterior"]["yes"], found[0])
    assert told["prior_within_groups"] is None


def test_a_tree_of_classes_gives_each_row_the_answer_that_it_supports(folder):
    fitted()
    Path("tree.json").write_text('{"long": ["versicolor", "virginica"], "setosa": "setosa"}')
    words = ("--hierarchy", "tree.json", "--confidence", "0.99", "--prior", "uniform")
    done("predict", "m.deciban", "new.parquet", "-o", "out.csv", *words)
    frame = pl.read_csv("out.csv")
    both = frame["posterior_versicolor"] + frame["posterior_virginica"]
    assert set(frame["answer"]) == {"setosa", "versicolor", "virginica", "long"}
    long = frame["answer"] == "long"
    np.testing.assert_allclose(frame["answer_posterior"].filter(long), both.filter(long))
    assert frame["answer_posterior"].min() >= 0.99
    best = pl.max_horizontal("posterior_versicolor", "posterior_virginica")
    assert frame.filter(long).select(best).to_series().max() < 0.99
    again = ("predict", "m.deciban", "new.parquet", "-o", "other.csv", "--confidence", "0.3")
    said = refused(*again)
    assert "--confidence is about answers from a tree. Add --hierarchy FILE." in said
    low = refused(*again, "--hierarchy", "tree.json")
    assert "confidence must lie between 0.5 and 1; got 0.3" in low


def test_batches_do_not_show(folder, monkeypatch):
    fitted()
    done("predict", "m.deciban", "new.parquet", "-o", "a.csv")
    monkeypatch.setattr("deciban.cli.commands.predict._ROWS", 7)
    done("predict", "m.deciban", "new.parquet", "-o", "b.csv")
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()


def test_a_table_of_no_rows_gives_a_table_of_no_rows_with_the_same_columns(folder):
    fitted()
    iris().head(0).write_csv("none.csv")
    done("predict", "m.deciban", "none.csv", "-o", "a.csv")
    done("predict", "m.deciban", "iris.csv", "-o", "b.csv")
    a, b = pl.read_csv("a.csv"), pl.read_csv("b.csv")
    assert len(a) == 0
    assert a.columns == b.columns


def test_gaps_are_filled(folder):
    gaps = iris().with_columns(pl.when(pl.int_range(150) % 10 > 0).then("petal_width"),
                               pl.when(pl.int_range(150) % 7 > 0).then("site"))  # fmt: skip
    gaps.write_csv("iris.csv")
    words = ("fit", "iris.csv", "--label", "species", "-o", "m.deciban", "--model", "lda")
    assert "petal_width missing, site missing" in done(*words).output
    done("predict", "m.deciban", "iris.csv", "-o", "out.csv")
    more = iris().with_columns(pl.when(pl.int_range(150) > 4).then("sepal_width"))
    more.write_csv("more.csv")
    with pytest.warns(UnseenValueWarning, match="missing values in 'sepal_width', where fit saw"):
        done("predict", "m.deciban", "more.csv", "-o", "x.csv")


def test_the_class_mix_of_a_table_is_estimated_and_used(folder):
    fitted()
    few = iris().filter(pl.col("species") != "virginica")[20:]  # 30 setosa, 50 versicolor
    few.drop("species").write_csv("few.csv")
    words = ("predict", "m.deciban", "few.csv", "--prior", "estimate", "-o")
    text = done(*words, "a.csv").stderr
    assert "Class mix of 80 samples" in text
    assert "setosa: 0.375" in text
    found = json.loads(done(*words, "b.csv", "--json").stdout)
    assert found["class_mix"]["virginica"]["share"] < 0.03 < found["class_mix"]["virginica"]["high"]
    assert found["shift_p_value"] < 0.01
    out = pl.read_csv("b.csv")
    names = [str(name) for name in load_iris().target_names]
    evidence = deciban.Evidence(
        out.select(f"log_likelihood_{name}" for name in names).to_numpy(), names
    )
    prior = {name: found["class_mix"][name]["prior"] for name in names}
    p = out.select(f"posterior_{name}" for name in names).to_numpy()
    np.testing.assert_allclose(p, evidence.posterior(prior), atol=1e-9)
    few[:0].drop("species").write_csv("few.csv")
    assert "few.csv has no rows" in refused(*words, "c.csv")


def test_explain_tells_each_node_in_decibans_and_words(folder):
    fitted()
    told = done("explain", "m.deciban", "new.parquet", "--row", "1", "--json")
    found = json.loads(told.output)
    assert [node["for"] for node in found["nodes"]] == [["setosa"], ["setosa", "versicolor"]]
    assert found["decision"] == "setosa"
    assert "support for setosa over versicolor" in found["nodes"][0]["words"]
    model = LinearDiscriminant.load("m.deciban")
    evidence = model.evidence(iris().head(1))
    expected = evidence.llr("setosa", "versicolor", unit="deciban")[0]
    assert found["nodes"][0]["deciban"] == pytest.approx(expected)
    assert "Decision: setosa" in done("explain", "m.deciban", "new.parquet").output


def test_explain_writes_a_page_on_one_row_for_a_lay_reader(folder):
    fitted()
    words = ("explain", "m.deciban", "new.parquet", "--row", "1", "--report", "case.html")
    assert "Report: case.html" in done(*words).output
    page = (folder / "case.html").read_text()
    assert "as probable if it is setosa as if it is versicolor or virginica" in page
    assert "prosecutor's fallacy" in page
    assert "No test of the model was given" in page
    assert "--force" in refused(*words)
    done(*words, "--force", "--validation", "iris.csv", "--label", "species")
    page = (folder / "case.html").read_text()
    assert "tested on 150 samples whose class is known: 50 of setosa and 100 of" in page
    assert "support ratios up to about" in page


def test_explain_shows_what_each_feature_contributes(folder):
    fitted()
    words = ("explain", "m.deciban", "iris.csv", "--row", "120", "--background", "iris.csv")
    told = json.loads(done(*words, "--json").output)["contributions"]
    assert {told["for"], told["against"]} == {"versicolor", "virginica"}
    assert told["background_rows"] == 100
    total = told["base_deciban"] + sum(one["deciban"] for one in told["features"])
    assert total == pytest.approx(told["total_deciban"], abs=1e-9)
    text = done(*words).output
    assert f"Contributions to the LLR of {told['for']} against {told['against']}, exact." in text
    assert "100 of the 150 rows of --background, spread over the table" in text
    assert "the other features take the values of these rows." in text
    assert "standard error" not in text
    refused_by = refused("explain", "m.deciban", "iris.csv", "--background", "none.csv")
    assert "none.csv" in refused_by


def test_contributions_of_many_features_have_standard_errors(folder):
    rng = np.random.default_rng(0)
    X = {f"x{k}": rng.normal(size=60) for k in range(11)}
    pl.DataFrame({**X, "y": ["a", "b"] * 30}).write_csv("wide.csv")
    done("fit", "wide.csv", "--label", "y", "--model", "lda", "-o", "w.deciban")
    pl.DataFrame(X)[:5].write_csv("few.csv")
    words = ("explain", "w.deciban", "wide.csv", "--background", "few.csv")
    text = done(*words).output
    assert ", from sampled orders of the features." in text
    assert "Background: 5 rows of --background; the other features" in text
    assert "standard error" in text
    assert json.loads(done(*words, "--json").output)["contributions"]["exact"] is False


def test_explain_refuses_a_validation_that_it_cannot_use(folder):
    fitted()
    words = ("explain", "m.deciban", "new.parquet", "--validation", "iris.csv")
    assert "--validation, --label and --report belong together" in refused(*words)
    assert "belong together" in refused(*words, "--label", "species")
    whole = (*words, "--label", "species", "--report", "case.html")
    assert " too. Choose another name" in refused(*whole[:-1], "iris.csv", "--force")
    iris().with_columns(pl.col("species").replace("setosa", "rosa")).write_csv("iris.csv")
    assert "species in iris.csv has a class that the model lacks: 'rosa'" in refused(*whole)
    assert not (folder / "case.html").exists()


def test_explain_does_not_word_support_against_the_group_that_holds_the_decision(folder):
    iris().drop("site").write_csv("plain.csv")
    done("fit", "plain.csv", "--label", "species", "--model", "lda", "-o", "p.deciban")
    words = ("explain", "p.deciban", "plain.csv", "--row", "78")
    found = json.loads(done(*words, "--json").output)
    assert found["decision"] == "versicolor"
    node = found["nodes"][1]
    assert (node["for"], node["against"]) == (["setosa", "versicolor"], ["virginica"])
    assert node["words"] == "no support for either"
    assert node["posterior"] == pytest.approx(1 - found["posterior"]["virginica"])
    assert found["prior_within_groups"] is None
    assert "mean of its classes' likelihoods, with equal weights" in done(*words).output
    prior = {"setosa": 0.98, "versicolor": 0.01, "virginica": 0.01}
    text = ",".join(f"{name}={p}" for name, p in prior.items())
    weighted = json.loads(done(*words, "--prior", text, "--json").output)
    assert weighted["prior_within_groups"] == prior
    odds = weighted["posterior"]["versicolor"] / weighted["posterior"]["virginica"]
    expected = 10 * np.log10(
        odds / 99
    )  # setosa takes 98 of 99 parts of the group, and is ruled out
    assert weighted["nodes"][1]["deciban"] == pytest.approx(expected)
    assert "with --prior as weights" in done(*words, "--prior", text).output


def test_summaries_are_json_where_it_is_asked_for(folder):
    told = json.loads(fitted("--json").stdout)
    assert told["classes"] == ["setosa", "versicolor", "virginica"]
    assert told["held_out"]["quantities"]
    told = json.loads(done("predict", "m.deciban", "new.parquet", "-o", "o.csv", "--json").stdout)
    assert told["rows"] == 150


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fit", "iris.csv", "--label", "speces", "-o", "x"], "Did you mean 'species'?"),
        (["fit", "iris.csv", "--label", "species", "-o", "iris.csv"], "is an input too"),
        (["fit", "iris.csv", "--label", "species", "-o", "new.parquet"], "or pass --force"),
        (["fit", "iris.csv", "--label", "species", "-o", "x", "--features", "petal"], "--features"),
        (["fit", "iris.csv", "--label", "species", "-o", "x", "--features", "species"], "class,"),
        (["fit", "iris.csv", "--label", "species", "-o", "x", "--validation", "1"], "--validation"),
        (["fit", "iris.csv", "--label", "petal_width", "-o", "x"], "fractions, not classes"),
        (["fit", "none.csv", "--label", "species", "-o", "x"], "none.csv"),
        (["fit", "iris.csv", "--label", "species", "-o", "x", "--model", "lda", "--epochs", "3"],
         "--epochs is for --model cda"),
        (["fit", "iris.csv", "--label", "species", "-o", "x", "--model", "qda", "--batch-size",
          "9"], "--batch-size is for --model cda"),
        (["fit", "iris.csv", "--label", "species", "-o", "x", "--ignore", "site", "--features",
          "site"], "exclude each other"),
        (["predict", "iris.csv", "iris.csv", "-o", "x.csv"], "deciban file"),
        (["predict", "m.deciban", "iris.csv", "-o", "x.csv", "--outlier", "2"], "--outlier"),
        (["predict", "m.deciban", "iris.csv", "-o", "x.csv", "--prior", "a=1"], "--prior"),
        (["explain", "m.deciban", "iris.csv", "--row", "151"], "from 1 to 150"),
    ],
)  # fmt: skip
def test_mistakes_end_in_one_sentence_and_leave_nothing(folder, words, said):
    fitted()
    before = {path.name for path in folder.iterdir()}
    assert said in refused(*words)
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.drop("petal_width"), "no column 'petal_width', which the model needs"),
        (lambda f: f.select(x=1), ". Add it."),
        (lambda f: f.with_columns(pl.lit("x").alias("petal_width")), "in training it held numbers"),
        (lambda f: f.with_columns(pl.lit(float("inf")).alias("petal_width")), "holds inf in row 1"),
        (
            lambda f: f.with_columns(pl.lit(1).alias("decision")),
            "decision in odd.csv is there already",
        ),
    ],
)
def test_new_rows_that_do_not_fit_the_model_are_refused(folder, change, said):
    fitted()
    change(iris()).write_csv("odd.csv")
    assert said in refused("predict", "m.deciban", "odd.csv", "-o", "x.csv")
    assert not (folder / "x.csv").exists()


def test_a_text_that_was_not_seen_in_training_counts_as_missing_with_a_note(folder):
    fitted()
    iris().with_columns(pl.lit("blue").alias("site")).write_csv("blue.csv")
    with pytest.warns(UnseenValueWarning, match="fit did not see: 'blue' in 'site'"):
        done("predict", "m.deciban", "blue.csv", "-o", "x.csv")
    words = [sys.executable, "-m", "deciban.cli", "predict", "m.deciban", "blue.csv", "-o", "-"]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    assert found.returncode == 0
    assert found.stderr.count("'blue'") == 1


def test_columns_of_names_and_hours_are_refused_with_the_option_that_leaves_them_out(folder):
    named = iris().with_columns(pl.Series("name", [f"flower {k}" for k in range(150)]))
    named.write_csv("named.csv")
    assert "--ignore name" in refused("fit", "named.csv", "--label", "species", "-o", "x")
    timed = iris().with_columns(pl.time(12).alias("hour"))
    timed.write_parquet("timed.parquet")
    assert "--ignore hour" in refused("fit", "timed.parquet", "--label", "species", "-o", "x")


def test_dates_are_days_whether_they_are_text_or_dates(folder):
    day = pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 5, 29), eager=True).alias("day")
    dated = iris().with_columns(day, (day.cast(pl.Datetime) + pl.duration(hours=7)).alias("time"))
    dated.write_parquet("iris.parquet")
    dated.write_csv("iris.csv", datetime_format="%Y-%m-%dT%H:%M:%S")
    for name in ("iris.csv", "iris.parquet"):
        words = ("fit", name, "--label", "species", "-o", "d.deciban", "--model", "lda", "--force")
        assert "Features: sepal_length, sepal_width, petal_length, petal_width, day, time" in (
            done(*words).output
        )
        columns = LinearDiscriminant.load("d.deciban").columns_
        assert columns.kinds == {4: "category", 5: "date", 6: "datetime"}
    done("predict", "d.deciban", "iris.csv", "-o", "a.csv")
    done("predict", "d.deciban", "iris.parquet", "-o", "b.csv")
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()
    dated.with_columns(pl.when(pl.int_range(150) % 5 > 0).then("day")).write_csv("gaps.csv")
    words = ("fit", "gaps.csv", "--label", "species", "-o", "g.deciban", "--model", "lda", "--json")
    assert json.loads(done(*words).stdout)["filled"]["day"].startswith("2020-03-1")
    dated.with_columns(pl.lit("May").alias("day")).write_csv("odd.csv")
    said = refused("predict", "d.deciban", "odd.csv", "-o", "x.csv")
    assert "day in odd.csv holds 'May' in row 1; in training it held dates" in said
    late = pl.when(pl.int_range(150) == 70).then(pl.lit("May")).otherwise(pl.col("day"))
    dated.with_columns(late.alias("day")).write_csv("odd.csv")
    assert "holds 'May' in row 71" in refused("predict", "d.deciban", "odd.csv", "-o", "x.csv")


@pytest.mark.parametrize("form", ["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S%:z", "%Y-%m-%d %H:%M"])
def test_times_in_a_zone_or_without_seconds_are_dates_in_text_too(folder, form):
    start = pl.datetime(2020, 1, 1, 7, 30, time_zone="UTC")
    time = pl.select(start + pl.duration(hours=7 * pl.int_range(150))).to_series().alias("time")
    zone = "Asia/Tokyo" if "%:z" in form else "UTC"
    iris().with_columns(time).write_parquet("iris.parquet")
    iris().with_columns(time.dt.convert_time_zone(zone).dt.strftime(form)).write_csv("iris.csv")
    for name in ("csv", "parquet"):
        words = ("fit", f"iris.{name}", "--label", "species", "-o", "d.deciban", "--model", "lda")
        done(*words, "--force")
        assert LinearDiscriminant.load("d.deciban").columns_.kinds[5] == "datetime"
        done("predict", "d.deciban", "iris.csv", "-o", f"{name}.csv")
    assert (folder / "csv.csv").read_bytes() == (folder / "parquet.csv").read_bytes()


def test_days_among_times_are_their_first_moment(folder):
    time = pl.Series(
        "time", [f"2020-01-{k % 28 + 1:02}" + " 12:00:00" * (k % 2) for k in range(150)]
    )
    iris().with_columns(time).write_csv("iris.csv")
    words = ("fit", "iris.csv", "--label", "species", "-o", "d.deciban", "--model", "lda")
    assert done(*words).output.count("time=") == 0
    assert LinearDiscriminant.load("d.deciban").columns_.kinds[5] == "datetime"


def test_the_installed_command_reads_standard_input_and_writes_standard_output(folder):
    fitted()
    found = subprocess.run(
        [sys.executable, "-m", "deciban.cli", "predict", "m.deciban", "-", "-o", "-"],
        input=(folder / "iris.csv").read_bytes(), capture_output=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines()[0].startswith(b"species,log_likelihood_setosa")
    assert len(found.stdout.splitlines()) == 151


def test_a_model_of_python_without_columns_is_refused_by_predict(folder):
    LinearDiscriminant().fit(*load_iris(return_X_y=True)).save("plain.deciban")
    said = refused("predict", "plain.deciban", "iris.csv", "-o", "x.csv")
    assert "is not a model of `deciban fit`" in said


def test_text_that_looks_like_numbers_is_the_same_text_whatever_the_other_rows_hold(folder):
    rng = np.random.default_rng(0)
    code = rng.choice(["01", "1", "A"], 300)
    y = np.where(code == "01", "hi", "lo")
    x = rng.normal(size=300)
    pl.DataFrame({"x": x, "code": code, "y": y}).write_csv("codes.csv")
    done("fit", "codes.csv", "--label", "y", "-o", "c.deciban", "--model", "lda")
    (folder / "one.csv").write_text("x,code\n0.1,01\n")
    (folder / "two.csv").write_text("x,code\n0.1,01\n0.1,A\n")
    for name in ("one", "two"):
        done("predict", "c.deciban", f"{name}.csv", "-o", f"{name}-out.csv")
        out = pl.read_csv(f"{name}-out.csv")
        assert out["decision"][0] == "hi"
    whole = pl.DataFrame({"x": [0.1], "code": [1]})
    whole.write_parquet("whole.parquet")
    said = refused("predict", "c.deciban", "whole.parquet", "-o", "x.csv")
    assert "must hold text or categories in 'code'" in said


def test_a_column_that_may_identify_rows_is_noted_and_the_features_are_named(folder):
    iris().with_row_index("row id").write_csv("ids.csv")
    words = ("fit", "ids.csv", "--label", "species", "--model", "lda", "-o")
    told = done(*words, "a.deciban")
    assert told.stderr.count("has a different value") == 1
    assert "row id has a different value in every row" in told.stderr
    assert "leave it out with --ignore 'row id'" in told.stderr
    assert "Features: row id, sepal_length, sepal_width" in told.stdout
    assert "different value" not in done(*words, "b.deciban", "--ignore", "row id").stderr


def test_measurements_that_all_differ_and_short_tables_are_not_noted(folder):
    rows = pl.DataFrame({"x": [k + 0.5 for k in range(40)], "y": ["a", "b"] * 20})
    rows.write_csv("x.csv")
    rows[:20].with_columns(x=pl.int_range(20)).write_csv("short.csv")
    for name in ("x", "short"):
        words = ("--label", "y", "--model", "lda", "-o", f"{name}.deciban")
        assert "different value" not in done("fit", f"{name}.csv", *words).stderr


def test_a_label_that_differs_in_every_row_is_refused_by_its_name(folder):
    iris().with_row_index("id").write_csv("ids.csv")
    for model in ("lda", "cda"):
        said = refused("fit", "ids.csv", "--label", "id", "-o", "m.deciban", "--model", model)
        assert said == (
            "id has 150 classes in 150 rows; a class needs at least two rows. Is it the right "
            "--label?"
        )


def test_an_interrupted_fit_leaves_no_model_and_keeps_its_checkpoint(folder, monkeypatch):
    def stopped(self, X, y):
        (folder / "m.deciban.checkpoint").write_text("half")
        warnings.warn("...", InterruptedFitWarning, stacklevel=2)
        return self

    monkeypatch.setattr(LinearDiscriminant, "fit", stopped)
    words = ["fit", "iris.csv", "--label", "species", "-o", "m.deciban", "--model", "lda"]
    left = run(app, words)
    assert left.exit_code == 130
    assert "Repeat the command" in left.output
    assert not (folder / "m.deciban").exists()
    assert (folder / "m.deciban.checkpoint").exists()


@pytest.mark.slow
def test_a_checkpoint_of_another_fit_is_refused_and_replaced_only_with_force(folder):
    words = ("fit", "iris.csv", "--label", "species", "-o", "m.deciban", "--epochs", "1")
    left = folder / "m.deciban.checkpoint"
    model = CompositionalDiscriminantAnalysis(epochs=1, checkpoint=left, random_state=0)
    model.fit(*load_iris(return_X_y=True))
    assert refused(*words) == (
        "m.deciban.checkpoint is left from an interrupted fit with other data or settings. Repeat "
        "that command to finish it, choose another --output, or pass --force to start over, which "
        "deletes it."
    )
    assert left.exists()
    done(*words, "--force")
    assert not left.exists()
    left.write_text("not of deciban")
    assert "as a deciban file" in refused(*words, "--force")
    assert left.read_text() == "not of deciban"


@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("--prior", "setosa=0.5,setosa=0.2,versicolor=0.3,virginica=0.2", "names setosa twice"),
        ("--costs", "setosa>virginica=5,setosa>virginica=2", "names 'setosa>virginica' twice"),
    ],
)
def test_what_is_named_twice_is_refused(folder, option, text, said):
    fitted()
    words = ("predict", "m.deciban", "new.parquet", "-o", "x.csv", option, text)
    assert said in refused(*words)


def test_names_with_commas_and_arrows_can_be_written(folder):
    odd = {"setosa": "a, b", "versicolor": "a>b", "virginica": "b"}
    iris().with_columns(pl.col("species").replace(odd)).write_csv("iris.csv")
    fitted()
    words = ("predict", "m.deciban", "new.parquet", "--force", "-o", "out.csv")
    done(*words, "--prior", '"a, b"=0.5,a>b=0.3,b=0.2', "--costs", 'a>b>b=50,"a, b">b=2')
    typed = pl.read_csv("out.csv")
    (folder / "prior.csv").write_text('class,probability\nb,0.2\n"a, b",0.5\na>b,0.3\n')
    (folder / "costs.csv").write_text('truth,"a, b",a>b,b\n"a, b",0,1,2\na>b,1,0,50\nb,1,1,0\n')
    done(*words, "--prior", "prior.csv", "--costs", "costs.csv")
    assert typed.equals(pl.read_csv("out.csv"))
    assert "names with commas in double quotes" in refused(*words, "--prior", "a, b=0.5,b=0.5")
    (folder / "prior.csv").write_text("class,p,q\nb,1,2\n")
    assert "table of two columns" in refused(*words, "--prior", "prior.csv")
    assert """'"a, b"=0.333,"a>b"=0.333,b=0.334'""" in refused(*words, "--prior", "b=1")
    for text in ('b>"a, b"=5', '"b">"a, b"=5', '"b>a, b"=5', 'b>"a>b"=3'):
        done(*words, "--costs", text)


def test_an_error_that_can_be_read_in_two_ways_is_refused():
    from deciban.cli.operating import parse_costs, parse_prior

    classes = ("a", "a>b", "b>c", "c")
    with pytest.raises(InputError, match="can be read in 2 ways"):
        parse_costs("a>b>c=5", classes)
    C = parse_costs("a>c=5,a>b>a=7", classes)
    assert (C[0, 3], C[1, 0], C.sum()) == (5, 7, 22)
    with pytest.raises(InputError, match=r"f=0\.167,…'"):
        parse_prior("a", "--prior", ("c", "d", "e", "f", "g", "h"))


def test_what_fills_gaps_is_learnt_from_the_rows_that_are_learnt_from(folder):
    gaps = iris().with_columns(
        pl.when(pl.int_range(150) % 4 > 0).then("petal_length").alias("petal_width")
    )
    gaps.write_csv("iris.csv")
    first = json.loads(fitted("--validation", "0.5", "--json").stdout)
    whole = json.loads(fitted("--validation", "0", "--force", "--json").stdout)
    assert (first["rows"], first["held_out"]["counts"]) == (75, [25, 25, 25])
    assert whole["filled"]["petal_width"] == gaps["petal_width"].median()
    assert first["filled"]["petal_width"] != gaps["petal_width"].median()


def test_huge_numbers_and_empty_tables_are_named(folder):
    huge = iris().with_columns(pl.when(pl.int_range(150) == 7).then(1e200).otherwise(
        "petal_width").alias("petal_width"))  # fmt: skip
    huge.write_csv("huge.csv")
    said = "petal_width in huge.csv holds 1e+200 in row 8; numbers up to 1e+100 can be used"
    assert said in refused("fit", "huge.csv", "--label", "species", "-o", "x")
    fitted()
    assert said in refused("predict", "m.deciban", "huge.csv", "-o", "x.csv")
    iris().head(0).write_csv("none.csv")
    assert "none.csv has no rows" in refused("explain", "m.deciban", "none.csv", "--row", "1")


def test_an_output_that_cannot_be_written_is_refused_before_the_work(folder, monkeypatch):
    import os

    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    words = ("fit", "iris.csv", "--label", "species", "-o", "m.deciban")
    assert "folder that cannot be written" in refused(*words)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="has no /dev/full")
def test_a_full_disk_and_a_closed_output_end_in_a_sentence(folder):
    fitted()
    words = [sys.executable, "-m", "deciban.cli", "explain", "m.deciban", "iris.csv"]
    with open("/dev/full", "w") as full:
        found = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert found.returncode == 2
    assert found.stderr.startswith("Cannot write to standard output: No ")
    assert found.stderr.count("\n") == 1
    shell = f"{sys.executable} -m deciban.cli --version >&-"
    assert subprocess.run(shell, shell=True, capture_output=True, check=False).returncode == 0


def test_numbers_with_gaps_in_words_are_numbers(folder):
    words = [str(x) for x in iris()["petal_width"]]
    words[3], words[77] = "NA", "nan"
    iris().with_columns(pl.Series("petal_width", words)).write_csv("iris.csv")
    fit = ("fit", "iris.csv", "--label", "species", "-o", "m.deciban", "--model", "lda")
    assert "6 features" in done(*fit).output
    done("predict", "m.deciban", "iris.csv", "-o", "out.csv")
    words[3] = "0,2"
    iris().with_columns(pl.Series("petal_width", words)).write_csv("new.csv")
    said = "petal_width in new.csv holds '0,2' in row 4; in training it held numbers"
    assert said in refused("predict", "m.deciban", "new.csv", "-o", "x.csv")
    with pytest.warns(UnseenValueWarning, match=r"'0\.5', .* in 'petal_width'"):  # set aside
        told = done("fit", "new.csv", "--label", "species", "-o", "n.deciban", "--model", "lda")
    assert "petal_width is taken as text with 24 values, since row 4 holds '0,2'" in told.output
    many = [f"{k / 7:.3f}" for k in range(149)] + ["x"]
    iris().with_columns(pl.Series("petal_width", many)).write_csv("many.csv")
    said = refused("fit", "many.csv", "--label", "species", "-o", "n2.deciban")
    assert "such as 'x' in row 150" in said


@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("--costs", 'setosa>virginica=1,"virginica>setosa=2', "must close its quotes"),
        ("--costs", "x" * 300, "or a table that exists"),
        ("--prior", "x" * 300, "--prior must be like"),
    ],
)
def test_what_cannot_be_a_prior_or_costs_ends_in_a_sentence(folder, option, text, said):
    fitted()
    assert said in refused("predict", "m.deciban", "new.parquet", "-o", "x.csv", option, text)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of files are the shell's")
def test_a_model_that_does_not_fit_on_the_disk_is_named(folder):
    shell = (
        f"ulimit -f 2; {sys.executable} -m deciban.cli fit iris.csv --label species --model lda "
        f"-o m.deciban --report r.html"
    )
    found = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert "File too large" in found.stderr
    quiet = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m deciban.cli predict no no -o x 2>&-"], check=False
    )
    assert quiet.returncode == 2


def test_a_word_for_nothing_in_a_column_of_text_is_named(folder):
    site = pl.Series("site", ["north", "NA", "east"] * 50)
    iris().with_columns(site).write_csv("iris.csv")
    assert "site treats 'NA' as an ordinary value" in fitted().output


@pytest.mark.parametrize("word", ["NA", "?", " NA ", "nan"])
def test_a_gap_is_a_gap_whatever_else_the_table_holds(folder, word):
    gaps = iris().with_columns(pl.when(pl.int_range(150) > 3).then("petal_width"))
    gaps.write_csv("iris.csv")
    fitted()
    row = iris().head(1).with_columns(pl.lit(word).alias("petal_width"))
    row.write_csv("one.csv")
    done("predict", "m.deciban", "one.csv", "-o", "out.csv")
    row.with_columns(pl.lit(None).alias("petal_width")).write_csv("empty.csv")
    done("predict", "m.deciban", "empty.csv", "-o", "same.csv")
    assert pl.read_csv("out.csv").equals(pl.read_csv("same.csv"))
    assert "Decision: setosa" in done("explain", "m.deciban", "one.csv").output


def test_what_predict_writes_can_be_evaluated_at_a_prior(folder):
    fitted()
    done("predict", "m.deciban", "iris.csv", "-o", "out.csv")  # it carries the species along
    words = ["evaluate", "out.csv", "--truth", "species", "--json"]
    found = json.loads(done(*words, "--prior", "setosa=80%,virginica=10%").stdout)
    assert "Log-likelihoods: columns log_likelihood_setosa," in done(*words[:-1]).stdout
    explicit = json.loads(done(*words, "--llr", "log_likelihood_*").stdout)
    assert found["prior"] == pytest.approx([0.8, 0.1, 0.1])
    assert found["counts"] == explicit["counts"] == [50, 50, 50]
    table = pl.read_csv("out.csv")
    plain = table.with_columns(**{name: pl.lit(0.0) for name in load_iris().target_names})
    plain.write_csv("both.csv")  # columns of the classes themselves come first
    words[1] = "both.csv"
    first = json.loads(done(*words).stdout)
    accuracy = next(q for q in first["quantities"] if q["key"] == "normalized_cross_entropy")
    assert accuracy["value"] == pytest.approx(1)


def test_an_open_set_has_one_class_more(folder):
    told = fitted("--open-set", "none")
    assert "'none': learned from how the classes differ" in told.output
    assert "Its prior in predict is 0.2 unless --prior says otherwise." in told.output
    far = pl.DataFrame({name: [50.0, -20.0] for name in NAMES})
    far.with_columns(pl.lit("north").alias("site")).write_csv("far.csv")
    done("predict", "m.deciban", "far.csv", "-o", "out.csv")
    out = pl.read_csv("out.csv")
    assert out["decision"].to_list() == ["none", "none"]
    assert {"log_likelihood_none", "posterior_none", "ilr_3"} <= set(out.columns)
    assert deciban.load("m.deciban").classes_.tolist()[0] == "none"


def test_the_prior_of_the_open_class_is_one_fifth(folder):
    fitted("--open-set", "none")
    done("predict", "m.deciban", "new.parquet", "-o", "out.csv")
    out = pl.read_csv("out.csv").filter(pl.col("decision") == "versicolor")
    odds = np.log(out["posterior_none"].to_numpy() / out["posterior_versicolor"].to_numpy())
    llr = (out["log_likelihood_none"] - out["log_likelihood_versicolor"]).to_numpy()
    np.testing.assert_allclose(odds - llr, np.log(0.2 / (0.8 / 3)), atol=1e-6)


def test_rows_of_the_open_class_are_learned_from_and_assessed(folder):
    told = json.loads(fitted("--open-set", "virginica", "--json").stdout)
    assert told["open_set"] == {"class": "virginica", "learned_from": "rows", "prior": 0.2}
    assert told["classes"] == ["setosa", "versicolor", "virginica"]
    assert len(told["held_out"]["classes"]) == 3
    assert "in parts" in refused(
        "fit", "iris.csv", "--label", "species", "-o", "n.deciban", "--open-set", "none",
        "--memory", "1",
    )  # fmt: skip


def write_codes(codes, rows=slice(None)):
    frame = iris()[rows].with_columns(pl.col("species").replace_strict(codes))
    frame.write_parquet("coded.parquet")
    return frame


@pytest.mark.parametrize(
    ("codes", "name", "label"),
    [
        ({"setosa": 0, "versicolor": 1, "virginica": 2}, "-1", -1),
        ({"setosa": 0, "versicolor": 1, "virginica": 2}, "other", "other"),
        ({"setosa": True, "versicolor": False, "virginica": True}, "other", "other"),
        ({"setosa": 0, "versicolor": 1, "virginica": -1}, "-1", -1),
    ],
)
def test_an_open_set_of_numbers_or_truth_values_predicts(folder, codes, name, label):
    write_codes(codes)
    words = ("--label", "species", "-o", "n.deciban", "--model", "lda", "--open-set", name)
    told = json.loads(done("fit", "coded.parquet", *words, "--json").stdout)
    assert told["open_set"]["class"] == label
    assert label in told["classes"]
    found = json.loads(
        done("predict", "n.deciban", "new.parquet", "-o", "out.csv", "--json").stdout
    )
    decided = pl.read_csv("out.csv", infer_schema=False)["decision"]
    assert found["decisions"].keys() == set(map(str, told["classes"]))
    assert sum(found["decisions"].values()) == 150
    counts = {str(c): n for c, n in found["decisions"].items() if n}
    folded = [text.title() if text in ("true", "false") else text for text in decided]
    assert counts == {one: folded.count(one) for one in set(folded)}


def test_an_open_set_needs_a_name_and_no_single_row(folder):
    words = ("--label", "species", "-o", "n.deciban", "--model", "lda", "--validation", "0")
    assert "--open-set must be a name" in refused("fit", "iris.csv", *words, "--open-set", "")
    iris()[:101].write_csv("one.csv")
    said = refused("fit", "one.csv", *words, "--open-set", "virginica")
    assert "has one row to learn from" in said
    assert "density" not in said


@pytest.mark.parametrize("name", ["Virginica", " virginica", "VIRGINICA "])
def test_an_open_set_that_is_nearly_a_label_is_refused(folder, name):
    words = ("--label", "species", "-o", "n.deciban", "--model", "lda", "--open-set", name)
    said = refused("fit", "iris.csv", *words)
    assert "some rows are labeled 'virginica'. Give --open-set 'virginica'" in said


def test_an_open_set_leaves_two_classes_or_more(folder):
    iris()[:100].write_csv("two.csv")
    words = ("--label", "species", "-o", "n.deciban", "--model", "lda", "--open-set", "setosa")
    said = refused("fit", "two.csv", *words)
    assert "two classes or more besides --open-set 'setosa'." in said


def write_days(n=120):
    rng = np.random.default_rng(0)
    day = np.datetime64("2020-01-01") + rng.integers(0, 300, n)
    y = rng.integers(0, 2, n)
    x, flag = rng.normal(size=n) + y, rng.random(n) < 0.3 + 0.4 * y
    flags = [None, *flag[1:]]
    frame = pl.DataFrame({"day": day.astype(str), "x": x, "flag": flags, "y": y})
    frame.write_csv("days.csv")
    done("fit", "days.csv", "--label", "y", "-o", "d.deciban", "--model", "lda")
    return frame


def test_contributions_of_dates_are_plain_data(folder):
    frame = write_days()
    told = json.loads(
        done("explain", "d.deciban", "days.csv", "--background", "days.csv", "--json").output
    )
    values = {one["feature"]: one["value"] for one in told["contributions"]["features"]}
    assert values["day"].startswith(frame["day"][0])
    text = done("explain", "d.deciban", "days.csv", "--background", "days.csv").output
    assert f"{frame['x'][0]:.6g}" in text
    assert str(frame["x"][0]) not in text
    frame[:1].write_csv("one.csv")
    assert "1 row of --background" in done(
        "explain", "d.deciban", "days.csv", "--background", "one.csv"
    ).output  # fmt: skip


def test_a_background_may_be_written_in_other_types_than_the_row(folder):
    frame = write_days()
    frame[:1].write_csv("gap.csv")  # without a truth value
    frame.with_columns(pl.col("day").str.to_datetime()).write_parquet("times.parquet")
    frame[:1].with_columns(pl.col("day").str.to_date()).write_parquet("date.parquet")
    for table, background in (("gap.csv", "days.csv"), ("date.parquet", "times.parquet")):
        told = json.loads(
            done("explain", "d.deciban", table, "--background", background, "--json").output
        )
        found = told["contributions"]
        assert found["total_deciban"] == pytest.approx(
            told["nodes"][0]["deciban"] * (1 if found["for"] == "0" else -1)
        )


def test_explain_does_not_overwrite_what_it_reads(folder):
    fitted()
    iris().write_csv("background.csv")
    pl.DataFrame({"class": ["setosa", "versicolor", "virginica"], "p": [0.2, 0.3, 0.5]}).write_csv(
        "prior.csv"
    )
    for option, file in (("--background", "background.csv"), ("--prior", "prior.csv")):
        words = ("explain", "m.deciban", "iris.csv", option, file, "--report")
        assert " too. Choose another name" in refused(*words, file, "--force")
    done(*words, "case.html")
    assert "prior.csv" in (folder / "case.html").read_text()


def test_a_tree_with_a_node_named_like_a_class_is_refused(folder):
    write_codes({"setosa": 0, "versicolor": 1, "virginica": 2})
    done("fit", "coded.parquet", "--label", "species", "-o", "n.deciban", "--model", "lda")
    Path("tree.json").write_text('{"0": "0", "1": [1, 2]}')
    words = ("predict", "n.deciban", "new.parquet", "-o", "out.csv", "--hierarchy")
    assert "--hierarchy tree.json: '1' has children but is a class" in refused(*words, "tree.json")
    Path("Tree.JSON").write_bytes(b'\xef\xbb\xbf{"0": "0", "high": [1, 2]}')
    done(*words, "Tree.JSON")
    Path("tree.csv").write_text("child,parent\n0,all\nhigh,all\n1,high\n2,high\nall,\n")
    done(*words, "tree.csv", "--force")
    Path("empty.csv").write_text("child,parent\n")
    assert "empty.csv has 2 columns and 0 rows" in refused(*words, "empty.csv", "--force")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("t.json", '{"a": ["setosa"], "b": ["versicolor", "virginica"]}',
         "--hierarchy t.json: every inner node must have two children"),
        ("t.json", '{"a": [], "b": ["versicolor", "virginica"]}',
         "got [] below 'a'. Name its children, or leave the node out."),
        ("t.json", '["setosa", ["versicolor", "rosa"]]',
         "--hierarchy t.json: each leaf must name one of the classes setosa, versicolor"),
        ("t.csv", "child,parent\nsetosa,setosa\n", "--hierarchy t.csv: pairs must give each child"),
    ],
)  # fmt: skip
def test_errors_about_a_tree_name_its_file(folder, name, text, says):
    fitted()
    Path(name).write_text(text)
    words = ("predict", "m.deciban", "new.parquet", "-o", "out.csv", "--hierarchy", name)
    assert says in " ".join(refused(*words).split())
