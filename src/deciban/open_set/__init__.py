"""One more hypothesis, "something else": samples that belong to none of the known classes."""

from deciban.open_set.open_set import OpenSetDiscriminant, open_set_costs

__all__ = ["OpenSetDiscriminant", "open_set_costs"]
