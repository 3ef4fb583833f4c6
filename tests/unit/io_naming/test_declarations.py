"""Each way in which a declared input can contradict its leaf is one sentence; what fits is none."""

import json
from typing import Any

import pytest
import torch

from triton_pytorch.io_naming.declarations import (
    bounds_text,
    declared_shape,
    input_faults,
    input_warnings,
    is_scalar,
)
from triton_pytorch.io_naming.leaves import Dimension, Leaf
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.io_naming.sizes import open_size, size_of
from triton_pytorch.model_config.configuration import ModelConfig, TensorConfig, read_config
from triton_pytorch.tests.assets.configs import model_config, tensor_config

PATH = LeafPath("ARGS", ("0",))


def declared(
    dims: tuple[int, ...] = (), max_batch_size: int = 0, dtype: torch.dtype = torch.float32, **more: Any
) -> tuple[TensorConfig, ModelConfig]:
    document = model_config([tensor_config("X", dtype, dims, **more)], [], max_batch_size=max_batch_size)
    config = read_config(json.dumps({"name": "m", **document}))
    return config.inputs[0], config


def leaf(*sizes: int | str | Dimension, dtype: str | None = "float32") -> Leaf:
    return Leaf(PATH, dtype, tuple(map(dimension, sizes)))


def dimension(size: int | str | Dimension) -> Dimension:
    match size:
        case int():
            return Dimension(size_of(size), size, size)
        case str():
            return Dimension(open_size(size), 1)
    return size


BATCH = Dimension(open_size("s1"), 1, 64)


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
        (declared((2, 3)), Leaf(PATH)),
        (declared((2, 3)), leaf(2, 3, dtype=None)),
        (declared((2, 3)), Leaf(PATH, "float32")),
        (declared((0,)), leaf(0)),
        (declared((64,)), leaf(BATCH)),
        (declared((3,), dtype=torch.bool), leaf(3, dtype="bool")),
        (declared((3,), dtype=torch.bfloat16), leaf(3, dtype="bfloat16")),
        (declared((3,), dtype=torch.uint64), leaf(3, dtype="uint64")),
    ],
)
def test_what_fits(tensor: tuple[TensorConfig, ModelConfig], model: Leaf) -> None:
    assert list(input_faults(tensor[0], model, tensor[1])) == []


DIMS = "input 'X' is declared with dims "
FIXED_BATCH = (
    "the config has max_batch_size: 8, but the model was exported with a fixed first dimension of 4 for input 'X': "
    "export with a dynamic first dimension, or set max_batch_size: 0"
)


@pytest.mark.parametrize(
    ("tensor", "model", "faults"),
    [
        (
            declared((3,), dtype=torch.float64),
            leaf(3),
            ["input 'X' is declared TYPE_FP64, but the model takes TYPE_FP32"],
        ),
        (
            declared((3,), data_type="TYPE_STRING"),
            leaf(3),
            ["input 'X' is declared TYPE_STRING, but the model takes TYPE_FP32"],
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
                DIMS + "[-1, 2, 3] behind the batch dimension, but the model takes 3 dimensions, [s1, 2, 3]: leave "
                "the batch dimension out of dims, or set max_batch_size: 0"
            ],
        ),
        (declared((3,)), leaf(), [DIMS + "[3], but the model takes 0 dimensions, []: declare dims: [ 1 ]"]),
        (declared((-1,)), leaf(), [DIMS + "[-1], but the model takes 0 dimensions, []: declare dims: [ 1 ]"]),
        (
            declared((1,), 8),
            leaf(),
            [DIMS + "[1] behind the batch dimension, but the model takes 0 dimensions, []"],
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
            ["dimension 0 of input 'X' is declared 65, but the model takes 1 to 64 in [s1]"],
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
                FIXED_BATCH,
                "dimension 2 of input 'X' is declared 5, but the model takes 6 in [4, 3, 6]",
            ],
        ),
    ],
)
def test_what_does_not_fit(tensor: tuple[TensorConfig, ModelConfig], model: Leaf, faults: list[str]) -> None:
    assert list(input_faults(tensor[0], model, tensor[1])) == faults


@pytest.mark.parametrize(
    ("tensor", "model", "warnings"),
    [
        (
            declared((3,), 65),
            leaf(BATCH, 3),
            ["the config has max_batch_size: 65, but the model was exported for at most 64 rows of input 'X'"],
        ),
        (declared((3,), 64), leaf(BATCH, 3), []),
        (declared((3,), 65), leaf("s1", 3), []),
        (declared((-1, 3)), leaf(BATCH, 3), []),
        (declared((1,)), leaf(), []),
        (declared((3,), 65), Leaf(PATH), []),
    ],
)
def test_more_rows_than_the_exporter_promised(
    tensor: tuple[TensorConfig, ModelConfig], model: Leaf, warnings: list[str]
) -> None:
    assert list(input_warnings(tensor[0], model, tensor[1])) == warnings


@pytest.mark.parametrize(
    ("tensor", "shape"),
    [
        (declared((2, -1)), (2, -1)),
        (declared((2, -1), 8), (-1, 2, -1)),
        (declared((6,), reshape={"shape": [2, 3]}), (2, 3)),
        (declared((1,), 8, reshape={"shape": []}), (-1,)),
    ],
)
def test_the_shape_that_reaches_the_model(tensor: tuple[TensorConfig, ModelConfig], shape: tuple[int, ...]) -> None:
    assert declared_shape(*tensor) == shape


@pytest.mark.parametrize(
    ("tensor", "model", "expected"),
    [
        (declared((1,)), leaf(), True),
        (declared((1,)), leaf(1), False),
        (declared((1,)), Leaf(PATH), False),
        (declared((2,)), leaf(), False),
        (declared((1,), 8), leaf(), False),
        (declared((1,), reshape={"shape": [1]}), leaf(), True),
    ],
)
def test_scalars(tensor: tuple[TensorConfig, ModelConfig], model: Leaf, expected: bool) -> None:
    assert is_scalar(tensor[0], model, tensor[1]) is expected


@pytest.mark.parametrize(
    ("dimension", "text"),
    [
        (Dimension(size_of(3), 3, 3), "3"),
        (Dimension(open_size("s1"), 2), "at least 2"),
        (Dimension(open_size("s1"), 0, 64), "0 to 64"),
    ],
)
def test_bounds(dimension: Dimension, text: str) -> None:
    assert bounds_text(dimension) == text
