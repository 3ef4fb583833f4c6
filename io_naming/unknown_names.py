"""What to say of a declared name that no leaf has: where it goes wrong, and which name was probably meant."""

from collections.abc import Callable, Sequence

from triton_pytorch.io_naming.leaf_names import ANY_INDEX, ANY_KEY, LeafNames
from triton_pytorch.io_naming.names import Direction, misspelling, parse_indexed, respelled
from triton_pytorch.model_config.suggestions import listed, nearest


def inventory(direction: Direction, leaves: Sequence[LeafNames]) -> str:
    """Say which leaves the model has."""
    if not leaves:
        return f"the model has no {direction.noun}s"
    return f"the {direction.noun}s of the model are {listed([leaf.label for leaf in leaves])}"


class UnknownNames:
    """Writes the errors on names for the leaves of one direction; `is_known` tells which names have a leaf."""

    def __init__(self, direction: Direction, leaves: Sequence[LeafNames], is_known: Callable[[str], bool]) -> None:
        self._direction = direction
        self._leaves = leaves
        self._is_known = is_known

    def container(self, name: str) -> str | None:
        """Return the error on the name of what holds leaves: an argument that is a dictionary, a part of the result."""
        indexed = parse_indexed(name)
        below = [
            leaf.label
            for leaf in self._leaves
            if any(known.startswith(f"{name}[") for known in leaf.names)
            or (indexed is not None and self._means_dictionary(*indexed, leaf))
        ]
        if not below:
            return None
        return f"{name!r} is a container and not a tensor: expected one of its leaves, {listed(below)}"

    def wrong_form(self, name: str) -> str | None:
        """Return the error on what looks like an index or a path; None for a plain name."""
        if parse_indexed(name) is not None:
            return self._out_of_range(name)
        error = misspelling(name, self._direction)
        if error is not None:
            return f"{error}{self._suggestion(name)}"
        if not any(mark in name for mark in "[]") and name != "RESULT":
            return None
        return f"unknown {self._direction.noun} {name!r}{self._what_is_there(name)}{self._suggestion(name)}"

    def plain(self, name: str) -> str:
        """Return the error on a plain name."""
        return f"unknown {self._direction.noun} {name!r}{self._suggestion(name)}"

    def _means_dictionary(self, text: str, index: int, entry: LeafNames) -> bool:
        """Return whether `<text>__<index>` means the argument of an entry, and not any key of it."""
        is_key = entry.bare_key is not None and any(leaf.bare_key == ANY_KEY for leaf in self._leaves)
        return entry.owner_index == index and (not is_key or text in (self._direction.value, entry.owner))

    def _out_of_range(self, name: str) -> str:
        count, noun = len(self._leaves), self._direction.noun
        if self._direction is Direction.INPUT:  # the entries of a dictionary have no indices of their own
            indices = [index for leaf in self._leaves for index in (leaf.index, leaf.owner_index) if index is not None]
            count = max(indices, default=-1) + 1
        return f"{name!r} is out of range: the number of {noun}s is {count}, counted from 0{self._suggestion(name)}"

    def _what_is_there(self, name: str) -> str:
        """Say where a path leaves the tree: at which leaf, or among which parts."""
        prefix = name
        while "[" in prefix:
            prefix = prefix[: prefix.rindex("[")]
            if any(prefix in leaf.names for leaf in self._leaves):
                return f": {prefix} is a leaf"
            parts = [
                known[len(prefix) + 1 :].partition("]")[0]
                for leaf in self._leaves
                for known in leaf.names
                if known.startswith(f"{prefix}[")
            ]
            if parts:
                return f": {prefix} has {listed([f'[{part}]' for part in dict.fromkeys(parts)])}"
        return ""

    def _suggestion(self, name: str) -> str:
        """Suggest by meaning before spelling: a slip put right, a leaf whose own word this is, the nearest name."""
        bare = respelled(name, self._direction)
        if bare != name and self._is_known(bare):
            return f"; did you mean '{bare}'?"
        indexed = parse_indexed(bare)
        word = (indexed[0] if indexed else bare).casefold()
        meant = [leaf.names[0] for leaf in self._leaves if word in map(str.casefold, leaf.words)]
        known = [text for leaf in self._leaves for text in leaf.names if ANY_KEY not in text and ANY_INDEX not in text]
        likely = meant[0] if len(meant) == 1 else nearest(bare, known)
        return f"; did you mean '{likely}'?" if likely is not None else ""
