"""TorchScript models under a config, through describe, bind and open, for the tests of that format."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from triton_pytorch.artifact_store.model_file import open_model_file
from triton_pytorch.contract.binding import bind
from triton_pytorch.contract.plan import Plan
from triton_pytorch.method_calls.model import MethodModel
from triton_pytorch.model_config.configuration import ModelConfig, read_config
from triton_pytorch.model_config.parameters import Parameters
from triton_pytorch.tests.assets.configs import model_config, tensor_config
from triton_pytorch.torch_runtime.placement import CPU
from triton_pytorch.torch_runtime.session import RunMode
from triton_pytorch.torchscript_loader.description import ScriptDescription, describe
from triton_pytorch.torchscript_loader.script import open_script

ONE_STRING: dict[str, Any] = {"dims": (1,), "reshape": {"shape": []}}  # of a row
Archive = Callable[..., Path]


@dataclass(frozen=True)
class OpenedScript:
    """A TorchScript model, and what it was opened with."""

    model: MethodModel
    plan: Plan
    description: ScriptDescription

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the model and the config are warned about."""
        return (*self.description.warnings, *self.plan.warnings)

    def answer(self, sent: dict[str, Any]) -> dict[str, Any]:
        """Call the model with values by the names of the config; those that are not sent are None."""
        with self.model.session():
            outputs = self.model.run([sent.get(str(leaf)) for leaf in self.plan.leaves.inputs])
        return {str(leaf): output for leaf, output in zip(self.plan.leaves.outputs, outputs, strict=True)}


def strings(name: str, dims: tuple[int, ...] = (-1,), **more: Any) -> Any:
    """Make an entry of `input` or `output` for strings."""
    return {"name": name, "data_type": "TYPE_STRING", "dims": list(dims), **more}


def config_of(inputs: Sequence[Any], outputs: Sequence[Any], **more: Any) -> ModelConfig:
    """Make a config; a mere name stands for a tensor of floats in one dynamic dimension."""
    entries = [[tensor_config(it) if isinstance(it, str) else it for it in tensors] for tensors in (inputs, outputs)]
    return read_config(json.dumps({"name": "m", **model_config(*entries, **more)}))


def described(archive: Path, device: torch.device | None = CPU, method: str = "forward") -> ScriptDescription:
    """Describe an archive."""
    with open_model_file(archive) as file:
        return describe(file, Parameters(module_method_name=method), device)


def opened(
    archive: Path,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    *,
    device: torch.device | None = CPU,
    method: str = "forward",
    **more: Any,
) -> OpenedScript:
    """Open an archive under a config."""
    description = described(archive, device, method)
    plan = bind(config_of(inputs, outputs, **more), description.signature)
    return OpenedScript(open_script(description, plan.leaves, RunMode()), plan, description)
