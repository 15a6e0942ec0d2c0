"""``deciban family``, as one types it."""

import json

import numpy as np
import pytest
import typer

from commands import runner
from deciban import CalibratedGaussian
from deciban.cli.commands.family import EXAMPLE, family
from deciban.exceptions import InputError

app = typer.Typer()
app.command(epilog=EXAMPLE)(family)


run = runner(app, 100)


def found(*args):
    return json.loads(run(*args, "--json").stdout)


def test_divergences_are_taken_row_by_row_and_the_output_says_so():
    done = run("--divergences", "5,7,4", "--classes", "a,b,c")
    assert "row by row: d12, d13, …, d23" in done.stdout
    lines = {line[:11]: line.split()[3] for line in done.stdout.splitlines() if " against " in line}
    assert lines == {"a against b": "5.0000", "a against c": "7.0000", "b against c": "4.0000"}
    assert "[nat²]" in done.stdout


def test_json_has_the_numbers_of_the_family():
    values = found("--divergences", "5,7,4")
    family = CalibratedGaussian.from_divergences([5.0, 7.0, 4.0])
    np.testing.assert_allclose(values["means"], family.means)
    np.testing.assert_allclose(values["covariance"], family.covariance)
    eers = [pair["eer"] for pair in values["pairs"]]
    np.testing.assert_allclose(eers, family.eers[np.triu_indices(3, 1)])
    assert values["pairs"][0]["expected_cllr_bit"] == pytest.approx(family.expected_cllr(0, 1))
    assert values["expected_cross_entropy_bit"] > 0
    assert values["classes"] == ["1", "2", "3"]


def test_small_numbers_do_not_round_to_zero():
    family = CalibratedGaussian.from_divergences([80.0])
    shown = run("--divergences", "80").stdout
    assert f"{100 * family.eers[0, 1]:.3g}" in shown
    assert f"{family.expected_cllr(0, 1):.3g}" in shown
    assert "bit\n" in shown
    assert " 0.0000 " not in shown


@pytest.mark.parametrize("text", ["4.16%", "0.0416", " 4.16 % "])
def test_error_rates_may_be_percentages(text):
    pair = found("--eers", text)["pairs"][0]
    assert pair["eer"] == pytest.approx(0.0416)
    expected = CalibratedGaussian.from_eers([0.0416]).divergences[0, 1]
    assert pair["divergence"] == pytest.approx(expected)


def test_units_are_of_what_is_given_and_of_what_is_printed():
    nats, bits = (
        found("--divergences", str(np.log(2))),
        found("--divergences", "1", "--unit", "bit"),
    )
    assert bits["pairs"][0]["eer"] == pytest.approx(nats["pairs"][0]["eer"])
    assert bits["pairs"][0]["divergence"] == pytest.approx(1)
    assert nats["means"][0][0] == pytest.approx(bits["means"][0][0] * np.log(2))
    assert nats["covariance"][0][0] == pytest.approx(bits["covariance"][0][0] * np.log(2) ** 2)


def test_the_nearest_family_is_taken_on_request():
    with pytest.raises(InputError, match="Give --nearest"):
        run("--divergences", "1,1,10")
    assert len(found("--divergences", "1,1,10", "--nearest")["pairs"]) == 3


@pytest.mark.parametrize(
    ("values", "name", "start"),
    [
        ("6", "f.svg", b"<?xml"),
        ("5,7,4", "f.png", b"\x89PNG"),
        pytest.param("5,7,4,6,6,6", "f.svg", b"<?xml", marks=pytest.mark.slow),
        ("6", "f.pdf", b"%PDF"),
    ],
)
def test_a_figure_is_drawn_and_is_the_same_each_time(tmp_path, values, name, start):
    pytest.importorskip("mpltern")
    path = tmp_path / name
    run("--divergences", values, "--figure", path, "--unit", "deciban")
    first = path.read_bytes()
    assert first.startswith(start)
    with pytest.raises(InputError, match="--figure must be a new file"):
        run("--divergences", values, "--figure", path)
    run("--divergences", values, "--figure", path, "--unit", "deciban", "--force")
    assert path.read_bytes() == first


