"""The order of dimensions in memory: whatever torch lays out densely is found again, and nothing else is."""

from itertools import permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from triton_pytorch.contract.sizes import Size, parse_size, size_of
from triton_pytorch.pt2_loader.layouts import ROW_MAJOR, NotDenseError, find_layout


def sizes(text: str) -> list[Size]:
    parsed = [parse_size(each) for each in text.split(", ") if each]
    assert None not in parsed
    return [size for size in parsed if size is not None]


def strides(text: str) -> dict[int, Size]:
    """Read strides; `?` is an unknown one."""
    parsed = enumerate(parse_size(each) for each in text.split(", ") if each)
    return {dimension: stride for dimension, stride in parsed if stride is not None}


@pytest.mark.parametrize(
    ("shape", "memory", "layout"),
    [
        ("", "", ROW_MAJOR),
        ("s0", "1", ROW_MAJOR),
        ("s0, 3", "3, 1", ROW_MAJOR),
        ("s0, s1, 4", "4*s1, 4, 1", ROW_MAJOR),
        ("s0 + 1, s1 + 2, 4", "4*s1 + 8, 4, 1", ROW_MAJOR),
        ("s0, 3, s1, s2", "3*s1*s2, 1, 3*s2, 3", (0, 2, 3, 1)),  # channels_last
        ("s0, 3, s1, s1", "3*s1*s1, 1, 3*s1, 3", (0, 2, 3, 1)),
        ("2, 3, 4, 5, 6", "360, 1, 90, 18, 3", (0, 2, 3, 4, 1)),  # channels_last_3d
        ("4, s0", "1, 4", (1, 0)),
        ("s0, s1", "1, s0", (1, 0)),
        ("s0, 4, s1", "1, s0*s1, s0", (1, 2, 0)),
        # the stride of a dimension of size 1 means nothing
        ("1, 3", "77, 1", ROW_MAJOR),
        ("s0, 1", "1, 1", ROW_MAJOR),
        ("s0, 1", "1, s0", ROW_MAJOR),
        ("1, 3, 4", "1, 1, 3", (0, 2, 1)),
        ("4, 1, s0", "1, 9, 4", (1, 2, 0)),
        ("1, 1", "0, 0", ROW_MAJOR),
        # nor do those of a tensor without elements
        ("0, 3", "3, 1", ROW_MAJOR),
        ("3, 0", "17, 9", ROW_MAJOR),
        # what is not known is taken to be row-major as far as the rest allows
        ("s0, s1, 4", "?, ?, ?", ROW_MAJOR),
        ("s0, s1, 4", "?, 4, 1", ROW_MAJOR),
        ("s0, 3, s1, s2", "?, 1, ?, 3", (0, 2, 3, 1)),
        ("s0, s1", "1, ?", (1, 0)),
        ("s0, s1, 4", "4, ?, 1", (1, 0, 2)),
        ("s0, 3", "3, ?", ROW_MAJOR),
    ],
)
def test_layouts(shape: str, memory: str, layout: tuple[int, ...] | None) -> None:
    assert find_layout(sizes(shape), strides(memory)) == layout


@pytest.mark.parametrize(
    ("shape", "memory"),
    [
        ("4", "2"),  # every second element
        ("4, 4", "8, 1"),  # the left half
        ("4, 4", "8, 2"),
        ("4, 4", "0, 1"),  # expanded
        ("s0, 4", "0, 1"),
        ("4, 3", "1, 1"),  # overlapping
        ("s0, 3", "s17, 1"),  # a size in memory of its own
        ("s0, s1", "s1 + 1, 1"),
        ("s0, s1, 4", "?, 4, 2"),
    ],
)
def test_not_dense(shape: str, memory: str) -> None:
    with pytest.raises(NotDenseError, match="strides "):
        find_layout(sizes(shape), strides(memory))


@pytest.mark.parametrize("rank", range(1, 5))
def test_every_order(rank: int) -> None:
    for order in permutations(range(rank)):
        tensor = torch.empty_permuted((2, 3, 5, 7)[:rank], order)
        found = find_layout([*map(size_of, tensor.shape)], dict(enumerate(map(size_of, tensor.stride()))))
        assert found == (ROW_MAJOR if order == tuple(range(rank)) else order)


@settings(deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=9), st.data())
def test_fuzz_dense_strides(shape: list[int], data: st.DataObject) -> None:
    tensor = torch.empty_permuted(shape, data.draw(st.permutations(range(len(shape)))))
    layout = find_layout([*map(size_of, shape)], dict(enumerate(map(size_of, tensor.stride()))))
    again = torch.empty_permuted(shape, tuple(range(len(shape))) if layout is ROW_MAJOR else layout)
    significant = [number for number, size in enumerate(shape) if size > 1]
    assert [again.stride(number) for number in significant] == [tensor.stride(number) for number in significant]


@settings(deadline=None)
@given(st.lists(st.integers(2, 4), min_size=1, max_size=5), st.data())
def test_fuzz_other_strides(shape: list[int], data: st.DataObject) -> None:
    tensor = torch.empty_permuted(shape, data.draw(st.permutations(range(len(shape)))))
    changed = list(tensor.stride())
    changed[data.draw(st.integers(0, len(shape) - 1))] += data.draw(st.sampled_from([-1, 1, 1000]))
    with pytest.raises(NotDenseError):
        find_layout([*map(size_of, shape)], dict(enumerate(map(size_of, changed))))


def test_strides_in_the_order_of_dimensions() -> None:
    with pytest.raises(NotDenseError, match=r"^strides 8, 5, 2$"):
        find_layout(sizes("2, 2, 2"), {2: size_of(2), 0: size_of(8), 1: size_of(5)})
