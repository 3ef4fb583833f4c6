"""How the inputs of the requests of one call become what the model expects: gathered, aligned, laid out."""

from collections.abc import Callable, Sequence

import torch

from triton_pytorch.batching.gather import gather
from triton_pytorch.execution.interfaces import Model
from triton_pytorch.execution.requests import Reading
from triton_pytorch.io_naming.contract import Contract
from triton_pytorch.io_naming.declarations import is_scalar
from triton_pytorch.io_naming.leaves import Leaf
from triton_pytorch.model_config.configuration import ModelConfig

# Makes one leaf of a call from the requests that share it; None where a leaf has a default and none was sent.
Assembly = Callable[[Sequence[Reading]], "torch.Tensor | None"]


def assemblies(config: ModelConfig, contract: Contract, model: Model) -> list[Assembly]:
    """Return the assembly of each input leaf of the model."""
    scalars = {
        leaf
        for tensor, leaf in zip(config.inputs, contract.inputs, strict=True)
        if is_scalar(tensor, model.inputs[leaf], config)
    }
    return [
        _scalar(index, model.device) if index in scalars else _gathered(index, leaf, model.device)
        for index, leaf in enumerate(model.inputs)
    ]


def _gathered(index: int, leaf: Leaf, device: torch.device) -> Assembly:
    layout = leaf.layout

    def assemble(readings: Sequence[Reading]) -> torch.Tensor | None:
        tensors = [tensor for reading in readings if (tensor := reading.leaves[index]) is not None]
        return gather(tensors, device, layout) if tensors else None

    return assemble


def _scalar(index: int, device: torch.device) -> Assembly:
    """Return the assembly of a leaf without dimensions, which only models without batching have."""

    def assemble(readings: Sequence[Reading]) -> torch.Tensor | None:
        tensor = readings[0].leaves[index]
        return None if tensor is None else gather([tensor.reshape(())], device, None)

    return assemble
