"""The order in memory in which a compiled model expects a tensor, found from sizes and strides."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from triton_pytorch.io_naming.sizes import Size, size_of

_RANK_AT_MOST = 6  # 720 orders; nobody permutes tensors of more dimensions

ROW_MAJOR = None


class NotDenseError(ValueError):
    """The strides leave gaps or overlap: no order of the dimensions gives them."""


def find_layout(sizes: Sequence[Size], strides: Mapping[int, Size]) -> tuple[int, ...] | None:
    """Return the dimensions from the outermost in memory to the innermost, or ROW_MAJOR.

    `strides` holds the known ones by dimension. Raises NotDenseError where no dense tensor has them.
    """
    known = {dimension: stride for dimension, stride in strides.items() if sizes[dimension].constant not in (0, 1)}
    if any(size.constant == 0 for size in sizes):
        return ROW_MAJOR
    for layout in _layouts(len(sizes)):
        dense = _dense_strides(sizes, layout)
        if all(dense[dimension] == stride for dimension, stride in known.items()):
            return ROW_MAJOR if layout == tuple(range(len(sizes))) else layout
    raise NotDenseError(f"strides {', '.join(map(str, strides.values()))}")


def _layouts(rank: int) -> Iterator[tuple[int, ...]]:
    """Yield row-major first, then all other orders."""
    if rank <= _RANK_AT_MOST:
        yield from permutations(range(rank))
    else:
        yield tuple(range(rank))


def _dense_strides(sizes: Sequence[Size], layout: Sequence[int]) -> dict[int, Size]:
    strides, stride = {}, size_of(1)
    for dimension in reversed(layout):
        strides[dimension] = stride
        stride = stride * sizes[dimension]
    return strides
