"""Names parse to values and print as they were; every slip is answered with the grammar and the right spelling."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triton_pytorch.io_naming.names import Direction, LeafPath, OrdinalName, forbidden_character, parse_name
from triton_pytorch.model_config.errors import NamingError

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
def test_a_name_is_read_and_prints_as_it_was(text: str, name: OrdinalName | LeafPath) -> None:
    assert parse_name(text, name.direction) == name
    assert str(name) == text


@pytest.mark.parametrize(
    ("text", "direction", "fragments"),
    [
        # Ordinals
        ("INPUT__00", INPUT, ["'INPUT__00' is no name of an input", "did you mean 'INPUT__0'?"]),
        ("INPUT__01", INPUT, ["expected INPUT__<n>, ARGS[<i>].. or KWARGS[<key>]..", "'INPUT__1'?"]),
        ("INPUT__\u0663", INPUT, ["did you mean 'INPUT__3'?"]),  # an Arabic three
        ("INPUT__\u00b2", INPUT, ["is no name of an input"]),  # a superscript two is a digit, and no number
        ("INPUT_0", INPUT, ["'INPUT__0'?"]),
        ("INPUT0", INPUT, ["'INPUT__0'?"]),
        ("output__2", OUTPUT, ["expected OUTPUT__<n>, RESULT or RESULT[<i or key>]..", "'OUTPUT__2'?"]),
        ("INPUT__", INPUT, ["is no name of an input"]),
        ("INPUT__-1", INPUT, ["is no name of an input"]),
        ("INPUT__1_0", INPUT, ["is no name of an input"]),
        ("INPUT__0\n", INPUT, [r"'INPUT__0\n' is no name", "'INPUT__0'?"]),
        ("INPUT__" + "9" * 5000, INPUT, ["is no name of an input"]),
        ("OUTPUT__0", INPUT, ["'OUTPUT__0' names an output but is declared as an input", "expected INPUT__<n>"]),
        ("INPUT__0", OUTPUT, ["'INPUT__0' names an input but is declared as an output", "expected OUTPUT__<n>"]),
        # Paths
        ("ARGS[2]['keyA'][\"b\"]", INPUT, ["keys without quotes", "did you mean 'ARGS[2][keyA][b]'?"]),
        ('RESULT["AAA"]', OUTPUT, ["did you mean 'RESULT[AAA]'?"]),
        ("args[0]", INPUT, ["did you mean 'ARGS[0]'?"]),
        ("Result", OUTPUT, ["did you mean 'RESULT'?"]),
        ("ARGS", INPUT, ["'ARGS' is no name of an input", "ARGS[<i>].."]),
        ("KWARGS", INPUT, ["KWARGS[<key>].."]),
        ("ARGS[0]", OUTPUT, ["'ARGS[0]' names an input but is declared as an output"]),
        ("RESULT", INPUT, ["'RESULT' names an output but is declared as an input"]),
        ("ARGS[0", INPUT, ["is no name of an input"]),
        ("ARGS[0]]", INPUT, ["is no name of an input"]),
        ("ARGS[[0]]", INPUT, ["is no name of an input"]),
        ("ARGS[0]x", INPUT, ["is no name of an input"]),
        ("ARGS[0].x", INPUT, ["is no name of an input"]),
        (" ARGS[0]", INPUT, ["did you mean 'ARGS[0]'?"]),
        ("ARGS[0] [k]", INPUT, ["white space", "did you mean 'ARGS[0][k]'?"]),
        ("ARGS[a,b]", INPUT, ['without , " [ ] white space or unprintable characters']),
        ("ARGS[a\u00a0b]", INPUT, [r"'ARGS[a\xa0b]' is no name of an input", "'ARGS[ab]'?"]),
        ("ARGS[a\x00]", INPUT, [r"'ARGS[a\x00]' is no name of an input"]),
        ("ARGS[\ud800]", INPUT, [r"'ARGS[\ud800]' is no name of an input"]),
        # No names at all
        ("x", INPUT, ["'x' is no name of an input: expected INPUT__<n>, ARGS[<i>].. or KWARGS[<key>].."]),
        ("x__0", INPUT, ["'x__0' is no name of an input"]),
        ("", OUTPUT, ["'' is no name of an output"]),
    ],
)
def test_what_is_no_name_is_refused_with_the_grammar(text: str, direction: Direction, fragments: list[str]) -> None:
    with pytest.raises(NamingError) as caught:
        parse_name(text, direction)
    message = str(caught.value)
    assert [fragment for fragment in fragments if fragment not in message] == []
    assert "\n" not in message
    assert message.encode("utf-8")  # fit for the wire, whatever the name holds


@pytest.mark.parametrize("text", ["x", "INPUT__", "INPUT__-1", "ARGS", "ARGS[0", "ARGS[[0]]", "OUTPUT__0"])
def test_where_no_right_spelling_is_known_none_is_invented(text: str) -> None:
    with pytest.raises(NamingError, match=r"^(?!.*did you mean)"):
        parse_name(text, INPUT)


def test_a_suggestion_is_drawn_from_the_names_that_exist() -> None:
    with pytest.raises(NamingError, match=r"did you mean 'ARGS\[1\]\[boxes\]'\?$"):
        parse_name('args[1]["box"]', INPUT, ["ARGS[0]", "ARGS[1][boxes]"])


SEGMENTS = st.text().filter(lambda text: forbidden_character(text) is None)
PATHS = st.builds(LeafPath, st.sampled_from(["ARGS", "KWARGS"]), st.lists(SEGMENTS, min_size=1).map(tuple)) | st.builds(
    LeafPath, st.just("RESULT"), st.lists(SEGMENTS).map(tuple)
)
ORDINALS = st.builds(OrdinalName, st.sampled_from(Direction), st.integers(0, 10**18 - 1))
PIECES = [*"[]0123'\", \n\u0661\u00b2\ud800ax", "INPUT__", "OUTPUT__", "input_", "ARGS", "KWARGS", "RESULT", "[0]"]


@given(PATHS | ORDINALS)
@settings(deadline=None)
def test_parsing_undoes_printing(name: LeafPath | OrdinalName) -> None:
    assert parse_name(str(name), name.direction) == name


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join), st.sampled_from(Direction))
@settings(deadline=None)
def test_any_text_is_a_name_that_prints_as_it_was_or_a_naming_error(text: str, direction: Direction) -> None:
    try:
        name = parse_name(text, direction)
    except NamingError:
        return
    assert str(name) == text
    assert name.direction is direction
