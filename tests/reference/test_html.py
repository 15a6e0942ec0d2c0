"""The representation of a family in notebooks."""

import numpy as np

from deciban import CalibratedGaussian


def test_divergences_stand_above_the_diagonal_and_error_rates_below():
    family = CalibratedGaussian.from_divergences([5.0, 4.0, 7.0], classes=["a", "b", "<i>"])
    shown = family._repr_html_()
    cells = ["–", "5 nat", "4 nat", "5.69 %", "–", "7 nat", "7.86 %", "3.07 %", "–"]
    places = [shown.index(f">{cell}</td>") for cell in cells if cell != "–"]
    assert places == sorted(places)
    assert shown.count("<td>–</td>") == 3
    assert "<i>" not in shown


def test_many_classes_are_cut_and_counted():
    shown = CalibratedGaussian(np.eye(99))._repr_html_()
    assert shown.count("<tr>") == 11
    assert "… and 90 more classes" in shown
