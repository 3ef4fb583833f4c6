"""The leaves of a model with what is known of each: names, kind, data type, dimensions and memory layout."""

from dataclasses import dataclass
from enum import Enum, auto

from triton_pytorch.contract.sizes import Size
from triton_pytorch.io_naming.leaf_names import LeafNames
from triton_pytorch.io_naming.names import LeafPath


class ValueKind(Enum):
    """What a leaf is."""

    TENSOR = auto()
    STRINGS = auto()  # a list of strings, or a single one in a result
    NUMBER = auto()  # an int, a float or a bool; in a result a complex number too
    NONE = auto()
    OTHER = auto()  # an argument that no request can send, or a part of a result that no response can hold
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of a tensor: its size, and the bounds of a dynamic one.

    `may_be_empty`: that the lower bound is above 0 is what the exporter assumes of every dynamic size, and no more.
    """

    size: Size
    lower: int = 0
    upper: int | None = None
    may_be_empty: bool = False

    @property
    def is_fixed(self) -> bool:
        """Whether it has the same size in every request."""
        return self.size.constant is not None

    @property
    def lower_if_empty(self) -> int:
        """The lower bound where the exporter's assumption is left out."""
        return max(0, self.size.value(dict.fromkeys(self.size.symbols, 0)))

    def __str__(self) -> str:
        return str(self.size)


@dataclass(frozen=True, slots=True)
class Leaf:
    """An input or output leaf; None stands for what is not known.

    `dtype` is torch's name, such as "float32". `type` is the type in the words of the model's language, for messages.
    `layout` lists the dimensions from the outermost in memory to the innermost where the model expects another order
    than row-major: (0, 2, 3, 1) for channels_last. An input that `has_default` need not be in the config, nor in each
    request; of a dictionary that has one as a whole (`owner_has_default`) all entries can be left out together.

    `is_by_index` is True of an output that was declared by an index which only the answer can resolve: its leaves are
    counted then, and the path means nothing.
    """

    names: LeafNames
    kind: ValueKind = ValueKind.TENSOR
    dtype: str | None = None
    shape: tuple[Dimension, ...] | None = None
    layout: tuple[int, ...] | None = None
    has_default: bool = False
    owner_has_default: bool = False
    type: str = "Tensor"
    is_by_index: bool = False

    @property
    def path(self) -> LeafPath:
        """Where the leaf is in the arguments (`ARGS[0]`, `KWARGS[x][key]`) or in the result."""
        return self.names.path

    def __str__(self) -> str:
        return self.names.names[0]


def shape_text(shape: tuple[Dimension, ...]) -> str:
    """Print a shape as messages do: `[batch, 2*s27, 3]`."""
    return f"[{', '.join(map(str, shape))}]"
