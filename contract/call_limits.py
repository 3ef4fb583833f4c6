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
from triton_pytorch.contract.shape_rules import Rule
from triton_pytorch.model_config.batch_tensors import BatchInputKind

Measure = Callable[[Sequence[int]], int]
BoundInput = tuple[DeclaredInput, Leaf, int]  # an input, its leaf and its position in a call


@dataclass(frozen=True, slots=True)
class CallLimit:
    """What the requests of a call may bring at most, all together.

    `measure` says what one of them brings, from the shape of its input at `position`.
    """

    position: int
    measure: Measure
    most: int


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
    bounds = [found for declared, leaf, position in bound if (found := _bound_of(declared, leaf, position, positions))]
    bounds = [found for found in bounds if found.measure not in (_rows, _requests) or found.most < max_batch_size]
    piece_rows = min((found.most for found in bounds if found.measure is _rows), default=None)
    if piece_rows is not None and not _can_be_cut(bound, piece_rows):
        piece_rows = None
    return CallLimits(
        tuple(CallLimit(found.position, found.measure, found.most) for found in bounds if found.is_sum),
        piece_rows,
        tuple(_rule(found) for found in bounds if piece_rows is None and found.measure is not _requests),
        tuple(_warnings(bounds, max_batch_size)),
    )


@dataclass(frozen=True, slots=True)
class _Bound:
    """The upper bound of dimension 0 of an input, as the most that `measure` may say of requests.

    `is_sum`: what requests bring is added up; else the largest of them counts.
    """

    declared: DeclaredInput
    upper: int
    position: int
    measure: Measure
    most: int
    is_sum: bool = True


def _rows(shape: Sequence[int]) -> int:
    return shape[0]


def _requests(_: Sequence[int]) -> int:
    return 1


def _bound_of(declared: DeclaredInput, leaf: Leaf, position: int, positions: dict[str, int]) -> _Bound | None:
    upper = leaf.shape[0].upper if leaf.shape else None
    if upper is None or not (declared.is_batched or declared.depends_on_merge):
        return None
    if declared.source is None:
        return _Bound(declared, upper, position, prod if declared.is_ragged else _rows, upper)
    kind = declared.kind
    measure: Measure = _requests
    most = upper
    if kind is BatchInputKind.MAX_ELEMENT_COUNT_AS_SHAPE:
        measure = prod
    elif kind is BatchInputKind.ITEM_SHAPE:
        measure = _rows
    elif kind is BatchInputKind.ITEM_SHAPE_FLATTEN:
        measure, most = _rows, upper // max(1, declared.source_dims)
    elif kind is BatchInputKind.ACCUMULATED_ELEMENT_COUNT_WITH_ZERO:
        most = upper - 1
    return _Bound(declared, upper, positions[declared.source], measure, most, is_sum=measure is not prod)


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


def _rule(bound: _Bound) -> Rule:
    """Return the rule for one request that brings more than a call may hold."""
    declared, position, measure, most = bound.declared, bound.position, bound.measure, bound.most

    def rule(shapes: Sequence[Sequence[int] | None]) -> str | None:
        shape = shapes[position]
        if shape is None or (size := measure(shape)) <= most:
            return None
        brings = f"{size} {'rows' if measure is _rows else 'elements'}"
        of = f"input '{declared.source or declared.name}'"
        return f"the request has {brings} of {of}, but {_allowed(bound)}: send less, or {UNBOUNDED}"

    return rule


def _allowed(bound: _Bound) -> str:
    declared = bound.declared
    name = f"input '{declared.name}'" if declared.source is None else f"batch_input '{declared.name}'"
    return f"the model takes at most {bound.upper} in dimension 0 of {name}"


def _warnings(bounds: Sequence[_Bound], max_batch_size: int) -> Iterator[str]:
    counted = [found for found in bounds if found.measure in (_rows, _requests)]
    if counted:
        tightest = min(counted, key=lambda found: found.most)
        unit = "rows" if tightest.measure is _rows else "requests"
        yield (
            f"no call is of more than {tightest.most} {unit}, below max_batch_size: {max_batch_size}, since "
            f"{_allowed(tightest)}: {UNBOUNDED}"
        )
