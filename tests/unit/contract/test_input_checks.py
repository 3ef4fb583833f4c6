"""Each way in which a declared input can contradict its leaf is one sentence; what fits is none."""

import json
from dataclasses import replace
from typing import Any

import pytest
import torch

from triton_pytorch.contract.declared_inputs import DeclaredInput, declared_inputs
from triton_pytorch.contract.input_checks import UNBOUNDED, bounds_text, fixed_batch_errors, input_errors, is_one_value
from triton_pytorch.contract.leaves import Dimension, Leaf, ValueKind
from triton_pytorch.contract.sizes import dynamic_size, size_of
from triton_pytorch.model_config.configuration import read_config
from triton_pytorch.tests.assets.configs import model_config, tensor_config
from triton_pytorch.tests.assets.leaves import positional

Declared = tuple[DeclaredInput, int]  # with max_batch_size


def declared(
    dims: tuple[int, ...] = (), max_batch_size: int = 0, dtype: torch.dtype = torch.float32, **more: Any
) -> Declared:
    document = model_config([tensor_config("X", dtype, dims, **more)], [], max_batch_size=max_batch_size)
    (tensor,) = declared_inputs(read_config(json.dumps({"name": "m", **document})))
    return tensor, max_batch_size


def ragged(dims: tuple[int, ...] = (-1,), **more: Any) -> Declared:
    return declared(dims, 8, allow_ragged_batch=True, **more)


def made(kind: str, data_type: str = "TYPE_INT32", dims: tuple[int, ...] = (-1, 3)) -> Declared:
    """Declare the batch input B of a source with these dims."""
    entry = {"kind": kind, "target_name": ["B"], "data_type": data_type, "source_input": ["X"]}
    document = model_config([tensor_config("X", dims=dims)], [], max_batch_size=8, batch_input=[entry])
    return declared_inputs(read_config(json.dumps({"name": "m", **document})))[1], 8


def leaf(*sizes: int | str | Dimension, dtype: str | None = "float32") -> Leaf:
    return positional(0, dtype=dtype, shape=tuple(map(dimension, sizes)))


def dimension(size: int | str | Dimension) -> Dimension:
    match size:
        case int():
            return Dimension(size_of(size), size, size)
        case str():
            return Dimension(dynamic_size(size), 1)
    return size


BATCH = Dimension(dynamic_size("s1"), 1, 64)
NUMBER = positional(0, kind=ValueKind.NUMBER, dtype="int64", shape=(), type="int")


@pytest.mark.parametrize(
    ("tensor", "model"),
    [
        (declared((2, 3)), leaf(2, 3)),
        (declared((-1, 3)), leaf("s1", 3)),
        (declared((7, 3)), leaf("s1", 3)),
        (declared((-1, -1)), leaf(2, 3)),  # checked at the request
        (declared((3,), 8), leaf("s1", 3)),
        (declared((3, -1), 65), leaf(BATCH, 3, "s2")),  # a warning
        (declared((6,), reshape={"shape": [2, 3]}), leaf(2, 3)),
        (declared((1,), 8, reshape={"shape": []}), leaf("s1")),
        (declared((1,)), leaf()),
        (declared((1,), 8), leaf()),
        (declared((1,), 8, reshape={"shape": []}), leaf()),
        (declared((1,), dtype=torch.int32), NUMBER),  # the type is value_checks.py's
        (declared((2, 3)), positional(0)),
        (declared((2, 3)), leaf(2, 3, dtype=None)),
        (declared((2, 3)), positional(0, dtype="float32")),
        (declared((0,)), leaf(0)),
        (declared((64,)), leaf(BATCH)),
        (declared((3,), dtype=torch.bool), leaf(3, dtype="bool")),
        (declared((3,), dtype=torch.bfloat16), leaf(3, dtype="bfloat16")),
        (declared((3,), dtype=torch.uint64), leaf(3, dtype="uint64")),
        (ragged(), leaf("s1")),
        (ragged((3, 4)), leaf(BATCH)),  # flat, and more than the exporter promised is seen at the call
        (ragged((6,), reshape={"shape": [2, 3]}), leaf("s1")),
        (ragged(), positional(0)),
        (made("BATCH_ELEMENT_COUNT"), leaf("s1", dtype="int32")),
        (made("BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO", "TYPE_FP32"), leaf("s1")),
        (made("BATCH_ITEM_SHAPE"), leaf("s1", 2, dtype="int32")),
        (made("BATCH_ITEM_SHAPE"), leaf("s1", "s2", dtype="int32")),
        (made("BATCH_ITEM_SHAPE_FLATTEN"), leaf("s1", dtype="int32")),
    ],
)
def test_no_errors(tensor: Declared, model: Leaf) -> None:
    assert list(input_errors(tensor[0], model, tensor[1])) == []


