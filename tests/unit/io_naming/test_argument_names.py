"""Declared inputs find their arguments: by index, by name, by key; all that cannot be meant is told at once."""

import pytest

from triton_pytorch.io_naming.argument_names import (
    Argument,
    ArgumentKind,
    InputPlace,
    Keys,
    can_be_left_out,
    input_labels,
    place_inputs,
)
from triton_pytorch.model_config.errors import NamingError

X, Y = Argument("x", ArgumentKind.TENSOR), Argument("y", ArgumentKind.TENSOR)
MASK = Argument("mask", ArgumentKind.TENSOR, has_default=True, type="Optional[Tensor]")
WORDS = Argument("words", ArgumentKind.STRINGS, type="List[str]")
POWER = Argument("power", ArgumentKind.OTHER, has_default=True, type="int")
SIZES = Argument("sizes", ArgumentKind.OTHER, type="List[int]")
DYNAMIC = Argument("options", ArgumentKind.TENSORS_BY_KEY, type="Dict[str, Tensor]")
AB = Argument("options", ArgumentKind.TENSORS_BY_KEY, keys=Keys(("a", "b"), ("c",), are_all=True))
A_AND_MORE = Argument("options", ArgumentKind.TENSORS_BY_KEY, keys=Keys(("a",)))
LEFT = Argument("left", ArgumentKind.TENSORS_BY_KEY, keys=Keys(("a",), are_all=True))
RIGHT = Argument("right", ArgumentKind.TENSORS_BY_KEY, keys=Keys(("a",), are_all=True))


def places(declared: list[str], *arguments: Argument) -> list[tuple[int, str | None]]:
    placed = place_inputs(declared, arguments)
    assert placed.warnings == ()
    return [(place.argument, place.key) for place in placed.places]


def fault(declared: list[str], *arguments: Argument) -> str:
    with pytest.raises(NamingError) as caught:
        place_inputs(declared, arguments)
    return str(caught.value)


@pytest.mark.parametrize(
    ("declared", "arguments", "expected"),
    [
        (["INPUT__0", "INPUT__1"], [X, Y], [0, 1]),
        (["b__1", "a__0"], [X, Y], [1, 0]),
        (["__0", "any__thing__1"], [X, Y], [0, 1]),
        (["x__1", "y__0"], [X, Y], [1, 0]),  # what stands before the index is nobody's business
        (["y", "x"], [X, Y], [1, 0]),
        (["y", "INPUT__0"], [X, Y], [1, 0]),
        (["x__00", "y"], [X, Y], [0, 1]),
        (["x"], [X, MASK], [0]),
        (["mask", "x"], [X, MASK], [1, 0]),
        (["INPUT__3", "x"], [X, POWER, MASK, WORDS], [3, 0]),
        ([], [MASK, POWER], []),
        ([], [], []),
    ],
)
def test_indices_and_names_can_be_mixed(declared: list[str], arguments: list[Argument], expected: list[int]) -> None:
    assert places(declared, *arguments) == [(index, None) for index in expected]


@pytest.mark.parametrize(
    ("declared", "arguments", "expected"),
    [
        (["b", "a"], [AB], [(0, "b"), (0, "a")]),
        (["a", "options[b]", "c"], [AB], [(0, "a"), (0, "b"), (0, "c")]),
        (["a__0", "b__1"], [AB], [(0, "a"), (0, "b")]),
        (["x", "a", "b"], [X, AB], [(0, None), (1, "a"), (1, "b")]),
        (["x__0", "a__1", "b__2"], [X, AB], [(0, None), (1, "a"), (1, "b")]),
        (["b", "a", "INPUT__1"], [AB, X], [(0, "b"), (0, "a"), (1, None)]),
        (["anything", "like__7"], [DYNAMIC], [(0, "anything"), (0, "like__7")]),
        (["a__0", "b__1"], [DYNAMIC], [(0, "a__0"), (0, "b__1")]),  # nobody says that the code reads another key
        (["a__0", "b__1"], [A_AND_MORE], [(0, "a"), (0, "b__1")]),
        (["options[options]"], [DYNAMIC], [(0, "options")]),
        (["left[a]", "right[a]"], [LEFT, RIGHT], [(0, "a"), (1, "a")]),
        (["options[a b]", "a,b"], [DYNAMIC], [(0, "a b"), (0, "a,b")]),
    ],
)
def test_keys(declared: list[str], arguments: list[Argument], expected: list[tuple[int, str | None]]) -> None:
    assert places(declared, *arguments) == expected


def test_a_key_that_ends_in_an_index_is_itself_where_the_code_reads_it() -> None:
    reads_both = Argument("options", ArgumentKind.TENSORS_BY_KEY, keys=Keys(("a__1", "a"), are_all=True))
    assert places(["a__1", "a"], reads_both) == [(0, "a__1"), (0, "a")]


def test_the_order_of_the_config_decides_where_nothing_else_does() -> None:
    placed = place_inputs(["first", "second"], [X, POWER, WORDS, MASK])
    assert placed.places == (InputPlace(0), InputPlace(2))
    (warning,) = placed.warnings
    assert warning == (
        "no input is named like an argument of the model, or <name>__<index>: the order of the config decides, so"
        " 'first' is x (INPUT__0), 'second' is words (INPUT__2)"
    )


