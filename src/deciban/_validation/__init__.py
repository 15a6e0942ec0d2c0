"""Arrays at the edge: any array library in, checked once, the same kind out."""

from deciban._validation.arrays import (
    Array,
    Namespace,
    as_float_array,
    as_float_arrays,
    columns_of,
    frozen,
    to_numpy,
)
from deciban._validation.labels import as_labels, index_of, label_array, listed, order_by_name
from deciban._validation.values import (
    is_inspectable,
    require_finite,
    require_finite_log_parts,
    require_log_parts,
    require_nonnegative,
    require_parts,
    require_positive,
    require_same_parts,
)

__all__ = [
    "Array",
    "Namespace",
    "as_float_array",
    "as_float_arrays",
    "as_labels",
    "columns_of",
    "frozen",
    "index_of",
    "is_inspectable",
    "label_array",
    "listed",
    "order_by_name",
    "require_finite",
    "require_finite_log_parts",
    "require_log_parts",
    "require_nonnegative",
    "require_parts",
    "require_positive",
    "require_same_parts",
    "to_numpy",
]
