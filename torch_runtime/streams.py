"""Where an instance works: on a CUDA device with a stream of its own, or plainly on the CPU."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

Scope = Callable[[], AbstractContextManager[Any]]


def device_scope(device: torch.device | None) -> AbstractContextManager[Any]:
    """Make a device the current one while a model is loaded; None and the CPU leave all as it is."""
    return torch.cuda.device(device) if device is not None and device.type == "cuda" else nullcontext()


def execution_scope(device: torch.device, grad_mode: Scope) -> Scope:
    """Return what is entered around every execution of an instance.

    On CUDA, work is queued on a stream that no other instance waits for, and is done when the scope is left: Triton
    reads outputs without knowing the stream. An error of a kernel may surface there, or in a later request.
    """
    if device.type != "cuda":
        return grad_mode
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    @contextmanager
    def on_own_stream() -> Iterator[None]:
        with grad_mode(), torch.cuda.device(device), torch.cuda.stream(stream):
            yield
            stream.synchronize()

    return on_own_stream
