"""Declared outputs find their leaves in a result: as far as its type is known at load, with all that contradicts it."""

from dataclasses import replace

import pytest

from triton_pytorch.io_naming.names import Direction, LeafPath, OrdinalName
from triton_pytorch.io_naming.result_names import UNKNOWN, ResultKind, ResultType, output_labels, place_outputs
from triton_pytorch.model_config.errors import NamingError

TENSOR = ResultType(ResultKind.TENSOR, "Tensor")
STRINGS = ResultType(ResultKind.STRINGS, "List[str]")
NOTHING = ResultType(ResultKind.NONE, "NoneType")
MAYBE = replace(TENSOR, text="Optional[Tensor]", is_optional=True)
SOME = ResultType(ResultKind.SEQUENCE, "List[Tensor]", element=TENSOR)
BY_KEY = ResultType(ResultKind.MAPPING, "Dict[str, Tensor]", element=TENSOR)


def in_tuple(*parts: ResultType) -> ResultType:
    text = f"Tuple[{', '.join(part.text for part in parts)}]"
    return ResultType(ResultKind.SEQUENCE, text, children=tuple((str(index), part) for index, part in enumerate(parts)))


def with_keys(*keys: str, are_certain: bool = True, part: ResultType = TENSOR) -> ResultType:
    return replace(BY_KEY, children=tuple((key, part) for key in keys), are_certain=are_certain)


def placed(declared: list[str], result: ResultType) -> list[str]:
    outputs = place_outputs(declared, result)
    assert outputs.warnings == ()
    return list(map(str, outputs.places))


@pytest.mark.parametrize(
    ("declared", "result", "expected"),
    [
        (["RESULT"], TENSOR, ["RESULT"]),
        (["OUTPUT__0"], TENSOR, ["RESULT"]),
        (["anything__0"], TENSOR, ["RESULT"]),
        (["RESULT"], STRINGS, ["RESULT"]),
        (["b__1", "RESULT[0]"], in_tuple(TENSOR, MAYBE), ["RESULT[1]", "RESULT[0]"]),
        (["a__1", "b__3"], in_tuple(in_tuple(TENSOR, STRINGS), NOTHING, TENSOR), ["RESULT[0][1]", "RESULT[2]"]),
        (["RESULT[7]", "a__2"], SOME, ["RESULT[7]", "OUTPUT__2"]),
        (["a__0", "a__1"], in_tuple(TENSOR, SOME), ["RESULT[0]", "OUTPUT__1"]),
        (["a__0"], in_tuple(replace(in_tuple(TENSOR), is_optional=True)), ["OUTPUT__0"]),
        (["x", "RESULT[y]", "z__1"], BY_KEY, ["RESULT[x]", "RESULT[y]", "OUTPUT__1"]),
        (["x", "n__1"], with_keys("x", "y"), ["RESULT[x]", "RESULT[y]"]),
        (["x", "n__1"], with_keys("x", "y", are_certain=False), ["RESULT[x]", "OUTPUT__1"]),
        (["a b", "a,b"], BY_KEY, ["RESULT[a b]", "RESULT[a,b]"]),
        (["RESULT[0][k]", "RESULT[1]"], UNKNOWN, ["RESULT[0][k]", "RESULT[1]"]),
        (["RESULT[0][k]", "n__5"], in_tuple(UNKNOWN), ["RESULT[0][k]", "OUTPUT__5"]),
        ([], TENSOR, []),
    ],
)
def test_places(declared: list[str], result: ResultType, expected: list[str]) -> None:
    assert placed(declared, result) == expected


def test_types_are_known_where_paths_are() -> None:
    outputs = place_outputs(["RESULT[1]", "a__2", "a__0"], in_tuple(TENSOR, STRINGS, SOME))
    assert outputs.places == (
        LeafPath("RESULT", ("1",)),
        OrdinalName(Direction.OUTPUT, 2),
        LeafPath("RESULT", ("0",)),
    )
    assert outputs.types == (STRINGS, UNKNOWN, TENSOR)


@pytest.mark.parametrize(
    ("declared", "result", "pairs"),
    [
        (["y"], TENSOR, "'y' is RESULT"),
        (["y", "z"], in_tuple(TENSOR, TENSOR, TENSOR), "'y' is RESULT[0], 'z' is RESULT[1]"),
        (["y", "z"], SOME, "'y' is OUTPUT__0, 'z' is OUTPUT__1"),
        (["y"], UNKNOWN, "'y' is OUTPUT__0"),
    ],
)
def test_the_order_of_the_config_decides_where_nothing_else_does(
    declared: list[str], result: ResultType, pairs: str
) -> None:
    outputs = place_outputs(declared, result)
    assert outputs.warnings == (
        f"no output is named RESULT.., or <name>__<index>: the order of the config decides, so {pairs}",
    )