@pytest.mark.parametrize(
    ("declared", "arguments", "fragment"),
    [
        (["first", "y"], [X, Y], "'first' is no input of the model. The config declares no tensor for x (INPUT__0)"),
        (["maks", "x", "y"], [X, Y, MASK], "'maks' is no input of the model; did you mean 'mask'?"),
        (["X", "y"], [X, Y], "'X' is no input of the model; did you mean 'x'?"),
        (["a", "b", "c"], [X, Y], "the number of declared inputs is 3, but the model takes 2"),
        (["a"], [X, Y], "the config declares no tensor for y (INPUT__1)"),
        (["a", "a"], [X, Y], "'a' is declared 2 times: expected one tensor of that name"),
        (["x", "x"], [X, MASK], "'x' and 'x' name one and the same input x (INPUT__0)"),
        (["x", "INPUT__0", "y"], [X, Y], "'x' and 'INPUT__0' name one and the same input x (INPUT__0)"),
        (["x", "y", "z__2"], [X, Y], "'z__2' is out of range: the number of inputs is 2, counted from 0"),
        (["INPUT__1", "INPUT__2"], [X, Y], "'INPUT__2' is out of range"),
        (["x[0]", "y"], [X, Y], "'x[0]' is no input of the model"),
        (["ARGS[0]", "ARGS[1]"], [X, Y], "'ARGS[0]' is no input of the model"),
        (["x]", "y"], [X, Y], "'x]' is no input of the model"),
        ([], [X], "the config declares no tensor for x (INPUT__0)"),
        (["a"], [], "the number of declared inputs is 1, but the model takes 0"),
        (["x", "power"], [X, POWER], "'power' is argument 'power' of type int, which no request can send: remove it"),
        (["x", "n__1"], [X, POWER], "'n__1' is argument 'power' of type int, which no request can send: remove it"),
        (["x", "sizes"], [X, SIZES], "'sizes' is argument 'sizes' of type List[int], which no request can send."),
        (["x"], [X, SIZES], "argument 'sizes' is of type List[int] and has no default, but requests can send only Ten"),
        (
            ["a", "bb"],
            [AB],
            "'bb' is no input of the model: its code reads a, b, c from argument 'options'; did you me",
        ),
        (["a"], [AB], "no tensor for options[b]: every input needs one"),
        (["a", "b", "options[d]"], [AB], "'options[d]' is no input of the model: its code reads a, b, c from argument"),
        (["options"], [AB], "'options' is a dictionary and no tensor: expected one of its entries, options[a], option"),
        (["options"], [DYNAMIC], "'options' is a dictionary and no tensor: expected one of its entries, options[<key>]"),
        (["INPUT__0"], [AB], "'INPUT__0' is a dictionary and no tensor"),
        ([], [DYNAMIC], "no tensor for options[<key>]"),
        (["b"], [A_AND_MORE], "no tensor for options[a]"),
        (["a", "b", "a__0"], [AB], "'a' and 'a__0' name one and the same input options[a]"),
        (["a", "right[a]"], [LEFT, RIGHT], "'a' is no input of the model. The config"),
        (["left[b]", "right[a]"], [LEFT, RIGHT], "'left[b]' is no input of the model: its code reads a from argument"),
        (["left", "INPUT__1"], [LEFT, RIGHT], "'INPUT__1' is a dictionary and no tensor: expected one of its entries"),
        (["a__0", "b__1", "x__2"], [X, AB], "'a__0' can mean x (INPUT__0) or options[a]: expected a name that only o"),
        (["b__1", "a", "x"], [AB, X], "'b__1' can mean x (INPUT__1) or options[b]"),
    ],
)
def test_what_cannot_be_meant_is_refused(declared: list[str], arguments: list[Argument], fragment: str) -> None:
    message = fault(declared, *arguments)
    assert fragment.lower() in message.lower()
    assert "\n" not in message
    assert message.endswith(".")


def test_a_name_that_two_arguments_answer_to_is_refused() -> None:
    message = fault(["x__1", "x"], X, Y, Argument("x__1", ArgumentKind.TENSOR, has_default=True))
    assert "'x__1' can mean y (INPUT__1) or x__1 (INPUT__2): expected a name that only one of them has" in message
    assert places(["x__0", "y"], Argument("x__0", ArgumentKind.TENSOR), Y) == [(0, None), (1, None)]


def test_all_faults_come_together() -> None:
    assert fault(["b", "d", "power__2", "y", "options[b]"], X, AB, POWER, SIZES) == (
        "'d' is no input of the model: its code reads a, b, c from argument 'options'."
        " 'power__2' is argument 'power' of type int, which no request can send: remove it from the config, and its"
        " default applies."
        " 'y' is no input of the model: its code reads a, b, c from argument 'options'."
        " 'b' and 'options[b]' name one and the same input options[b]: expected one tensor for it."
        " The config declares no tensor for x (INPUT__0), options[a]: every input needs one."
        " Argument 'sizes' is of type List[int] and has no default, but requests can send only Tensor,"
        " Optional[Tensor], List[str] or Dict[str, Tensor]: give it a default, or serve a module around this one."
        " The inputs of the model are x (INPUT__0), options[a], options[b], options[c]."
    )


def test_of_many_unknown_names_some_are_explained() -> None:
    message = fault(["x", *(f"n{index}" for index in range(30))], X)
    assert message.count("is no input of the model") == 8
    assert "22 more names are unknown" in message


def test_what_can_be_left_out() -> None:
    arguments = (X, MASK, AB)
    places = [InputPlace(0), InputPlace(1), InputPlace(2, "a"), InputPlace(2, "c")]
    optional = [can_be_left_out(place, arguments) for place in places]
    assert optional == [False, True, False, True]
    assert input_labels((X, POWER, A_AND_MORE)) == ["x (INPUT__0)", "options[a]", "options[<key>]"]
