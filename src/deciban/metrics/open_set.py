"""Costs of detection and identification together, where something may be none of the classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from deciban._validation.arrays import Floats
from deciban._validation.labels import as_labels, index_of
from deciban._validation.scalars import require_positive_number


def open_set_costs(
    classes: Sequence[Hashable],
    other: Hashable,
    *,
    cost_miss: float = 1.0,
    cost_false_alarm: float = 1.0,
    cost_confusion: float = 1.0,
) -> Floats:
    r"""Costs of decisions among known classes and one that stands for anything else.

    :math:`C_{ij}`, of deciding j when i is true, is :math:`C_{miss}` for a known i and j the other
    one, :math:`C_{fa}` for the other one taken for a known j, :math:`C_{confusion}` for a known
    class taken for another, and zero where i = j.

    Parameters
    ----------
    classes : sequence of labels
        All classes, in the order of the evidence.
    other : label
        The class of all that is none of the others.
    cost_miss : float, default 1
        Cost of a known class that is called other.
    cost_false_alarm : float, default 1
        Cost of the other that is called a known class.
    cost_confusion : float, default 1
        Cost of a known class that is called another known one.

    Returns
    -------
    array of shape (n_classes, n_classes)

    See Also
    --------
    deciban.Evidence.decide : Takes these costs.
    expected_cost : What decisions cost on average.
    c_avg : NIST's cost, in which each class is detected by itself.

    Examples
    --------
    >>> open_set_costs(["en", "fr", "other"], "other", cost_false_alarm=5, cost_confusion=2)
    array([[0., 2., 1.],
           [2., 0., 1.],
           [5., 5., 0.]])
    """
    labels = as_labels(classes)
    at = index_of(other, labels)
    prices = {
        "cost_miss": cost_miss, "cost_false_alarm": cost_false_alarm,
        "cost_confusion": cost_confusion,
    }  # fmt: skip
    for name, value in prices.items():
        require_positive_number(value, name, or_zero=True)
    costs = np.full((len(labels), len(labels)), float(cost_confusion))
    costs[:, at], costs[at] = cost_miss, cost_false_alarm
    np.fill_diagonal(costs, 0.0)
    return costs
