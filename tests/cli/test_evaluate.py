"""``deciban evaluate``, as one types it."""

import json

import numpy as np
import polars as pl
import pytest

from commands import runner
from deciban import CalibratedGaussian, metrics
from deciban.exceptions import InputError

CLASSES = ["cat", "dog", "owl"]


run = runner(160, "evaluate")


def values(*args):
    done = run(*args, "--json", "--resamples", "20")
    return {q["key"]: q["value"] for q in json.loads(done.stdout)["quantities"]}


@pytest.fixture
def two(tmp_path):
    y = np.arange(200) % 2
    llr = np.random.default_rng(0).normal(2 * y - 1, 1) * 2
    frame = pl.DataFrame({"class": np.where(y, "same", "diff"), "other": llr * 0, "llr": llr})
    path = tmp_path / "llr.csv"
    frame.write_csv(path)
    return y, llr, path


@pytest.fixture
def three(tmp_path):
    family = CalibratedGaussian.from_divergences([3.0, 4.0, 5.0])
    l, y = family.sample([60, 50, 40], rng=0)
    evidence = family.evidence(l).rename(CLASSES)
    columns = {f"ll_{c}": evidence.log_likelihoods[:, k] for k, c in enumerate(CLASSES)}
    path = tmp_path / "ll.parquet"
    pl.DataFrame({"class": np.array(CLASSES)[y], **columns}).write_parquet(path)
    return np.array(CLASSES)[y], evidence, path


def test_a_column_of_llrs_gives_a_table_with_meanings(two):
    y, llr, path = two
    done = run(path, "--truth", "class=same")
    assert done.exit_code == 0
    assert "class diff: 100; class same: 100" in done.stdout
    assert f"{metrics.cllr(y, llr):.4f}" in done.stdout
    assert "95 % interval" in done.stdout
    assert "1 is the cost of no evidence" in done.stdout


def test_json_has_the_numbers_of_the_metrics(two):
    y, llr, path = two
    found = values(path, "--truth", "class=same")
    assert found["cllr"] == pytest.approx(metrics.cllr(y, llr))
    assert found["eer"] == pytest.approx(metrics.eer(y, llr))


def test_llrs_to_the_base_ten_are_read_as_such(two):
    y, llr, path = two
    found = values(path, "--truth", "class=same", "--base", "10")
    assert found["cllr"] == pytest.approx(metrics.cllr(y, llr * np.log(10)))


def test_the_positive_class_may_come_first_in_the_alphabet(two):
    y, llr, path = two
    found = values(path, "--truth", "class=diff")
    assert found["cllr"] == pytest.approx(metrics.cllr(1 - y, llr))


@pytest.mark.parametrize("labels", [[0, 1], [False, True], [0.0, 1.0]])
def test_labels_of_zero_and_one_need_no_positive(two, tmp_path, labels):
    y, llr, _ = two
    frame = pl.DataFrame({"y": [labels[k] for k in y], "score": llr})
    frame.write_parquet(tmp_path / "s.parquet")
    found = values(tmp_path / "s.parquet", "--truth", "y", "--llr", "score")
    assert found["cllr"] == pytest.approx(metrics.cllr(y, llr))


def test_infinite_llrs_may_be_written_as_text(tmp_path):
    (tmp_path / "s.csv").write_text("y,llr\n1,inf\n0,-inf\n1,1.5\n0, -Inf\n0,2\n1,0\n")
    found = values(tmp_path / "s.csv", "--truth", "y")
    expected = metrics.cllr([1, 0, 1, 0, 0, 1], [np.inf, -np.inf, 1.5, -np.inf, 2, 0])
    assert found["cllr"] == pytest.approx(expected)


def test_log_likelihoods_are_found_by_the_names_of_the_classes(three):
    truth, evidence, path = three
    expected = metrics.cross_entropy(truth, evidence)
    assert values(path, "--truth", "class", "--llr", "ll_*")["cross_entropy"] == pytest.approx(
        expected
    )
    with pytest.raises(InputError, match="'class': l_cat, l_dog, l_owl"):
        run(path, "--truth", "class", "--llr", "l_*")


