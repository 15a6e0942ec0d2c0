"""Costs of misses, false alarms and confusions together."""

import numpy as np
import pytest

from deciban import Evidence
from deciban.exceptions import InputError, UnknownClassError
from deciban.metrics import expected_cost, open_set_costs


def test_each_error_has_its_cost_wherever_the_other_class_stands():
    costs = open_set_costs(
        ["other", "a", "b"], "other", cost_miss=2, cost_false_alarm=3, cost_confusion=5
    )
    np.testing.assert_array_equal(costs, [[0, 3, 3], [2, 0, 5], [2, 5, 0]])
    assert (open_set_costs([0, 1, 2], 2) == 1 - np.eye(3)).all()


def test_a_dear_false_alarm_makes_the_decision_other():
    evidence = Evidence.from_likelihoods([[6, 1, 3]], classes=["a", "b", "other"])
    assert evidence.decide(open_set_costs(evidence.classes, "other")).tolist() == ["a"]
    dear = open_set_costs(evidence.classes, "other", cost_false_alarm=9)
    assert evidence.decide(dear).tolist() == ["other"]
    rows = evidence[[0, 0, 0]]
    assert expected_cost(["a", "b", "other"], rows, dear) == pytest.approx(2 / 3)


def test_bad_costs_are_refused():
    with pytest.raises(UnknownClassError, match="'none'"):
        open_set_costs(["a", "b"], "none")
    for wrong in (-1.0, np.inf, np.nan, "1"):
        with pytest.raises(InputError, match="cost_miss must be a finite number, 0 or more"):
            open_set_costs(["a", "b"], "b", cost_miss=wrong)
