"""Calibrated likelihood functions for any number of hypotheses.

>>> import deciban as db
>>> evidence = db.Evidence.from_likelihoods([[0.6, 0.3, 0.1]], classes=["a", "b", "c"])
>>> evidence.posterior(prior=[0.2, 0.2, 0.6]).round(3)
array([[0.5 , 0.25, 0.25]])

Public names are loaded on first use, so that ``import deciban`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deciban import (
        assessment,
        calibration,
        datasets,
        discriminant,
        evidence,
        exceptions,
        explanation,
        hierarchy,
        metrics,
        monitoring,
        plots,
        reference,
        report,
        simplex,
    )
    from deciban import flows as flows
    from deciban._estimation import evidence_of
    from deciban._persistence.registry import load
    from deciban.assessment import assess, compare
    from deciban.discriminant import LinearDiscriminant, QuadraticDiscriminant
    from deciban.discriminant.cda import (
        CompositionalDiscriminantAnalysis as CompositionalDiscriminantAnalysis,
    )
    from deciban.evidence import Evidence, VerbalScale, shift_prior
    from deciban.explanation import shapley_compositions
    from deciban.hierarchy import Hierarchy
    from deciban.reference import CalibratedGaussian, CalibratedMixture
    from deciban.same_source import SameSourceModel
    from deciban.simplex import Basis

__version__ = "0.1.0"

_HOME = {  # the module of each name that is not a module itself
    "CompositionalDiscriminantAnalysis": "discriminant",
    "LinearDiscriminant": "discriminant",
    "QuadraticDiscriminant": "discriminant",
    "SameSourceModel": "same_source",
    "Basis": "simplex",
    "CalibratedGaussian": "reference",
    "CalibratedMixture": "reference",
    "Evidence": "evidence",
    "Hierarchy": "hierarchy",
    "assess": "assessment",
    "compare": "assessment",
    "evidence_of": "_estimation",
    "load": "_persistence.registry",
    "VerbalScale": "evidence",
    "shapley_compositions": "explanation",
    "shift_prior": "evidence",
}

__all__ = [
    "Basis",
    "CalibratedGaussian",
    "CalibratedMixture",
    "Evidence",
    "Hierarchy",
    "LinearDiscriminant",
    "QuadraticDiscriminant",
    "SameSourceModel",
    "VerbalScale",
    "__version__",
    "assess",
    "assessment",
    "calibration",
    "compare",
    "datasets",
    "discriminant",
    "evidence",
    "evidence_of",
    "exceptions",
    "explanation",
    "hierarchy",
    "load",
    "metrics",
    "monitoring",
    "plots",
    "reference",
    "report",
    "shapley_compositions",
    "shift_prior",
    "simplex",
]


# Not in __all__, since a star import would then need the extra: a flow and the CDA.
_PUBLIC = {*__all__, *_HOME, "flows"}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'deciban' has no attribute {name!r}")
    if name not in _HOME:
        return importlib.import_module(f"deciban.{name}")
    value = getattr(importlib.import_module(f"deciban.{_HOME[name]}"), name)
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted(_PUBLIC)
