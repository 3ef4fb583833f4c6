"""The opening of a described TorchScript archive as a model."""

import torch

from triton_pytorch.contract.plan import PlannedLeaves
from triton_pytorch.method_calls.calls import Call
from triton_pytorch.method_calls.model import MethodModel
from triton_pytorch.method_calls.result_reader import ResultReader
from triton_pytorch.torch_runtime.failures import reason
from triton_pytorch.torch_runtime.session import RunMode
from triton_pytorch.torchscript_loader.description import ScriptDescription


def open_script(description: ScriptDescription, leaves: PlannedLeaves, mode: RunMode) -> MethodModel:
    """Open the described method with the leaves that a config names."""
    method, device = description.method, description.device
    return MethodModel(
        Call(method.call, method.arguments, leaves.inputs),
        ResultReader(leaves.outputs, method.result),
        device=device,
        session=mode.session_on(device),
        errors=(RuntimeError, UnicodeDecodeError, torch.jit.Error),
        reason=_reason,
    )


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):  # TorchScript cuts strings between bytes
        return "the model returned a string that is not valid UTF-8"
    return reason(error)