def test_posteriors_give_their_prior_back(three, tmp_path):
    truth, evidence, _ = three
    p = evidence.posterior([0.4, 50 / 150, 40 / 150])
    frame = pl.DataFrame({"class": truth, **{c: p[:, k] for k, c in enumerate(CLASSES)}})
    path = tmp_path / "p.csv"
    frame.write_csv(path)
    for prior in ("empirical", "cat=0.4,dog=0.33333333,owl=0.26666667"):
        found = values(path, "--truth", "class", "--posteriors", prior)
        assert found["cross_entropy"] == pytest.approx(
            metrics.cross_entropy(truth, evidence), rel=1e-6
        )
    with pytest.raises(InputError, match="Pass --posteriors"):
        run(path, "--truth", "class")


def test_another_prior_and_costs_are_taken(three, tmp_path):
    truth, evidence, path = three
    prior = {"cat": 0.7, "dog": 0.2, "owl": 0.1}
    C = 1 - np.eye(3)
    C[0, 1] = 5
    text = ("--prior", "cat=0.7,dog=0.2,owl=0.1")
    base = (path, "--truth", "class", "--llr", "ll_*", *text)
    expected = metrics.expected_cost(truth, evidence, C, prior=prior)
    assert values(*base, "--costs", "cat>dog=5")["expected_cost"] == pytest.approx(expected)
    table = tmp_path / "costs.csv"
    table.write_text("truth,owl,cat,dog\ncat,1,0,5\nowl,0,1,1\ndog,1,1,0\n")
    assert values(*base, "--costs", table)["expected_cost"] == pytest.approx(expected)


def test_several_operating_points_are_taken_in_nists_order(two):
    y, llr, path = two
    options = (path, "--truth", "class=same", "--dcf", "10:1:0.01")
    found = values(*options, "--dcf", "1:1:0.05", "--dcf", "1:2:0.5")
    points = [(10, 1, 0.01), (1, 1, 0.05), (1, 2, 0.5)]
    at = {"cost_miss": 10, "prior": 0.01}
    assert found["detection_cost@10:1:0.01"] == pytest.approx(metrics.detection_cost(y, llr, **at))
    least = metrics.min_detection_cost(y, llr, **at)
    assert found["min_detection_cost@10:1:0.01"] == pytest.approx(least)
    assert found["c_primary"] == pytest.approx(metrics.c_primary(y, llr, points))
    least = metrics.c_primary(y, llr, points, minimum=True)
    assert found["min_c_primary"] == pytest.approx(least)
    assert "c_primary" not in values(*options)  # the mean of one point is that point
    assert "Detection cost at 10:1:0.01" in run(*options, "--resamples", "0").stdout


def test_c_avg_of_three_classes(three, two):
    labels, evidence, path = three
    options = (path, "--truth", "class", "--llr", "ll_*", "--dcf", "c-avg")
    found = values(*options, "--dcf", "1:1:0.5", "--dcf", "1:1:0.1")
    assert found["c_avg"] == pytest.approx(metrics.c_avg(labels, evidence))
    each = [metrics.c_avg(labels, evidence, p_target=p, normalize=True) for p in (0.5, 0.1)]
    assert found["c_primary"] == pytest.approx(np.mean(each))
    assert "C_avg" in run(*options, "--resamples", "0").stdout
    with pytest.raises(InputError, match="C_avg is for three classes"):
        run(two[2], "--truth", "class=same", "--dcf", "c-avg")


def test_results_by_condition_name_the_worst(two, tmp_path):
    y, llr, path = two
    seconds = np.array([3, 10, 30])[np.arange(200) % 3]
    pl.read_csv(path).with_columns(pl.Series("seconds", seconds)).write_csv(path)
    options = (path, "--truth", "class=same", "--by", "seconds")
    report = tmp_path / "r.html"
    plain = json.loads(run(*options, "--json", "--resamples", "20", "--report", report).stdout)
    assert [one["name"] for one in plain["by"]["conditions"]] == [3, 10, 30]
    costs = [metrics.cllr(y[seconds == s], llr[seconds == s]) for s in (3, 10, 30)]
    found = [one["quantities"][0]["value"] for one in plain["by"]["conditions"]]
    assert found == pytest.approx(costs)
    assert plain["by"]["mean"]["cllr"] == pytest.approx(np.mean(costs))
    assert plain["by"]["worst"] == [3, 10, 30][np.argmax(costs)]
    sentence = f"The worst seconds by Cllr is {plain['by']['worst']}: "
    assert sentence in run(*options, "--resamples", "0").stdout
    page = report.read_text()
    assert "Results by condition" in page
    assert sentence in page
    with pytest.raises(InputError, match="no column 'second', which --by needs"):
        run(*options[:-1], "second")


