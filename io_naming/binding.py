"""The binding of the tensors that config.pbtxt declares to the leaves of the model, whatever their order."""

from collections.abc import Collection, Sequence

from triton_pytorch.io_naming.names import Direction, LeafPath, OrdinalName, parse_name
from triton_pytorch.model_config.errors import NamingError
from triton_pytorch.model_config.suggestions import did_you_mean, joined, listed

_UNKNOWN_NAMES_EXPLAINED = 8


def bind(
    declared: Sequence[str], leaves: Sequence[LeafPath], direction: Direction, defaulted: Collection[LeafPath] = ()
) -> tuple[int, ...]:
    """Return the leaf index of each declared tensor, in the order of the config; both kinds of names may be mixed.

    Every input leaf must be named once, but those that are `defaulted`; output leaves may stay unnamed. Raises one
    NamingError with a sentence for each fault of the config: an unknown name, two names for one leaf, an input leaf
    without a name.
    """
    spellings = [(str(path), str(OrdinalName(direction, index))) for index, path in enumerate(leaves)]
    # Names are compared as text, since printing a name undoes parsing it.
    index_of = {name: index for index, names in enumerate(spellings) for name in names}
    names_of: dict[str, list[str]] = {f"{path} ({ordinal})": [] for path, ordinal in spellings}
    for name in declared:
        if name in index_of:
            names_of["{} ({})".format(*spellings[index_of[name]])].append(name)
    unknown = [name for name in declared if name not in index_of]
    faults = [_unknown(name, leaves, direction, index_of) for name in unknown[:_UNKNOWN_NAMES_EXPLAINED]]
    if len(unknown) > _UNKNOWN_NAMES_EXPLAINED:
        faults.append(f"{len(unknown) - _UNKNOWN_NAMES_EXPLAINED} more names are unknown")
    faults += _named_twice(names_of, direction)
    if direction is Direction.INPUT:
        faults += _unnamed(
            [leaf for leaf, path in zip(names_of, leaves, strict=True) if path not in defaulted], names_of
        )
    if faults:
        raise NamingError(joined([*faults, _inventory(list(names_of), direction)]))
    return tuple(index_of[name] for name in declared)


def _unknown(text: str, leaves: Sequence[LeafPath], direction: Direction, known: Collection[str]) -> str:
    try:
        name = parse_name(text, direction, known)
    except NamingError as error:
        return str(error)
    if isinstance(name, OrdinalName):
        return f"{text!r} is out of range: the number of {direction.noun}s is {len(leaves)}, counted from 0"
    below = [str(leaf) for leaf in leaves if _is_below(leaf, name)]
    if below:
        return f"{text!r} is a container and no tensor: expected one of its leaves, {listed(below)}"
    return f"{text!r} is no {direction.noun} of the model{did_you_mean(text, known)}"


def _is_below(leaf: LeafPath, container: LeafPath) -> bool:
    return leaf.root == container.root and leaf.segments[: len(container.segments)] == container.segments


def _named_twice(names_of: dict[str, list[str]], direction: Direction) -> list[str]:
    return [
        f"{' and '.join(map(repr, names))} name one and the same {direction.noun} {leaf}: expected one tensor for it"
        for leaf, names in names_of.items()
        if len(names) > 1
    ]


def _unnamed(required: Sequence[str], names_of: dict[str, list[str]]) -> list[str]:
    leaves = [leaf for leaf in required if not names_of[leaf]]
    return [f"the config declares no tensor for {listed(leaves)}: every input needs one"] if leaves else []


def _inventory(leaves: Sequence[str], direction: Direction) -> str:
    return (
        f"the {direction.noun}s of the model are {listed(leaves)}" if leaves else f"the model has no {direction.noun}s"
    )