@pytest.mark.parametrize(
    ("declared", "result", "fragment"),
    [
        (
            ["RESULT[0]"],
            TENSOR,
            "'RESULT[0]' is no output of the model: RESULT is Tensor, a leaf; did you mean 'RESULT'",
        ),
        (["RESULT[a]"], STRINGS, "'RESULT[a]' is no output of the model: RESULT is List[str], a leaf"),
        (
            ["RESULT[2]"],
            in_tuple(TENSOR, TENSOR),
            "RESULT is Tuple[Tensor, Tensor], with 2 elements; did you mean 'RES",
        ),
        (["RESULT[1]"], in_tuple(TENSOR), "RESULT is Tuple[Tensor], with 1 element"),
        (["RESULT[x]"], SOME, "RESULT is List[Tensor], whose elements are numbered from 0"),
        (["RESULT[01]"], SOME, "RESULT is List[Tensor], whose elements are numbered from 0"),
        (["RESULT[0][1]"], SOME, "'RESULT[0][1]' is no output of the model: RESULT[0] is Tensor, a leaf"),
        (["RESULT"], in_tuple(TENSOR, SOME), "expected one of its leaves, RESULT[0], RESULT[1][<index>]"),
        (["RESULT"], BY_KEY, "'RESULT' is a container and no tensor: expected one of its leaves, RESULT[<key>]"),
        (["labls"], with_keys("labels"), "RESULT has the keys labels; did you mean 'RESULT[labels]'?"),
        (
            ["RESULT[labls]"],
            with_keys("labels", are_certain=False),
            "RESULT has the keys labels; did you mean 'RESULT[l",
        ),
        (["x"], with_keys(), "'x' is no output of the model: RESULT has no keys"),
        (
            ["x"],
            with_keys("x", part=SOME),
            "'x' is a container and no tensor: expected one of its leaves, RESULT[x][<in",
        ),
        (["y__1"], TENSOR, "'y__1' is out of range: the number of outputs is 1, counted from 0"),
        (["y__2"], with_keys("a", "b", are_certain=False), "'y__2' is out of range: the number of outputs is 2"),
        (["a", "b"], TENSOR, "the number of declared outputs is 2, but the model returns 1"),
        (["a", "a"], in_tuple(TENSOR, TENSOR), "'a' is declared 2 times"),
        (["RESULT[0]", "y"], in_tuple(TENSOR, TENSOR), "'y' is no output of the model"),
        (["RESULT[0", "y"], in_tuple(TENSOR, TENSOR), "'RESULT[0' is no name of an output: expected OUTPUT__<n>, RESU"),
        (["result[0]"], in_tuple(TENSOR, TENSOR), "'result[0]' is no name of an output"),
        (["ARGS[0]"], in_tuple(TENSOR, TENSOR), "'ARGS[0]' names an input but is declared as an output"),
        (
            ["RESULT[0]", "y__0"],
            in_tuple(TENSOR, TENSOR),
            "'RESULT[0]' and 'y__0' name one and the same output RESULT[",
        ),
        (["x", "RESULT[x]"], BY_KEY, "'x' and 'RESULT[x]' name one and the same output RESULT[x]"),
        (["RESULT[1]"], in_tuple(TENSOR, NOTHING), "output 'RESULT[1]' is always None: remove it from the config"),
        (["y__1"], in_tuple(TENSOR, NOTHING), "output 'y__1' is always None: remove it from the config"),
        (
            ["x__1"],
            with_keys("x__1", "y"),
            "'x__1' can mean RESULT[y] or RESULT[x__1]: expected a name that only one of",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(declared: list[str], result: ResultType, fragment: str) -> None:
    with pytest.raises(NamingError) as caught:
        place_outputs(declared, result)
    assert fragment.lower() in str(caught.value).lower()
    assert "The outputs of the model are" in str(caught.value) or "The model has no outputs" in str(caught.value)


def test_labels_have_an_index_where_it_is_certain() -> None:
    result = in_tuple(TENSOR, with_keys("a", "b"), SOME, TENSOR, UNKNOWN)
    assert output_labels(result) == [
        "RESULT[0] (OUTPUT__0)",
        "RESULT[1][a] (OUTPUT__1)",
        "RESULT[1][b] (OUTPUT__2)",
        "RESULT[2][<index>]",
        "RESULT[3]",
        "RESULT[4]",
    ]


def test_a_result_of_very_many_leaves_is_served() -> None:
    many = in_tuple(*[TENSOR] * 5000)
    assert placed(["a__4999", "RESULT[4998]", "a__0"], many) == ["OUTPUT__4999", "RESULT[4998]", "RESULT[0]"]
