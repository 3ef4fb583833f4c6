"""What comes out of a model held against what config.pbtxt declares, before anything is sent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Any, Protocol

import torch

from triton_pytorch.batching.scatter import scatter_rows, scatter_shapes
from triton_pytorch.execution.interfaces import TensorFactory
from triton_pytorch.execution.requests import Reading
from triton_pytorch.execution.strings import as_triton_array
from triton_pytorch.contract.binding import Contract
from triton_pytorch.model_config.configuration import ModelConfig
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.model_config.errors import ModelRunError
from triton_pytorch.model_config.suggestions import listed
from triton_pytorch.model_config.tensors import DYNAMIC
from triton_pytorch.torch_runtime.datatypes import DATA_TYPES, TORCH_DTYPES
from triton_pytorch.torch_runtime.tensors import as_response_output, to_dlpack

# The output leaves of one call: tensors or lists of strings, None, or the error that says why one is absent.
Results = Sequence[Any]
_HINT = "if that is how the model works, set max_batch_size: 0"
_HINT_FOR_RAGGED = (
    "an output in the shape of a ragged input needs batch_output, and one with a row for each request, requests of one "
    "row"
)
ToTriton = Callable[[Any], Any]  # makes Triton's tensor of one request's part


class Output(Protocol):
    """A declared output of any type."""

    def parts(self, results: Results, readings: Sequence[Reading]) -> list[Any]:
        """Return this output of a call for each of its requests; raises ModelRunError if it is not as declared."""
        ...

    def to_triton(self, factory: TensorFactory) -> ToTriton:
        """Return what makes Triton's tensor of a part."""
        ...


@dataclass(frozen=True, slots=True)
class TensorOutput:
    """A declared tensor: the leaf of the result that it is, and its dtype and dims behind the batch dimension."""

    name: str
    leaf: int
    dtype: torch.dtype
    dims: tuple[int, ...]
    is_batched: bool
    hint: str  # what to change where it is not batched
    source: int | None = None  # the input leaf whose shapes it is cut into (BATCH_SCATTER_WITH_INPUT_SHAPE), if so

    def parts(self, results: Results, readings: Sequence[Reading]) -> list[torch.Tensor]:
        """Return this output of a call for each of its requests, contiguous; views where the result is.

        Raises:
            ModelRunError: it is not what the config declares.
        """
        result = self._of_declared_type(results)
        if self.source is not None:
            return self._cut_into_shapes(result, [reading.leaves[self.source] for reading in readings])
        if not self.is_batched:
            if result.dim() == 0 and self.dims in ((1,), (DYNAMIC,)):
                result = result.reshape(1)  # Triton has no way to declare an output without dimensions here
            self._check_dims(result)
            return [as_response_output(result)]
        rows = [reading.rows for reading in readings]
        _check_rows(self.name, result.shape[0] if result.dim() else None, sum(rows), self.hint)
        self._check_dims(result)
        return scatter_rows(result, rows)

    def to_triton(self, factory: TensorFactory) -> ToTriton:
        """Return what makes Triton's tensor of a part."""
        name, from_dlpack = self.name, factory.from_dlpack
        return lambda tensor: from_dlpack(name, to_dlpack(tensor))

    def _of_declared_type(self, results: Results) -> torch.Tensor:
        result = _present(results, self.leaf, self.name)
        if not isinstance(result, torch.Tensor):
            raise ModelRunError(
                f"output '{self.name}' is declared {DATA_TYPES[self.dtype]}, but the model returned strings: "
                "write data_type: TYPE_STRING in config.pbtxt"
            )
        if result.layout is not torch.strided or result.is_nested:
            kind = "nested" if result.is_nested else f"of layout {result.layout}"
            raise ModelRunError(f"output '{self.name}' is {kind}: expected a dense tensor")
        if not result.data_ptr() and result.numel():  # of a meta tensor, or of zeros that torch did not write down
            raise ModelRunError(f"output '{self.name}' has no memory (device {result.device}): return a copy of it")
        if result.dtype is not self.dtype:
            raise ModelRunError(self._wrong_type(result.dtype))
        return result.resolve_neg()  # of a view of the negatives, such as `.conj().imag`, DLPack tells only the memory

    def _cut_into_shapes(self, result: torch.Tensor, sources: Sequence[torch.Tensor | None]) -> list[torch.Tensor]:
        shapes = [(source.shape[0], *self._dims_after(source)) for source in sources if source is not None]
        count = sum(map(prod, shapes))
        if result.numel() != count:
            raise ModelRunError(
                f"output '{self.name}' has {result.numel()} elements, but batch_output cuts it into the shapes of an "
                f"input, which make {count} here: {listed([str(list(shape)) for shape in shapes])}"
            )
        return scatter_shapes(result, shapes)

    def _dims_after(self, source: torch.Tensor) -> list[int]:
        """Return the dims of this output in one request: the declared ones, open ones as the source has them."""
        return [source.shape[number + 1] if size == DYNAMIC else size for number, size in enumerate(self.dims)]

    def _check_dims(self, result: torch.Tensor) -> None:
        got = result.shape[1:] if self.is_batched else result.shape
        if got != self.dims and not self._are_declared(got):
            raise ModelRunError(self._wrong_dims(result))

    def _are_declared(self, sizes: Sequence[int]) -> bool:
        return len(sizes) == len(self.dims) and all(
            declared in (DYNAMIC, size) for declared, size in zip(self.dims, sizes, strict=True)
        )

    def _wrong_type(self, dtype: torch.dtype) -> str:
        declared = f"output '{self.name}' is declared {DATA_TYPES[self.dtype]}"
        data_type = DATA_TYPES.get(dtype)
        if data_type is None:
            return f"{declared}, but the model returned {dtype}, which Triton lacks: remove it from config.pbtxt"
        return f"{declared}, but the model returned {data_type}: write data_type: {data_type} in config.pbtxt"

    def _wrong_dims(self, result: torch.Tensor) -> str:
        behind = " behind the batch dimension" if self.is_batched else ""
        return (
            f"output '{self.name}' is declared with dims {list(self.dims)}{behind}, but the model returned "
            f"{list(result.shape)}: change its dims in config.pbtxt"
        )


