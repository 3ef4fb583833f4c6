"""How the inputs of the requests of one call become what the model takes: gathered, aligned, laid out."""

from collections.abc import Callable, Sequence

import torch

from triton_pytorch.batching.batch_inputs import batch_input_builder
from triton_pytorch.batching.gather import gather
from triton_pytorch.batching.one_values import number_in
from triton_pytorch.batching.requests import ParsedRequest
from triton_pytorch.contract.leaves import ValueKind
from triton_pytorch.contract.plan import Plan, PlannedBatchInput, PlannedInput
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.torch_runtime.tensors import as_model_input

# Builds one input leaf of a call, a tensor, strings or a number, from the requests that share the call; None where it
# is optional and was not sent, which is the same in all requests of a call.
InputBuilder = Callable[[Sequence[ParsedRequest]], "torch.Tensor | list[str] | float | None"]


def input_builders(plan: Plan, device: torch.device) -> list[InputBuilder]:
    """Return the builder of each input leaf that the model takes, in the model's order."""
    builders = {planned.position: _builder(planned, device) for planned in plan.inputs}
    builders |= {planned.position: _batch_input(planned, device) for planned in plan.batch_inputs}
    return [builders[position] for position in range(len(plan.leaves.inputs))]


def _builder(planned: PlannedInput, device: torch.device) -> InputBuilder:
    if planned.declared.data_type is DataType.STRING:
        builder = _strings(planned.position)
    elif planned.declared.is_ragged:
        builder = _ragged(planned.position, device)
    elif planned.is_one_value:
        is_number = planned.leaf.kind is ValueKind.NUMBER
        builder = _number(planned.position) if is_number else _one_tensor(planned.position, device)
    else:
        builder = _gathered(planned.position, device, planned.leaf.layout)
    return _optional(planned.position, builder) if planned.declared.optional else builder


def _optional(position: int, builder: InputBuilder) -> InputBuilder:
    def build(requests: Sequence[ParsedRequest]) -> torch.Tensor | list[str] | float | None:
        return None if requests[0].leaves[position] is None else builder(requests)

    return build


def _gathered(position: int, device: torch.device, layout: tuple[int, ...] | None) -> InputBuilder:
    def build(requests: Sequence[ParsedRequest]) -> torch.Tensor:
        return gather([request.leaves[position] for request in requests], device, layout)

    return build


def _ragged(position: int, device: torch.device) -> InputBuilder:
    """Return the builder of a ragged input: all elements of all requests, flat."""

    def build(requests: Sequence[ParsedRequest]) -> torch.Tensor:
        return gather([request.leaves[position].reshape(-1) for request in requests], device, None)

    return build


def _strings(position: int) -> InputBuilder:
    """Return the builder of strings: those of all requests, one after the other."""

    def build(requests: Sequence[ParsedRequest]) -> list[str]:
        return [text for request in requests for text in request.leaves[position]]

    return build


def _number(position: int) -> InputBuilder:
    """Return the builder of a number, which is the same in all rows of all requests of a call."""

    def build(requests: Sequence[ParsedRequest]) -> float:
        return number_in(requests[0].leaves[position])

    return build


def _one_tensor(position: int, device: torch.device) -> InputBuilder:
    """Return the builder of a tensor without dimensions, which is the same in all rows of all requests of a call."""

    def build(requests: Sequence[ParsedRequest]) -> torch.Tensor:
        # A copy: the model may write to it, and the request may have to run once more.
        return gather([requests[0].leaves[position].reshape(-1)[0].clone()], device, None)

    return build


def _batch_input(planned: PlannedBatchInput, device: torch.device) -> InputBuilder:
    """Return the builder of an input that no request sends: made of the shapes of its source."""
    build_from_shapes = batch_input_builder(planned.batch_input, device)
    source, layout = planned.source_position, planned.leaf.layout

    def build(requests: Sequence[ParsedRequest]) -> torch.Tensor:
        shapes = [request.leaves[source].shape for request in requests]
        return as_model_input(build_from_shapes(shapes), device, layout)

    return build
