"""The result of a callable as output leaves, as far as its type, and the code that makes it, can tell before a call.

Leaves are tensors, numbers, `None`, strings and lists of strings, in tuples, lists and dictionaries. How many parts
a list or dictionary has may be known only when the model has answered: an open leaf such as `RESULT[1][<index>]`
stands for them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from triton_pytorch.contract.leaves import Leaf, ValueKind
from triton_pytorch.io_naming.leaf_names import ANY_INDEX, ANY_KEY, LeafNames
from triton_pytorch.io_naming.names import LeafPath


class ContainerKind(Enum):
    """How the parts of a container are reached: by index, or by key."""

    SEQUENCE = auto()
    MAPPING = auto()


@dataclass(frozen=True, slots=True)
class LeafType:
    """The type of a leaf; `text` is the type in words, `dtype` that of a number."""

    kind: ValueKind
    text: str
    dtype: str | None = None


@dataclass(frozen=True, slots=True)
class ContainerType:
    """The type of a tuple, list or dictionary; `text` is the type in words.

    `children` are the parts that it can have, by index or key, where these are known, and `are_certain` says that it
    has them all, in this order; else `element` is the type that its parts have in common. `fields` are the names of
    the parts of a NamedTuple. A container that `is_optional` may be None instead.
    """

    kind: ContainerKind
    text: str
    children: tuple[tuple[str, "ResultType"], ...] | None = None
    are_certain: bool = True
    element: "ResultType | None" = None
    fields: tuple[str, ...] = ()
    is_optional: bool = False


# The type of a result, or of a part of it.
ResultType = LeafType | ContainerType

UNKNOWN = LeafType(ValueKind.UNKNOWN, "of a type that is not known")


@dataclass(frozen=True, slots=True)
class _LeafPart:
    """A leaf of a result, and how it is reached: `field_segments` name the parts of NamedTuples by their fields.

    `is_certain`: the leaf is there, once, in every answer. `is_entry`: it is below a dictionary.
    """

    type: LeafType
    segments: tuple[str, ...]
    field_segments: tuple[str, ...]
    is_certain: bool
    is_entry: bool

    @property
    def is_open(self) -> bool:
        """Whether it may stand for several leaves."""
        return self.type.kind is ValueKind.UNKNOWN or not {ANY_INDEX, ANY_KEY}.isdisjoint(self.segments)


def result_leaves(result: ResultType) -> tuple[tuple[Leaf, ...], bool]:
    """Return the output leaves of a callable in flat order, and whether an answer may have more of them, or others."""
    parts = list(_leaf_parts(result))
    # Leaves after one that may not be there, or several times, have no index that is known.
    indexed = next((i for i, part in enumerate(parts) if part.is_open or not part.is_certain), len(parts))
    has_named_parts = isinstance(result, ContainerType) and (
        result.kind is ContainerKind.MAPPING or bool(result.fields)
    )
    leaves = tuple(
        _leaf(part, index if index < indexed else None, has_named_parts=has_named_parts)
        for index, part in enumerate(parts)
    )
    return leaves, any(part.is_open for part in parts)


def _leaf(part: _LeafPart, index: int | None, *, has_named_parts: bool) -> Leaf:
    path, field_path = LeafPath("RESULT", part.segments), LeafPath("RESULT", part.field_segments)
    owner = part.field_segments[0] if has_named_parts else None
    bare = (owner,) if owner is not None and len(part.segments) == 1 else ()
    names = LeafNames(
        path,
        tuple(dict.fromkeys((str(path), str(field_path), *bare))),
        index=index,
        owner=None if owner == ANY_KEY else owner,
        is_entry=part.is_entry,
    )
    return Leaf(names, kind=part.type.kind, dtype=part.type.dtype, type=part.type.text)


def _leaf_parts(result: ResultType) -> Iterator[_LeafPart]:
    """Yield the leaves of a result, or of a part of it, in order."""
    if isinstance(result, LeafType):
        yield _LeafPart(result, (), (), is_certain=True, is_entry=False)
        return
    is_certain = not result.is_optional and result.children is not None and result.are_certain
    for segment, field, child in _children(result):
        for part in _leaf_parts(child):
            yield _LeafPart(
                part.type,
                (segment, *part.segments),
                (field, *part.field_segments),
                is_certain=is_certain and part.is_certain,
                is_entry=result.kind is ContainerKind.MAPPING or part.is_entry,
            )


def _children(container: ContainerType) -> Iterator[tuple[str, str, ResultType]]:
    """Yield each part with its segment in paths, and the one that a NamedTuple has by the name of its field."""
    if container.children is None:
        segment = ANY_INDEX if container.kind is ContainerKind.SEQUENCE else ANY_KEY
        yield segment, segment, container.element or UNKNOWN
        return
    for position, (segment, child) in enumerate(container.children):
        yield segment, container.fields[position] if container.fields else segment, child
