"""Rows of a result handed back to the requests that they belong to."""

from collections.abc import Sequence
from itertools import accumulate
from math import prod

import torch

from triton_pytorch.torch_runtime.tensors import as_response_output


def scatter_rows(result: torch.Tensor, rows: list[int]) -> Sequence[torch.Tensor]:
    """Cut a result of shape [sum(rows), *dims] into one contiguous tensor for each request: views where that is so."""
    if len(rows) == 1:
        return [as_response_output(result)]
    parts = result.contiguous().split_with_sizes(rows)
    if 0 in rows or not result.numel():
        return [as_response_output(part) for part in parts]  # rows of what is contiguous are so, but for empty ones
    return parts


def scatter_strings(strings: list[str], rows: Sequence[int]) -> list[list[str]]:
    """Cut a list of sum(rows) strings into one list for each request."""
    return [strings[end - count : end] for end, count in zip(accumulate(rows), rows, strict=True)]


def scatter_shapes(result: torch.Tensor, shapes: Sequence[Sequence[int]]) -> list[torch.Tensor]:
    """Cut a result with as many elements as these shapes into one contiguous tensor of each shape."""
    parts = result.reshape(-1).split_with_sizes([prod(shape) for shape in shapes])
    return [as_response_output(part.reshape(tuple(shape))) for part, shape in zip(parts, shapes, strict=True)]
