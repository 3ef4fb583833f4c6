"""One request as the run loop holds it: its tensors by leaf, read once and checked before anything is merged."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from triton_pytorch.execution.interfaces import TritonRequest
from triton_pytorch.execution.strings import read_strings
from triton_pytorch.contract.binding import Contract
from triton_pytorch.contract.shape_rules import Rule
from triton_pytorch.model_config.configuration import ModelConfig
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.model_config.errors import RequestError
from triton_pytorch.model_config.suggestions import joined
from triton_pytorch.model_config.tensors import DYNAMIC
from triton_pytorch.torch_runtime.tensors import from_dlpack

Leaves = list[Any]  # for each leaf of the model a tensor, Strings, or None where none was sent


@dataclass(slots=True, eq=False)
class Reading:
    """A request that was read: its place among those of one `execute`, its tensors, its rows, the outputs asked for.

    The tensors lie in Triton's memory: valid during `execute` only, unaligned, not to be written to while the request
    may have to run once more. `rows` is 1 without batching.
    """

    position: int
    leaves: Leaves
    rows: int
    requested: set[str]

    def copy(self) -> "Reading":
        """Return the same request in other memory."""
        leaves = [leaf.clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in self.leaves]
        return Reading(self.position, leaves, self.rows, self.requested)


class RequestReader:
    """Reads and checks the requests of one model."""

    def __init__(self, config: ModelConfig, contract: Contract, leaf_count: int) -> None:
        declared = list(zip(config.inputs, contract.inputs, strict=True))
        self._leaf_of = {tensor.name: leaf for tensor, leaf in declared}
        self._strings = {leaf for tensor, leaf in declared if tensor.data_type is DataType.STRING}
        self._required = {leaf: tensor.name for tensor, leaf in declared if not tensor.optional}
        self._no_leaves: Leaves = [None] * leaf_count
        self._rules = contract.request_rules
        self._is_batched = config.max_batch_size > 0
        self._ranks = [(leaf, 1 + len(tensor.model_dims)) for tensor, leaf in declared]
        self._optional = [leaf for tensor, leaf in declared if tensor.optional]
        # What can tell two requests of one model apart, Triton's core holding them to the sizes that the config fixes:
        # whether a tensor is there, and its sizes behind the batch dimension, none of which count in a ragged one.
        self._distinctive = [
            (leaf, slice(0) if tensor.is_ragged else slice(1, None))
            for tensor, leaf in declared
            if tensor.optional or (DYNAMIC in tensor.model_dims and not tensor.is_ragged)
        ]

    def read(self, position: int, request: TritonRequest) -> Reading:
        """Return the request with its tensors in the order of the model's leaves.

        Raises:
            RequestError: an input is missing or no text, or its sizes are not what the model takes.
        """
        leaves = self._no_leaves.copy()
        leaf_of = self._leaf_of
        inputs = request.inputs()
        for tensor in inputs:
            leaf = leaf_of[tensor.name()]
            leaves[leaf] = from_dlpack(tensor.to_dlpack()) if leaf not in self._strings else read_strings(tensor)
        if len(inputs) < len(leaf_of):
            self._check_complete(leaves)
        rows = self._rows(leaves) if self._is_batched else 1
        check_shapes(leaves, self._rules)
        return Reading(position, leaves, rows, request.requested_output_names())

    def _check_complete(self, leaves: Leaves) -> None:
        missing = [name for leaf, name in self._required.items() if leaves[leaf] is None]
        if missing:
            raise RequestError(f"the request lacks input {', '.join(missing)}")

    def mergeable(self, readings: list[Reading]) -> list[list[Reading]]:
        """Return the requests in groups that one call can serve, groups and requests in the order in which they came.

        Requests of a group have the same sizes behind the batch dimension and the same optional inputs.
        """
        if not self._is_batched:
            return [[reading] for reading in readings]
        if not self._distinctive or len(readings) == 1:
            return [readings] if readings else []
        groups: dict[Hashable, list[Reading]] = {}
        for reading in readings:
            groups.setdefault(self._kind(reading.leaves), []).append(reading)
        return list(groups.values())

    def optional_inputs(self, reading: Reading) -> Hashable:
        """Return which of the optional inputs a request has."""
        return tuple([reading.leaves[leaf] is not None for leaf in self._optional])

    def _kind(self, leaves: Leaves) -> Hashable:
        return tuple(
            [None if (tensor := leaves[leaf]) is None else tensor.shape[sizes] for leaf, sizes in self._distinctive]
        )

    def _rows(self, leaves: Leaves) -> int:
        """Return the number of rows, which core has seen to be the same in all inputs of a request."""
        for leaf, rank in self._ranks:
            tensor = leaves[leaf]
            if tensor is not None:
                # Where rows have no elements, core lets requests without rows through, without a batch dimension.
                if tensor.dim() != rank:
                    raise RequestError("the request has no rows: expected one at least")
                rows: int = tensor.shape[0]
                return rows
        raise RequestError(
            "the request has no input at all, so that it has no batch size: send one of the optional ones"
        )


def check_shapes(leaves: Leaves, rules: Sequence[Rule]) -> None:
    """Raise RequestError with a sentence for each rule that the shapes of these tensors break."""
    if not rules:
        return
    shapes = [None if tensor is None else tensor.shape for tensor in leaves]
    violations = [violation for rule in rules if (violation := rule(shapes)) is not None]
    if violations:
        raise RequestError(joined(violations))
