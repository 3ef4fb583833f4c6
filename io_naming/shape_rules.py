"""Rules for the shapes of a request that only the request can break, compiled at load from what the config leaves open.

A compiled model reads foreign memory where sizes break the relations that it was exported with (FACTS.md), so every
open dimension is held against its bounds, and against the dimensions that share its name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from triton_pytorch.io_naming.declarations import OPEN, bounds_text, declared_shape, is_scalar
from triton_pytorch.io_naming.leaves import Dimension, Leaf
from triton_pytorch.model_config.configuration import ModelConfig, TensorConfig

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
    candidates = [(symbol, source) for place in places if (found := _linear(place)) for symbol, source in [found]]
    candidates.sort(key=lambda each: (each[1].place.fixed is None, not each[1].place.is_batch, each[1].factor != 1))
    return dict(reversed(candidates))


def _linear(place: Place) -> tuple[str, SymbolSource] | None:
    """Return the name and how to find its number where the size is `factor * name + offset`."""
    match place.dimension.size.terms:
        case ((factor, (symbol,)),) if factor > 0:
            return symbol, SymbolSource(place, factor, 0)
        case ((factor, (symbol,)), (offset, ())) if factor > 0:
            return symbol, SymbolSource(place, factor, offset)
    return None


def _rules(place: Place, sources: Mapping[str, SymbolSource]) -> Iterator[tuple[Rule, Sequence[Place]]]:
    """Yield the rules of one dimension, each with the other places that it reads."""
    if place.fixed is None and (place.dimension.lower > 0 or _upper(place) is not None):
        yield _bounds_rule(place), ()
    own = {symbol: sources[symbol] for symbol in place.dimension.size.symbols if symbol in sources}
    depends_on = [source.place for source in own.values()]
    if depends_on == [place]:
        if own.popitem()[1].factor > 1:
            yield _multiples_rule(place), ()
    elif len(own) == len(place.dimension.size.symbols) > 0 and not _is_one_batch(place, depends_on):
        yield _relation_rule(place, own), depends_on


def _upper(place: Place) -> int | None:
    """Return the upper bound; the batch dimension has none, since exporters invent it (FACTS.md)."""
    return None if place.is_batch else place.dimension.upper


def _is_one_batch(place: Place, others: Sequence[Place]) -> bool:
    """Return whether the sizes are one batch size, of which Triton's core has only one in a request."""
    return place.is_batch and all(other.is_batch and other.dimension.size == place.dimension.size for other in others)


def _bounds_rule(place: Place) -> Rule:
    leaf, number, lower, upper = place.leaf, place.number, place.dimension.lower, _upper(place)
    allowed = bounds_text(replace(place.dimension, upper=upper))

    def rule(shapes: Shapes) -> str | None:
        size = shapes[leaf][number]
        if size < lower or (upper is not None and size > upper):
            return f"{place} is {size}, but the model takes {allowed}"
        return None

    return rule


def _multiples_rule(place: Place) -> Rule:
    ((factor, _), *rest) = place.dimension.size.terms
    offset = rest[0][0] if rest else 0

    def rule(shapes: Shapes) -> str | None:
        size = place.size(shapes)
        if (size - offset) % factor:
            plus = f" plus {offset}" if offset else ""
            return f"{place} is {size}, but the model takes multiples of {factor}{plus}"
        return None

    return rule


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
