"""How much one call may hold: the upper bounds of the dimensions that merging decides, which no request alone has.

Some bounds are real (a table of 16 rows, of which the batch takes the first), some are invented by the exporter, and
nothing tells which (docs/internals.md). So no call is larger: groups of requests are cut, and a request with more rows
is run in pieces where that is right, else refused.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from triton_pytorch.contract.declared_inputs import DeclaredInput
from triton_pytorch.contract.input_checks import UNBOUNDED
from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.contract.shape_rules import BoundInput, Rule, SentShapes
from triton_pytorch.model_config.batch_tensors import BatchInputKind

Measure = Callable[[Sequence[int]], int]


@dataclass(frozen=True, slots=True)
class CallLimit:
    """What the requests of a call may bring at most, all together; unless it `is_sum`, each of them.

    `measure` says what one of them brings, from the shape of `input`, which is at `position`. `allowed` says in words
    where the limit comes from.
    """

    input: str
    position: int
    measure: Measure
    most: int
    allowed: str
    is_sum: bool = True


@dataclass(frozen=True, slots=True)
class CallLimits:
    """What bounds a call.

    `limits` hold for all requests of a call together, `rules` for each request. A request of more than `piece_rows`
    is run in pieces of no more; None where the rows are not bounded, or where pieces are not the same as the whole.
    """

    limits: tuple[CallLimit, ...]
    piece_rows: int | None
    rules: tuple[Rule, ...]
    warnings: tuple[str, ...]


def compile_call_limits(bound: Sequence[BoundInput], max_batch_size: int) -> CallLimits:
    """Compile the limits of calls from the upper bounds of a model's inputs.

    Triton's core sees to it that no call has more than `max_batch_size` rows, and so no more requests.
    """
    positions = {declared.name: position for declared, _, position in bound}
    found = [limit for it in bound if (limit := _limit(*it, positions)) is not None]
    found = [limit for limit in found if limit.measure not in (_rows, _requests) or limit.most < max_batch_size]
    piece_rows = min((limit.most for limit in found if limit.measure is _rows), default=None)
    if piece_rows is not None and not _can_be_cut(bound, piece_rows):
        piece_rows = None
    return CallLimits(
        tuple(limit for limit in found if limit.is_sum),
        piece_rows,
        tuple(_rule(limit) for limit in found if piece_rows is None and limit.measure is not _requests),
        tuple(_warnings(found, max_batch_size)),
    )


def _rows(shape: Sequence[int]) -> int:
    return shape[0]


def _requests(_: Sequence[int]) -> int:
    return 1


def _limit(declared: DeclaredInput, leaf: Leaf, position: int, positions: dict[str, int]) -> CallLimit | None:
    """Return the limit that the upper bound of dimension 0 of an input sets."""
    upper = leaf.shape[0].upper if leaf.shape else None
    if upper is None or not (declared.is_batched or declared.depends_on_merge):
        return None
    allowed = f"the model takes at most {upper} in dimension 0 of"
    if declared.source is None:
        measure: Measure = prod if declared.is_ragged else _rows
        return CallLimit(declared.name, position, measure, upper, f"{allowed} input '{declared.name}'")
    measure, most = _requests, upper
    if declared.kind is BatchInputKind.MAX_ELEMENT_COUNT_AS_SHAPE:
        measure = prod
    elif declared.kind is BatchInputKind.ITEM_SHAPE:
        measure = _rows
    elif declared.kind is BatchInputKind.ITEM_SHAPE_FLATTEN:
        measure, most = _rows, upper // max(1, declared.source_dims)
    elif declared.kind is BatchInputKind.ACCUMULATED_ELEMENT_COUNT_WITH_ZERO:
        most = upper - 1
    allowed = f"{allowed} batch_input '{declared.name}'"
    return CallLimit(declared.source, positions[declared.source], measure, most, allowed, is_sum=measure is not prod)


def _can_be_cut(bound: Sequence[BoundInput], most: int) -> bool:
    """Return whether pieces of a request's rows are to the model what they are in the whole.

    Not so where something else is as long as the batch or part of it, or where inputs are made of whole requests.
    """
    if any(declared.depends_on_merge for declared, _, _ in bound):
        return False
    batches, others = set[str](), set[str]()
    for declared, leaf, _ in bound:
        for number, dimension in enumerate(leaf.shape or ()):
            symbols = dimension.size.symbols
            if not declared.is_batched or number > 0:
                others |= symbols
            elif dimension.size.symbol is None or dimension.lower > (most + 1) // 2:
                return False  # a piece may not be the multiple that the model takes, or too small
            else:
                batches |= symbols
    return batches.isdisjoint(others)


def _rule(limit: CallLimit) -> Rule:
    """Return the rule for one request that brings more than a call may hold."""
    position, measure, most = limit.position, limit.measure, limit.most
    unit = "rows" if measure is _rows else "elements"

    def rule(shapes: SentShapes) -> str | None:
        shape = shapes[position]
        if shape is None or (size := measure(shape)) <= most:
            return None
        return f"the request has {size} {unit} of input '{limit.input}', but {limit.allowed}: send less, or {UNBOUNDED}"

    return rule


def _warnings(limits: Sequence[CallLimit], max_batch_size: int) -> Iterator[str]:
    counted = [limit for limit in limits if limit.measure in (_rows, _requests)]
    if counted:
        tightest = min(counted, key=lambda limit: limit.most)
        unit = "rows" if tightest.measure is _rows else "requests"
        yield (
            f"no call is of more than {tightest.most} {unit}, below max_batch_size: {max_batch_size}, since "
            f"{tightest.allowed}: {UNBOUNDED}"
        )