DIMS = "input 'X' is declared with dims "
FLAT = (
    "input 'X' is ragged, so that all requests arrive flat, in 1 dimension, but the model takes {}: export a model "
    "that takes it flat, or remove `allow_ragged_batch: true`"
)
MADE = "input 'B' is made by batch_input of kind BATCH_ELEMENT_COUNT, "
INT64_COUNTS = (
    "input 'B' is declared TYPE_INT32, but the model takes TYPE_INT64: Triton makes batch inputs TYPE_INT32 or "
    "TYPE_FP32, so export the model with one of these"
)
FIXED_FIRST = (
    "so that the requests of a call decide its first dimension, but the model was exported with a fixed one of {}: "
    "export with a dynamic first dimension"
)
FIXED_BATCH = (
    "the config has max_batch_size: 8, but the model was exported with a fixed first dimension of 4 for input 'X': "
    "export with a dynamic first dimension, or set max_batch_size: 0"
)


@pytest.mark.parametrize(
    ("tensor", "model", "errors"),
    [
        (
            declared((3,), dtype=torch.float64),
            leaf(3),
            ["input 'X' is declared TYPE_FP64, but the model takes TYPE_FP32"],
        ),
        (
            declared((3,)),
            leaf(3, dtype="complex64"),
            ["input 'X' is declared TYPE_FP32, but the model takes complex64, which Triton lacks"],
        ),
        (
            declared((2, 3)),
            leaf("s1", 2, 3),
            [
                DIMS + "[2, 3], but the model takes 3 dimensions, [s1, 2, 3]: add the missing dimension to dims, or "
                "set max_batch_size"
            ],
        ),
        (
            declared((-1, 2, 3), 8),
            leaf("s1", 2, 3),
            [
                DIMS + "[-1, 2, 3] after the batch dimension, but the model takes 3 dimensions, [s1, 2, 3]: leave "
                "the batch dimension out of dims, or set max_batch_size: 0"
            ],
        ),
        (declared((3,)), leaf(), [DIMS + "[3], but the model takes 0 dimensions, []: declare dims: [ 1 ]"]),
        (declared((-1,)), leaf(), [DIMS + "[-1], but the model takes 0 dimensions, []: declare dims: [ 1 ]"]),
        (
            declared((2,), 8),
            leaf(),
            [DIMS + "[2] after the batch dimension, but the model takes 0 dimensions, []: declare dims: [ 1 ]"],
        ),
        (declared((-1,)), NUMBER, [DIMS + "[-1], but the model takes int, which is one number: declare dims: [ 1 ]"]),
        (
            declared((1, 1), 8),
            NUMBER,
            [
                DIMS + "[1, 1] after the batch dimension, but the model takes int, which is one number: declare dims: "
                "[ 1 ]"
            ],
        ),
        (
            declared((1,), 8),
            leaf("s1"),
            [
                DIMS + "[1] after the batch dimension, but the model takes 1 dimension, [s1]: declare dims: [ 1 ] and "
                "reshape: { shape: [ ] }, or set max_batch_size: 0"
            ],
        ),
        (
            declared((6,), reshape={"shape": [2, 3]}),
            leaf(6),
            [DIMS + "[2, 3], but the model takes 1 dimension, [6]"],
        ),
        (
            declared((6,), reshape={"shape": [2, 3]}),
            leaf(2, 4),
            ["dimension 1 of input 'X' is declared 3, but the model takes 4 in [2, 4]"],
        ),
        (
            declared((4, 5)),
            leaf(2, 3),
            [
                "dimension 0 of input 'X' is declared 4, but the model takes 2 in [2, 3]",
                "dimension 1 of input 'X' is declared 5, but the model takes 3 in [2, 3]",
            ],
        ),
        (
            declared((5,), 8),
            leaf("s1", 3),
            ["dimension 1 of input 'X' is declared 5, but the model takes 3 in [s1, 3]"],
        ),
        (
            declared((65,)),
            leaf(BATCH),
            [f"dimension 0 of input 'X' is declared 65, but the model takes 1 to 64 in [s1]: {UNBOUNDED}"],
        ),
        (
            declared((0,)),
            leaf("s1"),
            ["dimension 0 of input 'X' is declared 0, but the model takes at least 1 in [s1]"],
        ),
        (
            declared((3,), 8),
            leaf(4, 3),
            [FIXED_BATCH],
        ),
        (
            declared((3, 5), 8, torch.int64),
            leaf(4, 3, 6),
            [
                "input 'X' is declared TYPE_INT64, but the model takes TYPE_FP32",
                "dimension 2 of input 'X' is declared 5, but the model takes 6 in [4, 3, 6]",
                FIXED_BATCH,
            ],
        ),
        (ragged((3,)), leaf("s1", 3), [FLAT.format("2 dimensions, [s1, 3]")]),
        (ragged((1,)), leaf(), [FLAT.format("0 dimensions, []")]),
        (ragged((1,)), NUMBER, [FLAT.format("int, which is one number")]),
        (ragged((4,)), leaf(4), ["input 'X' is ragged, " + FIXED_FIRST.format(4)]),
        (ragged(data_type="TYPE_FP64"), leaf("s1"), ["input 'X' is declared TYPE_FP64, but the model takes TYPE_FP32"]),
        (
            made("BATCH_ELEMENT_COUNT"),
            leaf(8, dtype="int32"),
            [MADE + FIXED_FIRST.format(8)],
        ),
        (
            made("BATCH_ELEMENT_COUNT"),
            leaf("s1", 1, dtype="int32"),
            [MADE + "which has 1 dimension, but the model takes 2 dimensions, [s1, 1]"],
        ),
        (
            made("BATCH_ITEM_SHAPE", dims=(1,)),
            NUMBER,
            [
                MADE.replace("ELEMENT_COUNT", "ITEM_SHAPE")
                + "which has 2 dimensions, but the model takes int, which is one number"
            ],
        ),
        (
            made("BATCH_ITEM_SHAPE"),
            leaf(4, 3, dtype="int32"),
            [
                "input 'B' is made by batch_input of kind BATCH_ITEM_SHAPE, " + FIXED_FIRST.format(4),
                "dimension 1 of input 'B' is 2, the number of dims of its source, but the model takes 3 in [4, 3]",
            ],
        ),
        (
            made("BATCH_ELEMENT_COUNT"),
            leaf("s1", dtype="int64"),
            [INT64_COUNTS],
        ),
        (
            made("BATCH_ELEMENT_COUNT", "TYPE_FP32"),
            leaf("s1", dtype="int32"),
            ["input 'B' is declared TYPE_FP32, but the model takes TYPE_INT32"],
        ),
    ],
)
def test_errors(tensor: Declared, model: Leaf, errors: list[str]) -> None:
    found = [*input_errors(tensor[0], model, tensor[1]), *fixed_batch_errors([(tensor[0], model)], tensor[1])]
    assert found == errors


