"""Names of outputs in the result of a method: by index, by path, or as keys of the dictionary that the result is.

A declared name is

1. `<name>__<index>`: the leaf at that place of the flat result, counted from 0, whatever stands before the index,
2. `RESULT`, `RESULT[1][0]`, `RESULT[key]`: the path of a leaf,
3. where the result is a dictionary, one of its keys.

Names of all these forms may be mixed. Where no name has any of them, the order of the config decides. Leaves are
tensors, numbers, `None`, strings and lists of strings; what holds them, and how many, may be known only when the
model has answered, so a place is checked as far as the type of the result, and the code that makes it, can say.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice, takewhile

from triton_pytorch.io_naming.argument_names import INDEXED, in_order, repeated
from triton_pytorch.io_naming.binding import explained, inventory, named_twice, out_of_range
from triton_pytorch.io_naming.names import Direction, LeafPath, OrdinalName, parse_name
from triton_pytorch.model_config.errors import NamingError
from triton_pytorch.model_config.suggestions import did_you_mean, joined, listed

_POSITION = re.compile(r"0|[1-9][0-9]{0,17}")
_LEAVES_LISTED = 1000  # more than messages show, fewer than would take long
_ROOT = LeafPath("RESULT")
_ANY_INDEX, _ANY_KEY = "<index>", "<key>"


class ResultKind(Enum):
    """What a method returns, or a part of that."""

    TENSOR = auto()
    STRINGS = auto()  # a string, or a list of strings
    NUMBER = auto()
    NONE = auto()
    SEQUENCE = auto()
    MAPPING = auto()
    UNKNOWN = auto()


_CONTAINERS = (ResultKind.SEQUENCE, ResultKind.MAPPING)


@dataclass(frozen=True, slots=True)
class ResultType:
    """The type of a result, or of a part of it; `text` is the type in words, `dtype` that of a number.

    `children` are the parts that a container can have, by index or key, where that is known, and `are_certain` says
    that it has them all, in this order; else `element` is the type that its parts have in common. One that
    `is_optional` may be None instead.
    """

    kind: ResultKind
    text: str
    dtype: str | None = None
    is_optional: bool = False
    children: tuple[tuple[str, "ResultType"], ...] | None = None
    are_certain: bool = True
    element: "ResultType | None" = None


UNKNOWN = ResultType(ResultKind.UNKNOWN, "of a type that is not known")

# A leaf of the result: its path, or where that depends on the answer its index.
OutputPlace = LeafPath | OrdinalName


@dataclass(frozen=True, slots=True)
class PlacedOutputs:
    """The place of each declared output, in the order of the config, with its type as far as that is known."""

    places: tuple[OutputPlace, ...]
    types: tuple[ResultType, ...]
    warnings: tuple[str, ...] = ()


def place_outputs(declared: Sequence[str], result: ResultType) -> PlacedOutputs:
    """Return the places of declared outputs.

    Raises one NamingError with a sentence for each fault: a name that is none, or that the type of the result
    contradicts, and two names for one leaf.
    """
    return _Names(result).place_all(declared)


def output_labels(result: ResultType) -> list[str]:
    """Return what a config can declare, as messages print it: `RESULT[0] (OUTPUT__0)`, `RESULT[1][<index>]`."""
    return _Names(result).labels


class _Names:
    """The names that the leaves of one result go by."""

    def __init__(self, result: ResultType) -> None:
        self._result = result
        outline = list(islice(_outline(result, _ROOT, is_certain=True), _LEAVES_LISTED))
        self._paths = [path for path, _, _ in outline]
        # Leaves behind one that may not be there, or several times, have no index that is known.
        self._leaves = [path for path, _, _ in takewhile(lambda leaf: leaf[2], outline)]
        self._has_limit = len(outline) < _LEAVES_LISTED and not any(_is_open(path, leaf) for path, leaf, _ in outline)

    @property
    def labels(self) -> list[str]:
        """All that can be declared, as messages print it."""
        counted = [f"{path} ({OrdinalName(Direction.OUTPUT, index)})" for index, path in enumerate(self._leaves)]
        return counted + [str(path) for path in self._paths[len(counted) :]]

    def place_all(self, declared: Sequence[str]) -> PlacedOutputs:
        """Return the places of declared outputs; raises as `place_outputs` does."""
        readings = [self._read(name) for name in declared]
        if declared and not any(readings) and self._result.kind is not ResultKind.MAPPING:
            return self._place_in_order(declared)
        faults = [
            reading or f"{name!r} is no output of the model{did_you_mean(name, self._known)}"
            for name, reading in zip(declared, readings, strict=True)
            if not isinstance(reading, OutputPlace)
        ]
        named = [(name, it) for name, it in zip(declared, readings, strict=True) if isinstance(it, OutputPlace)]
        return self._checked(named, explained(faults))

    def _place_in_order(self, declared: Sequence[str]) -> PlacedOutputs:
        faults = repeated(declared)
        if self._has_limit and len(declared) > len(self._paths):
            faults.append(
                f"the number of declared outputs is {len(declared)}, but the model returns {len(self._paths)}"
            )
        named = [(name, place) for index, name in enumerate(declared) if (place := self._at(index)) is not None]
        pairs = [f"'{name}' is {place}" for name, place in named]
        warning = f"no output is named RESULT.., or <name>__<index>: {in_order(pairs)}"
        return self._checked(named, faults, warning)

    def _checked(self, named: Sequence[tuple[str, OutputPlace]], faults: list[str], *warnings: str) -> PlacedOutputs:
        names_of: dict[str, list[str]] = {}
        for name, place in named:
            names_of.setdefault(str(place), []).append(name)
        types = [_type_at(place, self._result) if isinstance(place, LeafPath) else UNKNOWN for _, place in named]
        faults += named_twice(names_of, Direction.OUTPUT)
        faults += [
            f"output {name!r} is always None: remove it from the config"
            for (name, _), leaf in zip(named, types, strict=True)
            if leaf.kind is ResultKind.NONE
        ]
        if faults:
            raise NamingError(joined([*faults, inventory(self.labels, Direction.OUTPUT)]))
        return PlacedOutputs(tuple(place for _, place in named), tuple(types), warnings)

    def _read(self, name: str) -> OutputPlace | str | None:
        """Return the place that a name stands for, or what is wrong with it, or None where it has none of the forms."""
        is_path = "[" in name or "]" in name or name == str(_ROOT)
        if is_path:
            return self._read_path(name)
        places = list(dict.fromkeys(self._readings(name)))
        if len(places) > 1:
            return f"{name!r} can mean {' or '.join(map(str, places))}: expected a name that only one of them has"
        if places:
            (place,) = places
            return self._checked_path(name, place) if isinstance(place, LeafPath) else place
        if INDEXED.fullmatch(name):
            return out_of_range(name, len(self._paths), Direction.OUTPUT)
        if self._result.kind is ResultKind.MAPPING:
            return self._checked_path(name, LeafPath(_ROOT.root, (name,)))
        return None

    def _readings(self, name: str) -> Iterator[OutputPlace]:
        """Yield the places that a name can stand for by what is known of the result."""
        indexed = INDEXED.fullmatch(name)
        if indexed and (place := self._at(int(indexed[2]))) is not None:
            yield place
        if self._result.kind is ResultKind.MAPPING and name in dict(self._result.children or ()):
            yield LeafPath(_ROOT.root, (name,))

    def _at(self, index: int) -> OutputPlace | None:
        """Return the leaf of an index; None where it is known that there is none."""
        if index < len(self._leaves):
            return self._leaves[index]
        is_beyond = self._has_limit and index >= len(self._paths)
        return None if is_beyond else OrdinalName(Direction.OUTPUT, index)

    def _read_path(self, name: str) -> OutputPlace | str:
        try:
            path = parse_name(name, Direction.OUTPUT, self._known)
        except NamingError as error:
            return str(error)
        return self._checked_path(name, path) if isinstance(path, LeafPath) else path

    def _checked_path(self, name: str, path: LeafPath) -> OutputPlace | str:
        """Return the path of a leaf, or how the type of the result contradicts it."""
        try:
            leaf = _type_at(path, self._result)
        except NamingError as error:
            return f"{name!r} is no output of the model: {error}{did_you_mean(str(path), self._known)}"
        if leaf.kind not in _CONTAINERS:
            return path
        below = [str(below) for below, _, _ in islice(_outline(leaf, path, is_certain=True), _LEAVES_LISTED)]
        return f"{name!r} is a container and no tensor: expected one of its leaves, {listed(below)}"

    @property
    def _known(self) -> list[str]:
        """The names to suggest."""
        return [str(path) for path in self._paths]


def _outline(result: ResultType, path: LeafPath, *, is_certain: bool) -> Iterator[tuple[LeafPath, ResultType, bool]]:
    """Yield the leaves below a path, and whether each is there, once, in every answer; `<..>` for any index or key."""
    if result.kind not in _CONTAINERS:
        yield path, result, is_certain and result.kind is not ResultKind.UNKNOWN
        return
    is_certain = is_certain and not result.is_optional and result.children is not None and result.are_certain
    any_part = _ANY_INDEX if result.kind is ResultKind.SEQUENCE else _ANY_KEY
    parts = ((any_part, result.element or UNKNOWN),) if result.children is None else result.children
    for segment, part in parts:
        yield from _outline(part, LeafPath(path.root, (*path.segments, segment)), is_certain=is_certain)


def _is_open(path: LeafPath, leaf: ResultType) -> bool:
    """Return whether a line of the outline may stand for several leaves."""
    return leaf.kind is ResultKind.UNKNOWN or not {_ANY_INDEX, _ANY_KEY}.isdisjoint(path.segments)


def _type_at(path: LeafPath, result: ResultType) -> ResultType:
    """Return the type of a part of the result; raises NamingError where there cannot be one."""
    for depth, segment in enumerate(path.segments):
        if result.kind is ResultKind.UNKNOWN:
            break
        part = _part(result, segment)
        if part is None:
            raise NamingError(f"{LeafPath(path.root, path.segments[:depth])} {_parts_text(result)}")
        result = part
    return result


def _part(result: ResultType, segment: str) -> ResultType | None:
    if result.kind not in _CONTAINERS or (result.kind is ResultKind.SEQUENCE and not _POSITION.fullmatch(segment)):
        return None
    return (result.element or UNKNOWN) if result.children is None else dict(result.children).get(segment)


def _parts_text(result: ResultType) -> str:
    if result.kind not in _CONTAINERS:
        return f"is {result.text}, a leaf"
    if result.children is None:
        return f"is {result.text}, whose elements are numbered from 0"
    keys = [key for key, _ in result.children]
    if result.kind is ResultKind.MAPPING:
        return f"has the keys {listed(keys)}" if keys else "has no keys"
    return f"is {result.text}, with {len(keys)} element{'' if len(keys) == 1 else 's'}"