@pytest.mark.parametrize("place", ["key", "scores"])
def test_conditions_may_stand_in_the_key_or_in_the_scores(two, tmp_path, place):
    y, llr, _ = two
    room = np.array(["a", "", "b c"])[np.arange(200) % 3]  # the second is an empty cell
    labels = np.where(y, "target", "nontarget")
    key = pl.DataFrame({"model": "m", "segment": np.arange(200), "label": labels})
    scores = pl.DataFrame({"model": "m", "segment": np.arange(200), "score": llr}).reverse()
    column = pl.Series("room", room)
    if place == "key":
        key = key.with_columns(column)
    else:
        scores = scores.with_columns(column.reverse())
    key.write_csv(tmp_path / "key.csv")
    scores.write_csv(tmp_path / "scores.csv")
    options = (tmp_path / "scores.csv", "--key", tmp_path / "key.csv", "--resamples", "0")
    plain = json.loads(run(*options, "--by", "room", "--json").stdout)["by"]
    assert [one["name"] for one in plain["conditions"]] == ["(empty)", "a", "b c"]
    assert plain["conditions"][2]["quantities"][0]["value"] == pytest.approx(
        metrics.cllr(y[room == "b c"], llr[room == "b c"])
    )
    with pytest.raises(InputError, match="no column 'hall', which --by needs, nor"):
        run(*options, "--by", "hall")


def test_the_prior_of_one_class_leaves_the_rest_to_the_other(two, three):
    y, llr, path = two
    options = (path, "--truth", "class=same")
    found = values(*options, "--prior", "same=0.01")
    assert found == values(*options, "--prior", "diff=0.99,same=0.01")
    assert found["detection_cost"] == pytest.approx(metrics.detection_cost(y, llr, prior=0.01))
    labels, evidence, path = three
    found = values(path, "--truth", "class", "--llr", "ll_*", "--prior", "cat=0.2,owl=0.5")
    expected = metrics.cross_entropy(labels, evidence, prior=[0.2, 0.3, 0.5])
    assert found["cross_entropy"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--dcf", "10:1"], "--dcf must be C_miss:C_fa:P_target"),
        (["--dcf", "10:1:0.01:3"], "--dcf must be C_miss:C_fa:P_target"),
        (["--dcf", "a:1:0.01"], "got 'a:1:0.01'"),
        (["--dcf", "10:0:0.01"], "two costs above zero"),
        (["--dcf", "10:1:1"], "a probability between 0 and 1"),
        (["--dcf", "nan:1:0.1"], "--dcf must be C_miss"),
        (["--dcf", "1:1:0.1", "--dcf", "1.0:1:.1"], "each operating point once; 1.0:1:.1 is"),
        (["--prior", "same=1"], "--prior must name every class; it lacks diff"),
        (["--prior", "same=-0.5"], "above zero"),
    ],
)
def test_operating_points_that_cannot_be_taken_end_in_a_sentence(two, options, words):
    *_, path = two
    with pytest.raises(InputError, match=words) as refused:
        run(path, "--truth", "class=same", *options)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("header", [True, False])
def test_trial_lists_are_joined_with_their_key(two, tmp_path, header):
    y, llr, _ = two
    scores = [f"m{i // 20} s{i % 20} {v}" for i, v in enumerate(llr)]
    key = [f"m{i // 20}\ts{i % 20}\t{'target' if v else 'nontarget'}" for i, v in enumerate(y)]
    if header:
        scores.insert(0, "model segment score")
        key.append("modelid\tsegmentid\ttargettype")
    (tmp_path / "s.txt").write_text("\n".join(scores))
    (tmp_path / "k.tsv").write_text("\n".join(reversed(key)) + "\n")
    found = values(tmp_path / "s.txt", "--key", tmp_path / "k.tsv")
    assert found["cllr"] == pytest.approx(metrics.cllr(y, llr))
    assert values(tmp_path / "s.txt", "--truth", tmp_path / "k.tsv") == found


