"""What `inspect` prints of a description: each item with its text and its JSON value, so that both say the same."""

from collections.abc import Sequence
from dataclasses import dataclass

Json = str | int | float | bool | None | Sequence["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact: a label with its texts (none: JSON only), and its field in the JSON object (no key: text only)."""

    label: str = ""
    texts: tuple[str, ...] = ()
    key: str = ""
    value: Json = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under a header, and their field in the JSON object (no key: text only)."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    key: str = ""
    value: Json = None


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence that stands alone, and its field in the JSON object (no key: text only)."""

    text: str
    key: str = ""
    value: Json = None


# What stands together, with an empty line before it.
Section = tuple[Fact | Table | Line, ...]


def bytes_text(count: int) -> str:
    """Print a number of bytes."""
    if count < 1 << 10:
        return f"{count} bytes"
    return f"{count / (1 << 20):.1f} MiB" if count >= 1 << 20 else f"{count / (1 << 10):.1f} KiB"
