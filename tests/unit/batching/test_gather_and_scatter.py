"""Gathering puts every row where it belongs, with one copy at most; scattering hands exactly those rows back."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from triton_pytorch.batching.gather import gather
from triton_pytorch.batching.scatter import scatter_rows, scatter_shapes, scatter_strings
from triton_pytorch.tests.integration.fake_triton import unaligned
from triton_pytorch.torch_runtime.tensors import ALIGNMENT_BYTES

CPU = torch.device("cpu")
DTYPES = [torch.bool, torch.uint8, torch.int16, torch.int64, torch.float16, torch.bfloat16, torch.float64]


def numbered(shape: tuple[int, ...], dtype: torch.dtype, start: int) -> torch.Tensor:
    """Make a tensor of numbers that every dtype holds exactly, at an address that no vector load likes."""
    count = torch.Size(shape).numel()
    return unaligned((torch.arange(start, start + count) % 97 % (2 if dtype is torch.bool else 97)).to(dtype)).view(
        shape
    )


def rows_of(tensors: list[torch.Tensor]) -> list[Any]:
    return [row for tensor in tensors for row in tensor.tolist()]


SHAPES = st.lists(st.integers(0, 3), max_size=3)
ROWS = st.lists(st.integers(0, 4), min_size=1, max_size=6)


@settings(deadline=None)
@given(rows=ROWS, dims=SHAPES, dtype=st.sampled_from(DTYPES), data=st.data())
def test_rows_gathered_and_scattered(rows: list[int], dims: list[int], dtype: torch.dtype, data: Any) -> None:
    tensors = [numbered((count, *dims), dtype, 31 * number) for number, count in enumerate(rows)]
    order = tuple(data.draw(st.none() | st.permutations(range(len(dims) + 1))) or ()) or None

    gathered = gather(tensors, CPU, order)
    parts = scatter_rows(gathered, rows)

    assert gathered.dtype is dtype
    assert gathered.tolist() == rows_of(tensors)
    assert [part.tolist() for part in parts] == [tensor.tolist() for tensor in tensors]
    assert [part.shape for part in parts] == [tensor.shape for tensor in tensors]
    assert gathered.permute(order or tuple(range(len(dims) + 1))).is_contiguous()
    assert gathered.data_ptr() % ALIGNMENT_BYTES == 0
    assert all(part.is_contiguous() for part in parts)


@settings(deadline=None)
@given(shapes=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3), min_size=1, max_size=5))
def test_flat_result_is_cut_into_shapes(shapes: list[list[int]]) -> None:
    counts = [torch.Size(shape).numel() for shape in shapes]
    parts = scatter_shapes(torch.arange(sum(counts)), shapes)
    ends = [sum(counts[: number + 1]) for number in range(len(counts))]
    for part, shape, end, count in zip(parts, shapes, ends, counts, strict=True):
        assert part.shape == tuple(shape)
        assert part.flatten().tolist() == list(range(end - count, end))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool])
@pytest.mark.parametrize("layout", [None, (0, 2, 3, 1)])
def test_gather_copies(dtype: torch.dtype, layout: tuple[int, ...] | None) -> None:
    tensors = [torch.zeros(2, 3, 4, 5, dtype=dtype), torch.ones(1, 3, 4, 5, dtype=dtype)]
    gathered = gather(tensors, CPU, layout)
    gathered.fill_(7)
    assert [float(tensor.sum()) for tensor in tensors] == [0.0, 60.0]


def test_scattered_rows_are_views() -> None:
    result = torch.zeros(3, 4)
    first, second = scatter_rows(result, [1, 2])
    assert [first.data_ptr(), second.data_ptr()] == [result.data_ptr(), result[1:].data_ptr()]


def test_gather_one_aligned_request() -> None:
    x = torch.zeros(3, 4)
    assert gather([x], CPU, None) is x
    assert scatter_rows(x, [3])[0].data_ptr() == x.data_ptr()


@pytest.mark.parametrize("count", [1, 2])
def test_gather_booleans(count: int) -> None:
    sent = [torch.tensor([[1, 2, 255, 0]], dtype=torch.uint8).view(torch.bool) for _ in range(count)]
    assert gather(sent, CPU, None).view(torch.uint8).tolist() == [[1, 1, 1, 0]] * count


def test_rows_of_a_strided_result() -> None:
    result = torch.arange(24.0).reshape(2, 3, 4).permute(2, 1, 0)
    parts = scatter_rows(result, [1, 3])
    assert [part.tolist() for part in parts] == [result[:1].tolist(), result[1:].tolist()]
    assert all(part.is_contiguous() for part in parts)


def test_scatter_strings() -> None:
    assert scatter_strings(["a", "b", "c"], [1, 0, 2]) == [["a"], [], ["b", "c"]]
