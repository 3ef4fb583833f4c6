"""The context in which an instance runs its model: grad mode, and on CUDA its device, its stream and its clean-up."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from triton_pytorch.model_config.parameters import Parameters

Session = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True, slots=True)
class RunMode:
    """How an instance runs its model, whatever the device."""

    inference_mode: bool = True
    cleans_cache: bool = False

    def session_on(self, device: torch.device) -> Session:
        """Return what makes the context that is entered around each `execute` of an instance on this device.

        On CUDA, work is queued on a stream that no other instance waits for, and is done when the context is left:
        Triton reads outputs without knowing the stream. An error of a kernel may surface there, or in a later request.
        """
        grad_mode: Session = torch.inference_mode if self.inference_mode else torch.no_grad
        if device.type != "cuda":
            return grad_mode  # itself: a wrapper would cost each request some microseconds
        stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

        @contextmanager
        def session() -> Iterator[None]:
            with grad_mode(), torch.cuda.device(device), torch.cuda.stream(stream):
                yield
                stream.synchronize()
            if self.cleans_cache:
                torch.cuda.empty_cache()

        return session


def run_mode(parameters: Parameters) -> RunMode:
    """Return how a model's parameters want it run."""
    return RunMode(parameters.inference_mode, parameters.enable_cache_cleaning)


def device_scope(device: torch.device | None) -> AbstractContextManager[Any]:
    """Make a device the current one while a model is loaded; None and the CPU leave all as it is."""
    return torch.cuda.device(device) if device is not None and device.type == "cuda" else nullcontext()
