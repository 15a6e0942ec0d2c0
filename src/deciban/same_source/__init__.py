"""Same source or not: the two-level model for forensic and speaker comparisons."""

from deciban.same_source.same_source import Pairs, SameSourceModel, pairs

__all__ = ["Pairs", "SameSourceModel", "pairs"]