@dataclass(frozen=True, slots=True)
class StringsOutput:
    """Declared strings, of one dimension: the leaf of the result that they are, and their number where it is fixed."""

    name: str
    leaf: int
    count: int
    is_batched: bool
    hint: str  # what to change where they are not batched

    def parts(self, results: Results, readings: Sequence[Reading]) -> list[list[str]]:
        """Return the strings of each request of a call.

        Raises:
            ModelRunError: they are none, or not as many as they have to be.
        """
        result = _present(results, self.leaf, self.name)
        if isinstance(result, torch.Tensor):
            raise ModelRunError(
                f"output '{self.name}' is declared TYPE_STRING, but the model returned a tensor: "
                f"write data_type: {DATA_TYPES.get(result.dtype, result.dtype)} in config.pbtxt"
            )
        strings = list(result)
        if self.is_batched:
            rows = [reading.rows for reading in readings]
            _check_rows(self.name, len(strings), sum(rows), self.hint)
            return [strings[end - count : end] for end, count in zip(accumulate(rows), rows, strict=True)]
        if self.count not in (DYNAMIC, len(strings)):
            raise ModelRunError(
                f"output '{self.name}' is declared with dims [{self.count}], but the model returned {len(strings)} "
                "strings: change its dims in config.pbtxt"
            )
        return [strings]

    def to_triton(self, factory: TensorFactory) -> ToTriton:
        """Return what makes Triton's tensor of a part."""
        name = self.name
        return lambda strings: factory(name, as_triton_array(strings))


def _present(results: Results, leaf: int, name: str) -> Any:
    """Return a leaf of a result; raises ModelRunError where it is not there."""
    result = results[leaf]
    if isinstance(result, ModelRunError):
        raise result
    if result is None:
        raise ModelRunError(f"output '{name}' is None in this answer: if it always is, remove it from config.pbtxt")
    return result


def _check_rows(name: str, got: int | None, rows: int, hint: str) -> None:
    if got != rows:
        returned = "a single number" if got is None else _rows_text(got)
        raise ModelRunError(
            f"output '{name}' is not batched: {_rows_text(rows)} went in and {returned} came out; {hint}"
        )


def _rows_text(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def declare_outputs(config: ModelConfig, contract: Contract) -> dict[str, Output]:
    """Return the declared outputs by name."""
    input_leaves = {tensor.name: leaf for tensor, leaf in zip(config.inputs, contract.inputs, strict=True)}
    sources = {batch_output.target: input_leaves[batch_output.source] for batch_output in config.batch_outputs}
    is_batched = config.max_batch_size > 0
    hint = _HINT_FOR_RAGGED if config.batch_inputs or any(tensor.is_ragged for tensor in config.inputs) else _HINT
    outputs: dict[str, Output] = {}
    for tensor, leaf in zip(config.outputs, contract.outputs, strict=True):
        name, dims = tensor.name, tensor.model_dims
        if tensor.data_type is DataType.STRING:
            outputs[name] = StringsOutput(name, leaf, dims[0] if dims else DYNAMIC, is_batched, hint)
        else:
            dtype = TORCH_DTYPES[tensor.data_type]
            outputs[name] = TensorOutput(name, leaf, dtype, dims, is_batched, hint, sources.get(name))
    return outputs
