"""Evidence of any estimator, also where a pipeline ends in it; nothing slow to import."""

from __future__ import annotations

from typing import Any

from deciban.evidence import Evidence
from deciban.exceptions import InputError


def evidence_of(estimator: Any, X: Any) -> Evidence:
    """Evidence that samples give, by an estimator or by a pipeline whose last step gives evidence.

    scikit-learn's ``Pipeline`` passes on no method of the name.
    """
    if hasattr(estimator, "steps") and hasattr(estimator[-1], "evidence"):
        estimator, X = estimator[-1], estimator[:-1].transform(X) if len(estimator) > 1 else X
    method = getattr(estimator, "evidence", None)
    if not callable(method):
        raise InputError(
            f"estimator must have a method evidence(X); {type(estimator).__name__} has none. "
            f"Wrap it in deciban.calibration.CalibratedEvidenceClassifier."
        )
    evidence = method(X)
    if not isinstance(evidence, Evidence):
        raise InputError(
            f"estimator.evidence(X) must return Evidence; got {type(evidence).__name__}. "
            f"Return deciban.Evidence(log_likelihoods, classes)."
        )
    return evidence
