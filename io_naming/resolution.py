"""The names that config.pbtxt declares, resolved to the leaves of a model: one set of rules for every format.

A declared name is, in this order,

1. one of a leaf's own names (leaf_names.py): its path, and for callables its argument, key or NamedTuple field;
2. `<text>__<index>`: the leaf of that index, whatever the text is, unless it is the name of another argument, of
   another top-level entry of the result, or the key of another leaf; after the key of the only dictionary argument the
   index says nothing;
3. a name of an open leaf, with a key or index in place of its `<key>` or `<index>`;
4. where the format follows the order of the config: the leaf at its place in that order, if no name means anything, or
   if there are as many tensors as leaves and each name that means something stands at its own place. Entries of a
   dictionary have no such order.

Names of all kinds may be mixed. All errors are reported together.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from triton_pytorch.io_naming.leaf_names import ANY_INDEX, ANY_KEY, LeafNames, match
from triton_pytorch.io_naming.names import Direction, LeafPath, parse_indexed
from triton_pytorch.io_naming.unknown_names import UnknownNames
from triton_pytorch.model_config.suggestions import listed

_UNKNOWN_NAMES_EXPLAINED = 8


@dataclass(frozen=True, slots=True)
class Target:
    """What a declared name stands for: the position of a leaf, and its path, which the name may complete.

    `position` is None where only the answer can tell which leaf has the `index`.
    """

    position: int | None
    path: LeafPath
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    """The target of each declared name, None where one of the `errors`, all sentences, says why there is none."""

    targets: tuple[Target | None, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...] = ()


class NameTable:
    """The names of all leaves of one direction.

    Args:
        direction: input or output.
        leaves: all leaves, in flat order.
        opaque: positions of leaves that may turn out to hold others, since their type is not known.
        has_more: an answer may have more leaves than these.
        in_order: positions of the leaves that rule 4 counts; None where the format does not follow the config's order.
    """

    def __init__(
        self,
        direction: Direction,
        leaves: Sequence[LeafNames],
        *,
        opaque: Collection[int] = (),
        has_more: bool = False,
        in_order: Sequence[int] | None = None,
    ) -> None:
        self._direction = direction
        self._leaves = leaves
        self._opaque = opaque
        self._has_more = has_more
        self._in_order = None if any(leaf.is_entry for leaf in leaves) else in_order
        self._owners = {leaf.owner for leaf in leaves if leaf.owner is not None}
        self._at_index = {leaf.index: position for position, leaf in enumerate(leaves) if leaf.index is not None}
        self._by_word: dict[str, list[int]] = {}
        for position, leaf in enumerate(leaves):
            for word in leaf.words:
                self._by_word.setdefault(word, []).append(position)
        self._by_name: dict[str, list[int]] = {}
        for position, leaf in enumerate(leaves):
            for name in () if leaf.is_open else dict.fromkeys(leaf.names):
                self._by_name.setdefault(name, []).append(position)
        self._unknown = UnknownNames(direction, leaves, lambda name: isinstance(self._resolve_one(name), Target))

    def resolve(self, declared: Sequence[str]) -> Resolution:
        """Resolve the names of a config, given in its order."""
        found = [self._resolve_one(name) for name in declared]
        if self._follow_order(found):
            targets: list[Target | None] = [self._at_place(place) for place in range(len(declared))]
            errors, warnings = self._too_many(declared), [self._taken_in_order(declared, targets)]
        else:
            targets = [it if isinstance(it, Target) else None for it in found]
            wrong = [(name, it) for name, it in zip(declared, found, strict=True) if not isinstance(it, Target)]
            errors = [it or self._unknown.plain(name) for name, it in wrong[:_UNKNOWN_NAMES_EXPLAINED]]
            errors += _left_out(len(wrong) - len(errors))
            warnings = []
        errors += _repeated(declared)
        errors += self._named_twice(declared, targets)
        return Resolution(tuple(targets), tuple(errors), tuple(warnings))

    def _resolve_one(self, name: str) -> Target | str | None:
        """Return the target of a name, or what is wrong with it, or None for one that means nothing."""
        exact = [self._target(position) for position in self._by_name.get(name, ())]
        indexed = parse_indexed(name)
        if not exact and indexed and (keyed := self._with_bare_key(*indexed)) is not None:
            return keyed
        by_index = self._resolve_indexed(name, *indexed) if indexed else None
        targets = list(dict.fromkeys([*exact, *([by_index] if isinstance(by_index, Target) else [])]))
        if len(targets) > 1:
            return (
                f"{name!r} can mean {' or '.join(map(self._label, targets))}: expected a name that only one of them has"
            )
        if targets:
            return targets[0]
        if by_index is not None:
            return by_index
        return self._unknown.container(name) or self._resolve_open(name) or self._unknown.wrong_form(name)

    def _resolve_indexed(self, name: str, text: str, index: int) -> Target | str | None:
        """Resolve `<text>__<index>`; None where there is no leaf of that index."""
        position = self._at_index.get(index)
        # An ordinal name is always one: nothing but its index counts, whatever arguments and keys are called.
        if text in self._by_word and text != self._direction.value:
            return self._resolve_called(name, text, index, position)
        if text == self._direction.opposite.value:
            return f"{name!r} names an {self._direction.opposite.noun}, but is declared as an {self._direction.noun}"
        return self._target(position) if position is not None else self._beyond(index)

    def _with_bare_key(self, key: str, index: int) -> Target | None:
        """Return the entry of the only dictionary argument that has this key.

        The index counts where an argument has that name too, and the key of an ordinal name is none.
        """
        if key == self._direction.value:
            return None
        positions = (
            position
            for position, leaf in enumerate(self._leaves)
            if leaf.bare_key == key and not leaf.is_open and (leaf.owner_index == index or key not in self._owners)
        )
        return next(map(self._target, positions), None)

    def _resolve_called(self, name: str, word: str, index: int, position: int | None) -> Target | str | None:
        """Resolve `<word>__<index>`, where some leaves are called by the word: the index must mean one of them."""
        called = self._by_word[word]
        if position is not None and position in called:
            return self._target(position)
        if position is None and any(self._leaves[other].index is None for other in called):
            return self._beyond(index)
        containers = [leaf.owner for leaf in self._leaves if leaf.owner_index == index]
        what = self._leaves[position].label if position is not None else next(iter(containers), "out of range")
        return (
            f"{name!r} contradicts itself: '{word}' is {listed([self._leaves[other].label for other in called])}, and "
            f"index {index} is {what}; write the one that is meant"
        )

    def _beyond(self, index: int) -> Target | None:
        """Return what an index means that is not known to be that of a leaf: of a result, one may have it."""
        is_possible = self._direction is Direction.OUTPUT and index not in self._at_index
        is_possible = is_possible and (self._has_more or index < len(self._leaves))
        return Target(None, LeafPath("RESULT"), index) if is_possible else None

    def _target(self, position: int) -> Target:
        return Target(position, self._leaves[position].path)

    def _label(self, target: Target) -> str:
        return f"index {target.index}" if target.position is None else self._leaves[target.position].label

    def _resolve_open(self, name: str) -> Target | None:
        """Resolve a name that completes the path of an open leaf, or goes on below an opaque one."""
        indexed = parse_indexed(name)
        if indexed is not None and indexed[0] == self._direction.value:
            return None  # an index that is too high, and not a key
        for position, leaf in enumerate(self._leaves):
            for known in leaf.names:
                if leaf.is_open and (segments := match(known, name)) is not None:
                    return Target(position, _completed(leaf.path, segments))
                if position in self._opaque and (below := _segments_below(known, name)):
                    return Target(position, LeafPath(leaf.path.root, (*leaf.path.segments, *below)))
        return None

    def _follow_order(self, found: Sequence[Target | str | None]) -> bool:
        """Return whether rule 4 holds."""
        if self._in_order is None or not found or any(isinstance(it, str) for it in found) or all(found):
            return False
        if not any(found):
            return True
        is_complete = len(found) == len(self._in_order) and not self._has_more
        return is_complete and all(it in (None, self._at_place(place)) for place, it in enumerate(found))

    def _at_place(self, place: int) -> Target | None:
        order = self._in_order or ()
        if place < len(order) and self._leaves[order[place]].index is not None:
            return self._target(order[place])
        return self._beyond(place)

    def _too_many(self, declared: Sequence[str]) -> list[str]:
        if self._at_place(len(declared) - 1) is not None:
            return []
        noun, count = self._direction.noun, len(self._in_order or ())
        verb = "takes" if self._direction is Direction.INPUT else "returns"
        return [f"the number of declared {noun}s is {len(declared)}, but the model {verb} {count}"]

    def _taken_in_order(self, declared: Sequence[str], targets: Sequence[Target | None]) -> str:
        unknown = listed([repr(name) for name in declared if self._resolve_one(name) is None])
        pairs = [f"'{name}' is {self._label(target)}" for name, target in zip(declared, targets, strict=True) if target]
        noun = self._direction.noun
        return f"the model has no {noun} named {unknown}: the order of the config decides, so {listed(pairs)}"

    def _named_twice(self, declared: Sequence[str], targets: Iterable[Target | None]) -> Iterator[str]:
        names_of: dict[Target, list[str]] = {}
        for name, target in dict(zip(declared, targets, strict=True)).items():
            if target is not None:
                names_of.setdefault(target, []).append(name)
        for target, names in names_of.items():
            if len(names) > 1:
                yield (
                    f"{' and '.join(map(repr, names))} name one and the same {self._direction.noun} "
                    f"{self._label(target)}: expected one tensor for it"
                )


def _completed(path: LeafPath, segments: Sequence[str]) -> LeafPath:
    """Put keys and indices in the place of `<key>` and `<index>`."""
    given = iter(segments)
    return LeafPath(path.root, tuple(next(given) if it in (ANY_KEY, ANY_INDEX) else it for it in path.segments))


def _segments_below(container: str, name: str) -> list[str]:
    """Return the segments by which a name goes on after that of a container; none where it does not."""
    if not name.startswith(f"{container}[") or not re.fullmatch(r"(\[[^\[\]]*\])+", name[len(container) :]):
        return []
    return re.findall(r"\[([^\[\]]*)\]", name[len(container) :])


def _left_out(count: int) -> list[str]:
    """Say how many unknown names the errors do not explain."""
    return [f"{count} more names are unknown"] if count > 0 else []


def _repeated(declared: Sequence[str]) -> list[str]:
    return [
        f"{name!r} is declared {count} times: expected one tensor of that name"
        for name, count in Counter(declared).items()
        if count > 1
    ]
