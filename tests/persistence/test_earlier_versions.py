"""Models that version 0.1 saved: they give the same evidence, or one clear error."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import deciban
from deciban.exceptions import InputError

SAVED = Path(__file__).parents[1] / "data" / "saved"
EXPECTED = np.load(SAVED / "expected.npz")
WITH_MIXTURE = ("two_10_MixtureCalibrator", "three_07_BoundedCalibrator")


def input_of(name):
    if name.startswith("frame"):
        frame = pd.read_json(SAVED / "frame.json")
        return frame.assign(seen=pd.to_datetime(frame["seen"]))
    if "Classifier" in name:
        return EXPECTED["classifier_input"]
    return EXPECTED[name.partition("_")[0]]


@pytest.mark.parametrize("name", [n for n in EXPECTED if "_" in n and (SAVED / n).is_file()])
def test_a_model_of_version_0_1_gives_the_same_evidence(name):
    if name in WITH_MIXTURE:
        with pytest.raises(InputError, match=r"deciban no longer has MixtureCalibrator. Fit Aff"):
            deciban.load(SAVED / name)
        return
    evidence = deciban.load(SAVED / name).evidence(input_of(name))
    np.testing.assert_allclose(evidence.log_likelihoods, EXPECTED[name], atol=1e-12)