def test_trials_that_do_not_match_are_counted(tmp_path):
    s, k = tmp_path / "s.txt", tmp_path / "k.csv"
    s.write_text("m a 1\nm b 2\nm c 3\n")
    k.write_text("model,segment,label\nm,a,target\nm,d,nontarget\nm,e,nontarget\n")
    with pytest.raises(InputError, match=r"lacks 2 of the 3 trials .*, such as \(m, d\)"):
        run(s, "--key", k)
    k.write_text("model,segment,label\nm,a,target\nm,b,nontarget\n")
    assert "Left out: 1 of 3 scores (no label in" in run(s, "--key", k).stdout
    s.write_text("m a 1\nm a 2\nm b 3\n")
    with pytest.raises(InputError, match=r"several scores for 1 of 2 trials, such as \(m, a\)"):
        run(s, "--key", k)
    s.write_text("m a 1\nm b\n")
    with pytest.raises(InputError, match="2 cells on line 2"):
        run(s, "--key", k)
    s.write_bytes(b"m a 1\nm \xff 2\n")
    with pytest.raises(InputError, match="UTF-8"):
        run(s, "--key", k)
    s.write_text("m a 1\nm b x\n")
    with pytest.raises(InputError, match="row 2 holds 'x'"):
        run(s, "--key", k)
    s.write_text("")
    with pytest.raises(InputError, match="is empty"):
        run(s, "--key", k)
    with pytest.raises(InputError, match="not found"):
        run(tmp_path / "none.txt", "--key", k)
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="columns model, segment and score"):
        run(tmp_path / "x.csv", "--key", k)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("y,llr\n1,2\n0,\n", "", "row 2 has one"),
        ("y,llr\n1,2\n0,nan\n", "", "row 2 holds"),
        ("y,llr\n1,2\n0,1e305\n", "", "row 2 holds '1e305'"),
        ("y,llr\n1,2\n0,high\n", "", "row 2 holds 'high'"),
        ("y,llr\n1,2\n,3\n", "", "y in .* must have no empty cells; row 2"),
        ("y,llr\n1,2\n1,3\n", "", "two classes or more"),
        ("y,llr\n1,2\n0,3\n2,4\n", "", "'llr' is an LLR of two classes, and there are 3"),
        ("y,llr\n1.5,2\n0,3\n", "", "numbers with fractions"),
        ("y,llr\na,2\nb,3\n", "", "Which class do the LLRs favor, a or b.* --truth y=b"),
        ("y,llr\na,2\nb,3\n", "--truth y=c", "--truth must name one of the classes a, b"),
        ("y,llr\na,2\nb,3\n", "--truth y --key y", "Give one --truth or one --key"),
        ("y,llr\na,2\nb,3\n", "--key kye.txt", "kye.txt: not found|kye.txt not found"),
        ("y,x\n1,2\n0,3\n", "", "has no column llr, or lacks one for a class"),
        ("y,x\n1,2\n0,3\n", "--llr z", "no column 'z', which --llr needs"),
        ("y,llr\n1,2\n0,3\n", "--base 7", "--base must be one of e, 2, 10"),
        (
            "y,llr\n1,2\n0,3\n",
            "--llr llr --posteriors uniform",
            "takes the prior that the post",
        ),
        ("y,0,1\n1,.5,.5\n0,.4,.6\n", "--posteriors auto", "takes the prior that the posteriors"),
        ("y,0,1\n1,.5,.5\n0,.4,.7\n", "--posteriors uniform", "row 2 sums to 1.1"),
        ("y,0,1\n1,1,2\n0,inf,3\n", "", r"below \+inf.*row 2 does not"),
        ("y,llr\n1,2\n0,3\n", "--prior 0.5", "--prior must be like '0=0.5,1=0.5'"),
        ("y,llr\n1,2\n0,3\n", "--prior 0=1,1=0", "one of them is 0"),
        ("y,llr\n1,2\n0,3\n", "--prior target=0.1", "got 'target'. The target is '1'."),
        (
            "y,a,b\na,2,1\nb,1,3\nother,0,0\n",
            "--dcf c-avg",
            "Add it, also for a class that is out of the set",
        ),
        ("y,llr\n1,2\n0,3\n", "--prior 0=0.6,1=0.6", "sum to 1.2"),
        ("y,llr\n1,2\n0,3\n", "--prior 0=1", "lacks 1"),
        ("y,llr\n1,2\n0,3\n", "--prior 0=x,1=0.6", "finite numbers"),
        ("y,llr\n1,2\n0,3\n", "--costs 0>1", "--costs must be like"),
        ("y,llr\n1,2\n0,3\n", "--costs none.csv", "a table that exists"),
        ("y,llr\n1,2\n0,3\n", "--costs 0>1=-3", "costs must be higher"),
        ("y,llr\n", "", "has no rows"),
    ],
)
def test_what_cannot_be_judged_ends_in_a_sentence(tmp_path, text, options, words):
    path = tmp_path / "s.csv"
    path.write_text(text)
    truth = [] if "--truth" in options or "--key" in options else ["--truth", "y"]
    with pytest.raises(InputError, match=words) as refused:
        run(path, *truth, *options.split())
    assert "\n" not in str(refused.value)


