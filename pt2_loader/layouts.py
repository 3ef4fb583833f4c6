"""The order in memory in which a compiled model expects a tensor, found from sizes and strides."""

from collections.abc import Mapping, Sequence

from triton_pytorch.contract.sizes import Size, size_of

ROW_MAJOR = None


class NotDenseError(ValueError):
    """The strides leave gaps or overlap: no order of the dimensions gives them."""


def find_layout(sizes: Sequence[Size], strides: Mapping[int, Size]) -> tuple[int, ...] | None:
    """Return the dimensions from the outermost in memory to the innermost, or ROW_MAJOR.

    `strides` holds the known ones by dimension; those of dimensions of size 1 mean nothing. Raises NotDenseError
    where no dense tensor has them.
    """
    if any(size.constant == 0 for size in sizes):
        return ROW_MAJOR
    single = [dimension for dimension, size in enumerate(sizes) if size.constant == 1]
    order = _order(sizes, strides, [dimension for dimension in range(len(sizes)) if dimension not in single])
    return ROW_MAJOR if order == sorted(order) else (*single, *order)


def _order(sizes: Sequence[Size], strides: Mapping[int, Size], waiting: list[int]) -> list[int]:
    """Go from the innermost dimension outwards: the next one has the product of the sizes so far as its stride."""
    order: list[int] = []
    stride = size_of(1)
    while any(dimension in strides for dimension in waiting):
        fitting = [dimension for dimension in waiting if strides.get(dimension) == stride]
        unknown = [dimension for dimension in waiting if dimension not in strides]
        if not fitting and not unknown:
            raise NotDenseError(f"strides {', '.join(str(strides[number]) for number in sorted(strides))}")
        chosen = (fitting or unknown)[-1]
        order.insert(0, chosen)
        waiting.remove(chosen)
        stride = stride * sizes[chosen]
    return waiting + order
