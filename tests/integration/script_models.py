"""TorchScript models opened under a config, for the tests that look at what the loader makes of both."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from triton_pytorch.model_config.configuration import ModelConfig, read_config
from triton_pytorch.tests.assets.configs import model_config, tensor_config
from triton_pytorch.torch_runtime.placement import CPU
from triton_pytorch.torchscript_loader.script import ScriptModel, open_script

ONE_STRING: dict[str, Any] = {"dims": (1,), "reshape": {"shape": []}}  # of a row


def strings(name: str, dims: tuple[int, ...] = (-1,), **more: Any) -> Any:
    """Make an entry of `input` or `output` for strings."""
    return {"name": name, "data_type": "TYPE_STRING", "dims": list(dims), **more}


def config_of(inputs: Sequence[Any], outputs: Sequence[Any], **more: Any) -> ModelConfig:
    """Make a config; a mere name stands for a tensor of floats in one open dimension."""
    entries = [[tensor_config(it) if isinstance(it, str) else it for it in tensors] for tensors in (inputs, outputs)]
    return read_config(json.dumps({"name": "m", **model_config(*entries, **more)}))


def opened(
    archive: Path,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    *,
    device: torch.device | None = CPU,
    method: str = "forward",
    **more: Any,
) -> ScriptModel:
    """Open an archive under a config."""
    return open_script(archive, config_of(inputs, outputs, **more), device, method)


def answer(model: ScriptModel, sent: dict[str, Any]) -> dict[str, Any]:
    """Call a model with values by the names of the config; those that are not sent are None."""
    with torch.inference_mode():
        outputs = model.run([sent.get(leaf.names[0]) for leaf in model.inputs])
    return {leaf.names[0]: output for leaf, output in zip(model.outputs, outputs, strict=True)}
