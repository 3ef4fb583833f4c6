"""Single fields of a config.pbtxt, read as text: it may not parse, and protobuf may not be installed."""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Field:
    """A field that holds a text, as it is written between the quotes, and its line, from 1."""

    value: str
    line: int


def find_field(text: str, name: str) -> Field | None:
    """Return the first field of a name that holds a text; comments are skipped, messages are not told apart."""
    found = re.search(rf"""^[^#\n]*?\b{name}\s*:\s*(["'])((?:\\.|(?!\1)[^\\\n])*)\1""", text, re.MULTILINE)
    return Field(found[2], text.count("\n", 0, found.start(1)) + 1) if found else None


def read_config_text(path: Path) -> str:
    """Return the text of a config.pbtxt; empty where there is none, or where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
