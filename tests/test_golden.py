"""The results of golden/cases.py are those of the version that wrote golden/values.json."""

import json

import numpy as np
import pytest

from golden import cases

VALUES = json.loads(cases.VALUES.read_text())

# Training differs by a little between processors; other iterations end within their tolerance.
TOLERANCES = {"flows": 0.02, "calibrators": 1e-5, "commands": 1e-5, "comparisons": 1e-5}

# Random numbers that a version draws its own way, and keys that a CHANGELOG entry removed.
REMOVED = {"calibration_test"}


def differences(expected, found, tolerance, path=""):
    """Yield each place at which two results differ. Sentences may be reworded."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in expected.keys() - REMOVED:
            if key in found:
                yield from differences(expected[key], found[key], tolerance, f"{path}/{key}")
            else:
                yield f"{path}/{key} is missing"
    elif isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            yield f"{path}: {len(expected)} entries became {len(found)}"
        for i, (a, b) in enumerate(zip(expected, found, strict=False)):
            yield from differences(a, b, tolerance, f"{path}/{i}")
    elif isinstance(expected, (int, float)) and isinstance(found, (int, float)):
        if not np.isclose(expected, found, rtol=tolerance, atol=tolerance):
            yield f"{path}: {expected} became {found}"
    elif expected != found and not (isinstance(expected, str) and " " in expected):
        yield f"{path}: {expected!r} became {found!r}"


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.__name__)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_results_are_unchanged(case):
    name = case.__name__
    found = list(differences(VALUES[name], cases.plain(case()), TOLERANCES.get(name, 1e-9)))
    assert not found, "\n".join(found[:20])
