"""Distance of posteriors from frequencies: bins by hand, smoothing by quadrature."""

import numpy as np
import pytest

from deciban import CalibratedGaussian, Evidence
from deciban.exceptions import InputError
from deciban.metrics import calibration_error

KINDS = ("top-label", "classwise")
METHODS = ("smooth", "equal-mass", "equal-width")


def draw(n, factor, rng, D=3):
    family = CalibratedGaussian.from_divergences(4.0 * (1 - np.eye(D)))
    l, y = family.sample([n] * D, rng)
    return y, family.evidence(factor * l)


def test_bins_are_those_of_a_loop(rng):
    y, evidence = draw(40, 2.0, rng)
    p = evidence.posterior()
    top, right = p.max(axis=1), p.argmax(axis=1) == y
    cell = np.minimum((top * 7).astype(int), 6)
    expected = sum(abs((right - top)[cell == b].sum()) for b in range(7)) / 120
    found = calibration_error(y, evidence, method="equal-width", n_bins=7)
    assert found == pytest.approx(expected)
    parts = np.array_split(np.argsort(top), 6)  # 20 samples each
    expected = sum(abs((right - top)[rows].sum()) for rows in parts) / 120
    found = calibration_error(y, evidence, method="equal-mass", n_bins=6)
    assert found == pytest.approx(expected, abs=0.01)  # samples on an edge
    each = []
    for k in range(3):
        cell = np.minimum((p[:, k] * 7).astype(int), 6)
        each.append(sum(abs(((y == k) - p[:, k])[cell == b].sum()) for b in range(7)) / 120)
    found = calibration_error(y, evidence, kind="classwise", method="equal-width", n_bins=7)
    assert found == pytest.approx(np.mean(each))


def test_the_smooth_error_is_the_fixed_point_of_its_definition(rng):
    y, evidence = draw(30, 3.0, rng)
    found = calibration_error(y, evidence)
    p = evidence.posterior().max(axis=1)
    gap = ((evidence.posterior().argmax(axis=1) == y) - p) / len(y)
    t = (np.arange(8192) + 0.5) / 8192
    kernel = 0
    for image in [s * p + 2 * shift for s in (1, -1) for shift in range(-3, 4)]:  # reflections
        kernel = kernel + np.exp(-((t[:, None] - image) ** 2) / (2 * found**2))
    density = kernel @ gap / (found * np.sqrt(2 * np.pi))
    assert np.abs(density).mean() == pytest.approx(found, abs=2e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_evidence_that_is_too_strong_is_further_off(kind, method, rng):
    rows = [draw(500, factor, rng) for factor in (1.0, 2.0, 5.0)]
    errors = [calibration_error(*row, kind=kind, method=method) for row in rows]
    assert errors[0] < errors[1] < errors[2] < 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_the_class_mix_does_not_matter_and_weights_are_repetitions(kind, method, rng):
    y, evidence = draw(30, 2.0, rng)
    times = np.where(y == 0, 3, 1)
    rows = np.arange(len(y)).repeat(times)
    options = {"kind": kind, "method": method, "prior": [0.2, 0.3, 0.5]}
    plain = calibration_error(y, evidence, **options)
    weighted = calibration_error(y, evidence, sample_weight=times, **options)
    assert weighted == pytest.approx(plain, abs=1e-8)
    if method != "equal-mass":  # whose bins count samples
        assert calibration_error(y[rows], evidence[rows], **options) == pytest.approx(plain)


@pytest.mark.parametrize("method", METHODS)
def test_certain_evidence_is_right_or_wrong(method):
    certain = Evidence.from_llr([np.inf, -np.inf])
    assert calibration_error([1, 0], certain, method=method) == 0
    assert calibration_error([0, 1], certain, method=method) == pytest.approx(1, abs=1e-3)


def test_calibrated_evidence_has_an_error_above_zero_that_grows_with_the_bins(rng):
    y, evidence = draw(100, 1.0, rng)
    few, many = (
        calibration_error(y, evidence, method="equal-mass", n_bins=n, kind="classwise")
        for n in (5, 60)
    )
    assert 0 < few < many / 2


def test_what_is_not_a_kind_or_a_method_is_refused():
    for option in ({"kind": "decided"}, {"method": "kernel"}, {"n_bins": 0}):
        with pytest.raises(InputError, match=next(iter(option))):
            calibration_error([0, 1], [[0.0, 1.0], [1.0, 0.0]], **option)
