"""What the run loop needs of a model below it and of Triton above it; both match by shape, not by base class."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import torch


class Model(Protocol):
    """An opened model of any format: leaves in the order of `PlannedLeaves`, one call at a time."""

    @property
    def device(self) -> torch.device:
        """Where input tensors have to lie."""
        ...

    @property
    def session(self) -> Callable[[], AbstractContextManager[Any]]:
        """What makes the context around one or more calls: grad mode, device, stream, clean-up.

        What the calls returned is complete when the context is left.
        """
        ...

    def run(self, leaves: list[Any]) -> Sequence[Any]:
        """Call the model with a tensor, strings or a number for each input leaf, or None for one that has a default.

        A leaf of the result is a tensor, strings, None, or the ModelRunError that says why this answer lacks it.
        Raises ModelRunError with the model's own words.
        """
        ...

    def close(self) -> None:
        """Release everything that the model holds; nothing is called after that."""
        ...


class TritonTensor(Protocol):
    """`pb_utils.Tensor`, as far as requests hand it to us."""

    def name(self) -> str:
        """The name from config.pbtxt."""
        ...

    def to_dlpack(self) -> Any:
        """A DLPack capsule of memory that is valid during `execute` only."""
        ...

    def as_numpy(self) -> Any:
        """For TYPE_STRING: an array of `bytes` objects."""
        ...


class TritonRequest(Protocol):
    """`pb_utils.InferenceRequest`, as far as we ask it."""

    def inputs(self) -> Sequence[TritonTensor]:
        """The tensors sent, in any order."""
        ...

    def requested_output_names(self) -> set[str]:
        """The names of the outputs that the client wants."""
        ...

    def is_cancelled(self) -> bool:
        """Whether the client has given up; asks the server, which takes up to 73 us."""
        ...


class TensorFactory(Protocol):
    """The class `pb_utils.Tensor`, as the maker of output tensors."""

    def __call__(self, name: str, array: Any, /) -> Any:
        """Make an output tensor of strings from an array of `bytes` objects."""
        ...

    def from_dlpack(self, name: str, tensor: Any) -> Any:
        """Make an output tensor from a DLPack capsule of a contiguous tensor."""
        ...


class ResponseFactory(Protocol):
    """The class `pb_utils.InferenceResponse`."""

    def __call__(self, output_tensors: Sequence[Any] = ..., error: Any = ...) -> Any:
        """Make the answer to one request."""
        ...


class ErrorFactory(Protocol):
    """The class `pb_utils.TritonError`; its attributes are the codes."""

    def __call__(self, message: str, code: Any = ...) -> Any:
        """Make the error of one response."""
        ...


class Logger(Protocol):
    """`pb_utils.Logger`."""

    def log_info(self, message: str) -> None:
        """Log what a user may want to know."""
        ...

    def log_warn(self, message: str) -> None:
        """Log what a user should look at."""
        ...

    def log_error(self, message: str) -> None:
        """Log what went wrong."""
        ...


class MetricFamilyFactory(Protocol):
    """The class `pb_utils.MetricFamily`."""

    @property
    def COUNTER(self) -> Any:  # noqa: N802  # Triton's own spelling
        """The kind of what only grows."""
        ...

    def __call__(self, *, name: str, description: str, kind: Any) -> Any:
        """Make a family; one of the same name is the same one in all processes of the server."""
        ...


@dataclass(frozen=True, slots=True)
class Triton:
    """The names of `triton_python_backend_utils` that serving needs, bound once the stub has filled the module."""

    tensor: TensorFactory
    response: ResponseFactory
    error: ErrorFactory
    logger: Logger
    metric_family: MetricFamilyFactory
