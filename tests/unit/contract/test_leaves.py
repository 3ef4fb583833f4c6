"""Leaves print as the names that a config writes, and shapes as messages show them."""

import pytest

from triton_pytorch.contract.leaves import Dimension, shape_text
from triton_pytorch.contract.sizes import dynamic_size, parse_size, size_of
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.tests.assets.leaves import packaged


def test_leaf_defaults() -> None:
    leaf = packaged(LeafPath("ARGS", ("2", "keyA")), 3)
    assert (str(leaf), leaf.names.label) == ("ARGS[2][keyA]", "ARGS[2][keyA] (INPUT__3)")
    assert (leaf.dtype, leaf.shape, leaf.layout, leaf.has_default) == (None, None, None, False)


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ((), "[]"),
        ((size_of(3),), "[3]"),
        ((dynamic_size("batch"), parse_size("2*s27 + 1"), size_of(0)), "[batch, 2*s27 + 1, 0]"),
    ],
)
def test_shapes(sizes: tuple[object, ...], text: str) -> None:
    assert shape_text(tuple(Dimension(size) for size in sizes)) == text  # type: ignore[arg-type]
