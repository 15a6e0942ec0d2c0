"""Why a model says what it says: contributions of features to evidence, which add up."""

from deciban.explanation.shapley import ShapleyCompositions, shapley_compositions

__all__ = ["ShapleyCompositions", "shapley_compositions"]
