"""A request with more rows than a call may have: cut into pieces that are run one after the other, and put together."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import torch

from triton_pytorch.batching.requests import ParsedRequest
from triton_pytorch.batching.row_rule import OutputError, OutputViolation
from triton_pytorch.model_config.suggestions import counted
from triton_pytorch.torch_runtime.tensors import as_response_output


def cut(request: ParsedRequest, most: int) -> list[ParsedRequest]:
    """Return a request as pieces of at most `most` rows whose numbers of rows differ by one at most."""
    count = -(-request.rows // most)
    rows = [request.rows // count + (number < request.rows % count) for number in range(count)]
    return [_piece(request, end - size, end) for size, end in zip(rows, accumulate(rows), strict=True)]


def _piece(request: ParsedRequest, start: int, end: int) -> ParsedRequest:
    leaves = [None if leaf is None else leaf[start:end] for leaf in request.leaves]
    return ParsedRequest(request.position, leaves, end - start, request.requested)


def join(output: str, parts: Sequence[Any], rows: int) -> Any:
    """Return one output of a request of so many rows, contiguous or a list of strings, put together from its pieces.

    Raises:
        OutputError: the pieces differ in more than their rows, so that they are not parts of one tensor.
    """
    if not isinstance(parts[0], torch.Tensor):
        return [text for part in parts for text in part]
    first = parts[0].shape
    for part in parts:
        if part.shape[1:] != first[1:]:
            first_rows = counted(first[0], "row")
            text = (
                f"output '{output}' has shape {list(first)} for the first {first_rows} and {list(part.shape)} for "
                f"others of this request, whose {counted(rows, 'row')} are more than the model takes in one call: send "
                f"at most {first_rows}"
            )
            raise OutputError([OutputViolation(output, text)])
    return as_response_output(torch.cat(list(parts)))
