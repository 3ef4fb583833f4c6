"""Tensors between Triton's memory and the model's: aligned and contiguous on the way in, contiguous on the way out."""

from math import prod

import torch
from torch.utils.dlpack import from_dlpack, to_dlpack  # type: ignore[attr-defined]  # torch's __all__ leaves it out

__all__ = ["ALIGNMENT_BYTES", "as_model_input", "as_response_output", "from_dlpack", "to_dlpack"]

# The widest vector load of the kernels that AOTInductor generates (AVX-512); torch's own allocator aligns to it.
ALIGNMENT_BYTES = 64


def as_model_input(tensor: torch.Tensor, device: torch.device, layout: tuple[int, ...] | None) -> torch.Tensor:
    """Return the tensor on the device, dense in the layout and aligned; copied only where it is not so already.

    Triton's shared memory is unaligned (odd addresses too), and a compiled model assumes the layout
    that it was exported with: the dimensions from the outermost in memory to the innermost, None for row-major.
    """
    if layout is not None:
        laid_out = torch.empty_permuted(tensor.shape, layout, dtype=tensor.dtype, device=device)
        return laid_out.copy_(tensor)
    if tensor.device != device:
        return tensor.to(device)
    if tensor.data_ptr() % ALIGNMENT_BYTES == 0 and tensor.is_contiguous():
        return tensor
    return tensor.clone(memory_format=torch.contiguous_format)


def as_response_output(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor contiguous, in the strict sense of Triton's Python backend.

    That one wants each stride to be the product of the sizes after it, of zeros too, where torch counts them as 1.
    """
    if tensor.numel() == 0:
        strides = [prod(tensor.shape[dimension + 1 :]) for dimension in range(tensor.dim())]
        return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device)
    return tensor.contiguous()
