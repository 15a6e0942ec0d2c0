"""Checks at the edge: any array library in, checked once, the same kind out."""

from deciban._validation.arrays import (
    Array,
    Floats,
    Namespace,
    as_float_array,
    as_float_arrays,
    column_names,
    freeze,
    to_numpy,
)
from deciban._validation.labels import (
    align_by_index,
    as_labels,
    column_order,
    encode_labels,
    factorize_labels,
    index_of,
    label_array,
    order_by_name,
    read_labels,
    read_weights,
    reorder_square,
)
from deciban._validation.scalars import (
    Rng,
    as_generator,
    is_number,
    is_whole,
    quote,
    quote_each,
    require_bool,
    require_fraction,
    require_number,
    require_one_of,
    require_positive_number,
    require_whole,
)
from deciban._validation.values import (
    is_inspectable,
    read_llrs,
    require_finite,
    require_finite_log_parts,
    require_log_parts,
    require_nonnegative,
    require_parts,
    require_positive,
    require_same_parts,
    require_table,
)
