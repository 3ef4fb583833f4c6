"""Names of tensors as values: ordinals (`INPUT__0`) and forward-based paths (`ARGS[2][keyA]`), parsed and printed.

The grammar, from the naming section of the documentation of Triton's PyTorch backend:

    input   = "INPUT__" ordinal  | ("ARGS" | "KWARGS") segment+
    output  = "OUTPUT__" ordinal | "RESULT" segment*
    ordinal = "0" | ("1" .. "9") ("0" .. "9")*
    segment = "[" text without , " [ ] white space or unprintable characters "]"
"""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Literal, cast

Root = Literal["ARGS", "KWARGS", "RESULT"]


class Direction(str, Enum):
    """Whether a tensor goes into the model or comes out of it; the value is the prefix of its ordinal name."""

    INPUT = "INPUT"
    OUTPUT = "OUTPUT"

    @property
    def noun(self) -> str:
        """The direction as error messages write it: `input` or `output`."""
        return self.value.lower()

    @property
    def opposite(self) -> "Direction":
        """The other direction."""
        return Direction.OUTPUT if self is Direction.INPUT else Direction.INPUT


@dataclass(frozen=True, slots=True)
class OrdinalName:
    """The leaf at a 0-based position of the flat call spec; prints as `INPUT__0`."""

    direction: Direction
    index: int

    def __str__(self) -> str:
        return f"{self.direction.value}__{self.index}"


@dataclass(frozen=True, slots=True)
class LeafPath:
    """The leaf at a place in the tree of arguments or results, keys and indices as text; prints as `ARGS[2][keyA]`."""

    root: Root
    segments: tuple[str, ...] = ()

    @property
    def direction(self) -> Direction:
        """Results come out of the model, arguments go in."""
        return Direction.OUTPUT if self.root == "RESULT" else Direction.INPUT

    def __str__(self) -> str:
        return self.root + "".join(f"[{segment}]" for segment in self.segments)


# 18 digits are more than any model has tensors, and Python refuses to convert very long numbers.
_ORDINAL = re.compile(r"(INPUT|OUTPUT)__(0|[1-9][0-9]{0,17})")
_INDEXED = re.compile(r"([^\[\]]*)__([0-9]{1,18})")
_PATH = re.compile(r"(ARGS(?=\[)|KWARGS(?=\[)|RESULT)((?:\[[^\[\]]*\])*)")
_ROOTS = ("ARGS", "KWARGS", "RESULT")
_EXPECTED = {
    Direction.INPUT: "INPUT__<n>, ARGS[<i>].. or KWARGS[<key>]..",
    Direction.OUTPUT: "OUTPUT__<n>, RESULT or RESULT[<i or key>]..",
}
_KEY_RULE = 'keys without quotes, and without , " [ ] white space or unprintable characters'


def parse_name(text: str) -> OrdinalName | LeafPath | None:
    """Read a name, so that `str()` of the result is `text` again; None where it is neither an ordinal nor a path."""
    if ordinal := _ORDINAL.fullmatch(text):
        return OrdinalName(Direction(ordinal[1]), int(ordinal[2]))
    if path := _PATH.fullmatch(text):
        segments = tuple(re.findall(r"\[([^\]]*)\]", path[2]))
        if not any(map(forbidden_character, segments)):
            return LeafPath(cast("Root", path[1]), segments)
    return None


def parse_indexed(text: str) -> tuple[str, int] | None:
    """Read `<text>__<index>`; None where it has no such end, or is a path."""
    indexed = _INDEXED.fullmatch(text)
    return None if indexed is None else (indexed[1], int(indexed[2]))


def misspelling(text: str, direction: Direction) -> str | None:
    """Return a sentence where `text` was meant to be a path and is not one of that direction; else None."""
    name = parse_name(text)
    if name is None:
        if "[" not in text or respelled(text, direction).partition("[")[0] not in _ROOTS:
            return None
        return f"{text!r} is not the name of an {direction.noun}: expected {_EXPECTED[direction]} ({_KEY_RULE})"
    if name.direction is not direction:
        return f"{text!r} names an {name.direction.noun}, but is declared as an {direction.noun}"
    return None


def respelled(text: str, direction: Direction) -> str:
    """Put slips of case, quotes, white space and ordinals right; the result need not be a name."""
    bare = re.sub(r"[\"'`\s]", "", text)
    if ordinal := re.fullmatch(rf"(?i){direction.value}_*(\d{{1,18}})", bare):
        return str(OrdinalName(direction, int(ordinal[1])))
    root, bracket, accessors = bare.partition("[")
    return (root.upper() if root.upper() in _ROOTS else root) + bracket + accessors


def forbidden_character(segment: str) -> str | None:
    """Return the first character that a segment must not hold, or None: `,` `"` `[` `]`, white space, unprintable."""
    return next((c for c in segment if c in ',"[]' or c.isspace() or not c.isprintable()), None)
