"""Reading one request from Triton: its tensors by leaf, read once and checked before anything is merged."""

from collections.abc import Sequence
from typing import Any

import torch

from triton_pytorch.batching.one_values import bits_of, number_in
from triton_pytorch.batching.requests import ParsedRequest
from triton_pytorch.contract.leaves import ValueKind
from triton_pytorch.contract.plan import Plan, PlannedInput
from triton_pytorch.contract.shape_rules import Rule, SentShapes
from triton_pytorch.execution.interfaces import TritonRequest
from triton_pytorch.execution.strings import read_strings
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.model_config.errors import RequestError
from triton_pytorch.model_config.suggestions import joined
from triton_pytorch.torch_runtime.tensors import from_dlpack

_LARGEST_INT = 2**63 - 1  # an argument of type int has 64 bits, the sign among them


class RequestReader:
    """Reads and checks the requests of one model."""

    def __init__(self, plan: Plan) -> None:
        self._position_of = {planned.declared.name: planned.position for planned in plan.inputs}
        self._strings = {planned.position for planned in plan.inputs if planned.declared.data_type is DataType.STRING}
        self._required = {
            planned.position: planned.declared.name for planned in plan.inputs if not planned.declared.optional
        }
        self._nothing_sent: list[Any] = [None] * len(plan.leaves.inputs)
        self._rules = plan.request_rules
        self._is_batched = plan.is_batched
        self._one_values = [planned for planned in plan.inputs if planned.is_one_value]
        self._ranks = [(planned.position, planned.declared.rank) for planned in plan.inputs]

    def read(self, position: int, request: TritonRequest) -> ParsedRequest:
        """Return the request at a position of one `execute`.

        Raises:
            RequestError: an input is missing or not valid text, its sizes are not what the model takes, or it has
                several values where a call has one.
        """
        leaves, shapes = self._nothing_sent.copy(), self._nothing_sent.copy()
        position_of, strings = self._position_of, self._strings
        inputs = request.inputs()
        for tensor in inputs:
            index = position_of[tensor.name()]
            leaves[index] = leaf = from_dlpack(tensor.to_dlpack()) if index not in strings else read_strings(tensor)
            shapes[index] = leaf.shape
        if len(inputs) < len(position_of):
            self._check_complete(leaves)
        rows = self._rows(shapes) if self._is_batched else 1
        check_shapes(shapes, self._rules)
        for planned in self._one_values:
            if (sent := leaves[planned.position]) is not None:
                _check_one_value(planned, sent)
        return ParsedRequest(position, leaves, rows, request.requested_output_names())

    def _check_complete(self, leaves: Sequence[Any]) -> None:
        missing = [name for leaf, name in self._required.items() if leaves[leaf] is None]
        if missing:
            raise RequestError(f"the request lacks input {', '.join(missing)}")

    def _rows(self, shapes: SentShapes) -> int:
        """Return the number of rows, which Triton's core has seen to be the same in all inputs of a request."""
        for position, rank in self._ranks:
            shape = shapes[position]
            if shape is not None:
                # Where rows have no elements, core lets requests without rows through, without a batch dimension.
                if len(shape) < rank:
                    raise RequestError("the request has no rows: expected one at least")
                return shape[0]
        raise RequestError(
            "the request has no input at all, so that it has no batch size: send one of the optional ones"
        )


def _check_one_value(planned: PlannedInput, sent: torch.Tensor) -> None:
    """Raise RequestError where an input of which a call has one value has none, several, or one that is too large."""
    label, bits = f"input '{planned.declared.name}'", bits_of(sent)
    if not bits:
        raise RequestError(f"{label} has no rows, so that the model gets no value of it: send one at least")
    other = next((row for row, value in enumerate(bits) if value != bits[0]), None)
    if other is not None:
        raise RequestError(
            f"{label} has {number_in(sent)} in row 0 and {number_in(sent, other)} in row {other}, but the model takes "
            "one value for all rows of a request: send rows with another one in a request of their own"
        )
    if planned.leaf.kind is ValueKind.NUMBER and sent.dtype is torch.uint64 and number_in(sent) > _LARGEST_INT:
        raise RequestError(
            f"{label} is {number_in(sent)}, but the model takes {planned.leaf.type}, which is at most {_LARGEST_INT}"
        )


def shapes_of(leaves: Sequence[Any]) -> SentShapes:
    """Return the shapes of the input leaves of a call; rules read those of tensors only."""
    return [leaf.shape if isinstance(leaf, torch.Tensor) else None for leaf in leaves]


def check_shapes(shapes: SentShapes, rules: Sequence[Rule]) -> None:
    """Raise RequestError with a sentence for each rule that the shapes of a request or a call break."""
    for rule in rules:
        if rule(shapes) is not None:
            raise RequestError(joined([violation for each in rules if (violation := each(shapes)) is not None]))
