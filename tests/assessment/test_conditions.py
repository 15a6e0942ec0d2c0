"""Results by condition: each as if its samples were all, the worst one named."""

import json

import numpy as np
import pandas as pd
import pytest

from deciban import Evidence, metrics
from deciban.assessment import assess, assess_by
from deciban.exceptions import InputError


@pytest.fixture
def rooms(draw):
    """A quiet room, and a noisy one where LLRs are worse."""
    y, llr = draw(1200, np.random.default_rng(3))
    room = np.where(np.arange(len(y)) % 3 == 0, "noisy", "quiet")
    return y, np.where(room == "noisy", 0.2 * llr + np.roll(llr, 1), llr), room


def test_each_condition_is_assessed_as_if_its_samples_were_all(rooms):
    y, llr, room = rooms
    evidence = Evidence.from_llr(llr)
    asked = {
        "prior": [0.9, 0.1],
        "operating_points": [(10, 1, 0.01), (1, 1, 0.05)],
        "n_resamples": 50,
    }
    found = assess_by(y, evidence, room, **asked)
    assert list(found.assessments) == ["noisy", "quiet"]
    for name, one in found.assessments.items():
        alone = assess(y[room == name], evidence[room == name], **asked)
        assert one.to_dict() == alone.to_dict()
    assert found.pooled.to_dict() == assess(y, evidence, **asked).to_dict()
    values = [one["eer"].value for one in found.assessments.values()]
    assert found.mean("eer") == pytest.approx(np.mean(values))


def test_the_worst_condition_is_named_by_what_was_asked_for(rooms):
    y, llr, room = rooms
    found = assess_by(y, Evidence.from_llr(llr), room, column="room", n_resamples=50)
    assert found.worst == "noisy"
    assert found.notes[0].startswith("The worst room by Cllr is noisy: ")
    assert "overlaps" not in found.notes[0]
    points = {"operating_points": [(10, 1, 0.01), (1, 1, 0.05)]}
    found = assess_by(y, Evidence.from_llr(llr), room, **points, n_resamples=0)
    assert found.to_dict()["worst_by"] == "c_primary"
    halves = np.arange(len(y)) % 2  # no real difference
    found = assess_by(y, Evidence.from_llr(llr), halves, n_resamples=50)
    assert f"overlaps that of {1 - found.worst}." in found.notes[0]


def test_a_condition_that_lacks_a_class_is_told_and_kept_in_the_table(rooms):
    y, llr, room = rooms
    room = np.where((np.arange(len(y)) < 25) & (y == 1), "hall", room)
    room[np.flatnonzero(room == "quiet")[30:]] = "noisy"
    found = assess_by(y, Evidence.from_llr(llr), room, column="room", n_resamples=0)
    assert found.lacking == {"hall": (0, 10)}
    assert "room hall lacks samples of 0: it has no results." in found.notes
    assert any(note.startswith("Fewer than 30 samples of a class in quiet") for note in found.notes)
    header, rows = found.table()
    assert header[:3] == ["room", "samples", "Cllr"]
    assert [row[0] for row in rows] == ["noisy", "quiet", "hall", "mean", "all samples"]
    assert rows[2] == ["hall", "0 + 10", "–", "–", "–"]
    plain = json.loads(json.dumps(found.to_dict()))
    assert [one["name"] for one in plain["conditions"]] == ["noisy", "quiet", "hall"]
    assert "quantities" not in plain["conditions"][2]


def test_conditions_of_several_classes_are_compared_by_cross_entropy_or_c_avg(three):
    y, e = three
    labels, half = np.array(e.classes)[y], np.arange(len(y)) % 2
    found = assess_by(labels, e, half, c_avg=True, out_of_set="owl", n_resamples=0)
    assert [q.key for q in found.quantities] == ["c_avg", "cross_entropy", "accuracy"]
    part = half == found.worst
    value = metrics.c_avg(labels[part], e[part], out_of_set="owl")
    assert found.assessments[found.worst]["c_avg"].value == pytest.approx(value)
    assert assess_by(labels, e, half, n_resamples=0).quantities[0].key == "cross_entropy"


def test_conditions_follow_the_index_of_the_truth(rooms):
    y, llr, room = rooms
    evidence = Evidence.from_llr(llr)
    shuffled = pd.Series(room).sample(frac=1, random_state=0)
    found = assess_by(pd.Series(y), evidence, shuffled, n_resamples=0)
    expected = assess_by(y, evidence, room, n_resamples=0)
    assert found.table() == expected.table()


def test_a_column_of_measurements_is_no_column_of_conditions(rooms):
    y, llr, _ = rooms
    with pytest.raises(InputError, match=r"at most 200 values.*got 1,200\."):
        assess_by(y, Evidence.from_llr(llr), llr, column="llr")
    with pytest.raises(InputError, match="by must have one label for each of 1200 samples"):
        assess_by(y, Evidence.from_llr(llr), ["a"])


def test_groups_and_items_are_those_of_the_condition(rooms):
    y, llr, room = rooms
    evidence = Evidence.from_llr(llr)
    speaker, left = np.arange(len(y)) // 20, np.arange(len(y)) % 50
    for design in ({"groups": speaker}, {"items": (left, speaker + 100)}):
        found = assess_by(y, evidence, room, **design, n_resamples=20)
        part = room == "noisy"
        given = {
            name: tuple(x[part] for x in value) if name == "items" else value[part]
            for name, value in design.items()
        }
        alone = assess(y[part], evidence[part], **given, n_resamples=20)
        assert found.assessments["noisy"].to_dict() == alone.to_dict()
    one = np.where(room == "noisy", "A", speaker.astype(str))
    with pytest.raises(InputError, match="condition noisy: groups must hold at least two"):
        assess_by(y, evidence, room, groups=one, n_resamples=20)


def test_conditions_with_too_few_samples_to_recalibrate_have_the_other_quantities(three):
    y, e = three
    small = np.zeros(len(y), dtype=int)
    small[[np.flatnonzero(y == k)[0] for k in range(3)]] = 1
    found = assess_by(np.array(e.classes)[y], e, small, n_resamples=0)
    assert list(found.assessments) == [0, 1]
    assert set(found.to_dict()["mean"]) == {"cross_entropy", "accuracy"}


def test_items_of_a_condition_keep_the_sources_that_all_samples_tell():
    model, segment = (x.ravel() for x in np.indices((20, 60)))
    y = (segment % 20 == model).astype(int)  # three segments of each speaker
    evidence = Evidence.from_llr(np.where(y, 2.0, -2.0))
    items = (model, segment + 100)
    found = assess_by(y, evidence, model % 2, items=items, n_resamples=50)
    # without an error, the interval is that of as many samples as there are sources
    limits = [one["misleading_other"].high for one in (found.pooled, *found.assessments.values())]
    np.testing.assert_allclose(limits, limits[0])
    of_each = assess(y[model % 2 == 0], evidence[model % 2 == 0], n_resamples=50,
                     items=tuple(x[model % 2 == 0] for x in items))  # fmt: skip
    assert of_each["misleading_other"].high < limits[0]  # segments of other models count as sources


def test_conditions_print_as_a_table_with_their_notes(rooms):
    y, llr, room = rooms
    found = assess_by(y, Evidence.from_llr(llr), room, column="room", n_resamples=20)
    lines = str(found).splitlines()
    assert [line.split()[0] for line in lines[1:6]] == ["room", "noisy", "quiet", "mean", "all"]
    assert str(found.pooled["cllr"]) in lines[5]
    assert lines[6:] == found.notes
