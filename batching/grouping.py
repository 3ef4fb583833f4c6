"""Which requests share a call of the model."""

from collections.abc import Hashable

from triton_pytorch.batching.one_values import bits_of
from triton_pytorch.batching.requests import ParsedRequest
from triton_pytorch.contract.call_limits import CallLimit
from triton_pytorch.contract.plan import Plan
from triton_pytorch.model_config.tensors import DYNAMIC


class Grouping:
    """Puts the requests for one instance of a model into groups, each of which one call can serve."""

    def __init__(self, plan: Plan) -> None:
        self._merges = plan.merges
        # What can tell two requests of one model apart, since Triton's core enforces the sizes that the config fixes:
        # whether an input is there, and its sizes after the batch dimension, none of which count in a ragged one.
        self._distinctive = [
            (planned.position, slice(0) if planned.declared.is_ragged else slice(1, None))
            for planned in plan.inputs
            if planned.declared.optional or DYNAMIC in planned.declared.shape[1:]
        ]
        self._limits = plan.call_limits
        self._one_values = [planned.position for planned in plan.inputs if planned.is_one_value]
        self._unmerged_outputs: set[str] = set()

    def groups(self, requests: list[ParsedRequest]) -> list[list[ParsedRequest]]:
        """Return the requests in groups, groups and requests in the order in which they came.

        Requests of a group have the same sizes after the batch dimension, the same optional inputs, and the same value
        of each input of which a call has one, and bring no more than a call may hold; one that brings more is alone.
        """
        if not self._merges:
            return [[request] for request in requests]
        if len(requests) < 2:
            return [requests] if requests else []
        groups = [requests]
        if self._distinctive or self._one_values or self._unmerged_outputs:
            by_kind: dict[Hashable, list[ParsedRequest]] = {}
            for request in requests:
                by_kind.setdefault(self._kind(request), []).append(request)
            groups = list(by_kind.values())
        return [part for group in groups for part in self._parts(group)] if self._limits else groups

    def stop_merging(self, output: str) -> None:
        """Leave requests that ask for this output alone from now on."""
        self._unmerged_outputs.add(output)

    def _parts(self, group: list[ParsedRequest]) -> list[list[ParsedRequest]]:
        """Cut a group between its requests, so that no part brings more than a call may hold."""
        parts: list[list[ParsedRequest]] = []
        left: list[int] = []  # what may still be brought to the last part
        for request in group:
            brought = [self._brought(request, limit) for limit in self._limits]
            if not parts or any(more > most for more, most in zip(brought, left, strict=True)):
                parts.append([])
                left = [limit.most for limit in self._limits]
            parts[-1].append(request)
            left = [most - more for most, more in zip(left, brought, strict=True)]
        return parts

    @staticmethod
    def _brought(request: ParsedRequest, limit: CallLimit) -> int:
        leaf = request.leaves[limit.position]
        return 0 if leaf is None else limit.measure(leaf.shape)

    def _kind(self, request: ParsedRequest) -> Hashable:
        if not self._unmerged_outputs.isdisjoint(request.requested):
            return request  # equal to no other
        leaves = request.leaves
        shapes = [
            None if (leaf := leaves[position]) is None else leaf.shape[sizes] for position, sizes in self._distinctive
        ]
        values = [None if (leaf := leaves[position]) is None else bits_of(leaf[:1])[0] for position in self._one_values]
        return *shapes, *values
