"""Single values: one check of each kind for the whole package."""

import math

import numpy as np
import pytest

from deciban._validation.scalars import (
    as_generator,
    quote,
    quote_each,
    require_bool,
    require_fraction,
    require_number,
    require_one_of,
    require_positive_number,
    require_whole,
)
from deciban.exceptions import InputError


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: require_whole(True, "n"), "n must be a whole number, 0 or more; got True"),
        (lambda: require_whole(2.0, "n"), "got 2.0"),
        (lambda: require_whole(-1, "n"), "got -1. Give n=0, for instance."),
        (lambda: require_whole(9, "n", 1, 8, remedy="Give 4."), "from 1 to 8; got 9. Give 4."),
        (lambda: require_number(math.nan, "x"), "x must be a finite number; got nan"),
        (lambda: require_number("1", "x"), "got '1'"),
        (lambda: require_positive_number(0, "x"), "x must be a finite number above 0; got 0"),
        (lambda: require_positive_number(-1, "x", or_zero=True), "0 or more; got -1"),
        (lambda: require_fraction(1, "p"), "p must lie between 0 and 1, exclusive; got 1"),
        (lambda: require_fraction(1.1, "p", inclusive=True), "between 0 and 1; got 1.1"),
        (lambda: require_fraction(None, "p"), "got None"),
        (lambda: require_one_of("c", "kind", ("a", "b")), "kind must be one of a, b; got 'c'"),
        (lambda: require_one_of(np.zeros(2), "kind", ("a",)), "kind must be one of a; got array"),
        (lambda: require_bool(1, "nearest"), "nearest must be True or False; got 1"),
        (lambda: as_generator("x"), "rng must be a NumPy Generator, a seed or None; got 'x'"),
        (lambda: as_generator(-1, "seed"), "seed must be .*; got -1"),
    ],
)
def test_what_a_value_is_not_is_said_in_one_sentence(check, message):
    with pytest.raises(InputError, match=message):
        check()


def test_values_come_back_as_plain_python():
    assert type(require_whole(np.int64(3), "n")) is int
    assert type(require_fraction(np.float32(0.5), "p")) is float
    assert require_fraction(0, "p", inclusive=True) == 0.0
    assert require_positive_number(0, "x", or_zero=True) == 0.0
    assert require_bool(np.True_, "x") is True
    assert require_one_of("a", "kind", ("a", "b")) == "a"
    assert as_generator(3).integers(100) == np.random.default_rng(3).integers(100)


class Broken:
    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    "value",
    ["x" * 10**6, list(range(10**6)), 10**10_000, {"k" * 10**6: 1}, np.zeros(10**6)],
    ids=["text", "list", "integer", "dict", "array"],
)
def test_what_is_quoted_is_short_however_large_the_value(value):
    assert len(quote(value)) < 200
    assert len(quote_each([value] * 100)) < 2000


def test_values_are_quoted_on_one_line_and_as_python_writes_them():
    assert quote(np.str_("a")) == "'a'"
    assert quote(np.float64(2)) == "2.0"
    assert "\n" not in quote(np.zeros((3, 2)))


def test_quoting_never_fails():
    assert "Broken" in quote(Broken())
    assert quote("x\x1b[31m") == r"'x\x1b[31m'"
    assert quote_each("abc", most=2) == "'a', 'b', ..."
