"""Inputs of which a call has one value: what the rows of requests hold of them, to be compared and to be used."""

import torch

# Integers of the same size, by the number of bytes.
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def bits_of(tensor: torch.Tensor) -> list[int]:
    """Return each element as an integer of the same bits: NaN is equal to itself then, and -0.0 is not 0.0.

    Booleans are 0 and 1, whatever bytes a client sent for them.
    """
    bits: list[int] = tensor.reshape(-1).view(_INTEGERS[tensor.element_size()]).tolist()
    return [int(byte != 0) for byte in bits] if tensor.dtype is torch.bool else bits


def number_in(tensor: torch.Tensor, row: int = 0) -> float:
    """Return an element as a Python number: an int, a float or a bool, as its type is."""
    if tensor.dtype is torch.bool:
        return bits_of(tensor)[row] == 1
    number: float = tensor.reshape(-1)[row].item()
    return number