@pytest.mark.parametrize("values", ["5", "5,4,7", "5,4,7,6,8,9"])
def test_the_title_and_names_of_a_figure_are_within_it(values):
    pytest.importorskip("mpltern")
    from deciban import CalibratedGaussian
    from deciban.cli.commands.family_figure import _figure

    names = ["Brazilian Portuguese", "European Portuguese", "Galician", "Castilian Spanish"]
    d = [float(v) for v in values.split(",")]
    D = {1: 2, 3: 3, 6: 4}[len(d)]
    delta = np.zeros((D, D))
    delta[np.triu_indices(D, 1)] = d
    family = CalibratedGaussian.from_divergences(delta + delta.T, classes=names[:D])
    fig = _figure(family, "deciban")
    fig.draw_without_rendering()
    texts = [fig._suptitle, *(text for ax in fig.axes for text in ax.texts)]
    assert texts[0].get_text()
    for text in texts:
        box = text.get_window_extent()
        assert 0 <= box.x0 <= box.x1 <= fig.bbox.width, text.get_text()
        assert 0 <= box.y0 <= box.y1 <= fig.bbox.height, text.get_text()
    for ax in fig.axes:
        assert not ax.get_title()  # it would be cut off at the sides of narrow axes


def test_many_classes_say_where_the_rest_is():
    many = ",".join(["5"] * 91)
    assert "--json has the rest" in run("--divergences", many).stdout
    assert len(found("--divergences", many)["covariance"]) == 13


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("", "got neither"),
        ("--divergences 5 --eers 0.1", "got both"),
        ("--divergences 5,7", "1, 3, 6, 10, …; got 2. Give 1 for 2 classes, or 3 for 3"),
        ("--divergences 5,x,4", "got 'x'"),
        ("--divergences 5,,4", "got ''"),
        ("--divergences 5,inf,4", "got 'inf'"),
        ("--divergences 5,0,4", "must be above zero"),
        ("--eers 60%", "between 0 and 50 %"),
        ("--eers 5", "Write percentages with a %"),
        ("--divergences 5,7,4 --classes a,b", "got 2 names"),
        ("--divergences 5,7,4 --classes a,b,a", "repeated name"),
        ("--divergences 5 --unit bits", "Did you mean 'bit'"),
        ("--divergences 5 --figure f.doc", "--figure must end in"),
    ],
)
def test_what_cannot_be_used_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        run(*options.split())


def test_more_classes_than_any_table_has_are_refused():
    with pytest.raises(InputError, match="500 classes at most; got 501"):
        run("--divergences", ",".join(["5"] * (501 * 500 // 2)))


def test_a_prior_and_costs_give_the_rates_of_decisions():
    options = ("--divergences", "5,7,4", "--classes", "a,b,c", "--prior", "a=0.7,b=0.2")
    values = found(*options, "--costs", "c>a=20")["decisions"]
    posterior = CalibratedGaussian.from_divergences([5.0, 7.0, 4.0]).with_prior([0.7, 0.2, 0.1])
    rates, error = posterior.decision_rates({(2, 0): 20.0})
    np.testing.assert_allclose(values["rates"], rates)
    np.testing.assert_allclose(values["rate_standard_errors"], error)
    assert values["expected_cost"] == pytest.approx(posterior.expected_cost({(2, 0): 20.0}).value)
    shown = run(*options).stdout
    assert "the true class on rows" in shown
    percent = 100 * posterior.expected_cost().value
    assert f"Error rate [%] under this prior: {percent:.4g} " in shown
    shown = run(*options[:4], "--costs", "c>a=20").stdout
    assert "Expected cost of a decision under the uniform prior: " in shown
    assert "decisions" not in found("--divergences", "5")


def test_a_prior_of_other_classes_is_refused():
    with pytest.raises(InputError, match="--prior"):
        run("--divergences", "5", "--prior", "x=0.4,2=0.6")
