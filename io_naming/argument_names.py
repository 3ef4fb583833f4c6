"""Names of inputs that are arguments of a method: by index, by name, or as keys of a dictionary.

A declared name is

1. `<name>__<index>`: the argument at that place, counted from 0 without `self`, whatever stands before the index,
2. the name of an argument,
3. an entry of an argument that is a dictionary: `argument[key]`, and where there is only one such argument also
   `key`, and `key__<index>` if the method's own code reads that key.

Names of all these forms may be mixed. Where no name has any of them, the order of the config decides.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from triton_pytorch.io_naming.binding import explained, inventory, named_twice, out_of_range, unnamed
from triton_pytorch.io_naming.names import Direction, OrdinalName
from triton_pytorch.model_config.errors import NamingError
from triton_pytorch.model_config.suggestions import did_you_mean, joined, listed

# 18 digits are more than any method has arguments, and Python refuses to convert very long numbers.
INDEXED = re.compile(r"([^\[\]]*)__([0-9]{1,18})")
_ENTRY = re.compile(r"([^\[\]]+)\[([^\[\]]*)\]")
_SENDABLE = "Tensor, Optional[Tensor], List[str] or Dict[str, Tensor]"
_ANY_KEY = "<key>"


class ArgumentKind(Enum):
    """What an argument takes."""

    TENSOR = auto()
    STRINGS = auto()
    TENSORS_BY_KEY = auto()
    OTHER = auto()  # what no request can send


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that a method's code reads from a dictionary; it can do without the optional ones.

    `are_all` says that the code reads no others.
    """

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    are_all: bool = False

    @property
    def known(self) -> tuple[str, ...]:
        """All keys of which it is known that they are read."""
        return self.required + self.optional


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a method, other than `self`; `type` is its type in words, `keys` are those of a dictionary."""

    name: str
    kind: ArgumentKind
    has_default: bool = False
    type: str = "Tensor"
    keys: Keys = Keys()


@dataclass(frozen=True, slots=True)
class InputPlace:
    """Where an input goes: the index of an argument, and the key in it where that is a dictionary."""

    argument: int
    key: str | None = None


@dataclass(frozen=True, slots=True)
class PlacedInputs:
    """The place of each declared input, in the order of the config, and what somebody should know of that."""

    places: tuple[InputPlace, ...]
    warnings: tuple[str, ...] = ()


def place_inputs(declared: Sequence[str], arguments: Sequence[Argument]) -> PlacedInputs:
    """Return the places of declared inputs.

    Raises one NamingError with a sentence for each fault: a name that is none, two names for one place, an argument
    or a key that needs a name and has none, an argument that needs a value and that no request can send.
    """
    return _Names(arguments).place_all(declared)


def input_labels(arguments: Sequence[Argument]) -> list[str]:
    """Return what a config can declare, as messages print it: `x (INPUT__0)`, `options[a]`, `options[<key>]`."""
    return _Names(arguments).labels


def can_be_left_out(place: InputPlace, arguments: Sequence[Argument]) -> bool:
    """Return whether the method can do without an input."""
    argument = arguments[place.argument]
    return argument.has_default if place.key is None else place.key not in argument.keys.required


class _Names:
    """The names that the arguments of one method go by."""

    def __init__(self, arguments: Sequence[Argument]) -> None:
        self._arguments = arguments
        self._index_of = {argument.name: index for index, argument in enumerate(arguments)}
        self._leaves = self._indices(ArgumentKind.TENSOR, ArgumentKind.STRINGS)
        self._dictionaries = self._indices(ArgumentKind.TENSORS_BY_KEY)
        # Keys say whose they are, unless only one dictionary can be meant.
        self._only_dictionary = self._dictionaries[0] if len(self._dictionaries) == 1 else None

    def _indices(self, *kinds: ArgumentKind) -> list[int]:
        return [index for index, argument in enumerate(self._arguments) if argument.kind in kinds]

    @property
    def _takes_any_key(self) -> bool:
        """Whether there is only one dictionary, and its keys may be others than those that are known to be read."""
        return self._only_dictionary is not None and not self._arguments[self._only_dictionary].keys.are_all

    @property
    def labels(self) -> list[str]:
        """All that can be declared, as messages print it."""
        return [self._label(place) for place in self._places()]

    def place_all(self, declared: Sequence[str]) -> PlacedInputs:
        """Return the places of declared inputs; raises as `place_inputs` does."""
        readings = [self._read(name) for name in declared]
        # The keys of dictionaries have no order that a config could follow.
        if declared and not any(readings) and not self._dictionaries:
            return self._place_in_order(declared)
        faults = [
            reading or f"{name!r} is no input of the model{did_you_mean(name, self._known)}"
            for name, reading in zip(declared, readings, strict=True)
            if not isinstance(reading, InputPlace)
        ]
        named = [(name, it) for name, it in zip(declared, readings, strict=True) if isinstance(it, InputPlace)]
        return self._checked(named, explained(faults))

    def _place_in_order(self, declared: Sequence[str]) -> PlacedInputs:
        faults = repeated(declared)
        if len(declared) > len(self._leaves):
            faults.append(f"the number of declared inputs is {len(declared)}, but the model takes {len(self._leaves)}")
        named = [(name, InputPlace(index)) for name, index in zip(declared, self._leaves, strict=False)]
        pairs = [f"'{name}' is {self._label(place)}" for name, place in named]
        warning = f"no input is named like an argument of the model, or <name>__<index>: {in_order(pairs)}"
        return self._checked(named, faults, warning)

    def _checked(self, named: Sequence[tuple[str, InputPlace]], faults: list[str], *warnings: str) -> PlacedInputs:
        required = self._required([place for _, place in named])
        names_of: dict[str, list[str]] = {self._label(place): [] for place in required}
        for name, place in named:
            names_of.setdefault(self._label(place), []).append(name)
        faults += named_twice(names_of, Direction.INPUT)
        faults += unnamed([self._label(place) for place in required], names_of)
        faults += [
            f"argument '{argument.name}' is of type {argument.type} and has no default, but requests can send only "
            f"{_SENDABLE}: give it a default, or serve a module around this one"
            for argument in self._arguments
            if argument.kind is ArgumentKind.OTHER and not argument.has_default
        ]
        if faults:
            raise NamingError(joined([*faults, inventory(self.labels, Direction.INPUT)]))
        return PlacedInputs(tuple(place for _, place in named), warnings)

    def _places(self) -> Iterator[InputPlace]:
        """Yield all places that can be declared; `<key>` where any key can."""
        for index, argument in enumerate(self._arguments):
            if argument.kind is ArgumentKind.TENSORS_BY_KEY:
                yield from (InputPlace(index, key) for key in argument.keys.known)
                if not argument.keys.are_all:
                    yield InputPlace(index, _ANY_KEY)
            elif argument.kind is not ArgumentKind.OTHER:
                yield InputPlace(index)

    def _required(self, declared: Sequence[InputPlace]) -> list[InputPlace]:
        """Return the places that the config must declare, given those that it does."""
        used = {place.argument for place in declared}
        required = []
        for place in self._places():
            argument = self._arguments[place.argument]
            # Of a dictionary without known keys it takes one, whichever that is.
            is_any_key = place.key == _ANY_KEY and place.argument not in used and not argument.keys.required
            is_needed = is_any_key or not can_be_left_out(place, self._arguments)
            if is_needed and (place.argument in used or not argument.has_default):
                required.append(place)
        return required

    def _label(self, place: InputPlace) -> str:
        name = self._arguments[place.argument].name
        return (
            f"{name} ({OrdinalName(Direction.INPUT, place.argument)})" if place.key is None else f"{name}[{place.key}]"
        )

    @property
    def _known(self) -> list[str]:
        """The names to suggest."""
        places = [place for place in self._places() if place.key not in (None, _ANY_KEY)]
        keys = [place.key for place in places if place.key and self._only_dictionary is not None]
        return [*(self._arguments[index].name for index in self._leaves), *keys, *map(self._label, places)]

    def _read(self, name: str) -> InputPlace | str | None:
        """Return the place that a name stands for, or what is wrong with it, or None where it has none of the forms."""
        places = list(dict.fromkeys(self._readings(name)))
        if len(places) > 1:
            return self._ambiguous(name, places)
        if places:
            return self._sendable(name, places[0])
        return self._read_otherwise(name)

    def _readings(self, name: str) -> Iterator[InputPlace]:
        """Yield the places that a name can stand for; where there are several, nobody can know which is meant."""
        indexed = INDEXED.fullmatch(name)
        base, index = (indexed[1], int(indexed[2])) if indexed else (None, len(self._arguments))
        is_in_range = index < len(self._arguments) and index not in self._dictionaries
        if is_in_range:
            yield InputPlace(index)
        if name in self._index_of and self._index_of[name] not in self._dictionaries:
            yield InputPlace(self._index_of[name])
        if self._only_dictionary is not None:
            known = self._arguments[self._only_dictionary].keys.known
            if name in known:
                yield InputPlace(self._only_dictionary, name)
            elif base in known and not (is_in_range and self._arguments[index].name == base):
                yield InputPlace(self._only_dictionary, base)

    def _read_otherwise(self, name: str) -> InputPlace | str | None:
        """Read a name that is neither an argument nor a key that the method is known to read."""
        if "[" in name or "]" in name:
            return self._read_entry(name)
        indexed = INDEXED.fullmatch(name)
        if self._only_dictionary is not None and self._takes_any_key and name not in self._index_of:
            return InputPlace(self._only_dictionary, name)
        for dictionary in (self._index_of.get(name), int(indexed[2]) if indexed else None):
            if dictionary in self._dictionaries:
                return self._is_dictionary(name, dictionary)
        if self._only_dictionary is not None:
            return self._entry(name, self._only_dictionary, name)
        return out_of_range(name, len(self._arguments), Direction.INPUT) if indexed else None

    def _read_entry(self, name: str) -> InputPlace | str | None:
        entry = _ENTRY.fullmatch(name)
        dictionary = self._index_of.get(entry[1]) if entry else None
        if entry is None or dictionary not in self._dictionaries:
            return f"{name!r} is no input of the model{did_you_mean(name, self._known)}"
        return self._entry(name, dictionary, entry[2])

    def _entry(self, name: str, dictionary: int, key: str) -> InputPlace | str:
        argument = self._arguments[dictionary]
        if key in argument.keys.known or not argument.keys.are_all:
            return InputPlace(dictionary, key)
        return (
            f"{name!r} is no input of the model: its code reads {listed(argument.keys.known) or 'nothing'} from "
            f"argument '{argument.name}'{did_you_mean(key, argument.keys.known)}"
        )

    def _is_dictionary(self, name: str, dictionary: int) -> str:
        entries = [self._label(place) for place in self._places() if place.argument == dictionary]
        return f"{name!r} is a dictionary and no tensor: expected one of its entries, {listed(entries)}"

    def _sendable(self, name: str, place: InputPlace) -> InputPlace | str:
        argument = self._arguments[place.argument]
        if argument.kind is not ArgumentKind.OTHER:
            return place
        remedy = ": remove it from the config, and its default applies" if argument.has_default else ""
        return f"{name!r} is argument '{argument.name}' of type {argument.type}, which no request can send{remedy}"

    def _ambiguous(self, name: str, places: Sequence[InputPlace]) -> str:
        meanings = " or ".join(self._label(place) for place in places)
        return f"{name!r} can mean {meanings}: expected a name that only one of them has"


def repeated(declared: Sequence[str]) -> list[str]:
    """Return a sentence for each name that is declared more than once."""
    return [
        f"{name!r} is declared {count} times: expected one tensor of that name"
        for name, count in Counter(declared).items()
        if count > 1
    ]


def in_order(pairs: Sequence[str]) -> str:
    """Say that the order of the config decides, and what each tensor is because of that."""
    return f"the order of the config decides, so {listed(pairs)}"
