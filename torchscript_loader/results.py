"""The declared outputs in the result of a call: found by path or by index, and made tensors or lists of strings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.io_naming.result_names import UNKNOWN, OutputPlace, ResultKind, ResultType
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.model_config.errors import ModelRunError
from triton_pytorch.model_config.suggestions import listed
from triton_pytorch.model_config.tensors import TensorConfig

# Of a declared output: what an answer has for it, or why it has nothing.
Output = torch.Tensor | list[str] | ModelRunError | None

_DTYPES: dict[type, torch.dtype] = {
    bool: torch.bool,
    int: torch.int64,
    float: torch.float64,
    complex: torch.complex128,
}


class _AbsentError(Exception):
    """A part of a result that is not there; the text says what is there."""


@dataclass(frozen=True, slots=True)
class _DeclaredOutput:
    name: str
    place: OutputPlace
    is_strings: bool

    @property
    def _label(self) -> str:
        place = "" if self.name == str(self.place) else f" ({self.place})"
        return f"output '{self.name}'{place}"

    def of(self, result: Any, leaves: Sequence[Any]) -> Output:
        """Return this output of a result; its leaves are needed only where an output has no path."""
        try:
            value = _at_path(result, self.place) if isinstance(self.place, LeafPath) else _at(leaves, self.place.index)
        except _AbsentError as error:
            return ModelRunError(f"{self._label} is not in this answer: {error}")
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


class ResultReader:
    """Finds the declared outputs of one model in the results of its calls."""

    def __init__(self, declared: Sequence[TensorConfig], places: Sequence[OutputPlace], result: ResultType) -> None:
        self._outputs = [
            _DeclaredOutput(tensor.name, place, tensor.data_type is DataType.STRING)
            for tensor, place in zip(declared, places, strict=True)
        ]
        self._result = result
        self._has_indices = not all(isinstance(place, LeafPath) for place in places)

    def read(self, result: Any) -> list[Output]:
        """Return each declared output, or why this answer has none."""
        leaves = list(_leaves(result, self._result)) if self._has_indices else ()
        return [output.of(result, leaves) for output in self._outputs]


def _leaves(value: Any, expected: ResultType) -> Iterator[Any]:
    """Yield the leaves of a result, or of a part of it, in order; only its type can tell of which an empty list is."""
    if _is_strings(value, or_empty=expected.kind is ResultKind.STRINGS):
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
    if whole.children is None:
        return whole.element or UNKNOWN
    return dict(whole.children).get(segment, UNKNOWN)


def _at(leaves: Sequence[Any], index: int) -> Any:
    if index < len(leaves):
        return leaves[index]
    raise _AbsentError(f"the number of outputs is {len(leaves)}, counted from 0")


def _at_path(result: Any, path: LeafPath) -> Any:
    value = result
    for depth, segment in enumerate(path.segments):
        try:
            value = _part(value, segment)
        except _AbsentError as error:
            raise _AbsentError(f"{LeafPath(path.root, path.segments[:depth])} {error}") from error
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
    raise _AbsentError(f"is {_described(whole)}")


def _is_strings(value: Any, *, or_empty: bool) -> bool:
    return isinstance(value, list) and (isinstance(value[0], str) if value else or_empty)


def _described(value: Any) -> str:
    """Say what a part of a result is."""
    if isinstance(value, dict):
        return f"a dictionary with the keys {listed([str(key) for key in value])}" if value else "an empty dictionary"
    if isinstance(value, (list, tuple)):
        of_strings = " of strings" if _is_strings(value, or_empty=False) else ""
        return f"a {type(value).__name__}{of_strings} with {_counted(len(value), 'element')}"
    if isinstance(value, torch.Tensor):
        return "a tensor"
    return {str: "a string", type(None): "None"}.get(type(value), f"a value of type {type(value).__name__}")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
