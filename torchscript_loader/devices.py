"""The device of a TorchScript model, and devices that its code names in spite of it."""

from collections.abc import Sequence
from typing import Any

import torch

from triton_pytorch.model_config.suggestions import listed
from triton_pytorch.torch_runtime.placement import CPU


def own_device(module: Any, constants_device: torch.device | None) -> torch.device:
    """Return where a model that stays where it was saved takes its inputs.

    That is the device of its first parameter, buffer or constant. A model without any takes them on the first GPU, if
    there is one.
    """
    for tensors in (module.parameters(), module.buffers()):
        for tensor in tensors:
            device: torch.device = tensor.device
            return device
    if constants_device is not None:
        return constants_device
    return torch.device("cuda", 0) if torch.cuda.is_available() else CPU


def baked_device_warnings(baked: Sequence[str], device: torch.device) -> list[str]:
    """Return one warning if the code names devices that are not the one of its instance."""
    others = [name for name in baked if not _is_on(torch.device(name), device)]
    if not others:
        return []
    names = f"the model's code names {listed(others)}, but this instance runs on {device}"
    remedy = (
        f"script the model with the device of an input (`x.device`) in place of names, or trace it on {device.type}"
    )
    if all(torch.device(name).type == "cuda" for name in others) and not torch.cuda.is_available():
        return [f"{names} and this machine has no GPU, so that calls which come to such code fail: {remedy}"]
    is_single = len(others) == 1 and torch.device(others[0]).type in ("cpu", "cuda")
    pinned = f", or pin the instance group to {others[0]} ({_group(torch.device(others[0]))})" if is_single else ""
    return [f"{names}, so that tensors on different devices may meet: {remedy}{pinned}"]


def _is_on(named: torch.device, device: torch.device) -> bool:
    return named.type == device.type and named.index in (None, device.index)


def _group(device: torch.device) -> str:
    if device.type == "cpu":
        return "kind: KIND_CPU"
    return "kind: KIND_GPU" if device.index is None else f"kind: KIND_GPU, gpus: [ {device.index} ]"
