"""Rows of several requests put into one tensor, each copied once, in the order of the requests."""

from collections.abc import Sequence
from itertools import accumulate

import torch

from triton_pytorch.torch_runtime.placement import CPU
from triton_pytorch.torch_runtime.tensors import as_model_input


def gather(tensors: list[torch.Tensor], device: torch.device, layout: tuple[int, ...] | None) -> torch.Tensor:
    """Return the rows of tensors of shape [rows, *dims], one after another, as the model expects an input.

    A single tensor, which may then have any shape, is copied only where it is unaligned, on another device or in
    another layout; several are copied once each, into memory that no request owns.
    """
    if tensors[0].dtype is torch.bool:
        return _gather_booleans(tensors, device, layout)
    if device.type == "cuda" and _are_on(CPU, tensors):
        return _staged(tensors, layout).to(device, non_blocking=True)
    if len(tensors) == 1:
        return as_model_input(tensors[0], device, layout)
    if layout is None and _are_on(device, tensors):
        return torch.cat(tensors)
    return _copied(tensors, device, layout)


def _are_on(device: torch.device, tensors: Sequence[torch.Tensor]) -> bool:
    if device.type == "cpu":  # much faster to ask
        return all(tensor.is_cpu for tensor in tensors)
    return all(tensor.device == device for tensor in tensors)


def _staged(tensors: Sequence[torch.Tensor], layout: tuple[int, ...] | None) -> torch.Tensor:
    """Gather into pinned memory, out of which the device fetches while the CPU goes on."""
    return _copied(tensors, CPU, layout, is_pinned=True)


def _gather_booleans(
    tensors: Sequence[torch.Tensor], device: torch.device, layout: tuple[int, ...] | None
) -> torch.Tensor:
    """Gather booleans as 0 and 1, which kernels count on: clients may send any byte."""
    sent = [tensor.view(torch.uint8) for tensor in tensors]
    return _copied(sent, device, layout).ne_(0).view(torch.bool)


def _copied(
    tensors: Sequence[torch.Tensor], device: torch.device, layout: tuple[int, ...] | None, *, is_pinned: bool = False
) -> torch.Tensor:
    first = tensors[0]

    def empty(shape: tuple[int, ...]) -> torch.Tensor:
        order = layout or tuple(range(len(shape)))
        return torch.empty_permuted(shape, order, dtype=first.dtype, device=device, pin_memory=is_pinned)

    if len(tensors) == 1:
        return empty(tuple(first.shape)).copy_(first)
    rows = [tensor.shape[0] for tensor in tensors]
    gathered = empty((sum(rows), *first.shape[1:]))
    for tensor, end, count in zip(tensors, accumulate(rows), rows, strict=True):
        gathered[end - count : end].copy_(tensor)
    return gathered
