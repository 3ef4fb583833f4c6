"""The planned outputs in the result of a call: found by path or by index, and made tensors or lists of strings."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from triton_pytorch.contract.leaves import Leaf, ValueKind
from triton_pytorch.io_naming.names import Direction, LeafPath, OrdinalName
from triton_pytorch.method_calls.results import UNKNOWN, LeafType, ResultType
from triton_pytorch.model_config.errors import ModelRunError
from triton_pytorch.model_config.suggestions import counted, listed

# What an answer has for a planned output, or why it has nothing.
Output = torch.Tensor | list[str] | ModelRunError | None

_DTYPES: dict[type, torch.dtype] = {
    bool: torch.bool,
    int: torch.int64,
    float: torch.float64,
    complex: torch.complex128,
}


@dataclass(frozen=True, slots=True)
class _Absent:
    """A part of a result that is not there; `reason` says what is there."""

    reason: str


class ResultReader:
    """Finds the planned outputs of one model in the results of its calls."""

    def __init__(self, leaves: Sequence[Leaf], result: ResultType) -> None:
        self._outputs = [_output_of(leaf) for leaf in leaves]
        self._result = result
        self._has_indices = any(leaf.is_by_index for leaf in leaves)

    def read(self, result: Any) -> list[Output]:
        """Return each planned output, or why this answer lacks it."""
        leaves = list(_owned_leaves(result, self._result)) if self._has_indices else ()
        return [output.read(result, leaves) for output in self._outputs]


def _output_of(leaf: Leaf) -> "_Output":
    is_strings = leaf.kind is ValueKind.STRINGS
    if leaf.is_by_index and leaf.names.index is not None:
        text = str(leaf).rpartition("__")[0]
        words = {str(leaf), text} - {Direction.OUTPUT.value}
        return _Output(str(leaf), OrdinalName(Direction.OUTPUT, leaf.names.index), is_strings, words)
    return _Output(str(leaf), leaf.path, is_strings)


@dataclass(frozen=True, slots=True)
class _Output:
    """A planned output, by the name that the config declares.

    `words` are the name and the text before its index: where an answer has a part called so, the index must mean a leaf
    of that part.
    """

    name: str
    source: LeafPath | OrdinalName
    is_strings: bool
    words: Collection[str] = ()

    @property
    def _label(self) -> str:
        source = "" if self.name == str(self.source) else f" ({self.source})"
        return f"output '{self.name}'{source}"

    def read(self, result: Any, leaves: Sequence["_OwnedLeaf"]) -> Output:
        """Return this output of a result; its leaves are needed only where the output has no path."""
        if isinstance(self.source, LeafPath):
            value = _at_path(result, self.source)
        else:
            owner, value = _at(leaves, self.source)
            named = [name for name in _part_names(result) if name in self.words]
            if named and named != [owner] and not isinstance(value, _Absent):
                parts = listed([f"RESULT[{name}]" for name in named])
                return ModelRunError(
                    f"output '{self.name}' contradicts itself in this answer: its text names {parts}, and "
                    f"{self.source} belongs to RESULT[{owner}]; write the one that is meant"
                )
        if isinstance(value, _Absent):
            return ModelRunError(f"{self._label} is not in this answer: {value.reason}")
        return self._strings(value) if self.is_strings else self._tensor(value)

    def _tensor(self, value: Any) -> Output:
        if value is None or isinstance(value, torch.Tensor):
            return value
        if type(value) in _DTYPES:
            return torch.tensor(value, dtype=_DTYPES[type(value)])
        return self._unexpected(value, "a tensor or a number")

    def _strings(self, value: Any) -> Output:
        if value is None or _is_strings(value, or_empty=True):
            strings: list[str] | None = value
            return strings
        return [value] if isinstance(value, str) else self._unexpected(value, "strings, as it is TYPE_STRING")

    def _unexpected(self, value: Any, expected: str) -> ModelRunError:
        return ModelRunError(f"{self._label} is {_described(value)} in this answer: expected {expected}")


# The key or field at the top of the result that a leaf belongs to, None where it has none, and the leaf.
_OwnedLeaf = tuple[str | None, Any]


def _part_names(result: Any) -> Sequence[str]:
    """Return the names of the parts at the top of a result: the keys of a dictionary, the fields of a NamedTuple."""
    return list(map(str, result)) if isinstance(result, dict) else getattr(result, "_fields", ())


def _owned_leaves(result: Any, expected: ResultType) -> Iterator[_OwnedLeaf]:
    """Yield the leaves of a result in order, each with its owner."""
    names = _part_names(result)
    if not names:
        yield from ((None, leaf) for leaf in _leaves(result, expected))
        return
    parts = result.items() if isinstance(result, dict) else enumerate(result)
    for name, (segment, part) in zip(names, parts, strict=True):
        yield from ((name, leaf) for leaf in _leaves(part, _part_type(expected, str(segment))))


def _leaves(value: Any, expected: ResultType) -> Iterator[Any]:
    """Yield the leaves of a result, or of a part of it, in order; only its type can tell of which an empty list is."""
    if _is_strings(value, or_empty=isinstance(expected, LeafType) and expected.kind is ValueKind.STRINGS):
        yield value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, _part_type(expected, str(key)))
    elif isinstance(value, (list, tuple)):
        for index, part in enumerate(value):
            yield from _leaves(part, _part_type(expected, str(index)))
    else:
        yield value


def _part_type(whole: ResultType, segment: str) -> ResultType:
    if isinstance(whole, LeafType):
        return UNKNOWN
    if whole.children is None:
        return whole.element or UNKNOWN
    return dict(whole.children).get(segment, UNKNOWN)


def _at(leaves: Sequence[_OwnedLeaf], name: OrdinalName) -> _OwnedLeaf:
    if name.index < len(leaves):
        return leaves[name.index]
    return None, _Absent(f"the number of outputs is {len(leaves)}, counted from 0")


def _at_path(result: Any, path: LeafPath) -> Any:
    value = result
    for depth, segment in enumerate(path.segments):
        part = _part(value, segment)
        if isinstance(part, _Absent):
            return _Absent(f"{LeafPath(path.root, path.segments[:depth])} {part.reason}")
        value = part
    return value


def _part(whole: Any, segment: str) -> Any:
    if isinstance(whole, dict):
        if segment in whole:
            return whole[segment]
        by_text = {str(key): part for key, part in whole.items()}  # keys can be numbers
        if segment in by_text:
            return by_text[segment]
    elif isinstance(whole, (list, tuple)) and segment.isdecimal():
        index = int(segment)
        if index < len(whole) and not _is_strings(whole, or_empty=False):
            return whole[index]
    return _Absent(f"is {_described(whole)}")


def _is_strings(value: Any, *, or_empty: bool) -> bool:
    return isinstance(value, list) and (isinstance(value[0], str) if value else or_empty)


def _described(value: Any) -> str:
    """Say what a part of a result is."""
    if isinstance(value, dict):
        return f"a dictionary with the keys {listed([str(key) for key in value])}" if value else "an empty dictionary"
    if isinstance(value, (list, tuple)):
        of_strings = " of strings" if _is_strings(value, or_empty=False) else ""
        return f"a {type(value).__name__}{of_strings} with {counted(len(value), 'element')}"
    if isinstance(value, torch.Tensor):
        return "a tensor"
    return {str: "a string", type(None): "None"}.get(type(value), f"a value of type {type(value).__name__}")
