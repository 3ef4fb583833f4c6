"""Which open size `inspect` calls `batch`, and which bounds it prints of a size that stands in several places."""

import pytest

from triton_pytorch.formats.describe import name_the_batch, open_sizes
from triton_pytorch.contract.leaves import Dimension, Leaf, shape_text
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.contract.sizes import parse_size

STATED = frozenset({"s1", "s2", "s27"})


def leaf(*sizes: str, lower: int = 1, upper: int | None = None) -> Leaf:
    dimensions = []
    for text in sizes:
        size = parse_size(text)
        assert size is not None
        dimensions.append(Dimension(size, lower, upper))
    return Leaf(LeafPath("ARGS", ("0",)), "float32", tuple(dimensions))


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ([leaf("s1", "3")], ["[batch, 3]"]),
        ([leaf("s1", "s2"), leaf("s1")], ["[batch, s2]", "[batch]"]),
        ([leaf("s1", "2*s1"), leaf("s1", "s1 + s2")], ["[batch, 2*batch]", "[batch, batch + s2]"]),
        # An input that is only handed through has a size of its own name.
        ([leaf("s1"), leaf("arg1_1_0"), leaf("arg2_1_0")], ["[batch]", "[batch]", "[batch]"]),
        ([leaf("s1"), leaf("arg1_1_0", lower=0)], ["[batch]", "[batch]"]),
        ([leaf("arg0_1_0")], ["[batch]"]),
    ],
)
def test_the_first_size_of_every_input_is_the_batch(inputs: list[Leaf], expected: list[str]) -> None:
    named = name_the_batch(inputs, STATED)
    assert [shape_text(leaf.shape or ()) for leaf in named] == expected


@pytest.mark.parametrize(
    "inputs",
    [
        [],
        [leaf("4", "s1")],  # fixed
        [leaf("s1"), leaf("s2")],  # two sizes
        [leaf("s1"), leaf("2*s1")],  # related, and not the same
        [leaf("2*s1")],
        [leaf("s1*s2")],
        [leaf("s1"), leaf()],  # a scalar
        [leaf("s1"), Leaf(LeafPath("ARGS", ("1",)), "float32")],  # unknown
        [leaf("s1"), leaf("arg1_1_0", lower=4)],  # a size that is only handed through, and not the same
        [leaf("s1"), leaf("arg1_1_0", upper=64)],
        [leaf("arg0_1_0"), leaf("arg1_1_0")],
    ],
)
def test_anything_else_keeps_its_names(inputs: list[Leaf]) -> None:
    assert name_the_batch(inputs, STATED) == tuple(inputs)


def test_the_narrowest_bounds_hold() -> None:
    sizes = open_sizes([leaf("s1", "s2", upper=64), leaf("s1", lower=3, upper=100), leaf("7", "2*s1"), leaf()])
    assert [(str(size), size.lower, size.upper) for size in sizes] == [("s1", 3, 64), ("s2", 1, 64), ("2*s1", 1, None)]
