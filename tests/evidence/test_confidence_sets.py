"""Sets of classes from e-values: they hold for each class, whatever the mix and the stopping."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deciban import CalibratedGaussian, Evidence
from deciban.exceptions import InputError

TABLE = np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.2, 0.3, 0.4], [0.25, 0.05, 0.05, 0.65]])
PRIORS = [None, [0.7, 0.2, 0.1], [0.01, 0.01, 0.98]]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.3, 0.6, 0.9])
def test_the_error_of_each_class_is_at_most_alpha_by_enumeration(alpha, prior):
    members = Evidence.from_likelihoods(TABLE.T).confidence_set(alpha, prior).members
    for j, likelihoods in enumerate(TABLE):  # probabilities of the outcomes under class j
        assert likelihoods @ ~members[:, j] <= alpha + 1e-12


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_the_error_at_the_best_stopping_time_is_at_most_alpha_by_enumeration(alpha):
    # An adversary who knows the class stops at the first sum whose set lacks it, if there is one.
    for j, likelihoods in enumerate(TABLE):
        missed, alive = 0.0, [(1.0, np.zeros(3))]
        with np.errstate(divide="ignore"):
            logs = np.log(TABLE.T)
        for _ in range(6):
            grown = [
                (p * q, l + step)
                for p, l in alive
                for q, step in zip(likelihoods, logs, strict=True)
                if q > 0
            ]
            lacks = ~Evidence([l for _, l in grown]).confidence_set(alpha).members[:, j]
            missed += sum(p for (p, _), out in zip(grown, lacks, strict=True) if out)
            alive = [one for one, out in zip(grown, lacks, strict=True) if not out]
        assert missed <= alpha + 1e-12


def test_sets_hold_for_each_class_of_a_family_when_evidence_is_summed_until_one_is_left():
    rng, family, n = (
        np.random.default_rng(0),
        CalibratedGaussian.from_divergences([1, 2, 1.5]),
        2000,
    )
    for j in range(3):
        l = family.sample(np.eye(3, dtype=int)[j] * n * 20, rng)[0].reshape(n, 20, -1)
        sums = Evidence(family.evidence(np.cumsum(l, axis=1).reshape(n * 20, -1)).log_likelihoods)
        sizes = sums.confidence_set(0.2).sizes.reshape(n, 20)
        stop = np.where((sizes == 1).any(axis=1), (sizes == 1).argmax(axis=1), 19)
        held = sums.confidence_set(0.2).members[:, j].reshape(n, 20)[np.arange(n), stop]
        assert held.mean() >= 0.8 - 3 * np.sqrt(0.16 / n)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9),
    st.floats(0.001, 0.999),
)
@example([0.25, 0.75], 0.05)
def test_sets_hold_the_best_class_and_are_part_of_those_by_the_largest_ratio(row, alpha):
    below = max(row) - np.array(row)  # minus these, no row sums to one as probabilities do
    members = Evidence([-below]).confidence_set(alpha).members[0]
    assert members[np.argmin(below)]
    assert (below[members] < np.log(len(row) / alpha) + 1e-9).all()


def test_for_two_classes_the_limit_of_the_llr_is_a_closed_form():
    # 1 + exp(LLR) < 2 / alpha
    limit = np.log(2 / 0.05 - 1)
    members = Evidence.from_llr([limit - 1e-9, limit + 1e-9]).confidence_set(0.05).members
    assert members.tolist() == [[True, True], [False, True]]


def test_classes_that_are_ruled_out_or_far_behind_are_not_in_the_set():
    sets = Evidence([[0.0, -np.inf, -800.0, -1.0]], list("abcd")).confidence_set(0.001)
    assert sets[0] == ("a", "d")


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 2, "0.1", None, np.nan])
def test_an_alpha_that_is_not_a_rate_is_refused(alpha):
    with pytest.raises(InputError, match="alpha must lie between 0 and 1"):
        Evidence([[0.0, 1.0]]).confidence_set(alpha)
