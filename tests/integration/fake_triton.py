"""A hand-written stand-in for `triton_python_backend_utils`, as strict as the real one where that has bitten.

Request memory is unaligned and writable, outputs must be contiguous in the Python backend's own sense, BF16 has no
numpy form, `requested_output_names` is a set, and `Logger` appears only after the entry module was imported.
"""

from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import torch

from triton_pytorch.execution.interfaces import Triton
from triton_pytorch.torch_runtime.tensors import from_dlpack, to_dlpack

_CODES = (
    "UNKNOWN",
    "INTERNAL",
    "NOT_FOUND",
    "INVALID_ARG",
    "UNAVAILABLE",
    "UNSUPPORTED",
    "ALREADY_EXISTS",
    "CANCELLED",
)


class Tensor:
    """A named tensor of a request or a response; `data` is an array of `bytes` objects for strings."""

    def __init__(self, name: str, data: Any) -> None:
        self._name = name
        is_numeric = isinstance(data, np.ndarray) and data.dtype != np.object_
        self.data = torch.from_numpy(data) if is_numeric else data

    def name(self) -> str:
        return self._name

    def to_dlpack(self) -> Any:
        return to_dlpack(self.data)

    def as_numpy(self) -> Any:
        return self.data

    @staticmethod
    def from_dlpack(name: str, capsule: Any) -> "Tensor":
        tensor = from_dlpack(capsule)
        if not _is_contiguous(tensor):
            raise ValueError("DLPack tensor is not contiguous. Only contiguous DLPack tensors are supported.")
        return Tensor(name, tensor)


def _is_contiguous(tensor: torch.Tensor) -> bool:
    """The Python backend's own rule: dimensions of one do not count, dimensions of zero do."""
    expected = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.stride()), strict=True):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True


class TritonError:
    """The error of one response; codes as the real class carries them."""

    def __init__(self, message: str, code: str = "INTERNAL") -> None:
        self._message = message
        self._code = code

    def message(self) -> str:
        return self._message

    def code(self) -> str:
        return self._code


for _code in _CODES:
    setattr(TritonError, _code, _code)


class InferenceResponse:
    """The answer to one request."""

    def __init__(self, output_tensors: Sequence[Tensor] = (), error: TritonError | None = None) -> None:
        self._outputs = list(output_tensors)
        self.failure = error

    def output_tensors(self) -> list[Tensor]:
        return self._outputs

    def error(self) -> TritonError | None:
        return self.failure


class InferenceRequest:
    """One request; inputs in the order given."""

    def __init__(
        self, inputs: Iterable[Tensor], requested_output_names: Iterable[str], *, is_cancelled: bool = False
    ) -> None:
        self._inputs = list(inputs)
        self._requested = set(requested_output_names)
        self._is_cancelled = is_cancelled
        self.times_asked = 0

    def inputs(self) -> list[Tensor]:
        return self._inputs

    def requested_output_names(self) -> set[str]:
        return self._requested

    def is_cancelled(self) -> bool:
        self.times_asked += 1
        return self._is_cancelled


class Logger:
    """Keeps what was logged, by level."""

    lines: list[tuple[str, str]]

    def __init__(self) -> None:
        self.lines = []

    def log_info(self, message: str) -> None:
        self.lines.append(("info", message))

    def log_warn(self, message: str) -> None:
        self.lines.append(("warn", message))

    def log_error(self, message: str) -> None:
        self.lines.append(("error", message))

    def log_verbose(self, message: str) -> None:
        self.lines.append(("verbose", message))


def fake_module() -> Any:
    """Make the module as it is while the stub imports model.py: still empty."""
    return ModuleType("triton_python_backend_utils")


def fill(module: Any) -> Logger:
    """Give the module its names, as the stub does before `initialize`; returns its logger."""
    module.Logger = Logger()
    for value in (Tensor, TritonError, InferenceResponse, InferenceRequest):
        setattr(module, value.__name__, value)
    logger: Logger = module.Logger
    return logger


def names() -> Triton:
    """Make the names that the run loop needs, without an entry module."""
    module = fake_module()
    fill(module)
    return Triton(module.Tensor, module.InferenceResponse, module.TritonError, module.Logger)


def unaligned(tensor: torch.Tensor) -> torch.Tensor:
    """Copy a tensor to an address that no vector load likes, as Triton's shared memory gives them (41 mod 64)."""
    if tensor.numel() == 0:
        return tensor.clone()
    content = tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    buffer = bytearray(len(content) + 64)
    offset = (41 - torch.frombuffer(buffer, dtype=torch.uint8).data_ptr()) % 64
    buffer[offset : offset + len(content)] = content
    return torch.frombuffer(buffer, dtype=tensor.dtype, count=tensor.numel(), offset=offset).reshape(tensor.shape)
