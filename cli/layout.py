"""Text for a terminal of 80 columns: facts with a label before them, and tables."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import accumulate

_COLUMNS = 80
_LABEL = 11
_GAP = 2
_WIDEST = 32  # a longer cell does not widen its column: the rest of its row goes to the next line


def fact(label: str, text: str) -> list[str]:
    """Return a text with a label before it, wrapped."""
    # Neither file names nor options may be broken at their hyphens or in the middle: they are there to be copied.
    return textwrap.wrap(
        text,
        _COLUMNS,
        initial_indent=label.ljust(_LABEL),
        subsequent_indent=" " * _LABEL,
        break_long_words=False,
        break_on_hyphens=False,
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells below their header, in columns as wide as they need."""
    columns = list(zip(header, *rows, strict=True))
    widths = [max(len(cell) for cell in column if len(cell) <= _WIDEST) for column in columns[:-1]]
    starts = list(accumulate(widths, lambda start, width: start + width + _GAP, initial=0))
    return [line for row in (header, *rows) for line in _row(row, starts)]


def _row(cells: Sequence[str], starts: Sequence[int]) -> Iterator[str]:
    line = ""
    for cell, start in zip(cells, starts, strict=True):
        if line and len(line) + _GAP > start:
            yield line
            line = ""
        line = line.ljust(start) + cell
    yield line
