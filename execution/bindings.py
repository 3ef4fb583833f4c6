"""The declared tensors of a model tied to its leaves, once, at load."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from triton_pytorch.io_naming.binding import bind
from triton_pytorch.io_naming.names import Direction, LeafPath
from triton_pytorch.model_config.configuration import ModelConfig
from triton_pytorch.model_config.errors import ConfigError
from triton_pytorch.torch_runtime.datatypes import TORCH_DTYPES


@dataclass(frozen=True, slots=True)
class OutputBinding:
    """Where a declared output comes from, and what it has to be."""

    leaf: int
    dtype: torch.dtype


@dataclass(frozen=True, slots=True)
class Bindings:
    """Leaf of each declared tensor, by name."""

    inputs: dict[str, int]
    outputs: dict[str, OutputBinding]


def bind_tensors(config: ModelConfig, inputs: Sequence[LeafPath], outputs: Sequence[LeafPath]) -> Bindings:
    """Tie every declared tensor to its leaf.

    Raises:
        ConfigError: an input is optional although the model cannot do without it.
        NamingError: the declared names and the leaves do not fit together.
    """
    optional = [tensor.name for tensor in config.inputs if tensor.optional]
    if optional:
        raise ConfigError(
            f"input {', '.join(optional)} is optional, but a compiled model has no default for it: "
            "remove `optional: true`"
        )
    input_names = [tensor.name for tensor in config.inputs]
    output_names = [tensor.name for tensor in config.outputs]
    input_leaves = bind(input_names, inputs, Direction.INPUT)
    output_leaves = bind(output_names, outputs, Direction.OUTPUT)
    return Bindings(
        inputs=dict(zip(input_names, input_leaves, strict=True)),
        outputs={
            tensor.name: OutputBinding(leaf, TORCH_DTYPES[tensor.data_type])
            for tensor, leaf in zip(config.outputs, output_leaves, strict=True)
        },
    )
