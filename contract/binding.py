"""A config bound to the signature of its model: the one place where names, types and shapes are decided."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from triton_pytorch.contract.call_limits import compile_call_limits
from triton_pytorch.contract.declared_inputs import DeclaredInput, declared_inputs
from triton_pytorch.contract.input_checks import fixed_batch_errors, input_errors, is_one_value
from triton_pytorch.contract.leaves import Dimension, Leaf, ValueKind
from triton_pytorch.contract.plan import Plan, PlannedBatchInput, PlannedInput, PlannedLeaves, PlannedOutput
from triton_pytorch.contract.shape_rules import BoundInput, compile_shape_rules
from triton_pytorch.contract.signature import Signature
from triton_pytorch.contract.value_checks import input_value_errors, output_value_errors, unsendable_argument
from triton_pytorch.io_naming.leaf_names import LeafNames
from triton_pytorch.io_naming.names import Direction
from triton_pytorch.io_naming.resolution import NameTable, Target
from triton_pytorch.io_naming.unknown_names import inventory
from triton_pytorch.model_config.batch_tensors import BatchInput
from triton_pytorch.model_config.configuration import ModelConfig
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.model_config.errors import ConfigError, NamingError
from triton_pytorch.model_config.suggestions import joined, listed


def bind(config: ModelConfig, signature: Signature) -> Plan:
    """Bind a config to the signature of its model.

    Raises:
        NamingError: declared names and leaves do not fit together, and nothing else is wrong.
        ConfigError: the config contradicts the model; all errors in one text, those of names first.
    """
    if config.parameters.allow_empty_inputs:
        signature = replace(signature, inputs=tuple(map(_with_empty, signature.inputs)))
    if not config.parameters.enforce_upper_bounds:
        signature = replace(signature, inputs=tuple(map(_without_upper_bounds, signature.inputs)))
    declared = declared_inputs(config)
    inputs = _bind_names(Direction.INPUT, [(tensor.name, tensor.data_type) for tensor in declared], signature)
    outputs = _bind_names(Direction.OUTPUT, [(tensor.name, tensor.data_type) for tensor in config.outputs], signature)
    taken = [
        (tensor, bound.leaf, bound.position) for tensor, bound in zip(declared, inputs.bound, strict=True) if bound
    ]
    rules = compile_shape_rules(taken)
    errors = [*_config_errors(config, signature), *_input_errors(taken, config), *rules.errors]
    for tensor, bound in zip(config.outputs, outputs.bound, strict=True):
        if bound is not None:
            errors += output_value_errors(tensor, bound.leaf, is_batched=config.max_batch_size > 0)
    naming_errors = [*inputs.errors, *outputs.errors]
    if naming_errors or errors:
        raise (ConfigError if errors else NamingError)(joined([*naming_errors, *errors]))
    limits = compile_call_limits(taken, config.max_batch_size)
    by_name = dict(zip([tensor.name for tensor in declared], inputs.planned, strict=True))
    return Plan(
        model_name=config.name,
        max_batch_size=config.max_batch_size,
        inputs=tuple(_planned_input(tensor, by_name[tensor.name]) for tensor in declared if tensor.kind is None),
        batch_inputs=tuple(_planned_batch_input(batch_input, by_name) for batch_input in config.batch_inputs),
        outputs=tuple(_planned_outputs(config, outputs.planned, by_name)),
        leaves=PlannedLeaves(inputs.leaves, outputs.leaves),
        request_rules=(*rules.request_rules, *limits.rules),
        call_rules=rules.call_rules,
        call_limits=limits.limits,
        piece_rows=limits.piece_rows,
        merges=config.max_batch_size > 0 and not signature.unchecked_operators,
        warnings=(*inputs.warnings, *outputs.warnings, *limits.warnings, *_merging_warnings(config, signature)),
    )


@dataclass(frozen=True, slots=True)
class _Bound:
    """What a declared tensor stands for: its leaf as the signature has it, and as planned, at a position in a call.

    The planned one has the declared name first, a path without `<key>`, and a kind that the config has decided where
    the model does not.
    """

    leaf: Leaf
    planned: Leaf
    position: int


@dataclass(frozen=True, slots=True)
class _Names:
    """The declared tensors of one direction, None where one of the errors says why a name stands for nothing."""

    bound: tuple[_Bound | None, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def planned(self) -> list[_Bound]:
        """All of them, where there are no errors."""
        return [bound for bound in self.bound if bound is not None]

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The planned leaves in the order of their positions."""
        return tuple(bound.planned for bound in sorted(self.planned, key=lambda bound: bound.position))


def _bind_names(direction: Direction, declared: Sequence[tuple[str, DataType]], signature: Signature) -> _Names:
    is_input = direction is Direction.INPUT
    leaves = signature.inputs if is_input else signature.outputs
    ordered = [position for position, leaf in enumerate(leaves) if _is_ordered(leaf)]
    names = [leaf.names for leaf in leaves]
    table = NameTable(
        direction,
        names,
        opaque={position for position, leaf in enumerate(leaves) if leaf.kind is ValueKind.UNKNOWN},
        has_more=signature.has_open_result and not is_input,
        in_order=ordered if signature.follows_config_order else None,
    )
    resolution = table.resolve([name for name, _ in declared])
    errors = [*resolution.errors, *(_missing_inputs(leaves, resolution.targets) if is_input else ())]
    positions = _positions(resolution.targets)
    bound = (
        None if target is None else _bound(leaves, target, name, data_type, position)
        for (name, data_type), target, position in zip(declared, resolution.targets, positions, strict=True)
    )
    return _Names(tuple(bound), (*errors, inventory(direction, names)) if errors else (), resolution.warnings)


