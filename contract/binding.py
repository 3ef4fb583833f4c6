"""A config held against a model at load: what binds them, or everything in it that can be known to be wrong."""

from collections.abc import Sequence
from dataclasses import dataclass

from triton_pytorch.io_naming.binding import bind
from triton_pytorch.contract.input_checks import input_faults, input_warnings
from triton_pytorch.contract.declared_inputs import DeclaredInput, declared_inputs
from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.io_naming.names import Direction
from triton_pytorch.contract.shape_rules import Rule, compile_shape_rules
from triton_pytorch.model_config.configuration import ModelConfig
from triton_pytorch.model_config.errors import ConfigError, NamingError
from triton_pytorch.model_config.suggestions import joined, listed


@dataclass(frozen=True, slots=True)
class Contract:
    """Which leaf each declared tensor is, in the order of the config, and what is left to check when requests come.

    Rules read shapes by input leaf. `request_rules` are for those of one request before it is merged: None for an
    input that was not sent, and for one that `batch_input` makes. `call_rules` are for the tensors of a call.
    """

    inputs: tuple[int, ...]
    batch_inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    request_rules: tuple[Rule, ...]
    call_rules: tuple[Rule, ...]
    warnings: tuple[str, ...]


def agree(config: ModelConfig, inputs: Sequence[Leaf], outputs: Sequence[Leaf]) -> Contract:
    """Hold a config against the leaves of its model.

    Names come first: what they are bound to decides what else can be wrong.

    Raises:
        NamingError: declared names and leaves do not fit together; all such faults in one text.
        ConfigError: types, shapes or the batch dimension contradict the model; all such faults in one text.
    """
    declared = declared_inputs(config)
    order, output_order = _bind_all([tensor.name for tensor in declared], inputs, config, outputs)
    bound = [(tensor, inputs[index]) for tensor, index in zip(declared, order, strict=True)]
    rules = compile_shape_rules(declared, inputs, order)
    faults = [_optional_fault(tensor) for tensor, leaf in bound if tensor.optional and not leaf.has_default]
    if not config.outputs:
        names = listed([str(leaf) for leaf in outputs])
        faults.append(f"the config declares no output, so that nothing would be answered: the model has {names}")
    if config.max_batch_size and not config.inputs:
        faults.append(
            f"the config has max_batch_size: {config.max_batch_size} and declares no input, so that no request has a "
            "number of rows: set max_batch_size: 0"
        )
    faults += [fault for tensor, leaf in bound for fault in input_faults(tensor, leaf, config.max_batch_size)]
    faults += rules.faults
    if faults:
        raise ConfigError(joined(faults))
    warnings = (warning for tensor, leaf in bound for warning in input_warnings(tensor, leaf, config.max_batch_size))
    sent = len(config.inputs)
    return Contract(order[:sent], order[sent:], output_order, rules.request_rules, rules.call_rules, tuple(warnings))


def _bind_all(
    input_names: Sequence[str], inputs: Sequence[Leaf], config: ModelConfig, outputs: Sequence[Leaf]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    orders, faults = [], []
    for direction, names, leaves in (
        (Direction.INPUT, input_names, inputs),
        (Direction.OUTPUT, [tensor.name for tensor in config.outputs], outputs),
    ):
        try:
            orders.append(bind(names, leaves, direction))
        except NamingError as error:
            faults.append(str(error))
    if faults:
        raise NamingError(" ".join(faults))
    input_order, output_order = orders
    return input_order, output_order


def _optional_fault(tensor: DeclaredInput) -> str:
    return f"input '{tensor.name}' is optional, but the model has no default for it: remove `optional: true`"
