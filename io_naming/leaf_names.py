"""Every name that one leaf of a model goes by, as the rules of `resolution.py` compare them."""

import re
from dataclasses import dataclass

from triton_pytorch.io_naming.names import LeafPath

# What stands in a path, and in the names made of it, where only the config or the answer knows the key or index.
ANY_KEY, ANY_INDEX = "<key>", "<index>"
_ANY = re.compile(f"({ANY_KEY}|{ANY_INDEX})")
_MATCHING = {ANY_KEY: r"([^\[\]]+)", ANY_INDEX: "(0|[1-9][0-9]{0,17})"}


@dataclass(frozen=True, slots=True)
class LeafNames:
    """The names of one input or output leaf.

    `names` are exact texts, the first of which messages print; one with `<key>` or `<index>` in it stands for every
    key or index. `index` is the i of `<text>__<i>`, None where the leaf has none. `owner` is the argument or the
    top-level entry of the result that the leaf belongs to, where that has a name.

    An entry of a dictionary `is_entry`; of a dictionary argument, `owner_index` is the index of the argument, and
    `bare_key` the key where it names the entry alone, since there is no other dictionary argument.
    """

    path: LeafPath
    names: tuple[str, ...]
    index: int | None = None
    owner: str | None = None
    is_entry: bool = False
    owner_index: int | None = None
    bare_key: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether the leaf stands for any number of leaves, whose keys or indices are not known yet."""
        return any(segment in (ANY_KEY, ANY_INDEX) for segment in self.path.segments)

    @property
    def words(self) -> frozenset[str]:
        """What the leaf is called where a name has no path: its argument, its key, its field."""
        keys = [segment for segment in self.path.segments[-1:] if not segment.isdecimal()]
        owner = [self.owner] if self.owner is not None else []
        return frozenset([*owner, *keys, *(name for name in self.names if "[" not in name)])

    @property
    def label(self) -> str:
        """The leaf as messages print it: `ARGS[0] (INPUT__0)`, `x (INPUT__0)`, `options[a]`."""
        if self.index is None:
            return self.names[0]
        return f"{self.names[0]} ({self.path.direction.value}__{self.index})"


def match(name: str, text: str) -> tuple[str, ...] | None:
    """Return what stands in `text` for each `<key>` and `<index>` of a name; None where it is not that name."""
    parts = (_MATCHING.get(part) or re.escape(part) for part in _ANY.split(name))
    found = re.fullmatch("".join(parts), text)
    return found.groups() if found is not None else None
