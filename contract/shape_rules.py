"""Rules for the shapes that only requests can break, compiled at load from what the config leaves open.

A compiled model reads foreign memory where sizes break the relations that it was exported with (FACTS.md), so every
open dimension is held against its bounds, and against the dimensions that share its name. What a request has alone is
checked before it is merged, so that it spoils no call; what comes of merging, with the tensors of the call.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from triton_pytorch.contract.input_checks import bounds_text, is_scalar
from triton_pytorch.contract.declared_inputs import DeclaredInput
from triton_pytorch.contract.leaves import Dimension, Leaf
from triton_pytorch.contract.sizes import dynamic_size
from triton_pytorch.model_config.tensors import DYNAMIC

Shapes = Sequence[Sequence[int]]  # of the model's input leaves, in their order
Check = Callable[[Shapes], "str | None"]  # returns a sentence where the shapes break it
Rule = Callable[[Sequence[Sequence[int] | None]], "str | None"]  # a check that copes with inputs that are not there


@dataclass(frozen=True, slots=True)
class Place:
    """A dimension of a declared input, and the number that the config fixes it at, if it does.

    `is_batch`: its size is the number of rows. `depends_on_merge`: no request alone has its size.
    """

    tensor: str
    leaf: int
    number: int
    dimension: Dimension
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
    """Where the number behind a name comes from: a place whose size is `factor * name + offset`."""

    place: Place
    factor: int
    offset: int

    def value(self, shapes: Shapes) -> int:
        """Return the number in a request; rounded down where the place breaks its own rule."""
        return (self.place.size(shapes) - self.offset) // self.factor


@dataclass(frozen=True, slots=True)
class ShapeCheck:
    """A check with the places that it reads; a bound of the number of rows holds for a sum where it holds for each."""

    check: Check
    read: tuple[Place, ...]
    is_bound: bool = False

    @property
    def is_settled(self) -> bool:
        """True where all numbers stand in the config, so that no request can change them."""
        return all(place.fixed is not None for place in self.read)

    @property
    def is_for_requests(self) -> bool:
        """True where a request alone has all sizes, and has to obey whatever it is merged with."""
        return not any(place.depends_on_merge for place in self.read)

    @property
    def is_for_calls(self) -> bool:
        """True where requests that pass alone can fail together."""
        return not self.is_for_requests or (not self.is_bound and any(place.is_batch for place in self.read))

    def as_rule(self) -> Rule:
        """Return the check as one that passes where an optional input that it reads is not there."""
        check, optional = self.check, {place.leaf for place in self.read if place.is_optional}
        if not optional:
            return cast("Rule", check)  # what it reads is always there

        def rule(shapes: Sequence[Sequence[int] | None]) -> str | None:
            return None if any(shapes[leaf] is None for leaf in optional) else check(cast("Shapes", shapes))

        return rule


@dataclass(frozen=True, slots=True)
class ShapeRules:
    """What is left to check at each request and at each call, and what the config alone already breaks."""

    request_rules: tuple[Rule, ...]
    call_rules: tuple[Rule, ...]
    faults: tuple[str, ...]


def compile_shape_rules(declared: Sequence[DeclaredInput], leaves: Sequence[Leaf], order: Sequence[int]) -> ShapeRules:
    """Compile the rules for declared inputs; input i is bound to `leaves[order[i]]`."""
    bound = [(tensor, leaves[index], index) for tensor, index in zip(declared, order, strict=True)]
    places = [place for tensor, leaf, index in bound for place in _places(tensor, leaf, index)]
    sources = _symbol_sources(places)
    checks: list[ShapeCheck] = []
    faults: list[str] = []
    for place in places:
        faults += _batch_faults(place, sources)
        for check in _checks(place, sources):
            if check.is_settled:
                faults += filter(None, [check.check(())])
            else:
                checks.append(check)
    return ShapeRules(
        tuple(check.as_rule() for check in checks if check.is_for_requests),
        tuple(check.as_rule() for check in checks if check.is_for_calls),
        tuple(faults),
    )


def _places(declared: DeclaredInput, leaf: Leaf, index: int) -> Iterator[Place]:
    if leaf.shape is None or is_scalar(declared, leaf):
        return
    if len(declared.shape) != len(leaf.shape):  # a fault of its own
        return
    for number, (size, dimension) in enumerate(zip(declared.shape, leaf.shape, strict=True)):
        yield Place(
            declared.name,
            index,
            number,
            dimension,
            fixed=None if size == DYNAMIC else size,
            is_batch=declared.is_batched and number == 0,
            depends_on_merge=declared.depends_on_merge and size == DYNAMIC,
            is_optional=declared.optional,
        )


def _symbol_sources(places: Sequence[Place]) -> dict[str, SymbolSource]:
    """Choose for each name the place that decides its number.

    It is best one that is always there, then one that the config fixes, one that a request has alone, the batch, and
    one that is the name and nothing else.
    """

    def rank(candidate: tuple[str, SymbolSource]) -> tuple[bool, ...]:
        symbol, source = candidate
        place = source.place
        is_plain = place.dimension.size == dynamic_size(symbol)
        return place.is_optional, place.fixed is None, place.depends_on_merge, not place.is_batch, not is_plain

    candidates = [found for place in places if (found := _linear(place)) is not None]
    return dict(sorted(candidates, key=rank)[::-1])  # the first of each name wins


def _linear(place: Place) -> tuple[str, SymbolSource] | None:
    """Return the name and how to find its number where the size is `factor * name + offset`."""
    match place.dimension.size.terms:
        case ((factor, (symbol,)),) if factor > 0:
            return symbol, SymbolSource(place, factor, 0)
        case ((factor, (symbol,)), (offset, ())) if factor > 0:
            return symbol, SymbolSource(place, factor, offset)
    return None


def _batch_faults(place: Place, sources: Mapping[str, SymbolSource]) -> Iterator[str]:
    """Yield a sentence where two batch dimensions would have to differ: a request has one batch size for all inputs."""
    others = _others(place, sources)
    if others and _are_all_batches(place, others) and others[0].dimension.size != place.dimension.size:
        yield (
            f"{place} is {place.dimension} where {others[0]} is {others[0].dimension}, but with batching Triton makes "
            "both the batch size: set max_batch_size: 0"
        )


def _checks(place: Place, sources: Mapping[str, SymbolSource]) -> Iterator[ShapeCheck]:
    """Yield the checks of one dimension."""
    if place.fixed is None and (place.dimension.lower > 0 or _upper(place) is not None):
        yield ShapeCheck(_bounds_check(place), (place,), is_bound=True)
    others = _others(place, sources)
    if others == [place]:
        yield from _multiples_checks(place)
    elif others and not _are_all_batches(place, others):
        own = {symbol: sources[symbol] for symbol in sorted(place.dimension.size.symbols)}
        yield ShapeCheck(_relation_check(place, own), (place, *others))


def _others(place: Place, sources: Mapping[str, SymbolSource]) -> list[Place]:
    """Return the places that decide the size of this one; none where they do not decide all of it."""
    symbols = sorted(place.dimension.size.symbols)
    return [sources[symbol].place for symbol in symbols] if sources.keys() >= set(symbols) else []


def _are_all_batches(place: Place, others: Sequence[Place]) -> bool:
    return place.is_batch and all(other.is_batch for other in others)


def _upper(place: Place) -> int | None:
    """Return the upper bound; sizes that merging decides have none, since exporters invent such bounds (FACTS.md)."""
    return None if place.is_batch or place.depends_on_merge else place.dimension.upper


def _bounds_check(place: Place) -> Check:
    leaf, number, lower, upper = place.leaf, place.number, place.dimension.lower, _upper(place)
    allowed = bounds_text(replace(place.dimension, upper=upper))

    def check(shapes: Shapes) -> str | None:
        size = shapes[leaf][number]
        if size < lower or (upper is not None and size > upper):
            return f"{place} is {size}, but the model takes {allowed}"
        return None

    return check


def _multiples_checks(place: Place) -> Iterator[ShapeCheck]:
    ((factor, _), *rest) = place.dimension.size.terms
    offset = rest[0][0] if rest else 0
    allowed = f"multiples of {factor}{f' plus {offset}' if offset else ''}"

    def check(shapes: Shapes) -> str | None:
        size = place.size(shapes)
        return f"{place} is {size}, but the model takes {allowed}" if (size - offset) % factor else None

    if factor > 1:
        yield ShapeCheck(check, (place,))


def _relation_check(place: Place, sources: Mapping[str, SymbolSource]) -> Check:
    def check(shapes: Shapes) -> str | None:
        expected = place.dimension.size.value({symbol: source.value(shapes) for symbol, source in sources.items()})
        size = place.size(shapes)
        if size != expected:
            others = " and ".join(
                f"{source.place} is {source.place.size(shapes)} ({source.place.dimension})"
                for source in sources.values()
            )
            return f"{place} is {size}, but the model takes {expected} ({place.dimension}) there, since {others}"
        return None

    return check
