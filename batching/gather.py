"""Rows of several requests put into one tensor, each copied once, in the order of the requests."""

from collections.abc import Sequence
from itertools import accumulate

import torch

from triton_pytorch.torch_runtime.tensors import as_model_input


def gather(tensors: Sequence[torch.Tensor], device: torch.device, layout: tuple[int, ...] | None) -> torch.Tensor:
    """Return the rows of tensors of shape [rows, *dims], one after another, as the model expects an input.

    A single tensor, which may then have any shape, is copied only where it is unaligned, on another device or in
    another layout; several are copied once each, into memory that no request owns.
    """
    if tensors[0].dtype is torch.bool:
        return _gather_booleans(tensors, device, layout)
    if len(tensors) == 1:
        return as_model_input(tensors[0], device, layout)
    if layout is None and all(tensor.device == device for tensor in tensors):
        return torch.cat(list(tensors))
    return _copied(tensors, device, layout)


def _gather_booleans(
    tensors: Sequence[torch.Tensor], device: torch.device, layout: tuple[int, ...] | None
) -> torch.Tensor:
    """Gather booleans as 0 and 1, which kernels count on: clients may send any byte."""
    sent = [tensor.view(torch.uint8) for tensor in tensors]
    return _copied(sent, device, layout).ne_(0).view(torch.bool)


def _copied(tensors: Sequence[torch.Tensor], device: torch.device, layout: tuple[int, ...] | None) -> torch.Tensor:
    first = tensors[0]
    if len(tensors) == 1:
        return _empty(tuple(first.shape), first.dtype, device, layout).copy_(first)
    rows = [tensor.shape[0] for tensor in tensors]
    gathered = _empty((sum(rows), *first.shape[1:]), first.dtype, device, layout)
    for tensor, end, count in zip(tensors, accumulate(rows), rows, strict=True):
        gathered[end - count : end].copy_(tensor)
    return gathered


def _empty(
    shape: tuple[int, ...], dtype: torch.dtype, device: torch.device, layout: tuple[int, ...] | None
) -> torch.Tensor:
    return torch.empty_permuted(shape, layout or tuple(range(len(shape))), dtype=dtype, device=device)
