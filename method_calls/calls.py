"""Calls of a callable with flat leaves."""

from collections.abc import Callable, Sequence
from typing import Any

from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.method_calls.arguments import Argument

# Makes the value of one argument from the leaves of a call; None where the default of the argument applies.
_Maker = Callable[[list[Any]], Any]


class Call:
    """Calls a callable with one value for each of the planned input leaves, None for one that was not sent.

    Arguments are passed by position as far as each of them has a value in every call; the others by name, without
    those that have no value, so that their defaults apply.
    """

    def __init__(self, method: Callable[..., Any], arguments: Sequence[Argument], leaves: Sequence[Leaf]) -> None:
        self._method = method
        makers = [_maker(argument, leaves) for argument in arguments]
        leading = next((i for i, argument in enumerate(arguments) if makers[i] is None or argument.has_default), None)
        self._positional = [maker for maker in makers[:leading] if maker is not None]
        self._named = [
            (argument.name, maker)
            for argument, maker in list(zip(arguments, makers, strict=True))[len(self._positional) :]
            if maker is not None
        ]
        names = [(argument.name,) for argument in arguments[: len(self._positional)]]
        self._is_plain = not self._named and [leaf.path.segments for leaf in leaves] == names

    def __call__(self, leaves: list[Any]) -> Any:
        """Return the result of the callable."""
        if self._is_plain:
            return self._method(*leaves)
        positional = [make(leaves) for make in self._positional]
        named = {name: value for name, make in self._named if (value := make(leaves)) is not None}
        return self._method(*positional, **named)


def _maker(argument: Argument, leaves: Sequence[Leaf]) -> _Maker | None:
    """Return what makes the value of an argument; None where its default always applies."""
    if argument.keys is not None:
        positions = {leaf.path.segments[1]: i for i, leaf in enumerate(leaves) if leaf.names.owner == argument.name}
        if positions or not argument.has_default:
            return _dictionary_maker(positions, has_default=argument.has_default)
        return None
    position = next((i for i, leaf in enumerate(leaves) if leaf.path.segments == (argument.name,)), None)
    return None if position is None else _leaf_maker(position)


def _leaf_maker(position: int) -> _Maker:
    return lambda leaves: leaves[position]


def _dictionary_maker(positions: dict[str, int], *, has_default: bool) -> _Maker:
    def make(leaves: list[Any]) -> dict[str, Any] | None:
        entries = {key: leaves[position] for key, position in positions.items() if leaves[position] is not None}
        return None if has_default and not entries else entries

    return make
