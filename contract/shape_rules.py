"""Rules for the shapes that only requests can break, compiled at load from what the config leaves open.

A compiled model reads foreign memory where sizes break the relations that it was exported with (docs/internals.md), so
every dynamic dimension is checked against its bounds, and against the dimensions that share its name. What a request
has alone is checked before it is merged, so that it spoils no call; what merging makes, with the tensors of the call.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import cast

from triton_pytorch.contract.declared_inputs import DeclaredInput
from triton_pytorch.contract.input_checks import bounds_text, is_one_value, upper_remedy
from triton_pytorch.contract.leaves import Dimension, Leaf
from triton_pytorch.model_config.tensors import DYNAMIC

Shapes = Sequence[Sequence[int]]  # of the model's input leaves, in their order
Check = Callable[[Shapes], "str | None"]  # returns a sentence where the shapes break it
SentShapes = Sequence[Sequence[int] | None]  # the same, with None for an input that was not sent
Rule = Callable[[SentShapes], "str | None"]  # a check that copes with inputs that are not there
BoundInput = tuple[DeclaredInput, Leaf, int]  # an input, its leaf and its position in a call


@dataclass(frozen=True, slots=True)
class InputDimension:
    """A dimension of a declared input, what the model says of it, and the number that the config fixes it at, if so.

    `leaf` is the position of the input in a call. `is_batch`: its size is the number of rows. `depends_on_merge`: no
    request alone has its size.
    """

    tensor: str
    leaf: int
    number: int
    known: Dimension
    fixed: int | None
    is_batch: bool
    depends_on_merge: bool
    is_optional: bool

    def __str__(self) -> str:
        return f"dimension {self.number} of input '{self.tensor}'"

    def size(self, shapes: Shapes) -> int:
        """Return the size that this dimension has in a request or a call."""
        return self.fixed if self.fixed is not None else shapes[self.leaf][self.number]


@dataclass(frozen=True, slots=True)
class SymbolSource:
    """Where the number behind a name comes from: a dimension whose size is `factor * name + offset`."""

    dimension: InputDimension
    factor: int
    offset: int

    def value(self, shapes: Shapes) -> int:
        """Return the number in a request; rounded down where the dimension breaks its own rule."""
        return (self.dimension.size(shapes) - self.offset) // self.factor


@dataclass(frozen=True, slots=True)
class ShapeCheck:
    """A check with the dimensions that it reads; a bound of rows holds for a sum where it holds for each."""

    check: Check
    read: tuple[InputDimension, ...]
    is_bound: bool = False

    @property
    def is_settled(self) -> bool:
        """True where all numbers stand in the config, so that no request can change them."""
        return all(dimension.fixed is not None for dimension in self.read)

    @property
    def is_for_requests(self) -> bool:
        """True where a request alone has all sizes, and has to obey whatever it is merged with."""
        return not any(dimension.depends_on_merge for dimension in self.read)

    @property
    def is_for_calls(self) -> bool:
        """True where requests that pass alone can fail together."""
        return not self.is_for_requests or (not self.is_bound and any(dimension.is_batch for dimension in self.read))

    def as_rule(self) -> Rule:
        """Return the check as one that passes where an optional input that it reads is not there."""
        check, optional = self.check, {dimension.leaf for dimension in self.read if dimension.is_optional}
        if not optional:
            return cast("Rule", check)  # what it reads is always there

        def rule(shapes: SentShapes) -> str | None:
            return None if any(shapes[leaf] is None for leaf in optional) else check(cast("Shapes", shapes))

        return rule


@dataclass(frozen=True, slots=True)
class ShapeRules:
    """What is left to check at each request and at each call, and what the config alone already breaks."""

    request_rules: tuple[Rule, ...]
    call_rules: tuple[Rule, ...]
    errors: tuple[str, ...]


def compile_shape_rules(bound: Sequence[BoundInput]) -> ShapeRules:
    """Compile the rules for the shapes of declared inputs."""
    dimensions = [dimension for tensor, leaf, position in bound for dimension in _dimensions(tensor, leaf, position)]
    sources = _symbol_sources(dimensions)
    checks: list[ShapeCheck] = []
    errors: list[str] = []
    for dimension in dimensions:
        errors += _batch_errors(dimension, sources)
        for check in _checks(dimension, sources, has_bounds=not _is_bounded_by(dimension, dimensions)):
            if check.is_settled:
                errors += filter(None, [check.check(())])
            else:
                checks.append(check)
    return ShapeRules(
        (*_ragged_rules(bound), *(check.as_rule() for check in checks if check.is_for_requests)),
        tuple(check.as_rule() for check in checks if check.is_for_calls),
        tuple(errors),
    )


def _ragged_rules(bound: Sequence[BoundInput]) -> Iterator[Rule]:
    """Yield the rules for ragged inputs of a single request, which in the call are one dimension of all elements."""
    for tensor, leaf, position in bound:
        if tensor.is_ragged and leaf.shape is not None and len(leaf.shape) == 1 and leaf.shape[0].lower > 0:
            yield _not_empty(tensor.name, position, leaf.shape[0])


def _not_empty(name: str, position: int, dimension: Dimension) -> Rule:
    remedy = _empty_remedy(dimension)

    def rule(shapes: SentShapes) -> str | None:
        shape = shapes[position]
        count = 1 if shape is None else prod(shape)
        if count:
            return None
        return f"input '{name}' has no elements, but the model takes at least 1{remedy}"

    return rule


def _empty_remedy(dimension: Dimension) -> str:
    return ": set the parameter ALLOW_EMPTY_INPUTS if it is made for empty ones" if dimension.may_be_empty else ""


def _dimensions(declared: DeclaredInput, leaf: Leaf, position: int) -> Iterator[InputDimension]:
    if leaf.shape is None or is_one_value(declared, leaf):
        return
    if len(declared.shape) != len(leaf.shape):  # an error of its own
        return
    for number, (size, known) in enumerate(zip(declared.shape, leaf.shape, strict=True)):
        yield InputDimension(
            declared.name,
            position,
            number,
            known,
            fixed=None if size == DYNAMIC else size,
            is_batch=declared.is_batched and number == 0,
            depends_on_merge=declared.depends_on_merge and size == DYNAMIC,
            is_optional=declared.optional,
        )


def _symbol_sources(dimensions: Sequence[InputDimension]) -> dict[str, SymbolSource]:
    """Choose for each name the dimension that decides its number.

    It is best one that is always there, then one that the config fixes, one that a request has alone, the batch, and
    one that is the name and nothing else.
    """

    def rank(candidate: tuple[str, SymbolSource]) -> tuple[bool, ...]:
        dimension = candidate[1].dimension
        return (
            dimension.is_optional,
            dimension.fixed is None,
            dimension.depends_on_merge,
            not dimension.is_batch,
            dimension.known.size.symbol is None,
        )

    candidates = [found for dimension in dimensions if (found := _linear(dimension)) is not None]
    return dict(sorted(candidates, key=rank)[::-1])  # the first of each name wins


def _linear(dimension: InputDimension) -> tuple[str, SymbolSource] | None:
    """Return the name and how to find its number where the size is `factor * name + offset`."""
    match dimension.known.size.terms:
        case ((factor, (symbol,)),) if factor > 0:
            return symbol, SymbolSource(dimension, factor, 0)
        case ((factor, (symbol,)), (offset, ())) if factor > 0:
            return symbol, SymbolSource(dimension, factor, offset)
    return None


def _batch_errors(dimension: InputDimension, sources: Mapping[str, SymbolSource]) -> Iterator[str]:
    """Yield a sentence where two batch dimensions would have to differ: a request has one batch size for all inputs."""
    others = _others(dimension, sources)
    if others and _are_all_batches(dimension, others) and others[0].known.size != dimension.known.size:
        yield (
            f"{dimension} is {dimension.known} where {others[0]} is {others[0].known}, but with batching Triton makes "
            "both the batch size: set max_batch_size: 0"
        )


def _is_bounded_by(dimension: InputDimension, others: Sequence[InputDimension]) -> bool:
    """Return whether an input before this one, with the same rows and bounds, is checked for both."""
    before = [other for other in others[: others.index(dimension)] if other.is_batch]
    return dimension.is_batch and any(
        other.known.lower >= dimension.known.lower and not (other.is_optional or other.depends_on_merge)
        for other in before
    )


def _checks(
    dimension: InputDimension, sources: Mapping[str, SymbolSource], *, has_bounds: bool
) -> Iterator[ShapeCheck]:
    """Yield the checks of one dimension."""
    is_bounded = dimension.known.lower > 0 or _upper(dimension) is not None
    if has_bounds and dimension.fixed is None and is_bounded:
        yield ShapeCheck(_bounds_check(dimension), (dimension,), is_bound=True)
    others = _others(dimension, sources)
    if others == [dimension]:
        yield from _multiples_checks(dimension)
    elif others and not _are_all_batches(dimension, others):
        own = {symbol: sources[symbol] for symbol in sorted(dimension.known.size.symbols)}
        yield ShapeCheck(_relation_check(dimension, own), (dimension, *others))


def _others(dimension: InputDimension, sources: Mapping[str, SymbolSource]) -> list[InputDimension]:
    """Return the dimensions that decide the size of this one; none where they do not decide all of it."""
    symbols = sorted(dimension.known.size.symbols)
    return [sources[symbol].dimension for symbol in symbols] if sources.keys() >= set(symbols) else []


def _are_all_batches(dimension: InputDimension, others: Sequence[InputDimension]) -> bool:
    return dimension.is_batch and all(other.is_batch for other in others)


def _upper(dimension: InputDimension) -> int | None:
    """Return the upper bound; that of a size that merging decides is a limit of calls (call_limits.py)."""
    return None if dimension.is_batch or dimension.depends_on_merge else dimension.known.upper


def _bounds_check(dimension: InputDimension) -> Check:
    leaf, number, lower, upper = dimension.leaf, dimension.number, dimension.known.lower, _upper(dimension)
    known = replace(dimension.known, upper=upper)
    allowed, empty_remedy = bounds_text(known), _empty_remedy(known)

    def check(shapes: Shapes) -> str | None:
        size = shapes[leaf][number]
        if size < lower or (upper is not None and size > upper):
            remedy = empty_remedy if size == 0 else upper_remedy(known, size)
            return f"{dimension} is {size}, but the model takes {allowed}{remedy}"
        return None

    return check


def _multiples_checks(dimension: InputDimension) -> Iterator[ShapeCheck]:
    ((factor, _), *rest) = dimension.known.size.terms
    offset = rest[0][0] if rest else 0
    allowed = f"multiples of {factor}{f' plus {offset}' if offset else ''}"

    def check(shapes: Shapes) -> str | None:
        size = dimension.size(shapes)
        return f"{dimension} is {size}, but the model takes {allowed}" if (size - offset) % factor else None

    if factor > 1:
        yield ShapeCheck(check, (dimension,))


def _relation_check(dimension: InputDimension, sources: Mapping[str, SymbolSource]) -> Check:
    def check(shapes: Shapes) -> str | None:
        expected = dimension.known.size.value({symbol: source.value(shapes) for symbol, source in sources.items()})
        size = dimension.size(shapes)
        if size != expected:
            others = " and ".join(
                f"{source.dimension} is {source.dimension.size(shapes)} ({source.dimension.known})"
                for source in sources.values()
            )
            return f"{dimension} is {size}, but the model takes {expected} ({dimension.known}) there, since {others}"
        return None

    return check