def test_a_truth_that_is_no_column_is_told_the_nearest(two):
    with pytest.raises(InputError, match="Did you mean 'class'"):
        run(two[2], "--truth", "clas")
    with pytest.raises(InputError, match="--truth is missing"):
        run(two[2])
    assert "Missing argument" in run("--truth", "class").stderr


def test_a_report_is_written_whole_and_not_over_another(two, tmp_path, monkeypatch):
    seen = {}

    def report(truth, evidence, **options):
        seen.update(options, truth=truth, evidence=evidence)
        return "<html></html>"

    monkeypatch.setattr("deciban.report.report", report)
    target = tmp_path / "out.html"
    base = (two[2], "--truth", "class=same", "--resamples", "0")
    done = run(*base, "--report", target)
    assert target.read_text() == "<html></html>"
    assert f"Report: {target}" in done.stdout.replace("\n", "")
    assert seen["title"] == "llr.csv"
    assert seen["truth"].tolist()[:2] == ["diff", "same"]
    assert seen["assessment"].classes == ("diff", "same")
    with pytest.raises(InputError, match=r"--report .* exists"):
        run(*base, "--report", target)
    json.loads(run(*base, "--report", target, "--force", "--json").stdout)


def test_help_has_an_example():
    done = run("--help")
    assert "deciban evaluate scores.csv --truth class" in done.stdout
    assert "log10 LRs" in done.stdout


def test_a_column_of_a_trial_list_can_be_named_and_others_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    score = rng.normal(np.arange(80) % 2 * 2 - 1, 1)
    rows = [f"m{k} s{k} {x:.4f} {2 * x:.4f}" for k, x in enumerate(score)]
    (tmp_path / "t.txt").write_text("model segment score better\n" + "\n".join(rows))
    labels = ["target" if k % 2 else "nontarget" for k in range(80)]
    lines = [f"m{k} s{k} {label}" for k, label in enumerate(labels)]
    (tmp_path / "k.txt").write_text("\n".join(lines))
    base = (tmp_path / "t.txt", "--key", tmp_path / "k.txt")
    y = np.arange(80) % 2
    assert values(*base)["cllr"] == pytest.approx(metrics.cllr(y, score), abs=1e-3)
    found = values(*base, "--llr", "better")["cllr"]
    assert found == pytest.approx(metrics.cllr(y, 2 * score), abs=1e-3)
    with pytest.raises(InputError, match="model, segment and worse; its columns are model, segm"):
        run(*base, "--llr", "worse")
    (tmp_path / "bare.txt").write_text("\n".join(rows))
    with pytest.raises(InputError, match="must have the columns model, segment and better"):
        run(tmp_path / "bare.txt", "--key", tmp_path / "k.txt", "--llr", "better")
    for option, value in (("--posteriors", "uniform"), ("--llr", "*")):
        with pytest.raises(InputError, match=r"Scores of trials are LLRs"):
            run(*base, option, value)


