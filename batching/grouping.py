"""Which requests share a call of the model."""

from collections.abc import Hashable

from triton_pytorch.batching.requests import ParsedRequest
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
        self._unmerged_outputs: set[str] = set()

    def groups(self, requests: list[ParsedRequest]) -> list[list[ParsedRequest]]:
        """Return the requests in groups, groups and requests in the order in which they came.

        Requests of a group have the same sizes after the batch dimension and the same optional inputs.
        """
        if not self._merges:
            return [[request] for request in requests]
        if len(requests) < 2 or not (self._distinctive or self._unmerged_outputs):
            return [requests] if requests else []
        groups: dict[Hashable, list[ParsedRequest]] = {}
        for request in requests:
            groups.setdefault(self._kind(request), []).append(request)
        return list(groups.values())

    def stop_merging(self, output: str) -> None:
        """Leave requests that ask for this output alone from now on."""
        self._unmerged_outputs.add(output)

    def _kind(self, request: ParsedRequest) -> Hashable:
        if not self._unmerged_outputs.isdisjoint(request.requested):
            return request  # equal to no other
        leaves = request.leaves
        return tuple(
            [None if (leaf := leaves[position]) is None else leaf.shape[sizes] for position, sizes in self._distinctive]
        )
