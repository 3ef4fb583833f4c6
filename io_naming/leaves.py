"""The leaves of a model with what is known of each: name, data type, dimensions and memory layout."""

from dataclasses import dataclass

from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.io_naming.sizes import Size


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of a tensor: its size, and for an open one the bounds that the exporter stated."""

    size: Size
    lower: int = 0
    upper: int | None = None

    def __str__(self) -> str:
        return str(self.size)


@dataclass(frozen=True, slots=True)
class Leaf:
    """An input or output leaf; None stands for what is not known.

    `dtype` is torch's name, such as "float32". `layout` lists the dimensions from the outermost in memory to the
    innermost where the model expects another order than row-major: (0, 2, 3, 1) for channels_last. An input that
    `has_default` need not be in the config, nor in each request. `names` are those that a loader has given it; then
    its path and ordinal are no names of it.
    """

    path: LeafPath
    dtype: str | None = None
    shape: tuple[Dimension, ...] | None = None
    layout: tuple[int, ...] | None = None
    has_default: bool = False
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.names[0] if self.names else str(self.path)


def shape_text(shape: tuple[Dimension, ...]) -> str:
    """Print a shape as messages do: `[batch, 2*s27, 3]`."""
    return f"[{', '.join(map(str, shape))}]"
