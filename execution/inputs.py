"""How each input of a request becomes what the model expects: where it lies, and in which order in memory."""

from collections.abc import Callable, Sequence
from functools import partial

import torch

from triton_pytorch.execution.interfaces import Model
from triton_pytorch.io_naming.declarations import is_scalar
from triton_pytorch.io_naming.declared_inputs import declared_inputs
from triton_pytorch.model_config.configuration import ModelConfig
from triton_pytorch.torch_runtime.tensors import as_model_input

Preparation = Callable[[torch.Tensor], torch.Tensor]


def prepare_inputs(config: ModelConfig, order: Sequence[int], model: Model) -> list[Preparation]:
    """Return what is to be done to each input leaf; input i of the config is leaf `order[i]`."""
    scalars = {
        leaf
        for tensor, leaf in zip(declared_inputs(config), order, strict=False)
        if is_scalar(tensor, model.inputs[leaf])
    }
    return [
        partial(_as_scalar, device=model.device)
        if index in scalars
        else partial(as_model_input, device=model.device, layout=leaf.layout)
        for index, leaf in enumerate(model.inputs)
    ]


def _as_scalar(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    return as_model_input(tensor.reshape(()), device, None)
