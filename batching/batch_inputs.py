"""The inputs that no request sends: made for each call from the shapes of another input in its requests."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod

import torch

from triton_pytorch.model_config.batch_tensors import BatchInput, BatchInputKind
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.model_config.errors import RequestError
from triton_pytorch.torch_runtime.datatypes import TORCH_DTYPES

Shapes = Sequence[Sequence[int]]  # of the source in each request: [rows, *dims]
BatchInputBuilder = Callable[[Shapes], torch.Tensor]

# Up to here each whole number is held exactly; beyond, a wrong one would be.
_LARGEST = {DataType.INT32: 2**31 - 1, DataType.INT64: 2**63 - 1, DataType.FP32: 2**24, DataType.FP64: 2**53}


def batch_input_builder(batch_input: BatchInput, device: torch.device) -> BatchInputBuilder:
    """Return what builds a batch input from the shapes that its source has in the requests of a call.

    The tensor lies on the device in memory of its own, since models may write to their inputs. What is in it follows
    from BatchInput.Kind in Triton's model_config.proto, and where that is silent from BackendInputCollector of
    Triton's backend repository: element counts count rows too.

    The builder raises RequestError where the data type cannot hold a number exactly.
    """
    if batch_input.kind is BatchInputKind.MAX_ELEMENT_COUNT_AS_SHAPE:
        return _empty_of_largest_count(TORCH_DTYPES[batch_input.data_type], device)
    numbers, largest = _NUMBERS[batch_input.kind], _LARGEST[batch_input.data_type]
    dtype = TORCH_DTYPES[batch_input.data_type]
    has_row_each = batch_input.kind is BatchInputKind.ITEM_SHAPE

    def build(shapes: Shapes) -> torch.Tensor:
        values = numbers(shapes)
        if values and max(values) > largest:
            raise RequestError(_too_large(batch_input, max(values), largest))
        tensor = torch.tensor(values, dtype=dtype, device=device)
        return tensor.reshape(_rows(shapes), len(shapes[0]) - 1) if has_row_each else tensor

    return build


def _empty_of_largest_count(dtype: torch.dtype, device: torch.device) -> BatchInputBuilder:
    """Only the shape says something. Triton leaves the content uninitialised; a model shall not see foreign memory."""

    def build(shapes: Shapes) -> torch.Tensor:
        return torch.zeros(max(map(prod, shapes)), dtype=dtype, device=device)

    return build


def _counts(shapes: Shapes) -> list[int]:
    return [prod(shape) for shape in shapes]


def _accumulated_counts(shapes: Shapes) -> list[int]:
    return list(accumulate(_counts(shapes)))


def _accumulated_counts_with_zero(shapes: Shapes) -> list[int]:
    return list(accumulate(_counts(shapes), initial=0))


def _item_shapes(shapes: Shapes) -> list[int]:
    return [size for rows, *dims in shapes for size in dims * rows]  # the dims, once for each row


def _rows(shapes: Shapes) -> int:
    return sum(shape[0] for shape in shapes)


_NUMBERS: dict[BatchInputKind, Callable[[Shapes], list[int]]] = {
    BatchInputKind.ELEMENT_COUNT: _counts,
    BatchInputKind.ACCUMULATED_ELEMENT_COUNT: _accumulated_counts,
    BatchInputKind.ACCUMULATED_ELEMENT_COUNT_WITH_ZERO: _accumulated_counts_with_zero,
    BatchInputKind.ITEM_SHAPE: _item_shapes,
    BatchInputKind.ITEM_SHAPE_FLATTEN: _item_shapes,
}


def _too_large(batch_input: BatchInput, value: int, largest: int) -> str:
    return (
        f"batch_input '{batch_input.name}' of kind {batch_input.kind} would hold {value}, but {batch_input.data_type} "
        f"holds each whole number up to {largest} only: send less of input '{batch_input.source}'"
    )
