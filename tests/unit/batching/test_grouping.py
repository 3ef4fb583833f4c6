"""Requests share a call where the sizes after the batch dimension and the optional inputs are the same."""

from typing import Any

import pytest
import torch

from triton_pytorch.batching.grouping import Grouping
from triton_pytorch.batching.requests import ParsedRequest
from triton_pytorch.contract.leaves import Dimension, Leaf
from triton_pytorch.contract.sizes import dynamic_size, size_of
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.leaves import positional
from triton_pytorch.tests.integration.fake_triton import unaligned
from triton_pytorch.tests.unit.batching.plans import a_request, planned


def grouped(grouping: Grouping, requests: list[ParsedRequest]) -> list[list[int]]:
    """Return the groups as positions of requests."""
    return [[requests.index(request) for request in group] for group in grouping.groups(requests)]


def of_shapes(*shapes: Any) -> list[ParsedRequest]:
    """Make requests, each of the shapes of its inputs; None where one was not sent."""
    return [a_request(*[None if shape is None else torch.zeros(shape) for shape in request]) for request in shapes]


FIXED, DYNAMIC = tensor_config("INPUT__0", dims=(3,)), tensor_config("INPUT__0", dims=(-1, 3))
OPTIONAL = tensor_config("INPUT__1", dims=(2,), optional=True)
RAGGED = tensor_config("INPUT__0", dims=(-1,), allow_ragged_batch=True)


@pytest.mark.parametrize(
    ("inputs", "requests", "groups"),
    [
        ([FIXED], [], []),
        ([FIXED], [[(1, 3)]], [[0]]),
        ([FIXED], [[(1, 3)], [(4, 3)], [(0, 3)]], [[0, 1, 2]]),
        ([DYNAMIC], [[(1, 5, 3)]], [[0]]),
        ([DYNAMIC], [[(1, 5, 3)], [(1, 4, 3)], [(2, 5, 3)], [(1, 0, 3)], [(3, 4, 3)]], [[0, 2], [1, 4], [3]]),
        ([FIXED, OPTIONAL], [[(1, 3), (1, 2)], [(1, 3), None], [(2, 3), (2, 2)], [(1, 3), None]], [[0, 2], [1, 3]]),
        ([RAGGED], [[(1, 5)], [(2, 4)], [(1, 0)]], [[0, 1, 2]]),
        (
            [RAGGED, {**OPTIONAL, "allow_ragged_batch": True}],
            [[(1, 5), (1, 2)], [(2, 4), None], [(1, 0), (1, 9)]],
            [[0, 2], [1]],
        ),
    ],
)
def test_groups(inputs: list[Any], requests: list[Any], groups: list[list[int]]) -> None:
    assert grouped(Grouping(planned(*inputs)), of_shapes(*requests)) == groups


@pytest.mark.parametrize(
    ("rows", "groups"),
    [([1] * 5, [[0, 1], [2, 3], [4]]), ([2, 1, 1, 3, 1], [[0], [1, 2], [3], [4]]), ([0, 2, 0, 1], [[0, 1, 2], [3]])],
)
def test_groups_within_an_upper_bound(rows: list[int], groups: list[list[int]]) -> None:
    shape = (Dimension(dynamic_size("s0"), 1, 2), Dimension(dynamic_size("s1"), 1), Dimension(size_of(3), 3, 3))
    plan = planned(DYNAMIC, leaf=lambda index: positional(index, shape=shape))
    assert grouped(Grouping(plan), of_shapes(*[[(count, 5, 3)] for count in rows])) == groups


def without_dimensions(index: int) -> Leaf:
    """Make a leaf that has none where it is the second."""
    return positional(index, shape=() if index == 1 else None)


@pytest.mark.parametrize("one", [{"dims": (1,)}, {"dims": (1,), "reshape": {"shape": []}}])
@pytest.mark.parametrize(
    ("dtype", "values", "groups"),
    [
        (torch.int64, [8000, 16000, 8000, 16000, 8000], [[0, 2, 4], [1, 3]]),
        (torch.uint64, [2**64 - 1, 2**63, 2**64 - 1], [[0, 2], [1]]),
        (torch.float64, [0.1, 0.1 + 1e-16, 0.1, -0.1], [[0, 2], [1], [3]]),
        (torch.float32, [0.0, -0.0, 0.0, -0.0], [[0, 2], [1, 3]]),
        (torch.float16, [float("nan"), 1.0, float("nan")], [[0, 2], [1]]),
        (torch.bool, [True, False, True], [[0, 2], [1]]),
    ],
)
def test_groups_by_value(dtype: torch.dtype, values: list[Any], groups: list[list[int]], one: Any) -> None:
    grouping = Grouping(planned(FIXED, tensor_config("INPUT__1", dtype, **one), leaf=without_dimensions))
    shape = (2,) if "reshape" in one else (2, 1)
    ones = [unaligned(torch.full(shape, value, dtype=dtype)) for value in values]
    assert grouped(grouping, [a_request(torch.zeros(2, 3), each) for each in ones]) == groups


def test_groups_by_value_of_any_true_byte() -> None:
    grouping = Grouping(planned(FIXED, tensor_config("INPUT__1", torch.bool, (1,)), leaf=without_dimensions))
    sent = [torch.tensor([[byte]], dtype=torch.uint8).view(torch.bool) for byte in (1, 2, 0, 255)]
    assert grouped(grouping, [a_request(torch.zeros(1, 3), each) for each in sent]) == [[0, 1, 3], [2]]


def test_groups_by_optional_value() -> None:
    one = tensor_config("INPUT__1", dims=(1,), optional=True)
    grouping = Grouping(planned(DYNAMIC, one, leaf=without_dimensions))
    x, y = torch.zeros(1, 5, 3), torch.zeros(1, 4, 3)
    sent = [(x, 0.0), (x, None), (y, 0.0), (x, 2.0), (x, None), (x, 0.0)]
    requests = [a_request(x, None if value is None else torch.full((1, 1), value)) for x, value in sent]
    assert grouped(grouping, requests) == [[0, 5], [1, 4], [2], [3]]


def test_groups_without_batching() -> None:
    grouping = Grouping(planned(tensor_config("INPUT__0", dims=(-1, 3)), max_batch_size=0))
    assert grouped(grouping, of_shapes([(1, 3)], [(1, 3)])) == [[0], [1]]


@pytest.mark.parametrize("first", [FIXED, DYNAMIC, RAGGED])
def test_model_that_drops_errors(first: Any) -> None:
    grouping = Grouping(planned(first, unchecked_operators=("scatter_reduce",)))
    x = torch.zeros(1, *[3] * len(first["dims"]))
    assert grouped(grouping, [a_request(x), a_request(x), a_request(x)]) == [[0], [1], [2]]
    assert grouped(grouping, []) == []


@pytest.mark.parametrize("first", [FIXED, DYNAMIC])
def test_outputs_not_merged(first: Any) -> None:
    grouping = Grouping(planned(first))
    x = torch.zeros(1, *[3] * len(first["dims"]))
    requests = [a_request(x, requested=asked) for asked in [("a",), ("b",), ("a", "b"), ("b",), ("c",), ()]]
    assert grouped(grouping, requests) == [[0, 1, 2, 3, 4, 5]]
    grouping.stop_merging("a")
    assert grouped(grouping, requests) == [[0], [1, 3, 4, 5], [2]]
    grouping.stop_merging("b")
    assert grouped(grouping, requests) == [[0], [1], [2], [3], [4, 5]]
