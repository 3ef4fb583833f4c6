"""Single fields of a config.pbtxt, read as text: it may not parse, and protobuf may not be installed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# What matters of protobuf's text format. A text in quotes can hold what looks like a comment, a field or a bracket.
_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)|(?P<quote>["'])(?P<text>(?:\\.|(?!(?P=quote))[^\\\n])*)(?P=quote)|\w+|[^\s\w]"""
)


@dataclass(frozen=True, slots=True)
class Field:
    """A field that holds a text, as it is written between the quotes, and its line, from 1."""

    value: str
    line: int


def find_field(text: str, name: str) -> Field | None:
    """Return the first field of a name that holds a text, outside of all messages; texts in a row are one."""
    depth = 0
    tokens = [token for token in _TOKEN.finditer(text) if token["comment"] is None]
    for number, token in enumerate(tokens):
        if token[0] in "{<[":
            depth += 1
        elif token[0] in "}>]":
            depth = max(0, depth - 1)
        elif depth == 0 and token[0] == name and number + 1 < len(tokens) and tokens[number + 1][0] == ":":
            parts = list(_texts(tokens[number + 2 :]))
            if parts:
                line = text.count("\n", 0, parts[0].start()) + 1
                return Field("".join(part["text"] for part in parts), line)
    return None


def _texts(tokens: list[re.Match[str]]) -> Iterator[re.Match[str]]:
    """Yield the texts in quotes that the tokens begin with."""
    for token in tokens:
        if token["quote"] is None:
            return
        yield token


def read_config_text(path: Path) -> str:
    """Return the text of a config.pbtxt; empty where there is none, or where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
