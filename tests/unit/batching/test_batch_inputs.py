"""Batch inputs say what model_config.proto says, in memory of their own, and never a number that is not exact."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from triton_pytorch.batching.batch_inputs import batch_input_builder
from triton_pytorch.model_config.batch_tensors import BatchInput, BatchInputKind
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.model_config.errors import RequestError

CPU = torch.device("cpu")
COUNTING = [DataType.INT32, DataType.INT64, DataType.FP32, DataType.FP64]
DTYPES = dict(zip(COUNTING, [torch.int32, torch.int64, torch.float32, torch.float64], strict=True))
LENGTHS = [(1, 2), (1, 0), (1, 5)]
PROTO = [(2, 3, 1), (1, 2, 2)]  # the example of BATCH_ITEM_SHAPE in model_config.proto


def built(kind: BatchInputKind, shapes: Sequence[Sequence[int]], data_type: DataType = DataType.INT32) -> torch.Tensor:
    return batch_input_builder(BatchInput("B", kind, data_type, "X"), CPU)(shapes)


@pytest.mark.parametrize("data_type", COUNTING, ids=str)
@pytest.mark.parametrize(
    ("kind", "shapes", "expected"),
    [
        (BatchInputKind.ELEMENT_COUNT, LENGTHS, [2, 0, 5]),
        (BatchInputKind.ELEMENT_COUNT, PROTO, [6, 4]),  # rows count
        (BatchInputKind.ELEMENT_COUNT, [(3,)], [3]),  # a number for each of three rows
        (BatchInputKind.ACCUMULATED_ELEMENT_COUNT, [(1, 2), (1, 2)], [2, 4]),  # the proto's example
        (BatchInputKind.ACCUMULATED_ELEMENT_COUNT, LENGTHS, [2, 2, 7]),
        (BatchInputKind.ACCUMULATED_ELEMENT_COUNT, PROTO, [6, 10]),
        (BatchInputKind.ACCUMULATED_ELEMENT_COUNT_WITH_ZERO, LENGTHS, [0, 2, 2, 7]),
        (BatchInputKind.ACCUMULATED_ELEMENT_COUNT_WITH_ZERO, [(1, 4)], [0, 4]),
        (BatchInputKind.ITEM_SHAPE, LENGTHS, [[2], [0], [5]]),
        (BatchInputKind.ITEM_SHAPE, PROTO, [[3, 1], [3, 1], [2, 2]]),
        (BatchInputKind.ITEM_SHAPE, [(0, 3), (2, 4)], [[4], [4]]),
        (BatchInputKind.ITEM_SHAPE_FLATTEN, LENGTHS, [2, 0, 5]),
        (BatchInputKind.ITEM_SHAPE_FLATTEN, PROTO, [3, 1, 3, 1, 2, 2]),
    ],
)
def test_content_of_each_kind(
    kind: BatchInputKind, shapes: list[tuple[int, ...]], expected: list[int], data_type: DataType
) -> None:
    made = built(kind, shapes, data_type)
    assert made.dtype is DTYPES[data_type]
    assert torch.equal(made, torch.tensor(expected, dtype=DTYPES[data_type]))


@pytest.mark.parametrize(
    ("kind", "shapes", "shape"),
    [
        (BatchInputKind.ITEM_SHAPE, [(0, 3), (0, 4)], (0, 1)),
        (BatchInputKind.ITEM_SHAPE, [(2,), (1,)], (3, 0)),  # a source without dims after its rows
        (BatchInputKind.ITEM_SHAPE_FLATTEN, [(2,), (1,)], (0,)),
    ],
)
def test_shape_without_numbers(kind: BatchInputKind, shapes: list[tuple[int, ...]], shape: tuple[int, ...]) -> None:
    assert built(kind, shapes).shape == shape


@pytest.mark.parametrize(("shapes", "largest"), [(LENGTHS, 5), (PROTO, 6), ([(1, 0)], 0)])
@pytest.mark.parametrize("data_type", [data_type for data_type in DataType if data_type.torch_name], ids=str)
def test_largest_count_is_a_shape_of_zeros(shapes: list[tuple[int, ...]], largest: int, data_type: DataType) -> None:
    made = built(BatchInputKind.MAX_ELEMENT_COUNT_AS_SHAPE, shapes, data_type)
    assert torch.equal(made, torch.zeros(largest, dtype=made.dtype))
    assert str(made.dtype) == f"torch.{data_type.torch_name}"


@pytest.mark.parametrize("kind", BatchInputKind, ids=str)
def test_device(kind: BatchInputKind) -> None:
    build = batch_input_builder(BatchInput("B", kind, DataType.INT32, "X"), torch.device("meta"))
    assert build(LENGTHS).device.type == "meta"


@pytest.mark.parametrize("kind", BatchInputKind, ids=str)
def test_model_may_write_to_it(kind: BatchInputKind) -> None:
    build = batch_input_builder(BatchInput("B", kind, DataType.INT32, "X"), CPU)
    expected = build(LENGTHS).clone()
    build(LENGTHS).add_(1)
    assert torch.equal(build(LENGTHS), expected)


@pytest.mark.parametrize(
    ("data_type", "largest"),
    [(DataType.INT32, 2**31 - 1), (DataType.INT64, 2**63 - 1), (DataType.FP32, 2**24), (DataType.FP64, 2**53)],
)
class TestLargeNumbers:
    """Each of these types holds the largest number exactly, and may not hold the next."""

    def test_largest_number_is_exact(self, data_type: DataType, largest: int) -> None:
        made = built(BatchInputKind.ELEMENT_COUNT, [(1, largest - 1), (1, largest)], data_type)
        assert [int(number) for number in made.tolist()] == [largest - 1, largest]

    @pytest.mark.parametrize("kind", [kind for kind in BatchInputKind if "AS_SHAPE" not in kind], ids=str)
    def test_larger_number_is_refused(self, data_type: DataType, largest: int, kind: BatchInputKind) -> None:
        with pytest.raises(RequestError) as caught:
            built(kind, [(1, 1), (1, largest + 1)], data_type)
        value = largest + 2 if "ACCUMULATED" in kind else largest + 1
        assert str(caught.value) == (
            f"batch_input 'B' of kind {kind} would hold {value}, but {data_type} holds each whole number up to "
            f"{largest} only: send less of input 'X'"
        )

    def test_sum_of_counts_that_is_too_large(self, data_type: DataType, largest: int) -> None:
        shapes = [(1, largest), (1, 1)]
        assert built(BatchInputKind.ELEMENT_COUNT, shapes, data_type).numel() == 2
        with pytest.raises(RequestError, match=f"would hold {largest + 1}, but {data_type}"):
            built(BatchInputKind.ACCUMULATED_ELEMENT_COUNT, shapes, data_type)


@settings(deadline=None)
@given(
    st.integers(0, 3).flatmap(
        lambda rank: st.lists(st.tuples(st.integers(1, 3), *[st.integers(0, 4)] * rank), min_size=1, max_size=5)
    )
)
def test_kinds_of_merged_tensors(shapes: list[tuple[int, ...]]) -> None:
    tensors = [torch.zeros(shape) for shape in shapes]
    flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
    ends = built(BatchInputKind.ACCUMULATED_ELEMENT_COUNT_WITH_ZERO, shapes).tolist()
    assert ends[-1] == flat.numel()
    pieces = [flat[start:end] for start, end in pairwise(ends)]
    assert [piece.numel() for piece in pieces] == built(BatchInputKind.ELEMENT_COUNT, shapes).tolist()
    assert max(piece.numel() for piece in pieces) == len(built(BatchInputKind.MAX_ELEMENT_COUNT_AS_SHAPE, shapes))
    rows = [row for tensor in tensors for row in tensor]
    assert built(BatchInputKind.ITEM_SHAPE, shapes).tolist() == [list(row.shape) for row in rows]
    assert built(BatchInputKind.ITEM_SHAPE_FLATTEN, shapes).tolist() == [size for row in rows for size in row.shape]
