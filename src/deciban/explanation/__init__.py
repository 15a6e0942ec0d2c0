"""Why a model says what it says: contributions of features to evidence, which add up."""

from deciban.explanation.results import ShapleyCompositions
from deciban.explanation.shapley import shapley_compositions

__all__ = ["ShapleyCompositions", "shapley_compositions"]
