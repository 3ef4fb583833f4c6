"""A config held against a model at load: what binds them, or everything in it that can be known to be wrong."""

from collections.abc import Sequence
from dataclasses import dataclass

from triton_pytorch.io_naming.binding import bind
from triton_pytorch.io_naming.declarations import input_faults, input_warnings
from triton_pytorch.io_naming.leaves import Leaf
from triton_pytorch.io_naming.names import Direction
from triton_pytorch.io_naming.shape_rules import Rule, compile_shape_rules
from triton_pytorch.model_config.configuration import ModelConfig, TensorConfig
from triton_pytorch.model_config.errors import ConfigError, NamingError
from triton_pytorch.model_config.suggestions import joined, listed


@dataclass(frozen=True, slots=True)
class Contract:
    """Which leaf each declared tensor is, in the order of the config, and what is left to check at a request."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    shape_rules: tuple[Rule, ...]
    warnings: tuple[str, ...]


def agree(config: ModelConfig, inputs: Sequence[Leaf], outputs: Sequence[Leaf]) -> Contract:
    """Hold a config against the leaves of its model.

    Names come first: what they are bound to decides what else can be wrong.

    Raises:
        NamingError: declared names and leaves do not fit together; all such faults in one text.
        ConfigError: types, shapes or the batch dimension contradict the model; all such faults in one text.
    """
    input_order, output_order = _bind_all(config, inputs, outputs)
    bound = [(tensor, inputs[index]) for tensor, index in zip(config.inputs, input_order, strict=True)]
    rules = compile_shape_rules(config.inputs, inputs, input_order, config)
    faults = [_optional_fault(tensor) for tensor in config.inputs if tensor.optional]
    if not config.outputs:
        names = listed([str(leaf) for leaf in outputs])
        faults.append(f"the config declares no output, so that nothing would be answered: the model has {names}")
    faults += [fault for tensor, leaf in bound for fault in input_faults(tensor, leaf, config)]
    faults += rules.faults
    if faults:
        raise ConfigError(joined(faults))
    warnings = tuple(warning for tensor, leaf in bound for warning in input_warnings(tensor, leaf, config))
    return Contract(input_order, output_order, rules.rules, warnings)


def _bind_all(
    config: ModelConfig, inputs: Sequence[Leaf], outputs: Sequence[Leaf]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    orders, faults = [], []
    for direction, tensors, leaves in (
        (Direction.INPUT, config.inputs, inputs),
        (Direction.OUTPUT, config.outputs, outputs),
    ):
        try:
            orders.append(bind([tensor.name for tensor in tensors], [leaf.path for leaf in leaves], direction))
        except NamingError as error:
            faults.append(str(error))
    if faults:
        raise NamingError(" ".join(faults))
    input_order, output_order = orders
    return input_order, output_order


def _optional_fault(tensor: TensorConfig) -> str:
    return f"input '{tensor.name}' is optional, but the model has no default for it: remove `optional: true`"
