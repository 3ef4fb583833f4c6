"""Leaves become the arguments of a Python function: by position, by name, in dictionaries, or not at all."""

from collections.abc import Sequence
from typing import Any

import pytest

from triton_pytorch.contract.leaves import Leaf, ValueKind
from triton_pytorch.io_naming.leaf_names import LeafNames
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.method_calls.arguments import Argument, Keys
from triton_pytorch.method_calls.calls import Call

X, Y = Argument("x"), Argument("y")
MASK = Argument("mask", has_default=True)
POWER = Argument("power", ValueKind.OTHER, has_default=True)
OPTIONS = Argument("options", keys=Keys())
DEFAULT_OPTIONS = Argument("options", keys=Keys(), has_default=True)


def shown(*positional: Any, **named: Any) -> Any:
    """Return how it was called."""
    return positional, named


def planned(name: str) -> Leaf:
    """Make the leaf of an argument, `x`, or of an entry, `options[a]`, under a name of the config."""
    segments = tuple(name.removesuffix("]").split("["))
    return Leaf(LeafNames(LeafPath("KWARGS", segments), ("declared",), owner=segments[0]))


def called(arguments: Sequence[Argument], **values: Any) -> Any:
    """Call with a value for each leaf, given as `x` or `options_a`."""
    leaves = [planned(name.replace("_", "[") + "]" * ("_" in name)) for name in values]
    return Call(shown, arguments, leaves)(list(values.values()))


@pytest.mark.parametrize("values", [{"x": 1, "y": 2}, {"y": 2, "x": 1}])
def test_required_arguments_come_by_position(values: dict[str, int]) -> None:
    assert called([X, Y], **values) == ((1, 2), {})


def test_arguments_with_default_come_by_name() -> None:
    assert called([X, MASK], x=1, mask=2) == ((1,), {"mask": 2})
    assert called([X, POWER, MASK], x=1, mask=2) == ((1,), {"mask": 2})
    assert called([MASK, X], mask=2, x=1) == ((), {"mask": 2, "x": 1})


def test_default_applies_where_nothing_was_sent() -> None:
    assert called([X, MASK], x=1, mask=None) == ((1,), {})
    assert called([X, MASK], x=1) == ((1,), {})


def test_numbers_that_are_false() -> None:
    number = Argument("n", ValueKind.NUMBER, has_default=True, type="int")
    assert called([X, number], x=1, n=0) == ((1,), {"n": 0})
    assert called([X, number], x=1, n=False) == ((1,), {"n": False})


def test_dictionary_of_what_was_sent() -> None:
    assert called([X, OPTIONS], x=1, options_a=2, options_b=None, options_c=4) == ((1, {"a": 2, "c": 4}), {})
    assert called([OPTIONS, X], options_a=2, x=1) == (({"a": 2}, 1), {})


def test_dictionary_without_entries() -> None:
    assert called([OPTIONS]) == (({},), {})
    assert called([OPTIONS], options_a=None) == (({},), {})
    assert called([DEFAULT_OPTIONS]) == ((), {})
    assert called([DEFAULT_OPTIONS], options_a=None) == ((), {})
    assert called([DEFAULT_OPTIONS], options_a=1) == ((), {"options": {"a": 1}})


def test_two_dictionaries() -> None:
    left, right = Argument("left", keys=Keys()), Argument("right", keys=Keys())
    assert called([left, right], right_a=1, left_a=2) == (({"a": 2}, {"a": 1}), {})