def test_fixed_batch_of_many_inputs() -> None:
    """What all inputs share is said once."""
    first, last = declared((3,), 8)[0], declared((2,), 8)[0]
    inputs = [(first, leaf(4, 3)), (replace(last, name="Y"), leaf(4, 2)), (replace(last, name="Z"), leaf(5, 2))]
    assert list(fixed_batch_errors([*inputs, (first, leaf("s1", 3)), (first, leaf(4))], 8)) == [
        "the config has max_batch_size: 8, but the model was exported with a fixed first dimension of "
        f"{what}: export with a dynamic first dimension, or set max_batch_size: 0"
        for what in ("4 for inputs 'X', 'Y'", "5 for input 'Z'")
    ]


@pytest.mark.parametrize(
    ("tensor", "shape"),
    [
        (declared((2, -1)), (2, -1)),
        (declared((2, -1), 8), (-1, 2, -1)),
        (declared((6,), reshape={"shape": [2, 3]}), (2, 3)),
        (declared((1,), 8, reshape={"shape": []}), (-1,)),
        (ragged((2, 3)), (-1,)),
        (made("BATCH_ELEMENT_COUNT"), (-1,)),
        (made("BATCH_ACCUMULATED_ELEMENT_COUNT"), (-1,)),
        (made("BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO"), (-1,)),
        (made("BATCH_MAX_ELEMENT_COUNT_AS_SHAPE"), (-1,)),
        (made("BATCH_ITEM_SHAPE"), (-1, 2)),
        (made("BATCH_ITEM_SHAPE_FLATTEN"), (-1,)),
    ],
)
def test_shape_of_the_call(tensor: Declared, shape: tuple[int, ...]) -> None:
    assert tensor[0].shape == shape


@pytest.mark.parametrize(
    ("tensor", "model", "expected"),
    [
        (declared((1,)), leaf(), True),
        (declared((1,)), leaf(1), False),
        (declared((1,)), positional(0), False),
        (declared((2,)), leaf(), False),
        (declared((1,), reshape={"shape": [1]}), leaf(), True),
        (declared((1,)), NUMBER, True),
        (declared((-1,)), NUMBER, False),
        (declared((1, 1)), NUMBER, False),
        (declared((1,), 8), leaf(), True),
        (declared((1,), 8, reshape={"shape": []}), leaf(), True),
        (declared((1,), 8), leaf("s1", 1), False),
        (declared((1,), 8, reshape={"shape": []}), leaf("s1"), False),
        (declared((2,), 8), leaf(), False),
        (declared((-1,), 8), leaf(), False),
        (declared((1, 1), 8), leaf(), False),
        (ragged((1,)), leaf(), False),
        (made("BATCH_ELEMENT_COUNT"), leaf(), False),
        (made("BATCH_ITEM_SHAPE", dims=(1,)), leaf(), False),
    ],
)
def test_one_value(tensor: Declared, model: Leaf, expected: bool) -> None:
    assert is_one_value(tensor[0], model) is expected


@pytest.mark.parametrize(
    ("dimension", "text"),
    [
        (Dimension(size_of(3), 3, 3), "3"),
        (Dimension(dynamic_size("s1"), 2), "at least 2"),
        (Dimension(dynamic_size("s1"), 0, 64), "0 to 64"),
    ],
)
def test_bounds(dimension: Dimension, text: str) -> None:
    assert bounds_text(dimension) == text
