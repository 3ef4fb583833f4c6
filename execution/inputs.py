"""How the inputs of the requests of one call become what the model expects: gathered, aligned, laid out."""

from collections.abc import Callable, Sequence

import torch

from triton_pytorch.batching.batch_inputs import build_batch_input
from triton_pytorch.batching.gather import gather
from triton_pytorch.execution.interfaces import Model
from triton_pytorch.execution.requests import Reading
from triton_pytorch.contract.binding import Contract
from triton_pytorch.contract.input_checks import is_scalar
from triton_pytorch.contract.declared_inputs import declared_inputs
from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.model_config.batch_tensors import BatchInput
from triton_pytorch.model_config.configuration import ModelConfig
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.torch_runtime.tensors import as_model_input

# Makes one leaf of a call, a tensor or strings, from the requests that share it; None where it has a default and none
# was sent.
Assembly = Callable[[Sequence[Reading]], "torch.Tensor | list[str] | None"]


def assemblies(config: ModelConfig, contract: Contract, model: Model) -> list[Assembly]:
    """Return the assembly of each input leaf of the model."""
    by_leaf = {leaf: _gathered(leaf, model.inputs[leaf], model.device) for leaf in range(len(model.inputs))}
    for tensor, leaf in zip(declared_inputs(config), (*contract.inputs, *contract.batch_inputs), strict=True):
        if tensor.data_type is DataType.STRING:
            by_leaf[leaf] = _joined(leaf)
        elif tensor.is_ragged:
            by_leaf[leaf] = _concatenated(leaf, model.device)
        elif is_scalar(tensor, model.inputs[leaf]):
            by_leaf[leaf] = _scalar(leaf, model.device)
    leaf_of = {tensor.name: leaf for tensor, leaf in zip(config.inputs, contract.inputs, strict=True)}
    for batch_input, leaf in zip(config.batch_inputs, contract.batch_inputs, strict=True):
        by_leaf[leaf] = _made(batch_input, leaf_of[batch_input.source], model.inputs[leaf], model.device)
    return [by_leaf[leaf] for leaf in range(len(model.inputs))]


def _gathered(index: int, leaf: Leaf, device: torch.device) -> Assembly:
    layout = leaf.layout

    def assemble(readings: Sequence[Reading]) -> torch.Tensor | None:
        tensors = [tensor for reading in readings if (tensor := reading.leaves[index]) is not None]
        return gather(tensors, device, layout) if tensors else None

    return assemble


def _concatenated(index: int, device: torch.device) -> Assembly:
    """Return the assembly of a ragged input: all elements of all requests, flat."""

    def assemble(readings: Sequence[Reading]) -> torch.Tensor | None:
        tensors = [tensor.reshape(-1) for reading in readings if (tensor := reading.leaves[index]) is not None]
        return gather(tensors, device, None) if tensors else None

    return assemble


def _joined(index: int) -> Assembly:
    """Return the assembly of strings: those of all requests, one after the other."""

    def assemble(readings: Sequence[Reading]) -> list[str] | None:
        parts = [strings for reading in readings if (strings := reading.leaves[index]) is not None]
        return [text for strings in parts for text in strings] if parts else None

    return assemble


def _made(batch_input: BatchInput, source: int, leaf: Leaf, device: torch.device) -> Assembly:
    """Return the assembly of an input that no request sends: made of the shapes of another one."""
    build = build_batch_input(batch_input, device)
    layout = leaf.layout

    def assemble(readings: Sequence[Reading]) -> torch.Tensor:
        shapes = [tensor.shape for reading in readings if (tensor := reading.leaves[source]) is not None]
        return as_model_input(build(shapes), device, layout)

    return assemble


def _scalar(index: int, device: torch.device) -> Assembly:
    """Return the assembly of a leaf without dimensions, which only models without batching have."""

    def assemble(readings: Sequence[Reading]) -> torch.Tensor | None:
        tensor = readings[0].leaves[index]
        return None if tensor is None else gather([tensor.reshape(())], device, None)

    return assemble