def test_percentages_and_rounded_posteriors_are_taken(three, tmp_path):
    truth, evidence, _ = three
    base = ("--truth", "class", "--llr", "p_*", "--posteriors", "uniform")
    posterior = np.clip(evidence.posterior(), 0.01, None)
    posterior /= posterior.sum(axis=1, keepdims=True)
    costs = {}
    for name, table in {"exact": posterior, "percent": 100 * posterior,
                        "rounded": posterior.round(2)}.items():  # fmt: skip
        path = tmp_path / f"{name}.csv"
        columns = {f"p_{c}": table[:, k] for k, c in enumerate(CLASSES)}
        pl.DataFrame({"class": truth, **columns}).write_csv(path)
        costs[name] = values(path, *base)["cross_entropy"]
    assert costs["percent"] == pytest.approx(costs["exact"])
    assert costs["rounded"] == pytest.approx(costs["exact"], abs=0.02)
    with pytest.raises(InputError, match="positive and sum to 100 in every row"):
        run(tmp_path / "percent.csv", "--truth", "class", "--llr", "p_*")
    pl.DataFrame({"class": ["cat", "dog"], "p_cat": [0.5, 0.6], "p_dog": [0.5, 0.9]}).write_csv(
        path
    )
    with pytest.raises(InputError, match=r"row 2 sums to 1\.5"):
        run(path, *base)


def test_names_of_trials_are_text_and_no_scores(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"{k:03d}" for k in range(60)]
    score = rng.normal(np.arange(60) % 2 * 2 - 1, 1)
    trials = {"model": names, "segment": names, "score": score}
    (tmp_path / "s.csv").write_text(pl.DataFrame(trials).write_csv())
    lines = [f"{n} {n} {'target' if k % 2 else 'nontarget'}" for k, n in enumerate(names)]
    (tmp_path / "k.txt").write_text("\n".join(lines))
    base = (tmp_path / "s.csv", "--key", tmp_path / "k.txt")
    assert values(*base)["cllr"] == pytest.approx(metrics.cllr(np.arange(60) % 2, score))
    with pytest.raises(InputError, match="must have the columns model, segment and model"):
        run(*base, "--llr", "model")


def test_rounded_posteriors_are_not_taken_for_log_likelihoods(tmp_path):
    p = np.random.default_rng(0).dirichlet(np.ones(3), 60).round(2)
    path = tmp_path / "p.csv"
    frame = pl.DataFrame({"class": np.array(CLASSES)[np.arange(60) % 3],
                          **{c: p[:, k] for k, c in enumerate(CLASSES)}})  # fmt: skip
    frame.write_csv(path)
    with pytest.raises(InputError, match="sum to 1 in every row"):
        run(path, "--truth", "class")
    frame.with_columns(pl.lit(0.0).alias("cat"), pl.lit(0.0).alias("dog"), pl.lit(0.0).alias("owl")
                       ).write_csv(path)  # fmt: skip
    with pytest.raises(InputError, match="row 1 sums to 0"):
        run(path, "--truth", "class", "--posteriors", "uniform")


def test_the_terminal_json_and_the_report_say_what_to_do_in_the_same_words(two, tmp_path):
    _, _, path = two
    report = tmp_path / "r.html"
    options = (path, "--truth", "class", "--prior", "same=0.2", "--resamples", "50")
    found = json.loads(run(*options, "--json", "--report", report).stdout)
    action, sentence = found["action"], found["verdicts"][0]["sentence"]
    assert action in ("use it", "recalibrate it", "get more samples", "do not use it")
    assert "at a prior of 0.2 for same" in sentence
    assert f"{action.capitalize()}. {sentence}" in run(*options).stdout
    page = report.read_text("utf-8").replace("&nbsp;", " ")
    assert f'<span class="big">{action.capitalize()}</span>' in page
    assert sentence in page


def test_a_column_called_log10_asks_for_its_base(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("y,log10_lr\n1,2\n0,-3\n1,1\n0,-1\n")
    options = (path, "--truth", "y", "--llr", "log10_lr", "--resamples", "0")
    assert "give --base 10" in run(*options).stdout
    assert "give --base 10" not in run(*options, "--base", "10").stdout
