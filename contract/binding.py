"""A config bound to the signature of its model: the one place where names, types and shapes are decided."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from triton_pytorch.contract.declared_inputs import DeclaredInput, declared_inputs
from triton_pytorch.contract.input_checks import input_errors, input_warnings, is_scalar
from triton_pytorch.contract.leaves import Dimension, Leaf, ValueKind
from triton_pytorch.contract.plan import Plan, PlannedBatchInput, PlannedInput, PlannedLeaves, PlannedOutput
from triton_pytorch.contract.shape_rules import compile_shape_rules
from triton_pytorch.contract.signature import Signature
from triton_pytorch.contract.value_checks import SENDABLE, input_value_errors, output_value_errors
from triton_pytorch.io_naming.leaf_names import LeafNames
from triton_pytorch.io_naming.names import Direction
from triton_pytorch.io_naming.resolution import NameTable, Target
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
    declared = declared_inputs(config)
    inputs = _bind_inputs(declared, signature)
    outputs = _bind_outputs(config, signature)
    pairs = [(tensor, leaf) for tensor, leaf in zip(declared, inputs.leaves, strict=True) if leaf is not None]
    positions = _positions(inputs)
    rules = compile_shape_rules(
        [
            (tensor, leaf, position)
            for tensor, leaf, position in zip(declared, inputs.leaves, positions, strict=True)
            if leaf is not None
        ]
    )
    naming_errors = [*inputs.errors, *outputs.errors]
    errors = [*_config_errors(config, signature), *_input_errors(pairs, config), *rules.errors]
    errors += _output_errors(config, outputs)
    if naming_errors or errors:
        raise (ConfigError if errors else NamingError)(joined([*naming_errors, *errors]))
    warnings = (
        *inputs.warnings,
        *outputs.warnings,
        *(warning for tensor, leaf in pairs for warning in input_warnings(tensor, leaf, config.max_batch_size)),
    )
    planned = _PlannedInputs(declared, inputs.planned, positions)
    return Plan(
        model_name=config.name,
        max_batch_size=config.max_batch_size,
        inputs=planned.sent(),
        batch_inputs=planned.made(config),
        outputs=_planned_outputs(config, outputs, planned.position_of),
        leaves=PlannedLeaves(_ordered(inputs), _ordered(outputs)),
        request_rules=rules.request_rules,
        call_rules=rules.call_rules,
        warnings=warnings,
    )


@dataclass(frozen=True, slots=True)
class _Bound:
    """The declared tensors of one direction: what each stands for, and its leaf as the signature has it and as planned.

    The signature's leaf is what is known of the model. The planned one has the declared name first, a path without
    `<key>`, and a kind that the config has decided where the model does not.
    """

    targets: tuple[Target | None, ...]
    leaves: tuple[Leaf | None, ...]
    planned: tuple[Leaf | None, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]


def _bind_inputs(declared: Sequence[DeclaredInput], signature: Signature) -> _Bound:
    leaves = signature.inputs
    sendable = [position for position, leaf in enumerate(leaves) if leaf.kind is not ValueKind.OTHER]
    table = NameTable(
        Direction.INPUT,
        [leaf.names for leaf in leaves],
        in_order=sendable if signature.follows_config_order else None,
    )
    resolution = table.resolve([tensor.name for tensor in declared])
    errors = [*resolution.errors, *_missing_inputs(leaves, resolution.targets)]
    return _bound(
        [(tensor.name, tensor.data_type) for tensor in declared],
        leaves,
        resolution.targets,
        [*errors, table.inventory()] if errors else [],
        resolution.warnings,
    )


def _bind_outputs(config: ModelConfig, signature: Signature) -> _Bound:
    leaves = signature.outputs
    table = NameTable(
        Direction.OUTPUT,
        [leaf.names for leaf in leaves],
        opaque={position for position, leaf in enumerate(leaves) if leaf.kind is ValueKind.UNKNOWN},
        has_more=signature.has_open_result,
        in_order=range(len(leaves)) if signature.follows_config_order else None,
    )
    resolution = table.resolve([tensor.name for tensor in config.outputs])
    errors = list(resolution.errors)
    return _bound(
        [(tensor.name, tensor.data_type) for tensor in config.outputs],
        leaves,
        resolution.targets,
        [*errors, table.inventory()] if errors else [],
        resolution.warnings,
    )


def _bound(
    declared: Sequence[tuple[str, DataType]],
    leaves: Sequence[Leaf],
    targets: Sequence[Target | None],
    errors: Sequence[str],
    warnings: Sequence[str],
) -> _Bound:
    known = [None if target is None else _leaf_of(leaves, target) for target in targets]
    planned = [
        None if leaf is None or target is None else _planned_leaf(leaf, target, name, data_type)
        for leaf, target, (name, data_type) in zip(known, targets, declared, strict=True)
    ]
    return _Bound(tuple(targets), tuple(known), tuple(planned), tuple(errors), tuple(warnings))


def _leaf_of(leaves: Sequence[Leaf], target: Target) -> Leaf:
    if target.position is not None:
        return leaves[target.position]
    names = LeafNames(target.path, (f"index {target.index}",), target.index)
    return Leaf(names, kind=ValueKind.UNKNOWN, type="of a type that is not known", is_by_index=True)


def _planned_leaf(leaf: Leaf, target: Target, name: str, data_type: DataType) -> Leaf:
    others = tuple(other for other in leaf.names.names if other != name)
    kind = leaf.kind
    if kind is ValueKind.UNKNOWN:
        kind = ValueKind.STRINGS if data_type is DataType.STRING else ValueKind.TENSOR
    return replace(
        leaf,
        names=replace(leaf.names, path=target.path, names=(name, *others)),
        kind=kind,
        has_default=leaf.has_default or leaf.names.is_open,
    )


def _missing_inputs(leaves: Sequence[Leaf], targets: Sequence[Target | None]) -> Iterator[str]:
    """Yield a sentence on the leaves that need a tensor and have none, and one on each that no tensor can be for."""
    bound = {target.position for target in targets if target is not None}
    used = {leaves[position].names.owner for position in bound if position is not None}
    missing = [leaf for position, leaf in enumerate(leaves) if position not in bound and _is_needed(leaf, used)]
    labels = [leaf.names.label for leaf in missing if leaf.kind is not ValueKind.OTHER]
    if labels:
        yield f"the config declares no tensor for {listed(labels)}: every input needs one"
    for leaf in missing:
        if leaf.kind is ValueKind.OTHER:
            yield (
                f"argument '{leaf}' is of type {leaf.type} and has no default, but requests can send only {SENDABLE}: "
                "give it a default, or serve a module around this one"
            )


def _is_needed(leaf: Leaf, used: set[str | None]) -> bool:
    """Return whether a leaf that no tensor is declared for needs one, given the owners of those that have one."""
    if leaf.has_default:
        return False
    is_used = leaf.names.owner in used
    if leaf.names.is_open:
        return not is_used and not leaf.owner_has_default
    return is_used or not leaf.owner_has_default


def _with_empty(leaf: Leaf) -> Leaf:
    """Return a leaf whose dynamic sizes may be 0 where it is only the exporter that assumes they are not."""
    if leaf.shape is None:
        return leaf
    return replace(leaf, shape=tuple(map(_dimension_with_empty, leaf.shape)))


def _dimension_with_empty(dimension: Dimension) -> Dimension:
    return replace(dimension, lower=dimension.lower_if_empty) if dimension.may_be_empty else dimension


def _config_errors(config: ModelConfig, signature: Signature) -> Iterator[str]:
    if not config.outputs:
        names = listed([leaf.names.label for leaf in signature.outputs])
        yield f"the config declares no output, so that nothing would be answered: the model has {names}"
    if config.max_batch_size and not config.inputs:
        yield (
            f"the config has max_batch_size: {config.max_batch_size} and declares no input, so that no request has a "
            "number of rows: set max_batch_size: 0"
        )


def _input_errors(pairs: Sequence[tuple[DeclaredInput, Leaf]], config: ModelConfig) -> Iterator[str]:
    for tensor, leaf in pairs:
        if tensor.optional and not (leaf.has_default or leaf.names.is_open):
            yield f"input '{tensor.name}' is optional, but the model has no default for it: remove `optional: true`"
        yield from input_value_errors(tensor, leaf)
        yield from input_errors(tensor, leaf, config.max_batch_size)


def _output_errors(config: ModelConfig, outputs: _Bound) -> Iterator[str]:
    for tensor, leaf in zip(config.outputs, outputs.leaves, strict=True):
        if leaf is not None:
            yield from output_value_errors(tensor, leaf, is_batched=config.max_batch_size > 0)


def _order(bound: _Bound) -> list[int]:
    """Return the declared tensors in the order of the signature; those of one open leaf in that of the config."""
    last = max((target.position or 0 for target in bound.targets if target is not None), default=0) + 1

    def place(number: int) -> int:
        target = bound.targets[number]
        return last if target is None or target.position is None else target.position

    return sorted(range(len(bound.targets)), key=place)


def _positions(bound: _Bound) -> list[int]:
    """Return the position of each declared tensor in that order."""
    order = _order(bound)
    return [order.index(number) for number in range(len(order))]


def _ordered(bound: _Bound) -> tuple[Leaf, ...]:
    return tuple(leaf for number in _order(bound) if (leaf := bound.planned[number]) is not None)


@dataclass(frozen=True, slots=True)
class _PlannedInputs:
    """The declared inputs of a config without errors, with their leaves and positions."""

    declared: Sequence[DeclaredInput]
    leaves: Sequence[Leaf | None]
    positions: Sequence[int]

    @property
    def position_of(self) -> dict[str, int]:
        """The position of each input, by name."""
        return {tensor.name: position for tensor, position in zip(self.declared, self.positions, strict=True)}

    def _all(self) -> Iterator[tuple[DeclaredInput, Leaf, int]]:
        for tensor, leaf, position in zip(self.declared, self.leaves, self.positions, strict=True):
            if leaf is not None:
                yield tensor, leaf, position

    def sent(self) -> tuple[PlannedInput, ...]:
        """Return the inputs that requests send."""
        return tuple(
            PlannedInput(tensor, leaf, position, is_scalar(tensor, leaf))
            for tensor, leaf, position in self._all()
            if tensor.kind is None
        )

    def made(self, config: ModelConfig) -> tuple[PlannedBatchInput, ...]:
        """Return the inputs that `batch_input` makes."""
        made = [(leaf, position) for tensor, leaf, position in self._all() if tensor.kind is not None]
        return tuple(
            PlannedBatchInput(batch_input, leaf, position, self.position_of[batch_input.source])
            for batch_input, (leaf, position) in zip(config.batch_inputs, made, strict=True)
        )


def _planned_outputs(config: ModelConfig, outputs: _Bound, position_of: dict[str, int]) -> tuple[PlannedOutput, ...]:
    sources = {batch_output.target: position_of[batch_output.source] for batch_output in config.batch_outputs}
    return tuple(
        PlannedOutput(tensor.name, tensor.data_type, tensor.model_dims, leaf, position, sources.get(tensor.name))
        for tensor, leaf, position in zip(config.outputs, outputs.planned, _positions(outputs), strict=True)
        if leaf is not None
    )
