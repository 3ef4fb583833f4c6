"""A result as output leaves: their names, which have an index for certain, and what only an answer can tell."""

from dataclasses import replace

import pytest

from triton_pytorch.contract.leaves import Leaf, ValueKind
from triton_pytorch.io_naming.leaf_names import LeafNames
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.method_calls.results import (
    UNKNOWN,
    ContainerKind,
    ContainerType,
    LeafType,
    ResultType,
    result_leaves,
)

TENSOR = LeafType(ValueKind.TENSOR, "Tensor")
STRINGS = LeafType(ValueKind.STRINGS, "List[str]")
NUMBER = LeafType(ValueKind.NUMBER, "int", "int64")
NOTHING = LeafType(ValueKind.NONE, "NoneType")
SOME = ContainerType(ContainerKind.SEQUENCE, "List[Tensor]", element=TENSOR)
BY_KEY = ContainerType(ContainerKind.MAPPING, "Dict[str, Tensor]", element=TENSOR)


def in_tuple(*parts: ResultType, fields: tuple[str, ...] = ()) -> ContainerType:
    children = tuple((str(index), part) for index, part in enumerate(parts))
    return ContainerType(ContainerKind.SEQUENCE, "Tuple", children, fields=fields)


def with_keys(*keys: str, are_certain: bool = True, part: ResultType = TENSOR) -> ContainerType:
    return replace(BY_KEY, children=tuple((key, part) for key in keys), are_certain=are_certain)


def labels(result: ResultType) -> list[str]:
    return [leaf.names.label for leaf in result_leaves(result)[0]]


def all_names(result: ResultType) -> list[tuple[str, ...]]:
    return [leaf.names.names for leaf in result_leaves(result)[0]]


def test_single_leaf() -> None:
    leaf = Leaf(LeafNames(LeafPath("RESULT"), ("RESULT",), index=0), ValueKind.NUMBER, "int64", type="int")
    assert result_leaves(NUMBER) == ((leaf,), False)


def test_leaf_kinds() -> None:
    leaves, has_open_result = result_leaves(in_tuple(TENSOR, STRINGS, NUMBER, NOTHING))
    assert [(leaf.kind, leaf.dtype, leaf.type) for leaf in leaves] == [
        (ValueKind.TENSOR, None, "Tensor"),
        (ValueKind.STRINGS, None, "List[str]"),
        (ValueKind.NUMBER, "int64", "int"),
        (ValueKind.NONE, None, "NoneType"),
    ]
    assert not has_open_result


@pytest.mark.parametrize(
    ("result", "expected", "is_open"),
    [
        (in_tuple(in_tuple(TENSOR, STRINGS), TENSOR), ["[0][0] (0)", "[0][1] (1)", "[1] (2)"], False),
        (in_tuple(with_keys("a", "b"), TENSOR), ["[0][a] (0)", "[0][b] (1)", "[1] (2)"], False),
        (SOME, ["[<index>]"], True),
        (BY_KEY, ["[<key>]"], True),
        (replace(BY_KEY, element=SOME), ["[<key>][<index>]"], True),
        (in_tuple(TENSOR, SOME, TENSOR), ["[0] (0)", "[1][<index>]", "[2]"], True),
        (in_tuple(TENSOR, UNKNOWN, TENSOR), ["[0] (0)", "[1]", "[2]"], True),
        (UNKNOWN, [""], True),
        # There may be fewer in an answer, but not more.
        (with_keys("a", "b", are_certain=False), ["[a]", "[b]"], False),
        (in_tuple(replace(in_tuple(TENSOR), is_optional=True), TENSOR), ["[0][0]", "[1]"], False),
        (with_keys(), [], False),
    ],
)
def test_index_where_it_is_certain(result: ResultType, expected: list[str], is_open: bool) -> None:
    assert labels(result) == [f"RESULT{label.replace('(', '(OUTPUT__')}" for label in expected]
    assert result_leaves(result)[1] is is_open


def test_dictionary_entry_names() -> None:
    assert all_names(with_keys("a", "b")) == [("RESULT[a]", "a"), ("RESULT[b]", "b")]
    assert all_names(BY_KEY) == [("RESULT[<key>]", "<key>")]
    assert all_names(with_keys("a", part=SOME)) == [("RESULT[a][<index>]",)]  # "a" alone is not a leaf
    assert all_names(in_tuple(with_keys("a"))) == [("RESULT[0][a]",)]


def test_named_tuple_names() -> None:
    inner = in_tuple(TENSOR, TENSOR, fields=("low", "high"))
    result = in_tuple(TENSOR, inner, SOME, fields=("score", "range", "rest"))
    assert all_names(result) == [
        ("RESULT[0]", "RESULT[score]", "score"),
        ("RESULT[1][0]", "RESULT[range][low]"),
        ("RESULT[1][1]", "RESULT[range][high]"),
        ("RESULT[2][<index>]", "RESULT[rest][<index>]"),
    ]
    assert all_names(in_tuple(inner)) == [("RESULT[0][0]", "RESULT[0][low]"), ("RESULT[0][1]", "RESULT[0][high]")]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (TENSOR, [(None, False)]),
        (in_tuple(TENSOR, with_keys("a")), [(None, False), (None, True)]),
        (with_keys("a", part=in_tuple(TENSOR, TENSOR)), [("a", True), ("a", True)]),
        (in_tuple(TENSOR, with_keys("a"), fields=("first", "second")), [("first", False), ("second", True)]),
        (BY_KEY, [(None, True)]),
    ],
)
def test_owner_and_entry(result: ResultType, expected: list[tuple[str | None, bool]]) -> None:
    assert [(leaf.names.owner, leaf.names.is_entry) for leaf in result_leaves(result)[0]] == expected


def test_very_many_leaves() -> None:
    leaves, has_open_result = result_leaves(in_tuple(*[TENSOR] * 5000))
    assert [leaf.names.index for leaf in leaves] == list(range(5000))
    assert not has_open_result