def _is_ordered(leaf: Leaf) -> bool:
    """Return whether the order of a config counts a leaf: a number that has a default is declared by its name only."""
    return leaf.kind is not ValueKind.OTHER and not (leaf.kind is ValueKind.NUMBER and leaf.has_default)


def _positions(targets: Sequence[Target | None]) -> list[int]:
    """Return the position of each target in a call: the order of the signature, that of the config within open leaves.

    What only the answer can tell comes last.
    """
    places = [math.inf if target is None or target.position is None else target.position for target in targets]
    order = sorted(range(len(targets)), key=places.__getitem__)
    return [order.index(number) for number in range(len(order))]


def _bound(leaves: Sequence[Leaf], target: Target, name: str, data_type: DataType, position: int) -> _Bound:
    if target.position is None:
        names = LeafNames(target.path, (name,), target.index)
        leaf = Leaf(names, kind=ValueKind.UNKNOWN, type="of a type that is not known", is_by_index=True)
    else:
        leaf = leaves[target.position]
    kind = leaf.kind
    if kind is ValueKind.UNKNOWN:
        kind = ValueKind.STRINGS if data_type is DataType.STRING else ValueKind.TENSOR
    others = tuple(other for other in leaf.names.names if other != name)
    names = replace(leaf.names, path=target.path, names=(name, *others))
    return _Bound(leaf, replace(leaf, names=names, kind=kind), position)


def _planned_input(tensor: DeclaredInput, bound: _Bound) -> PlannedInput:
    return PlannedInput(tensor, bound.planned, bound.position, is_one_value(tensor, bound.leaf))


def _planned_batch_input(batch_input: BatchInput, inputs: Mapping[str, _Bound]) -> PlannedBatchInput:
    bound, source = inputs[batch_input.name], inputs[batch_input.source]
    return PlannedBatchInput(batch_input, bound.planned, bound.position, source.position)


def _planned_outputs(
    config: ModelConfig, bound: Sequence[_Bound], inputs: Mapping[str, _Bound]
) -> Iterator[PlannedOutput]:
    sources = {batch_output.target: inputs[batch_output.source].position for batch_output in config.batch_outputs}
    for tensor, it in zip(config.outputs, bound, strict=True):
        source = sources.get(tensor.name)
        yield PlannedOutput(tensor.name, tensor.data_type, tensor.model_dims, it.planned, it.position, source)


def _missing_inputs(leaves: Sequence[Leaf], targets: Sequence[Target | None]) -> Iterator[str]:
    """Yield a sentence on the leaves that need a tensor and have none, and one on each that no tensor can be for."""
    declared = {target.position for target in targets if target is not None}
    owners = {leaves[position].names.owner for position in declared if position is not None}
    missing = [leaf for position, leaf in enumerate(leaves) if position not in declared and _is_needed(leaf, owners)]
    labels = [leaf.names.label for leaf in missing if leaf.kind is not ValueKind.OTHER]
    if labels:
        yield f"the config declares no tensor for {listed(labels)}: every input needs one"
    for leaf in missing:
        if leaf.kind is ValueKind.OTHER:
            yield unsendable_argument(leaf)


def _is_needed(leaf: Leaf, owners: set[str | None]) -> bool:
    """Return whether a leaf that no tensor is declared for needs one, given the owners of those that have one."""
    is_owner_used = leaf.names.owner in owners
    if leaf.has_default or (leaf.names.is_open and is_owner_used):
        return False
    return is_owner_used or not leaf.owner_has_default


def _with_empty(leaf: Leaf) -> Leaf:
    """Return a leaf whose dynamic sizes may be 0 where it is only the exporter that assumes they are not."""
    return _with_dimensions(
        leaf, lambda known: replace(known, lower=known.lower_if_empty) if known.may_be_empty else known
    )


def _without_upper_bounds(leaf: Leaf) -> Leaf:
    """Return a leaf whose dynamic sizes have no upper bounds, since exporters invent some."""
    return _with_dimensions(leaf, lambda known: known if known.is_fixed else replace(known, upper=None))


def _with_dimensions(leaf: Leaf, change: Callable[[Dimension], Dimension]) -> Leaf:
    return leaf if leaf.shape is None else replace(leaf, shape=tuple(map(change, leaf.shape)))


def _config_errors(config: ModelConfig, signature: Signature) -> Iterator[str]:
    if not config.outputs:
        names = listed([leaf.names.label for leaf in signature.outputs])
        yield f"the config declares no output, so that nothing would be answered: the model has {names}"
    if config.max_batch_size and not config.inputs:
        yield (
            f"the config has max_batch_size: {config.max_batch_size} and declares no input, so that no request has a "
            "number of rows: set max_batch_size: 0"
        )


def _merging_warnings(config: ModelConfig, signature: Signature) -> Iterator[str]:
    if config.max_batch_size and signature.unchecked_operators:
        yield (
            f"the model calls {listed(signature.unchecked_operators)} without looking at errors, so that an index out "
            "of range gives wrong rows in place of one: requests are not merged, so that each can spoil its own only; "
            "check indices before they are sent, or clamp them in the model"
        )


def _input_errors(taken: Sequence[BoundInput], config: ModelConfig) -> Iterator[str]:
    for tensor, leaf, _ in taken:
        if tensor.optional and not (leaf.has_default or leaf.names.is_open):
            yield f"input '{tensor.name}' is optional, but the model has no default for it: remove `optional: true`"
        yield from input_value_errors(tensor, leaf)
        yield from input_errors(tensor, leaf, config.max_batch_size)
    yield from fixed_batch_errors([(tensor, leaf) for tensor, leaf, _ in taken], config.max_batch_size)
