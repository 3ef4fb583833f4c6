"""The binding of the tensors that config.pbtxt declares to the leaves of the model, whatever their order."""

from collections.abc import Collection, Mapping, Sequence

from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.io_naming.names import Direction, LeafPath, OrdinalName, parse_name
from triton_pytorch.model_config.errors import NamingError
from triton_pytorch.model_config.suggestions import did_you_mean, joined, listed

_UNKNOWN_NAMES_EXPLAINED = 8


def bind(declared: Sequence[str], leaves: Sequence[Leaf], direction: Direction) -> tuple[int, ...]:
    """Return the leaf index of each declared tensor, in the order of the config; both kinds of names may be mixed.

    Every input leaf without a default must be named once; output leaves may stay unnamed. Raises one NamingError with
    a sentence for each fault of the config: an unknown name, two names for one leaf, an input leaf without a name.
    """
    spellings = [_spellings(leaf, direction, index) for index, leaf in enumerate(leaves)]
    # Names are compared as text, since printing a name undoes parsing it.
    index_of = {name: index for index, names in enumerate(spellings) for name in names}
    labels = [_label(names) for names in spellings]
    names_of: dict[str, list[str]] = {label: [] for label in labels}
    for name in declared:
        if name in index_of:
            names_of[labels[index_of[name]]].append(name)
    faults = explained([_unknown(name, leaves, direction, index_of) for name in declared if name not in index_of])
    faults += named_twice(names_of, direction)
    if direction is Direction.INPUT:
        faults += unnamed([label for label, leaf in zip(labels, leaves, strict=True) if not leaf.has_default], names_of)
    if faults:
        raise NamingError(joined([*faults, inventory(labels, direction)]))
    return tuple(index_of[name] for name in declared)


def _spellings(leaf: Leaf, direction: Direction, index: int) -> tuple[str, ...]:
    return leaf.names or (str(leaf.path), str(OrdinalName(direction, index)))


def _label(names: Sequence[str]) -> str:
    return f"{names[0]} ({', '.join(names[1:])})" if len(names) > 1 else names[0]


def _unknown(text: str, leaves: Sequence[Leaf], direction: Direction, known: Collection[str]) -> str:
    if any(leaf.names for leaf in leaves):
        return f"{text!r} is no {direction.noun} of the model{did_you_mean(text, known)}"
    try:
        name = parse_name(text, direction, known)
    except NamingError as error:
        return str(error)
    if isinstance(name, OrdinalName):
        return out_of_range(text, len(leaves), direction)
    below = [str(leaf.path) for leaf in leaves if _is_below(leaf.path, name)]
    if below:
        return f"{text!r} is a container and no tensor: expected one of its leaves, {listed(below)}"
    return f"{text!r} is no {direction.noun} of the model{did_you_mean(text, known)}"


def _is_below(leaf: LeafPath, container: LeafPath) -> bool:
    return leaf.root == container.root and leaf.segments[: len(container.segments)] == container.segments


def explained(unknown: Sequence[str]) -> list[str]:
    """Return the sentences on unknown names; of many only the first, and how many more there are."""
    more = len(unknown) - _UNKNOWN_NAMES_EXPLAINED
    return [*unknown[:_UNKNOWN_NAMES_EXPLAINED], *([f"{more} more names are unknown"] if more > 0 else [])]


def out_of_range(name: str, count: int, direction: Direction) -> str:
    """Say that an ordinal name is too high."""
    return f"{name!r} is out of range: the number of {direction.noun}s is {count}, counted from 0"


def named_twice(names_of: Mapping[str, Sequence[str]], direction: Direction) -> list[str]:
    """Return a sentence for each leaf that several declared tensors name; the leaves as messages print them."""
    return [
        f"{' and '.join(map(repr, names))} name one and the same {direction.noun} {leaf}: expected one tensor for it"
        for leaf, names in names_of.items()
        if len(names) > 1
    ]


def unnamed(required: Sequence[str], names_of: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a sentence on the required inputs that no declared tensor names, if there are any."""
    leaves = [leaf for leaf in required if not names_of[leaf]]
    return [f"the config declares no tensor for {listed(leaves)}: every input needs one"] if leaves else []


def inventory(leaves: Sequence[str], direction: Direction) -> str:
    """Say which leaves the model has."""
    return (
        f"the {direction.noun}s of the model are {listed(leaves)}" if leaves else f"the model has no {direction.noun}s"
    )
