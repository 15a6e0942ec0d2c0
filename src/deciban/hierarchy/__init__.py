"""Trees of classes: evidence, decisions and costs at every level."""

from deciban.hierarchy.cost import HierarchicalCost, hierarchical_cross_entropy
from deciban.hierarchy.tree import Hierarchy

__all__ = ["HierarchicalCost", "Hierarchy", "hierarchical_cross_entropy"]
