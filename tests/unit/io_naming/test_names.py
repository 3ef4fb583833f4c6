"""Names parse to values and print as they were; slips are put right, and misspelled paths get the grammar."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triton_pytorch.io_naming.names import (
    Direction,
    LeafPath,
    OrdinalName,
    forbidden_character,
    misspelling,
    parse_name,
    respelled,
)

INPUT, OUTPUT = Direction.INPUT, Direction.OUTPUT


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("INPUT__0", OrdinalName(INPUT, 0)),
        ("OUTPUT__10", OrdinalName(OUTPUT, 10)),
        ("ARGS[0]", LeafPath("ARGS", ("0",))),
        ("ARGS[2][keyA]", LeafPath("ARGS", ("2", "keyA"))),
        ("KWARGS[options][a.b-c]", LeafPath("KWARGS", ("options", "a.b-c"))),
        ("KWARGS[größe]", LeafPath("KWARGS", ("größe",))),
        ("ARGS[0]['k']", LeafPath("ARGS", ("0", "'k'"))),  # a single quote may be part of a key
        ("ARGS[0][]", LeafPath("ARGS", ("0", ""))),  # so may nothing at all
        ("ARGS[RESULT][00]", LeafPath("ARGS", ("RESULT", "00"))),
        ("RESULT", LeafPath("RESULT")),
        ("RESULT[1][0]", LeafPath("RESULT", ("1", "0"))),
    ],
)
def test_name_prints_as_it_was(text: str, name: OrdinalName | LeafPath) -> None:
    assert parse_name(text) == name
    assert str(name) == text


@pytest.mark.parametrize(
    "text",
    [
        *("INPUT__00", "INPUT__\u0663", "INPUT__", "INPUT__-1", "INPUT__0\n", "INPUT__" + "9" * 5000, "x", ""),
        *("ARGS", "KWARGS", "ARGS[0", "ARGS[0]]", "ARGS[[0]]", "ARGS[0]x", " ARGS[0]", "ARGS[a,b]", "args[0]"),
        *('RESULT["a"]', "ARGS[a\x00]"),
    ],
)
def test_parse_other_texts(text: str) -> None:
    assert parse_name(text) is None


@pytest.mark.parametrize(
    ("text", "direction", "right"),
    [
        ("INPUT__00", INPUT, "INPUT__0"),
        ("INPUT__\u0663", INPUT, "INPUT__3"),  # an Arabic three
        ("INPUT_0", INPUT, "INPUT__0"),
        ("INPUT0", INPUT, "INPUT__0"),
        ("output__2", OUTPUT, "OUTPUT__2"),
        ("INPUT__0\n", INPUT, "INPUT__0"),
        ("ARGS[2]['keyA'][\"b\"]", INPUT, "ARGS[2][keyA][b]"),
        ("args[0]", INPUT, "ARGS[0]"),
        ("Result", OUTPUT, "RESULT"),
        ("ARGS[0] [k]", INPUT, "ARGS[0][k]"),
        ("ARGS[a\u00a0b]", INPUT, "ARGS[ab]"),
        ("x", INPUT, "x"),
        ("INPUT__\u00b2", INPUT, "INPUT__\u00b2"),  # a superscript two is a digit, and not a number
    ],
)
def test_slip_is_put_right(text: str, direction: Direction, right: str) -> None:
    assert respelled(text, direction) == right


@pytest.mark.parametrize(
    ("text", "direction", "error"),
    [
        (
            "ARGS[0",
            INPUT,
            "'ARGS[0' is not the name of an input: expected INPUT__<n>, ARGS[<i>].. or KWARGS[<key>].. (keys",
        ),
        ("args[0]", INPUT, "'args[0]' is not the name of an input"),
        (
            'RESULT["a"]',
            OUTPUT,
            "'RESULT[\"a\"]' is not the name of an output: expected OUTPUT__<n>, RESULT or RESULT[<i or",
        ),
        ("ARGS[\ud800]", INPUT, r"'ARGS[\ud800]' is not the name of an input"),  # fit for the wire
        ("ARGS[0]", OUTPUT, "'ARGS[0]' names an input, but is declared as an output"),
        ("RESULT", INPUT, "'RESULT' names an output, but is declared as an input"),
    ],
)
def test_misspelled_path(text: str, direction: Direction, error: str) -> None:
    assert (misspelling(text, direction) or "").startswith(error)


@pytest.mark.parametrize("text", ["ARGS[7]", "INPUT__9", "x", "options[a]", "INPUT__00", ""])
def test_parse_possible_names(text: str) -> None:
    assert misspelling(text, INPUT) is None


SEGMENTS = st.text().filter(lambda text: forbidden_character(text) is None)
PATHS = st.builds(LeafPath, st.sampled_from(["ARGS", "KWARGS"]), st.lists(SEGMENTS, min_size=1).map(tuple)) | st.builds(
    LeafPath, st.just("RESULT"), st.lists(SEGMENTS).map(tuple)
)
ORDINALS = st.builds(OrdinalName, st.sampled_from(Direction), st.integers(0, 10**18 - 1))


@given(PATHS | ORDINALS)
@settings(deadline=None)
def test_parsing_undoes_printing(name: LeafPath | OrdinalName) -> None:
    assert parse_name(str(name)) == name
