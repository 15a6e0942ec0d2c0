"""The representation of assessments in notebooks."""

import numpy as np

from deciban import Evidence
from deciban.assessment import assess, assess_by, compare


def test_an_assessment_says_what_to_do_and_shows_each_quantity_with_its_interval(three):
    y, evidence = three
    found = assess(np.array(evidence.classes)[y], evidence, n_resamples=100)
    shown = found._repr_html_()
    assert f"What to do: {found.verdicts[0].big}" in shown
    for q in found.quantities:
        assert q.label in shown
        assert str(q).partition(" (")[0] in shown
    assert "95 % interval" in shown
    assert "class cat: 300; class dog: 200; class owl: 100" in shown
    assert shown.count("deciban-tone deciban-") == len(found.verdicts)


def test_an_assessment_without_intervals_recommends_nothing(two):
    y, llr = two
    shown = assess(y, Evidence.from_llr(llr), n_resamples=0)._repr_html_()
    assert "What to do" not in shown
    assert "<td>–</td>" in shown


def test_warnings_and_hostile_names_are_text(two):
    y, llr = two
    few = slice(0, 20)
    names = ["<b>no</b>", "<script>x</script>"]
    evidence = Evidence.from_llr(llr[few]).rename(names)
    found = assess(np.array(names)[y[few]], evidence, n_resamples=20)
    shown = found._repr_html_()
    assert found.warnings
    assert "Before quoting a number:" in shown
    assert "<script" not in shown
    assert "<b>" not in shown


def test_a_comparison_has_a_table_for_each_further_system(two):
    y, llr = two
    systems = {"A": llr, "B": 2 * llr, "<C>": 0.5 * llr}
    found = compare(y, {k: Evidence.from_llr(v) for k, v in systems.items()}, n_resamples=50)
    shown = found._repr_html_()
    assert shown.count("<table") == 2
    assert "a is A, b is &lt;C&gt;" in shown
    assert found["cllr", "B"].verdict in shown


def test_conditions_are_a_table_with_notes(two):
    y, llr = two
    room = np.arange(len(y)) % 30
    found = assess_by(y, Evidence.from_llr(llr), room, column="room", n_resamples=0)
    shown = found._repr_html_()
    assert "… and 10 more conditions" in shown
    assert shown.count("<tr>") == 23  # the header, twenty rooms, their mean and all samples
    assert found.notes[0] in shown
