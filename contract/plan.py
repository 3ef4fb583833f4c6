"""A config bound to the signature of its model: all that is needed to serve it, decided once, when it is loaded."""

from dataclasses import dataclass

from triton_pytorch.contract.call_limits import CallLimit
from triton_pytorch.contract.declared_inputs import DeclaredInput
from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.contract.shape_rules import Rule
from triton_pytorch.model_config.batch_tensors import BatchInput
from triton_pytorch.model_config.datatypes import DataType


@dataclass(frozen=True, slots=True)
class PlannedLeaves:
    """The leaves that a config names, in the order in which a Model takes and returns them.

    That is the order of the signature; where only the config can name leaves, theirs is that of the config.
    """

    inputs: tuple[Leaf, ...]
    outputs: tuple[Leaf, ...]


@dataclass(frozen=True, slots=True)
class PlannedInput:
    """An input that requests send, with its leaf; `position` is that of the leaf in `PlannedLeaves.inputs`.

    `is_one_value`: a number, or a tensor without dimensions; all requests of a call have the same, in each row.
    """

    declared: DeclaredInput
    leaf: Leaf
    position: int
    is_one_value: bool


@dataclass(frozen=True, slots=True)
class PlannedBatchInput:
    """An input that no request sends; `source_position` is that of the input whose shapes it is made of."""

    batch_input: BatchInput
    leaf: Leaf
    position: int
    source_position: int


@dataclass(frozen=True, slots=True)
class PlannedOutput:
    """A declared output with its leaf; `position` is that of the leaf in `PlannedLeaves.outputs`.

    `dims` are without the batch dimension, after `reshape`, -1 where dynamic. `source_position` is that of the input
    whose shapes the output is cut into (BATCH_SCATTER_WITH_INPUT_SHAPE), None for an output that is cut by rows.
    """

    name: str
    data_type: DataType
    dims: tuple[int, ...]
    leaf: Leaf
    position: int
    source_position: int | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What binds each declared tensor, in the order of config.pbtxt, and what is left to check when requests come.

    Rules read shapes by the position of the input. `request_rules` are for one request before it is merged, where the
    shape of an input that was not sent, or that `batch_input` makes, is None. `call_rules` are for the tensors of a
    call. `call_limits` are what the requests of a call may bring together; a request of more than `piece_rows` rows is
    run in pieces of no more. `merges`: several requests may share a call. `warnings` say what the config asks for
    beyond what the model states.
    """

    model_name: str
    max_batch_size: int
    inputs: tuple[PlannedInput, ...]
    batch_inputs: tuple[PlannedBatchInput, ...]
    outputs: tuple[PlannedOutput, ...]
    leaves: PlannedLeaves
    request_rules: tuple[Rule, ...]
    call_rules: tuple[Rule, ...]
    call_limits: tuple[CallLimit, ...]
    piece_rows: int | None
    warnings: tuple[str, ...]
    merges: bool

    @property
    def is_batched(self) -> bool:
        """Whether dimension 0 of what requests send is a number of rows."""
        return self.max_batch_size > 0

    @property
    def has_ragged_inputs(self) -> bool:
        """Whether requests share calls whatever the shape of some of their inputs."""
        return bool(self.batch_inputs) or any(planned.declared.is_ragged for planned in self.inputs)
