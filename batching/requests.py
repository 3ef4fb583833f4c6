"""One request as batching sees it: its inputs by leaf, its rows, and the outputs that it asks for."""

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True, eq=False)
class ParsedRequest:
    """A request that was read and checked.

    `leaves` has, at the position of each input leaf of the model, a tensor, strings, or None where nothing was sent.
    The tensors lie in Triton's memory: valid during `execute` only, unaligned, and not to be written to while the
    request may have to run once more. `rows` is 1 without batching. `position` is that among the requests of one
    `execute`.
    """

    position: int
    leaves: list[Any]
    rows: int
    requested: set[str]
