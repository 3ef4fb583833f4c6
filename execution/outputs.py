"""What comes out of a model, validated against what config.pbtxt declares and cut into the parts of each request."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch

from triton_pytorch.batching.requests import ParsedRequest
from triton_pytorch.batching.row_rule import OutputError, OutputViolation, RowCountViolation
from triton_pytorch.batching.scatter import scatter_rows, scatter_shapes, scatter_strings
from triton_pytorch.contract.plan import Plan, PlannedOutput
from triton_pytorch.execution.outcomes import Outcome
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.model_config.errors import ModelRunError
from triton_pytorch.model_config.suggestions import listed
from triton_pytorch.model_config.tensors import DYNAMIC, ONE_IN_EACH_ROW
from triton_pytorch.torch_runtime.datatypes import DATA_TYPES, TORCH_DTYPES
from triton_pytorch.torch_runtime.tensors import as_response_output

# The output leaves of one call: tensors or lists of strings, None, or the error that says why one is absent.
Results = Sequence[Any]
# One output of a call for each of its requests, or why it is not there.
Split = Sequence[Any] | OutputViolation
TensorSplit = Sequence[torch.Tensor] | OutputViolation

_HINT = "if that is how the model works, set max_batch_size: 0"
_HINT_FOR_RAGGED = (
    "an output in the shape of a ragged input needs batch_output, and one with a row for each request, requests of one "
    "row"
)


class Outputs:
    """The declared outputs of a model, in the order of config.pbtxt."""

    def __init__(self, plan: Plan) -> None:
        hint = _HINT_FOR_RAGGED if plan.has_ragged_inputs else _HINT
        self._outputs = [_output(planned, hint, is_batched=plan.is_batched) for planned in plan.outputs]

    def scatter(self, results: Results, requests: Sequence[ParsedRequest]) -> list[Outcome]:
        """Return what a call brings each of its requests; only outputs that one of them asks for are looked at."""
        first, *others = [request.requested for request in requests]
        requested = first.union(*others) if others else first
        splits = [
            (output.name, output.split(results[output.position], requests))
            for output in self._outputs
            if output.name in requested
        ]
        whole = [(name, split) for name, split in splits if not isinstance(split, OutputViolation)]
        violations = [split for _, split in splits if isinstance(split, OutputViolation)]
        outcomes: list[Outcome] = []
        for index, request in enumerate(requests):
            requested = request.requested
            if violations and (own := [violation for violation in violations if violation.output in requested]):
                outcomes.append(OutputError(own))
            else:
                outcomes.append({name: split[index] for name, split in whole if name in requested})
        return outcomes


def _output(planned: PlannedOutput, hint: str, *, is_batched: bool) -> "TensorOutput | StringsOutput":
    name, position, dims = planned.name, planned.position, planned.dims
    if planned.data_type is DataType.STRING:
        return StringsOutput(name, position, dims[0] if dims else DYNAMIC, is_batched, hint)
    dtype = TORCH_DTYPES[planned.data_type]
    if planned.source_position is not None:
        return ShapedOutput(name, position, dtype, dims, planned.source_position)
    return RowsOutput(name, position, dtype, dims, hint) if is_batched else WholeOutput(name, position, dtype, dims)


@dataclass(frozen=True, slots=True)
class TensorOutput(ABC):
    """A declared tensor; `dims` are without the batch dimension, DYNAMIC where any size will do.

    `position` is that of its leaf in the results of a call.
    """

    name: str
    position: int
    dtype: torch.dtype
    dims: tuple[int, ...]

    def split(self, result: Any, requests: Sequence[ParsedRequest]) -> TensorSplit:
        """Return a contiguous tensor for each request of a call; views where the result is contiguous."""
        if (
            isinstance(result, torch.Tensor)
            and result.dtype is self.dtype
            and result.layout is torch.strided
            and not result.is_nested
            and (result.data_ptr() or not result.numel())
        ):
            # DLPack tells only the memory of a view of negatives, as `.conj().imag` is.
            return self._parts(result.resolve_neg(), requests)
        return OutputViolation(self.name, _absence(self.name, result) or self._wrong_tensor(result))

    @abstractmethod
    def _parts(self, tensor: torch.Tensor, requests: Sequence[ParsedRequest]) -> TensorSplit:
        """Cut a tensor of the declared type, which Triton can read."""

    def _wrong_tensor(self, result: Any) -> str:
        declared = f"output '{self.name}' is declared {DATA_TYPES[self.dtype]}"
        if not isinstance(result, torch.Tensor):
            return f"{declared}, but the model returned strings: write data_type: TYPE_STRING in config.pbtxt"
        if result.layout is not torch.strided or result.is_nested:
            kind = "nested" if result.is_nested else f"of layout {result.layout}"
            return f"output '{self.name}' is {kind}: expected a dense tensor"
        if not result.data_ptr() and result.numel():  # of a meta tensor, or of zeros that torch did not write down
            return f"output '{self.name}' has no memory (device {result.device}): return a copy of it"
        data_type = DATA_TYPES.get(result.dtype)
        if data_type is None:
            return f"{declared}, but the model returned {result.dtype}, which Triton lacks: remove it from config.pbtxt"
        return f"{declared}, but the model returned {data_type}: write data_type: {data_type} in config.pbtxt"

    def _is_declared(self, sizes: torch.Size) -> bool:
        return sizes == self.dims or (
            len(sizes) == len(self.dims)
            and all(declared in (DYNAMIC, size) for declared, size in zip(self.dims, sizes, strict=True))
        )

    def _wrong_dims(self, result: torch.Tensor, after: str = "", remedy: str = "change its dims") -> OutputViolation:
        return OutputViolation(
            self.name,
            f"output '{self.name}' is declared with dims {list(self.dims)}{after}, but the model returned "
            f"{list(result.shape)}: {remedy} in config.pbtxt",
        )


@dataclass(frozen=True, slots=True)
class RowsOutput(TensorOutput):
    """A tensor of shape [rows, *dims]; `hint` says what to change where it has other rows than went in."""

    hint: str

    def _parts(self, tensor: torch.Tensor, requests: Sequence[ParsedRequest]) -> TensorSplit:
        rows = [request.rows for request in requests]
        shape = tensor.shape
        if not shape or shape[0] != sum(rows):
            return RowCountViolation(self.name, sum(rows), shape[0] if shape else None, self.hint)
        if not self._is_declared(shape[1:]):
            return self._wrong_dims(tensor, " after the batch dimension", self._dims_remedy(shape))
        return scatter_rows(tensor, rows)

    def _dims_remedy(self, returned: torch.Size) -> str:
        if len(returned) == 1:
            return f"declare {ONE_IN_EACH_ROW}"
        return "change its dims" if self.dims else "change its dims, or its reshape,"


@dataclass(frozen=True, slots=True)
class WholeOutput(TensorOutput):
    """A tensor of a model without batching, whose calls are for one request each."""

    def _parts(self, tensor: torch.Tensor, _: Sequence[ParsedRequest]) -> TensorSplit:
        if tensor.dim() == 0 and self.dims in ((1,), (DYNAMIC,)):
            tensor = tensor.reshape(1)  # Triton has no way to declare an output without dimensions here
        return [as_response_output(tensor)] if self._is_declared(tensor.shape) else self._wrong_dims(tensor)


@dataclass(frozen=True, slots=True)
class ShapedOutput(TensorOutput):
    """A tensor that is cut into the shapes that an input has in the requests (BATCH_SCATTER_WITH_INPUT_SHAPE)."""

    source: int

    def _parts(self, tensor: torch.Tensor, requests: Sequence[ParsedRequest]) -> TensorSplit:
        shapes = [self._shape(request.leaves[self.source].shape) for request in requests]
        count = sum(map(prod, shapes))
        if tensor.numel() != count:
            return OutputViolation(
                self.name,
                f"output '{self.name}' has {tensor.numel()} elements, but batch_output cuts it into the shapes of an "
                f"input, which make {count} here: {listed([str(shape) for shape in shapes])}",
            )
        return scatter_shapes(tensor, shapes)

    def _shape(self, source: Sequence[int]) -> list[int]:
        """Return the shape of this output in one request: the declared dims, dynamic ones as the source has them."""
        dims = [source[number] if size == DYNAMIC else size for number, size in enumerate(self.dims, 1)]
        return [source[0], *dims]


@dataclass(frozen=True, slots=True)
class StringsOutput:
    """Declared strings, of one dimension; `count` is their number where config.pbtxt fixes it, else DYNAMIC."""

    name: str
    position: int
    count: int
    is_batched: bool
    hint: str

    def split(self, result: Any, requests: Sequence[ParsedRequest]) -> Sequence[list[str]] | OutputViolation:
        """Return the strings of each request of a call."""
        absence = _absence(self.name, result)
        if absence is not None:
            return OutputViolation(self.name, absence)
        if isinstance(result, torch.Tensor):
            return OutputViolation(
                self.name,
                f"output '{self.name}' is declared TYPE_STRING, but the model returned a tensor: "
                f"write data_type: {DATA_TYPES.get(result.dtype, result.dtype)} in config.pbtxt",
            )
        strings = list(result)
        if self.is_batched:
            rows = [request.rows for request in requests]
            if len(strings) != sum(rows):
                return RowCountViolation(self.name, sum(rows), len(strings), self.hint)
            return scatter_strings(strings, rows)
        if self.count not in (DYNAMIC, len(strings)):
            return OutputViolation(
                self.name,
                f"output '{self.name}' is declared with dims [{self.count}], but the model returned {len(strings)} "
                "strings: change its dims in config.pbtxt",
            )
        return [strings]


def _absence(name: str, result: Any) -> str | None:
    """Return why an output is not there, if it is not."""
    if isinstance(result, ModelRunError):
        return str(result)
    if result is None:
        return f"output '{name}' is None in this answer: if it always is, remove it from config.pbtxt"
    return None
