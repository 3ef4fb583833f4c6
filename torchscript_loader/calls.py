"""Input leaves as the arguments of a method."""

from collections.abc import Callable, Sequence
from typing import Any

from triton_pytorch.io_naming.argument_names import Argument, ArgumentKind, InputPlace

# Makes an argument of the input leaves of a call; None where it has no value there.
_Maker = Callable[[list[Any]], Any]


class Call:
    """Calls a method with flat leaves, which stand in the order of its arguments.

    Arguments come by position as far as each of them has a value in every call; the rest by name, without those that
    have no value, so that their defaults apply.
    """

    def __init__(self, method: Any, arguments: Sequence[Argument], places: Sequence[InputPlace]) -> None:
        self._method = method
        makers = [_maker(index, argument, places) for index, argument in enumerate(arguments)]
        leading = next((i for i, argument in enumerate(arguments) if makers[i] is None or argument.has_default), None)
        self._positional = [maker for maker in makers[:leading] if maker is not None]
        self._named = [
            (argument.name, maker)
            for argument, maker in list(zip(arguments, makers, strict=True))[len(self._positional) :]
            if maker is not None
        ]
        self._is_plain = (
            not self._named and all(place.key is None for place in places) and len(places) == len(self._positional)
        )

    def __call__(self, leaves: list[Any]) -> Any:
        """Return the result of the method."""
        if self._is_plain:
            return self._method(*leaves)
        positional = [make(leaves) for make in self._positional]
        named = {name: value for name, make in self._named if (value := make(leaves)) is not None}
        return self._method(*positional, **named)


def _maker(index: int, argument: Argument, places: Sequence[InputPlace]) -> _Maker | None:
    """Return what makes an argument; None where it has no leaf and its default always applies."""
    leaves = {place.key: leaf for leaf, place in enumerate(places) if place.argument == index}
    if argument.kind is ArgumentKind.TENSORS_BY_KEY and (leaves or not argument.has_default):
        return _dictionary_maker({key: leaf for key, leaf in leaves.items() if key is not None})
    return _leaf_maker(leaves[None]) if leaves else None


def _leaf_maker(leaf: int) -> _Maker:
    return lambda leaves: leaves[leaf]


def _dictionary_maker(leaf_of: dict[str, int]) -> _Maker:
    return lambda leaves: {key: leaves[leaf] for key, leaf in leaf_of.items() if leaves[leaf] is not None}
