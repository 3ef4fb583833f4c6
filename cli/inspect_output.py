"""What `inspect` prints of a file: its format and the sections of its description, as text (80 columns) or as JSON."""

from collections.abc import Sequence
from pathlib import Path

from triton_pytorch.cli.layout import fact, table
from triton_pytorch.contract.sections import Fact, Json, Line, Section, Table
from triton_pytorch.formats.table import Format


def as_text(path: Path, found: Format, sections: Sequence[Section]) -> str:
    """Return one line on the file, then each section after an empty line."""
    lines = [f"{path} is {found.summary}"]
    for section in sections:
        printed = [line for item in section for line in _lines(item)]
        lines += ["", *printed] if printed else []
    return "\n".join(map(_printable, lines))


def as_json(path: Path, found: Format, sections: Sequence[Section]) -> dict[str, Json]:
    """Return one object; docs/packages.md and docs/torchscript.md describe its fields, which stay as they are."""
    common: dict[str, Json] = {"file": str(path), "kind": found.key, "summary": found.summary}
    return common | {item.key: item.value for section in sections for item in section if item.key}


def _lines(item: Fact | Table | Line) -> list[str]:
    match item:
        case Fact():
            return [line for text in item.texts for line in fact(item.label, text)]
        case Table():
            return table(item.header, item.rows)
        case Line():
            return [item.text]


def _printable(line: str) -> str:
    """Show what a terminal would obey or could not print: names in an archive may hold any character."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in line)
