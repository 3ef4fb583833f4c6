"""The arguments of a callable as input leaves, each with all names that a config can use for it.

Tensors, numbers and lists of strings are one leaf each: `x` is also `ARGS[0]` and `KWARGS[x]`. The entries of a
dictionary argument are leaves: `options[a]`, and `a` alone where no other argument is a dictionary. Keys that the code
of the callable spells out are known; unless they are all, an open leaf `options[<key>]` stands for any others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from triton_pytorch.contract.leaves import Leaf, ValueKind
from triton_pytorch.io_naming.leaf_names import ANY_KEY, LeafNames
from triton_pytorch.io_naming.names import LeafPath


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that the code of a callable reads from a dictionary; it runs without the optional ones.

    `are_all`: the code reads no others.
    """

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    are_all: bool = False


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a callable, other than `self`.

    `kind` is what it takes: OTHER where no request can send it. `type` is its type in words, `dtype` is torch's name of
    the type of a number, `keys` are those of a dictionary of tensors (None: it is not one).
    """

    name: str
    kind: ValueKind = ValueKind.TENSOR
    has_default: bool = False
    type: str = "Tensor"
    keys: Keys | None = None
    dtype: str | None = None


def argument_leaves(arguments: Sequence[Argument]) -> tuple[Leaf, ...]:
    """Return the input leaves of a callable, in the order of its arguments."""
    has_one_dictionary = sum(argument.keys is not None for argument in arguments) == 1
    leaves: list[Leaf] = []
    for index, argument in enumerate(arguments):
        if argument.keys is not None:
            leaves += _entry_leaves(index, argument, argument.keys, is_only_dictionary=has_one_dictionary)
        else:
            leaves.append(_whole_leaf(index, argument))
    return tuple(leaves)


def _whole_leaf(index: int, argument: Argument) -> Leaf:
    path = LeafPath("KWARGS", (argument.name,))
    names = (argument.name, f"ARGS[{index}]", str(path))
    return Leaf(
        LeafNames(path, names, index=index, owner=argument.name),
        kind=argument.kind,
        dtype=argument.dtype,
        shape=() if argument.kind is ValueKind.NUMBER else None,
        has_default=argument.has_default,
        type=argument.type,
    )


def _entry_leaves(index: int, argument: Argument, keys: Keys, *, is_only_dictionary: bool) -> Iterator[Leaf]:
    defaults = dict.fromkeys(keys.required, False) | dict.fromkeys(keys.optional, True)
    if not keys.are_all:
        # A dictionary of which no key is known to be needed must get at least one, whichever that is.
        defaults[ANY_KEY] = bool(keys.required)
    for key, has_default in defaults.items():
        yield Leaf(
            _entry_names(index, argument.name, key, is_only_dictionary=is_only_dictionary),
            has_default=has_default,
            owner_has_default=argument.has_default,
        )


def _entry_names(index: int, argument: str, key: str, *, is_only_dictionary: bool) -> LeafNames:
    path = LeafPath("KWARGS", (argument, key))
    bare = (key,) if is_only_dictionary else ()
    return LeafNames(
        path,
        (f"{argument}[{key}]", *bare, f"ARGS[{index}][{key}]", str(path)),
        owner=argument,
        is_entry=True,
        owner_index=index,
        bare_key=key if is_only_dictionary else None,
    )
