"""Rules for the shapes of a request that only the request can break, compiled at load from what the config leaves open.

A compiled model reads foreign memory where sizes break the relations that it was exported with (FACTS.md), so every
open dimension is held against its bounds, and against the dimensions that share its name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from triton_pytorch.io_naming.declarations import bounds_text, declared_shape, is_scalar
from triton_pytorch.io_naming.leaves import Dimension, Leaf
from triton_pytorch.io_naming.sizes import open_size
from triton_pytorch.model_config.configuration import OPEN, ModelConfig, TensorConfig

Shapes = Sequence[Sequence[int]]  # of the model's input leaves, in their order
Rule = Callable[[Shapes], "str | None"]  # returns a sentence where the shapes break it


@dataclass(frozen=True, slots=True)
class Place:
    """A dimension of a declared input, and the number that the config fixes it at, if it does."""

    tensor: str
    leaf: int
    number: int
    dimension: Dimension
    fixed: int | None
    is_batch: bool

    def __str__(self) -> str:
        return f"dimension {self.number} of input '{self.tensor}'"

    def size(self, shapes: Shapes) -> int:
        """Return the size that this dimension has in a request."""
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
class ShapeRules:
    """What is left to check at a request, and what the config alone already breaks."""

    rules: tuple[Rule, ...]
    faults: tuple[str, ...]


def compile_shape_rules(
    tensors: Sequence[TensorConfig], leaves: Sequence[Leaf], order: Sequence[int], config: ModelConfig
) -> ShapeRules:
    """Compile the rules for declared inputs; tensor i is bound to `leaves[order[i]]`."""
    bound = [(tensor, leaves[index], index) for tensor, index in zip(tensors, order, strict=True)]
    places = [place for tensor, leaf, index in bound for place in _places(tensor, leaf, index, config)]
    sources = _symbol_sources(places)
    rules: list[Rule] = []
    faults: list[str] = []
    for place in places:
        faults += _batch_faults(place, sources)
        for rule, depends_on in _rules(place, sources):
            if all(other.fixed is not None for other in (place, *depends_on)):
                faults += filter(None, [rule(())])  # all numbers stand in the config: no request can change them
            else:
                rules.append(rule)
    return ShapeRules(tuple(rules), tuple(faults))


def _places(tensor: TensorConfig, leaf: Leaf, index: int, config: ModelConfig) -> Iterator[Place]:
    if leaf.shape is None or is_scalar(tensor, leaf, config):
        return
    declared = declared_shape(tensor, config)
    if len(declared) != len(leaf.shape):  # a fault of its own
        return
    for number, (size, dimension) in enumerate(zip(declared, leaf.shape, strict=True)):
        is_batch = number == 0 and config.max_batch_size > 0
        yield Place(tensor.name, index, number, dimension, None if size == OPEN else size, is_batch)


def _symbol_sources(places: Sequence[Place]) -> dict[str, SymbolSource]:
    """Choose for each name the place that decides its number: fixed ones first, then the batch, then plain ones."""

    def rank(candidate: tuple[str, SymbolSource]) -> tuple[bool, bool, bool]:
        symbol, source = candidate
        place = source.place
        return place.fixed is None, not place.is_batch, place.dimension.size != open_size(symbol)

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


def _rules(place: Place, sources: Mapping[str, SymbolSource]) -> Iterator[tuple[Rule, Sequence[Place]]]:
    """Yield the rules of one dimension, each with the other places that it reads."""
    if place.fixed is None and (place.dimension.lower > 0 or _upper(place) is not None):
        yield _bounds_rule(place), ()
    others = _others(place, sources)
    if others == [place]:
        yield from _multiples_rules(place)
    elif others and not _are_all_batches(place, others):
        own = {symbol: sources[symbol] for symbol in sorted(place.dimension.size.symbols)}
        yield _relation_rule(place, own), others


def _others(place: Place, sources: Mapping[str, SymbolSource]) -> list[Place]:
    """Return the places that decide the size of this one; none where they do not decide all of it."""
    symbols = sorted(place.dimension.size.symbols)
    return [sources[symbol].place for symbol in symbols] if sources.keys() >= set(symbols) else []


def _are_all_batches(place: Place, others: Sequence[Place]) -> bool:
    return place.is_batch and all(other.is_batch for other in others)


def _upper(place: Place) -> int | None:
    """Return the upper bound; the batch dimension has none, since exporters invent it (FACTS.md)."""
    return None if place.is_batch else place.dimension.upper


def _bounds_rule(place: Place) -> Rule:
    leaf, number, lower, upper = place.leaf, place.number, place.dimension.lower, _upper(place)
    allowed = bounds_text(replace(place.dimension, upper=upper))

    def rule(shapes: Shapes) -> str | None:
        size = shapes[leaf][number]
        if size < lower or (upper is not None and size > upper):
            return f"{place} is {size}, but the model takes {allowed}"
        return None

    return rule


def _multiples_rules(place: Place) -> Iterator[tuple[Rule, Sequence[Place]]]:
    ((factor, _), *rest) = place.dimension.size.terms
    offset = rest[0][0] if rest else 0
    allowed = f"multiples of {factor}{f' plus {offset}' if offset else ''}"

    def rule(shapes: Shapes) -> str | None:
        size = place.size(shapes)
        return f"{place} is {size}, but the model takes {allowed}" if (size - offset) % factor else None

    if factor > 1:
        yield rule, ()


def _relation_rule(place: Place, sources: Mapping[str, SymbolSource]) -> Rule:
    def rule(shapes: Shapes) -> str | None:
        expected = place.dimension.size.value({symbol: source.value(shapes) for symbol, source in sources.items()})
        size = place.size(shapes)
        if size != expected:
            others = " and ".join(
                f"{source.place} is {source.place.size(shapes)} ({source.place.dimension})"
                for source in sources.values()
            )
            return f"{place} is {size}, but the model takes {expected} ({place.dimension}) there, since {others}"
        return None

    return rule
