"""Planned outputs are found in what a Python function returned: by path and by index, with what an answer lacks."""

from typing import Any, NamedTuple

import pytest
import torch

from triton_pytorch.contract.leaves import Leaf, ValueKind
from triton_pytorch.io_naming.leaf_names import LeafNames
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.method_calls.result_reader import ResultReader
from triton_pytorch.method_calls.results import UNKNOWN, ContainerKind, ContainerType, LeafType, ResultType
from triton_pytorch.model_config.errors import ModelRunError

X, Y, Z = torch.tensor([1.0]), torch.tensor([2.0, 3.0]), torch.tensor(4)
STRINGS = LeafType(ValueKind.STRINGS, "List[str]")


class Pair(NamedTuple):
    first: Any
    second: Any


def by_path(*segments: str, name: str | None = None, kind: ValueKind = ValueKind.TENSOR) -> Leaf:
    path = LeafPath("RESULT", segments)
    return Leaf(LeafNames(path, (name or str(path),)), kind)


def by_index(index: int, kind: ValueKind = ValueKind.TENSOR, *, text: str = "any") -> Leaf:
    """Make an output that the config declares as `<text>__<index>`."""
    return Leaf(LeafNames(LeafPath("RESULT"), (f"{text}__{index}",), index), kind, is_by_index=True)


def read(result: Any, *leaves: Leaf, type_: ResultType = UNKNOWN) -> list[Any]:
    return list(ResultReader(leaves, type_).read(result))


def read_one(result: Any, leaf: Leaf) -> Any:
    (value,) = read(result, leaf)
    return value


@pytest.mark.parametrize(
    ("result", "segments", "expected"),
    [
        (X, (), X),
        ((X, [Y, Z]), ("1", "0"), Y),
        ({"a": X, "b": (Y, Z)}, ("b", "1"), Z),
        (Pair(X, {"k": Y}), ("1", "k"), Y),
        ({7: X, "b": Y}, ("7",), X),
        ([{"a b": X}], ("0", "a b"), X),
    ],
)
def test_path(result: Any, segments: tuple[str, ...], expected: torch.Tensor) -> None:
    assert read_one(result, by_path(*segments)) is expected


def test_index() -> None:
    result = ([X, [Y]], {"words": ["p", "q"], "none": None}, 7)
    words = by_index(2, ValueKind.STRINGS)
    x, y, strings, nothing, seven = read(result, by_index(0), by_index(1), words, by_index(3), by_index(4))
    assert (x, y, strings, nothing) == (X, Y, ["p", "q"], None)
    assert torch.equal(seven, torch.tensor(7))


@pytest.mark.parametrize(
    ("result", "text", "index", "expected"),
    [
        ({"boxes": X, "labels": Y}, "labels", 1, Y),
        ({"labels": Y}, "labels", 0, Y),
        ({"boxes": X, "labels": Y}, "any", 0, X),
        ({"OUTPUT": X, "labels": Y}, "OUTPUT", 1, Y),
        (Pair([X, Y], Z), "first", 1, Y),
    ],
)
def test_index_text_agrees(result: Any, text: str, index: int, expected: torch.Tensor) -> None:
    assert read_one(result, by_index(index, text=text)) is expected


@pytest.mark.parametrize(
    ("result", "text", "index", "owner"),
    [
        ({"boxes": X, "labels": Y}, "labels", 0, "boxes"),
        ({1: X, 0: Y}, "0", 0, "1"),
        (Pair([X, Y], Z), "second", 1, "first"),
        (Pair([], Z), "first", 0, "second"),
    ],
)
def test_index_text_contradicts(result: Any, text: str, index: int, owner: str) -> None:
    error = read_one(result, by_index(index, text=text))
    assert isinstance(error, ModelRunError)
    assert str(error) == (
        f"output '{text}__{index}' contradicts itself in this answer: its text names RESULT[{text}], and "
        f"OUTPUT__{index} belongs to RESULT[{owner}]; write the one that is meant"
    )


def test_index_contradicts_key_that_ends_in_one() -> None:
    error = read_one({"out__1": X, "out__0": Y}, by_index(0, text="out"))
    assert isinstance(error, ModelRunError)
    assert "its text names RESULT[out__0], and OUTPUT__0 belongs to RESULT[out__1]" in str(error)
    assert read_one({"out__0": X, "out__1": Y}, by_index(1, text="out")) is Y


@pytest.mark.parametrize(("type_", "index"), [(STRINGS, 1), (UNKNOWN, 0)])
def test_index_of_an_empty_list(type_: ResultType, index: int) -> None:
    children = (("0", type_), ("1", LeafType(ValueKind.TENSOR, "Tensor")))
    result_type = ContainerType(ContainerKind.SEQUENCE, "Tuple", children)
    assert read(([], X), by_index(index), type_=result_type) == [X]
    listed = ContainerType(ContainerKind.SEQUENCE, "List", element=type_)
    assert read([[], X], by_index(index), type_=listed) == [X]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(True, torch.bool), (3, torch.int64), (0.5, torch.float64), (1 + 2j, torch.complex128)],
)
def test_numbers_become_tensors(value: Any, dtype: torch.dtype) -> None:
    tensor = read_one((value,), by_path("0"))
    assert torch.equal(tensor, torch.tensor(value, dtype=dtype))
    assert tensor.dtype is dtype


def test_strings() -> None:
    strings = by_path(kind=ValueKind.STRINGS)
    assert read_one(["a", "b"], strings) == ["a", "b"]
    assert read_one("a", strings) == ["a"]
    assert read_one([], strings) == []
    assert read_one(None, strings) is None


@pytest.mark.parametrize(
    ("result", "leaf", "expected"),
    [
        ([X], by_path("1"), "output 'RESULT[1]' is not in this answer: RESULT is a list with 1 element"),
        (X, by_path("0"), "output 'RESULT[0]' is not in this answer: RESULT is a tensor"),
        (None, by_path("a"), "output 'RESULT[a]' is not in this answer: RESULT is None"),
        (["p"], by_path("0"), "output 'RESULT[0]' is not in this answer: RESULT is a list of strings with 1 element"),
        ((X, {}), by_path("1", "a"), "output 'RESULT[1][a]' is not in this answer: RESULT[1] is an empty dictionary"),
        (
            {"b": X, "c": X},
            by_path("a", name="a"),
            "output 'a' (RESULT[a]) is not in this answer: RESULT is a dictionary with the keys b, c",
        ),
        (
            [X],
            by_index(1),
            "output 'any__1' (OUTPUT__1) is not in this answer: the number of outputs is 1, counted from 0",
        ),
        ([X, Y], by_path(), "output 'RESULT' is a list with 2 elements in this answer: expected a tensor or a number"),
        ("text", by_path(), "output 'RESULT' is a string in this answer: expected a tensor or a number"),
        (
            X,
            by_path(kind=ValueKind.STRINGS),
            "output 'RESULT' is a tensor in this answer: expected strings, as it is TYPE_STRING",
        ),
        (
            {1, 2},
            by_path(name="x__0"),
            "output 'x__0' (RESULT) is a value of type set in this answer: expected a tensor or a number",
        ),
    ],
)
def test_missing_parts(result: Any, leaf: Leaf, expected: str) -> None:
    error = read_one(result, leaf)
    assert isinstance(error, ModelRunError)
    assert str(error) == expected


def test_outputs_beside_a_missing_one() -> None:
    x, missing, z = read((X, [], Z), by_path("0"), by_path("1", "0"), by_path("2"))
    assert (x, z) == (X, Z)
    assert isinstance(missing, ModelRunError)
