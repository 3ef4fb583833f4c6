"""Choices, counts and several sentences, as error messages print them."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_LISTED_AT_MOST = 16


def nearest(wrong: str, choices: Iterable[str], *, closeness: float = 0.6) -> str | None:
    """Return the choice that `wrong` was most likely meant to be, or None where nothing is that close (0 to 1)."""
    by_folded = {choice.casefold(): choice for choice in choices}
    matches = get_close_matches(wrong.casefold(), by_folded, n=1, cutoff=closeness)
    return by_folded[matches[0]] if matches else None


def did_you_mean(wrong: str, choices: Iterable[str]) -> str:
    """Return `; did you mean 'X'?` for an error message, or an empty string where nothing is close."""
    match = nearest(wrong, choices)
    return f"; did you mean '{match}'?" if match is not None else ""


def listed(choices: Sequence[str]) -> str:
    """Return the choices separated by commas; a long list is cut, with the number left out."""
    shown = ", ".join(choices[:_LISTED_AT_MOST])
    left_out = len(choices) - _LISTED_AT_MOST
    return f"{shown} and {left_out} more" if left_out > 0 else shown


def counted(count: int, noun: str) -> str:
    """Return `1 row`, `2 rows`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def joined(sentences: Sequence[str]) -> str:
    """Return one text of several sentences, each with a capital and a full stop; a single one stays as it is."""
    if len(sentences) == 1:
        return sentences[0]
    capitalised = [sentence[0].upper() + sentence[1:] for sentence in sentences]
    return " ".join(sentence if sentence.endswith(("?", ".")) else f"{sentence}." for sentence in capitalised)
